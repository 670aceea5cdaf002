//! The table of strings.

use std::{collections::HashMap, sync::Arc};

use prost::Message as _;

use super::{
    error::{PprofError, damaged},
    read::MOST_BYTES,
    schema::Profile,
};

/// Bytes of the name of a function or of a file. Ours are at most a quarter as long, and each can be on
/// millions of lines of a report.
const MOST_BYTES_OF_NAME: usize = 64 << 10;

/// Texts that are written, each once; the first is empty.
#[derive(Debug)]
pub(super) struct Strings {
    places: HashMap<Box<str>, i64>,
    /// As they are in a file.
    bytes: Vec<u8>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self {
            places: HashMap::new(),
            bytes: Vec::new(),
        };
        strings.place("");
        strings
    }
}

impl Strings {
    /// The place of a text in the table.
    pub(super) fn place(&mut self, text: &str) -> i64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.places.len() as i64;
        self.places.insert(text.into(), place);
        self.bytes.extend(bytes_of(text));
        place
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// The table as it is in a file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A text as it is in the table of a file.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    let file = Profile {
        string_table: vec![text.as_bytes().to_vec()],
        ..Profile::default()
    };
    file.encode_to_vec()
}

/// The texts of a file that is read: each is held once, however often it is spoken of.
#[derive(Debug)]
pub(super) struct Texts(Vec<Arc<str>>);

impl Texts {
    /// What of a text is not UTF-8 is replaced.
    pub(super) fn of(texts: &[&[u8]]) -> Self {
        // Two bytes of a file are one that is empty: these share their memory.
        let empty: Arc<str> = "".into();
        let text = |text: &&[u8]| match text {
            [] => Arc::clone(&empty),
            text => String::from_utf8_lossy(text).as_ref().into(),
        };
        Self(texts.iter().map(text).collect())
    }

    /// The text at a place.
    pub(super) fn get(&self, place: i64) -> Result<&Arc<str>, PprofError> {
        let text = usize::try_from(place).ok();
        match text.and_then(|place| self.0.get(place)) {
            Some(text) => Ok(text),
            None => damaged(format!("there is no text number {place}")),
        }
    }

    /// The name at a place, which is no longer than a name can be.
    pub(super) fn name(&self, place: i64) -> Result<&Arc<str>, PprofError> {
        let name = self.get(place)?;
        if name.len() > MOST_BYTES_OF_NAME {
            return damaged(format!("a name of {} bytes", name.len()));
        }
        Ok(name)
    }

    /// The texts at some places, which together are no longer than a file can be.
    pub(super) fn all(&self, places: &[i64]) -> Result<Vec<&Arc<str>>, PprofError> {
        let mut bytes = 0;
        let mut texts = Vec::new();
        for &place in places {
            let text = self.get(place)?;
            bytes += text.len() as u64 + 1;
            if bytes > MOST_BYTES {
                return damaged("comments without end");
            }
            texts.push(text);
        }
        Ok(texts)
    }
}
