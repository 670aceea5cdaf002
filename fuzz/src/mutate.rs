//! Damage to bytes, as chance has it.

/// Makes inputs from other inputs.
pub(crate) struct Mutator {
    state: u64,
}

/// Numbers at which readers go wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    u64::MAX,
];

/// Inputs are cut to this length.
const LONGEST: usize = 1 << 16;

impl Mutator {
    pub(crate) const fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self {
            state: seed | 1 << 63,
        }
    }

    /// xorshift64*
    const fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    /// One of the inputs, damaged a few times.
    pub(crate) fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let which = self.below(corpus.len());
        let mut input = corpus[which].clone();
        for _ in 0..=self.below(6) {
            self.damage(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn damage(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        match self.below(8) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                let random = self.next();
                self.write(input, at, random);
            }
            2 => {
                let edge = EDGES[self.below(EDGES.len())];
                self.write(input, at, edge);
            }
            // Lengths that are nearly right.
            3 => {
                let length = (input.len() + self.below(9)).wrapping_sub(4) as u64;
                self.write(input, at, length);
            }
            4 => input.truncate(at),
            5 => {
                let end = (at + self.below(64)).min(input.len());
                input.drain(at..end);
            }
            6 => {
                let end = (at + self.below(256)).min(input.len());
                let part = input[at..end].to_vec();
                let place = self.below(input.len() + 1);
                input.splice(place..place, part);
            }
            _ => {
                let other = &corpus[self.below(corpus.len())];
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend(&other[from..]);
            }
        }
    }

    /// Writes the low bytes of a number over what is there.
    fn write(&mut self, input: &mut [u8], at: usize, number: u64) {
        let length = 1 << self.below(4);
        let bytes = number.to_le_bytes();
        for (old, new) in input[at..].iter_mut().zip(&bytes[..length]) {
            *old = *new;
        }
    }
}
