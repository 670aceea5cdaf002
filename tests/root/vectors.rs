//! The formulas of the dialects inside the kernel: translated by its JIT, on the same worked
//! examples as on the host, and against the host on many more.

#[path = "../../profil-common/tests/list/mod.rs"]
mod list;

use aya::{
    Ebpf, Pod, include_bytes_aligned,
    programs::{TestRun as _, TestRunOptions, Xdp},
};
use list::{Vector, vectors};
use profil_common::{Classic, Dialect, Trial};
use profil_tests::{claim_machine, skip};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../profil-user/bpf/profil-trial-x86_64.bpf.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../profil-user/bpf/profil-trial-aarch64.bpf.o");

/// What an XDP program returns that is content with its packet.
const XDP_PASS: u32 = 2;

/// Random cases for each dialect.
const CASES: usize = 1000;

/// The loaded test program.
struct Kernel {
    object: Ebpf,
}

impl Kernel {
    fn load() -> Self {
        let mut object = Ebpf::load(OBJECT).expect("the object can be read");
        let program = object.program_mut(Trial::PROGRAM).expect("it is in there");
        let program: &mut Xdp = program.try_into().expect("it is for packets");
        program.load().expect("the verifier accepts it");
        Self { object }
    }

    fn program(&self) -> &Xdp {
        let program = self.object.program(Trial::PROGRAM).expect("it is loaded");
        program.try_into().expect("it is for packets")
    }

    /// Whether the kernel made machine code of it. Otherwise it interprets it.
    fn is_translated(&self) -> bool {
        self.program().info().expect("it is loaded").size_jitted() > 0
    }

    /// The counter that a tick adds to, as the kernel sees it.
    fn cell(&self, dialect: Dialect, region: Classic, pc: u64) -> Option<u64> {
        let question = Trial {
            region,
            pc,
            dialect: dialect as u32,
            // Neither is an answer.
            counted: u32::MAX,
            bin: u64::MAX,
        };
        let mut answer = Trial::default();
        let result = self
            .program()
            .test_run(TestRunOptions {
                data_in: Some(bytes_of(&question)),
                data_out: Some(bytes_of_mut(&mut answer)),
                ..TestRunOptions::new()
            })
            .expect("the kernel runs it");
        assert_eq!(result.return_value, XDP_PASS);
        assert_eq!(result.data_size_out as usize, size_of::<Trial>());
        match answer.counted {
            0 => None,
            1 => Some(answer.bin),
            other => panic!("{other} is no answer"),
        }
    }
}

fn bytes_of<T: Pod>(value: &T) -> &[u8] {
    // SAFETY: plain data may be looked at as bytes.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }
}

fn bytes_of_mut<T: Pod>(value: &mut T) -> &mut [u8] {
    // SAFETY: plain data may be written as bytes: any of them are a value.
    unsafe { std::slice::from_raw_parts_mut((&raw mut *value).cast(), size_of::<T>()) }
}

#[test]
fn every_vector_holds_in_the_kernel() {
    let _machine = claim_machine!();
    let kernel = Kernel::load();
    if !kernel.is_translated() {
        skip!("this kernel interprets BPF");
    }
    let wrong: Vec<_> = vectors()
        .into_iter()
        .map(|vector| {
            (
                kernel.cell(vector.dialect, vector.region, vector.pc),
                vector,
            )
        })
        .filter(|(found, vector)| *found != vector.bin)
        .map(|(found, Vector { id, bin, .. })| format!("{id}: {found:?}, not {bin:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kernel_and_host_agree() {
    let _machine = claim_machine!();
    let kernel = Kernel::load();
    let mut random = Random(0x70_726f_6669_6c32);
    let mut counted = 0;
    for &dialect in Dialect::ALL {
        for _ in 0..CASES {
            let region = Classic {
                offset: random.address(),
                bytes: random.bytes(),
                scale: random.scale(),
                added: random.below(2) as u32,
            };
            let pc = region.offset.wrapping_add(random.distance());
            let host = profil_common::cell(dialect, &region, pc);
            let found = kernel.cell(dialect, region, pc);
            assert_eq!(found, host, "{dialect:?} {region:x?} {pc:#x}");
            counted += usize::from(found.is_some());
        }
    }
    // Cases that nothing counts would prove little.
    let all = CASES * Dialect::ALL.len();
    assert!(counted > all / 5 && counted < all, "{counted} of {all}");
}

#[test]
fn an_unknown_dialect_counts_nothing() {
    let _machine = claim_machine!();
    let kernel = Kernel::load();
    let mut question = Trial {
        dialect: Dialect::ALL.len() as u32,
        counted: 1,
        ..Trial::default()
    };
    question.region.bytes = 64;
    let mut answer = question;
    let options = TestRunOptions {
        data_in: Some(bytes_of(&question)),
        data_out: Some(bytes_of_mut(&mut answer)),
        ..TestRunOptions::new()
    };
    kernel
        .program()
        .test_run(options)
        .expect("the kernel runs it");
    assert_eq!(answer.counted, 0);
}

/// Numbers that look random and are the same every time (splitmix64), aimed at edges.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number of up to 64 bits, small or large.
    fn of_any_length(&mut self) -> u64 {
        let bits = self.below(64);
        self.next() >> bits
    }

    /// Close to a power of two, on both sides.
    fn near_a_power(&mut self) -> u64 {
        let power = 1_u64 << self.below(64);
        power.wrapping_add(self.below(32)).wrapping_sub(16)
    }

    fn address(&mut self) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => self.near_a_power(),
            2 => 0x5555_5555_4000,
            _ => self.of_any_length(),
        }
    }

    fn bytes(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(8),
            1 => self.near_a_power(),
            2 => self.of_any_length(),
            _ => self.below(5000),
        }
    }

    fn scale(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(5) as u32,
            1 => self.near_a_power() as u32,
            2 => self.of_any_length() as u32,
            _ => self.below(0x1_0001) as u32,
        }
    }

    /// How far a tick is above the offset or, once around, below it.
    fn distance(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(64).wrapping_sub(32),
            1 => self.near_a_power(),
            2 => self.of_any_length(),
            _ => self.below(10_000),
        }
    }
}
