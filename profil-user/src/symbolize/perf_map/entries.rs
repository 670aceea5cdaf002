//! The lines of a perf map, by address.

use std::{collections::BinaryHeap, ops::Range};

/// Stretches of code and their names.
#[derive(Debug, Default)]
pub(super) struct Entries {
    text: String,
    entries: Vec<Entry>,
    /// Sorted: from which address on which entry counts, if any.
    cuts: Vec<(u64, Option<u32>)>,
}

/// One line.
#[derive(Debug)]
struct Entry {
    start: u64,
    /// First address past it.
    end: u64,
    /// Where its name is in the text.
    name: Range<u32>,
}

/// More pieces of code than any compiler makes.
const MAX_ENTRIES: usize = 2 << 20;

impl Entries {
    /// Takes what can be understood: a line may be half written. `None` if it is too much.
    pub(super) fn parse(text: Vec<u8>) -> Option<Self> {
        // As a rule it is UTF-8, and nothing is copied.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        // Names are found again by numbers of 32 bits.
        u32::try_from(text.len()).ok()?;
        let mut entries = Vec::new();
        let mut at = 0;
        // What follows the last line end is still being written.
        while let Some(length) = text[at..].find('\n') {
            if let Some(entry) = parse_line(&text, at..at + length) {
                if entries.len() == MAX_ENTRIES {
                    return None;
                }
                entries.push(entry);
            }
            at += length + 1;
        }
        let cuts = cut(&entries);
        Some(Self {
            text,
            entries,
            cuts,
        })
    }

    /// Bytes of the text.
    pub(super) const fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The name at an address, and where the code of that name begins.
    pub(super) fn find(&self, address: u64) -> Option<(&str, u64)> {
        let next = self.cuts.partition_point(|&(start, _)| start <= address);
        let (_, index) = self.cuts[next.checked_sub(1)?];
        let entry = &self.entries[index? as usize];
        let name = entry.name.start as usize..entry.name.end as usize;
        Some((&self.text[name], entry.start))
    }
}

/// `START SIZE NAME`, the numbers in hexadecimal, the name to the end of the line.
fn parse_line(text: &str, range: Range<usize>) -> Option<Entry> {
    let line = &text[range.clone()];
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let (start, size) = (hexadecimal(start)?, hexadecimal(size)?);
    let name = name.trim();
    if size == 0 || name.is_empty() {
        return None;
    }
    let distance = name.as_ptr() as usize - line.as_ptr() as usize;
    let name_start = u32::try_from(range.start + distance).ok()?;
    Some(Entry {
        start,
        end: start.saturating_add(size),
        name: name_start..name_start + u32::try_from(name.len()).ok()?,
    })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    // `from_str_radix` would take a sign.
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

/// Which entry counts from where on: the last of those that cover an address. A compiler that
/// throws code away makes new code in its place.
fn cut(entries: &[Entry]) -> Vec<(u64, Option<u32>)> {
    let mut edges: Vec<(u64, Option<u32>)> = Vec::with_capacity(2 * entries.len());
    for (index, entry) in (0..).zip(entries) {
        edges.push((entry.start, Some(index)));
        edges.push((entry.end, None));
    }
    edges.sort_unstable();
    let mut cuts: Vec<(u64, Option<u32>)> = Vec::new();
    let mut covering: BinaryHeap<u32> = BinaryHeap::new();
    let mut edges = edges.into_iter().peekable();
    while let Some((address, begins)) = edges.next() {
        covering.extend(begins);
        if edges.peek().is_some_and(|&(next, _)| next == address) {
            continue;
        }
        while let Some(&last) = covering.peek()
            && entries[last as usize].end <= address
        {
            covering.pop();
        }
        let now = covering.peek().copied();
        if cuts.last().map(|&(_, before)| before) != Some(now) {
            cuts.push((address, now));
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Entries;

    fn entries(text: &str) -> Entries {
        Entries::parse(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_line_names_its_range() {
        let map = entries("1000 10 first\n0x1010 0x8 LazyCompile:~f a.js:1\r\n");
        assert_eq!(map.find(0xfff), None);
        assert_eq!(map.find(0x1000), Some(("first", 0x1000)));
        assert_eq!(map.find(0x100f), Some(("first", 0x1000)));
        let second = Some(("LazyCompile:~f a.js:1", 0x1010));
        assert_eq!(map.find(0x1010), second);
        assert_eq!(map.find(0x1017), second);
        assert_eq!(map.find(0x1018), None);
        assert_eq!(map.find(u64::MAX), None);
    }

    #[test]
    fn what_was_made_last_counts() {
        let map = entries("1000 40 old\n1010 10 new\n1018 40 newer\n1000 0 nothing\n");
        for (address, name) in [
            (0x1000, Some(("old", 0x1000))),
            (0x1010, Some(("new", 0x1010))),
            (0x1018, Some(("newer", 0x1018))),
            (0x1038, Some(("newer", 0x1018))),
            (0x1058, None),
        ] {
            assert_eq!(map.find(address), name, "{address:#x}");
        }
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        for text in [
            "",
            "\n",
            "1000\n",
            "1000 10\n",
            "1000 10 \n",
            "x 10 name\n",
            "-1 10 name\n",
            "+1000 10 name\n",
            "1000 +10 name\n",
            "10000000000000000 10 name\n",
            "1000 10 half a li",
        ] {
            assert_eq!(entries(text).cuts, [], "{text:?}");
        }
        assert_eq!(
            entries("junk\n1000 10 good\njunk").find(0x1000),
            Some(("good", 0x1000))
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        let map = Entries::parse(b"1000 10 a\xffb\n".to_vec()).unwrap();
        assert_eq!(map.find(0x1000), Some(("a\u{fffd}b", 0x1000)));
    }

    /// By definition: the last line that covers the address.
    fn by_definition(lines: &[(u64, u64)], address: u64) -> Option<(String, u64)> {
        let covers = |&&(start, size): &&(u64, u64)| {
            address >= start && address < start.saturating_add(size)
        };
        let line = lines.iter().rev().find(covers)?;
        let index = lines.iter().rposition(|other| other == line)?;
        Some((format!("f{index}"), line.0))
    }

    proptest! {
        #[test]
        fn lookup_agrees_with_the_definition(
            lines in prop::collection::vec((0u64..64, 0u64..32), 0..24),
            high in any::<bool>(),
        ) {
            let base = if high { u64::MAX - 80 } else { 0 };
            let lines: Vec<_> = lines.iter().map(|&(start, size)| (base + start, size)).collect();
            let text: String = lines
                .iter()
                .enumerate()
                .map(|(index, (start, size))| format!("{start:x} {size:x} f{index}\n"))
                .collect();
            let map = entries(&text);
            for address in base..=base + 80 {
                let found = map.find(address).map(|(name, start)| (name.to_owned(), start));
                prop_assert_eq!(found, by_definition(&lines, address), "{:#x}", address);
            }
        }

        #[test]
        fn nothing_makes_it_panic(
            text in prop::collection::vec(
                prop_oneof![
                    "[0-9a-fx]{0,18} [0-9a-f+-]{0,18} .{0,9}\n".prop_map(String::into_bytes),
                    prop::collection::vec(any::<u8>(), 0..24),
                ],
                0..12,
            ),
            address in any::<u64>(),
        ) {
            if let Some(map) = Entries::parse(text.concat()) {
                map.find(address);
            }
        }
    }
}
