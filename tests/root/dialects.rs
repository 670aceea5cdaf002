//! The program that counts ticks, in every dialect, on this very thread.

use std::{arch::asm, collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, time::Duration};

use aya::{
    Ebpf, EbpfLoader, include_bytes_aligned,
    maps::{Array, MapData, PerCpuArray},
    programs::{
        PerfEvent,
        perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent},
    },
};
use profil_common::{
    Charge, Classic, Dialect, Outcome, Region, RegionTable, Settings, Tally, cell,
    limits::BINS_PER_PAGE,
};
use profil_tests::{claim_machine, kernel::PROGRAM};
use rustix::time::{ClockId, clock_gettime};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../profil-user/bpf/profil-x86_64.bpf.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../profil-user/bpf/profil-aarch64.bpf.o");

/// Nanoseconds of this thread's time between two ticks.
const PERIOD_NS: u64 = 500_000;

/// How long a test uses the CPU.
const WINDOW: Duration = Duration::from_millis(200);

/// Bytes of code that [`burn`] is surely within.
const BURN_BYTES: u64 = 512;

/// The counting program with its maps, loaded for a dialect.
struct Kernel {
    object: Ebpf,
    bins: u32,
}

impl Kernel {
    fn load(dialect: Dialect, regions: &[Region]) -> Self {
        let bins = regions.iter().map(|region| region.bins).sum::<u32>();
        let namespace = fs::metadata("/proc/self/ns/pid").expect("there is one");
        let settings = Settings {
            pid_namespace_device: namespace.dev(),
            pid_namespace_inode: namespace.ino(),
            bins,
            // The way that every kernel knows.
            charge: Charge::BothByStack as u32,
            dialect: dialect as u32,
            task_shift: Settings::BY_PROCESS,
            ..Settings::default()
        };
        let mut object = EbpfLoader::new()
            .override_global(Settings::SYMBOL, &settings, true)
            .map_max_entries("REGIONS", regions.len() as u32)
            .map_max_entries("BINS", bins * 2)
            .map_max_entries("TOUCHED", (bins * 2).div_ceil(BINS_PER_PAGE))
            .map_max_entries("STRAYS", 1024)
            .map_max_entries("AYA_LOGS", 64 * 1024)
            .load(OBJECT)
            .expect("the object can be read");
        for (index, region) in (0..).zip(regions) {
            array::<Region>(&mut object, "REGIONS")
                .set(index, region, 0)
                .expect("there is room for it");
        }
        let table = RegionTable {
            count: regions.len() as u32,
            first: 0,
        };
        array::<RegionTable>(&mut object, "REGION_TABLE")
            .set(0, table, 0)
            .expect("there is room for it");
        let program = object.program_mut(PROGRAM).expect("it is in there");
        let program: &mut PerfEvent = program.try_into().expect("it is for perf events");
        program
            .load()
            .unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        let info = program.info().expect("it is loaded");
        if let Some(processed) = info.verified_instruction_count() {
            assert!(processed < 200_000, "{dialect:?}: {processed}");
        }
        Self { object, bins }
    }

    /// Counts what this thread does in [`burn`], and says what became of the ticks.
    fn count(&mut self) -> Tally {
        let program = self.object.program_mut(PROGRAM).expect("it is loaded");
        let program: &mut PerfEvent = program.try_into().expect("it is for perf events");
        let link = program
            .attach(
                PerfEventConfig::Software(SoftwareEvent::CpuClock),
                PerfEventScope::CallingProcess { cpu: None },
                SamplePolicy::Period(PERIOD_NS),
                false,
            )
            .expect("a clock can be had");
        let start = cpu_time();
        while cpu_time() - start < WINDOW {
            burn();
        }
        program.detach(link).expect("it is attached");
        let tally = self.tally();
        // How many come is the business of other tests; here it takes enough of them.
        let due = WINDOW.as_nanos() / u128::from(PERIOD_NS);
        assert!(
            u128::from(tally.runs) > due / 4,
            "{} of {due} runs",
            tally.runs
        );
        tally
    }

    /// What became of the ticks, conserved.
    fn tally(&self) -> Tally {
        let map = self.object.map("TALLY").expect("it is in there");
        let tallies: PerCpuArray<_, Tally> = map.try_into().expect("it has a copy a CPU");
        let mut sum = Tally::default();
        for tally in tallies.get(&0, 0).expect("it has one entry").iter() {
            sum.runs += tally.runs;
            for (sum, count) in sum.outcomes.iter_mut().zip(tally.outcomes) {
                *sum += count;
            }
        }
        assert_eq!(sum.runs, sum.outcomes.iter().sum::<u64>());
        sum
    }

    /// The counters of both planes.
    fn counters(&mut self) -> (Vec<u64>, Vec<u64>) {
        let bins = self.bins;
        let array: Array<_, u64> = array(&mut self.object, "BINS");
        let all: Vec<_> = (0..bins * 2)
            .map(|index| array.get(&index, 0).expect("it is in there"))
            .collect();
        let (user, system) = all.split_at(bins as usize);
        (user.to_vec(), system.to_vec())
    }

    fn set_counter(&mut self, index: u32, ticks: u64) {
        array::<u64>(&mut self.object, "BINS")
            .set(index, ticks, 0)
            .expect("it is in there");
    }
}

