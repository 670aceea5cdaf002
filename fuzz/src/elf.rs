//! Executables of others: opened, their build id and sections read, their functions looked up, with
//! lines, and looked into.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher as _},
    os::unix::fs::FileExt as _,
    path::PathBuf,
    process,
};

use profil_user::{
    ElfClass, Executable, Recorded,
    annotate::annotate,
    import::gmon,
    symbolize::{Grouping, Symbolizer, functions, rows},
};

use crate::{Target, gmon as profile, memory};

pub(crate) const TARGET: Target = Target {
    name: "elf",
    seeds,
    run,
};

/// Reading may take this many times the file's bytes: names of sections and symbols can overlap, and
/// each may be as long as the file.
const TIMES: usize = 512;
const A_LITTLE: usize = 4 << 20;

/// Where functions of the seeds are, and what ticks.
const TEXT: u64 = 0x40_1000;

/// Programs that we make ourselves, of each width, and what the kernel maps into every process.
fn seeds() -> Vec<Vec<u8>> {
    let made = [ElfClass::Elf32, ElfClass::Elf64].map(program);
    for program in &made {
        let named = look_up(&Place::with(program).0);
        let found = named.map(|rows| rows.iter().map(|&(named, _)| named).collect());
        assert_eq!(found, Ok(vec![2, 2]), "our own program is not read");
    }
    made.into_iter().chain(vdso()).collect()
}

/// The image of the vDSO, which a linker has made.
fn vdso() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
    let mut image = vec![0; usize::try_from(end? - start?).ok()?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut image, start?).ok()?;
    Some(image)
}

/// A section, as far as it differs from others (elf(5)).
struct Section {
    /// Where its name is among all names.
    name: u32,
    kind: u32,
    flags: u64,
    content: Vec<u8>,
}

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOTE: u32 = 7;
const DYNSYM: u32 = 11;

/// A program with a segment, a build id, and all sections that are looked at.
fn program(class: ElfClass) -> Vec<u8> {
    let wide = class == ElfClass::Elf64;
    let (header, segment, section): (usize, usize, usize) =
        if wide { (64, 56, 64) } else { (52, 32, 40) };
    let word = |number: u64| number.to_le_bytes()[..if wide { 8 } else { 4 }].to_vec();
    let half = |number: u16| number.to_le_bytes().to_vec();
    let int = |number: u32| number.to_le_bytes().to_vec();
    let symbol = |name: u32, address: u64, size: u64| {
        // Of a function in the first section that means something.
        let (kind, place) = (vec![0x12, 0], half(1));
        let (address, size) = (word(address), word(size));
        if wide {
            [int(name), kind, place, address, size].concat()
        } else {
            [int(name), address, size, kind, place].concat()
        }
    };
    let symbols = [
        symbol(0, 0, 0),
        symbol(1, TEXT, 8),
        symbol(4, TEXT + 8, 0),
        symbol(8, TEXT + 17, 0x20),
    ];
    let strings: &[u8] = b"\0fn\0_Z1gv\0_RNvC6_123foo3bar\0";
    let build_id = [
        int(4),
        int(8),
        int(3),
        b"GNU\0\x01\x02\x03\x04\x05\x06\x07\x08".to_vec(),
    ];
    let link: &[u8] = b"no.debug\0\0\0\0\x78\x56\x34\x12";
    let names: &[u8] = b"\0.text\0.symtab\0.strtab\0.note\0.gnu_debuglink\0.debug_line\0";

    let section_of = |name, kind, flags, content: &[u8]| Section {
        name,
        kind,
        flags,
        content: content.to_vec(),
    };
    let sections = [
        section_of(0, 0, 0, b""),
        section_of(1, PROGBITS, 6, &[0x90; 64]),
        section_of(7, SYMTAB, 0, &symbols[..3].concat()),
        section_of(15, STRTAB, 0, strings),
        section_of(7, DYNSYM, 2, &symbols.concat()),
        section_of(23, NOTE, 2, &build_id.concat()),
        section_of(29, PROGBITS, 0, link),
        section_of(1, STRTAB, 0, names),
    ];
    // Each begins where a word may: not every reader takes others.
    let padded = |content: &[u8]| content.len().next_multiple_of(8);
    let first = (header + 2 * segment).next_multiple_of(8);
    let table = first
        + sections
            .iter()
            .map(|section| padded(&section.content))
            .sum::<usize>();
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file[4] = if wide { 2 } else { 1 };
    file.extend(half(2));
    file.extend(half(if wide { 62 } else { 3 }));
    file.extend(
        [
            int(1),
            word(TEXT),
            word(header as u64),
            word(table as u64),
            int(0),
        ]
        .concat(),
    );
    for number in [header, segment, 2, section, sections.len(), 7] {
        file.extend(half(number as u16));
    }
    let mut place = first;
    let mut headers = Vec::new();
    let mut note = (0, 0);
    for one in &sections {
        let (offset, size) = (word(place as u64), word(one.content.len() as u64));
        let has_symbols = matches!(one.kind, SYMTAB | DYNSYM);
        // Where their strings are, and how large one is.
        let (strings, entry) = if has_symbols {
            (3, symbols[0].len())
        } else {
            (0, 0)
        };
        let address = if one.flags == 6 { TEXT } else { 0 };
        if one.kind == NOTE {
            note = (place as u64, one.content.len() as u64);
        }
        headers.extend([int(one.name), int(one.kind), word(one.flags), word(address)].concat());
        headers.extend([offset, size, int(strings), int(0)].concat());
        headers.extend([word(1), word(entry as u64)].concat());
        place += padded(&one.content);
    }
    for (kind, flags, offset, address, size) in
        [(1, 5, first as u64, TEXT, 64), (4, 4, note.0, 0, note.1)]
    {
        let (kind, flags) = (int(kind), int(flags));
        let place = [
            word(offset),
            word(address),
            word(address),
            word(size),
            word(size),
        ]
        .concat();
        let parts = if wide {
            [kind, flags, place, word(1)]
        } else {
            [kind, place, flags, word(1)]
        };
        file.extend(parts.concat());
    }
    for section in &sections {
        file.resize(file.len().next_multiple_of(8), 0);
        file.extend(&section.content);
    }
    file.resize(table, 0);
    file.extend(headers);
    file
}

