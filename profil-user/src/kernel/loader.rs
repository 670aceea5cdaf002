//! From the embedded object to maps and a program in the kernel.
//!
//! aya-obj reads the object and aya makes the maps. The last step is taken here: aya's own loader
//! reads the kernel's type information at every start, which takes longer than all the rest and
//! is of no use to us, and keeps to itself what the verifier says about a program it accepts.

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
};

use aya::maps::{MapData, MapError};
use aya_obj::{
    EbpfSectionKind, Function, Object,
    btf::BtfFeatures,
    generated::{bpf_insn, bpf_prog_info},
};

use super::{
    bpf::{self, Code, LOG_FIGURES, LOG_STEPS, LineTable},
    object::LoadError,
};

/// Room for what the verifier says about its work in figures.
const FIGURES_BYTES: usize = 4096;

/// Room for a whole log of the verifier. It keeps the beginning or the end, as the kernel likes.
const LOG_BYTES: usize = 16 << 20;

/// How large a program is and what it costs to load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Figures {
    /// Instructions after the kernel's own translation: what is left of the program once its
    /// settings are known.
    pub instructions: u32,
    /// Instructions that the verifier walked through, on all the ways it had to look at. It gives
    /// up at a million. `None` if the kernel does not tell.
    pub processed: Option<u32>,
}

/// A loaded program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) fd: OwnedFd,
    pub(super) id: u32,
    pub(super) figures: Figures,
}

/// An object whose maps are made and whose program can be loaded.
pub(super) struct Prepared {
    object: Object,
    /// How the object describes its maps.
    definitions: HashMap<String, aya_obj::Map>,
    /// By the name that the object gives them.
    pub(super) maps: HashMap<String, MapData>,
}

impl Prepared {
    /// Reads an object, sets the globals with these names to these bytes, and makes its maps,
    /// those that `entries` names with that many.
    pub(super) fn new(
        object: &[u8],
        globals: &[(&str, &[u8])],
        entries: &[(&str, u32)],
    ) -> Result<Self, LoadError> {
        const MUST_EXIST: bool = true;

        let mut object = Object::parse(object)?;
        let globals = globals
            .iter()
            .map(|&(name, bytes)| (name, (bytes, MUST_EXIST)));
        object.patch_map_data(globals.collect())?;
        let mut definitions = std::mem::take(&mut object.maps);
        let mut maps = HashMap::new();
        for (name, definition) in &mut definitions {
            if let Some(&(_, entries)) = entries.iter().find(|(known, _)| known == name) {
                definition.set_max_entries(entries);
            }
            let map = MapData::create(definition.clone(), name, None)?;
            fill(name, &map, definition)?;
            maps.insert(name.clone(), map);
        }
        Ok(Self {
            object,
            definitions,
            maps,
        })
    }

    /// Loads the object's program with this name.
    pub(super) fn load(&mut self, name: &'static str) -> Result<Program, LoadError> {
        let sections = self.object.functions.keys();
        let sections = sections.map(|(section, _)| *section).collect();
        let maps = self.definitions.iter().filter_map(|(name, definition)| {
            let map = self.maps.get(name)?;
            Some((name.as_str(), map.fd().as_fd().as_raw_fd(), definition))
        });
        self.object.relocate_maps(maps, &sections)?;
        self.object.relocate_calls(&sections)?;
        let program = self.object.programs.get(name);
        let function = program
            .and_then(|program| self.object.functions.get(&program.function_key()))
            .ok_or(LoadError::Absent(name))?
            .clone();

        let mut log = vec![0; FIGURES_BYTES];
        let code = Code {
            name,
            instructions: &function.instructions,
            lines: None,
        };
        let fd = match bpf::load_program(&code, &mut log, LOG_FIGURES) {
            Ok(fd) => fd,
            Err(source) => {
                return Err(LoadError::Refused {
                    source,
                    log: self.log_of(name, &function),
                });
            }
        };
        let info = bpf::program_info(fd.as_fd()).map_err(LoadError::Info)?;
        Ok(Program {
            fd,
            id: info.id,
            figures: figures(&info, &bpf::text_of(&log)),
        })
    }

    /// What the verifier says about a program that it refuses, with source lines if possible.
    fn log_of(&mut self, name: &str, function: &Function) -> String {
        let table = self.line_table(function);
        let mut log = vec![0; LOG_BYTES];
        let code = Code {
            name,
            instructions: &function.instructions,
            lines: table.as_ref(),
        };
        // Whatever comes of it: the log is what is wanted.
        let _ = bpf::load_program(&code, &mut log, LOG_STEPS);
        bpf::text_of(&log)
    }

    fn line_table(&mut self, function: &Function) -> Option<LineTable> {
        // What Linux 5.10 knows: functions, global ones and data sections, but no floating point
        // types, tags or wide enumerations.
        let features = BtfFeatures::new(true, true, true, true, false, false, false, false);
        let types = self.object.fixup_and_sanitize_btf(&features).ok()??;
        let types = bpf::load_types(&types.to_bytes()).ok()?;
        let functions = function.func_info.func_info_bytes();
        let lines = function.line_info.line_info_bytes();
        Some(LineTable {
            types,
            functions: (functions, function.func_info_rec_size),
            lines: (lines, function.line_info_rec_size),
        })
    }
}

/// Writes what the object holds for a map, and seals what is read-only.
fn fill(name: &str, map: &MapData, definition: &aya_obj::Map) -> Result<(), LoadError> {
    let written = |fd: BorrowedFd<'_>| {
        if !definition.data().is_empty() {
            bpf::write_only_value(fd, definition.data())?;
        }
        if definition.section_kind() == EbpfSectionKind::Rodata {
            bpf::freeze(fd)?;
        }
        Ok(())
    };
    written(map.fd().as_fd()).map_err(|io_error: io::Error| {
        LoadError::Map(MapError::CreateError {
            name: name.to_owned(),
            io_error,
        })
    })
}

/// The verifier's figures from what it wrote, which it does on every kernel, or from what the
/// kernel remembers, which it does since 5.16.
fn figures(info: &bpf_prog_info, log: &str) -> Figures {
    Figures {
        instructions: info.xlated_prog_len / size_of::<bpf_insn>() as u32,
        processed: processed_in(log).or(Some(info.verified_insns).filter(|&count| count > 0)),
    }
}

/// The number in a line like `processed 641 insns (limit 1000000) max_states_per_insn 1 …`.
fn processed_in(log: &str) -> Option<u32> {
    let counts = log.lines().find_map(|line| line.strip_prefix("processed "));
    counts?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::processed_in;

    #[test]
    fn the_verifier_says_how_much_it_processed() {
        let log = "verification time 412 usec\nstack depth 40\n\
                   processed 641 insns (limit 1000000) max_states_per_insn 4 total_states 20 \
                   peak_states 20 mark_read 7";
        assert_eq!(processed_in(log), Some(641));
        assert_eq!(processed_in(""), None);
        assert_eq!(processed_in("processed many"), None);
    }
}
