//! Always on: attach → increments, without an end.
//!
//! A session keeps everything that it has seen; a watch hands it on, and keeps what fits.

mod cgroups;
mod increment;
mod pulse;
mod start;

use std::time::{Duration, Instant, SystemTime};

use profil_common::StrayKey;

use crate::{
    error::RunError,
    kernel::{Clock, Counters, Event, Pins, SideBand, Strays},
    options::Split,
    session::{Looks, Ticks, is_somebody, merge, news, now_ns, ticks_under_way_are_done},
    target::{self, Known, Ledger, Objects, Selection},
};
use cgroups::Cgroups;
pub(crate) use increment::{Account, Doer, Increment};
use pulse::Pulse;
pub(crate) use start::WatchOptions;

/// How soon the side-band is read again: on a machine that starts programs all day we would be woken
/// all the time.
const PATIENCE: Duration = Duration::from_millis(50);

/// Objects that are known at a time. What has more is looked at anew, now and then: most of them have gone.
const MANY_OBJECTS: usize = 4096;
const NOW_AND_THEN: Duration = Duration::from_secs(60);

/// Objects after which it is looked at anew at once.
const TOO_MANY_OBJECTS: usize = 1 << 16;

/// All processes of the machine, counted, for as long as anybody takes what was counted.
pub(crate) struct Watch {
    ticking: Ticking,
    counters: Counters,
    pulse: Pulse,
    side_band: Option<SideBand>,
    looks: Looks,
    objects: Objects,
    cgroups: Cgroups,
    /// Objects are numbered anew in each.
    generation: u64,
    renewed: Instant,
    /// Objects that were known after that.
    found: usize,
    /// Objects that were handed on already.
    told: usize,
    /// When it was last looked who has gone without a word.
    swept: Instant,
    /// What was handed on and is still in the table.
    pending: Strays,
    taken_ns: u64,
    turned: SystemTime,
    /// Of the clocks of a CPU together.
    period_ns: u64,
    kernel_bytes: u64,
    /// Whether the counters were there before us, and who they are.
    adopted: bool,
    instance: u64,
    lost: u64,
}

/// What ticks.
enum Ticking {
    /// Ours, and off when we end. The events hold the program, and that its maps.
    Held(Clock),
    /// What outlives us.
    Pinned(Pins),
}

impl Watch {
    /// CPU time that a tick is worth, in nanoseconds.
    pub(crate) const fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Kernel memory of the maps, in bytes.
    pub(crate) const fn kernel_bytes(&self) -> u64 {
        self.kernel_bytes
    }

    /// Whether the counters were there before us; and a number that no others have.
    pub(crate) const fn instance(&self) -> (bool, u64) {
        (self.adopted, self.instance)
    }

    /// Removes, unread, what whoever was here before had written down, up to a half, and not yet removed.
    pub(crate) fn discard(&mut self, last: u16) -> Result<(), RunError> {
        let (mut strays, written) = self.counters.settled_strays()?;
        strays.retain(|(key, _): &(StrayKey, _)| is_kept(key.half, last, written));
        Ok(self.counters.remove_strays(&strays)?)
    }

    /// Waits until there is something to be written down of processes, and writes it down.
    pub(crate) async fn follow(&mut self) -> Result<(), RunError> {
        news(&mut self.side_band).await.map_err(RunError::Wait)?;
        self.take_news();
        tokio::time::sleep(PATIENCE).await;
        Ok(())
    }

    /// CPUs come and go.
    pub(crate) fn follow_cpus(&mut self) -> Result<(), RunError> {
        match &mut self.ticking {
            Ticking::Held(clock) => clock.follow_cpus()?,
            Ticking::Pinned(pins) => pins.follow_cpus()?,
        }
        if let Some(side_band) = &mut self.side_band
            && let Err(error) = side_band.follow_cpus()
        {
            log::warn!("{error}");
        }
        for cpu in self.silent()? {
            log::warn!("the clock of CPU {cpu} stood still, and was made anew");
            match &mut self.ticking {
                Ticking::Held(clock) => clock.renew_cpu(cpu)?,
                Ticking::Pinned(pins) => pins.renew_cpu(cpu)?,
            }
            // It went away together with the clock.
            if let Some(side_band) = &mut self.side_band
                && let Err(error) = side_band.renew_cpu(cpu)
            {
                log::warn!("{error}");
            }
        }
        Ok(())
    }

    /// CPUs that went and came again while nobody looked.
    fn silent(&mut self) -> Result<Vec<u32>, RunError> {
        let online = target::busy_ns_by_cpu();
        Ok(self.pulse.silent(&online, &self.counters.runs()?))
    }

    /// Everything that has ticked since the last call. It stays in the kernel until [`Watch::settle`].
    pub(crate) async fn turn(&mut self) -> Result<Increment, RunError> {
        self.settle()?;
        self.counters.turn_strays()?;
        ticks_under_way_are_done().await;
        self.increment()
    }

