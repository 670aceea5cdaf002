//! Bytes → instructions. The only place that knows disassemblers.
//!
//! Whatever the bytes are, each is in exactly one instruction: what is no instruction is one of its own,
//! as in `objdump -d`.

use farm64::format::{FmtFormatter, Formatter as _};
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter};
use object::elf::{EM_386, EM_AARCH64, EM_X86_64};

/// What is written for bytes that are no instruction.
const BAD: &str = "(bad)";

/// Whose instructions they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Architecture {
    /// Intel and AMD, in 32-bit mode.
    X86,
    /// Intel and AMD, in 64-bit mode.
    X86_64,
    /// Arm in 64-bit mode (A64).
    Arm64,
}

/// One instruction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Decoded {
    pub(super) address: u64,
    /// How many bytes it has: never none.
    pub(super) length: usize,
    /// Mnemonic and operands, one blank between them, in the notation of `objdump`.
    pub(super) text: String,
    /// Where it jumps to or what it calls, if it says so.
    pub(super) target: Option<u64>,
}

impl Architecture {
    /// That of an ELF file's `e_machine` (elf(5)), if we can read it.
    pub(crate) const fn of_machine(machine: u16) -> Option<Self> {
        match machine {
            EM_386 => Some(Self::X86),
            EM_X86_64 => Some(Self::X86_64),
            EM_AARCH64 => Some(Self::Arm64),
            _ => None,
        }
    }

    /// The instructions that some bytes are, one after the other from the first byte on.
    pub(super) fn decode(self, address: u64, bytes: &[u8]) -> Vec<Decoded> {
        match self {
            Self::X86 => x86(32, address, bytes),
            Self::X86_64 => x86(64, address, bytes),
            Self::Arm64 => arm64(address, bytes),
        }
    }
}

fn x86(bits: u32, address: u64, bytes: &[u8]) -> Vec<Decoded> {
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let address = address.wrapping_add(at as u64);
        // The decoder takes more than one byte for what is none.
        if decoder.set_position(at).is_err() {
            break;
        }
        decoder.set_ip(address);
        let instruction = decoder.decode();
        let (length, text, target) = if instruction.is_invalid() || instruction.len() == 0 {
            (1, BAD.to_owned(), 0)
        } else {
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            let target = instruction.near_branch_target();
            (instruction.len(), one_blank(&text), target)
        };
        decoded.push(Decoded {
            address,
            length,
            text,
            target: (target != 0).then_some(target),
        });
        at += length;
    }
    decoded
}

fn arm64(address: u64, bytes: &[u8]) -> Vec<Decoded> {
    let formatter = FmtFormatter::new();
    let decode = |(index, word): (usize, &[u8])| {
        let address = address.wrapping_add(4 * index as u64);
        let (text, target) = match word.try_into().map(u32::from_le_bytes) {
            Err(_) => (BAD.to_owned(), 0),
            Ok(number) => {
                let options = farm64::DecoderOptions::default();
                let instruction = farm64::Decoder::new(word, address, options).decode();
                if instruction.is_invalid() {
                    (format!(".inst {number:#010x}"), 0)
                } else {
                    let mut text = String::new();
                    formatter.format(&instruction, &mut text);
                    (one_blank(&text), instruction.near_branch_target())
                }
            }
        };
        Decoded {
            address,
            length: word.len(),
            text,
            target: (target != 0).then_some(target),
        }
    };
    bytes.chunks(4).enumerate().map(decode).collect()
}

/// The same with one blank after the mnemonic: who shows it has columns of their own.
fn one_blank(text: &str) -> String {
    match text.trim_end().split_once(' ') {
        Some((mnemonic, operands)) => format!("{mnemonic} {}", operands.trim_start()),
        None => text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests;
