//! What is sent, and how it is kept in a file until then.
//!
//! | bytes | what |
//! | ---: | --- |
//! | 8 | `PROFPUSH` |
//! | 4 | the layout: 1 |
//! | 4 | what the body is: 0 a compressed `profile.proto`, 1 a compressed OTLP request |
//! | 8 | when the profile began, in nanoseconds since 1970 |
//! | 8 | until when it is |
//! | 8 | ticks a second, IEEE 754 |
//! | 8 | bytes of the body |
//! | … | the body |
//! | 4 | the CRC (that of zlib) of all before it |
//!
//! Numbers are little-endian. Neither the receiver's address, nor its token, nor labels are in it: they are
//! those of the daemon that sends it.

/// Bytes of a body at most.
pub(super) const MOST_BODY: usize = 32 << 20;

/// Bytes of a file that are not the body.
pub(super) const FRAME: usize = HEAD + 4;

const MAGIC: [u8; 8] = *b"PROFPUSH";
const LAYOUT: u32 = 1;
const HEAD: usize = 48;

/// What a body is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    Pprof,
    Otlp,
}

/// A profile, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parcel {
    pub(super) content: Content,
    /// Nanoseconds since 1970.
    pub(super) began_ns: u64,
    /// Nanoseconds since 1970.
    pub(super) until_ns: u64,
    pub(super) sample_rate_hz: f64,
    pub(super) body: Vec<u8>,
}

/// The bytes are no parcel, or not a whole one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Damaged;

impl Parcel {
    /// The bytes of a file.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRAME + self.body.len());
        bytes.extend(MAGIC);
        bytes.extend(LAYOUT.to_le_bytes());
        let content: u32 = match self.content {
            Content::Pprof => 0,
            Content::Otlp => 1,
        };
        bytes.extend(content.to_le_bytes());
        bytes.extend(self.began_ns.to_le_bytes());
        bytes.extend(self.until_ns.to_le_bytes());
        bytes.extend(self.sample_rate_hz.to_bits().to_le_bytes());
        bytes.extend((self.body.len() as u64).to_le_bytes());
        bytes.extend(&self.body);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// The parcel in the bytes of a file, if they are what was written.
    pub(super) fn unpack(bytes: &[u8]) -> Result<Self, Damaged> {
        let (sealed, crc) = bytes.split_last_chunk::<4>().ok_or(Damaged)?;
        if crc32fast::hash(sealed) != u32::from_le_bytes(*crc) {
            return Err(Damaged);
        }
        let mut rest = sealed;
        if take::<8>(&mut rest)? != MAGIC || number32(&mut rest)? != LAYOUT {
            return Err(Damaged);
        }
        let content = match number32(&mut rest)? {
            0 => Content::Pprof,
            1 => Content::Otlp,
            _ => return Err(Damaged),
        };
        let began_ns = number64(&mut rest)?;
        let until_ns = number64(&mut rest)?;
        let sample_rate_hz = f64::from_bits(number64(&mut rest)?);
        if number64(&mut rest)? != rest.len() as u64 || rest.len() > MOST_BODY {
            return Err(Damaged);
        }
        Ok(Self {
            content,
            began_ns,
            until_ns,
            sample_rate_hz,
            body: rest.to_vec(),
        })
    }
}

fn take<const LENGTH: usize>(rest: &mut &[u8]) -> Result<[u8; LENGTH], Damaged> {
    let (first, others) = rest.split_first_chunk().ok_or(Damaged)?;
    *rest = others;
    Ok(*first)
}

fn number32(rest: &mut &[u8]) -> Result<u32, Damaged> {
    take(rest).map(u32::from_le_bytes)
}

fn number64(rest: &mut &[u8]) -> Result<u64, Damaged> {
    take(rest).map(u64::from_le_bytes)
}
