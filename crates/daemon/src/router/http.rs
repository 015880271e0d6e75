//! A router's counts over HTTP: `/metrics` for Prometheus, `/state` as JSON.
//!
//! No behaviour of clients exhausts the router's memory or descriptors: there are few connections, each for one request
//! and for a short time, and a new one takes the place of the oldest.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::fs::{self, Permissions};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairlane_console::Stopwatch;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::unistd::gethostname;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle as Task;
use tokio::time::{sleep, timeout};

use super::autorate::{AutorateView, AutorateViews};
use super::metrics::OwnCounts;
use super::remote::Remote;
use super::settings::Settings;
use super::state::state;
use super::way::Way;
use super::{log, metrics};

/// The text format of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The most connections at a time.
const MOST_CONNECTIONS: usize = 32;

/// The time that a client has for the header of its request, and for everything.
const HEADER: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(10);

/// The longest request in bytes; more than a browser sends.
const LONGEST_REQUEST: usize = 16 << 10;

/// The time until the next attempt after a connection could not be accepted, as without descriptors.
const RETRY: Duration = Duration::from_millis(100);

/// Endings of names to which no public server of names can give an address (RFC 6761, RFC 6762, RFC 8375, and those of
/// home routers).
const LOCAL_ENDINGS: [&str; 6] = [".localhost", ".local", ".lan", ".home", ".internal", ".home.arpa"];

/// The current settings of a router; a reload changes them.
pub(super) type Current = Arc<Mutex<Settings>>;

/// The place where a router is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Tcp(SocketAddr),
    /// A socket that only this user can open.
    Socket(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

/// A running server. Dropping it ends it, and removes its socket from the file system.
pub(super) struct Server {
    pub(super) place: Place,
    end: Arc<Notify>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts a server at `place` that does what `serve` returns, on a new thread.
    pub(super) fn start<F: Future<Output = ()>>(
        place: Place,
        runtime: Runtime,
        serve: impl FnOnce() -> F + Send + 'static,
    ) -> io::Result<Self> {
        let end = Arc::new(Notify::new());
        let told = Arc::clone(&end);
        let work = move || {
            runtime.block_on(async {
                let (mut serving, mut ended) = (pin!(serve()), pin!(told.notified()));
                poll_fn(|context| match ended.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => serving.as_mut().poll(context),
                })
                .await;
            });
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(work)?;
        Ok(Self { place, end, thread })
    }

    /// Returns `true` if the server has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.notify_one();
        if let Place::Socket(path) = &self.place {
            let _ = fs::remove_file(path);
        }
    }
}

/// The data for the answers.
pub(super) struct Exporter {
    /// One for each way of the settings.
    remotes: Vec<Remote>,
    settings: Current,
    since: Stopwatch,
    /// The times that the rules were installed again.
    pub(super) rules_restored: AtomicU64,
    /// How the rates are adjusted; empty if they stay.
    pub(super) autorate: AutorateViews,
}

impl Exporter {
    pub(super) fn new(remotes: Vec<Remote>, settings: Current) -> Arc<Self> {
        Arc::new(Self {
            remotes,
            settings,
            since: Stopwatch::start(),
            rules_restored: AtomicU64::new(0),
            autorate: AutorateViews::default(),
        })
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
        if !host.is_none_or(is_ours) {
            return plain(
                StatusCode::MISDIRECTED_REQUEST,
                "this router answers to its address and to local names only\n",
            );
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        }
        match request.uri().path() {
            "/metrics" => with_type(OPEN_METRICS, self.metrics()),
            "/state" => with_type("application/json", self.state()),
            _ => plain(StatusCode::NOT_FOUND, "there are /metrics and /state\n"),
        }
    }

    fn metrics(&self) -> String {
        let (settings, autorate) = (self.settings(), self.autorate());
        let ways = settings.ways.iter().zip(&self.remotes).enumerate();
        let rules_restored = self.rules_restored.load(Ordering::Relaxed);
        let counts = OwnCounts { log_lines_dropped: log::lines_dropped(), rules_restored };
        let of = |(at, (way, remote)): (usize, (&Way, &Remote))| {
            let autorate: Option<AutorateView> = autorate.get(at).cloned().flatten();
            (way.clone(), remote.report(), autorate)
        };
        metrics::text_of_ways(ways.map(of), counts)
    }

