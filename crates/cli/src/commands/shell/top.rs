//! The state of a link at a socket, where `fairlane top` asks for it as it asks a router.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairlane_console::{Failure, Stopwatch};
use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::{Count, Counters, Reason};
use fairlane_scenario::{LinkSide, Scenario};
use fairlane_shell::{DelayHistogram, LinkSample};
use nix::sys::socket::{Shutdown, shutdown};
use serde_json::{Map, Value, json};

/// The longest time for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most flows of a direction in an answer: those with the most bytes.
const MOST_FLOWS: usize = 32;

/// The names of the directions, with which those of groups end.
const WAYS: [&str; 2] = ["down", "up"];

/// A socket that answers with the state of a link. Dropping it removes it.
pub(super) struct StateSocket<'a> {
    path: &'a Path,
    sides: [&'a LinkSide; 2],
    /// By number: the name, the direction and the counts.
    flows: Vec<(String, usize, FlowSample)>,
    shared: Arc<Shared>,
    /// The file of the socket, by its device and inode: someone may have replaced it.
    made: (u64, u64),
    /// Wakes the thread at the end.
    end: UnixListener,
    /// Until the first sample; threads may not start before.
    listener: Option<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<String>,
    over: AtomicBool,
}

impl<'a> StateSocket<'a> {
    /// Listens at `path` for the link of `scenario`. A socket at which nobody listens any more, as after a kill, is
    /// replaced.
    pub(super) fn new(path: &'a Path, scenario: &'a Scenario) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::plain(format!("--top {}: {error}", path.display()));
        let is_socket = fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket && UnixStream::connect(path).is_err_and(refused) {
            fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        let made = inode(path).map_err(failed)?;
        let end = listener.try_clone().map_err(failed)?;
        let link = &scenario.links[0];
        let (sides, shared) = ([&link.forward, &link.reverse], Arc::default());
        Ok(Self { path, sides, flows: Vec::new(), shared, made, end, listener: Some(listener), thread: None })
    }

    /// Answers with this sample from now on.
    pub(super) fn hear(&mut self, sample: &LinkSample) {
        let way = |group: &str| usize::from(group.ends_with(WAYS[1]));
        self.flows
            .extend(sample.new_flows.iter().map(|flow| (flow.name.clone(), way(&flow.group), FlowSample::default())));
        for counts in &sample.counts.flows {
            if let Some((_, _, before)) = self.flows.get_mut(counts.flow as usize) {
                *before = *counts;
            }
        }
        let states = WAYS.iter().enumerate().map(|(way, name)| ((*name).to_owned(), self.state(sample, way)));
        let text = Value::Object(states.collect::<Map<_, _>>()).to_string();
        *self.shared.state.lock().unwrap_or_else(PoisonError::into_inner) = text;
        if let Some(listener) = self.listener.take() {
            let shared = self.shared.clone();
            self.thread = Some(thread::spawn(move || answer_all(&listener, &shared)));
        }
    }

    /// Returns the state of a direction; docs/router.md describes the keys.
    fn state(&self, sample: &LinkSample, way: usize) -> Value {
        let (side, counters, seconds) = (self.sides[way], &sample.counters[way], sample.counts.at.as_secs());
        let QueueSample { backlog, average, .. } = sample.counts.queues[way];
        let parameters = &side.queue.explanation().parameters;
        let parameters: Map<String, Value> =
            parameters.iter().map(|one| (one.key.to_owned(), json!(one.value))).collect();
        let mut flows: Vec<&(String, usize, FlowSample)> = self.flows.iter().filter(|flow| flow.1 == way).collect();
        flows.sort_by_key(|(_, _, counts)| std::cmp::Reverse(counts.delivered_bytes));
        let flows: Vec<Value> =
            flows.into_iter().take(MOST_FLOWS).map(|(name, _, counts)| flow(name, counts)).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "direction": WAYS[way],
            "path": "shell",
            "interfaces": [],
            "flows_by": "five-tuple",
            "uptime_s": seconds,
            "at_s": seconds,
            "link": { "rate_bps": side.rate.bits_per_second(), "layer": "no overhead" },
            "discipline": { "kind": side.queue.kind().name(), "parameters": parameters },
            "arrived": count(counters.arrived),
            "departed": count(counters.departed),
            "dropped": reasons(counters, Counters::dropped),
            "marked": reasons(counters, Counters::marked),
            "flushed": count(Count::default()),
            "backlog": count(backlog),
            "average": average,
            "sojourn_s": delays(&sample.delays[way]),
            "lateness_s": delays(&DelayHistogram::default()),
            "overruns": 0,
            "unsent_verdicts": 0,
            "unknown_verdicts": 0,
            "malformed_messages": 0,
            "reloads": 0,
            "top_flows": flows,
        })
    }
}

impl Drop for StateSocket<'_> {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        // Wakes the thread.
        let _ = shutdown(self.end.as_raw_fd(), Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if inode(self.path).is_ok_and(|there| there == self.made) {
            // It may be gone now.
            let _ = fs::remove_file(self.path);
        }
    }
}

/// Returns the device and the inode of the file at `path`.
fn inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Answers each request with the state.
fn answer_all(listener: &UnixListener, shared: &Shared) {
    for client in listener.incoming() {
        if shared.over.load(Ordering::Acquire) {
            return;
        }
        // A client that goes away gets no answer.
        let _ = client.and_then(|client| answer(client, shared));
    }
}

fn answer(mut client: UnixStream, shared: &Shared) -> io::Result<()> {
    let watch = Stopwatch::start();
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; 4096];
    let mut read = 0;
    while !request[..read].windows(4).any(|end| end == b"\r\n\r\n") {
        let rest = PATIENCE.checked_sub(Duration::from_secs_f64(watch.elapsed_s())).filter(|rest| !rest.is_zero());
        client.set_read_timeout(Some(rest.ok_or(io::ErrorKind::TimedOut)?))?;
        match client.read(&mut request[read..])? {
            0 => return Ok(()),
            more => read += more,
        }
    }
    let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let head = format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", state.len());
    client.write_all((head + &state).as_bytes())
}

fn count(Count { packets, bytes }: Count) -> Value {
    json!({ "packets": packets, "bytes": bytes })
}

fn reasons(counters: &Counters, of: impl Fn(&Counters, Reason) -> Count) -> Value {
    Value::Object(
        Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), count(of(counters, reason)))).collect(),
    )
}

fn delays(delays: &DelayHistogram) -> Value {
    let classes: Vec<(Option<f64>, u64)> =
        delays.buckets().map(|(bound, count)| (bound.is_finite().then_some(bound), count)).collect();
    json!({ "count": delays.count(), "classes": classes })
}

fn flow(name: &str, counts: &FlowSample) -> Value {
    let FlowSample { sent, delivered, delivered_bytes, dropped, lost, .. } = *counts;
    json!({
        "flow": name,
        "matched_packets": 0,
        "lost_packets": dropped + lost,
        "missed_packets": 0,
        "arrived": { "packets": sent, "bytes": 0 },
        "departed": { "packets": delivered, "bytes": delivered_bytes },
        "dropped": {},
        "marked": {},
    })
}
