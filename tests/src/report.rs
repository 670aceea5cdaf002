//! Reading the flat profile that `profil-bpf` prints.

use std::collections::BTreeMap;

use crate::machine;

/// A line of the flat profile: one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Part of all ticks, in percent.
    pub self_percent: f64,
    /// Its standard error, if the report has it.
    pub error: Option<f64>,
    /// The part of all ticks, summed from the top.
    pub cumulative_percent: f64,
    /// Seconds in user mode.
    pub user_seconds: f64,
    /// Seconds in system mode, charged to where the process resumes.
    pub system_seconds: f64,
    /// Ticks in both modes.
    pub ticks: u64,
    /// The function, or an address and why it has no name.
    pub function: String,
    /// The file or mapping that holds it.
    pub object: String,
}

/// The balance line: what became of every run of the kernel's program.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// Times that the kernel ran the program.
    pub runs: u64,
    /// What became of them, by name.
    pub outcomes: BTreeMap<String, u64>,
    /// Ticks of the target.
    pub seen: u64,
    /// Ticks that the target's CPU time should have given.
    pub due: u64,
    /// One over the other, as printed.
    pub ratio: f64,
    /// The kernel memory used, as printed.
    pub memory: String,
    /// Of the strays, those of processes that were not asked for.
    pub unwanted: u64,
}

/// What `profil-bpf` printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The flat profile, in the order printed; of tasks that are told apart, one after the other.
    pub rows: Vec<Row>,
    /// The tasks that are told apart: what is said of each, and how many rows it has.
    pub tasks: Vec<(String, usize)>,
    /// Ticks that filters left out.
    pub filtered_out: u64,
    /// The balance line.
    pub balance: Balance,
}

impl Report {
    /// Reads the standard output of `profil-bpf`.
    ///
    /// # Panics
    ///
    /// If it is not a report, with the text.
    #[track_caller]
    pub fn of(stdout: &str) -> Self {
        match Self::parse(stdout) {
            Ok(report) => report,
            Err(error) => panic!("{error}; the report:\n{stdout}"),
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    ///
    /// Says which part is missing or not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_heading = |line: &&str| line.contains("self%") && line.contains("object");
        let mut rows = Vec::new();
        let mut tasks: Vec<(String, usize)> = Vec::new();
        let mut lines = text.lines().peekable();
        let mut head = None;
        while let Some(line) = lines.next() {
            if is_heading(&line) {
                let before = rows.len();
                while let Some(line) =
                    lines.next_if(|line| !line.trim().is_empty() && !line.starts_with("balance: "))
                {
                    rows.push(Row::parse(line).ok_or_else(|| format!("not a row: {line:?}"))?);
                }
                if let Some(head) = head.take() {
                    tasks.push((head, rows.len() - before));
                }
            } else if line.starts_with("pid ") && lines.peek().is_some_and(is_heading) {
                head = Some(line.to_owned());
            }
        }
        let mut balances = text
            .lines()
            .filter_map(|line| line.strip_prefix("balance: "));
        let line = balances.next().ok_or("no balance line")?;
        if balances.next().is_some() {
            return Err("two balance lines".to_owned());
        }
        let balance = Balance::parse(line).ok_or_else(|| format!("not a balance: {line:?}"))?;
        let mut lines = text.lines();
        let left_out = lines.find_map(|line| line.strip_prefix("filtered out: "));
        let filtered_out = match left_out.map(|text| text.split(' ').next()) {
            Some(Some(number)) => number
                .parse()
                .map_err(|_| format!("not a number of ticks: {number:?}"))?,
            _ => 0,
        };
        Ok(Self {
            rows,
            tasks,
            filtered_out,
            balance,
        })
    }

    /// All ticks in the flat profile.
    pub fn ticks(&self) -> u64 {
        self.rows.iter().map(|row| row.ticks).sum()
    }

    /// The ticks of a function, in whatever object it is.
    pub fn ticks_of(&self, function: &str) -> u64 {
        self.rows_of(function).map(|row| row.ticks).sum()
    }

    /// The ticks in an object.
    pub fn ticks_in(&self, object: &str) -> u64 {
        self.rows
            .iter()
            .filter(|row| row.is_in(object))
            .map(|row| row.ticks)
            .sum()
    }

    /// The part of all ticks that a function has.
    pub fn share_of(&self, function: &str) -> f64 {
        self.ticks_of(function) as f64 / self.ticks() as f64
    }

    /// The rows of the task whose head starts so.
    ///
    /// # Panics
    ///
    /// If there is none, or several.
    #[track_caller]
    pub fn task(&self, start: &str) -> &[Row] {
        let mut first = 0;
        let mut found = None;
        for (head, count) in &self.tasks {
            if head.starts_with(start) {
                assert!(found.is_none(), "two tasks {start:?}: {:?}", self.tasks);
                found = Some(&self.rows[first..first + count]);
            }
            first += count;
        }
        found.unwrap_or_else(|| panic!("no task {start:?}: {:?}", self.tasks))
    }

    /// The rows of a function.
    pub fn rows_of(&self, function: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.function == function)
    }

