//! Names and paths, each kept once, within a limit.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::demangle::{LONGEST, demangle};

/// Texts that many addresses share.
#[derive(Debug)]
pub(super) struct Texts {
    known: HashSet<Arc<str>>,
    /// What a symbol table calls it → the name in the source, where that is something else.
    names: HashMap<Arc<str>, Option<Arc<str>>>,
    bytes_left: usize,
}

/// Bytes of all texts. Symbol names of the largest programs are about as much, and few of them tick.
const MAX_BYTES: usize = 256 << 20;

/// What a text takes beside its bytes, roughly.
const OVERHEAD: usize = 64;

impl Default for Texts {
    fn default() -> Self {
        Self::within(MAX_BYTES)
    }
}

impl Texts {
    fn within(bytes: usize) -> Self {
        Self {
            known: HashSet::new(),
            names: HashMap::new(),
            bytes_left: bytes,
        }
    }

    /// The text, if there is room for it.
    pub(super) fn keep(&mut self, text: &str) -> Option<Arc<str>> {
        let text = &*bounded(text);
        if let Some(known) = self.known.get(text) {
            return Some(Arc::clone(known));
        }
        self.bytes_left = self.bytes_left.checked_sub(text.len() + OVERHEAD)?;
        let text: Arc<str> = text.into();
        self.known.insert(Arc::clone(&text));
        Some(text)
    }

    /// What a symbol is called in the source; and in the symbol table, if that is something else.
    pub(super) fn name(&mut self, symbol: &str) -> Option<(Arc<str>, Option<Arc<str>>)> {
        let symbol = &*bounded(symbol);
        if let Some((symbol, name)) = self.names.get_key_value(symbol) {
            return Some(match name {
                Some(name) => (Arc::clone(name), Some(Arc::clone(symbol))),
                None => (Arc::clone(symbol), None),
            });
        }
        let name = demangle(symbol);
        let demangled = (name != symbol).then(|| self.keep(&name));
        let symbol = self.keep(symbol)?;
        let Some(name) = demangled else {
            self.names.insert(Arc::clone(&symbol), None);
            return Some((symbol, None));
        };
        let name = name?;
        self.names
            .insert(Arc::clone(&symbol), Some(Arc::clone(&name)));
        Some((name, Some(symbol)))
    }
}

/// A text as it is, if somebody can read it; or its beginning, and how long it was.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return text.into();
    }
    // With its length it is no longer itself.
    let end = (0..LONGEST - OVERHEAD).rfind(|&end| text.is_char_boundary(end));
    let beginning = &text[..end.unwrap_or(0)];
    format!("{beginning}… ({} bytes)", text.len()).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LONGEST, OVERHEAD, Texts};

    #[test]
    fn a_text_is_kept_once() {
        let mut texts = Texts::default();
        let (first, again) = (texts.keep("main").unwrap(), texts.keep("main").unwrap());
        assert!(Arc::ptr_eq(&first, &again));
        let left = texts.bytes_left;
        for _ in 0..2 {
            assert_eq!(texts.name("main"), Some(("main".into(), None)));
        }
        assert_eq!(texts.bytes_left, left);
        for _ in 0..3 {
            let (name, symbol) = texts.name("_Z3addii").unwrap();
            assert_eq!(
                (&*name, symbol.as_deref()),
                ("add(int, int)", Some("_Z3addii"))
            );
        }
        assert_eq!(texts.known.len(), 3);
    }

    #[test]
    fn what_is_mangled_and_a_path_too_is_either() {
        let mut texts = Texts::default();
        // A file may be called like a mangled symbol.
        texts.keep("_Z3addii").unwrap();
        let (name, _) = texts.name("_Z3addii").unwrap();
        assert_eq!(&*name, "add(int, int)");
    }

    #[test]
    fn nobody_reads_a_megabyte() {
        let mut texts = Texts::default();
        // Of two bytes each, so that a cut may fall between them.
        for letter in ["a", "ä"] {
            let symbol = letter.repeat((1 << 20) / letter.len());
            for _ in 0..2 {
                let (name, mangled) = texts.name(&symbol).unwrap();
                assert!(name.starts_with(letter) && name.len() <= LONGEST);
                assert!(name.ends_with("… (1048576 bytes)"), "{}", name.len());
                assert_eq!(mangled, None);
            }
            let kept = texts.keep(&symbol).unwrap();
            assert!(kept.len() <= LONGEST, "{}", kept.len());
        }
        assert_eq!(texts.known.len(), 2);
    }

    #[test]
    fn there_is_a_limit() {
        let mut texts = Texts::within(2 * (OVERHEAD + 4));
        assert!(texts.keep("four").is_some());
        assert!(texts.keep("more").is_some());
        assert!(texts.keep("none").is_none());
        assert!(texts.name("none").is_none());
        // What is there stays there.
        assert!(texts.keep("four").is_some());
    }
}