/// A file of its own for each input: what is mapped must not be cut off.
struct Place(PathBuf);

impl Place {
    fn with(input: &[u8]) -> Self {
        let name = format!("profil-fuzz-elf-{}.so", process::id());
        let place = Self(std::env::temp_dir().join(name));
        // What is there may be mapped still.
        let _ = fs::remove_file(&place.0);
        if let Err(error) = fs::write(&place.0, input) {
            panic!("{}: {error}", place.0.display());
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn run(input: &[u8]) -> Vec<u64> {
    let place = Place::with(input);
    let mut outcome = DefaultHasher::new();
    let (made, most) = memory::most_during(|| look_up(&place.0));
    let bound = TIMES * input.len() + A_LITTLE;
    assert!(most <= bound, "{most} bytes of memory for {}", input.len());
    made.hash(&mut outcome);
    vec![outcome.finish()]
}

/// How many rows with and without a name a profile of the file has, or why it cannot be opened.
fn look_up(path: &std::path::Path) -> Result<Vec<(usize, usize)>, String> {
    let executable = Executable::open(path, &[]).map_err(|error| {
        // Without the path and the numbers in it.
        let mut reason = error.to_string();
        reason.retain(|letter| !letter.is_ascii_digit());
        reason
    })?;
    let class = executable.class();
    let ticks = profile::one_of(class, TEXT - 2, &[1; 64]);
    let Ok(gmon) = gmon::read(&ticks, class) else {
        panic!("our own profile cannot be read");
    };
    let Some(clock) = gmon.clock else {
        panic!("our own profile has no clock");
    };
    let recorded = Recorded::of(clock, &gmon.histograms, Vec::new(), &executable);
    assert_eq!(recorded.ticks(), 64, "ticks are lost");
    let groupings = [Grouping::Function, Grouping::Line];
    let counts = groupings.map(|grouping| {
        let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new()).for_grouping(grouping);
        symbolizer.look_up(&recorded);
        let rows = match grouping {
            Grouping::Function => functions(&recorded, &symbolizer),
            _ => rows(&recorded, &symbolizer, grouping),
        };
        let ticks: u64 = rows.iter().map(|row| row.ticks()).sum();
        assert_eq!(ticks, 64, "ticks are lost by names");
        if grouping == Grouping::Function {
            for row in rows.iter().filter(|row| row.name.is_ok()) {
                let Ok(listing) = annotate(&recorded, &symbolizer, row, &[]) else {
                    continue;
                };
                let own = listing.instructions.iter().map(|one| one.sum);
                let all = own.chain(listing.spans.iter().map(|span| span.sum));
                let ticks: u64 = all.map(|sum| sum.ticks()).sum();
                assert_eq!(ticks, row.ticks(), "ticks are lost by instructions");
            }
        }
        let named = rows.iter().filter(|row| row.name.is_ok()).count();
        (named, rows.len() - named)
    });
    Ok(counts.to_vec())
}
