//! Files as other tools write them.

use super::{
    super::{
        Other, PprofError,
        schema::{self, Function, Line, Location, Mapping, Sample, ValueType},
        strings::Strings,
    },
    *,
};

fn read_other(file: &schema::Profile) -> Result<Other, PprofError> {
    match read(&file.encode_to_vec())? {
        PprofFile::Other(other) => Ok(*other),
        PprofFile::Saved(saved) => panic!("{saved:?}"),
    }
}

/// As `runtime/pprof` has it: counts and nanoseconds, callers, one mapping with names.
fn go() -> schema::Profile {
    let mut strings = Strings::default();
    let mut value = |kind, unit| ValueType {
        kind: strings.place(kind),
        unit: strings.place(unit),
    };
    let sample_type = vec![value("samples", "count"), value("cpu", "nanoseconds")];
    let function = [("main.inner", 1), ("main.outer", 2), ("main.main", 3)];
    let function = function.map(|(name, id)| Function {
        id,
        name: strings.place(name),
        system_name: strings.place(name),
        filename: strings.place("/src/main.go"),
        start_line: 1,
    });
    let line = |function_id, line| Line { function_id, line };
    let location = |id, mapping_id, address, line| Location {
        id,
        mapping_id,
        address,
        line,
    };
    let sample = |location_id: &[u64], ticks: i64| Sample {
        location_id: location_id.to_vec(),
        value: vec![ticks, 10_000_000 * ticks],
        label: Vec::new(),
    };
    let mapping = |id, start, filename: i64, has_functions| Mapping {
        id,
        memory_start: start,
        memory_limit: start + 0x10_0000,
        file_offset: 0x1000,
        filename,
        has_functions,
        ..Mapping::default()
    };
    schema::Profile {
        period_type: Some(sample_type[1]),
        period: 10_000_000,
        sample_type,
        sample: vec![
            sample(&[11, 12], 5),
            sample(&[13, 12], 2),
            sample(&[12], 1),
            sample(&[14], 3),
            sample(&[15], 4),
        ],
        mapping: vec![
            mapping(1, 0x40_0000, strings.place("/bin/prog"), true),
            mapping(2, 0x7f00_0000, strings.place("/lib/libc.so"), false),
        ],
        location: vec![
            // `inner`, which was inlined into `outer`, twice.
            location(11, 1, 0x40_0010, vec![line(1, 7), line(2, 20)]),
            location(12, 1, 0x40_0020, vec![line(3, 30)]),
            location(13, 1, 0x40_0030, vec![line(1, 8), line(2, 21)]),
            location(14, 2, 0x7f00_0100, Vec::new()),
            location(15, 0, 0, Vec::new()),
        ],
        function: function.to_vec(),
        string_table: schema::Profile::decode(&*strings.into_bytes())
            .expect("texts")
            .string_table,
        ..schema::Profile::default()
    }
}

fn rows_of(other: &Other) -> Vec<(String, u64)> {
    let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new());
    symbolizer.complete(other, other.names.clone());
    let rows = crate::symbolize::rows(other, &symbolizer, Grouping::Function);
    let name = |row: &crate::symbolize::Function| {
        text::function_name(row, &other.objects[row.object.index()])
    };
    rows.iter().map(|row| (name(row), row.ticks())).collect()
}

#[test]
fn the_innermost_function_has_the_ticks() {
    let other = read_other(&go()).expect("a profile");
    assert_eq!(other.total(), 15);
    assert_eq!(&*other.shown.0, "seconds");
    assert!((other.shown.1 - 100.0).abs() < 1e-9);
    let rows = rows_of(&other);
    let rows: Vec<_> = rows.iter().map(|(name, ticks)| (&**name, *ticks)).collect();
    assert_eq!(
        rows,
        [
            ("main.inner", 7),
            ("0x0 (no longer mapped)", 4),
            ("libc.so+0x1100 (file not readable)", 3),
            ("main.main", 1),
        ]
    );
}

#[test]
fn without_counts_the_default_is_taken_or_the_last() {
    let mut file = go();
    file.sample_type[0].kind = file.sample_type[1].kind;
    file.sample_type[0].unit = file.sample_type[1].unit;
    let other = read_other(&file).expect("a profile");
    assert_eq!(&*other.value.1, "nanoseconds");
    assert_eq!(other.total(), 150_000_000);
    assert!((other.shown.1 - 1e9).abs() < 1e-9);
    file.default_sample_type = file.sample_type[0].kind;
    assert_eq!(read_other(&file).expect("a profile").total(), 15);
}

#[test]
fn numbers_that_lead_nowhere_are_refused() {
    let refused = |change: &dyn Fn(&mut schema::Profile)| {
        let mut file = go();
        change(&mut file);
        read_other(&file)
            .expect_err("a number that leads nowhere")
            .to_string()
    };
    for (said, what) in [
        (
            refused(&|file| file.sample[0].location_id[0] = 99),
            "location number 99",
        ),
        (
            refused(&|file| file.location[1].id = 11),
            "location number 11",
        ),
        (
            refused(&|file| file.location[0].mapping_id = 9),
            "mapping number 9",
        ),
        (
            refused(&|file| file.location[0].line[0].function_id = 9),
            "function number 9",
        ),
        (
            refused(&|file| file.sample_type[0].kind = -3),
            "text number -3",
        ),
        (
            refused(&|file| file.sample[0].value[0] = i64::MAX),
            "too large",
        ),
    ] {
        assert!(said.contains(what), "{said:?}, and not {what:?}");
    }
}
