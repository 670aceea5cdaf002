//! Configurations, right and wrong.

mod sample;

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;
use rustix::fs::{CWD, FileType};

use super::{
    Config, Mode, PushKind, Setting, Size,
    keys::{KEYS, nearest},
};

fn parse(text: &str) -> Result<Config, String> {
    let config = Config::parse(text, Path::new("p.toml"), &[]);
    config.map_err(|error| error.to_string())
}

fn flag(flag: &str, key: &str, value: &str) -> Setting {
    Setting {
        flag: flag.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
    }
}

#[test]
fn nothing_said_is_the_default() {
    assert_eq!(parse(""), Ok(Config::default()));
    assert_eq!(Config::read(None, &[]), Ok(Config::default()));
}

#[test]
fn every_kind_of_value_is_read() {
    let config = parse(
        r#"
        listen = ["127.0.0.1:0", "[::1]:9097", "[::ffff:127.0.0.1]:1"]
        stathz = 0x10
        profhz = 160
        mode = "prof"
        drain = "1s 500ms"
        [access]
        hosts = ["Node7.LAN"]
        [history]
        memory = "1GiB"
        dir = "/var/lib/p"
        [push]
        url = "https://push.lan/x?y=1"
        kind = "otlp"
        labels = { region = "eu", "a.b" = "\"q\"" }
        spool_bytes = 2097152
        "#,
    )
    .unwrap();
    assert_eq!(config.listen.len(), 3);
    assert_eq!((config.stathz, config.profhz), (16, 160));
    assert_eq!(config.mode, Mode::Prof);
    assert_eq!(config.drain, Duration::from_millis(1500));
    assert_eq!(config.access.hosts, ["node7.lan"]);
    assert_eq!(config.history.memory, Size(1 << 30));
    assert_eq!(config.history.dir.as_deref(), Some(Path::new("/var/lib/p")));
    assert_eq!(config.push.url.as_deref(), Some("https://push.lan/x?y=1"));
    assert_eq!(config.push.kind, PushKind::Otlp);
    assert_eq!(config.push.spool_bytes, Size(2 << 20));
    assert_eq!(config.push.labels["a.b"], "\"q\"");
    // And what is shown of it means the same.
    assert_eq!(parse(&config.to_string()), Ok(config));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, wanted) in [
        (
            "\nstathz = 0\n",
            "p.toml:2: stathz is 0: it must be a whole number from 1 to 1000",
        ),
        (
            "stathz = \"97\"",
            "p.toml:1: stathz is \"97\": it must be a whole number from 1 to 1000",
        ),
        (
            "mode = 3",
            "p.toml:1: mode is 3: it must be \"split\" or \"prof\"",
        ),
        (
            "drain = \"3 fortnights\"",
            "p.toml:1: drain is \"3 fortnights\": it must be a time from \"100ms\" to \"1m\"",
        ),
        (
            "[history]\nmemory = \"1TiB\"",
            "p.toml:2: history.memory is \"1TiB\": it must be a size in KiB, MiB or GiB, from \
             \"1MiB\" to \"16GiB\"",
        ),
        (
            "[limits]\n\nconections = 3",
            "p.toml:3: there is no key limits.conections: did you mean limits.connections?",
        ),
        (
            "[limit]\nconnections = 3",
            "p.toml:1: there is no table [limit]: `profil-bpf serve --check` shows all that there are",
        ),
        (
            "token_file = \"/t\"",
            "p.toml:1: there is no key token_file: did you mean access.token_file?",
        ),
        ("push = 1", "p.toml:1: [push] must be a table"),
        (
            "[access]\ntoken_file = \"t\"",
            "p.toml:2: access.token_file is \"t\": it must be an absolute path, in quotes",
        ),
        (
            "listen = [\"localhost:9097\"]",
            "p.toml:1: listen is a list: it must be a list of addresses with ports, such as \
             [\"127.0.0.1:9097\", \"[::1]:9097\"]",
        ),
        (
            "profhz = 1000",
            "p.toml:1: profhz is 1000: it must be a multiple of stathz, 97, such as 1067",
        ),
        (
            "stathz = 100",
            "p.toml:1: profhz is 970: it must be a multiple of stathz, 100, such as 1000",
        ),
        (
            "[access]\ntls_key = \"/k\"",
            "p.toml:2: access.tls_cert and access.tls_key must both be set, or neither",
        ),
        (
            "[access]\nclient_ca = \"/k\"",
            "p.toml:2: access.client_ca is of use only with access.tls_cert and access.tls_key",
        ),
        (
            "stathz = 1\nstathz = 2",
            "p.toml:2: this is not TOML: duplicate key",
        ),
        (
            "\"\\u001b[31m\" = 2",
            "p.toml:1: there is no key \\u{1b}[31m: `profil-bpf serve --check` shows all that there \
             are",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_in_order() {
    let error = parse("[push]\nurl = \"u:p@x\"\ninterval = 3\n[pin]\nstate = 7").unwrap_err();
    let lines: Vec<&str> = error.lines().collect();
    let starts = [
        "p.toml:2: push.url",
        "p.toml:3: push.interval",
        "p.toml:5: pin.state",
    ];
    assert_eq!(lines.len(), 3, "{error}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn urls_with_a_password_are_refused() {
    for url in [
        "https://me:secret@x/",
        "http://token@x",
        "ftp://x",
        "http://",
        "https://x y",
    ] {
        let error = parse(&format!("push.url = \"{url}\"")).unwrap_err();
        assert!(error.contains("without a user or a password"), "{error}");
    }
    assert!(parse("push.url = \"https://x/a@b\"").is_ok());
}

#[test]
fn only_loopback_is_open_to_everybody() {
    let open = "listen = [\"127.0.0.1:1\", \"0.0.0.0:9097\"]\n";
    let cert = "access.tls_cert = \"/c\"\naccess.tls_key = \"/k\"\n";
    let token = "access.token_file = \"/t\"\n";
    let mutual = "access.client_ca = \"/m\"\n";
    let insecure = "access.insecure_token = true\n";
    for (more, wanted) in [
        (
            vec![],
            Some("p.toml:1: listen: 0.0.0.0:9097 can be reached from other machines"),
        ),
        (
            vec![cert],
            Some("p.toml:1: listen: 0.0.0.0:9097 can be reached from other machines"),
        ),
        (
            vec![insecure],
            Some("p.toml:1: listen: 0.0.0.0:9097 can be reached"),
        ),
        (
            vec![token],
            Some("p.toml:1: listen: the token would travel to 0.0.0.0:9097 unencrypted"),
        ),
        (vec![token, insecure], None),
        (vec![token, cert], None),
        (vec![cert, mutual], None),
        (vec![token, cert, mutual], None),
    ] {
        let parsed = parse(&(open.to_owned() + &more.concat()));
        match wanted {
            None => assert!(parsed.is_ok(), "{more:?}: {parsed:?}"),
            Some(wanted) => {
                let error = parsed.unwrap_err();
                assert!(error.starts_with(wanted), "{error}");
                assert_eq!(error.lines().count(), 1, "{error}");
            }
        }
    }
}

#[test]
fn flags_win() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(
        &file,
        "stathz = 10\nprofhz = 100\n[limits]\nconnections = 3\n",
    )
    .unwrap();
    let flags = [
        flag("--stathz", "stathz", "20"),
        flag("--listen", "listen", "127.0.0.1:0, [::1]:0"),
        flag("--label", "push.labels", "a=1,b=x=y"),
        flag("--set", "limits.profiles", "7"),
        flag("--pin", "pin.dir", "relative"),
    ];
    let config = Config::read(Some(file.path()), &flags).unwrap();
    assert_eq!((config.stathz, config.profhz), (20, 100));
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.limits.connections, 3);
    assert_eq!(config.limits.profiles, 7);
    assert_eq!(config.push.labels["b"], "x=y");
    assert!(config.pin.dir.unwrap().is_absolute());

    let flags = [
        flag("--stathz", "stathz", "x"),
        flag("--set", "limits.conections", "1"),
    ];
    let error = Config::read(None, &flags).unwrap_err().to_string();
    assert_eq!(
        error,
        "--set: there is no key limits.conections: did you mean limits.connections?\n\
         --stathz: stathz is x: it must be a whole number from 1 to 1000"
    );
    let flags = [flag("--stathz", "stathz", "21")];
    let error = Config::read(Some(file.path()), &flags)
        .unwrap_err()
        .to_string();
    assert!(error.ends_with(":2: profhz is 100: it must be a multiple of stathz, 21, such as 105"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Config::read(Some(Path::new("/nowhere/p.toml")), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/nowhere/p.toml: cannot read the configuration: No such file or directory (os error 2)"
    );
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    for odd in [Path::new("/dev/zero"), dir.path(), &pipe] {
        let error = Config::read(Some(odd), &[]).unwrap_err();
        assert!(error.to_string().ends_with("it is not a regular file"));
    }
    assert_eq!(
        Config::read(Some(Path::new("/dev/null")), &[]),
        Ok(Config::default())
    );
}

#[test]
fn a_new_configuration_is_taken_over_as_far_as_that_goes() {
    let old = Config::default();
    let new = parse("stathz = 10\nlimits.connections = 3\npush.url = \"http://x\"").unwrap();
    let changes = old.changes(&new);
    assert_eq!(changes.taken, ["limits.connections", "push.url"]);
    assert_eq!(changes.restart, ["stathz"]);
    assert_eq!(changes.now.stathz, 97);
    assert_eq!(changes.now.limits.connections, 3);
    assert_eq!(
        changes.to_string(),
        "taken over: limits.connections, push.url; for a restart: stathz"
    );
    let none = old.changes(&old);
    assert_eq!(none.now, old);
    assert_eq!(
        none.to_string(),
        "no key that can change while it runs has changed"
    );
}

#[test]
fn what_keeps_an_address_closed_stays_as_long_as_the_address() {
    let old =
        parse("listen = [\"0.0.0.0:1\"]\naccess.token_file = \"/t\"\naccess.insecure_token = true");
    let old = old.unwrap();
    let changes = old.changes(&Config::default());
    assert_eq!(changes.now.listen, old.listen);
    assert_eq!(changes.now.access, old.access);
    assert_eq!(changes.taken, Vec::<&str>::new());
    assert_eq!(
        changes.restart,
        ["listen", "access.token_file", "access.insecure_token"]
    );
}

#[test]
fn the_nearest_key_is_found() {
    assert_eq!(nearest("stathertz"), Some("stathz"));
    assert_eq!(nearest("limit.connections"), Some("limits.connections"));
    assert_eq!(nearest("push.token"), Some("push.token_file"));
    assert_eq!(nearest("push.token_files"), Some("push.token_file"));
    assert_eq!(nearest("xyzzy"), None);
    assert_eq!(nearest(""), None);
}

#[test]
fn names_of_keys_are_unique() {
    for (number, key) in KEYS.iter().enumerate() {
        assert!(KEYS[..number].iter().all(|other| other.name != key.name));
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn what_is_shown_means_the_same(
        stathz in 1_u32..1000,
        times in 1_u32..10,
        drain in 100_u64..60_000,
        memory in 1_u64 << 20..1 << 34,
        dir in "/[^\u{0}-\u{1f}\u{7f}-\u{9f}]{0,20}",
        value in "[^\u{0}-\u{1f}\u{7f}-\u{9f}]{0,20}",
        hosts in proptest::collection::vec("[a-z0-9.-]{1,8}", 0..4),
    ) {
        let mut config = Config {
            stathz,
            profhz: stathz * times,
            drain: Duration::from_millis(drain),
            ..Config::default()
        };
        config.history.memory = Size(memory);
        config.history.dir = Some(dir.into());
        config.access.hosts = hosts;
        config.push.labels.insert("a.b".to_owned(), value);
        prop_assert_eq!(parse(&config.to_string()), Ok(config));
    }

    #[test]
    fn no_value_makes_a_key_panic(key in 0..KEYS.len(), value in "(?s).{0,30}") {
        let _ = Config::read(None, &[flag("--set", KEYS[key].name, &value)]);
        let _ = parse(&format!("{} = {value}", KEYS[key].name));
    }
}
