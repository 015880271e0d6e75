//! The server of a running router's metrics.

use std::sync::Arc;

use fairlane_console::Failure;
use tracing::{error, info, warn};

use super::http::{self, Exporter, Place, Server};
use super::settings::Settings;
use crate::args::router::Metrics;

/// A server at the place of the settings. Dropping it ends the server.
pub(super) struct MetricsServer {
    exporter: Arc<Exporter>,
    /// `None` if there is to be none, or the default place is not available.
    server: Option<Server>,
}

impl MetricsServer {
    /// Starts a server at the place of `settings`. A default place that is not available is no error.
    pub(super) fn start(settings: &Settings, exporter: &Arc<Exporter>) -> Result<Self, Failure> {
        Ok(Self { exporter: Arc::clone(exporter), server: serve(settings, exporter)? })
    }

    /// Starts another server if this one has failed.
    pub(super) fn look(&mut self, settings: &Settings) {
        if self.server.as_ref().is_some_and(Server::has_failed) {
            error!("the server of metrics has failed, which is a defect of Fairlane; another is started");
            self.server = None;
            self.server = serve(settings, &self.exporter).unwrap_or_else(|failure| {
                error!("{}", failure.line());
                None
            });
        }
    }
}

fn serve(settings: &Settings, exporter: &Arc<Exporter>) -> Result<Option<Server>, Failure> {
    let place = match &settings.metrics {
        Metrics::Off => return Ok(None),
        Metrics::At(address) => Place::Tcp(*address),
        Metrics::Socket(path) => Place::Socket(path.clone()),
        Metrics::Usual => match settings.socket() {
            Ok(path) => Place::Socket(path),
            Err(error) => {
                warn!("no metrics: {error}; --metrics 9277 serves them at a port of loopback");
                return Ok(None);
            }
        },
    };
    match http::serve(&place, Arc::clone(exporter)) {
        Ok(server) => {
            info!(address = %server.place, "serving /metrics, and /state for fairlane top");
            Ok(Some(server))
        }
        Err(error) if settings.metrics == Metrics::Usual => {
            warn!("no metrics, since {place} is not available: {error}; --metrics takes another place, or off");
            Ok(None)
        }
        Err(error) => {
            Err(Failure::new(format!("cannot serve metrics at {place}: {error}"), "choose another --metrics"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::sync::Mutex;
    use std::thread;

    use super::super::example;
    use super::*;

    /// Returns the first line of the answer at a socket.
    fn answer(path: &Path) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(path)?;
        stream.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// A server whose thread has panicked leaves its socket behind. Would catch a router that has no metrics from then
    /// on, a new server that is refused because of what the old one has left, one that is replaced although it works,
    /// and one that goes on after its end.
    #[test]
    fn a_server_that_fails_is_replaced() {
        let path = std::env::temp_dir().join(format!("fairlane-metrics-{}.sock", std::process::id()));
        let settings = Settings { metrics: Metrics::Socket(path.clone()), ..example::settings() };
        let exporter = Exporter::new(Vec::new(), Arc::new(Mutex::new(settings.clone())));
        let mut metrics = MetricsServer::start(&settings, &exporter).unwrap();
        assert_eq!(answer(&path).unwrap(), "HTTP/1.1 404 Not Found");
        metrics.look(&settings);
        assert_eq!(answer(&path).unwrap(), "HTTP/1.1 404 Not Found");

        metrics.server = None;
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let failing = Server::start(Place::Socket(path.clone()), http::runtime().unwrap(), || async {
            panic!("as a defect would")
        });
        metrics.server = Some(failing.unwrap());
        while !metrics.server.as_ref().is_some_and(Server::has_failed) {
            thread::yield_now();
        }
        assert!(answer(&path).is_err());
        metrics.look(&settings);
        assert_eq!(answer(&path).unwrap(), "HTTP/1.1 404 Not Found");
        drop(metrics);
        assert!(answer(&path).is_err() && !path.exists());
    }
}
