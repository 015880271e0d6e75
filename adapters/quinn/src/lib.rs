//! QUIC downloads by quinn-proto in Fairlane's simulator.
//!
//! Client and server are quinn-proto as it is, with TLS by rustls; only their clock and their network are simulated. So
//! a change of a transport's parameters or congestion control can be tried against many flows and any queue discipline,
//! in less than the time that it simulates.
#![forbid(unsafe_code)]

mod host;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use fairlane_qdisc::Seed;
use fairlane_sim::endpoint::Pair;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::pki_types::PrivateKeyDer;

use host::{Host, Role};

/// The name in the certificate.
const NAME: &str = "localhost";

/// Makes the two hosts of a download.
///
/// A run is repeatable, packet by packet, if the congestion control is. Keys are drawn by the system, but have the same
/// size each time: the certificate is of Ed25519, with a fixed serial number. quinn's BBR draws from the system.
#[derive(Clone, Debug)]
pub struct Quinn {
    client: ClientConfig,
    server: Arc<ServerConfig>,
    start: Instant,
}

impl Quinn {
    /// Creates a certificate, and configures both hosts with `transport`: windows, congestion control, ECN and the
    /// like.
    ///
    /// # Errors
    /// The system has no random numbers for the certificate's key.
    pub fn new(transport: TransportConfig) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let key = KeyPair::generate_for(&PKCS_ED25519)?;
        let mut certificate = CertificateParams::new([NAME.to_owned()])?;
        certificate.serial_number = Some(SerialNumber::from_slice(&[1]));
        let certificate = certificate.self_signed(&key)?.der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone())?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        // Without tickets: each handshake is a whole one, also in a second run.
        let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        tls.resumption = Resumption::disabled();
        let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
        let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
        tls.send_tls13_tickets = 0;
        let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
        let transport = Arc::new(transport);
        client.transport_config(Arc::clone(&transport));
        server.transport_config(transport);
        #[allow(
            clippy::disallowed_methods,
            reason = "quinn tells the time by an `Instant`, and only differences matter"
        )]
        let start = Instant::now();
        Ok(Self { client, server: Arc::new(server), start })
    }

    /// Returns the hosts of a flow: its sink connects to its source, which then sends a stream without end. `seed` is
    /// for quinn's random numbers.
    #[must_use]
    pub fn download(&self, seed: Seed) -> Pair {
        let endpoint = |name, server| {
            let mut random = seed.stream(name);
            let bits = [(); 4].map(|()| random.bits().to_le_bytes());
            let mut config = EndpointConfig::default();
            config.rng_seed(bits.as_flattened().try_into().ok());
            Endpoint::new(Arc::new(config), server, true, None)
        };
        Pair::new(
            Host::new(self.start, endpoint("server", Some(Arc::clone(&self.server))), Role::Server { stream: None }),
            Host::new(self.start, endpoint("client", None), Role::Client { config: self.client.clone() }),
        )
    }
}