    /// What was handed on is safe, and can be removed.
    pub(crate) fn settle(&mut self) -> Result<(), RunError> {
        self.counters.remove_strays(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    /// Switches the clock off, unless it is to outlive us, and returns the last increment.
    pub(crate) async fn end(&mut self) -> Result<Increment, RunError> {
        if let Ticking::Held(clock) = &mut self.ticking {
            clock.disable()?;
        }
        self.turn().await
    }

    fn take_news(&mut self) {
        let Some(side_band) = &mut self.side_band else {
            return;
        };
        for record in side_band.read() {
            if !is_somebody(record.tgid) {
                continue;
            }
            if let Event::Started { parent_tgid, .. } = record.event {
                self.cgroups.started(record.tgid, parent_tgid);
            }
            self.looks.note(record, &mut self.objects);
        }
        self.lost = side_band.lost();
    }

    fn increment(&mut self) -> Result<Increment, RunError> {
        let (tally, (strays, written)) = (self.counters.tally()?, self.counters.settled_strays()?);
        self.take_news();
        let mut ledger = Ledger::new(Split::ByProcess, Selection::default());
        let now = now_ns();
        let mut known = Known {
            history: &mut self.looks.history,
            threads: &self.looks.threads,
            objects: &mut self.objects,
        };
        ledger.enter(&strays, now, &mut known);
        let ticks = ledger.lines().map(|(line, ticks)| -> Ticks {
            let home = (line.object, line.address);
            (line.task, home, line.mode, ticks)
        });
        let counts = merge(ticks);
        let doers = self.doers(&ledger);
        let objects = self.objects.list()[self.told..].iter().cloned();
        let files = self.objects.files()[self.told..].iter().cloned();
        let new_objects = objects.zip(files).collect();
        self.told = self.objects.list().len();
        let account = Account {
            tally,
            ticks: ledger.total(),
            fill: self.counters.stray_fill(),
            entries: strays.len(),
            busy_ns: target::busy_ns(),
            side_band_lost: self.lost,
            half: written.wrapping_sub(1),
        };
        let began = std::mem::replace(&mut self.turned, SystemTime::now());
        let increment = Increment {
            generation: self.generation,
            began,
            elapsed: self.turned.duration_since(began).unwrap_or_default(),
            new_objects,
            counts: counts
                .into_iter()
                .filter_map(|(task, count)| Some((task.index()?, count)))
                .collect(),
            doers,
            account,
        };
        self.pending = strays;
        // Of what was over at the last turn, nothing is left in the table.
        self.looks.history.forget(self.taken_ns);
        self.taken_ns = now;
        self.cgroups.turned();
        self.sweep();
        self.renew();
        Ok(increment)
    }

    /// Whose ticks they are, in the order of their numbers.
    fn doers(&mut self, ledger: &Ledger) -> Vec<Doer> {
        let tasks = ledger.tasks().iter();
        let doers = tasks.map(|task| Doer {
            tgid: task.tgid,
            name: task.name.as_str().into(),
            cgroup: self.cgroups.of(task.tgid),
        });
        doers.collect()
    }

    /// What the kernel had no room to tell, or where it tells nothing, is looked at now and then: processes come
    /// and go for months.
    fn sweep(&mut self) {
        if self.swept.elapsed() > NOW_AND_THEN {
            self.looks.history.sweep(now_ns(), target::is_there);
            self.swept = Instant::now();
        }
    }

    /// Looks at everything anew where too much is known that has gone.
    fn renew(&mut self) {
        let known = self.objects.list().len();
        if !is_much_gone(known, self.found, self.renewed.elapsed()) {
            return;
        }
        self.looks = Looks::new(false);
        self.objects = Objects::default();
        self.looks.look_at_everybody(&mut self.objects);
        self.generation += 1;
        self.told = 0;
        self.renewed = Instant::now();
        self.found = self.objects.list().len();
    }
}

/// Whether most of the objects that are known may have gone, of which so many were found to be there some time
/// ago: where they are there still, another look finds as many again.
fn is_much_gone(known: usize, found: usize, ago: Duration) -> bool {
    let is_more = |than: usize| known > than.max(found.saturating_mul(2));
    is_more(TOO_MANY_OBJECTS) || (is_more(MANY_OBJECTS) && ago > NOW_AND_THEN)
}

/// Whether what is in a half of the table was written down by who wrote down all up to the half `last`, while
/// now another one is written. A turn takes in all that it finds: where somebody was killed between a turn and its
/// end, the next one wrote down two halves together.
fn is_kept(half: u16, last: u16, written: u16) -> bool {
    // Numbers go around: how many turns ago a half was written tells what came before what.
    let turns_since = |half: u16| written.wrapping_sub(half).wrapping_sub(1);
    half != written && turns_since(half) >= turns_since(last)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MANY_OBJECTS, NOW_AND_THEN, TOO_MANY_OBJECTS, is_kept, is_much_gone};

    #[test]
    fn what_is_there_is_not_looked_at_again_and_again() {
        const LATER: Duration = Duration::from_secs(61);
        assert!(LATER > NOW_AND_THEN);
        assert!(!is_much_gone(MANY_OBJECTS, 100, LATER));
        assert!(is_much_gone(MANY_OBJECTS + 1, 100, LATER));
        assert!(!is_much_gone(MANY_OBJECTS + 1, 100, NOW_AND_THEN));
        assert!(is_much_gone(TOO_MANY_OBJECTS + 1, 100, Duration::ZERO));
        // All of these are there.
        for there in [MANY_OBJECTS + 1, TOO_MANY_OBJECTS + 1] {
            assert!(!is_much_gone(there, there, LATER));
            assert!(!is_much_gone(2 * there, there, LATER));
            assert!(is_much_gone(2 * there + 1, there, LATER));
        }
    }

    #[test]
    fn all_halves_up_to_the_last_that_was_kept_are_kept() {
        // Also where their numbers go around.
        for written in [0, 1, 2, 3, 500, u16::MAX] {
            let ago = |turns: u16| written.wrapping_sub(turns);
            for last in 1..4 {
                for half in 0..6 {
                    let expected = half >= last;
                    assert_eq!(is_kept(ago(half), ago(last), written), expected);
                }
            }
            // Nobody has written down what is still written; then, nothing is known of the others.
            for half in 0..6 {
                assert!(!is_kept(ago(half), written, written));
            }
        }
    }
}