/// The time that this thread has used.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("time is not negative")
}

fn array<'a, T: aya::Pod>(object: &'a mut Ebpf, name: &str) -> Array<&'a mut MapData, T> {
    let map = object.map_mut(name).expect("it is in there");
    map.try_into().expect("it is an array of these")
}

/// A few instructions that are known to be here and nowhere else, for some milliseconds.
#[inline(never)]
fn burn() {
    let mut rounds = 10_000_000_u64;
    // SAFETY: it counts a register down.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("2: dec {0}", "jnz 2b", inout(reg) rounds);
        #[cfg(target_arch = "aarch64")]
        asm!("2: subs {0}, {0}, #1", "b.ne 2b", inout(reg) rounds);
    }
    assert_eq!(rounds, 0);
}

fn region(dialect: Dialect, classic: Classic) -> Region {
    Region {
        start: classic.offset,
        tgid: std::process::id(),
        scale: classic.scale,
        bins: classic.bins(dialect) as u32,
        first: 0,
        bytes: classic.bytes,
    }
}

fn of(tally: &Tally, outcome: Outcome) -> u64 {
    tally.outcomes[outcome as usize]
}

#[test]
fn every_dialect_counts_where_the_formula_says() {
    let _machine = claim_machine!();
    let here = burn as *const () as u64;
    for &dialect in Dialect::ALL {
        // Odd, so that bins do not begin where functions do.
        let classic = Classic {
            offset: here - 101,
            bytes: 4097,
            scale: 0xc001,
            added: 0,
        };
        let mut kernel = Kernel::load(dialect, &[region(dialect, classic)]);
        let tally = kernel.count();
        let (user, system) = kernel.counters();
        let binned = of(&tally, Outcome::Binned);
        assert_eq!(
            user.iter().chain(&system).sum::<u64>(),
            binned,
            "{dialect:?}"
        );

        let possible: BTreeSet<_> = (here..here + BURN_BYTES)
            .filter_map(|pc| cell(dialect, &classic, pc))
            .collect();
        let hit: u64 = (0..)
            .zip(&user)
            .filter_map(|(bin, ticks)| possible.contains(&bin).then_some(ticks))
            .sum();
        assert!(
            hit as f64 > 0.9 * tally.runs as f64,
            "{dialect:?}: {hit} of {tally:?}"
        );
        // What is in range of nothing has an outcome, and addresses are kept in ours only.
        let elsewhere = match dialect {
            Dialect::Modern => Outcome::OutOfRange,
            _ => Outcome::Stray,
        };
        assert_eq!(of(&tally, elsewhere), 0, "{dialect:?}: {tally:?}");
    }
}

#[test]
fn svr4_stops_everything_at_its_limit() {
    let _machine = claim_machine!();
    let dialect = Dialect::Svr4;
    let clock = Classic {
        offset: 0,
        bytes: 0,
        scale: 2,
        added: 0,
    };
    let mut kernel = Kernel::load(dialect, &[region(dialect, clock)]);
    // Both kinds of time count towards the limit.
    kernel.set_counter(0, 32_000);
    kernel.set_counter(1, 760);
    let tally = kernel.count();
    let (user, system) = kernel.counters();
    assert_eq!(user[0] + system[0], 32_767);
    assert_eq!(of(&tally, Outcome::Binned), 7, "{tally:?}");
    let after = of(&tally, Outcome::Stopped);
    assert_eq!(
        after + 7 + of(&tally, Outcome::NoUserPc),
        tally.runs,
        "{tally:?}"
    );
    let regions: Array<_, Region> = array(&mut kernel.object, "REGIONS");
    assert!(regions.get(&0, 0).expect("it is in there").is_stopped());
}

#[test]
fn what_xnu_does_not_count_in_one_region_it_counts_in_the_next() {
    let _machine = claim_machine!();
    let here = burn as *const () as u64;
    let dialect = Dialect::Xnu;
    let main = Classic {
        offset: 0x1000,
        bytes: 64,
        scale: 0x1_0000,
        added: 0,
    };
    let added = Classic {
        offset: here,
        bytes: BURN_BYTES,
        scale: 0x1_0000,
        added: 1,
    };
    let mut second = region(dialect, added);
    second.first = region(dialect, main).bins;
    let mut kernel = Kernel::load(dialect, &[region(dialect, main), second]);
    let tally = kernel.count();
    let (user, _) = kernel.counters();
    let hit: u64 = user[second.first as usize..].iter().sum();
    assert!(hit as f64 > 0.9 * tally.runs as f64, "{hit} of {tally:?}");
}

#[test]
fn the_addresses_of_a_process_without_regions_are_kept() {
    let _machine = claim_machine!();
    let dialect = Dialect::Bsd;
    let everything = Classic {
        offset: 0,
        bytes: 64,
        scale: 1,
        added: 0,
    };
    let mut other = region(dialect, everything);
    other.tgid = u32::MAX;
    let tally = Kernel::load(dialect, &[other]).count();
    let kept = of(&tally, Outcome::Stray);
    assert!(kept as f64 > 0.9 * tally.runs as f64, "{tally:?}");
    assert_eq!(of(&tally, Outcome::OutOfRange), 0, "{tally:?}");
}
