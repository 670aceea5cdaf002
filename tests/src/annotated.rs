//! What `profil-bpf annotate` prints, read again.

/// One function, as it was printed.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The lists: the hottest lines and instructions first, then all of each source file, then all
    /// instructions.
    pub lists: Vec<List>,
    /// The ticks that its head has: its own, and those of the profile.
    pub ticks: (u64, u64),
    /// Ticks that are on no line.
    pub no_line: u64,
    text: String,
}

/// A list under a title.
#[derive(Clone, Debug)]
pub struct List {
    /// What it is of.
    pub title: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A line, an instruction, or a bin of several.
#[derive(Clone, Debug)]
pub struct Row {
    /// Whether it has the mark of the hottest.
    pub is_hottest: bool,
    /// Ticks in user mode; all, where there is no system time.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
    /// The line or the address.
    pub key: String,
    /// What stands behind it.
    pub text: String,
}

impl Annotated {
    /// Reads what was printed of one function, not to a terminal.
    ///
    /// # Panics
    ///
    /// If it is something else.
    #[track_caller]
    pub fn of(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| panic!("not a function:\n{text}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split("\n\n");
        let (ticks, rest) = parts.next()?.split_once(": ")?.1.split_once(" ticks, ")?;
        let total = rest.split(" % of all ").nth(1)?;
        let total = total.split(';').next()?;
        let mut lists = Vec::new();
        let mut no_line = 0;
        for part in parts {
            let part = part.trim_matches('\n');
            if part.starts_with("note: ") {
                let no_lines = " ticks are on no line that is known";
                let ticks = part.lines().find_map(|line| {
                    let ticks = line.strip_prefix("note: ")?.strip_suffix(no_lines)?;
                    ticks.parse().ok()
                });
                no_line = ticks.unwrap_or(0);
                continue;
            }
            let mut lines = part.lines();
            let title = lines.next()?.to_owned();
            let with_system = lines.next()?.contains(" user  system ");
            let rows = lines.map(|line| Row::parse(line, with_system));
            lists.push(List {
                title,
                rows: rows.collect::<Option<_>>()?,
            });
        }
        Some(Self {
            lists,
            ticks: (ticks.parse().ok()?, total.trim_end().parse().ok()?),
            no_line,
            text: text.to_owned(),
        })
    }

    /// The list with all instructions.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn instructions(&self) -> &List {
        let mut lists = self.lists.iter();
        lists
            .find(|list| list.title.starts_with("0x"))
            .unwrap_or_else(|| panic!("no instructions:\n{}", self.text))
    }

    /// The list of the source file whose path ends so.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn source(&self, end: &str) -> &List {
        let mut lists = self.lists.iter();
        lists
            .find(|list| !list.title.starts_with("hottest ") && list.title.ends_with(end))
            .unwrap_or_else(|| panic!("no {end}:\n{}", self.text))
    }

    /// Checks that nothing is lost: instructions and bins have the ticks of the head, and so have the
    /// lines with what is on none, if there are lines.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn assert_conserved(&self) -> &Self {
        let of = |list: &List| list.rows.iter().map(Row::ticks).sum::<u64>();
        assert_eq!(of(self.instructions()), self.ticks.0, "{}", self.text);
        let mut sources = self
            .lists
            .iter()
            .filter(|list| !list.title.starts_with("0x") && !list.title.starts_with("hottest "));
        if sources.clone().next().is_some() {
            let on_lines: u64 = sources.by_ref().map(of).sum();
            assert_eq!(on_lines + self.no_line, self.ticks.0, "{}", self.text);
        }
        self
    }
}

impl List {
    /// Its hottest row: that with the mark.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn hottest(&self) -> &Row {
        let mut rows = self.rows.iter();
        let hottest = rows.find(|row| row.is_hottest);
        hottest.unwrap_or_else(|| panic!("nothing is hot: {self:#?}"))
    }
}

impl Row {
    /// A mark, two or three numbers in columns of eight, and two texts.
    fn parse(line: &str, with_system: bool) -> Option<Self> {
        let number = |column: usize| {
            let text = line.get(1 + 8 * column..9 + 8 * column)?.trim();
            if text.is_empty() {
                Some(0)
            } else {
                text.parse().ok()
            }
        };
        let system = if with_system { number(2)? } else { 0 };
        let rest = line.get(if with_system { 25 } else { 17 }..)?.trim_start();
        let (key, text) = rest.split_once("  ").unwrap_or((rest, ""));
        Some(Self {
            is_hottest: line.starts_with('>'),
            user: number(1)?,
            system,
            key: key.to_owned(),
            text: text.to_owned(),
        })
    }

    /// User and system ticks together.
    pub fn ticks(&self) -> u64 {
        self.user + self.system
    }
}

#[cfg(test)]
mod tests {
    use super::Annotated;

    const TEXT: &str = "\
f in prog: 30 ticks, 60.00 % of all 50; 29 user, 1 system

hottest instructions
    share    user  system  address  instruction
>   96.67      28       1     1005  ret

/a/b.c
    share    user  system  line  source
>   96.67      28       1     3  int f(void)
                              4    {

0x1000 to 0x1006
    share    user  system    address  instruction
     3.33       1             1000  nop
>   96.67      28       1  1005-1006  (at one of these 2 instructions)

note: a tick is somewhere
note: 1 ticks are on no line that is known
";

    #[test]
    fn what_is_printed_is_read() {
        let read = Annotated::of(TEXT);
        assert_eq!((read.ticks, read.no_line), ((30, 50), 1));
        read.assert_conserved();
        let row = read.instructions().hottest();
        assert_eq!((row.user, row.system, &*row.key), (28, 1, "1005-1006"));
        let lines = &read.source("/b.c").rows;
        assert_eq!(
            (&*lines[1].key, lines[1].ticks(), &*lines[1].text),
            ("4", 0, "  {")
        );
    }

    #[test]
    #[should_panic(expected = "left: 29")]
    fn what_is_lost_is_seen() {
        Annotated::of(&TEXT.replace("     3.33       1 ", "                  ")).assert_conserved();
    }
}
