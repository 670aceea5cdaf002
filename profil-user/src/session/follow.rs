//! Following what processes do: by the kernel's side-band, or by looking.

use std::{collections::HashSet, time::Duration};

use profil_common::Exec;

use super::{
    Session,
    looks::{self, Change},
    now_ns,
};
use crate::{
    error::RunError,
    kernel::{Event, Record, wait_for_ticks_under_way},
    profile::{Note, ObjectId, Subject},
    target::{self, Mapping},
};

impl Session {
    /// Reads what the kernel wrote down, and does what follows from it. Whether any of it was about
    /// processes with regions, or that they started.
    pub(super) fn follow(&mut self) -> Result<bool, RunError> {
        let Some(side_band) = &mut self.side_band else {
            return Ok(false);
        };
        let records = side_band.read();
        let mut ours = false;
        for record in records {
            ours |= self.obey(record)?;
        }
        self.redraw()?;
        let urgent = !self.dense.is_empty() || self.layout.is_asked();
        Ok(ours && urgent)
    }

    fn obey(&mut self, record: Record) -> Result<bool, RunError> {
        if let Event::Lost { .. } = record.event {
            self.relearn()?;
            return Ok(false);
        }
        let Record {
            time_ns: time,
            tgid,
            ..
        } = record;
        if let Event::Started { parent_tgid, .. } = record.event
            && self.family.contains(parent_tgid)
        {
            self.family.add(tgid);
        }
        if !looks::is_somebody(tgid) || !self.family.contains(tgid) {
            return Ok(false);
        }
        match self.looks.note(record, &mut self.objects) {
            Some(Change::Exec) => self.exec(tgid, time)?,
            Some(Change::Mapped(mapping, object)) => self.mapped(tgid, time, &mapping, object)?,
            None => {}
        }
        Ok(true)
    }

    /// Whether regions follow the mappings of a process.
    fn has_regions(&self, tgid: u32) -> bool {
        self.dense.contains(&tgid)
    }

    fn mapped(
        &mut self,
        tgid: u32,
        time: u64,
        mapping: &Mapping,
        object: ObjectId,
    ) -> Result<(), RunError> {
        if matches!(self.subject, Subject::Command(command, _) if command.get() == tgid)
            && self
                .looks
                .history
                .life(tgid, time)
                .and_then(|life| life.executable(time))
                == Some(object)
        {
            self.objects.get_mut(object).is_main = true;
        }
        if !self.has_regions(tgid) {
            return Ok(());
        }
        let Some(layout) = self.layout.layout_mut() else {
            return Ok(());
        };
        if layout.shows(tgid, mapping) {
            return Ok(());
        }
        // The kernel does not say what is unmapped; but what is mapped there now is something else.
        let gone = layout.retire_under(tgid, mapping.start, mapping.end);
        let uncertain = Duration::from_nanos(now_ns().saturating_sub(time));
        self.retire(&gone, uncertain)?;
        if let Some(layout) = self.layout.layout_mut()
            && layout.grow(tgid, mapping, object, &mut self.objects)
        {
            self.drawn = false;
        }
        Ok(())
    }

    /// Gives the kernel half the regions that are new.
    fn redraw(&mut self) -> Result<(), RunError> {
        if !self.drawn {
            // A tick may still look through the table that is now written.
            if wait_for_ticks_under_way().is_err() {
                std::thread::sleep(super::GRACE);
            }
            self.kernel.draw_regions(self.layout.regions())?;
            self.drawn = true;
        }
        Ok(())
    }

    fn retire(&mut self, gone: &[(usize, ObjectId)], uncertain: Duration) -> Result<(), RunError> {
        let indices: Vec<_> = gone.iter().map(|&(index, _)| index).collect();
        if !indices.is_empty() {
            // Their places are those of the table that was drawn last.
            self.redraw()?;
            self.kernel.retire_regions(&indices)?;
        }
        for &(_, object) in gone {
            let known = self.notes.iter_mut().find_map(|note| match note {
                Note::Unmapped {
                    object: other,
                    uncertain,
                } if *other == object => Some(uncertain),
                _ => None,
            });
            match known {
                Some(known) => *known = (*known).max(uncertain),
                None => self.notes.push(Note::Unmapped { object, uncertain }),
            }
        }
        Ok(())
    }

