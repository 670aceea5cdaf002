//! What a receiver gets, however it behaves.

use std::{
    net::TcpListener,
    time::{Duration, SystemTime},
};

use proptest::prelude::*;

use super::{
    bodies, config, numbered, pushed,
    receiver::{Answer, Receiver},
    start, wait,
};
use crate::serve::push::backoff::{Backoff, MOST_ASKED, retry_after};

#[test]
fn a_profile_arrives() {
    let receiver = Receiver::new([]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    pusher.offer(pushed(1));
    let asked = receiver.wait_for(1);
    assert_eq!(bodies(&asked), numbered([1]));
    let figures = wait(&pusher, |figures| figures.sent == 1);
    assert_eq!(
        (figures.waiting, figures.failed, figures.oldest),
        (0, 0, None)
    );
    assert!(lines.all().is_empty());
}

#[test]
fn what_failed_is_sent_again() {
    let directory = tempfile::tempdir().unwrap();
    let down = Answer::Says("500 Internal Server Error", "", b"no disk\n".to_vec());
    let receiver = Receiver::new([down]);
    let (pusher, lines) = start(config(
        &receiver.url(),
        Some(&directory.path().join("spool")),
    ));
    pusher.offer(pushed(1));
    pusher.offer(pushed(2));
    let asked = receiver.wait_for(3);
    assert_eq!(bodies(&asked), numbered([1, 1, 2]));
    let figures = wait(&pusher, |figures| figures.sent == 2);
    assert_eq!((figures.failed, figures.spooled_bytes), (1, 0));
    let lines = lines.all();
    assert!(
        lines[0].ends_with("which will be sent again: it answered 500: no disk"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("takes profiles again"), "{lines:?}");
}

#[test]
fn a_receiver_is_left_alone_for_as_long_as_it_asks() {
    let busy = Answer::Says("429 Too Many Requests", "Retry-After: 1\r\n", Vec::new());
    let receiver = Receiver::new([busy]);
    let (pusher, _) = start(config(&receiver.url(), None));
    pusher.offer(pushed(1));
    let asked = receiver.wait_for(2);
    let waited = asked[1].at - asked[0].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    assert_eq!(bodies(&asked), numbered([1, 1]));
}

#[test]
fn what_is_refused_is_not_sent_again() {
    let refusal = Answer::Says("400 Bad Request", "", b"name: \x1b[31minvalid".to_vec());
    let receiver = Receiver::new([refusal.clone(), refusal]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    for number in 1..=3 {
        pusher.offer(pushed(number));
    }
    wait(&pusher, |figures| figures.sent == 1);
    assert_eq!(bodies(&receiver.asked()), numbered([1, 2, 3]));
    let figures = pusher.stop();
    assert_eq!(
        (figures.refused, figures.failed, figures.dropped),
        (2, 0, 0)
    );
    // Two of them within a minute are one line.
    let lines = lines.all();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].ends_with("it answered 400: name: \\u{1b}[31minvalid"),
        "{lines:?}"
    );
}

#[test]
fn nobody_is_followed_elsewhere() {
    let elsewhere = Receiver::new([]);
    let location = format!("Location: {}/\r\n", elsewhere.url());
    let leak = Answer::Says("307 Temporary Redirect", location.leak(), Vec::new());
    let receiver = Receiver::new([leak]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    pusher.offer(pushed(1));
    wait(&pusher, |figures| figures.refused == 1);
    assert!(elsewhere.asked().is_empty());
    assert!(lines.all()[0].contains("it answered 307; give the URL that it leads to"));
}

#[test]
fn a_receiver_that_comes_back_gets_everything_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool");
    // Nobody is at this address now, and no other test will be.
    let address = TcpListener::bind("127.0.0.2:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{address}");
    let (pusher, lines) = start(config(&url, Some(&spool)));
    for number in 1..=5 {
        pusher.offer(pushed(number));
    }
    let figures = wait(&pusher, |figures| {
        figures.waiting == 5 && figures.failed > 0
    });
    assert!(
        figures.spooled_bytes > 0 && figures.oldest.is_some(),
        "{figures:?}"
    );
    let figures = pusher.stop();
    assert_eq!((figures.waiting, figures.dropped, figures.sent), (5, 0, 0));
    assert_eq!(lines.all().len(), 1, "{:?}", lines.all());

    // The next daemon goes on with it, first without a receiver.
    let (pusher, _) = start(config(&url, Some(&spool)));
    wait(&pusher, |figures| {
        figures.waiting == 5 && figures.failed > 0
    });
    for number in 6..=8 {
        pusher.offer(pushed(number));
    }
    wait(&pusher, |figures| figures.waiting == 8);
    let receiver = Receiver::again(address);
    let figures = wait(&pusher, |figures| figures.sent == 8);
    assert_eq!(
        (figures.waiting, figures.spooled_bytes, figures.dropped),
        (0, 0, 0)
    );
    assert_eq!(bodies(&receiver.asked()), numbered(1..=8));
    assert_eq!(std::fs::read_dir(&spool).unwrap().count(), 0);
}

#[test]
fn waits_double_up_to_a_bound() {
    let seconds = Duration::from_secs;
    let mut backoff = Backoff::new(seconds(1), seconds(60));
    for whole in [1, 2, 4, 8, 16, 32, 60, 60] {
        let wait = backoff.wait(None);
        assert!(
            wait >= seconds(whole) / 2 && wait <= seconds(whole),
            "{whole} {wait:?}"
        );
    }
    backoff.reset();
    assert!(backoff.wait(None) <= seconds(1));
    // A second is between a half and a whole of the next.
    assert_eq!(backoff.wait(Some(seconds(7))), seconds(7));
    assert_eq!(backoff.wait(Some(seconds(1 << 40))), MOST_ASKED);
}

#[test]
fn what_a_receiver_asks_for_is_read() {
    // As of `date -d 'Sun, 06 Nov 1994 08:49:37 GMT' +%s`.
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 100);
    let seconds = |value| retry_after(value, now).map(|wait| wait.as_secs());
    assert_eq!(seconds("120"), Some(120));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(100));
    assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
    assert_eq!(seconds("99999999999999999999999"), Some(3600));
    for nothing in ["", "-1", "soon", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"] {
        assert_eq!(seconds(nothing), None, "{nothing}");
    }
}

proptest! {
    #[test]
    fn whatever_a_receiver_asks_for_is_no_trouble(value in "[A-Z][a-z]{2}, [0-9 :A-Za-z]{0,30}|.{0,30}") {
        let wait = retry_after(&value, SystemTime::now());
        prop_assert!(Backoff::new(MOST_ASKED, MOST_ASKED).wait(wait) <= MOST_ASKED);
    }
}
