//! What is known of the addresses of a profile.
//!
//! Profiles are walked object by object and upwards, a million addresses and more: an ordered map for
//! each object has what comes next close to what came last, and needs no hash.

use std::collections::BTreeMap;

use crate::profile::ObjectId;

/// An address of an object.
type Key = (ObjectId, u64);

/// Values by address.
#[derive(Clone, Debug)]
pub(crate) struct ByAddress<T>(Vec<BTreeMap<u64, T>>);

impl<T> Default for ByAddress<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByAddress<T> {
    pub(crate) fn get(&self, (object, address): &Key) -> Option<&T> {
        self.0.get(object.index())?.get(address)
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.get(key).is_some()
    }

    #[cfg(feature = "serve")]
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(BTreeMap::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeMap::is_empty)
    }

    /// Takes the place of what was there.
    pub(crate) fn insert(&mut self, (object, address): Key, value: T) {
        self.of(object).insert(address, value);
    }

    /// All, by object and address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let objects = self.0.iter().enumerate();
        objects.flat_map(|(index, values)| {
            let of_object = values.iter();
            of_object.map(move |(&address, value)| ((ObjectId::new(index), address), value))
        })
    }

    /// All, by object and address, with what they are the addresses of.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (Key, T)> {
        let objects = self.0.into_iter().enumerate();
        objects.flat_map(|(index, values)| {
            let of_object = values.into_iter();
            of_object.map(move |(address, value)| ((ObjectId::new(index), address), value))
        })
    }

    #[cfg(test)]
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flat_map(BTreeMap::values_mut)
    }

    /// Takes out what is `wanted`.
    pub(crate) fn take_if(&mut self, wanted: impl Fn(&Key, &T) -> bool) -> Vec<(Key, T)> {
        let objects = self.0.iter_mut().enumerate();
        let taken = objects.flat_map(|(index, values)| {
            let key = move |address| (ObjectId::new(index), address);
            let is_wanted = |&address: &u64, value: &mut T| wanted(&key(address), value);
            let taken: Vec<_> = values.extract_if(.., is_wanted).collect();
            taken
                .into_iter()
                .map(move |(address, value)| (key(address), value))
        });
        taken.collect()
    }

    fn of(&mut self, object: ObjectId) -> &mut BTreeMap<u64, T> {
        let index = object.index();
        if index >= self.0.len() {
            self.0.resize_with(index + 1, BTreeMap::new);
        }
        &mut self.0[index]
    }
}

impl<T: PartialEq> PartialEq for ByAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T> Extend<(Key, T)> for ByAddress<T> {
    fn extend<I: IntoIterator<Item = (Key, T)>>(&mut self, values: I) {
        for (key, value) in values {
            self.insert(key, value);
        }
    }
}

impl<T> FromIterator<(Key, T)> for ByAddress<T> {
    fn from_iter<I: IntoIterator<Item = (Key, T)>>(values: I) -> Self {
        let mut all = Self::default();
        all.extend(values);
        all
    }
}
