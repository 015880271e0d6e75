//! A router's counts over HTTP: `/metrics` for Prometheus, `/state` as JSON.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use fairlane_console::Stopwatch;
use tokio::runtime::Builder;

use super::remote::Remote;
use super::settings::Settings;
use super::state::state;
use super::{log, metrics};

/// The text format of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The current settings of a router; a reload changes them.
pub(super) type Current = Arc<Mutex<Settings>>;

/// The data for the answers.
struct Exporter {
    remote: Remote,
    settings: Current,
    since: Stopwatch,
}

impl Exporter {
    fn metrics(&self) -> String {
        metrics::text(self.remote.report(), &self.settings().path, Some(log::lines_dropped()))
    }

    fn state(&self) -> String {
        let state = state(&self.settings(), self.since, &self.remote.report());
        // Maps with text keys and plain numbers always have a JSON form.
        serde_json::to_string_pretty(&state).unwrap_or_default() + "\n"
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves at `address` on a new thread until the program ends. Returns the address with the port in use, as port 0 stands for any free one.
pub(super) fn serve(address: SocketAddr, remote: Remote, settings: Current) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let for_metrics = Arc::new(Exporter { remote, settings, since: Stopwatch::start() });
    let for_state = Arc::clone(&for_metrics);
    let metrics = move || async move { ([(CONTENT_TYPE, OPEN_METRICS)], for_metrics.metrics()) };
    let state = move || async move { ([(CONTENT_TYPE, "application/json")], for_state.state()) };
    let app = axum::Router::new().route("/metrics", get(metrics)).route("/state", get(state));
    let work = async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, app).await
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(move || runtime.block_on(work))?;
    Ok(address)
}