    fn state(&self) -> String {
        let (settings, autorate) = (self.settings(), self.autorate());
        let of = |at: usize| {
            let (way, report) = (settings.ways.get(at)?, self.remotes.get(at)?.report());
            let autorate = autorate.get(at).and_then(Option::as_ref);
            Some(state(&settings, way, self.since, &report, autorate))
        };
        // Maps with text keys and plain numbers always have a JSON form.
        let text = match &settings.ways[..] {
            [_] => serde_json::to_string_pretty(&of(0)),
            ways => {
                let named = |(at, way): (usize, &Way)| Some((way.direction?.name(), of(at)?));
                let ways: std::collections::BTreeMap<_, _> = ways.iter().enumerate().filter_map(named).collect();
                serde_json::to_string_pretty(&ways)
            }
        };
        text.unwrap_or_default() + "\n"
    }

    fn autorate(&self) -> Vec<Option<AutorateView>> {
        self.autorate.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}

fn with_type(kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

/// Returns `true` if a name cannot be one that a web page elsewhere has given to this machine, to read the answer (DNS
/// rebinding).
fn is_ours(host: &str) -> bool {
    let without_port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = without_port.map_or(host, |(name, _)| name);
    if name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok() {
        return true;
    }
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let local = !name.contains('.') || LOCAL_ENDINGS.iter().any(|ending| name.ends_with(ending));
    local || gethostname().is_ok_and(|own| own.to_str().is_some_and(|own| own.eq_ignore_ascii_case(&name)))
}

/// Serves until the result is dropped. The result has the port in use, as port 0 stands for any free one.
///
/// # Errors
/// The place is taken, or the system refuses a thread.
pub(super) fn serve(place: &Place, exporter: Arc<Exporter>) -> io::Result<Server> {
    let runtime = runtime()?;
    let (place, listener) = {
        let _inside = runtime.enter();
        listen(place)?
    };
    Server::start(place, runtime, move || async move {
        match listener {
            Listener::Tcp(listener) => answer_all(async || Ok(listener.accept().await?.0), &exporter).await,
            Listener::Unix(listener) => answer_all(async || Ok(listener.accept().await?.0), &exporter).await,
        }
    })
}

/// Returns the runtime of a server.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().build()
}

enum Listener {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

fn listen(place: &Place) -> io::Result<(Place, Listener)> {
    match place {
        Place::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((Place::Tcp(address), Listener::Tcp(tokio::net::TcpListener::from_std(listener)?)))
        }
        Place::Socket(path) => {
            let listener = bind(path)?;
            listener.set_nonblocking(true)?;
            Ok((Place::Socket(path.clone()), Listener::Unix(tokio::net::UnixListener::from_std(listener)?)))
        }
    }
}

/// Binds a socket that only this user can open, in place of one that a killed router has left.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    match fs::symlink_metadata(path) {
        Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => fs::remove_file(path)?,
        Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers on all connections that `accept` returns.
async fn answer_all<S>(accept: impl AsyncFn() -> io::Result<S>, exporter: &Arc<Exporter>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut open: VecDeque<Task<()>> = VecDeque::new();
    loop {
        match accept().await {
            Ok(stream) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= MOST_CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                open.push_back(tokio::spawn(answer(stream, Arc::clone(exporter))));
            }
            Err(_) => sleep(RETRY).await,
        }
    }
}

/// Answers one request.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(stream: S, exporter: Arc<Exporter>) {
    let service = service_fn(|request| {
        let response = exporter.answer(&request);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER)
        .max_buf_size(LONGEST_REQUEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away or takes too long gets no answer.
    let _ = timeout(WHOLE, connection).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a name of somebody else's that leads to this machine, and a way to ask it that people use.
    #[test]
    fn names_of_others_are_refused() {
        for ours in [
            "127.0.0.1:9277",
            "[::1]:9277",
            "10.0.0.1",
            "[fe80::1]",
            "localhost:9277",
            "router:9277",
            "router.lan",
            "router.local.",
            "a.home.arpa:80",
            "",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "example.com",
            "example.com:9277",
            "1.2.3.4.in-addr.arpa",
            "127.0.0.1.example.com:9277",
            "a.b.c.",
            "[::1].example.com",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
