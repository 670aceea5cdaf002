//! From a run-time address to a name, where the program headers make it hard.

use std::{path::Path, process::Command};

use profil_tests::{Target, Workload, claim_machine, require_programs, session};

/// An executable segment, by its program header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Segment {
    offset: u64,
    address: u64,
}

impl Segment {
    fn distance(self) -> u64 {
        self.address.wrapping_sub(self.offset)
    }
}

/// What `readelf` says are the executable segments.
fn executable_segments(object: &Path) -> Vec<Segment> {
    let output = Command::new("readelf")
        .arg("-lW")
        .arg(object)
        .output()
        .expect("readelf runs");
    assert!(output.status.success(), "readelf -lW {}", object.display());
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect(text);
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let executable = words.first() == Some(&"LOAD") && words.contains(&"E");
            executable.then(|| Segment {
                offset: hex(words[1]),
                address: hex(words[2]),
            })
        })
        .collect()
}

/// The file that holds the hot functions.
fn hot_file(workload: Workload) -> std::path::PathBuf {
    workload.executable().with_file_name(workload.hot_object())
}

#[track_caller]
fn agrees(workload: Workload) {
    let session = session::measured(|| session::take_usual(&mut Target::start(workload)));
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

/// The code is far from its file offset, and not by the same distance as other segments.
#[track_caller]
fn agrees_far_away(workload: Workload) {
    let segments = executable_segments(&hot_file(workload));
    let far = segments
        .iter()
        .filter(|segment| segment.distance() > 0x700_0000)
        .count();
    assert!(
        far == 1 && segments.len() > 1,
        "not the target this test wants: {segments:x?}"
    );
    agrees(workload);
}

/// Three segments share a page of the file, each at a distance of its own.
#[track_caller]
fn agrees_in_segments(workload: Workload) {
    let segments = executable_segments(&hot_file(workload));
    let far: Vec<_> = segments
        .iter()
        .filter(|segment| segment.distance() > 0xf00_0000)
        .copied()
        .collect();
    let one_page = far
        .iter()
        .all(|segment| segment.offset >> 12 == far[0].offset >> 12);
    let mut distances: Vec<_> = far.iter().map(|segment| segment.distance()).collect();
    distances.dedup();
    assert!(
        distances.len() == 3 && one_page,
        "not the target this test wants: {segments:x?}"
    );
    agrees(workload);
}

#[test]
fn far_from_the_file_offset_non_pie() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_far_away(Workload::FarNonPie);
}

#[test]
fn far_from_the_file_offset_pie() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_far_away(Workload::FarPie);
}

#[test]
fn far_from_the_file_offset_library() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_far_away(Workload::FarLibrary);
}

#[test]
fn three_segments_in_a_page_of_the_file_non_pie() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_in_segments(Workload::SegmentsNonPie);
}

#[test]
fn three_segments_in_a_page_of_the_file_pie() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_in_segments(Workload::SegmentsPie);
}

#[test]
fn three_segments_in_a_page_of_the_file_library() {
    let _machine = claim_machine!();
    require_programs!("readelf");
    agrees_in_segments(Workload::SegmentsLibrary);
}
