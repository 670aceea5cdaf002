//! The table of strings.

use std::{collections::HashMap, sync::Arc};

use super::{
    read::{MOST_BYTES, PprofError, damaged},
    schema::Profile,
};

/// Texts, each once; the first is empty.
#[derive(Debug)]
pub(super) struct Strings {
    places: HashMap<String, i64>,
    table: Vec<Vec<u8>>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self {
            places: HashMap::new(),
            table: Vec::new(),
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
        let place = self.table.len() as i64;
        self.places.insert(text.to_owned(), place);
        self.table.push(text.as_bytes().to_vec());
        place
    }

    pub(super) fn into_table(self) -> Vec<Vec<u8>> {
        self.table
    }
}

/// The texts of a file that is read: each is held once, however often it is spoken of.
#[derive(Debug)]
pub(super) struct Texts(Vec<Arc<str>>);

impl Texts {
    /// What of a text is not UTF-8 is replaced.
    pub(super) fn of(file: &Profile) -> Self {
        let texts = file.string_table.iter();
        Self(
            texts
                .map(|text| String::from_utf8_lossy(text).as_ref().into())
                .collect(),
        )
    }

    /// The text at a place.
    pub(super) fn get(&self, place: i64) -> Result<&Arc<str>, PprofError> {
        let text = usize::try_from(place).ok();
        match text.and_then(|place| self.0.get(place)) {
            Some(text) => Ok(text),
            None => damaged(format!("there is no text number {place}")),
        }
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
