//! Asks a router for its state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use fairlane_console::Failure;
use ureq::Agent;

use super::socket::{self, MOST_BYTES, PATIENCE};
use crate::args::USUAL;
use crate::state::State;

/// A client of a router, or of a discipline in the kernel.
#[derive(Clone, Debug)]
pub(super) enum Client {
    Router {
        agent: Agent,
        address: String,
    },
    /// A router of this machine, at its socket.
    #[cfg_attr(not(unix), allow(dead_code, reason = "these systems have no such sockets"))]
    Socket(PathBuf),
    Device(String),
}

/// The states of a router: one, or those of both directions.
pub(super) type States = Vec<State>;

impl Client {
    /// Makes a client of the router at `address`, a host and a port or the path of a socket; without one, of the router
    /// of this machine, at its socket or else at the usual port.
    pub(super) fn new(address: Option<&str>) -> Result<Self, Failure> {
        match address {
            Some(path) if path.contains('/') => Ok(Self::Socket(path.into())),
            Some(address) => Ok(Self::at(address)),
            None => Ok(socket::only_one()?.map_or_else(|| Self::at(&USUAL.to_string()), Self::Socket)),
        }
    }

    fn at(address: &str) -> Self {
        // A proxy cannot reach the loopback of this machine.
        let config = Agent::config_builder().proxy(None).timeout_global(Some(PATIENCE)).build();
        Self::Router { agent: config.new_agent(), address: address.to_owned() }
    }

    /// Makes a client of the discipline that a device of this machine has in the kernel.
    pub(super) fn of_device(device: &str) -> Result<Self, Failure> {
        if cfg!(all(target_os = "linux", feature = "bpf")) {
            return Ok(Self::Device(device.to_owned()));
        }
        Err(Failure::new(
            "this build cannot read disciplines of the kernel",
            "build it with the feature bpf, for Linux",
        ))
    }

    /// Returns the states, or the reason why they are unknown.
    pub(super) fn ask(&self) -> Result<States, String> {
        match self {
            Self::Router { agent, address } => ask(agent, address),
            Self::Socket(path) => {
                let place = path.display();
                let text = socket::get(path).map_err(|error| format!("no router answers at {place}: {error}"))?;
                states(&text, &place.to_string())
            }
            #[cfg(all(target_os = "linux", feature = "bpf"))]
            Self::Device(device) => crate::router::attached_states(device),
            #[cfg(not(all(target_os = "linux", feature = "bpf")))]
            Self::Device(device) => Err(format!("the discipline of {device} cannot be read")),
        }
    }

    /// Returns the states for the first time; an error has a remedy.
    pub(super) fn ask_first(&self) -> Result<States, Failure> {
        let help = match self {
            Self::Router { .. } => "name the --metrics address of a running fairlane router",
            Self::Socket(_) => {
                "name the --metrics address of a running fairlane router; its socket is for the user who started it"
            }
            Self::Device(_) => "attach a discipline first: fairlane bpf attach",
        };
        self.ask().map_err(|message| Failure::new(message, help))
    }

    /// Requests the states every `interval` on a new thread, until the result is dropped.
    pub(super) fn watch(self, interval: Duration) -> Watching {
        let (tell, answers) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        thread::spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && tell.send(self.ask()).is_ok() {}
        });
        Watching { answers, _stop: stop }
    }
}

fn ask(agent: &Agent, address: &str) -> Result<States, String> {
    let no_answer = |error| match error {
        ureq::Error::Io(error) => format!("no router answers at {address}: {error}"),
        error => format!("no router answers at {address}: {error}"),
    };
    let mut response = agent.get(format!("http://{address}/state")).call().map_err(no_answer)?;
    let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(no_answer)?;
    states(&text, address)
}

/// Reads the answer of the router at `place`.
fn states(text: &str, place: &str) -> Result<States, String> {
    let both = || {
        let ways: BTreeMap<String, State> = serde_json::from_str(text).ok()?;
        // In the order of the alphabet, down is before up.
        let states: States = ways.into_values().rev().collect();
        (!states.is_empty()).then_some(states)
    };
    serde_json::from_str(text)
        .map(|state| vec![state])
        .or_else(|error: serde_json::Error| both().ok_or(error))
        .map_err(|error| format!("what answers at {place} is not a router of this version: {error}"))
}

/// The stream of answers. Dropping it ends the thread.
pub(super) struct Watching {
    pub(super) answers: Receiver<Result<States, String>>,
    _stop: Sender<()>,
}
