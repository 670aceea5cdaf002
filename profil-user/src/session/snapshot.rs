//! What a session has so far, as plain values.

use std::time::Instant;

use profil_common::{Mode, Outcome};

use super::{
    Session, Taken, UNSEEN_SLACK_NS,
    ticks::{self, total},
};
use crate::{
    error::RunError,
    kernel::Follows,
    profile::{Balance, Count, Note, ObjectId, Profile, TaskId},
};

impl Session {
    pub(super) fn taken(&self) -> Result<Taken, RunError> {
        Ok(Taken {
            profile: self.profile()?,
            paused: !self.meter.is_running(),
            files: self.objects.files().to_vec(),
        })
    }

    /// The profile as of the last drain.
    fn profile(&self) -> Result<Profile, RunError> {
        let batch = self.drain.last();
        let elapsed = self.clock.elapsed()?;
        // A clock that follows CPUs measures idle time as well, in which it may tick or not.
        let on_cpus = self.clock.follows() == Follows::Cpus;
        let due_ns = if on_cpus {
            self.meter.used_ns()
        } else {
            elapsed.ns
        };
        // What the clocks of a jittered one really were, and how long each of them rested.
        let period_ns = if elapsed.ticks > 0.0 {
            elapsed.ns as f64 / elapsed.ticks
        } else {
            self.rate.period_ns() as f64
        };
        let balance = Balance {
            tally: batch.tally,
            binned: total(&batch.bins),
            strays: self.ledger.total(),
            unwanted: self.ledger.unwanted(),
            stray_fill: self.drain.stray_fill(),
            due_ns,
            others_are_due: !on_cpus,
            period_ns,
            kernel_bytes: self.kernel.memory(),
        };
        let (counts, by_task) = self.counts();
        Ok(Profile {
            subject: self.subject.clone(),
            rate: self.rate.with_period(period_ns),
            elapsed: self.meter.elapsed(Instant::now()),
            objects: self.objects.list().to_vec(),
            counts,
            tasks: self.ledger.tasks().to_vec(),
            by_task,
            notes: self.notes(&balance),
            balance,
            buffers: self.layout.buffers(&batch.bins),
        })
    }

    /// What the reader of the numbers should know.
    fn notes(&self, balance: &Balance) -> Vec<Note> {
        let mut notes = self.notes.clone();
        if self.jitter {
            notes.push(Note::Jittered { asked: self.rate });
        }
        notes.extend_from_slice(self.layout.notes());
        notes.extend(self.objects.notes());
        let lost = self.side_band.as_ref().map_or(0, |band| band.lost());
        if lost > 0 {
            notes.push(Note::SideBandLost { records: lost });
        }
        if self.ledger.own_ticks() > 0 {
            notes.push(Note::OwnCost {
                ticks: self.ledger.own_ticks(),
            });
        }
        if !self.watched.is_empty() {
            let (ticks, processes) = self.ledger.others_than(&self.watched.tgids());
            if processes > 0 {
                notes.push(Note::Children { ticks, processes });
            }
            // A thread alone is not all of its process.
            let used_ns = self.meter.used_ns();
            let due_ns = balance.due_ns;
            if self.thread.is_none() && used_ns > due_ns + due_ns / 10 + UNSEEN_SLACK_NS {
                notes.push(Note::Unseen {
                    used_ns: used_ns - due_ns,
                });
            }
        }
        let foreign = balance.of(Outcome::NoTgid);
        if foreign > 0 {
            notes.push(Note::OtherNamespace { ticks: foreign });
        }
        if balance.is_short() {
            match self.clock.follows() {
                Follows::Tasks => notes.push(Note::ShortOfTaskTicks),
                // It meets the target by chance, so that few ticks say less than of one that
                // goes with the target.
                Follows::Cpus | Follows::Cgroup if balance.is_chance() => {}
                Follows::Cpus | Follows::Cgroup => notes.push(Note::OffCpuTicks),
            }
        }
        notes
    }

    /// Every tick with an address, by object and link-time address; and by task as well, if that is
    /// asked for.
    fn counts(&self) -> (Vec<Count>, Vec<(TaskId, Count)>) {
        let planes = self.layout.bins();
        let bins = self.drain.last().bins.iter().filter_map(|&(index, ticks)| {
            let (bin, mode) = match index.checked_sub(planes) {
                None => (index, Mode::User),
                Some(bin) => (bin, Mode::System),
            };
            let home = self.layout.address_of(bin, &self.objects)?;
            let task = self
                .layout
                .tgid_of(bin)
                .map_or(TaskId::ALL, |tgid| self.ledger.task_of_target(tgid));
            Some((task, home, mode, ticks))
        });
        let strays = self.ledger.lines().map(|(line, ticks)| {
            let home: (ObjectId, u64) = (line.object, line.address);
            (line.task, home, line.mode, ticks)
        });
        let all: Vec<_> = bins.chain(strays).collect();
        let summed = all
            .iter()
            .map(|&(_, home, mode, ticks)| (TaskId::ALL, home, mode, ticks));
        let counts = ticks::merge(summed)
            .into_iter()
            .map(|(_, count)| count)
            .collect();
        let by_task = if self.ledger.tasks().is_empty() {
            Vec::new()
        } else {
            ticks::merge(all.into_iter())
        };
        (counts, by_task)
    }
}
