//! The handle on live counters, on real processes. Needs root.

use std::{process::Command, thread::sleep, time::Duration};

use profil_tests::{
    Process, Target, Workload, claim_machine, machine,
    statistics::{assert_ratio, assert_share},
};
use profil_user::{
    Dialect, Profil, Rate, RegionAsked, Scale, StartError, Tgid,
    handle::{Bin, Snapshot, Status},
};
#[cfg(feature = "session")]
use profil_user::{Headway, Options, Session};

/// In hertz.
const RATE: u32 = 997;

/// Bytes of text that surely hold each hot function, and are not more than lies between two.
const FUNCTION_BYTES: u64 = 48;

fn rate() -> Rate {
    RATE.to_string().parse().expect("a rate")
}

fn tgid(target: &Target) -> Tgid {
    Tgid::new(target.pid()).expect("a process")
}

fn region(start: &str, bytes: Option<u64>, scale: u32) -> RegionAsked {
    RegionAsked {
        start: profil_user::Start::parse(start, None).expect("a symbol"),
        bytes,
        scale: Scale(scale),
    }
}

fn window() -> Duration {
    Duration::from_secs(if machine::is_emulated() { 2 } else { 4 })
}

/// Ticks from a symbol to the next.
fn ticks_between(profil: &Profil, snapshot: &Snapshot, from: u64, to: u64) -> u64 {
    let inside = |bin| {
        let address = profil.address_of(bin).expect("a bin of ours");
        (from..to).contains(&address)
    };
    snapshot
        .iter()
        .filter(|&(bin, _)| inside(bin))
        .map(|(_, ticks)| ticks)
        .sum()
}

/// Of a session, which whoever waits for it may watch.
#[cfg(feature = "session")]
#[test]
fn attaching_is_counted_in_threads() {
    let _machine = claim_machine!();
    let target = Target::start(Workload::Pie);
    let headway = Headway::default();
    assert_eq!(headway.seen(), (0, 0));
    let session = Session::attach_with(&Options::new(tgid(&target)), &headway);
    session.map(|_| ()).expect("root may");
    let threads = std::fs::read_dir(format!("/proc/{}/task", target.pid()));
    let threads = threads.expect("it runs").count() as u64;
    assert_eq!(headway.seen(), (threads, threads));
}

#[test]
fn the_live_buffer_agrees_with_the_target() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let mut profil = Profil::builder(tgid(&target))
        .rate(rate())
        .attach()
        .expect("root may");
    assert!(!profil.is_paused());
    target.go_and_hold(window());
    sleep(window() / 2);
    // While it runs.
    let early = profil.snapshot();
    assert!(early.ticks() > 100, "{}", early.ticks());
    let split = target.split();
    profil.pause().expect("it is attached");
    let late = profil.snapshot();
    let balance = profil.balance().expect("it is attached");
    assert!(balance.holds(), "{balance:?}");
    let expected = split.total.as_secs_f64() * f64::from(RATE);
    assert_ratio("due", balance.due(), expected, 0.02);
    assert_ratio("seen", balance.seen() as f64, balance.due(), 0.05);

    // Nothing got less, and what is new is the difference.
    let new = late.since(&early);
    assert_eq!(early.ticks() + new.ticks(), late.ticks());
    assert!(early.since(&late).ticks() == 0);

    // Where the functions lie, by a second handle that asks for them by name.
    let at = |symbol: &str| {
        let named = Profil::builder(tgid(&target))
            .region(region(symbol, Some(FUNCTION_BYTES), 0x1_0000))
            .paused()
            .attach()
            .expect("the symbol is there");
        assert!(named.is_paused());
        named.regions()[0].call.offset
    };
    let mut starts: Vec<_> = split
        .functions
        .keys()
        .map(|name| (at(name), name))
        .collect();
    starts.sort_unstable();
    for (index, &(start, name)) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(start + 256, |next| next.0);
        let ticks = ticks_between(&profil, &late, start, end);
        assert_share(name, ticks, balance.seen(), split.share_of(name));
    }
}

#[test]
fn views_are_those_of_the_dialect() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let attach = |dialect| {
        Profil::builder(tgid(&target))
            .region(region("spin_alpha", Some(4096), 0x8000))
            .dialect(dialect)
            .rate(rate())
            .attach()
            .expect("root may")
    };
    let (mut ours, mut glibc) = (attach(Dialect::Modern), attach(Dialect::Glibc));
    target.go_and_hold(window());
    target.split();
    for profil in [&mut ours, &mut glibc] {
        profil.pause().expect("it is attached");
        let wide: Vec<u64> = profil.counters(0).collect();
        assert_eq!(wide.len(), 2048);
        let mut narrow = vec![7_u16; 2050];
        assert_eq!(profil.view_u16(0, &mut narrow), 2048);
        let mut words = vec![7_u32; 100];
        assert_eq!(profil.view_u32(0, &mut words), 100);
        for (number, &ticks) in (0..).zip(&wide) {
            assert_eq!(u64::from(narrow[number as usize]), ticks & 0xffff);
            assert_eq!(profil.snapshot().get(Bin { region: 0, number }), ticks);
        }
        assert_eq!(narrow[2048..], [7, 7], "past the end");
        assert_eq!(profil.counters(1).count(), 0);
        assert_eq!(profil.view_u16(1, &mut narrow), 0);
        let mut read = 0;
        profil.read(|_, ticks| read += ticks);
        assert_eq!(read, wide.iter().sum::<u64>());
        assert!(read > 500, "{read}");
        assert!(profil.balance().expect("it is attached").holds());
    }
}

