//! Many who ask at once get a right answer or a clear refusal, and the counting goes on.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use profil_tests::{Daemon, Workload, claim_machine, http, statistics::assert_ratio};

use super::Burner;

#[test]
fn two_hundred_scrapes_a_second_and_twenty_profiles() {
    const SCRAPERS: u32 = 4;
    const PERIOD: Duration = Duration::from_millis(20);
    const TIME: Duration = Duration::from_secs(4);
    const PROFILES: usize = 24;
    let _machine = claim_machine!();
    let daemon = Daemon::start([]);
    let target = Burner::start(Workload::Busy, &[]);
    let before = daemon.settled();
    let address = daemon.address();
    let (scraped, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut profiles = Vec::new();
    thread::scope(|scope| {
        for _ in 0..SCRAPERS {
            scope.spawn(|| {
                let begun = Instant::now();
                for number in 0.. {
                    let next = begun + PERIOD * number;
                    if next > begun + TIME {
                        break;
                    }
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                    match http::get(address, "/metrics") {
                        answer if answer.status == 200 => {
                            assert!(answer.text().ends_with("# EOF\n"));
                            scraped.fetch_add(1, Ordering::Relaxed);
                        }
                        answer if [429, 503].contains(&answer.status) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        answer => panic!("{}", answer.head),
                    }
                }
            });
        }
        let path = format!("/debug/pprof/profile?seconds=2&pid={}", target.pid());
        let asked: Vec<_> = (0..PROFILES)
            .map(|number| {
                let path = if number % 3 == 0 {
                    "/debug/pprof/profile?seconds=2".to_owned()
                } else {
                    path.clone()
                };
                scope.spawn(move || http::get(address, &path))
            })
            .collect();
        profiles.extend(
            asked
                .into_iter()
                .map(|asked| asked.join().expect("an answer")),
        );
    });
    let given = profiles
        .iter()
        .filter(|answer| answer.status == 200)
        .count();
    let too_many: Vec<_> = profiles
        .iter()
        .filter(|answer| answer.status != 200)
        .collect();
    assert_eq!(given, 20, "the limit");
    for answer in too_many {
        assert_eq!(answer.status, 429, "{}", answer.head);
        assert!(answer.text().contains("which is the limit; ask later"));
        assert!(answer.header("retry-after").is_some());
    }
    for answer in profiles.iter().filter(|answer| answer.status == 200) {
        let ticks: u64 = answer
            .header("x-profil-ticks")
            .expect("ticks")
            .parse()
            .expect("a number");
        assert!(ticks > 100, "{ticks}");
        assert_eq!(&answer.body[..2], [0x1f, 0x8b], "gzip");
    }
    let (scraped, refused) = (scraped.into_inner(), refused.into_inner());
    let asked = u64::from(SCRAPERS) * (TIME.as_millis() / PERIOD.as_millis()) as u64;
    assert!(
        scraped >= asked * 9 / 10,
        "{scraped} of {asked}, {refused} refused"
    );
    let after = daemon.settled();
    after.assert_exact();
    let gained = |name: &str| after.sum(name, &[]) - before.sum(name, &[]);
    // Who scrapes wakes in step with the kernel's own tick, by which it counts what is due.
    assert_ratio(
        "seen by due, under load",
        gained("profil_ticks_seen_total"),
        gained("profil_ticks_due_total"),
        0.25,
    );
    daemon.end();
}
