//! Bytes that somebody has changed.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use prost::Message as _;

use super::{
    super::{PprofError, read::unpack, schema, sealed_anew, wire, write::is_readable},
    *,
};

fn error(bytes: &[u8]) -> PprofError {
    match read(bytes) {
        Err(error) => error,
        Ok(file) => panic!("it was read: {file:?}"),
    }
}

#[test]
fn a_small_file_does_not_become_a_large_one() {
    const MOST: usize = 1 << 20;
    let packed = |length| {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(&vec![0; length]).expect("memory");
        out.finish().expect("memory")
    };
    assert!(unpack(&packed(MOST), MOST as u64).is_ok());
    let bomb = packed(MOST + 1);
    assert!(bomb.len() < MOST / 100);
    assert_eq!(unpack(&bomb, MOST as u64), Err(PprofError::TooLarge));
    // Empty samples, of two bytes each.
    let many = [0x12, 0].repeat(wire::MOST_PARTS + 1);
    assert_eq!(error(&many), PprofError::TooManyParts);
    // One that is a list of very many addresses.
    let mut large = schema::Profile::default();
    large.sample.push(schema::Sample {
        location_id: vec![1; wire::MOST_BYTES_OF_PART],
        ..schema::Sample::default()
    });
    assert_eq!(error(&large.encode_to_vec()), PprofError::TooManyParts);
    // Nor is either written.
    for parts in [many, large.encode_to_vec()] {
        is_readable(&[parts]).unwrap_err();
    }
    is_readable(&[[0x12, 0].repeat(wire::MOST_PARTS)]).unwrap();
}

#[test]
fn a_large_location_is_taken_apart_once() {
    let (profile, record) = small();
    let mut file = file_of(&profile, &record);
    let location = file.location.iter_mut().find(|one| !one.line.is_empty());
    let location = location.expect("one with a name");
    location.line = vec![location.line[location.line.len() - 1]; 100_000];
    let id = location.id;
    let sample = file.sample.iter().find(|one| one.location_id == [id]);
    let sample = sample.expect("it has ticks").clone();
    file.sample.extend(vec![sample; 20_000]);
    let sealed = sealed_anew(&file.encode_to_vec()).expect("a message");
    let start = std::time::Instant::now();
    let read = saved(&sealed);
    assert!(read.profile.ticks() >= profile.ticks() + 20_000);
    // It was minutes.
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_name_is_bounded() {
    let (profile, record) = small();
    let file = file_of(&profile, &record);
    let place = file.function[0].name as usize;
    let with = |length| {
        let mut file = file.clone();
        file.string_table[place] = vec![b'a'; length];
        sealed_anew(&file.encode_to_vec()).expect("a message")
    };
    saved(&with(64 << 10));
    let what = "a name of 65537 bytes".to_owned();
    assert_eq!(error(&with((64 << 10) + 1)), PprofError::Damaged(what));
}

#[test]
fn what_is_no_profile_is_named() {
    assert_eq!(error(b""), PprofError::NoValues);
    assert_eq!(error(b"gmon\x01\0\0\0"), PprofError::Bytes);
    assert_eq!(error(b"\x7fELF\x02\x01\x01\0"), PprofError::Bytes);
    assert!(matches!(error(b"\x1f\x8b\x08"), PprofError::Packed(_)));
    let (profile, record) = small();
    let packed = bytes(&profile, &record, Packing::Gzip);
    for length in 2..packed.len() {
        let error = error(&packed[..length]).to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn numbers_that_lead_nowhere_are_refused() {
    let refused = |change: &dyn Fn(&mut schema::Profile)| {
        let (profile, record) = small();
        let mut file = file_of(&profile, &record);
        change(&mut file);
        match error(&sealed_anew(&file.encode_to_vec()).expect("a message")) {
            PprofError::Damaged(what) => what,
            other => panic!("{other:?}"),
        }
    };
    let text = |text: &'static str| {
        move |file: &mut schema::Profile| {
            file.comment.insert(0, file.string_table.len() as i64);
            file.string_table.push(text.as_bytes().to_vec());
        }
    };
    for (change, what) in [
        (
            &(|file: &mut schema::Profile| file.sample[0].location_id[0] = 99) as &dyn Fn(&mut _),
            "location number 99",
        ),
        (
            &|file: &mut schema::Profile| file.sample[0].location_id.clear(),
            "callers",
        ),
        (
            &|file: &mut schema::Profile| file.sample[0].value[0] = i64::MAX,
            "more ticks",
        ),
        (
            &|file: &mut schema::Profile| file.sample[0].label[0].key = -1,
            "text number -1",
        ),
        (
            &|file: &mut schema::Profile| file.location[0].mapping_id = 0,
            "mapping number 0",
        ),
        (
            &|file: &mut schema::Profile| file.location[0].address += 0x1000,
            "outside of its mapping",
        ),
        (
            &|file: &mut schema::Profile| file.location[0].line[0].function_id = 9,
            "function number 9",
        ),
        (
            &|file: &mut schema::Profile| file.function[0].name = 1 << 40,
            "text number",
        ),
        (
            &|file: &mut schema::Profile| file.mapping.truncate(1),
            "missing",
        ),
        (
            &|file: &mut schema::Profile| file.comment.clear(),
            "#process",
        ),
        (&text("#mappings 7"), "#mappings 7"),
        (&text("#note coarsened 9 2"), "coarsened"),
        (&text("#outcome 99999999999999999999 binned"), "#outcome"),
        (&text("#text 0 2000 1000 2"), "#text"),
        (&text("#buffer modern 0 8 1 0 4 4:1"), "#buffer"),
        (&text("#rate 1 0"), "#rate"),
        (&text("#whatever"), "#whatever"),
    ] {
        let said = refused(change);
        assert!(said.contains(what), "{said:?}, and not {what:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage anywhere is an error or another profile, also if somebody has put a true seal on it.
    #[test]
    fn damage_is_survived(
        (profile, record) in arbitrary::file(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        resealed in any::<bool>(),
    ) {
        let mut bytes = bytes(&profile, &record, Packing::Plain);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if resealed && let Some(sealed) = sealed_anew(&bytes) {
            bytes = sealed;
        }
        match read(&bytes) {
            Ok(PprofFile::Saved(saved)) => {
                report(&saved);
            }
            Ok(PprofFile::Other(other)) => {
                other.total();
            }
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }
}