#[test]
fn paused_time_counts_nowhere() {
    let _machine = claim_machine!();
    let target = Process::start(&mut Command::new(Workload::Busy.executable()));
    let mut profil = Profil::builder(Tgid::new(target.pid()).expect("a process"))
        .rate(rate())
        .paused()
        .attach()
        .expect("root may");
    sleep(Duration::from_millis(300));
    assert_eq!(profil.snapshot(), Snapshot::default());
    profil.resume().expect("it is attached");
    profil.resume().expect("twice is once");
    sleep(Duration::from_millis(500));
    profil.pause().expect("it is attached");
    let counted = profil.snapshot();
    assert!(counted.ticks() > 50, "{}", counted.ticks());
    sleep(Duration::from_millis(300));
    assert_eq!(profil.snapshot(), counted);
    profil.resume().expect("it is attached");
    sleep(Duration::from_millis(500));
    let stopped = profil.stop().expect("it is attached");
    assert!(stopped.snapshot.since(&counted).ticks() > 50);
    assert!(stopped.balance.holds(), "{:?}", stopped.balance);
    let (seen, due) = (stopped.balance.seen() as f64, stopped.balance.due());
    assert_ratio("seen", seen, due, 0.05);
}

/// One thread of our own burns, another does too, and only one is asked for.
#[test]
fn one_thread_or_all_but_one() {
    let _machine = claim_machine!();
    let ourselves = Tgid::new(std::process::id()).expect("a process");
    let gettid = || {
        rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .cast_unsigned()
    };
    let me = gettid();
    let spin = |time: Duration| {
        let end = std::time::Instant::now() + time;
        while std::time::Instant::now() < end {
            std::hint::spin_loop();
        }
    };
    let time = Duration::from_millis(600);
    let builder = Profil::builder(ourselves).rate(rate());
    let one = builder.clone().thread(me).attach().expect("root may");
    // A thread that is started now is not followed by the one, and is by the other.
    let other = builder
        .clone()
        .except_thread(me)
        .attach()
        .expect("root may");
    let unknown = builder.clone().thread(1).attach().expect_err("not ours");
    assert!(
        matches!(unknown, StartError::NoSuchThread { .. }),
        "{unknown}"
    );
    // Attaching the other was this thread's own work.
    let due_of_one = || one.balance().expect("it is attached").due_ns;
    let before = due_of_one();
    std::thread::scope(|scope| {
        scope.spawn(|| spin(time)).join().expect("it only spins");
    });
    let quiet = due_of_one() - before;
    assert!(quiet < 100_000_000, "{quiet} ns of a thread that waits");
    spin(time);
    let (one, other) = (one.stop(), other.stop());
    let (one, other) = (one.expect("attached"), other.expect("attached"));
    assert!(one.balance.holds() && other.balance.holds());
    let spent = (one.balance.due_ns - before) as f64 / time.as_nanos() as f64;
    assert!((0.3..1.2).contains(&spent), "{spent} of the time");
    // Started by the thread that is left out: so is it.
    assert!(other.balance.due_ns < 100_000_000, "{:?}", other.balance);
}

#[test]
fn another_program_ends_a_classic_dialect() {
    let _machine = claim_machine!();
    let next = Workload::SegmentsPie.executable();
    let next = next.to_str().expect("a plain path");
    let mut target = Target::start_with(Workload::Pie, &["--exec", next]);
    let mut profil = Profil::builder(tgid(&target))
        .region(region("spin_alpha", Some(4096), 0x8000))
        .dialect(Dialect::Glibc)
        .attach()
        .expect("root may");
    assert_eq!(profil.check().expect("readable"), Status::SameProgram);
    target.go_and_hold(Duration::from_secs(1));
    target.split();
    assert_eq!(profil.check().expect("readable"), Status::OtherProgram);
    assert!(profil.is_paused());
    target.kill();
    assert_eq!(profil.check().expect("readable"), Status::Ended);
}

#[test]
fn what_cannot_be_is_refused() {
    let _machine = claim_machine!();
    let target = Process::start(&mut Command::new(Workload::Busy.executable()));
    let builder = || Profil::builder(Tgid::new(target.pid()).expect("a process"));
    for (builder, said) in [
        (builder().classic(0x1000, 0, 0x1_0000), "no room"),
        (builder().classic(0x1000, 64, 0), "scale of 0"),
        (builder().classic(0x1000, 1 << 40, 0x1_0000), "memory"),
        (builder().region(region("nosuch", None, 1)), "nosuch"),
    ] {
        let error = builder.attach().expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}
