//! Asking a router how it is.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use ureq::Agent;

use crate::error::Failure;
use crate::state::State;

/// How long a router may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Far more than the largest answer.
const MOST_BYTES: u64 = 16 << 20;

/// A router that can be asked.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    address: String,
}

impl Client {
    /// A client of the router at `address`, a host and a port.
    pub(super) fn new(address: &str) -> Self {
        // A proxy for the outside world knows nothing of this machine's loopback.
        let config = Agent::config_builder().proxy(None).timeout_global(Some(PATIENCE)).build();
        Self { agent: config.new_agent(), address: address.to_owned() }
    }

    /// How the router is, or why that is not known.
    pub(super) fn ask(&self) -> Result<State, String> {
        let no_answer = |error| match error {
            ureq::Error::Io(error) => format!("no router answers at {}: {error}", self.address),
            error => format!("no router answers at {}: {error}", self.address),
        };
        let mut response = self.agent.get(format!("http://{}/state", self.address)).call().map_err(no_answer)?;
        let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(no_answer)?;
        serde_json::from_str(&text)
            .map_err(|error| format!("what answers at {} is not a router of this version: {error}", self.address))
    }

    /// How the router is; who asks for the first time is told what to do if there is none.
    pub(super) fn ask_first(&self) -> Result<State, Failure> {
        let help = "name the --metrics address of a running fairlane router";
        self.ask().map_err(|message| Failure::new(message, help))
    }

    /// Asks again and again, each `interval`, from a thread of its own, until nobody listens any more.
    pub(super) fn watch(self, interval: Duration) -> Watching {
        let (tell, answers) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        thread::spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && tell.send(self.ask()).is_ok() {}
        });
        Watching { answers, _stop: stop }
    }
}

/// The answers as they come. Dropping it ends the asking.
pub(super) struct Watching {
    pub(super) answers: Receiver<Result<State, String>>,
    _stop: Sender<()>,
}
