use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use proptest::prelude::*;
use prost::Message as _;

use super::{super::read::unpack, write_rows};
use crate::{
    pprof::{self, PprofFile, schema},
    serve::{ObjectLabel, ProcessLabel, Row, Spot},
};

fn process(tgid: u32, name: &str) -> Arc<ProcessLabel> {
    Arc::new(ProcessLabel {
        tgid,
        name: name.into(),
        cgroup: "/a.slice".into(),
        container: None,
    })
}

fn spot(object: &str, function: &str, start: Option<u64>) -> Arc<Spot> {
    let path = if object.starts_with('[') { "" } else { object };
    Arc::new(Spot {
        object: Arc::new(ObjectLabel {
            name: object.into(),
            path: path.into(),
            build_id: Some("0100ff".parse().unwrap()),
        }),
        function: function.into(),
        start,
    })
}

fn row(process: &Arc<ProcessLabel>, spot: &Arc<Spot>, address: u64, ticks: [u64; 2]) -> Row {
    Row {
        process: Arc::clone(process),
        spot: Arc::clone(spot),
        address,
        user: ticks[0],
        system: ticks[1],
    }
}

fn written(rows: &[Row]) -> (Vec<u8>, schema::Profile) {
    let began = UNIX_EPOCH + Duration::from_secs(7);
    let bytes = write_rows(rows, 1000, began, Duration::from_secs(2));
    let file = schema::Profile::decode(&unpack(&bytes, 1 << 30).unwrap()[..]).unwrap();
    (bytes, file)
}

fn text(file: &schema::Profile, place: i64) -> &str {
    std::str::from_utf8(&file.string_table[place as usize]).unwrap()
}

#[test]
fn processes_of_one_name_are_one_sample_for_each_mode() {
    let main = spot("/bin/a", "main", Some(0x1000));
    let (_, file) = written(&[
        row(&process(1, "a"), &main, 0x1004, [3, 1]),
        row(&process(2, "a"), &main, 0x1004, [4, 0]),
        row(&process(3, "b"), &main, 0x1004, [5, 0]),
    ]);
    let samples: Vec<_> = file.sample.iter().map(|sample| &sample.value[..]).collect();
    assert_eq!(samples, [[7, 7000], [1, 1000], [5, 5000]]);
    assert_eq!((file.location.len(), file.function.len()), (1, 1));
    assert_eq!(file.time_nanos, 7_000_000_000);
    assert_eq!((file.duration_nanos, file.period), (2_000_000_000, 1000));
    let label = |sample: usize, key: &str| {
        let mut labels = file.sample[sample].label.iter();
        let label = labels.find(|label| text(&file, label.key) == key).unwrap();
        text(&file, label.str)
    };
    assert_eq!((label(0, "mode"), label(1, "mode")), ("user", "system"));
    assert_eq!((label(0, "comm"), label(2, "comm")), ("a", "b"));
    assert_eq!(label(0, "cgroup"), "/a.slice");
}

/// Objects at the same addresses are told apart, and where they are does not depend on what ticked in them.
#[test]
fn every_object_has_a_mapping_that_holds_its_addresses() {
    let process = process(1, "a");
    let high = 0xffff_ffff_8100_0000;
    let (_, file) = written(&[
        row(&process, &spot("/bin/a", "main", Some(16)), 16, [1, 0]),
        row(&process, &spot("/lib/b", "work", Some(16)), 16, [1, 0]),
        row(
            &process,
            &spot("[kernel]", "idle", Some(high)),
            high,
            [0, 1],
        ),
        // One whose addresses turn out to be high.
        row(
            &process,
            &spot("/lib/b", "far", Some(1 << 50)),
            1 << 50,
            [1, 0],
        ),
    ]);
    assert_eq!(file.mapping.len(), 4);
    assert_ne!(file.location[0].address, file.location[1].address);
    for location in &file.location {
        let mapping = &file.mapping[location.mapping_id as usize - 1];
        assert!(mapping.memory_start <= location.address);
        assert!(location.address < mapping.memory_limit);
        assert!(mapping.has_functions);
        assert_eq!(text(&file, mapping.build_id), "0100ff");
    }
    let name = text(&file, file.mapping[2].filename);
    assert_eq!(
        (name, file.mapping[2].memory_start),
        ("[kernel.kallsyms]", 0)
    );
}

#[test]
fn what_has_no_name_is_called_by_its_object_and_the_reason() {
    let (_, file) = written(&[row(
        &process(1, "a"),
        &spot("libc.so.6", "[no symbol there]", None),
        16,
        [1, 0],
    )]);
    assert_eq!(
        text(&file, file.function[0].name),
        "libc.so.6 [no symbol there]"
    );
}

#[test]
fn nothing_is_a_file_too() {
    let (bytes, file) = written(&[]);
    assert!(file.sample.is_empty());
    assert!(matches!(pprof::read(&bytes), Ok(PprofFile::Other(other)) if other.total() == 0));
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let address = prop_oneof![0..4_u64, any::<u64>()];
    let ticks = [0..1_u64 << 20, 0..3_u64];
    let one = ("[ab]?", "[ab\\[]?", "\\PC?", any::<bool>(), address, ticks);
    let row = one.prop_map(|(name, object, function, named, address, ticks)| {
        let spot = spot(&object, &function, named.then_some(address));
        row(&process(1, &name), &spot, address, ticks)
    });
    prop::collection::vec(row, 0..40)
}

proptest! {
    /// Whatever the rows are, our own reader takes the file, and no tick is lost or another function's.
    #[test]
    fn ticks_are_conserved(rows in rows()) {
        let (bytes, file) = written(&rows);
        prop_assert!(pprof::read(&bytes).is_ok());
        let mut there: BTreeMap<(String, bool), i64> = BTreeMap::new();
        for sample in &file.sample {
            let location = &file.location[sample.location_id[0] as usize - 1];
            let function = &file.function[location.line[0].function_id as usize - 1];
            let is_user = text(&file, sample.label[0].str) == "user";
            let name = text(&file, function.name).to_owned();
            *there.entry((name, is_user)).or_default() += sample.value[0];
        }
        let mut entered: BTreeMap<(String, bool), i64> = BTreeMap::new();
        for row in &rows {
            let name = match row.spot.start {
                Some(_) => row.spot.function.to_string(),
                None => format!("{} {}", row.spot.object.name, row.spot.function),
            };
            for (is_user, ticks) in [(true, row.user), (false, row.system)] {
                if ticks > 0 {
                    *entered.entry((name.clone(), is_user)).or_default() += ticks as i64;
                }
            }
        }
        prop_assert_eq!(there, entered);
    }
}
