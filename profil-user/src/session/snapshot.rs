//! What a session has so far, as plain values.

use std::time::Instant;

use profil_common::{Mode, Outcome};

use super::{
    Session, Taken, UNSEEN_SLACK_NS,
    ticks::{children, merge, total},
};
use crate::{
    drain::Batch,
    error::RunError,
    kernel::Follows,
    profile::{Balance, Count, Note, Profile},
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
        let due_ns = match self.clock.follows() {
            Follows::Tasks => elapsed.ns,
            Follows::Cpus => self.meter.used_ns(),
        };
        // What the clocks of a jittered one really were, and how long each of them rested.
        let period_ns = if elapsed.ticks > 0.0 {
            elapsed.ns as f64 / elapsed.ticks
        } else {
            self.rate.period_ns() as f64
        };
        let rate = self.rate.with_period(period_ns);
        let mut notes = self.notes.clone();
        if self.jitter {
            notes.push(Note::Jittered { asked: self.rate });
        }
        notes.extend_from_slice(self.layout.notes());
        notes.extend(self.objects.notes());
        notes.extend(children(self.process.tgid(), &batch.strays));
        let balance = Balance {
            tally: batch.tally,
            binned: total(&batch.bins),
            strays: total(&batch.strays),
            due_ns,
            others_are_due: self.clock.follows() == Follows::Tasks,
            period_ns,
            kernel_bytes: self.kernel.memory(),
        };
        let used_ns = self.meter.used_ns();
        if used_ns > due_ns + due_ns / 10 + UNSEEN_SLACK_NS {
            notes.push(Note::Unseen {
                used_ns: used_ns - due_ns,
            });
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
                Follows::Cpus if balance.is_chance() => {}
                Follows::Cpus => notes.push(Note::OffCpuTicks),
            }
        }
        Ok(Profile {
            target: self.process.tgid(),
            target_name: self.process.name().to_owned(),
            rate,
            elapsed: self.meter.elapsed(Instant::now()),
            objects: self.objects.list().to_vec(),
            counts: self.counts(batch),
            balance,
            buffers: self.layout.buffers(&batch.bins),
            notes,
        })
    }

    /// Every tick with an address, by object and link-time address.
    fn counts(&self, batch: &Batch) -> Vec<Count> {
        let planes = self.layout.bins();
        let bins = batch.bins.iter().filter_map(|&(index, ticks)| {
            let (bin, mode) = match index.checked_sub(planes) {
                None => (index, Mode::User),
                Some(bin) => (bin, Mode::System),
            };
            Some((self.layout.address_of(bin, &self.objects)?, mode, ticks))
        });
        let strays = self
            .strays
            .ticks()
            .filter_map(|(home, mode, ticks)| Some((home, Mode::from_number(mode)?, ticks)));
        merge(bins.chain(strays))
    }
}
