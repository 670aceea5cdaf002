//! Instructions with ticks → lines with ticks.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{Instruction, SourceFile, SourceLine, Span, Sum};
use crate::symbolize::Line;

/// As many lines without code between two with code are shown with them; more are left out.
const WIDEST_GAP: u32 = 8;

/// Ticks of the lines of each file, and those on none.
#[derive(Default)]
struct Account<'a> {
    files: HashMap<&'a Arc<str>, BTreeMap<u32, Sum>>,
    no_line: Sum,
}

impl<'a> Account<'a> {
    fn enter(&mut self, line: Option<&'a Line>, sum: Sum) {
        let Some(line) = line else {
            return self.no_line.add(sum);
        };
        let file = self.files.entry(&line.file).or_default();
        file.entry(line.number).or_default().add(sum);
    }
}

/// The lines of instructions by file, that with most ticks first, and the ticks that are on none.
pub(super) fn add_up(instructions: &[Instruction], spans: &[Span]) -> (Vec<SourceFile>, Sum) {
    let mut account = Account::default();
    for one in instructions {
        account.enter(one.line.as_ref(), one.sum);
    }
    for span in spans {
        // Which of several instructions it was is no question where all are on one line.
        let line = match &instructions[span.instructions.clone()] {
            [first, rest @ ..] if !span.is_partly_outside => {
                let first = first.line.as_ref();
                first.filter(|_| rest.iter().all(|one| one.line.as_ref() == first))
            }
            _ => None,
        };
        account.enter(line, span.sum);
    }
    let files = account.files.into_iter();
    let mut sources: Vec<_> = files
        .map(|(path, lines)| SourceFile::new(Arc::clone(path), with_gaps(&lines)))
        .collect();
    sources.sort_by(|a, b| {
        let ticks = |source: &SourceFile| Reverse(source.sum().ticks());
        ticks(a).cmp(&ticks(b)).then_with(|| a.path.cmp(&b.path))
    });
    (sources, account.no_line)
}

/// The lines with code, and those between two that are near each other.
fn with_gaps(lines: &BTreeMap<u32, Sum>) -> Vec<SourceLine> {
    let mut all: Vec<SourceLine> = Vec::with_capacity(lines.len());
    for (&number, &sum) in lines {
        if let Some(last) = all.last().map(|line| line.number)
            && number - last - 1 <= WIDEST_GAP
        {
            let between = last + 1..number;
            all.extend(between.map(|number| SourceLine::new(number, false, Sum::default())));
        }
        all.push(SourceLine::new(number, true, sum));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Instruction, Line, Span, Sum, add_up};

    const NONE: Sum = Sum { user: 0, system: 0 };

    fn instruction(address: u64, line: Option<(&str, u32)>, user: u64) -> Instruction {
        Instruction {
            address,
            bytes: Vec::new(),
            text: String::new(),
            target: None,
            target_name: None,
            line: line.map(|(file, number)| Line {
                file: file.into(),
                number,
            }),
            sum: Sum { user, system: 0 },
        }
    }

    fn span(instructions: std::ops::Range<usize>, system: u64) -> Span {
        Span {
            start: 0,
            end: 2,
            instructions,
            is_partly_outside: false,
            sum: Sum { user: 0, system },
        }
    }

    #[test]
    fn lines_have_the_ticks_of_their_instructions() {
        let all = [
            instruction(0, Some(("a.c", 10)), 1),
            instruction(1, Some(("a.c", 13)), 2),
            instruction(2, Some(("b.h", 5)), 40),
            instruction(3, Some(("a.c", 10)), 4),
            instruction(4, None, 8),
            instruction(5, Some(("a.c", 23)), 0),
        ];
        let spans = [
            span(0..1, 100),
            // Of two lines, of none, past the end, and partly of somebody else.
            span(0..2, 16),
            span(4..5, 32),
            span(6..6, 64),
            Span {
                is_partly_outside: true,
                ..span(0..1, 128)
            },
        ];
        let (sources, no_line) = add_up(&all, &spans);
        let sum = |user, system| Sum { user, system };
        assert_eq!(no_line, sum(8, 16 + 32 + 64 + 128));
        let shown: Vec<_> = sources
            .iter()
            .map(|source| {
                let lines = source.lines.iter();
                let lines = lines.map(|line| (line.number, line.has_code, line.sum));
                (&*source.path, lines.collect::<Vec<_>>())
            })
            .collect();
        let a = vec![
            (10, true, sum(5, 100)),
            (11, false, NONE),
            (12, false, NONE),
            (13, true, sum(2, 0)),
            (23, true, NONE),
        ];
        assert_eq!(shown, [("a.c", a), ("b.h", vec![(5, true, sum(40, 0))])]);
    }
}
