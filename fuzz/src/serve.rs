//! What the daemon reads: addresses of requests and the tokens with them, and its configuration.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use profil_user::hostile;

use crate::{Target, memory};

pub(crate) const REQUEST: Target = Target {
    name: "request",
    seeds: requests,
    run: read_request,
};

pub(crate) const CONFIGURATION: Target = Target {
    name: "configuration",
    seeds: configurations,
    run: read_configuration,
};

/// Memory as a multiple of the input's bytes: names of a query are copied, and a text of one letter
/// takes the room of several words.
const REQUEST_TIMES: usize = 64;
/// A TOML value of a letter or two is a node with its place, in a list that doubles.
const CONFIGURATION_TIMES: usize = 1024;
const A_LITTLE: usize = 64 << 10;

fn within_bounds<T>(input: &[u8], times: usize, read: impl FnOnce() -> T) -> T {
    let (read, most) = memory::most_during(read);
    let bound = times * input.len() + A_LITTLE;
    assert!(most <= bound, "{most} bytes of memory for {}", input.len());
    read
}

fn requests() -> Vec<Vec<u8>> {
    [
        "/",
        "/debug/pprof/profile?seconds=30&pid=4242",
        "/..a/.%2eb/c.%2E/d",
        "/a%20b/%C3%A9?name=%E2%82%AC+x&&y&z=",
        "Bearer 0123456789abcdef",
        "Basic dTpjb3JyZWN0LWhvcnNlLWJhdHRlcnk=",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn read_request(input: &[u8]) -> Vec<u64> {
    let asked = within_bounds(input, REQUEST_TIMES, || hostile::request(input));
    if let Some(path) = &asked.path {
        assert!(path.starts_with('/'), "{path:?}");
        let mut parts = path.split('/');
        assert!(!parts.any(|part| matches!(part, "." | "..")), "{path:?}");
        assert!(!path.chars().any(char::is_control), "{path:?}");
    }
    if let Some(token) = &asked.token {
        assert!(token.len() < input.len(), "a token from nowhere");
    }
    let pairs = asked.query.as_ref().map(Vec::len);
    assert!(pairs.is_none_or(|pairs| pairs <= input.len()), "{pairs:?}");
    let mut outcome = DefaultHasher::new();
    let path = asked.path.as_ref();
    path.map(|path| (path.len().ilog2(), path.matches('/').count()))
        .hash(&mut outcome);
    pairs.hash(&mut outcome);
    asked.token.map(|token| token.len()).hash(&mut outcome);
    vec![outcome.finish()]
}

fn configurations() -> Vec<Vec<u8>> {
    let sample = include_str!("../../packaging/profil-bpf.toml");
    let lines = sample.lines().map(|line| {
        let key = line.strip_prefix("#! ").or_else(|| line.strip_prefix('#'));
        key.filter(|key| !key.starts_with(' ')).unwrap_or(line)
    });
    let keys = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    let whole = keys.collect::<Vec<_>>().join("\n");
    assert!(hostile::configuration(&whole).is_ok(), "our own sample");
    [
        &whole[..],
        "listen = [\"[::1]:0\"]\nstathz = 0x61\n[limits]\nconnections = 1",
        "push = { url = \"http://x\", labels = { a = \"b\\\\\" } }\nhistory.memory = \"3GiB\"",
        "drain = \"1s 5ms\"\n[[listen]]\na.b.c = [[[1]], {x = 1979-05-27T07:32:00Z}]",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn read_configuration(input: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(input);
    let read = within_bounds(input, CONFIGURATION_TIMES, || hostile::configuration(&text));
    let mut outcome = DefaultHasher::new();
    match read {
        Ok(config) => {
            let shown = config.to_string();
            let again = hostile::configuration(&shown);
            assert_eq!(again.as_ref(), Ok(&config), "{shown}");
            let open = config
                .listen
                .iter()
                .find(|address| !address.ip().to_canonical().is_loopback());
            let access = &config.access;
            let is_closed = access.token_file.is_some() || access.client_ca.is_some();
            assert!(open.is_none() || is_closed, "{shown}");
            config.changes(&Default::default()).taken.hash(&mut outcome);
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            for problem in &error.problems {
                let line = problem.to_string();
                assert!(line.starts_with("input:"), "{line}");
                assert!(!line.contains(['\n', '\u{1b}']), "{line:?}");
                assert!(line.len() <= 2048, "{line}");
                // Which complaint it is, without the names and numbers in it.
                let kind = line.split(": ").last().unwrap_or_default();
                kind.chars().take(24).collect::<String>().hash(&mut outcome);
            }
        }
    }
    vec![outcome.finish()]
}
