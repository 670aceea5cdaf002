//! What is answered, and with which headers.

use std::{
    io::{Read as _, Write as _},
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;

use super::{Got, Patience, Served, head, rest};
use crate::serve::{
    config::{Access, Limits},
    http::Counts,
};

#[test]
fn a_request_arrives_as_it_was_meant() {
    let served = Served::default();
    let got = served.get("/echo?a=%26b+c&d", &["Accept: text/html", "Accept: */*"]);
    assert_eq!(got.code(), 200);
    assert_eq!(
        got.body(),
        "Request { method: \"GET\", path: \"/echo\", query: Query([(\"a\", \"&b c\"), (\"d\", \"\")]), \
         accept: \"text/html, */*\", body: b\"\" }"
    );
    let post = "POST /echo HTTP/1.1\r\nHost: [::1]:7\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    assert!(
        Got(served.exchange(post))
            .body()
            .contains("method: \"POST\"")
    );
    let chunked = "POST /echo HTTP/1.1\r\nHost: 10.0.0.1\r\nTransfer-Encoding: chunked\r\n\
                   Connection: close\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    assert!(
        Got(served.exchange(chunked))
            .body()
            .contains("body: b\"hello\"")
    );
}

#[test]
fn answers_keep_browsers_from_making_more_of_them() {
    let served = Served::default();
    for path in ["/echo", "/nothing", "/%", "/panic"] {
        let got = served.get(path, &[]);
        assert_eq!(
            got.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(got.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(got.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(
            got.header("cross-origin-resource-policy"),
            Some("same-origin"),
            "{path}"
        );
        let policy = got.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    }
    assert_eq!(
        served.get("/own", &[]).header("cache-control"),
        Some("max-age=60")
    );
    let got = served.get("/unsound", &[]);
    assert_eq!(got.code(), 500);
    assert!(!got.0.contains("b: c"), "{}", got.0);
}

#[test]
fn a_head_is_the_answer_without_its_body() {
    let served = Served::default();
    let got = served.ask("HEAD", "/noise?bytes=5000", &[]);
    assert_eq!(
        (got.code(), got.header("content-length"), got.body()),
        (200, Some("5000"), "")
    );
}

#[test]
fn other_methods_are_refused() {
    let served = Served::default();
    for (method, path) in [
        ("PUT", "/"),
        ("DELETE", "/"),
        ("TRACE", "/"),
        ("OPTIONS", "*"),
        ("BREW", "/"),
        ("CONNECT", "localhost:80"),
    ] {
        let got = served.ask(method, path, &[]);
        assert_eq!(got.code(), 405, "{method}");
        assert_eq!(got.header("allow"), Some("GET, HEAD, POST"));
    }
}

#[test]
fn paths_that_are_not_plain_are_refused() {
    let served = Served::default();
    for path in [
        "/../etc",
        "/a/%2e%2e/b",
        "/%",
        "/%zz",
        "/a%2Fb",
        "/%ff",
        "/?a=%",
    ] {
        assert_eq!(served.get(path, &[]).code(), 400, "{path}");
    }
}

#[test]
fn text_is_packed_for_who_can_unpack_it() {
    let served = Served::default();
    let gzip = &["Accept-Encoding: gzip"][..];
    for bytes in [1025, 600_000] {
        let got = served.get(&format!("/text?bytes={bytes}"), gzip);
        assert_eq!(got.header("content-encoding"), Some("gzip"));
        assert_eq!(got.header("vary"), Some("accept-encoding"));
        let packed: Vec<u8> = got.body().chars().map(|byte| byte as u8).collect();
        assert!(packed.len() < bytes / 10);
        let mut text = String::new();
        GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "x".repeat(bytes));
    }
    let plain = served.get("/text?bytes=1025", &[]);
    assert_eq!(
        (plain.header("content-encoding"), plain.body().len()),
        (None, 1025)
    );
    for path in ["/text?bytes=1024", "/noise?bytes=5000"] {
        assert_eq!(
            served.get(path, gzip).header("content-encoding"),
            None,
            "{path}"
        );
    }
}

#[test]
fn connections_are_kept() {
    let served = Served::default();
    let mut stream = served.connect();
    let (one, last) = (head("GET", "/text?bytes=3", &[]), ["Connection: close"]);
    let last = head("GET", "/text?bytes=4", &last);
    stream
        .write_all(format!("{one}{one}{last}").as_bytes())
        .unwrap();
    let all = rest(&mut stream);
    assert_eq!(all.matches("HTTP/1.1 200").count(), 3, "{all}");
    assert!(all.ends_with("\r\n\r\nxxxx"), "{all}");
}

#[test]
fn a_panic_is_that_requests_alone() {
    let served = Served::default();
    for path in ["/panic", "/panic-at-once"] {
        let got = served.get(path, &[]);
        assert_eq!(got.code(), 500, "{path}");
        assert!(
            got.body()
                .starts_with("this went wrong inside of profil-bpf"),
            "{}",
            got.body()
        );
    }
    assert_eq!(served.get("/echo", &[]).code(), 200);
    served.wait_for(0);
    let counts = served.handle.counts();
    let wanted = Counts {
        connections: 3,
        answered: 1,
        panicked: 2,
        ..Counts::default()
    };
    assert_eq!(counts, wanted);
}

#[test]
fn an_answer_that_nobody_waits_for_is_given_up() {
    let served = Served::default();
    // Further requests were sent, or not.
    for further in [0, 1, 1000] {
        let mut stream = served.connect();
        let sent = head("GET", "/slow", &[]) + &head("GET", "/", &[]).repeat(further);
        stream.write_all(sent.as_bytes()).unwrap();
        served.wait_for(1);
        drop(stream);
        served.wait_for(0);
    }
}

#[test]
fn what_is_sent_before_a_close_is_answered() {
    let served = Served::default();
    let mut stream = served.connect();
    let body = "x".repeat(60_000);
    let headers = [&format!("Content-Length: {}", body.len())[..]];
    let sent = head("POST", "/text?bytes=3", &headers) + &body + &head("GET", "/", &[]);
    stream.write_all(sent.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let got = rest(&mut stream);
    assert!(
        got.contains("\r\n\r\nxxxHTTP") && got.ends_with("the page"),
        "{got}"
    );
}

#[test]
fn when_it_stops_idle_connections_do_not_hold_it_up() {
    let mut served = Served::default();
    let mut idle = served.connect();
    idle.write_all(head("GET", "/text?bytes=1", &[]).as_bytes())
        .unwrap();
    assert!(idle.read(&mut [0; 4096]).unwrap() > 0);
    let begun = Instant::now();
    served.stop();
    assert!(begun.elapsed() < Patience::default().stop / 2);
}

#[test]
fn when_it_stops_answers_have_a_moment_left() {
    let mut served = Served::short();
    let mut idle = served.connect();
    let mut soon = served.connect();
    soon.write_all(head("GET", "/slow?millis=150", &[]).as_bytes())
        .unwrap();
    let mut late = served.connect();
    late.write_all(head("GET", "/slow", &[]).as_bytes())
        .unwrap();
    served.wait_for(2);
    let begun = Instant::now();
    served.stop();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(rest(&mut idle), "");
    assert!(rest(&mut soon).ends_with("at last"));
    assert_eq!(rest(&mut late), "");
    // And nobody listens any more.
    assert!(std::net::TcpStream::connect(served.addresses[0]).is_err());
    assert_eq!(served.handle.counts(), Counts::default());
    assert!(
        served
            .handle
            .reload(&Access::default(), &Limits::default())
            .is_ok()
    );
}
