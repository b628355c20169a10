//! How connections are encrypted, and whom they trust.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;

use super::address::{Address, SslMode};

/// Why nothing can be encrypted as the address wants it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has no certificate or key in it.
    #[error("the TLS of the journal: {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// What is the matter with it.
        cause: String,
    },
    /// The certificates do not go together, or the system has none.
    #[error("the TLS of the journal: {cause}")]
    Settings {
        /// What is the matter.
        cause: String,
    },
}

fn settings(error: impl ToString) -> TlsError {
    TlsError::Settings {
        cause: error.to_string(),
    }
}

/// Takes a server for what it says it is, where the address says so: its name is not compared, or nothing is.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// By whom its certificate must be signed.
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let told =
            roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match told {
            // The chain is looked at before the name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            told => told,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn unreadable(path: &Path, cause: impl ToString) -> TlsError {
    TlsError::File {
        path: path.display().to_string(),
        cause: cause.to_string(),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, error))?;
    let found: Vec<_> = read
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(path, error))?;
    match found.is_empty() {
        true => Err(unreadable(path, "no certificate in it")),
        false => Ok(found),
    }
}

/// Returns who checks the certificate of the server.
fn verifier(
    address: &Address,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let roots = match &address.sslrootcert {
        // As libpq names the certificates of the system.
        Some(path) if path.as_os_str() != "system" => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots
                    .add(certificate)
                    .map_err(|error| unreadable(path, error))?;
            }
            let builder =
                WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
            Some(builder.build().map_err(settings)?)
        }
        _ => None,
    };
    Ok(match (address.sslmode, roots) {
        (SslMode::VerifyFull, Some(roots)) => roots,
        (SslMode::VerifyFull, None) => {
            Arc::new(Verifier::new(Arc::clone(provider)).map_err(settings)?)
        }
        (SslMode::Disable | SslMode::Prefer, _) => Arc::new(Lenient {
            provider: Arc::clone(provider),
            roots: None,
        }),
        (SslMode::Require | SslMode::VerifyCa, roots) => Arc::new(Lenient {
            provider: Arc::clone(provider),
            roots,
        }),
    })
}

/// Returns the settings of encrypted connections.
pub(super) fn config(address: &Address) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(settings)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(address, &provider)?);
    match &address.client_certificate {
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let read = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
            builder.with_client_auth_cert(chain, read).map_err(settings)
        }
        None => Ok(builder.with_no_client_auth()),
    }
}
