//! Reading what `profil-bpf report` prints.

/// A line of the table: one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Part of all ticks, in percent.
    pub percent: f64,
    /// Time in the file's unit.
    pub seconds: f64,
    /// Ticks.
    pub ticks: u64,
    /// The function, or an address and why it has no name.
    pub function: String,
    /// The program.
    pub object: String,
}

/// What `profil-bpf report` printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The table, in the order printed.
    pub rows: Vec<Row>,
    /// What was said after `note: `.
    pub notes: Vec<String>,
    /// What was said after `from: `, one for each file.
    pub sources: Vec<String>,
}

impl Recorded {
    /// Reads a report.
    ///
    /// # Panics
    ///
    /// If it is none, with the text.
    #[track_caller]
    pub fn of(stdout: &str) -> Self {
        let is_heading = |line: &&str| line.contains("function") && line.contains("object");
        let table = stdout.lines().skip_while(|line| !is_heading(line)).skip(1);
        let rows = table
            .take_while(|line| !line.is_empty())
            .map(|line| row(line).unwrap_or_else(|| panic!("{line:?} is no row in:\n{stdout}")))
            .collect();
        let after = |word: &str| {
            let lines = stdout.lines().filter_map(|line| line.strip_prefix(word));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let sources = after("from: ");
        assert!(!sources.is_empty(), "no origin in:\n{stdout}");
        Self {
            rows,
            notes: after("note: "),
            sources,
        }
    }

    /// The row of a function.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    #[track_caller]
    pub fn row(&self, function: &str) -> &Row {
        let mut rows = self.rows.iter().filter(|row| row.function == function);
        match (rows.next(), rows.next()) {
            (Some(row), None) => row,
            _ => panic!("not one row of {function}: {self:#?}"),
        }
    }

    /// All ticks in the table.
    pub fn ticks(&self) -> u64 {
        self.rows.iter().map(|row| row.ticks).sum()
    }
}

/// Two percentages, seconds, ticks, function, object; with at least two blanks between them.
fn row(line: &str) -> Option<Row> {
    let mut cells = line
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty());
    let percent = cells.next()?.parse().ok()?;
    let _so_far: f64 = cells.next()?.parse().ok()?;
    Some(Row {
        percent,
        seconds: cells.next()?.parse().ok()?,
        ticks: cells.next()?.parse().ok()?,
        function: cells.next()?.to_owned(),
        object: cells.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::Recorded;

    #[test]
    fn a_report_is_read() {
        let text = "\
app: 3 ticks, 0.03 seconds

self%    cum%  seconds  ticks  function           object
66.67   66.67    0.020      2  a::b(int, char)    app
33.33  100.00    0.010      1  app+0x10 (no one)  app

note: 1 tick is strange
from: gmon.out (gmon.out, 64-bit): 3 ticks
";
        let report = Recorded::of(text);
        assert_eq!(report.ticks(), 3);
        assert_eq!(report.row("a::b(int, char)").seconds, 0.02);
        assert_eq!(report.row("app+0x10 (no one)").object, "app");
        assert_eq!(report.notes, ["1 tick is strange"]);
        assert_eq!(report.sources.len(), 1);
    }
}
