//! One function, looked into: its ticks by source line and by instruction.
//!
//! [`annotate`] is the way from a profile to a [`Listing`]; [`Listing::new`] is the same from plain
//! values. Everything in a listing is plain: `export::annotated` lays it out for people, and so may
//! whoever has another kind of screen.
//!
//! # Whose ticks they are
//!
//! - A tick is counted at the program counter that a timer interrupt finds: that of the instruction that
//!   was **next to run**. An instruction that takes long is as a rule the one before the ticks.
//! - System time is at the instruction at which the process goes on: the one **after the system call**, or
//!   the one that was interrupted.
//! - A bin holds two addresses, or more where memory was short. Ticks of a bin in which just one
//!   instruction begins are that instruction's. Where several begin (two of one byte each), or none does,
//!   it is not known which one it was: such ticks are in a [`Span`], and in no instruction.
//!
//! So the ticks of all instructions and spans are the function's in the flat profile, exactly; and so are
//! those of all lines, with what is on no line that is known ([`Listing::no_line`]).

mod bins;
mod decode;
mod error;
mod find;
mod lines;
mod place;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use bins::Bin;
pub use decode::Architecture;
pub use error::NotAnnotated;
pub use find::{named, nearest};
pub use source::{NoSource, SourceFile, SourceLine};

use crate::symbolize::{Function, Inside, Line, Name, Symbolizer, Ticks};

/// Bytes of a function that are listed. No function that anybody wrote is as long, and a megabyte of code
/// has some hundred thousand instructions.
const MOST_BYTES: usize = 1 << 20;

/// A function, by line and by instruction.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Whose instructions they are.
    pub architecture: Architecture,
    /// Link-time address of the first byte.
    pub start: u64,
    /// First link-time address past the last instruction of the list.
    pub end: u64,
    /// The instructions, by address, without a gap.
    pub instructions: Vec<Instruction>,
    /// Ticks that are no one instruction's, by address.
    pub spans: Vec<Span>,
    /// The lines by file, that with most ticks first.
    pub sources: Vec<SourceFile>,
    /// Ticks on no line that is known, or of several instructions on different lines.
    pub no_line: Sum,
    /// All ticks of the function.
    pub sum: Sum,
    /// What the reader should know.
    pub remarks: Vec<Remark>,
}

/// User and system ticks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sum {
    /// While the process ran its own code.
    pub user: u64,
    /// While the kernel worked for it.
    pub system: u64,
}

/// One instruction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instruction {
    /// Link-time address.
    pub address: u64,
    /// What it is in memory.
    pub bytes: Vec<u8>,
    /// Mnemonic and operands, in the notation of `objdump`; `(bad)` or `.inst` for what is none.
    pub text: String,
    /// Link-time address of what it jumps to or calls, if it says so.
    pub target: Option<u64>,
    /// What is there, if that is in another function: its name, and how far into it. Untrusted: escape it
    /// before display.
    pub target_name: Option<String>,
    /// The line that it was made of, if that is known.
    pub line: Option<Line>,
    /// Its ticks, as far as they are its alone.
    pub sum: Sum,
}

/// Ticks of a bin that are at one of several instructions, or at none of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Span {
    /// First link-time address of the bin.
    pub start: u64,
    /// First one past it.
    pub end: u64,
    /// The instructions that begin in the bin: their places in [`Listing::instructions`]. If none does,
    /// an empty range: the place of the next one.
    pub instructions: std::ops::Range<usize>,
    /// Whether a part of the bin is outside of the function.
    pub is_partly_outside: bool,
    /// Its ticks.
    pub sum: Sum,
}

/// What the reader of a listing should know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Remark {
    /// No symbol table says where the function ends: it is listed up to its last tick.
    EndUnknown,
    /// The function has so many bytes, and only the first of them are listed.
    CutOff {
        /// Bytes of the function.
        bytes: u64,
    },
    /// There is no debug information of the function, so there are no lines.
    NoDebugInformation,
    /// Lines are known where there are ticks only: they are those that were recorded with the profile.
    RecordedLines,
}

/// Code of a function.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// Whose instructions they are.
    pub architecture: Architecture,
    /// Link-time address of the first byte.
    pub start: u64,
    /// The bytes, to the end of the function.
    pub bytes: &'a [u8],
}

impl Sum {
    /// User and system ticks together.
    pub const fn ticks(self) -> u64 {
        self.user + self.system
    }

    fn add(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
    }
}

impl Listing {
    /// Disassembles some code and puts ticks where they belong. There are no lines yet.
    pub fn new(code: Code<'_>, bins: &[Bin]) -> Self {
        let mut rest = code.bytes;
        let decoded = code.architecture.decode(code.start, code.bytes);
        let mut instructions: Vec<_> = decoded
            .into_iter()
            .map(|one| {
                let (bytes, after) = rest.split_at(one.length.min(rest.len()));
                rest = after;
                Instruction {
                    address: one.address,
                    bytes: bytes.to_vec(),
                    text: one.text,
                    target: one.target,
                    target_name: None,
                    line: None,
                    sum: Sum::default(),
                }
            })
            .collect();
        let end = code.start.saturating_add(code.bytes.len() as u64);
        let spans = place::place(&mut instructions, code.start..end, bins);
        let mut sum = Sum::default();
        bins.iter().for_each(|bin| sum.add(bin.sum));
        Self {
            architecture: code.architecture,
            start: code.start,
            end,
            instructions,
            spans,
            sources: Vec::new(),
            no_line: sum,
            sum,
            remarks: Vec::new(),
        }
    }

