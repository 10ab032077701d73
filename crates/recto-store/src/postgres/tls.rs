//! Encrypted connections to a server: what an address asks for by `sslmode` and `sslrootcert`, as
//! PostgreSQL's own programs read them, and what the client needs for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use postgres::tls::{MakeTlsConnect, TlsConnect};
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
pub(super) struct TlsOptions {
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
    options: &TlsOptions,
    url: &str,
) -> Result<Option<TlsConnector>, StoreError> {
    let wrong = |why: String| StoreError::Untrusted { url: url.to_owned(), why };
    let provider = Arc::new(ring::default_provider());
    let trusting = || {
        let roots = Arc::new(load_roots(options.roots.as_deref()).map_err(wrong)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
        verifier.build().map_err(|error| wrong(error.to_string()))
    };
    let verifier: Arc<dyn ServerCertVerifier> = match options.mode {
        TlsMode::Disable => return Ok(None),
        TlsMode::Require => Arc::new(AnyCertificate { provider: provider.clone() }),
        TlsMode::VerifyCa => Arc::new(AnyName { trusted: trusting()? }),
        TlsMode::VerifyFull => trusting()?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let is_begun = Arc::default();
    Ok(Some(TlsConnector { connect: MakeRustlsConnect::new(config), is_begun }))
}

/// Encrypts connections, and knows whether the server let it begin: the client tells in words alone
/// that it did not.
#[derive(Clone)]
pub(super) struct TlsConnector {
    connect: MakeRustlsConnect,
    is_begun: Arc<AtomicBool>,
}

impl TlsConnector {
    /// One for a single connection.
    pub(super) fn for_connection(&self) -> Self {
        TlsConnector { connect: self.connect.clone(), is_begun: Arc::default() }
    }

    /// Whether the server said that it encrypts connections.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }
}

impl<S> MakeTlsConnect<S> for TlsConnector
where
    MakeRustlsConnect: MakeTlsConnect<S>,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = NotedConnect<<MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect>;
    type Error = <MakeRustlsConnect as MakeTlsConnect<S>>::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self::TlsConnect, Self::Error> {
        let connect = self.connect.make_tls_connect(domain)?;
        Ok(NotedConnect { connect, is_begun: self.is_begun.clone() })
    }
}

/// Encrypts one connection, and notes that it came to that.
pub(super) struct NotedConnect<C> {
    connect: C,
    is_begun: Arc<AtomicBool>,
}

impl<S, C: TlsConnect<S>> TlsConnect<S> for NotedConnect<C> {
    type Stream = C::Stream;
    type Error = C::Error;
    type Future = C::Future;

    fn connect(self, stream: S) -> Self::Future {
        self.is_begun.store(true, Ordering::Release);
        self.connect.connect(stream)
    }
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

/// Lets any certificate pass, as `require` does. The handshake itself is checked all the same.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
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

/// Lets a certificate pass that is trusted, whatever the name in it, as `verify-ca` does.
#[derive(Debug)]
struct AnyName {
    trusted: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.trusted.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
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
        self.trusted.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.trusted.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.supported_verify_schemes()
    }
}
