//! Addresses → lines and inlined functions, from DWARF by blazesym. Only where somebody asked: it
//! takes much longer than names.

use std::path::PathBuf;

use blazesym::symbolize::{
    CodeInfo, Input, Sym, Symbolized, Symbolizer as Blazesym,
    source::{Elf, Source as From},
};

use super::{
    Name,
    caught::caught,
    source::{Inlined, Line, Source},
    texts::Texts,
};
use crate::target::ObjectFile;

/// Addresses that are looked up together.
const BATCH: usize = 4096;

/// Inlined functions that are kept of one address: the innermost. No compiler nests that many.
const MAX_INLINED: usize = 256;

/// Who reads DWARF.
pub(super) struct Lines {
    blazesym: Blazesym,
}

impl Lines {
    /// `dirs` are for what several debug files have in common, as `dwz` makes them.
    pub(super) fn new(dirs: &[PathBuf], inlined: bool) -> Self {
        let blazesym = Blazesym::builder()
            .enable_code_info(true)
            .enable_inlined_fns(inlined)
            .enable_demangling(false)
            .set_debug_dirs(Some(dirs))
            .build();
        Self { blazesym }
    }

    /// The sources of addresses that have names, in a file that is fit to be read.
    pub(super) fn of(
        &self,
        file: &ObjectFile,
        named: &[(u64, &Name)],
        texts: &mut Texts,
    ) -> Vec<Option<Source>> {
        let from = From::Elf(Elf::new(file.path()));
        let mut sources = Vec::with_capacity(named.len());
        for batch in named.chunks(BATCH) {
            let look_up = |bit: u64| {
                let addresses: Vec<_> = batch.iter().map(|(address, _)| address | bit).collect();
                self.look_up(&from, &addresses)
            };
            let (Some(first), Some(second)) = (look_up(0), look_up(1)) else {
                // What is broken once is broken for all.
                sources.resize(named.len(), None);
                return sources;
            };
            for ((&(address, name), first), second) in batch.iter().zip(&first).zip(&second) {
                let symbol = choose(address, name, first, second);
                sources.push(symbol.and_then(|symbol| source_of(symbol, texts)));
            }
        }
        sources
    }

    /// The lines of addresses at which instructions begin, in a file that is fit to be read.
    pub(super) fn at(
        &self,
        file: &ObjectFile,
        addresses: &[u64],
        texts: &mut Texts,
    ) -> Vec<Option<Line>> {
        let from = From::Elf(Elf::new(file.path()));
        let mut lines = Vec::with_capacity(addresses.len());
        for batch in addresses.chunks(BATCH) {
            let Some(found) = self.look_up(&from, batch) else {
                break;
            };
            lines.extend(found.iter().map(|found| {
                let info = with_line(found)?.code_info.as_deref()?;
                line_of(info, texts)
            }));
        }
        lines.resize(addresses.len(), None);
        lines
    }

    /// A line table that speaks of a file that it does not have makes blazesym panic (0.2.7).
    fn look_up(&self, from: &From<'_>, addresses: &[u64]) -> Option<Vec<Symbolized<'_>>> {
        let found = caught(|| {
            let input = Input::VirtOffset(addresses);
            self.blazesym.symbolize(from, input)
        });
        found?.ok()
    }
}

/// A bin holds two addresses. Where another line or inlined function begins at the second, an
/// instruction begins there; and the byte before it is the end of another one, as a rule.
fn choose<'a>(
    address: u64,
    name: &Name,
    first: &'a Symbolized<'a>,
    second: &'a Symbolized<'a>,
) -> Option<&'a Sym<'a>> {
    let Name::Function { start, .. } = *name else {
        return None;
    };
    let (first, second) = (with_line(first), with_line(second));
    match (first, second) {
        (_, Some(second)) if start == address | 1 => Some(second),
        (Some(first), Some(second)) if first.addr == second.addr => Some(second),
        _ if start == address | 1 => None,
        (first, _) => first,
    }
}

fn with_line<'a>(found: &'a Symbolized<'a>) -> Option<&'a Sym<'a>> {
    match found {
        Symbolized::Sym(symbol) if symbol.code_info.is_some() => Some(symbol),
        _ => None,
    }
}

