//! From options to a clock that is attached to whom they name.

use std::fs;

use profil_common::{Fork, Region, Settings, Wanted};
use tokio::sync::watch;

use super::{
    Session,
    follow::Family,
    looks::Looks,
    meter::Meter,
    start::{Started, raise_descriptor_limit, start_clock},
    watched::Watched,
};
use crate::{
    drain::Drain,
    error::StartError,
    headway::Headway,
    kernel::{Follows, LoadError, LoadPlan, PidNamespace, SideBand, WarmUp},
    options::{ClockScope, Options, Split, Target},
    preflight::{check_privileges, check_rate},
    profile::{Note, Subject},
    target::{
        self, Cgroup, Explicit, ImageWatch, Layout, Ledger, Mapping, Objects, Plan, Process,
        Selection, kernel_text,
    },
};

/// Memory for bins of what is mapped while we run: a part of what is in use, and no less.
const SPARE_PART: u64 = 4;
const LEAST_SPARE_BYTES: u64 = 4 << 20;

/// Memory for bins of a command, whose text is not known before it runs.
const COMMAND_SPARE_BYTES: u64 = 32 << 20;

/// Whom the options name, as far as they can be found.
#[derive(Default)]
struct Found {
    processes: Vec<Process>,
    cgroup: Option<Cgroup>,
}

impl Found {
    fn find(target: &Target, wanted: Wanted) -> Result<Self, StartError> {
        let find = match wanted {
            Wanted::Kernel | Wanted::Split => Process::find_or_kernel_thread,
            Wanted::Both | Wanted::User | Wanted::System => Process::find,
        };
        let mut found = Self::default();
        match target {
            Target::Processes(tgids) => {
                for &tgid in tgids {
                    found.processes.push(find(tgid)?);
                }
            }
            Target::Command(tgid) => found.processes.push(Process::find(*tgid)?),
            Target::Thread(tid) => found.processes.push(Process::of_thread(*tid)?),
            Target::Cgroup(path) => found.cgroup = Some(Cgroup::find(path.as_os_str())?),
            Target::Matching(_) | Target::Everything => {}
        }
        Ok(found)
    }

    fn tgids(&self) -> Vec<u32> {
        let processes = self.processes.iter();
        processes.map(|process| process.tgid().get()).collect()
    }

    fn subject(&self, target: &Target) -> Subject {
        let name = || {
            let first = self.processes.first();
            first.map_or_else(String::new, |process| process.name().to_owned())
        };
        match target {
            Target::Processes(_) => Subject::Processes(
                self.processes
                    .iter()
                    .map(|process| (process.tgid(), process.name().to_owned()))
                    .collect(),
            ),
            Target::Command(tgid) => Subject::Command(*tgid, name()),
            Target::Thread(tid) => Subject::Thread(
                *tid,
                fs::read_to_string(format!("/proc/{tid}/comm"))
                    .map_or_else(|_| name(), |name| name.trim_end().to_owned()),
            ),
            Target::Cgroup(path) => Subject::Cgroup(
                self.cgroup
                    .as_ref()
                    .map_or_else(|| path.clone(), |cgroup| cgroup.path().to_owned()),
            ),
            Target::Matching(selector) => Subject::Matching(selector.clone()),
            Target::Everything => Subject::Everything,
        }
    }
}

impl Session {
    /// Finds the target, lays out its regions, loads the kernel half and attaches the clock to
    /// every thread.
    ///
    /// # Errors
    ///
    /// If privileges are missing, the target cannot be profiled, or the kernel refuses.
    pub fn attach(options: &Options) -> Result<Self, StartError> {
        Self::attach_with(options, &Headway::default())
    }

