//! Names and values as receivers read them.

use proptest::prelude::*;

use super::{config, pushed, receiver::Receiver, start};
use crate::serve::push::{Kind, PushConfig, Secret, address::Address, labels};

/// How Pyroscope reads a series: its labels, with the application as `__name__`.
fn as_pyroscope_reads(text: &str) -> Vec<(String, String)> {
    let (application, mut rest) = text.split_once('{').unwrap();
    let mut read = vec![("__name__".to_owned(), application.trim().to_owned())];
    while let Some((name, others)) = rest.split_once('=') {
        let end = others.find([',', '}']).unwrap();
        read.push((name.trim().to_owned(), others[..end].trim().to_owned()));
        rest = &others[end + 1..];
    }
    read
}

fn labelled(kind: Kind, application: &str, name: &str, value: &str) -> PushConfig {
    PushConfig {
        application: application.to_owned(),
        labels: vec![(name.to_owned(), value.to_owned())],
        ..PushConfig::new("http://localhost:4040", kind)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_let_through_is_read_as_it_was_meant(
        application in "[ -~]{0,3}|[a-zA-Z0-9._-]{1,9}", name in "\\PC{0,4}|[a-zA-Z_][a-zA-Z0-9_]{0,4}",
        value in "\\PC{0,8}|.{0,4}",
    ) {
        let config = labelled(Kind::Pyroscope, &application, &name, &value);
        if config.check().is_ok() {
            let series = labels::series(&config.application, &config.labels);
            let mut expected = vec![("__name__".to_owned(), application)];
            expected.push((name, value));
            prop_assert_eq!(as_pyroscope_reads(&series), expected);
        }
    }

    #[test]
    fn a_query_is_read_as_it_was_meant(pairs in prop::collection::vec((".{1,9}", ".{0,9}"), 0..4)) {
        let address = Address::of("http://h/p?a=b", Kind::Pprof).unwrap();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        let url = address.with(&pairs);
        prop_assert!(url.is_ascii());
        let query = url.strip_prefix("http://h/p?a=b").unwrap();
        let read: Vec<_> = query.split('&').skip(1).map(|pair| pair.split_once('=').unwrap()).collect();
        prop_assert_eq!(read.len(), pairs.len());
        for ((name, value), (known, meant)) in read.iter().zip(pairs) {
            prop_assert_eq!(super::receiver::decoded(name), known);
            prop_assert_eq!(super::receiver::decoded(value), meant);
        }
    }

    #[test]
    fn any_url_is_taken_or_refused_on_one_line(url in "(https?://)?.{0,30}") {
        if let Err(error) = Address::of(&url, Kind::Pyroscope) {
            let text = error.to_string();
            prop_assert!(!text.contains(char::is_control), "{text}");
        }
    }
}

#[test]
fn what_a_receiver_would_cut_is_refused() {
    let check = |application: &str, name: &str, value: &str| {
        labelled(Kind::Pyroscope, application, name, value).check()
    };
    check("profil-bpf", "env", "größe {a=b").unwrap();
    for (application, name, value) in [
        ("", "env", "prod"),
        ("a b", "env", "prod"),
        ("a{", "env", "prod"),
        ("a", "", "prod"),
        ("a", "1env", "prod"),
        ("a", "e-nv", "prod"),
        ("a", "__name__", "prod"),
        ("a", "env", ""),
        ("a", "env", "a,b"),
        ("a", "env", "a}"),
        ("a", "env", " a"),
        ("a", "env", "a\nb"),
        ("a", "env", &"a".repeat(257)),
    ] {
        check(application, name, value).unwrap_err();
    }
    labelled(Kind::Pprof, "a", "from", "here")
        .check()
        .unwrap_err();
    let mut many = PushConfig::new("http://h", Kind::Pprof);
    many.labels = (0..32)
        .map(|number| (format!("l{number}"), "ö".repeat(128)))
        .collect();
    many.check().unwrap();
    many.labels.push(("one_more".to_owned(), "a".to_owned()));
    many.check().unwrap_err();
    let mut twice = labelled(Kind::Pprof, "a", "env", "prod");
    twice.labels.push(("env".to_owned(), "test".to_owned()));
    let said = twice.check().unwrap_err().to_string();
    assert_eq!(
        said,
        "cannot push the label \"env\": it is there twice; leave one out"
    );
}

#[test]
fn a_receiver_is_named_well_or_not_at_all() {
    let shown = |url: &str, kind| Address::of(url, kind).map(|address| address.with(&[]));
    let pyroscope = |url| shown(url, Kind::Pyroscope).unwrap();
    assert_eq!(pyroscope("https://p:4040"), "https://p:4040/ingest");
    assert_eq!(pyroscope("https://p:4040/"), "https://p:4040/ingest");
    assert_eq!(pyroscope("http://p/a/ingest"), "http://p/a/ingest");
    assert_eq!(
        pyroscope("http://[::1]:1/a/?t=1"),
        "http://[::1]:1/a/ingest?t=1"
    );
    assert_eq!(shown("http://p", Kind::Pprof).unwrap(), "http://p/");
    let otlp = shown("http://c:4318", Kind::Otlp).unwrap();
    assert_eq!(otlp, "http://c:4318/v1development/profiles");
    for bad in [
        "",
        "p",
        "p:4040",
        "/p",
        "ftp://p",
        "http://",
        "http://a b/",
        "http://p/#x",
        "http:///x",
    ] {
        shown(bad, Kind::Pprof).unwrap_err();
    }
    let said = shown("https://me:geheim@p/?k=geheim", Kind::Pprof)
        .unwrap_err()
        .to_string();
    assert!(!said.contains("geheim"), "{said}");
}

#[test]
fn a_token_never_travels_in_the_clear() {
    let with = |url: &str, token: &str| {
        let token = Some(Secret::new(token));
        PushConfig {
            token,
            ..PushConfig::new(url, Kind::Pyroscope)
        }
        .check()
    };
    for private in [
        "https://p",
        "http://127.0.0.1:1",
        "http://localhost",
        "http://[::1]:1",
    ] {
        with(private, "abc\n").unwrap();
    }
    with("http://p", "abc").unwrap_err();
    with("http://127.0.0.1.example", "abc").unwrap_err();
    for bad in ["", "a b", "a\r\nb: c", "größe"] {
        with("https://p", bad).unwrap_err();
    }
}

#[test]
fn labels_arrive() {
    let receiver = Receiver::new([]);
    let mut config = config(&receiver.url(), None);
    config.labels = vec![("env".to_owned(), "a&b=c größe".to_owned())];
    let (pusher, _) = start(config.clone());
    pusher.offer(pushed(1));
    let asked = receiver.wait_for(1);
    let expected = [
        ("name", "profil-bpf"),
        ("from", "1800000000123456789"),
        ("until", "1800000015123456789"),
        ("sampleRate", "97"),
        ("env", "a&b=c größe"),
    ];
    assert_eq!(
        asked[0].query(),
        expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );

    // And the longest.
    let value = "ö".repeat(128);
    config.labels = (0..32)
        .map(|number| (format!("l{number}"), value.clone()))
        .collect();
    let (pusher, _) = start(config);
    pusher.offer(pushed(2));
    assert_eq!(
        receiver.wait_for(2)[1].query()[35],
        ("l31".to_owned(), value)
    );
}
