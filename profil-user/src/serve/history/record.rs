//! A minute as it is on disk.
//!
//! A record is a mark, the length of its body and the body's CRC (that of zlib), both as 32-bit numbers, least
//! significant byte first; the body is a [`Record`] in the encoding of protocol buffers, compressed by zlib. It has
//! all names that it speaks of, so each can be read without the others, and damage costs what it hits: whoever reads
//! goes on at the next mark.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    sync::Arc,
    time::Duration,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use prost::Message as _;

use super::cell::{self, Cells, Columns, Key, Owner, Tables};
use crate::{
    pprof::Fields,
    profile::BuildId,
    serve::{ObjectLabel, Spot},
};

/// What a record begins with. No text has it.
const MARK: [u8; 4] = [0x89, b'p', b'f', 0x01];
const HEAD: usize = MARK.len() + 8;

/// Bytes of a body, and of what it is unpacked: a minute of full length and longest names is less.
pub(super) const MOST_BODY: usize = 4 << 20;
const MOST_UNPACKED: u64 = 16 << 20;

/// Cells of a minute that is read, whatever the limits were when it was written.
const MOST_CELLS: usize = 1 << 17;

/// After so many damaged places the rest of a file is not looked at.
const MOST_DAMAGE: u64 = 1000;

/// A minute as it is on disk.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Record {
    /// In seconds since 1970.
    #[prost(uint64, tag = "1")]
    pub(super) began: u64,
    #[prost(uint64, tag = "2")]
    covered_ms: u64,
    #[prost(message, repeated, tag = "3")]
    owners: Vec<OwnerRecord>,
    #[prost(message, repeated, tag = "4")]
    spots: Vec<SpotRecord>,
    /// By places in the lists of this record.
    #[prost(message, optional, tag = "5")]
    cells: Option<Columns>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct OwnerRecord {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    cgroup: String,
    #[prost(string, optional, tag = "3")]
    container: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SpotRecord {
    #[prost(string, tag = "1")]
    object: String,
    #[prost(string, tag = "2")]
    path: String,
    #[prost(bytes = "vec", tag = "3")]
    build_id: Vec<u8>,
    #[prost(string, tag = "4")]
    function: String,
    #[prost(uint64, optional, tag = "5")]
    start: Option<u64>,
}

impl Record {
    pub(super) fn covered(&self) -> Duration {
        Duration::from_millis(self.covered_ms).min(Duration::from_secs(super::MINUTE))
    }

    pub(super) fn of(began: u64, covered: Duration, cells: &Cells, tables: &Tables) -> Self {
        let mut owners = Places::default();
        let mut spots = Places::default();
        let mut columns = Columns::default();
        let mut sorted: Vec<_> = cells.iter().collect();
        sorted.sort_unstable();
        for (key, ticks) in sorted {
            let owner = owners.place(key.owner);
            let spot = spots.place(key.spot);
            columns.push(
                Key {
                    owner,
                    spot,
                    ..*key
                },
                *ticks,
            );
        }
        let owners = owners
            .numbers
            .iter()
            .filter_map(|&owner| tables.owners.get(owner));
        let spots = spots
            .numbers
            .iter()
            .filter_map(|&spot| tables.spots.get(spot));
        Self {
            began,
            covered_ms: covered.as_millis() as u64,
            owners: owners.map(|owner| OwnerRecord::of(owner)).collect(),
            spots: spots.map(|spot| SpotRecord::of(spot)).collect(),
            cells: Some(columns),
        }
    }

    /// The cells; what speaks of names that are not there is left out.
    pub(super) fn cells(&self, tables: &mut Tables) -> Cells {
        let owners: Vec<_> = self
            .owners
            .iter()
            .map(|owner| Arc::new(owner.owner()))
            .collect();
        let spots: Vec<_> = self
            .spots
            .iter()
            .map(|spot| cell::cut_spot(&Arc::new(spot.spot())))
            .collect();
        let owners: Vec<_> = owners.iter().map(|owner| tables.owner(owner)).collect();
        let spots: Vec<_> = spots.iter().map(|spot| tables.spot(spot)).collect();
        let mut cells = Cells::new();
        let columns = self.cells.iter().flat_map(Columns::iter);
        for (key, ticks) in columns.take(MOST_CELLS) {
            let owner = owners.get(key.owner as usize);
            let spot = spots.get(key.spot as usize);
            if let (Some(&owner), Some(&spot)) = (owner, spot) {
                cell::add(&mut cells, Key { owner, spot, ..key }, ticks);
            }
        }
        cells
    }

    pub(super) fn into_bytes(self) -> io::Result<Vec<u8>> {
        let mut body = ZlibEncoder::new(vec![0; HEAD], Compression::fast());
        let unpacked = self.encode_to_vec();
        if !is_affordable(&unpacked) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        body.write_all(&unpacked)?;
        let mut bytes = body.finish()?;
        let length = bytes.len() - HEAD;
        if length > MOST_BODY {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let crc = crc32fast::hash(&bytes[HEAD..]);
        bytes[..4].copy_from_slice(&MARK);
        bytes[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        bytes[8..HEAD].copy_from_slice(&crc.to_le_bytes());
        Ok(bytes)
    }

    /// The record that some bytes begin with, and its length.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let head = bytes.strip_prefix(&MARK)?.first_chunk::<8>()?;
        let [length, crc] = [0, 4]
            .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length <= MOST_BODY)?;
        let body = bytes.get(HEAD..HEAD + length)?;
        if crc32fast::hash(body) != crc {
            return None;
        }
        let mut unpacked = Vec::new();
        let unpacker = ZlibDecoder::new(body).take(MOST_UNPACKED);
        { unpacker }.read_to_end(&mut unpacked).ok()?;
        if !is_affordable(&unpacked) {
            return None;
        }
        let record = Self::decode(&unpacked[..]).ok()?;
        Some((record, HEAD + length))
    }
}

/// Whether a record is no larger than it can be: a name of two bytes takes a hundred in memory, so what somebody has
/// put there is looked at before it is believed. What would not be read is not written, either.
fn is_affordable(unpacked: &[u8]) -> bool {
    let names = Fields::of(unpacked).take(MOST_CELLS + 1).count();
    (unpacked.len() as u64) < MOST_UNPACKED && names <= MOST_CELLS
}

impl OwnerRecord {
    fn of(owner: &Owner) -> Self {
        Self {
            name: owner.name.to_string(),
            cgroup: owner.cgroup.to_string(),
            container: owner.container.as_deref().map(str::to_owned),
        }
    }

    fn owner(&self) -> Owner {
        Owner {
            name: self.name[..].into(),
            cgroup: self.cgroup[..].into(),
            container: self.container.as_deref().map(Arc::from),
        }
    }
}

impl SpotRecord {
    fn of(spot: &Spot) -> Self {
        let build_id = spot.object.build_id.as_ref().map(BuildId::bytes);
        Self {
            object: spot.object.name.to_string(),
            path: spot.object.path.to_string(),
            build_id: build_id.unwrap_or_default().to_vec(),
            function: spot.function.to_string(),
            start: spot.start,
        }
    }

    fn spot(&self) -> Spot {
        Spot {
            object: Arc::new(ObjectLabel {
                name: self.object[..].into(),
                path: self.path[..].into(),
                build_id: BuildId::new(&self.build_id),
            }),
            function: self.function[..].into(),
            start: self.start,
        }
    }
}

/// Numbers of a table → places in a list.
#[derive(Debug, Default)]
struct Places {
    places: HashMap<u32, u32>,
    numbers: Vec<u32>,
}

impl Places {
    fn place(&mut self, number: u32) -> u32 {
        *self.places.entry(number).or_insert_with(|| {
            self.numbers.push(number);
            self.numbers.len() as u32 - 1
        })
    }
}

/// The records in some bytes, and how many places are damaged.
pub(super) fn records_of(mut rest: &[u8]) -> (Vec<Record>, u64) {
    let mut records = Vec::new();
    let mut damaged = 0;
    while !rest.is_empty() && damaged < MOST_DAMAGE {
        if let Some((record, length)) = Record::read(rest) {
            records.push(record);
            rest = &rest[length..];
            continue;
        }
        damaged += 1;
        let next = rest
            .windows(MARK.len())
            .skip(1)
            .position(|bytes| bytes == MARK);
        rest = next.map_or(&[], |next| &rest[next + 1..]);
    }
    (records, damaged)
}
