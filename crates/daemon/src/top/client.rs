//! Asks a router for its state.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use fairlane_console::Failure;
use ureq::Agent;

use crate::state::State;

/// The longest time that a router may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum length of an answer in bytes, far more than the largest one.
const MOST_BYTES: u64 = 16 << 20;

/// A client of a router, or of a discipline in the kernel.
#[derive(Clone, Debug)]
pub(super) enum Client {
    Router { agent: Agent, address: String },
    Device(String),
}

impl Client {
    /// Makes a client of the router at `address`, a host and a port.
    pub(super) fn new(address: &str) -> Self {
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

    /// Returns the state, or the reason why it is unknown.
    pub(super) fn ask(&self) -> Result<State, String> {
        match self {
            Self::Router { agent, address } => ask(agent, address),
            #[cfg(all(target_os = "linux", feature = "bpf"))]
            Self::Device(device) => crate::router::attached_state(device),
            #[cfg(not(all(target_os = "linux", feature = "bpf")))]
            Self::Device(device) => Err(format!("the discipline of {device} cannot be read")),
        }
    }

    /// Returns the state for the first time; an error has a remedy.
    pub(super) fn ask_first(&self) -> Result<State, Failure> {
        let help = match self {
            Self::Router { .. } => "name the --metrics address of a running fairlane router",
            Self::Device(_) => "attach a discipline first: fairlane bpf attach",
        };
        self.ask().map_err(|message| Failure::new(message, help))
    }

    /// Requests the state every `interval` on a new thread, until the result is dropped.
    pub(super) fn watch(self, interval: Duration) -> Watching {
        let (tell, answers) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        thread::spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && tell.send(self.ask()).is_ok() {}
        });
        Watching { answers, _stop: stop }
    }
}

fn ask(agent: &Agent, address: &str) -> Result<State, String> {
    let no_answer = |error| match error {
        ureq::Error::Io(error) => format!("no router answers at {address}: {error}"),
        error => format!("no router answers at {address}: {error}"),
    };
    let mut response = agent.get(format!("http://{address}/state")).call().map_err(no_answer)?;
    let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(no_answer)?;
    serde_json::from_str(&text)
        .map_err(|error| format!("what answers at {address} is not a router of this version: {error}"))
}

/// The stream of answers. Dropping it ends the thread.
pub(super) struct Watching {
    pub(super) answers: Receiver<Result<State, String>>,
    _stop: Sender<()>,
}