    /// The same, and tells how far it has come, in threads of the target.
    ///
    /// # Errors
    ///
    /// As for [`Session::attach`].
    pub fn attach_with(options: &Options, headway: &Headway) -> Result<Self, StartError> {
        // What is wrong for everybody comes before what is wrong for this user.
        check_rate(options.rate)?;
        raise_descriptor_limit();
        let namespace = PidNamespace::own().map_err(StartError::PidNamespace)?;
        let mut found = Found::find(&options.target, options.mode)?;
        check_privileges()?;
        let _until_attached = WarmUp::begin(options.rate);

        let mut notes = Vec::new();
        // Before anything is looked at: what changes after the look is written down.
        let mut side_band = match SideBand::open() {
            Ok(side_band) => Some(side_band),
            Err(error) => {
                notes.push(Note::NoSideBand {
                    reason: chain(&error),
                });
                None
            }
        };
        let mut objects = Objects::default();
        let mut looks = Looks::new(options.split == Split::ByThread);
        let tgids = found.tgids();
        let is_command = matches!(options.target, Target::Command(_));
        let mut images = Vec::new();
        let mut mapped = Vec::new();
        for &tgid in &tgids {
            let image = ImageWatch::new(tgid);
            // What a command has before it runs is ours.
            if !is_command {
                let mappings = target::read_mappings(tgid).unwrap_or_else(|error| {
                    notes.push(Note::NoMappings {
                        reason: error.to_string(),
                    });
                    Vec::new()
                });
                looks.look(tgid, mappings.clone(), &mut objects);
                mapped.push((tgid, mappings, image.executable()));
            }
            images.push((tgid, image));
        }
        let everybody = tgids.is_empty();
        if everybody {
            looks.look_at_everybody(&mut objects);
        }

        let (layout, dense) = lay_out(options, &mapped, &tgids, &mut objects, &mut notes)?;
        let rules = layout.dialect().rules();
        let follows = options.follow && rules.fork == Fork::Continues;
        let only = match &tgids[..] {
            [tgid] if !follows && !is_command => *tgid,
            _ => 0,
        };
        let plan = LoadPlan {
            settings: Settings {
                pid_namespace_device: namespace.device,
                pid_namespace_inode: namespace.inode,
                only_tgid: only,
                bins: layout.bins(),
                charge: 0,
                dialect: layout.dialect() as u32,
                task_shift: match options.split {
                    Split::ByThread => Settings::BY_THREAD,
                    Split::Summed | Split::ByProcess => Settings::BY_PROCESS,
                },
                unused: 0,
            },
            wanted: options.mode,
            regions: layout.regions(),
            room: if dense.is_empty() {
                0
            } else {
                profil_common::limits::MAX_REGIONS as usize
            },
            strays: options.strays,
            log: options.kernel_log,
        };
        let subject = found.subject(&options.target);
        let cgroup = found.cgroup.take().map(Cgroup::into_dir);
        let mut started = start_clock(options, &plan, &tgids, cgroup.as_ref(), headway);
        // Before Linux 5.11 its rings count against the limit of locked memory, as maps do; and maps
        // come first.
        if let Err(StartError::Load(
            LoadError::Map(_) | LoadError::Memlock { .. } | LoadError::Lacks(_),
        )) = &started
            && side_band.take().is_some()
        {
            started = start_clock(options, &plan, &tgids, cgroup.as_ref(), headway);
            notes.push(Note::NoSideBand {
                reason: "its memory is more than RLIMIT_MEMLOCK allows".to_owned(),
            });
        }
        let Started {
            mut kernel,
            clock,
            picks,
        } = started?;
        if clock.follows() == Follows::Cpus
            && options.clock == ClockScope::Task
            && !options.target.is_whole_machine()
        {
            notes.push(Note::CpuClock);
        }
        let selection = match &options.target {
            Target::Matching(selector) => Selection::new(selector)?,
            _ if follows && clock.follows() == Follows::Tasks => Selection::default(),
            _ => Selection::of(&tgids),
        };
        let mut ledger = Ledger::new(options.split, selection);
        for process in &found.processes {
            ledger.add_target(process.tgid().get(), process.name());
        }
        let drain = Drain::new(kernel.take_counters()?);
        Ok(Self {
            subject,
            family: if everybody {
                Family::everybody()
            } else {
                Family::of(tgids)
            },
            watched: Watched::new(found.processes),
            thread: match options.target {
                Target::Thread(tid) => Some(tid),
                _ => None,
            },
            commanded: false,
            dense,
            side_band,
            images,
            looks,
            objects,
            layout,
            drawn: true,
            ledger,
            kernel,
            drain,
            clock,
            picks,
            rate: options.rate,
            jitter: options.jitter,
            drain_interval: options.drain_interval,
            looked_ns: 0,
            taken_ns: 0,
            notes,
            meter: Meter::default(),
            ended: false,
            paused: watch::Sender::new(false),
            snapshots: watch::Sender::new(None),
        })
    }
}

/// Draws the regions, and names the processes whose mappings they follow.
fn lay_out(
    options: &Options,
    mapped: &[(u32, Vec<Mapping>, Option<u64>)],
    tgids: &[u32],
    objects: &mut Objects,
    notes: &mut Vec<Note>,
) -> Result<(Plan, Vec<u32>), StartError> {
    let budget = options.bins_bytes;
    if !options.regions.is_empty() {
        let Some((tgid, mappings, executable)) = mapped.first() else {
            return Err(StartError::RegionsOfMany);
        };
        if mapped.len() > 1 {
            return Err(StartError::RegionsOfMany);
        }
        let explicit = Explicit::plan(
            *tgid,
            (mappings, *executable),
            (&options.regions, options.dialect),
            budget,
            objects,
        )?;
        return Ok((Plan::Asked(explicit), Vec::new()));
    }
    let nothing = Vec::new();
    // A region tells processes apart, but not threads; and the kernel's is one for all.
    if options.mode == Wanted::Kernel {
        let kernel = match kernel_text() {
            Ok(text) if options.split == Split::Summed => vec![text],
            Ok(_) => Vec::new(),
            Err(reason) => {
                notes.push(Note::NoKernelSymbols { reason });
                Vec::new()
            }
        };
        let layout = Layout::plan(Region::OF_KERNEL, &kernel, None, budget, objects)?;
        return Ok((Plan::Mappings(layout), nothing));
    }
    if options.mode == Wanted::Split
        && let Err(reason) = kernel_text()
    {
        notes.push(Note::NoKernelSymbols { reason });
    }
    if tgids.is_empty() || options.split == Split::ByThread {
        return Ok((Plan::Mappings(Layout::default()), nothing));
    }
    let processes: Vec<_> = mapped
        .iter()
        .map(|(tgid, mappings, executable)| (*tgid, &mappings[..], *executable))
        .collect();
    let mut layout = Layout::plan_all(&processes, budget, objects)?;
    let used = u64::from(layout.bins()) * target::BYTES_PER_BIN;
    let wanted = if mapped.is_empty() {
        COMMAND_SPARE_BYTES
    } else {
        (used / SPARE_PART).max(LEAST_SPARE_BYTES)
    };
    layout.keep_spare(wanted.min(budget.saturating_sub(used)));
    Ok((Plan::Mappings(layout), tgids.to_vec()))
}

/// An error and what it follows from, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}
