//! The reader of files of record, ours and those of other tools, and what is made of them.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    mem::discriminant,
    path::Path,
};

use profil_user::{
    Count,
    export::{other, text},
    pprof::{self, Other, Packing, PprofError, PprofFile, Saved},
    symbolize::{Grouping, Symbolizer, View, rows},
};

use crate::{Target, memory};

pub(crate) const TARGET: Target = Target {
    name: "pprof",
    seeds,
    run,
};

/// A part of two bytes takes so many times as much, and a little.
const TIMES: usize = 128;
const A_LITTLE: usize = 16 << 10;

const SMALL: &[u8] = include_bytes!("../../profil-user/src/pprof/tests/small.pb");

/// A file of ours, packed and not, and as another tool's, with what the first has nothing of.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![SMALL.to_vec(), [SMALL, &[0x50, 1]].concat()];
    if let Ok(PprofFile::Saved(mut saved)) = pprof::read(SMALL) {
        seeds.push(written(&saved, Packing::Gzip));
        saved.profile.notes.clear();
        seeds.push(written(&saved, Packing::Plain));
        // Field 6 is a text; field 13 the place of a comment in their table, where the seal was last.
        let place = texts();
        for comment in [
            "#task 7 8 - name",
            "#buffer glibc 1000 8 65536 0 4 1:2 3:4",
            "#note unmapped 0 5",
            "#odd 1 2",
        ] {
            let text = [&[6 << 3 | 2, comment.len() as u8], comment.as_bytes()].concat();
            seeds.push([SMALL, &text, &[13 << 3, place]].concat());
        }
    }
    seeds
}

/// How many texts the small file has.
fn texts() -> u8 {
    let mut rest = SMALL;
    let mut texts = 0;
    while let [key, value @ ..] = rest {
        let (number, digits) = number(value);
        let length = if key & 7 == 2 { number } else { 0 };
        texts += u8::from(*key == 6 << 3 | 2);
        rest = &value[digits + length..];
    }
    texts
}

/// A number, and how many digits it has.
fn number(bytes: &[u8]) -> (usize, usize) {
    let digits = bytes.iter().take_while(|&&byte| byte >= 0x80).count() + 1;
    let number = bytes[..digits].iter().rev();
    let number = number.fold(0, |number, &byte| number << 7 | usize::from(byte & 0x7f));
    (number, digits)
}

fn written(saved: &Saved, packing: Packing) -> Vec<u8> {
    let mut bytes = Vec::new();
    let done = pprof::write(&saved.profile, &saved.record, packing, &mut bytes);
    assert!(done.is_ok(), "memory takes all");
    bytes
}

/// Reads the file as it is, and with a true seal.
fn run(input: &[u8]) -> Vec<u64> {
    let sealed = pprof::sealed_anew(input);
    [Some(input.to_vec()), sealed]
        .into_iter()
        .flatten()
        .map(|input| outcome(&input))
        .collect()
}

fn outcome(input: &[u8]) -> u64 {
    let mut outcome = DefaultHasher::new();
    let (read, most) = memory::most_during(|| pprof::read(input));
    let bound = TIMES * input.len() + A_LITTLE;
    assert!(
        pprof::is_packed(input) || most <= bound,
        "{most} bytes of memory for {} of a file",
        input.len()
    );
    match read {
        Ok(PprofFile::Saved(saved)) => {
            check_saved(&saved);
            let profile = &saved.profile;
            let sizes = [
                profile.objects.len(),
                profile.counts.len(),
                profile.tasks.len(),
                profile.buffers.len(),
                profile.notes.len(),
            ];
            sizes.map(usize::checked_ilog2).hash(&mut outcome);
        }
        Ok(PprofFile::Other(other)) => {
            check_other(&other);
            let sizes = [other.objects.len(), other.counts.len(), other.samples];
            (1, sizes.map(usize::checked_ilog2)).hash(&mut outcome);
        }
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "{text}");
            kind(&error).hash(&mut outcome);
        }
    }
    outcome.finish()
}

fn is_sorted(counts: &[Count]) -> bool {
    counts
        .windows(2)
        .all(|pair| (pair[0].object, pair[0].address) < (pair[1].object, pair[1].address))
}

/// A profile that is believed can be shown, and written again without loss.
fn check_saved(saved: &Saved) {
    assert!(is_sorted(&saved.profile.counts), "counts are not sorted");
    let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new());
    symbolizer.complete(saved, saved.record.names.clone());
    for grouping in [Grouping::Function, Grouping::Inlined, Grouping::Line] {
        let all = rows(saved, &symbolizer, grouping);
        let ticks: u64 = all.iter().map(|row| row.ticks()).sum();
        assert_eq!(ticks, saved.profile.ticks(), "ticks are lost in rows");
        let view = View {
            grouping,
            ..View::default()
        };
        let by_task = view.rows(saved, &symbolizer);
        for rows in [all, by_task] {
            let done = text::write(
                &saved.profile,
                &rows,
                text::Layout::default(),
                &mut Vec::new(),
            );
            assert!(done.is_ok(), "memory takes all");
        }
    }
    match pprof::read(&written(saved, Packing::Plain)) {
        Ok(PprofFile::Saved(again)) => assert_eq!(
            format!("{:?}", again.profile.counts),
            format!("{:?}", saved.profile.counts),
            "it is another one when it is written again"
        ),
        other => panic!("it cannot be read again: {other:?}"),
    }
}

fn check_other(profile: &Other) {
    assert!(is_sorted(&profile.counts), "counts are not sorted");
    let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new());
    symbolizer.complete(profile, profile.names.clone());
    let rows = rows(profile, &symbolizer, Grouping::Function);
    let ticks: u64 = rows.iter().map(|row| row.ticks()).sum();
    assert_eq!(ticks, profile.total(), "ticks are lost in rows");
    let path = Path::new("file");
    let done = other::write(
        profile,
        path,
        &rows,
        text::Layout::default(),
        &mut Vec::new(),
    );
    assert!(done.is_ok(), "memory takes all");
}

/// What kind of error it is.
fn kind(error: &PprofError) -> impl Hash + use<> {
    let what = match error {
        PprofError::Damaged(what) => {
            let what = what.split(' ').take(3);
            what.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    (discriminant(error), what)
}