    /// How many runs ended as `outcome`.
    pub fn outcome(&self, outcome: &str) -> u64 {
        self.balance.outcomes.get(outcome).copied().unwrap_or(0)
    }

    /// Checks that nothing is lost and nothing is counted twice.
    ///
    /// # Panics
    ///
    /// If the outcomes do not add up to the runs, or the rows do not add up to what was kept.
    #[track_caller]
    pub fn assert_conserved(&self) -> &Self {
        let outcomes: u64 = self.balance.outcomes.values().sum();
        assert_eq!(
            self.balance.runs, outcomes,
            "runs and outcomes: {:?}",
            self.balance
        );
        let strays = self.outcome("strays");
        let kept = self.outcome("binned") + strays - self.balance.unwanted;
        assert_eq!(
            self.ticks() + self.filtered_out,
            kept,
            "rows and kept ticks: {:?}\n{:#?}",
            self.balance,
            self.rows
        );
        self
    }

    /// Whether the clock ticked as often as the target's CPU time says, within one in a hundred
    /// and the [`machine::slack`].
    pub fn sees_all_ticks(&self) -> bool {
        (self.seen_per_due() - 1.0).abs() <= 0.01 + machine::slack()
    }

    /// Checks [`Report::sees_all_ticks`].
    ///
    /// # Panics
    ///
    /// If more ticks are missing or too many, or the printed ratio is not that of the printed
    /// numbers.
    #[track_caller]
    pub fn assert_all_ticks_seen(&self) -> &Self {
        assert!(
            self.sees_all_ticks(),
            "ticks seen / due: {:?}",
            self.balance
        );
        // What is due is printed as a whole number, and the ratio to three digits.
        let rounding = 0.5 / self.balance.due as f64 + 0.0005;
        assert!(
            (self.seen_per_due() - self.balance.ratio).abs() <= rounding + 1e-9,
            "the printed ratio: {:?}",
            self.balance
        );
        self
    }

    /// Checks that the profile is there, where how exact it is is another test's question: a host
    /// that stops the machine for a moment takes ticks away.
    ///
    /// # Panics
    ///
    /// If a tenth of the ticks is missing or too many.
    #[track_caller]
    pub fn assert_most_ticks_seen(&self) -> &Self {
        let ratio = self.seen_per_due();
        assert!(
            (ratio - 1.0).abs() <= 0.1 + machine::slack(),
            "{:?}",
            self.balance
        );
        self
    }

    fn seen_per_due(&self) -> f64 {
        self.balance.seen as f64 / self.balance.due as f64
    }
}

impl Row {
    /// Five numbers, six with an error, then the function and the object, set apart by two blanks or more.
    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut number = || {
            let text = rest.trim_start();
            let end = text.find(' ')?;
            rest = &text[end..];
            Some(text[..end].trim_end_matches('%'))
        };
        let self_percent = number()?.parse().ok()?;
        let mut next = number()?;
        let error = if next == "±" {
            let error = number()?.parse().ok()?;
            next = number()?;
            Some(error)
        } else {
            None
        };
        let cumulative_percent = next.parse().ok()?;
        let user_seconds = number()?.parse().ok()?;
        let system_seconds = number()?.parse().ok()?;
        let ticks = number()?.parse().ok()?;
        let (function, object) = rest.trim().rsplit_once("  ")?;
        Some(Self {
            self_percent,
            error,
            cumulative_percent,
            user_seconds,
            system_seconds,
            ticks,
            function: function.trim_end().to_owned(),
            object: object.to_owned(),
        })
    }

    /// Whether the row is in an object of that file name.
    pub fn is_in(&self, object: &str) -> bool {
        self.object.rsplit('/').next() == Some(object)
    }
}

impl Balance {
    /// `runs N = binned N + strays N + NAME N…; ticks seen N / due N (R); kernel memory TEXT`.
    fn parse(line: &str) -> Option<Self> {
        let (account, rest) = line.split_once("; ticks seen ")?;
        let (runs, terms) = account.strip_prefix("runs ")?.split_once(" = ")?;
        let (ticks, memory) = rest.split_once("; kernel memory ")?;
        let mut more = memory.split("; ");
        let memory = more.next()?;
        let unwanted =
            more.find_map(|text| text.strip_suffix(" strays of processes not asked for"));
        let (seen, rest) = ticks.split_once(" / due ")?;
        let (due, rest) = rest.split_once(" (")?;
        let (ratio, _) = rest.split_once(')')?;
        let mut outcomes = BTreeMap::new();
        for term in terms.split(" + ") {
            let (name, count) = term.rsplit_once(' ')?;
            let counted_twice = outcomes.insert(name.to_owned(), count.parse().ok()?);
            if counted_twice.is_some() {
                return None;
            }
        }
        Some(Self {
            runs: runs.parse().ok()?,
            outcomes,
            seen: seen.parse().ok()?,
            due: due.parse().ok()?,
            // Nothing was due, nothing was seen: no number, and no complaint.
            ratio: ratio.parse().unwrap_or(f64::NAN),
            memory: memory.trim().to_owned(),
            unwanted: unwanted.map_or(Some(0), |count| count.parse().ok())?,
        })
    }
}

#[cfg(test)]
mod tests;
