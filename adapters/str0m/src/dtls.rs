//! DTLS by dimpl, whose timers take their random numbers from the seed.

use std::sync::Arc;
use std::time::Instant;

use dimpl::{Config, Dtls};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};
use str0m::crypto::dtls::{
    DtlsCert, DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, DtlsVersion, ProtocolVersion,
};
use str0m::crypto::{CryptoError, CryptoProvider};

use crate::srtp::Ciphers;

/// Returns str0m's cryptography: this DTLS, and the [`Ciphers`].
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        srtp_provider: &Ciphers,
        sha1_hmac_provider: &Ciphers,
        sha256_provider: &Ciphers,
        dtls_provider: &Seeded,
    }
}

#[derive(Debug)]
struct Seeded;

struct Instance(Dtls);

impl DtlsProvider for Seeded {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).ok()?;
        let certificate = CertificateParams::new([]).ok()?.self_signed(&key).ok()?;
        Some(DtlsCert { certificate: certificate.der().to_vec(), private_key: key.serialize_der() })
    }

    fn new_dtls(
        &self,
        certificate: &DtlsCert,
        now: Instant,
        version: DtlsVersion,
        mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        // ICE has verified the addresses. The host has seeded `fastrand`.
        let mut config = Config::builder().use_server_cookie(false).dangerously_set_rng_seed(fastrand::u64(..));
        if let Some(mtu) = mtu {
            config = config.mtu(mtu);
        }
        let config = Arc::new(config.build().map_err(|error| CryptoError::Other(error.to_string()))?);
        let new = match version {
            DtlsVersion::Dtls13 => Dtls::new_13,
            DtlsVersion::Auto => Dtls::new_auto,
            _ => Dtls::new_12,
        };
        Ok(Box::new(Instance(new(config, certificate.clone(), now))))
    }
}

impl DtlsInstance for Instance {
    fn set_active(&mut self, active: bool) {
        self.0.set_active(active);
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        self.0.handle_packet(packet)
    }

    fn poll_output<'a>(&mut self, buffer: &'a mut [u8]) -> DtlsOutput<'a> {
        self.0.poll_output(buffer)
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.0.handle_timeout(now)
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<(), DtlsImplError> {
        self.0.send_application_data(data)
    }

    fn is_active(&self) -> bool {
        self.0.is_active()
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.0.protocol_version()
    }

    fn is_closing(&self) -> bool {
        self.0.is_closing()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        self.0.close()
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}
