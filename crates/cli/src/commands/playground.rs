//! `fairlane playground`: serves the page of the playground, which is compiled in, on loopback.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use fairlane_console::Failure;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::args::playground::PlaygroundArgs;
use crate::output;

include!(concat!(env!("OUT_DIR"), "/playground.rs"));

/// The time until the next attempt after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// Serves the page until the program is ended.
pub(crate) fn execute(args: &PlaygroundArgs) -> Result<(), Failure> {
    if FILES.is_empty() {
        let help = "make web builds the page, and then make build a program that has it; or serve target/web with any \
                    web server, such as python3 -m http.server --bind 127.0.0.1 --directory target/web";
        return Err(Failure::new("this program was built without the page of the playground", help));
    }
    let taken = |error: io::Error| {
        let remedy = "choose another --port, or none for a free one";
        Failure::new(format!("--port {}: {error}", args.port), remedy)
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(taken)?;
    listener.set_nonblocking(true).map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(taken)?;
    output::print(&format!("The playground is at http://{address}/ until Ctrl-C\n"))?;
    runtime.block_on(serve(listener)).map_err(|error| Failure::plain(format!("the playground: {error}")))
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The browser is gone, or there is no descriptor at present.
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async { drop(connection.await) });
    }
}

fn answer<T>(request: &Request<T>) -> Response<Full<Bytes>> {
    let path = request.uri().path().trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    let file = FILES.iter().find(|(file, _)| *file == name);
    let (status, kind, body) = match (request.method(), file) {
        (&Method::GET | &Method::HEAD, Some((_, bytes))) => (StatusCode::OK, media_type(name), *bytes),
        (&Method::GET | &Method::HEAD, None) => (StatusCode::NOT_FOUND, "text/plain", &b"the page is at /\n"[..]),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", &b"only GET\n"[..]),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Another version of the program may serve at the same address.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Returns the media type of a file of the page.
fn media_type(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        // A browser compiles it while it loads only with this type.
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
