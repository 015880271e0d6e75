//! QUIC downloads by quinn-proto in Fairlane's simulator.
//!
//! Client and server are quinn-proto as it is, with TLS by rustls; only their clock and their network are simulated. So
//! a change of a transport's parameters or congestion control can be tried against many flows and any queue discipline,
//! in less than the time that it simulates.
#![forbid(unsafe_code)]

mod host;
mod watch;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use fairlane_qdisc::{Seed, Time};
use fairlane_sim::endpoint::Pair;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::pki_types::PrivateKeyDer;

use host::{Host, Role};
use watch::Shared;
pub use watch::{Hosts, Lost, Watch};

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
    address_changes: Vec<Time>,
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
        Ok(Self { client, server: Arc::new(server), start, address_changes: Vec::new() })
    }

    /// Changes the clients' addresses at these times, as when a telephone leaves the Wi-Fi: datagrams to the old
    /// address are lost, and the connection migrates (RFC 9000, section 9). By default never.
    ///
    /// Before the handshake is complete nothing can migrate (section 9): such a change loses the connection, once its
    /// idle timeout has passed. Rate and loss of the path are those of the scenario, where `steps` changes the rate at
    /// the same time.
    #[must_use]
    pub fn with_address_changes(mut self, times: impl IntoIterator<Item = Time>) -> Self {
        self.address_changes = times.into_iter().collect();
        self.address_changes.sort_unstable();
        self
    }

    /// Returns the hosts of a flow: its sink connects to its source, which then sends a stream without end. `seed` is
    /// for quinn's random numbers.
    ///
    /// A connection that is lost stays so, and its flow delivers nothing more: [`watched`](Self::watched) tells.
    #[must_use]
    pub fn download(&self, seed: Seed) -> Pair {
        let (server, client) = self.hosts(seed);
        Pair::new(server, client)
    }

    /// Returns the hosts of a flow as [`download`](Self::download) does, and with them what tells about their
    /// connection, during and after the run.
    #[must_use]
    pub fn watched(&self, seed: Seed) -> (Pair, Hosts) {
        let (server, client) = self.hosts(seed);
        let (server, client) = (Shared::new(server), Shared::new(client));
        let hosts = Hosts { server: Watch::new(&server), client: Watch::new(&client) };
        (Pair::new(server, client), hosts)
    }

    fn hosts(&self, seed: Seed) -> (Host, Host) {
        let endpoint = |name, server| {
            let mut random = seed.stream(name);
            let bits = [(); 4].map(|()| random.bits().to_le_bytes());
            let mut config = EndpointConfig::default();
            config.rng_seed(bits.as_flattened().try_into().ok());
            Endpoint::new(Arc::new(config), server, true, None)
        };
        let client = Role::Client { config: self.client.clone(), address_changes: self.address_changes.clone().into() };
        (
            Host::new(self.start, endpoint("server", Some(Arc::clone(&self.server))), Role::Server { stream: None }),
            Host::new(self.start, endpoint("client", None), client),
        )
    }
}
