//! How much of anything is taken.

use std::{
    io::{Read as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use super::{Got, Patience, SHORT, Served, head, rest};
use crate::serve::config::{Access, Limits};

#[test]
fn heads_have_a_size() {
    let served = Served::default();
    let long = format!("X: {}", "a".repeat(15_000));
    assert_eq!(served.get("/echo", &[&long]).code(), 200);
    let longer = format!("X: {}", "a".repeat(17_000));
    assert_eq!(served.get("/echo", &[&longer]).code(), 431);
    // Without an end, too.
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(17_000));
    assert_eq!(Got(served.exchange(endless)).code(), 431);
    let many: Vec<String> = (0..62).map(|number| format!("X-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(|header| &header[..]).collect();
    // With Host and Connection.
    assert_eq!(served.get("/echo", &many).code(), 200);
    assert_eq!(
        served.get("/echo", &[&many[..], &["Y: 1"]].concat()).code(),
        431
    );
}

#[test]
fn addresses_have_a_length() {
    let served = Served::default();
    let path = |length: usize| format!("/echo?{}", "a".repeat(length - 6));
    assert_eq!(served.get(&path(4096), &[]).code(), 200);
    assert_eq!(served.get(&path(4097), &[]).code(), 414);
}

#[test]
fn bodies_have_a_size() {
    let served = Served::default();
    let post = |length: usize, sent: usize| {
        let headers = [
            &format!("Content-Length: {length}")[..],
            "Connection: close",
        ];
        let request = head("POST", "/echo", &headers) + &"a".repeat(sent);
        Got(served.exchange(request))
    };
    assert_eq!(post(65_536, 65_536).code(), 200);
    let got = post(65_537, 65_537);
    assert_eq!(
        (got.code(), got.body()),
        (413, "a body must not be larger than 65536 bytes\n")
    );
    assert_eq!(post(1_000_000, 1_000_000).code(), 413);
    // What says that it is huge is refused before it is sent.
    assert_eq!(post(1 << 40, 0).code(), 413);
    let chunk = format!("8000\r\n{}\r\n", "a".repeat(0x8000));
    let headers = ["Transfer-Encoding: chunked", "Connection: close"];
    let chunked = head("POST", "/echo", &headers) + &chunk.repeat(4) + "0\r\n\r\n";
    assert_eq!(Got(served.exchange(chunked)).code(), 413);
    assert_eq!(served.handle.counts().refused, 4);
}

#[test]
fn heads_have_a_time() {
    let served = Served::short();
    let begun = Instant::now();
    // One that says nothing, one that stops, and one that goes on by the letter.
    let mut silent = served.connect();
    let mut stopping = served.connect();
    stopping.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    let mut dripping = served.connect();
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned() + &"a".repeat(1000);
    let sent = head.bytes().take_while(|&byte| {
        thread::sleep(Duration::from_millis(10));
        dripping.write_all(&[byte]).is_ok()
    });
    assert!(sent.count() < 300);
    assert_eq!(rest(&mut silent) + &rest(&mut stopping), "");
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn idle_connections_are_closed() {
    let served = Served::short();
    let mut stream = served.connect();
    for _ in 0..2 {
        stream
            .write_all(head("GET", "/text?bytes=1", &[]).as_bytes())
            .unwrap();
        let mut answer = [0; 4096];
        assert!(stream.read(&mut answer).unwrap() > 0);
        thread::sleep(Duration::from_millis(50));
    }
    let begun = Instant::now();
    assert_eq!(rest(&mut stream), "");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_answer_may_take_longer_than_a_head() {
    let served = Served::short();
    assert_eq!(served.get("/slow?millis=1500", &[]).body(), "at last");
}

#[test]
fn bodies_have_a_time() {
    let served = Served::short();
    let headers = ["Content-Length: 5", "Connection: close"];
    let got = Got(served.exchange(head("POST", "/echo", &headers) + "hel"));
    assert_eq!((got.code(), got.body()), (408, "the body took too long\n"));
}

#[test]
fn who_does_not_read_is_cut_off() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let served = Served::new(&Access::default(), &limits, SHORT);
    let ask = head("GET", "/noise?bytes=16000000", &["Connection: close"]);
    let mut lazy = served.connect();
    lazy.write_all(ask.as_bytes()).unwrap();
    let begun = Instant::now();
    // Only one connection is served: another one is as soon as it is given up.
    while served.get("/echo", &[]).code() == 503 {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "it is never given up"
        );
        thread::sleep(Duration::from_millis(20));
    }
    assert!(begun.elapsed() >= SHORT.answer, "{:?}", begun.elapsed());
    assert!(rest(&mut lazy).len() < 16_000_000);
    // Nor does it help to read a little all the time: this would take seconds.
    let mut slow = served.connect();
    slow.write_all(ask.as_bytes()).unwrap();
    let (begun, mut total) = (Instant::now(), 0);
    let mut some = vec![0; 64 << 10];
    while let Ok(read @ 1..) = slow.read(&mut some) {
        total += read;
        if begun.elapsed() < 2 * SHORT.answer {
            thread::sleep(Duration::from_millis(20));
        }
    }
    assert!(total < 16_000_000, "{total}");
    // Who reads gets all of it.
    let got = served.get("/noise?bytes=16000000", &[]);
    assert_eq!(got.body().len(), 16_000_000);
}

#[test]
fn connections_have_a_number() {
    let limits = Limits {
        connections: 3,
        ..Limits::default()
    };
    let served = Served::new(&Access::default(), &limits, Patience::default());
    let mut open: Vec<_> = (0..3).map(|_| served.connect()).collect();
    for stream in &mut open {
        stream
            .write_all(head("GET", "/slow", &[]).as_bytes())
            .unwrap();
    }
    served.wait_for(3);
    for _ in 0..5 {
        let got = served.get("/echo", &[]);
        assert_eq!(got.code(), 503);
        assert_eq!(got.header("retry-after"), Some("1"));
        let length = got.header("content-length").unwrap().parse();
        assert_eq!(length, Ok(got.body().len()));
    }
    let counts = served.handle.counts();
    assert_eq!((counts.connections, counts.turned_away), (3, 5));
    // More of them while it runs, and after one has gone.
    let more = Limits {
        connections: 4,
        ..limits
    };
    served.handle.reload(&Access::default(), &more).unwrap();
    assert_eq!(served.get("/echo", &[]).code(), 200);
    served.handle.reload(&Access::default(), &limits).unwrap();
    assert_eq!(served.get("/echo", &[]).code(), 503);
    open.pop();
    served.wait_for(2);
    assert_eq!(served.get("/echo", &[]).code(), 200);
}

#[test]
fn many_at_a_time_are_turned_away_in_bounds() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let served = Served::new(&Access::default(), &limits, Patience::default());
    let _first = served.connect();
    let others: Vec<_> = (0..100).map(|_| served.connect()).collect();
    drop(others);
    // It is not held up by them.
    thread::sleep(Duration::from_millis(50));
    assert_eq!(served.get("/echo", &[]).code(), 503);
}

#[test]
fn requests_have_a_rate() {
    let limits = Limits {
        requests_per_second: 5,
        ..Limits::default()
    };
    let served = Served::new(&Access::default(), &limits, Patience::default());
    let many = head("GET", "/text?bytes=1", &[]).repeat(39);
    let all = served.exchange(many + &head("GET", "/", &["Connection: close"]));
    let granted = all.matches("HTTP/1.1 200").count();
    // Ten at once, and what comes in the time that it takes.
    assert!((10..20).contains(&granted), "{granted}");
    assert_eq!(all.matches("HTTP/1.1 429").count(), 40 - granted);
    assert!(all.contains("retry-after: 1\r\n"), "{all}");
}
