//! The token is for the receiver alone.

use std::sync::Mutex;

use super::{
    config, pushed,
    receiver::{Answer, Receiver},
    start, wait,
};
use crate::serve::push::Secret;

const TOKEN: &str = "t0psecret-4711";

/// Everything that the crates below say, in as much detail as they can.
struct Overheard(Mutex<String>);

static OVERHEARD: Overheard = Overheard(Mutex::new(String::new()));

impl log::Log for Overheard {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("ureq") || metadata.target().starts_with("rustls")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let mut all = self.0.lock().unwrap();
            all.push_str(&format!("{}\n", record.args()));
        }
    }

    fn flush(&self) {}
}

#[test]
fn the_token_is_sent_and_never_said() {
    log::set_logger(&OVERHEARD).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    // One that says what it was told.
    let echo = format!("bad token: Bearer {TOKEN}").into_bytes();
    let receiver = Receiver::new([
        Answer::Says("503 Service Unavailable", "", echo.clone()),
        Answer::Says("401 Unauthorized", "", echo),
    ]);
    let mut config = config(&receiver.url(), None);
    config.token = Some(Secret::new(TOKEN));
    let (pusher, lines) = start(config.clone());
    pusher.offer(pushed(1));
    pusher.offer(pushed(2));
    wait(&pusher, |figures| figures.sent == 1);
    log::set_max_level(log::LevelFilter::Off);
    for asked in receiver.asked() {
        assert_eq!(
            asked.header("authorization"),
            Some(&format!("Bearer {TOKEN}")[..])
        );
    }
    let lines = lines.all();
    assert!(
        lines[0].ends_with("it answered 503: bad token: Bearer [token]"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("it answered 401: bad token: Bearer [token]; look at the token"));
    let overheard = OVERHEARD.0.lock().unwrap().clone();
    assert!(overheard.contains("POST"), "{overheard}");
    let shown = format!("{config:?} {pusher:?} {lines:?} {overheard}");
    assert!(!shown.contains(TOKEN), "{shown}");

    config.url = "http://pyroscope.example".to_owned();
    let said = config.check().unwrap_err();
    assert!(!format!("{said} {said:?}").contains(TOKEN));
}
