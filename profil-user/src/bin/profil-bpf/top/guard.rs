//! The terminal: taken over as a whole, and given back whatever happens.
//!
//! A terminal is one, and so is what is to be given back: it is kept in one place, from where the end of
//! the program, a panic of any thread, or whoever comes first takes it. From then on nothing is drawn.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    panic,
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread,
    time::Duration,
};

use profil_user::symbolize::panics_are_caught;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{OptionalActions, Termios, tcgetattr, tcsetattr},
};

/// The alternate screen, and no cursor (xterm's DECSET 1049, and DECTCEM).
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l";

/// No attributes (SGR 0), the cursor, and the screen that was there before.
const GIVE_BACK: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// How long a terminal is waited for that takes nothing: after Ctrl-S, or where a line is down.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// How long others have a chance to take the terminal away, where it takes nothing.
const TURN: Duration = Duration::from_millis(5);

/// What is to be given back, if the terminal is ours.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

static HOOK: Once = Once::new();

struct Taken {
    input: OwnedFd,
    output: OwnedFd,
    before: Termios,
}

/// The terminal is ours, until this is dropped.
pub(crate) struct Guard(());

impl Guard {
    /// Takes over the terminal: every key is read as it comes and none is shown or is a signal, and the
    /// screen is another one.
    pub(crate) fn take(input: impl AsFd, output: impl AsFd) -> io::Result<Self> {
        HOOK.call_once(hook);
        let before = tcgetattr(&input)?;
        let mut raw = before.clone();
        raw.make_raw();
        let taken = Taken {
            input: input.as_fd().try_clone_to_owned()?,
            output: that_never_waits(&output)?,
            before,
        };
        *taken_by_us() = Some(taken);
        let guard = Self(());
        tcsetattr(&input, OptionalActions::Now, &raw)?;
        take_screen()?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives it back before a panic speaks, of whatever thread: what it says is to be read.
fn hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !panics_are_caught() {
            give_back();
        }
        before(info);
    }));
}

/// Gives the terminal back, if it is ours. Never waits for long, and cannot fail in a way that anybody
/// could do something about.
pub(crate) fn give_back() {
    let taken = taken_by_us().take();
    let Some(taken) = taken else {
        return;
    };
    // The settings first: they do not wait for a terminal that is held up.
    let _ = tcsetattr(&taken.input, OptionalActions::Now, &taken.before);
    let mut left = GIVE_BACK;
    while !left.is_empty() {
        match write_some(&taken.output, left) {
            Ok(0) | Err(_) => break,
            Ok(written) => left = &left[written..],
        }
    }
}

/// Lends the terminal, as it was, to whoever goes on while this program is stopped; `stop` returns when it
/// is not stopped any more.
pub(crate) fn lend(stop: impl FnOnce()) -> io::Result<()> {
    {
        // Nobody draws meanwhile.
        let lent = taken_by_us();
        let Some(taken) = &*lent else {
            drop(lent);
            stop();
            return Ok(());
        };
        let _ = tcsetattr(&taken.input, OptionalActions::Now, &taken.before);
        let _ = write_some(&taken.output, GIVE_BACK);
        stop();
        let mut raw = taken.before.clone();
        raw.make_raw();
        tcsetattr(&taken.input, OptionalActions::Now, &raw)?;
    }
    take_screen()
}

/// Takes a terminal over again that is ours: others had it while this program was stopped, and nobody had
/// said so.
pub(crate) fn take_again() -> io::Result<()> {
    lend(|| {})
}

fn take_screen() -> io::Result<()> {
    let mut screen = Screen::default();
    screen.write_all(TAKE)?;
    screen.flush()
}

/// Whether the terminal is ours.
pub(crate) fn is_ours() -> bool {
    taken_by_us().is_some()
}

/// What is drawn on. It keeps everything until it is flushed, and writes as long as the terminal is ours;
/// what is drawn later is drawn on nothing, and is no error: ratatui would speak of it to whoever has the
/// terminal by then.
#[derive(Default)]
pub(crate) struct Screen(Vec<u8>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut left = &self.0[..];
        while !left.is_empty() {
            // Others can take it away between any two parts.
            let written = match &*taken_by_us() {
                Some(taken) => write_some(&taken.output, left)?,
                None => break,
            };
            if written == 0 {
                // A lock that is let go and taken again at once is nobody else's turn.
                thread::sleep(TURN);
            }
            left = &left[written..];
        }
        self.0.clear();
        Ok(())
    }
}

fn taken_by_us() -> MutexGuard<'static, Option<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same terminal as an open file of our own, because whether it waits is a matter of the open file,
/// which others share.
fn that_never_waits(output: &impl AsFd) -> io::Result<OwnedFd> {
    let output = output.as_fd();
    let again = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(format!("/proc/self/fd/{}", output.as_raw_fd()));
    match again {
        Ok(file) => Ok(file.into()),
        // Another user's: then it may wait.
        Err(_) => output.try_clone_to_owned(),
    }
}

/// Writes as much as the terminal takes; nothing, if it takes nothing for a while.
fn write_some(output: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let mut ready = [PollFd::new(output, PollFlags::OUT)];
    match poll(&mut ready, Some(&PATIENCE)) {
        Ok(0) | Err(Errno::INTR) => return Ok(0),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    match rustix::io::write(output, bytes) {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        Ok(written) => Ok(written),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
