//! TLS, and certificates of clients.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tempfile::TempDir;

use super::{Got, Patience, SHORT, Served, eventually, head, rest};
use crate::serve::config::{Access, Limits};

macro_rules! pem {
    ($name:literal) => {
        include_str!(concat!("certificates/", $name))
    };
}

/// Certificates and keys as files, keys with the right mode.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        for (name, pem) in [
            ("ca.crt", pem!("ca.crt")),
            ("server.crt", pem!("server.crt")),
            ("server.key", pem!("server.key")),
            ("stranger.crt", pem!("stranger.crt")),
            ("stranger.key", pem!("stranger.key")),
        ] {
            files.write(name, pem, 0o600);
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str, mode: u32) {
        fs::write(self.path(name), content).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn access(&self, client_ca: Option<&str>) -> Access {
        Access {
            tls_cert: Some(self.path("server.crt")),
            tls_key: Some(self.path("server.key")),
            client_ca: client_ca.map(|name| self.path(name)),
            ..Access::default()
        }
    }
}

/// Handshakes alone are to be short here.
fn patience() -> Patience {
    Patience {
        handshake: SHORT.handshake,
        ..Patience::default()
    }
}

/// Asks for a page with a certificate or without; `None` if the connection does not come about.
fn ask(served: &Served, trusted: &str, own: Option<(&str, &str)>) -> Option<Got> {
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(trusted)).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder
                .with_client_auth_cert(vec![certificate(chain)], key)
                .unwrap()
        }
    };
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, served.connect());
    let request = head("GET", "/noise?bytes=300000", &["Connection: close"]);
    stream.write_all(request.as_bytes()).ok()?;
    let mut first = [0];
    stream.read_exact(&mut first).ok()?;
    Some(Got(char::from(first[0]).to_string() + &rest(&mut stream)))
}

#[test]
fn who_trusts_the_certificate_is_served() {
    let files = Files::new();
    let served = Served::new(&files.access(None), &Limits::default(), patience());
    let got = ask(&served, pem!("ca.crt"), None).unwrap();
    assert_eq!((got.code(), got.body().len()), (200, 300_000));
    assert!(ask(&served, pem!("stranger.crt"), None).is_none());
    // Nothing is said in plain text, nor waited for.
    assert!(!served.exchange(head("GET", "/", &[])).contains("HTTP"));
    assert!(!rest(&mut served.connect()).contains("HTTP"));
    eventually(|| served.handle.counts().handshakes_failed == 3);
    assert_eq!(served.handle.counts().answered, 1);
}

#[test]
fn only_clients_with_a_certificate_of_the_ca_get_in() {
    let files = Files::new();
    let served = Served::new(
        &files.access(Some("ca.crt")),
        &Limits::default(),
        patience(),
    );
    let ca = pem!("ca.crt");
    let client = (pem!("client.crt"), pem!("client.key"));
    assert_eq!(ask(&served, ca, Some(client)).unwrap().code(), 200);
    assert!(ask(&served, ca, None).is_none());
    let stranger = (pem!("stranger.crt"), pem!("stranger.key"));
    assert!(ask(&served, ca, Some(stranger)).is_none());
    assert_eq!(served.handle.counts().answered, 1);
    // Certificates are read again.
    let other = files.access(Some("stranger.crt"));
    served.handle.reload(&other, &Limits::default()).unwrap();
    assert!(ask(&served, ca, Some(client)).is_none());
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let files = Files::new();
    let served = Served::new(&files.access(None), &Limits::default(), patience());
    let error = |access: &Access| {
        let error = served
            .handle
            .reload(access, &Limits::default())
            .unwrap_err();
        error
            .to_string()
            .replace(files.0.path().to_str().unwrap(), "")
    };
    let access = files.access(Some("nowhere"));
    assert_eq!(
        error(&access),
        "cannot use \"/nowhere\" for TLS: No such file or directory (os error 2)"
    );
    files.write("empty", "", 0o600);
    assert_eq!(
        error(&files.access(Some("empty"))),
        "cannot use \"/empty\" for TLS: there is no certificate in it, in PEM"
    );
    let mut access = files.access(None);
    access.tls_key = Some(files.path("stranger.key"));
    assert!(error(&access).starts_with("cannot use \"/stranger.key\" for TLS: "));
    access.tls_key = Some(files.path("ca.crt"));
    assert!(error(&access).starts_with("cannot use \"/ca.crt\" for TLS: it is not the PEM "));
    files.write("server.key", pem!("server.key"), 0o644);
    assert_eq!(
        error(&files.access(None)),
        "cannot use \"/server.key\" for TLS: its mode is 0644, so everybody may read or write it; \
         `chmod 0640` it"
    );
    // All the while the old ones hold.
    assert_eq!(ask(&served, pem!("ca.crt"), None).unwrap().code(), 200);
}