fn source_of(symbol: &Sym<'_>, texts: &mut Texts) -> Option<Source> {
    let line = symbol.code_info.as_deref();
    let line = line.and_then(|info| line_of(info, texts));
    let skipped = symbol.inlined.len().saturating_sub(MAX_INLINED);
    let inlined = symbol.inlined[skipped..]
        .iter()
        .map(|inlined| {
            let (name, mangled) = texts.name(&inlined.name)?;
            let line = inlined.code_info.as_ref();
            Some(Inlined {
                name,
                mangled,
                line: line.and_then(|info| line_of(info, texts)),
            })
        })
        .collect::<Option<_>>()?;
    Some(Source { line, inlined })
}

fn line_of(info: &CodeInfo<'_>, texts: &mut Texts) -> Option<Line> {
    Some(Line {
        file: texts.keep(&info.to_path().to_string_lossy())?,
        // 0 is of no line at all.
        number: info.line.filter(|&number| number > 0)?,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use blazesym::symbolize::{CodeInfo, Reason, Sym, Symbolized};

    use super::{Lines, Name, Texts, choose};
    use crate::target::ObjectFile;

    #[test]
    fn a_file_that_the_line_table_does_not_have_is_no_line() {
        const START: u64 = 0x40_1000;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(dir.path().join("program.c"), "int f(void) { return 0; }").unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-gdwarf-4", "-static", "-nostdlib", "-fno-pie", "-no-pie"]);
        cc.args(["-Wl,-e,f", &format!("-Wl,-Ttext={START:#x}"), "program.c"]);
        cc.args(["-o", "program"]).current_dir(dir.path());
        assert!(cc.status().unwrap().success());
        let at = || {
            let file = ObjectFile::open_named(&path).unwrap();
            let lines = Lines::new(&[], true);
            let name = Name::Function {
                name: "f".into(),
                mangled: None,
                start: START,
            };
            let mut texts = Texts::default();
            let sources = lines.of(&file, &[(START, &name)], &mut texts);
            let line = sources.into_iter().next().flatten();
            let line = line.and_then(|source| source.line);
            assert_eq!(lines.at(&file, &[START], &mut texts)[0], line);
            line.map(|line| line.number)
        };
        assert_eq!(at(), Some(1));
        // Its only file: the table of those ends before it.
        let mut image = fs::read(&path).unwrap();
        let file = b"\0program.c\0\0\0\0";
        let place = image.windows(file.len()).position(|bytes| bytes == file);
        image[place.expect("DWARF 4") + 1] = 0;
        fs::write(&path, image).unwrap();
        assert_eq!(at(), None);
    }

    /// A place in a function at `addr`, on a line.
    fn found(addr: u64, line: u32) -> Symbolized<'static> {
        Symbolized::Sym(Sym {
            name: "f".into(),
            module: None,
            addr,
            offset: 0,
            size: None,
            code_info: Some(Box::new(CodeInfo {
                dir: None,
                file: std::ffi::OsStr::new("f.c").into(),
                line: Some(line),
                column: None,
                _non_exhaustive: (),
            })),
            inlined: Box::new([]),
            _non_exhaustive: (),
        })
    }

    fn chosen(start: u64, first: &Symbolized<'_>, second: &Symbolized<'_>) -> Option<u32> {
        let name = Name::Function {
            name: "f".into(),
            mangled: None,
            start,
        };
        let symbol = choose(0x1010, &name, first, second)?;
        symbol.code_info.as_ref()?.line
    }

    #[test]
    fn where_an_instruction_begins_is_where_a_tick_was() {
        let nothing = || Symbolized::Unknown(Reason::UnknownAddr);
        // The second byte is of the next line of the same function.
        assert_eq!(
            chosen(0x1000, &found(0x1000, 1), &found(0x1000, 2)),
            Some(2)
        );
        // It is of another function, or of none: what ticked has its name from the first.
        assert_eq!(chosen(0x1000, &found(0x1000, 1), &found(0x900, 2)), Some(1));
        assert_eq!(chosen(0x1000, &found(0x1000, 1), &nothing()), Some(1));
        // The function starts at the second byte.
        assert_eq!(
            chosen(0x1011, &found(0x1000, 1), &found(0x1011, 2)),
            Some(2)
        );
        assert_eq!(chosen(0x1011, &found(0x1000, 1), &nothing()), None);
        assert_eq!(chosen(0x1000, &nothing(), &nothing()), None);
    }
}