    /// Adds lines: one for each instruction, as far as they are known. What their files say is read with
    /// [`SourceFile::read`].
    #[must_use]
    pub fn with_lines(mut self, lines: Vec<Option<Line>>) -> Self {
        for (instruction, line) in self.instructions.iter_mut().zip(lines) {
            instruction.line = line;
        }
        (self.sources, self.no_line) = lines::add_up(&self.instructions, &self.spans);
        self
    }
}

/// Looks into a function of a profile whose addresses were looked up: one of the rows of
/// [`functions`](crate::symbolize::functions).
///
/// It takes the code from the object's file, if that is the one that was profiled, or one of the same
/// build; lines from its debug information; and what lines say from their files, if these can be read, in
/// `source_dirs` or where they were when the program was built.
///
/// # Errors
///
/// If the code cannot be had.
///
/// # Panics
///
/// If the function is of another profile, which has more objects.
pub fn annotate<'a>(
    profile: impl Into<Ticks<'a>>,
    symbolizer: &Symbolizer,
    function: &Function,
    source_dirs: &[PathBuf],
) -> Result<Listing, NotAnnotated> {
    let ticks = profile.into();
    let object = &ticks.objects[function.object.index()];
    let refused = |why| NotAnnotated::of(why, object, ticks.are_of_now());
    let mut inside = symbolizer
        .look_inside(&ticks, function.object)
        .map_err(refused)?;
    let start = function.address;
    if !inside.holds_code(start) {
        return Err(NotAnnotated::DebugFile);
    }
    let machine = inside.file().machine().map_err(NotAnnotated::Read)?;
    let architecture = Architecture::of_machine(machine).ok_or(NotAnnotated::Machine(machine))?;

    let is_of_function = |address: u64| match symbolizer.name_of(function.object, address) {
        Name::Function { name, start, .. } => {
            *start == function.address && function.name.as_deref() == Ok(&**name)
        }
        Name::Unnamed(_) => false,
    };
    let counts = ticks.counts_in(function.object).iter();
    let counts = counts.filter(|count| is_of_function(count.address));
    let bins: Vec<_> = counts
        .map(|count| Bin::of(count, object, ticks.has_buffers))
        .collect();

    let mut remarks = Vec::new();
    let last = bins.last().map_or(start, |bin| bin.end);
    let end = match inside.end_of(start) {
        Some(end) => end,
        None => {
            remarks.push(Remark::EndUnknown);
            last
        }
    };
    let length = end.saturating_sub(start);
    let most = usize::try_from(length).map_or(MOST_BYTES, |length| length.min(MOST_BYTES));
    let bytes = inside
        .file()
        .text_at(start, most)
        .map_err(NotAnnotated::Read)?;
    if bytes.is_empty() {
        return Err(NotAnnotated::NoCode);
    }
    if length > bytes.len() as u64 {
        remarks.push(Remark::CutOff { bytes: length });
    }
    let code = Code {
        architecture,
        start,
        bytes: &bytes,
    };
    let mut listing = Listing::new(code, &bins);
    name_targets(&mut listing, &mut inside);

    let addresses: Vec<_> = listing.instructions.iter().map(|one| one.address).collect();
    let mut lines = inside.lines_at(&addresses);
    if !inside.has_lines() {
        let recorded = |bin: &Bin| {
            let line = symbolizer.source_of(function.object, bin.start)?;
            let line = line.innermost_line()?.clone();
            let first = addresses.partition_point(|&address| address < bin.start);
            let next = addresses.partition_point(|&address| address < bin.end);
            (next == first + 1).then_some((first, line))
        };
        let recorded: Vec<_> = bins.iter().filter_map(recorded).collect();
        if !recorded.is_empty() {
            remarks.push(Remark::RecordedLines);
        }
        for (index, line) in recorded {
            lines[index] = Some(line);
        }
    }
    if lines.iter().all(Option::is_none) {
        remarks.push(Remark::NoDebugInformation);
    }
    let mut listing = listing.with_lines(lines);
    listing.remarks = remarks;
    let program = inside.file().metadata().ok();
    for source in &mut listing.sources {
        source.read(source_dirs, program.as_ref());
    }
    Ok(listing)
}

/// Says what is at the targets of branches that lead out of a function.
fn name_targets(listing: &mut Listing, inside: &mut Inside<'_>) {
    let own = listing.start..listing.end;
    let targets = listing.instructions.iter().filter_map(|one| one.target);
    let mut targets: Vec<_> = targets.filter(|target| !own.contains(target)).collect();
    targets.sort_unstable();
    targets.dedup();
    let names = inside.names_at(&targets);
    for one in &mut listing.instructions {
        let place = one
            .target
            .and_then(|target| targets.binary_search(&target).ok());
        let (Some(place), Some(target)) = (place, one.target) else {
            continue;
        };
        if let Name::Function { name, start, .. } = &names[place] {
            one.target_name = match target.checked_sub(*start) {
                Some(0) => Some(name.to_string()),
                Some(far) => Some(format!("{name}+{far:#x}")),
                // It is of what begins one byte later.
                None => None,
            };
        }
    }
}
