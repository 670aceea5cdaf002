//! TLS, by rustls: our certificate, and whose we ask for.

use std::{path::Path, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tokio_rustls::TlsAcceptor;

use super::{
    ServeError,
    secret::{self, ANYBODY, OTHERS},
};
use crate::serve::config::Access;

/// What encrypts connections, if that is asked for.
pub(super) fn acceptor(access: &Access) -> Result<Option<TlsAcceptor>, ServeError> {
    let (Some(cert), Some(key)) = (&access.tls_cert, &access.tls_key) else {
        return Ok(None);
    };
    let certs = certificates(cert)?;
    let private = secret::read(key, OTHERS)
        .and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).map_err(|error| said(&error)));
    let private = private.map_err(|why| unusable(key, why))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(cert, error.to_string()))?;
    let builder = match &access.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(ca)? {
                let added = roots.add(root);
                added.map_err(|error| unusable(ca, error.to_string()))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(
                verifier.map_err(|error| unusable(ca, error.to_string()))?,
            )
        }
    };
    let mut config = builder
        .with_single_cert(certs, private)
        .map_err(|error| unusable(key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config).into()))
}

/// The certificates in a PEM file: at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let pem = secret::read(path, ANYBODY).map_err(|why| unusable(path, why))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let all = all.map_err(|error| unusable(path, said(&error)))?;
    if all.is_empty() {
        return Err(unusable(
            path,
            "there is no certificate in it, in PEM".to_owned(),
        ));
    }
    Ok(all)
}

fn said(error: &rustls::pki_types::pem::Error) -> String {
    format!("it is not the PEM that is wanted: {error}")
}

fn unusable(path: &Path, why: String) -> ServeError {
    ServeError::Tls {
        path: path.to_owned(),
        why,
    }
}
