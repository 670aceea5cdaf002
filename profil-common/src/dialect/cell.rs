//! Which counter a tick adds to: the formula of every dialect, defects included.
//!
//! The kernel half and the tests run these very functions. They work in the word of the machine
//! that they stand for, and wrap where it wrapped. The BPF machine has no products of 128 bits,
//! so none of them takes any.

use super::Dialect;
use crate::binning::{SCALE_ONE, TEXT_BYTES_PER_BIN, bin_of};

/// Bytes of a counter, in all dialects but two.
const COUNTER_BYTES: u64 = 2;

/// Bytes of a counter of `sprofil` that was asked for wide ones.
const WIDE_COUNTER_BYTES: u64 = 4;

/// One region as a call of `profil` describes it, without its buffer.
///
/// There is no padding, and every bit pattern is valid.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Classic {
    /// Lowest address that the caller means to count.
    pub offset: u64,
    /// Size of the buffer in bytes: `bufsiz`.
    pub bytes: u64,
    /// Bytes of buffer for a byte of text, in 16.16 fixed point.
    pub scale: u32,
    /// Not 0 if XNU's `add_profil` put the region behind the one that `profil` gave. Other
    /// dialects have no such call and take no notice.
    pub added: u32,
}

const _: () = assert!(size_of::<Classic>() == 2 * 8 + 2 * 4, "no padding");

/// Returns the counter of `region` that a tick at `pc` adds to, or `None` if it adds to none,
/// because the address is not in range, or the call that gave the region was refused or turned
/// profiling off.
///
/// Values are cut to the dialect's word first: in a dialect of 16 or 32 bits every address of a
/// larger machine has an alias.
#[inline(always)]
pub fn cell(dialect: Dialect, region: &Classic, pc: u64) -> Option<u64> {
    match dialect {
        Dialect::Modern => modern(region, pc),
        Dialect::V7 => v7(region, pc),
        Dialect::Bsd43 => bsd43(region, pc),
        Dialect::Bsd44 => bsd44(region, pc),
        Dialect::Bsd => bsd(region, pc),
        Dialect::XnuIlp32 => xnu_ilp32(region, pc),
        Dialect::Xnu => xnu(region, pc),
        Dialect::Svr4 => svr4(region, pc),
        Dialect::Glibc => glibc(region, pc),
        Dialect::Glibc32 => glibc32(region, pc),
        Dialect::Sprofil => sprofil(region, pc, COUNTER_BYTES),
        Dialect::SprofilUint => sprofil(region, pc, WIDE_COUNTER_BYTES),
    }
}

impl Classic {
    /// Whether this is the entry of `sprofil` for what is in no other region.
    #[inline(always)]
    pub const fn is_overflow(&self) -> bool {
        self.offset == 0 && self.scale == 2
    }

    /// Whether the scale is a fraction that the BSDs profile with.
    #[inline(always)]
    const fn is_fraction(&self) -> bool {
        self.scale != 0 && self.scale <= SCALE_ONE
    }

    /// Number of counters that ticks can be added to: one past the highest that [`cell`] ever
    /// gives. Where the kernel wrote a byte past the end of a buffer of odd size, that counter
    /// is among them.
    pub fn bins(&self, dialect: Dialect) -> u64 {
        if !dialect.call(self).counts() {
            return 0;
        }
        match dialect {
            Dialect::Modern | Dialect::Glibc | Dialect::Sprofil => self.bytes / COUNTER_BYTES,
            Dialect::Glibc32 => u64::from(self.bytes as u32) / COUNTER_BYTES,
            Dialect::SprofilUint => self.bytes / WIDE_COUNTER_BYTES,
            Dialect::V7 => u64::from(self.bytes as u16).div_ceil(COUNTER_BYTES),
            Dialect::Bsd43 | Dialect::Bsd44 | Dialect::XnuIlp32 => {
                u64::from(self.bytes as u32).div_ceil(COUNTER_BYTES)
            }
            // An index of 31 bits is the highest that is not negative.
            Dialect::Bsd | Dialect::Xnu => {
                let reach = (i32::MAX as u64).div_ceil(COUNTER_BYTES);
                self.bytes.div_ceil(COUNTER_BYTES).min(reach)
            }
            Dialect::Svr4 => self.bytes.div_ceil(COUNTER_BYTES).max(1),
        }
    }
}

/// The manual's formula: as every later tick of ours is counted.
#[inline(always)]
fn modern(region: &Classic, pc: u64) -> Option<u64> {
    let distance = pc.checked_sub(region.offset)?;
    if !region.is_fraction() {
        return None;
    }
    let bin = bin_of(distance, region.scale);
    (bin < region.bytes / COUNTER_BYTES).then_some(bin)
}

/// Everything is a 16-bit word, distances wrap, and the byte index is rounded up to a counter.
#[inline(always)]
fn v7(region: &Classic, pc: u64) -> Option<u64> {
    let scale = region.scale as u16;
    let words = u32::from((pc as u16).wrapping_sub(region.offset as u16) >> 1);
    let index = (((words * u32::from(scale >> 1)) >> 14) + 1) & !1;
    (scale != 0 && index < u32::from(region.bytes as u16)).then_some(u64::from(index >> 1))
}

/// Distances are signed; distance and scale each lose their low bit, and the byte index is
/// rounded down.
#[inline(always)]
fn bsd43(region: &Classic, pc: u64) -> Option<u64> {
    let distance = (pc as u32).wrapping_sub(region.offset as u32);
    let product = u64::from(distance >> 1) * u64::from(region.scale >> 1);
    let index = (product >> 14) & !1;
    let positive = distance <= i32::MAX as u32;
    // A size has 32 bits, so this also sorts out an index that has more.
    (region.scale != 0 && positive && index < u64::from(region.bytes as u32)).then_some(index >> 1)
}