    /// A target has run another program since `time`: its regions mean nothing any more. Ticks go on
    /// in the regions of the new one, or as strays.
    fn exec(&mut self, tgid: u32, time: u64) -> Result<(), RunError> {
        if !self.has_regions(tgid) && !self.asked_of(tgid) {
            return Ok(());
        }
        let dialect = self.layout.dialect();
        if dialect.rules().exec != Exec::Follows {
            self.ended = true;
            self.notes.push(Note::EndedByExec { dialect });
            return Ok(());
        }
        let gone = self.layout.retire_missing(tgid, &[]);
        let indices: Vec<_> = gone.into_iter().map(|(index, _)| index).collect();
        if !indices.is_empty() {
            self.redraw()?;
            self.kernel.retire_regions(&indices)?;
        }
        // A command is one from its first instruction on: there was nothing before.
        if let (Subject::Command(_, name), false) = (&mut self.subject, self.commanded) {
            self.commanded = true;
            if let Some(life) = self.looks.history.life(tgid, time)
                && let Some(called) = life.name(time)
            {
                *name = called.to_string();
                self.ledger.rename_target(tgid, called);
            }
            return Ok(());
        }
        let uncertain = Duration::from_nanos(now_ns().saturating_sub(time));
        let known = self.notes.iter_mut().find_map(|note| match note {
            Note::Exec { uncertain } => Some(uncertain),
            _ => None,
        });
        match known {
            Some(known) => *known = (*known).max(uncertain),
            None => self.notes.push(Note::Exec { uncertain }),
        }
        Ok(())
    }

    /// Whether regions of this process were asked for.
    fn asked_of(&self, tgid: u32) -> bool {
        self.layout.is_asked() && self.watched.only() == Some(tgid)
    }

    /// Looks at mappings where the kernel could not write down all of their changes.
    fn relearn(&mut self) -> Result<(), RunError> {
        for tgid in self.watched.tgids() {
            self.look_at(tgid)?;
        }
        Ok(())
    }

    /// Looks at the mappings of a target: what is not there any more has no region, and what is new
    /// is known since the last look.
    pub(super) fn look_at(&mut self, tgid: u32) -> Result<(), RunError> {
        let now = now_ns();
        if let Ok(today) = target::read_mappings(tgid)
            && !today.is_empty()
        {
            let gone = self.layout.retire_missing(tgid, &today);
            self.retire(&gone, self.drain_interval)?;
            let since = self.looked_ns;
            self.looks
                .history
                .observed(tgid, (since, now), today, &mut self.objects);
        }
        Ok(())
    }

    /// Notices what the side-band would have told, where there is none.
    pub(super) fn glance(&mut self) -> Result<(), RunError> {
        if self.side_band.is_some() || self.ended {
            return Ok(());
        }
        let now = now_ns();
        let mut changed = Vec::new();
        for (tgid, image) in &mut self.images {
            if image.changed() {
                changed.push(*tgid);
            }
        }
        for tgid in changed {
            let since = now.saturating_sub(super::GLANCE_INTERVAL.as_nanos() as u64);
            self.looks.history.exec(tgid, since);
            self.exec(tgid, since)?;
            // Now, and not only at the next drain: the new program may not live until then.
            self.looked_ns = since;
            self.look_at(tgid)?;
        }
        Ok(())
    }
}

/// Whose records are wanted.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// `None` is everybody.
    members: Option<HashSet<u32>>,
}

impl Family {
    /// These processes and all that they start.
    pub(super) fn of(tgids: Vec<u32>) -> Self {
        Self {
            members: Some(tgids.into_iter().collect()),
        }
    }

    /// All processes.
    pub(super) const fn everybody() -> Self {
        Self { members: None }
    }

    fn contains(&self, tgid: u32) -> bool {
        self.members
            .as_ref()
            .is_none_or(|members| members.contains(&tgid))
    }

    fn add(&mut self, tgid: u32) {
        if let Some(members) = &mut self.members {
            members.insert(tgid);
        }
    }
}
