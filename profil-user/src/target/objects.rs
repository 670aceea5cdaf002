//! The objects that ticks fell in: each opened once, when it is first met.

use std::{collections::HashMap, sync::Arc};

use super::{
    mappings::{Backing, FileId, Mapping},
    object_file::ObjectFile,
    vdso,
};
use crate::profile::{ElfClass, Note, Object, ObjectId, ObjectKind, Unresolved};

/// Which object it is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Key {
    File(FileId),
    Vdso,
    Anonymous,
    Nowhere(Unresolved),
}

/// The objects of a session, in the order in which they were met.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    by_key: HashMap<Key, ObjectId>,
    objects: Vec<Object>,
    /// The open file of each object that has one that can be read.
    files: Vec<Option<Arc<ObjectFile>>>,
    notes: Vec<Note>,
    /// Objects that could not be read and have no note of their own.
    unreadable: usize,
}

/// Objects whose reason for being unreadable is told; a target that starts processes from
/// thousands of files could fill a report otherwise.
const MAX_REASONS: usize = 8;

impl Objects {
    /// The object that a mapping of process `tgid` shows.
    pub(crate) fn of_mapping(&mut self, tgid: u32, mapping: &Mapping) -> ObjectId {
        match &mapping.backing {
            Backing::File(file) => {
                let key = Key::File(file.id);
                if let Some(&id) = self.by_key.get(&key) {
                    return id;
                }
                let opened = ObjectFile::open(tgid, (mapping.start, mapping.end), file);
                let class = opened.as_ref().ok().map(ObjectFile::class);
                let path = file.path.clone();
                let (file, error) =
                    opened.map_or_else(|error| (None, Some(error)), |file| (Some(file), None));
                let id = self.add(key, ObjectKind::File { path, class }, file);
                if let Some(error) = error {
                    self.cannot_read(id, error.to_string());
                }
                id
            }
            Backing::Vdso => match self.by_key.get(&Key::Vdso) {
                Some(&id) => id,
                None => {
                    // Ours is the image of 64-bit processes; a 32-bit one has another.
                    let image = (!self.is_32_bit()).then(|| vdso::image().ok()).flatten();
                    self.add(Key::Vdso, ObjectKind::Vdso, image)
                }
            },
            Backing::Anonymous => self.without_file(Key::Anonymous, ObjectKind::Anonymous),
        }
    }

    fn is_32_bit(&self) -> bool {
        let elf32 = Some(ElfClass::Elf32);
        self.objects
            .iter()
            .any(|object| matches!(&object.kind, ObjectKind::File { class, .. } if *class == elf32))
    }

    /// The object that stands for addresses in no object.
    pub(crate) fn nowhere(&mut self, reason: Unresolved) -> ObjectId {
        self.without_file(Key::Nowhere(reason), ObjectKind::Nowhere(reason))
    }

    fn without_file(&mut self, key: Key, kind: ObjectKind) -> ObjectId {
        match self.by_key.get(&key) {
            Some(&id) => id,
            None => self.add(key, kind, None),
        }
    }

    fn add(&mut self, key: Key, kind: ObjectKind, file: Option<ObjectFile>) -> ObjectId {
        let id = ObjectId::new(self.objects.len());
        self.by_key.insert(key, id);
        self.objects.push(Object {
            kind,
            is_main: false,
            build_id: file.as_ref().and_then(ObjectFile::build_id),
            text: Vec::new(),
        });
        self.files.push(file.map(Arc::new));
        id
    }

    /// The link-time address, in the object that `mapping` shows, of `address` in the process.
    /// Where there is none to be had: the file offset of a file, the address itself of memory.
    pub(crate) fn link_address(&self, id: ObjectId, mapping: &Mapping, address: u64) -> u64 {
        let offset = match &mapping.backing {
            Backing::File(file) => (address - mapping.start).wrapping_add(file.offset),
            Backing::Vdso => address - mapping.start,
            Backing::Anonymous => return address,
        };
        let file = self.files[id.index()].as_ref();
        file.and_then(|file| file.link_address(offset))
            .unwrap_or(offset)
    }

    /// The address in the process of a link-time address, if `mapping`, which shows that object,
    /// holds it: the inverse of [`Objects::link_address`].
    pub(crate) fn address_of(
        &self,
        id: ObjectId,
        mapping: &Mapping,
        link_address: u64,
    ) -> Option<u64> {
        let distance = match &mapping.backing {
            Backing::File(file) => {
                let object = self.files[id.index()].as_ref()?;
                object.offset_of(link_address)?.checked_sub(file.offset)?
            }
            Backing::Vdso => link_address,
            Backing::Anonymous => return None,
        };
        (distance < mapping.end - mapping.start).then(|| mapping.start + distance)
    }

    pub(crate) fn get_mut(&mut self, id: ObjectId) -> &mut Object {
        &mut self.objects[id.index()]
    }

    /// The objects as plain values.
    pub(crate) fn list(&self) -> &[Object] {
        &self.objects
    }

    /// The open file of each object that has one that can be read, in the order of the list.
    pub(crate) fn files(&self) -> &[Option<Arc<ObjectFile>>] {
        &self.files
    }

    fn cannot_read(&mut self, object: ObjectId, reason: String) {
        if self.notes.len() < MAX_REASONS {
            self.notes.push(Note::Unreadable { object, reason });
        } else {
            self.unreadable += 1;
        }
    }

    /// What should be known about the objects.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        let more = (self.unreadable > 0).then_some(Note::MoreUnreadable {
            objects: self.unreadable,
        });
        self.notes.iter().cloned().chain(more)
    }
}
