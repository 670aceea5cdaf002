//! Bytes that are taken one after another, and never more than there are.

use super::GmonError;
use crate::profile::ElfClass;

/// A place in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of an address.
    word: usize,
}

/// A range of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// First address.
    pub(super) low: u64,
    /// First address past it, as the file has it.
    pub(super) high: u64,
    /// Bytes; none if it ends before it begins.
    pub(super) bytes: u64,
}

impl Range {
    /// Checks that `bins` bins, in a record that begins at `offset`, have at least one byte each.
    pub(super) fn holds(&self, bins: u32, offset: usize) -> Result<(), GmonError> {
        let &Self { low, high, bytes } = self;
        if bytes >= u64::from(bins) {
            return Ok(());
        }
        Err(GmonError::Range {
            offset,
            low,
            high,
            bins,
        })
    }
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], class: ElfClass) -> Self {
        let word = match class {
            ElfClass::Elf32 => 4,
            ElfClass::Elf64 => 8,
        };
        Self { bytes, at: 0, word }
    }

    /// How far it has come.
    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `length` bytes, a part of `what`.
    pub(super) fn take(&mut self, length: u64, what: &'static str) -> Result<&'a [u8], GmonError> {
        let left = &self.bytes[self.at..];
        let cut = || GmonError::Cut {
            offset: self.at,
            what,
            missing: length.saturating_sub(left.len() as u64),
        };
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| left.get(..length))
            .ok_or_else(cut)?;
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, GmonError> {
        Ok(self.take(1, what)?[0])
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, GmonError> {
        self.number(4, what).map(|number| number as u32)
    }

    /// A number as wide as an address.
    pub(super) fn word(&mut self, what: &'static str) -> Result<u64, GmonError> {
        self.number(self.word, what)
    }

    /// A range of text.
    pub(super) fn range(&mut self, what: &'static str) -> Result<Range, GmonError> {
        let (low, high) = (self.word(what)?, self.word(what)?);
        let last = u64::MAX >> (64 - 8 * self.word as u32);
        let bytes = match high {
            // Past the very last address that there is.
            0 if low > last / 2 => last - low + 1,
            _ => high.saturating_sub(low),
        };
        Ok(Range { low, high, bytes })
    }

    /// Counters of 16 bits, as wide ones.
    pub(super) fn bins(&mut self, bins: u32, what: &'static str) -> Result<Vec<u64>, GmonError> {
        let bytes = self.take(2 * u64::from(bins), what)?;
        let pairs = bytes.as_chunks().0;
        Ok(pairs
            .iter()
            .map(|&pair| u16::from_le_bytes(pair).into())
            .collect())
    }

    fn number(&mut self, length: usize, what: &'static str) -> Result<u64, GmonError> {
        let mut number = [0; 8];
        number[..length].copy_from_slice(self.take(length as u64, what)?);
        Ok(u64::from_le_bytes(number))
    }
}
