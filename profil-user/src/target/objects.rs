//! The objects that ticks fell in: each opened once, when it is first met.

use std::{collections::HashMap, ffi::OsString, sync::Arc};

use super::{
    mappings::{Backing, FileId, FileMapping, Mapping},
    object_file::{ObjectError, ObjectFile},
    vdso,
};
use crate::profile::{BuildId, ElfClass, Note, Object, ObjectId, ObjectKind, Unresolved};

/// Which object it is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Key {
    File(FileId),
    /// Copies of a build under one name, in several containers say, are one object.
    Build(BuildId, OsString),
    Kernel,
    Vdso,
    Anonymous(u32),
    Nowhere(Unresolved),
}

/// The objects of a session, in the order in which they were met.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    by_key: HashMap<Key, ObjectId>,
    objects: Vec<Object>,
    /// The open file of each object that has one that can be read.
    files: Vec<Option<Arc<ObjectFile>>>,
    /// How many of them that are.
    files_open: usize,
    /// Which file each object is.
    file_ids: Vec<Option<FileId>>,
    notes: Vec<Note>,
    /// Objects that could not be read and have no note of their own.
    unreadable: usize,
}

/// Objects whose reason for being unreadable is told; a target that starts processes from
/// thousands of files could fill a report otherwise.
const MAX_REASONS: usize = 8;

/// Files that are kept open for their names. A machine that builds programs all day maps new ones
/// all the time.
const MAX_OPEN: usize = 8192;

impl Objects {
    /// The object that a mapping of process `tgid` shows.
    pub(crate) fn of_mapping(&mut self, tgid: u32, mapping: &Mapping) -> ObjectId {
        match &mapping.backing {
            Backing::File(file) => self.of_file(tgid, mapping, file),
            Backing::Kernel => self.kernel(),
            Backing::Vdso => match self.by_key.get(&Key::Vdso) {
                Some(&id) => id,
                None => {
                    // Ours is the image of 64-bit processes; a 32-bit one has another.
                    let image = (!self.is_32_bit()).then(|| vdso::image().ok()).flatten();
                    let id = self.add(ObjectKind::Vdso, image);
                    self.by_key.insert(Key::Vdso, id);
                    id
                }
            },
            Backing::Anonymous => {
                self.without_file(Key::Anonymous(tgid), ObjectKind::Anonymous { tgid })
            }
        }
    }

    fn of_file(&mut self, tgid: u32, mapping: &Mapping, file: &FileMapping) -> ObjectId {
        let by_file = (file.id != FileId::UNKNOWN).then_some(Key::File(file.id));
        let of_build = |build_id| {
            let name = file.path.file_name().unwrap_or_default();
            Key::Build(build_id, name.to_owned())
        };
        let by_build = file.build_id.map(of_build);
        let keys = || by_file.clone().into_iter().chain(by_build.clone());
        let known = keys().find_map(|key| self.by_key.get(&key).copied());
        if let Some(id) = known {
            return id;
        }
        let opened = if self.files_open < MAX_OPEN {
            ObjectFile::open(tgid, (mapping.start, mapping.end), file)
        } else {
            Err(ObjectError::TooMany)
        };
        let (opened, error) =
            opened.map_or_else(|error| (None, Some(error)), |file| (Some(file), None));
        // The same build may be known under another name: as another file, or as none.
        let build_id = opened.as_ref().and_then(ObjectFile::build_id);
        let build_id = build_id.or(file.build_id);
        let same = build_id.and_then(|build_id| self.by_key.get(&of_build(build_id)).copied());
        let id = same.unwrap_or_else(|| {
            let class = opened.as_ref().map(ObjectFile::class);
            let path = file.path.clone();
            self.files_open += usize::from(opened.is_some());
            let id = self.add(ObjectKind::File { path, class }, opened);
            self.get_mut(id).build_id = build_id;
            if let Some(error) = error {
                self.cannot_read(id, error.to_string());
            }
            id
        });
        for key in keys().chain(build_id.map(of_build)) {
            self.by_key.entry(key).or_insert(id);
        }
        if let Some(Key::File(file)) = by_file {
            self.file_ids[id.index()].get_or_insert(file);
        }
        id
    }

    /// The kernel's own text.
    pub(crate) fn kernel(&mut self) -> ObjectId {
        self.without_file(Key::Kernel, ObjectKind::Kernel)
    }

    /// Which file an object is, if that is known.
    pub(crate) fn file_id(&self, id: ObjectId) -> Option<FileId> {
        self.file_ids[id.index()]
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
            None => {
                let id = self.add(kind, None);
                self.by_key.insert(key, id);
                id
            }
        }
    }

    fn add(&mut self, kind: ObjectKind, file: Option<ObjectFile>) -> ObjectId {
        let id = ObjectId::new(self.objects.len());
        self.objects.push(Object {
            kind,
            build_id: file.as_ref().and_then(ObjectFile::build_id),
            is_main: false,
            text: Vec::new(),
        });
        self.files.push(file.map(Arc::new));
        self.file_ids.push(None);
        id
    }

    /// The link-time address, in the object that `mapping` shows, of `address` in the process.
    /// Where there is none to be had: the file offset of a file, the address itself of memory.
    pub(crate) fn link_address(&self, id: ObjectId, mapping: &Mapping, address: u64) -> u64 {
        let offset = match &mapping.backing {
            Backing::File(file) => (address - mapping.start).wrapping_add(file.offset),
            Backing::Vdso => address - mapping.start,
            Backing::Anonymous | Backing::Kernel => return address,
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
            Backing::Anonymous | Backing::Kernel => return None,
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
