//! Whom the client trusts, and how it encrypts.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::gateway::error::Error;
use crate::gateway::wire::text::clean;

/// Returns the settings of encrypted connections. `encrypted` is whether there are any.
pub(in crate::gateway) fn config(
    ca_file: Option<&Path>,
    encrypted: bool,
) -> Result<ClientConfig, Error> {
    // An error means that a provider is installed already, which serves as well.
    let _ = ring::default_provider().install_default();
    let provider = CryptoProvider::get_default()
        .map_or_else(|| Arc::new(ring::default_provider()), Arc::clone);
    let refused = |error: rustls::Error| Error::Client(clean(&error.to_string()));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(refused)?;
    let mut config = if let Some(roots) = roots(ca_file)? {
        builder.with_root_certificates(roots).with_no_client_auth()
    } else if encrypted {
        let system = Verifier::new(provider).map_err(refused)?;
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(system))
            .with_no_client_auth()
    } else {
        // Without encryption no roots are needed, and a machine that has none is no obstacle.
        builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth()
    };
    // HTTP/2 could send a payment twice; it is not even offered.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Reads the certificates that alone are trusted, where a file of them is named.
fn roots(ca_file: Option<&Path>) -> Result<Option<RootCertStore>, Error> {
    let Some(path) = ca_file else {
        return Ok(None);
    };
    let pem = std::fs::read(path).map_err(|source| Error::CaFile {
        path: path.to_owned(),
        source,
    })?;
    let certificates: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .unwrap_or_default();
    if certificates.is_empty() {
        return Err(Error::NoCertificate {
            path: path.to_owned(),
        });
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| Error::Client(clean(&error.to_string())))?;
    }
    Ok(Some(roots))
}
