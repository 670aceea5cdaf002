//! The flat profile for people: one line a function, then the balance.

use std::{
    io::{self, Write},
    time::Duration,
};

use profil_common::Outcome;

use super::{
    escape::printable,
    page::{Page, Part},
    style::Style,
    table::{Time, object_name, share_text},
    whose,
};
use crate::{
    profile::{Balance, Note, Profile, TaskId},
    symbolize::Function,
};

pub use super::table::{function_name, shorten};

/// How much room there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` for a pipe or a file, where nothing is cut.
    pub width: Option<usize>,
    /// Most functions to list; `None` for all.
    pub rows: Option<usize>,
    /// In whose manner.
    pub style: Style,
    /// Whether shares have their standard errors ([`share_error`](crate::share_error)).
    pub errors: bool,
}

/// Writes the whole report: what was profiled, the flat profile, what to know, the balance.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    functions: &[Function],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let total = profile.ticks();
    let are_apart = functions.iter().any(|row| row.task != TaskId::ALL);
    let parts = functions.chunk_by(|a, b| a.task == b.task).map(|of_task| {
        let id = of_task[0].task;
        // Shares of a task are of all that it has, also if not all of that is shown.
        let of_all = if are_apart {
            profile.ticks_of(id)
        } else {
            total
        };
        let task = id.index().map(|index| &profile.tasks[index]);
        Part {
            head: task.map(|task| {
                let share = share_text(of_all, total, layout.errors);
                format!("{}: {of_all} ticks, {share}", printable(&task.to_string()))
            }),
            comm: printable(&whose::comm(profile, &of_task[0])).into_owned(),
            functions: of_task,
            total: of_all,
        }
    });
    let notes = profile.notes.iter();
    let notes = notes.map(|note| format!("note: {}", note_text(profile, note)));
    let page = Page {
        head: format!(
            "{}: {} ticks at {} Hz, {:.2} s of CPU time in {:.2} s",
            printable(&profile.subject.to_string()),
            profile.balance.seen(),
            profile.rate,
            profile.balance.due_ns as f64 / 1e9,
            profile.elapsed.as_secs_f64(),
        ),
        objects: &profile.objects,
        time: Time::Split(profile.rate),
        total,
        parts: parts.collect(),
        empty: why_empty(profile),
        tail: notes.chain([balance(&profile.balance)]).collect(),
    };
    page.write(layout, out)
}

/// One line that says why there is nothing to show.
fn why_empty(profile: &Profile) -> &'static str {
    if profile.ticks() > 0 {
        "there are ticks, but none that the filters let through"
    } else if profile.balance.tally.runs > 0 {
        "nothing was counted: see the balance for where the ticks went"
    } else if profile.balance.due() < 1.0 {
        "no ticks: the process used less CPU time than one tick stands for"
    } else {
        "no ticks, though the process used CPU time"
    }
}

/// The balance: where every run of the kernel program went.
pub fn balance(balance: &Balance) -> String {
    let mut line = format!("balance: runs {}", balance.tally.runs);
    let mut sign = " =";
    for &outcome in Outcome::ALL {
        let always = matches!(outcome, Outcome::Binned | Outcome::Stray);
        if always || balance.of(outcome) > 0 {
            line += &format!("{sign} {} {}", outcome.name(), balance.of(outcome));
            sign = " +";
        }
    }
    line += &format!(
        "; ticks seen {} / due {:.0} ({:.3}); kernel memory {:.1} MiB",
        balance.seen(),
        balance.due(),
        balance.seen_per_due(),
        balance.kernel_bytes as f64 / f64::from(1 << 20),
    );
    if balance.unwanted > 0 {
        line += &format!("; {} strays of processes not asked for", balance.unwanted);
    }
    let (fullest, capacity) = balance.stray_fill;
    if fullest > 0 {
        line += &format!("; strays table at most {fullest} of {capacity} full");
    }
    if !balance.holds() {
        line += "; DOES NOT BALANCE: please report this";
    }
    line
}

/// A note in words.
pub fn note_text(profile: &Profile, note: &Note) -> String {
    match note {
        Note::Coarsened { object, width } => format!(
            "bins of {} are {width} bytes wide to fit the memory budget (--memory)",
            object_name(profile.object(*object))
        ),
        Note::Exec { uncertain } => format!(
            "the process started another program; its ticks may have been charged to the old one \
             for up to {}",
            milliseconds(*uncertain)
        ),
        Note::EndedByExec { dialect } => format!(
            "the process started another program, where {} ends",
            dialect.word()
        ),
        Note::Unmapped { object, uncertain } => format!(
            "{} was unmapped; ticks of what took its place may have been charged to it for up to \
             {}",
            object_name(profile.object(*object)),
            milliseconds(*uncertain)
        ),
        Note::Children { ticks, processes } => {
            format!("{ticks} of the ticks are of {processes} other processes that it started")
        }
        Note::OwnCost { ticks } => format!(
            "{ticks} of the ticks are of this profiler itself, {:.2} % of the machine",
            100.0 * *ticks as f64 / profile.balance.due().max(1.0)
        ),
        Note::SideBandLost { records } => format!(
            "the kernel could not tell all that processes started and mapped: {records} records \
             were lost, and what they were about may have no name"
        ),
        Note::NoSideBand { reason } => format!(
            "what processes map and start is looked at only now and then: {}",
            printable(reason)
        ),
        Note::NoKernelSymbols { reason } => {
            format!(
                "the kernel's functions have no names: {}",
                printable(reason)
            )
        }
        Note::RegionsFull { left_out } => {
            format!("{left_out} executable mappings had no region; their ticks are strays")
        }
        Note::Unseen { used_ns } => format!(
            "the process used {:.1} s of CPU time that the clock did not see: the kernel stops it \
             when a program with other privileges is started",
            *used_ns as f64 / 1e9
        ),
        Note::OtherNamespace { ticks } => format!(
            "{ticks} ticks are of processes in another PID namespace (a container inside this \
             one); profile them from inside it, or from the host"
        ),
        Note::ShortOfTaskTicks => "far fewer ticks than were due: threads and processes that \
                                   run for less than one period in all are never seen; a higher \
                                   --rate sees more of them, and --clock cpu sees such threads; \
                                   very high rates are more than the kernel can keep up with"
            .to_owned(),
        Note::OffCpuTicks => "ticks seen and due differ: the target may run in step with the \
                              clock, and then its shares are wrong too; try --jitter, --clock \
                              task, or another --rate"
            .to_owned(),
        Note::Jittered { asked } => format!(
            "the clock was jittered: {:.1} ticks a second on average, {asked} were asked for",
            1e9 / profile.balance.period_ns
        ),
        Note::CpuClock => "the clock followed CPUs, because the threads are too many or change \
                           too fast: processes that it started are not counted, and CPU time is \
                           known to 10 ms only"
            .to_owned(),
        Note::NoMappings { reason } => format!(
            "its mappings could not be read ({reason}), so nothing has a name; CAP_SYS_PTRACE may be \
             missing"
        ),
        Note::MoreUnreadable { objects } => {
            format!("{objects} more objects have no names, because their files cannot be used")
        }
        Note::Unreadable { object, reason } => {
            let object = object_name(profile.object(*object));
            format!(
                "{object}: no names, because its file cannot be used: {}",
                printable(reason)
            )
        }
    }
}

/// A short time.
fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 10.0 {
        format!("{milliseconds:.1} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}
