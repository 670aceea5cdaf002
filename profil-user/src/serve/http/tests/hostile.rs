//! Anything at all on the socket: the server answers in HTTP or closes, and goes on.

use std::{
    io::Write as _,
    net::Shutdown,
    sync::{LazyLock, Mutex, PoisonError},
};

use proptest::prelude::*;

use super::{Patience, Served, rest};
use crate::serve::config::{Access, Limits};

/// One for all of it: it must still be there at the end.
static SERVED: LazyLock<Mutex<Served>> = LazyLock::new(|| {
    let limits = Limits {
        requests_per_second: 1_000_000,
        ..Limits::default()
    };
    Mutex::new(Served::new(
        &Access::default(),
        &limits,
        Patience::default(),
    ))
});

/// Sends bytes, and wants whole answers or none, and then one to a request that makes sense.
fn send(bytes: &[u8]) -> Vec<u16> {
    let served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stream = served.connect();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let answers = rest(&mut stream);
    let codes = codes(&answers, bytes);
    assert_eq!(served.get("/text?bytes=1", &[]).code(), 200);
    codes
}

/// The codes of answers that follow each other.
fn codes(mut answers: &str, sent: &[u8]) -> Vec<u16> {
    let mut codes = Vec::new();
    while !answers.is_empty() {
        let (head, rest) = answers
            .split_once("\r\n\r\n")
            .expect("an answer without an end");
        let line = head
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| head.strip_prefix("HTTP/1.0 "));
        let code: u16 = line
            .and_then(|line| line.get(..3)?.parse().ok())
            .expect("no answer");
        assert!((100..600).contains(&code), "{code}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        codes.push(code);
        // Those to HEAD have none.
        answers = match rest.get(length..) {
            Some(next) if next.is_empty() || next.starts_with("HTTP/") => next,
            _ => {
                assert!(sent.windows(4).any(|four| four == b"HEAD"), "{answers:?}");
                rest
            }
        };
    }
    codes
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("GET".to_owned()),
        1 => Just("HEAD".to_owned()),
        2 => Just("POST".to_owned()),
        1 => "[A-Z]{1,8}",
        1 => "[ -~]{0,6}",
    ]
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "/(echo|text|panic|\\PC{0,9})(\\?[a-z%0-9&=+]{0,20})?",
        1 => "[ -~]{0,30}",
        1 => "(http|x)://[a-z:@.\\[\\]0-9]{0,12}/[%a-f0-9]{0,6}",
    ]
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "(Host|Origin|Referer): (http://)?(localhost|127.0.0.1|\\[::1\\]|[ -~]{0,9})(:[0-9]{0,6})?",
        1 => "(Content-Length|Transfer-Encoding|Expect|Connection|Upgrade): [ -~]{0,16}",
        1 => "Content-Length: [0-9]{1,22}",
        1 => "Transfer-Encoding: chunked",
        1 => "Authorization: (Basic|Bearer) [ -~]{0,24}",
        1 => "Accept-Encoding: (gzip|\\*|br)(;q=[0-9.]{0,4})?",
        1 => "[!-~]{1,9}:[ -~]{0,20}",
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        send(&bytes);
    }

    #[test]
    fn arbitrary_requests(
        requests in proptest::collection::vec((
            method(),
            target(),
            proptest::collection::vec(header(), 0..5),
            proptest::collection::vec(any::<u8>(), 0..40),
            any::<bool>(),
        ), 1..3)
    ) {
        let mut bytes = Vec::new();
        for (method, target, headers, body, is_named) in requests {
            let host = if is_named { "Host: localhost\r\n" } else { "" };
            let head = format!("{method} {target} HTTP/1.1\r\n{host}{}\r\n\r\n", headers.join("\r\n"));
            bytes.extend(head.bytes());
            bytes.extend(body);
        }
        send(&bytes);
    }
}

/// Where the end of what is sent is not the end of the connection, every request has its answer.
#[test]
fn requests_of_two_minds_are_refused() {
    let served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let post = "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for (rest, wanted) in [
        ("Content-Length: 2\r\n\r\nab", vec![200]),
        // Two lengths are how one request is smuggled into another.
        (
            "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
            vec![400],
        ),
        ("Content-Length: +2\r\n\r\nab", vec![400]),
        ("Transfer-Encoding: xyz\r\n\r\nab", vec![400]),
        ("X : y\r\n\r\n", vec![400]),
    ] {
        let sent = post.to_owned() + rest;
        assert_eq!(
            codes(&served.exchange(&sent), sent.as_bytes()),
            wanted,
            "{rest:?}"
        );
    }
    assert_eq!(served.exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "");
}
