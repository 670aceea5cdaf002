//! From what was taken to a file of record: names are looked up apart, so that the session goes on meanwhile.

use std::{
    sync::{Arc, mpsc},
    thread,
};

use tokio::sync::oneshot;

use super::{Answer, Refusal};
use crate::{
    options::Rate,
    pprof::{self, Packing, Record},
    session::Taken,
    symbolize::Symbolizer,
};

/// A profile that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// `profile.proto`, compressed by gzip.
    pub(crate) bytes: Vec<u8>,
    /// What the rate was on average.
    pub(crate) rate: Rate,
    /// Ticks in it.
    pub(crate) ticks: u64,
}

/// What is to be written for whom.
pub(super) struct Job {
    pub(super) since: Option<Arc<Taken>>,
    pub(super) until: Arc<Taken>,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// A thread with a symbolizer. It ends with whoever has it, once all jobs are done.
pub(super) struct Answerer(mpsc::Sender<Job>);

impl Answerer {
    pub(super) fn start() -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("profil-answer".to_owned())
            .spawn(move || {
                let mut symbolizer = Symbolizer::new();
                for job in queue {
                    let packed = pack(job.since.as_deref(), &job.until, &mut symbolizer);
                    let _ = job.answer.send(packed);
                }
            })?;
        Ok(Self(jobs))
    }

    pub(super) fn answer(&self, job: Job) {
        // If the thread is gone, nobody answers, and who asked is told.
        let _ = self.0.send(job);
    }
}

fn pack(since: Option<&Taken>, until: &Taken, symbolizer: &mut Symbolizer) -> Answer {
    symbolizer.look_up(until);
    let taken = match since {
        Some(since) => &until.since(since),
        None => until,
    };
    let record = Record::of(taken, symbolizer);
    let mut bytes = Vec::new();
    pprof::write(&taken.profile, &record, Packing::Gzip, &mut bytes)
        .map_err(|error| Refusal::Failed(format!("cannot write the profile: {error}")))?;
    Ok(Packed {
        bytes,
        rate: taken.profile.rate,
        ticks: taken.profile.ticks(),
    })
}
