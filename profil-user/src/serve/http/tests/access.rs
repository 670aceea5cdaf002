//! Who is let in.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::PathBuf};

use tempfile::TempDir;

use super::{Patience, Served};
use crate::serve::{
    config::{Access, Limits},
    http::{ServeError, Server},
};

const TOKEN: &str = "correct horse battery";

fn token_file(dir: &TempDir, token: &str) -> PathBuf {
    let path = dir.path().join("token");
    fs::write(&path, token.replace(' ', "-")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn addresses_that_others_reach_are_not_served_to_everybody() {
    let any: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let error = Server::bind(&[any], &Access::default(), &Limits::default()).unwrap_err();
    assert!(matches!(error, ServeError::Exposed(_)));
    let line = error.to_string();
    assert!(
        line.starts_with("cannot listen: 0.0.0.0:0 can be reached from other machines: "),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    let dir = tempfile::tempdir().unwrap();
    let mut access = Access {
        token_file: Some(token_file(&dir, TOKEN)),
        ..Access::default()
    };
    let error = Server::bind(&[any], &access, &Limits::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot listen: the token would travel to 0.0.0.0:0 ")
    );
    access.insecure_token = true;
    Server::bind(&[any], &access, &Limits::default()).unwrap();
}

#[test]
fn an_address_that_is_taken_is_named() {
    let first = Server::bind(
        &["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()],
        &Access::default(),
        &Limits::default(),
    )
    .unwrap();
    let taken = first.addresses()[0];
    assert!(taken.port() != 0 && first.addresses()[1].is_ipv6());
    let error = Server::bind(&[taken], &Access::default(), &Limits::default()).unwrap_err();
    let wanted = format!(
        "cannot listen on {taken}; `ss -ltnp` shows who else \
         does, and --listen takes another address"
    );
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn only_the_token_opens() {
    let dir = tempfile::tempdir().unwrap();
    let access = Access {
        token_file: Some(token_file(&dir, TOKEN)),
        ..Access::default()
    };
    let served = Served::new(&access, &Limits::default(), Patience::default());
    let right = "Authorization: Bearer correct-horse-battery";
    for (headers, wanted) in [
        (vec![], 401),
        (vec![right], 200),
        // u:correct-horse-battery
        (
            vec!["Authorization: Basic dTpjb3JyZWN0LWhvcnNlLWJhdHRlcnk="],
            200,
        ),
        (vec!["Authorization: Bearer correct-horse-batterx"], 401),
        (vec!["Authorization: Bearer correct-horse-batter"], 401),
        (vec!["Authorization: Bearer"], 401),
        (vec!["Authorization: correct-horse-battery"], 401),
        (vec![right, right], 401),
        (vec![right, "Origin: http://evil.example"], 403),
        (vec![right, "Host: evil.example"], 421),
    ] {
        let got = served.get("/echo", &headers);
        assert_eq!(got.code(), wanted, "{headers:?}");
        assert!(!got.0.contains("battery"), "{}", got.0);
        let challenge = (wanted == 401).then_some("Basic realm=\"profil-bpf\", charset=\"UTF-8\"");
        assert_eq!(got.header("www-authenticate"), challenge);
    }
    assert!(!format!("{:?}", served.handle).contains("horse"));

    // Another token, while it runs; and what cannot be read changes nothing.
    token_file(&dir, "another token of some length");
    served.handle.reload(&access, &Limits::default()).unwrap();
    let new = "Authorization: Bearer another-token-of-some-length";
    assert_eq!(served.get("/echo", &[right]).code(), 401);
    assert_eq!(served.get("/echo", &[new]).code(), 200);
    token_file(&dir, "short");
    assert!(served.handle.reload(&access, &Limits::default()).is_err());
    assert_eq!(served.get("/echo", &[new]).code(), 200);
}

#[test]
fn names_of_others_do_not_lead_here() {
    let served = Served::default();
    assert_eq!(served.get("/", &["Host: evil.example"]).code(), 421);
    assert_eq!(served.get("/", &["Host: 192.168.7.7:9097"]).code(), 200);
    assert_eq!(served.get("/", &["Host: a", "Host: b"]).code(), 400);
    let without = served.exchange("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(without.starts_with("HTTP/1.1 400 "), "{without}");
    assert_eq!(served.get("http://evil.example/", &[]).code(), 421);
    assert_eq!(served.get("/", &["Host: node7.lan"]).code(), 421);
    let access = Access {
        hosts: vec!["node7.lan".to_owned()],
        ..Access::default()
    };
    served.handle.reload(&access, &Limits::default()).unwrap();
    assert_eq!(served.get("/", &["Host: node7.lan"]).code(), 200);
}

#[test]
fn pages_of_others_set_nothing_off() {
    let served = Served::default();
    let ours = "Origin: http://localhost";
    assert_eq!(served.ask("POST", "/echo", &[ours]).code(), 200);
    assert_eq!(
        served
            .ask("POST", "/echo", &["Origin: http://evil.example"])
            .code(),
        403
    );
    assert_eq!(
        served.get("/echo", &["Sec-Fetch-Site: cross-site"]).code(),
        403
    );
    assert_eq!(
        served.get("/echo", &["Sec-Fetch-Site: same-origin"]).code(),
        200
    );
}
