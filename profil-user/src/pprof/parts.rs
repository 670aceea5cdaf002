//! A file that is read: what there is much of stays bytes until it is looked at, and each text is held
//! once.

use prost::Message as _;

use super::{
    error::PprofError,
    schema::{self, Location, Sample},
    seal,
    strings::Texts,
    wire::{Field, Fields, MOST_BYTES_OF_PART, MOST_PARTS},
};

/// Numbers of fields of a file, as the schema has them.
pub(super) mod number {
    pub(in super::super) const SAMPLE: u64 = 2;
    pub(in super::super) const LOCATION: u64 = 4;
    pub(in super::super) const TEXT: u64 = 6;
    pub(in super::super) const COMMENT: u64 = 13;
}

/// The parts of a file.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// All but samples, locations, texts, and a true seal.
    pub(super) rest: schema::Profile,
    pub(super) texts: Texts,
    /// Whether it is sealed, and nobody has changed it since.
    pub(super) is_sealed: bool,
    samples: Vec<&'a [u8]>,
    locations: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// Takes a file apart.
    ///
    /// # Errors
    ///
    /// If it is no message of the schema's, or has too many or too large parts.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, PprofError> {
        let (mut samples, mut locations, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = Vec::new();
        for (count, field) in Fields::of(bytes).enumerate() {
            let Field {
                number,
                whole,
                inner,
            } = field?;
            let bytes = inner.map_or(0, <[u8]>::len);
            if count >= MOST_PARTS || number != number::TEXT && bytes > MOST_BYTES_OF_PART {
                return Err(PprofError::TooManyParts);
            }
            match (number, inner) {
                (number::SAMPLE, Some(inner)) => samples.push(inner),
                (number::LOCATION, Some(inner)) => locations.push(inner),
                (number::TEXT, Some(inner)) => texts.push(inner),
                _ => rest.extend_from_slice(whole),
            }
        }
        let mut rest = schema::Profile::decode(&*rest).map_err(|_| PprofError::Bytes)?;
        let is_sealed = seal::is_true(bytes, &rest.comment, &texts)?;
        if is_sealed {
            rest.comment.pop();
            texts.pop();
        }
        Ok(Self {
            rest,
            texts: Texts::of(&texts),
            is_sealed,
            samples,
            locations,
        })
    }

    /// How many samples there are.
    pub(super) const fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// How many locations there are.
    pub(super) const fn location_count(&self) -> usize {
        self.locations.len()
    }

    /// Shows every sample, one after the other.
    pub(super) fn each_sample(
        &self,
        mut see: impl FnMut(&Sample) -> Result<(), PprofError>,
    ) -> Result<(), PprofError> {
        // Its lists are used again.
        let mut sample = Sample::default();
        for bytes in &self.samples {
            sample.clear();
            sample.merge(*bytes).map_err(|_| PprofError::Bytes)?;
            see(&sample)?;
        }
        Ok(())
    }

    /// A location by its place, from 0.
    pub(super) fn location(&self, place: usize) -> Result<Option<Location>, PprofError> {
        let bytes = self.locations.get(place);
        let location = bytes.map(|bytes| Location::decode(*bytes));
        location.transpose().map_err(|_| PprofError::Bytes)
    }
}
