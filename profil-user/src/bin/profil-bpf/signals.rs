//! Signals: those that ask for the end, and those that pause and resume.

use std::{fs, io};

use profil_user::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, SIGTERM and a closed terminal, from the moment when they are listened to. Those that
/// the process was started to ignore (nohup(1), jobs in the background) stay ignored.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Listens, inside an event loop.
    pub(crate) fn listen() -> io::Result<Self> {
        let ignored = fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|status| ignored_in(&status))
            .unwrap_or(0);
        let listen = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| signal(kind)).transpose()
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Completes when the next one arrives, or has arrived since the last call.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            () = arrives(&mut self.interrupt) => {}
            () = arrives(&mut self.terminate) => {}
            () = arrives(&mut self.hang_up) => {}
        }
    }

    /// Completes when the profile is to end. Ctrl-C goes to a command of ours as well, which will end
    /// in its own way, and the profile with it; the second one is meant for us.
    pub(crate) async fn stop(&mut self, with_command: bool) {
        if with_command {
            tokio::select! {
                () = arrives(&mut self.interrupt) => {}
                () = arrives(&mut self.terminate) => return,
                () = arrives(&mut self.hang_up) => return,
            }
        }
        self.next().await;
    }

    /// Ends the listening: from now on Ctrl-C and SIGTERM end the process at once.
    pub(crate) fn stop_listening(self) {
        for (listened, kind) in [
            (self.interrupt.is_some(), SignalKind::interrupt()),
            (self.terminate.is_some(), SignalKind::terminate()),
        ] {
            if listened {
                // SAFETY: the default action is no code of ours.
                unsafe { libc::signal(kind.as_raw_value(), libc::SIG_DFL) };
            }
        }
    }
}

/// SIGUSR1 and SIGUSR2, which pause and resume the clock.
pub(crate) struct Switches {
    off: Signal,
    on: Signal,
}

impl Switches {
    /// Listens, inside an event loop.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            off: signal(SignalKind::user_defined1())?,
            on: signal(SignalKind::user_defined2())?,
        })
    }

    /// Does what they say, for ever.
    pub(crate) async fn obey(&mut self, control: &Control) {
        loop {
            tokio::select! {
                _ = self.off.recv() => control.pause(),
                _ = self.on.recv() => control.resume(),
            }
        }
    }
}

/// The signals after which a terminal is somebody else's: SIGTSTP, SIGCONT and SIGQUIT.
pub(crate) struct Jobs {
    stop: Signal,
    go_on: Signal,
    quit: Signal,
}

/// One of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JobSignal {
    /// To stop, until the next.
    Stop,
    /// To go on, after a stop that may not have been announced.
    GoOn,
    /// To end at once.
    Quit,
}

impl Jobs {
    /// Listens, inside an event loop.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            stop: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            go_on: signal(SignalKind::from_raw(libc::SIGCONT))?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The next one that arrives.
    pub(crate) async fn next(&mut self) -> JobSignal {
        tokio::select! {
            _ = self.stop.recv() => JobSignal::Stop,
            _ = self.go_on.recv() => JobSignal::GoOn,
            _ = self.quit.recv() => JobSignal::Quit,
        }
    }
}

impl JobSignal {
    /// Does what the signal would do if nobody listened to it.
    pub(crate) fn obey(self) {
        let number = match self {
            Self::Stop => libc::SIGTSTP,
            Self::GoOn => return,
            Self::Quit => libc::SIGQUIT,
        };
        // SAFETY: actions are plain values, for which zeros are the default one; and that one is no code
        // of ours. The calling thread does not return from `raise` before the stop is over.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, &raw const default, &raw mut before);
            libc::raise(number);
            libc::sigaction(number, &raw const before, std::ptr::null_mut());
        }
    }
}

async fn arrives(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The set of ignored signals in the text of `/proc/self/status`: bit 0 is signal 1.
fn ignored_in(status: &str) -> Option<u64> {
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::ignored_in;

    #[test]
    fn ignored_signals_are_a_set_of_bits() {
        assert_eq!(ignored_in("SigIgn:\t0000000000000001\n"), Some(1));
        assert_eq!(ignored_in("SigBlk:\t0000000000000001\n"), None);
    }
}
