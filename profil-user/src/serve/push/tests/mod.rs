mod delivery;
mod formats;
mod names;
#[cfg(feature = "otlp")]
mod otlp;
mod receiver;
mod secrets;
mod spool;
mod stop;
mod tls;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant, SystemTime},
};

use super::{Figures, Kind, PushConfig, PushError, Pushed, Pusher, SpoolConfig, backoff::Backoff};

/// Lines that were said.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// The config of a push to a URL, with a spool.
fn config(url: &str, spool: Option<&Path>) -> PushConfig {
    PushConfig {
        timeout: Duration::from_secs(1),
        spool: spool.map(|directory| SpoolConfig {
            directory: directory.to_owned(),
            most_bytes: 1 << 20,
        }),
        ..PushConfig::new(url, Kind::Pprof)
    }
}

/// One who tries again soon.
fn start(config: PushConfig) -> (Pusher, Lines) {
    let (pusher, lines) = try_start(config);
    (pusher.unwrap(), lines)
}

fn try_start(config: PushConfig) -> (Result<Pusher, PushError>, Lines) {
    let lines = Lines::default();
    let said = lines.clone();
    let say = move |line: &str| said.0.lock().unwrap().push(line.to_owned());
    let backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(80));
    (Pusher::start_with(config, backoff, Box::new(say)), lines)
}

/// A profile that can be told from others.
fn pushed(number: u32) -> Pushed {
    let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_800_000_000_123_456_789);
    Pushed {
        began,
        until: began + Duration::from_secs(15),
        sample_rate_hz: 97.003,
        pprof: format!("profile {number}").into_bytes(),
        rows: Arc::default(),
        period_ns: 10_309_000,
    }
}

fn bodies(asked: &[receiver::Asked]) -> Vec<String> {
    let text = |asked: &receiver::Asked| String::from_utf8(asked.body.clone()).unwrap();
    asked.iter().map(text).collect()
}

fn numbered(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    let text = |number| format!("profile {number}");
    numbers.into_iter().map(text).collect()
}

/// The figures, as soon as they are so.
#[track_caller]
fn wait(pusher: &Pusher, is_so: impl Fn(&Figures) -> bool) -> Figures {
    let since = Instant::now();
    loop {
        let figures = pusher.figures();
        if is_so(&figures) {
            return figures;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{figures:?}");
        thread::sleep(Duration::from_millis(2));
    }
}
