//! Encrypted connections to a server: what an address asks for by `sslmode` and `sslrootcert`, as
//! PostgreSQL's own programs read them, and what the client needs for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreError;

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TlsWish {
    pub(super) mode: TlsMode,
    /// The file of the certificates that are trusted; those of the system without it.
    pub(super) roots: Option<PathBuf>,
}

/// How sure a client wants to be of whom it talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum TlsMode {
    /// Nothing is encrypted.
    #[default]
    Disable,
    /// Encrypted, with whomever.
    Require,
    /// With somebody who has a certificate that is trusted.
    VerifyCa,
    /// With the host that the address names.
    VerifyFull,
}

impl TlsMode {
    const ALL: [TlsMode; 4] =
        [TlsMode::Disable, TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull];

    /// The mode of this name in an address.
    pub(super) fn find(name: &str) -> Option<Self> {
        TlsMode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in an address.
    pub(super) fn name(self) -> &'static str {
        match self {
            TlsMode::Disable => "disable",
            TlsMode::Require => "require",
            TlsMode::VerifyCa => "verify-ca",
            TlsMode::VerifyFull => "verify-full",
        }
    }
}

/// What the client needs to encrypt; nothing where it is not to.
pub(super) fn connector(
    wish: &TlsWish,
    url: &str,
) -> Result<Option<MakeRustlsConnect>, StoreError> {
    if wish.mode == TlsMode::Disable {
        return Ok(None);
    }
    let wrong = |why: String| StoreError::Untrusted { url: url.to_owned(), why };
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match wish.mode {
        TlsMode::Disable | TlsMode::Require => {
            Arc::new(LenientVerifier { provider: provider.clone(), chain: None })
        }
        TlsMode::VerifyCa | TlsMode::VerifyFull => {
            let roots = Arc::new(load_roots(wish.roots.as_deref()).map_err(wrong)?);
            let chain = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            let chain = chain.build().map_err(|error| wrong(error.to_string()))?;
            match wish.mode {
                TlsMode::VerifyFull => chain,
                _ => Arc::new(LenientVerifier { provider: provider.clone(), chain: Some(chain) }),
            }
        }
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Some(MakeRustlsConnect::new(config)))
}

/// The certificates that are trusted.
fn load_roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let cannot = |error: &dyn fmt::Display| {
                format!("the certificates of `{}` can't be read: {error}", path.display())
            };
            let read = CertificateDer::pem_file_iter(path).map_err(|error| cannot(&error))?;
            for certificate in read {
                let certificate = certificate.map_err(|error| cannot(&error))?;
                roots.add(certificate).map_err(|error| cannot(&error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match roots.is_empty() {
        true => Err("no certificate is trusted".to_owned()),
        false => Ok(roots),
    }
}

/// Lets pass what `require` and `verify-ca` let pass: any certificate, or one that is trusted,
/// whatever the name in it. The handshake itself is checked in any case.
#[derive(Debug)]
struct LenientVerifier {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
