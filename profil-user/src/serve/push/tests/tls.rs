//! Receivers whose certificates are not the public's.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

use profil_tests::{Process, require_programs};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use super::{bodies, config, numbered, pushed, receiver::Receiver, start, try_start, wait};

/// Makes an authority and a certificate by it for `localhost`.
fn make_certificates(directory: &Path) {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(directory);
        Process::start(&mut command)
            .finish(Duration::from_secs(20))
            .assert_code(0);
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!(
        "req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"
    ));
    openssl(&format!(
        "req -x509 {key} -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -CA ca.pem \
         -CAkey ca.key -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE"
    ));
}

#[test]
fn an_authority_of_ones_own_vouches_and_no_other() {
    require_programs!("openssl");
    let directory = tempfile::tempdir().unwrap();
    make_certificates(directory.path());
    let at = |name: &str| directory.path().join(name);
    let chain = CertificateDer::pem_file_iter(at("cert.pem"))
        .unwrap()
        .map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(at("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .unwrap();
    let server = Arc::new(server);
    let receiver = Receiver::through(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&server)).unwrap();
        Box::new(StreamOwned::new(connection, stream))
    });
    let mut config = config(
        &format!("https://localhost:{}", receiver.address.port()),
        None,
    );
    let (pusher, lines) = start(config.clone());
    pusher.offer(pushed(1));
    wait(&pusher, |figures| figures.failed > 0);
    assert!(lines.all()[0].contains("certificate"), "{:?}", lines.all());
    assert_eq!(pusher.stop().sent, 0);

    config.ca_file = Some(at("ca.pem"));
    let (pusher, _) = start(config.clone());
    pusher.offer(pushed(2));
    wait(&pusher, |figures| figures.sent == 1);
    assert_eq!(bodies(&receiver.asked()), numbered([2]));

    for bad in ["ca.key", "nowhere", "."] {
        config.ca_file = Some(at(bad));
        let said = try_start(config.clone()).0.unwrap_err().to_string();
        assert!(said.starts_with("cannot read certificates from "), "{said}");
    }
}
