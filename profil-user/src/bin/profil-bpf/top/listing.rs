//! The rows of one function: its addresses, how often each ticked, and the instructions there with their
//! lines, as far as its code and debug information can be read.

use std::{ops::Range, path::Path};

use profil_user::{
    Count, Object, Taken, TaskId,
    annotate::{Bin, Instruction, NotAnnotated, annotate},
    symbolize::{Function, Name, Place, Symbolizer},
};

use super::{
    model::{Spot, Ticks},
    rows::Row,
};

/// Most addresses of a function; of more, those that ticked most.
const MOST: usize = 10_000;

/// A function, of one process or of all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Asked {
    pub(crate) process: Option<Option<usize>>,
    pub(crate) spot: Spot,
}

/// Where an address belongs.
pub(crate) fn spot_of(symbolizer: &Symbolizer, count: &Count) -> Spot {
    let (address, name) = match symbolizer.name_of(count.object, count.address) {
        Name::Function { name, start, .. } => (*start, Ok(name.clone())),
        Name::Unnamed(why) => (count.address, Err(*why)),
    };
    Spot {
        object: count.object,
        address,
        name,
    }
}

/// The instructions of a function: where each begins, and what it says. They are read once, when the
/// function is asked for.
#[derive(Debug, Default)]
pub(crate) struct Code(Vec<(u64, String)>);

impl Code {
    /// The code of a function that has ticks.
    ///
    /// # Errors
    ///
    /// If it cannot be had.
    pub(crate) fn read(
        taken: &Taken,
        symbolizer: &Symbolizer,
        spot: &Spot,
    ) -> Result<Self, NotAnnotated> {
        let Ok(name) = &spot.name else {
            return Ok(Self::default());
        };
        let function = Function {
            task: TaskId::ALL,
            object: spot.object,
            address: spot.address,
            name: Ok(name.to_string()),
            mangled: None,
            place: Place::Whole,
            user: 0,
            system: 0,
        };
        let listing = annotate(taken, symbolizer, &function, &[])?;
        let instructions = listing.instructions.into_iter();
        Ok(Self(
            instructions.map(|one| (one.address, said(&one))).collect(),
        ))
    }

    /// What begins in a bin: one instruction, or so many that nobody knows which of them ticked.
    fn within(&self, bin: Range<u64>) -> Option<String> {
        let first = self.0.partition_point(|(address, _)| *address < bin.start);
        let next = self.0.partition_point(|(address, _)| *address < bin.end);
        match self.0.get(first..next)? {
            [] => None,
            [(_, one)] => Some(one.clone()),
            [(_, one), others @ ..] => Some(format!("{one} (or {} further)", others.len())),
        }
    }
}

/// An instruction, what it leads to, and its line.
fn said(instruction: &Instruction) -> String {
    let mut text = instruction.text.clone();
    if let Some(target) = &instruction.target_name {
        text += &format!("  → {target}");
    }
    if let Some(line) = &instruction.line {
        let file = Path::new(&*line.file).file_name().unwrap_or_default();
        text += &format!("  {}:{}", file.to_string_lossy(), line.number);
    }
    text
}

/// The addresses of a function that ticked since the start, by address.
pub(crate) fn listing(
    taken: &Taken,
    symbolizer: &Symbolizer,
    (asked, code): (&Asked, &Code),
) -> Vec<Row> {
    let profile = &taken.profile;
    let object = profile.object(asked.spot.object);
    let row = |count: &Count| row((count, object), &asked.spot, code);
    let mut rows: Vec<Row> = match asked.process {
        None => {
            let counts = profile.counts_in(asked.spot.object).iter();
            let counts = counts.filter(|count| spot_of(symbolizer, count) == asked.spot);
            counts.map(row).collect()
        }
        Some(process) => {
            let of_process = profile.by_task.iter().filter(|(task, count)| {
                task.index() == process && count.object == asked.spot.object
            });
            let counts = of_process.map(|(_, count)| count);
            let counts = counts.filter(|count| spot_of(symbolizer, count) == asked.spot);
            counts.map(row).collect()
        }
    };
    if rows.len() > MOST {
        rows.sort_by_key(|row| std::cmp::Reverse(row.sums.all.all()));
        rows.truncate(MOST);
    }
    rows
}

fn row((count, object): (&Count, &Object), spot: &Spot, code: &Code) -> Row {
    let offset = || format!("+{:#x}", count.address.wrapping_sub(spot.address));
    let bin = Bin::of(count, object, false);
    let text = match (&spot.name, code.within(bin.start..bin.end)) {
        (Ok(_), Some(instruction)) => format!("{:<7} {instruction}", offset()),
        (Ok(_), None) => offset(),
        (Err(why), _) => why.to_string(),
    };
    let ticks = Ticks {
        user: count.user,
        system: count.system,
    };
    Row::of_address(count.address, text, ticks)
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn a_bin_has_the_instruction_that_begins_in_it() {
        let code = [(0x10, "push"), (0x11, "pop"), (0x12, "ret"), (0x20, "nop")];
        let code = Code(
            code.map(|(address, text)| (address, text.to_owned()))
                .to_vec(),
        );
        let within = |start, end| code.within(start..end);
        assert_eq!(within(0x12, 0x14).as_deref(), Some("ret"));
        assert_eq!(within(0x11, 0x12).as_deref(), Some("pop"));
        assert_eq!(within(0x10, 0x12).as_deref(), Some("push (or 1 further)"));
        assert_eq!(within(0x14, 0x16), None);
        assert_eq!(Code::default().within(0x10..0x12), None);
    }
}
