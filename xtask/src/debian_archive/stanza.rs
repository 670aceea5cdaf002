//! What the archive's lists say about a package.

/// One package's paragraph.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Stanza {
    package: String,
    depends: Vec<String>,
}

impl Stanza {
    /// Its name.
    pub(crate) fn package(&self) -> &str {
        &self.package
    }

    /// The names of the packages that it needs; of alternatives the first one, which is what apt
    /// would take.
    pub(crate) fn depends(&self) -> impl Iterator<Item = &str> {
        self.depends.iter().map(String::as_str)
    }
}

/// Reads paragraphs as `apt-cache show` prints them.
pub(super) fn parse(text: &str) -> Vec<Stanza> {
    let mut stanzas = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut stanza = Stanza::default();
        for line in paragraph.lines() {
            match line.split_once(": ") {
                Some(("Package", name)) => name.clone_into(&mut stanza.package),
                Some(("Depends" | "Pre-Depends", list)) => stanza.depends.extend(names(list)),
                _ => {}
            }
        }
        if !stanza.package.is_empty() {
            stanzas.push(stanza);
        }
    }
    stanzas
}

/// `a (>= 1), b:any | c` is `a` and `b`.
fn names(list: &str) -> impl Iterator<Item = String> {
    list.split(", ").filter_map(|alternatives| {
        let name = alternatives.split([' ', ':']).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_read() {
        let text = "\
Package: gprof
Version: 1
Pre-Depends: libc6 (>= 2.34)
Depends: perl:any, liba (= 1:2~x) | libb, libc6 (>= 2.36)
Recommends: nothing
Description-en: says
 Package: wrong

Package: single
Version: 2
";
        let stanzas = parse(text);
        let read: Vec<_> = stanzas
            .iter()
            .map(|stanza| (stanza.package(), stanza.depends().collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            read,
            [
                ("gprof", vec!["libc6", "perl", "liba", "libc6"]),
                ("single", vec![])
            ]
        );
        assert_eq!(parse("\n"), []);
    }
}