/// The first byte family: the low bit is lost only after scaling.
#[inline(always)]
fn bsd44(region: &Classic, pc: u64) -> Option<u64> {
    let distance = (pc as u32).checked_sub(region.offset as u32)?;
    let index = byte_index(u64::from(distance), region.scale);
    (region.is_fraction() && index < region.bytes as u32).then_some(u64::from(index >> 1))
}

/// As 4.4BSD, in 64-bit words that lose the upper half of the index in the end.
#[inline(always)]
fn bsd(region: &Classic, pc: u64) -> Option<u64> {
    let distance = pc.checked_sub(region.offset)?;
    let bin = signed_bin(region, distance)?;
    region.is_fraction().then_some(bin)
}

/// No look at which side of the offset the address is: what counts is whether the counter lies
/// in the buffer. So low addresses come around at small scales.
#[inline(always)]
fn xnu_ilp32(region: &Classic, pc: u64) -> Option<u64> {
    let distance = (pc as u32).wrapping_sub(region.offset as u32);
    let index = byte_index(u64::from(distance), region.scale);
    let valid = region.added != 0 || region.is_fraction();
    (valid && index < region.bytes as u32).then_some(u64::from(index >> 1))
}

/// As above, and the index is cut to 32 bits as on the other systems of 64-bit words.
#[inline(always)]
fn xnu(region: &Classic, pc: u64) -> Option<u64> {
    let bin = signed_bin(region, pc.wrapping_sub(region.offset))?;
    (region.added != 0 || region.is_fraction()).then_some(bin)
}

/// The even byte index of the byte family, as an `int` whose sign nobody has looked at yet.
#[inline(always)]
fn byte_index(distance: u64, scale: u32) -> u32 {
    (distance.wrapping_mul(u64::from(scale)) >> 16) as u32 & !1
}

/// The counter of a byte index that is negative if bit 31 is set.
#[inline(always)]
fn signed_bin(region: &Classic, distance: u64) -> Option<u64> {
    let index = byte_index(distance, region.scale);
    (index <= i32::MAX as u32 && u64::from(index) < region.bytes).then_some(u64::from(index >> 1))
}

/// Scale 2 is a clock that counts whatever is not below the offset, and looks at no size.
#[inline(always)]
fn svr4(region: &Classic, pc: u64) -> Option<u64> {
    let distance = pc.checked_sub(region.offset)?;
    if region.scale == 2 {
        return Some(0);
    }
    let index = split_product(distance, region.scale);
    (region.scale > 2 && index < region.bytes).then_some(index >> 1)
}

/// Nothing is tested but the end of the buffer, and scale 0 makes one counter of all addresses.
#[inline(always)]
fn glibc(region: &Classic, pc: u64) -> Option<u64> {
    let units = pc.wrapping_sub(region.offset) / TEXT_BYTES_PER_BIN;
    let bin = split_product(units, region.scale);
    (bin < region.bytes / COUNTER_BYTES).then_some(bin)
}

/// As above in words of 32 bits: the product is exact, and its upper half is lost.
#[inline(always)]
fn glibc32(region: &Classic, pc: u64) -> Option<u64> {
    let distance = (pc as u32).wrapping_sub(region.offset as u32);
    let units = u64::from(distance) / TEXT_BYTES_PER_BIN;
    let bin = (units * u64::from(region.scale)) >> 16 & u64::from(u32::MAX);
    (bin < u64::from(region.bytes as u32) / COUNTER_BYTES).then_some(bin)
}

/// Multiplies in two steps, as SVR4 and the C library do: exact until the upper one wraps.
#[inline(always)]
fn split_product(value: u64, scale: u32) -> u64 {
    let scale = u64::from(scale);
    let lower = ((value & 0xffff) * scale) >> 16;
    (value >> 16).wrapping_mul(scale).wrapping_add(lower)
}

/// A region spans the addresses from its offset to the first that would be past its counters, so
/// nothing wraps. The entry for the rest takes what comes to it: it has to be the last one.
///
/// Two defects of the code are left out. The first tick after a change of region goes astray
/// there: it takes the offset and the scale of the entry for the rest, but which counter that
/// hits depends on the tick before. And a tick below the lowest region reads what lies before a
/// table: there is nothing to do again.
#[inline(always)]
fn sprofil(region: &Classic, pc: u64, counter_bytes: u64) -> Option<u64> {
    let bins = region.bytes / counter_bytes;
    if region.is_overflow() {
        return (bins > 0).then_some(0);
    }
    let units = pc.checked_sub(region.offset)? / counter_bytes;
    let bin = exact_product(units, region.scale)?;
    (region.scale >= 2 && bin < bins).then_some(bin)
}

/// `value * scale / 65536`, or `None` if it has more than 64 bits.
#[inline(always)]
fn exact_product(value: u64, scale: u32) -> Option<u64> {
    let scale = u64::from(scale);
    // The product in three parts of which none has more than 64 bits.
    let top = (value >> 48) * scale;
    let middle = (value >> 16 & u64::from(u32::MAX)) * scale;
    let lower = ((value & 0xffff) * scale) >> 16;
    let carried = top + (middle >> 32);
    if carried > u64::from(u32::MAX) {
        return None;
    }
    (carried << 32 | middle & u64::from(u32::MAX)).checked_add(lower)
}
