//! Requests and responses, one after the other over one connection.

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{self as scenario, Transfers};
use fairlane_traffic::TransferSequence;

use crate::application::{Application, Client, Server};
use crate::packet::packet_bytes;

/// The calls of one client, which is the receiver. A request travels with the acknowledgement of the response before.
#[derive(Debug)]
pub(super) struct Rpc {
    /// The bytes of a request.
    request: u32,
    /// The sizes of the responses in packets.
    responses: TransferSequence,
    /// The packets of all responses so far.
    supplied: u32,
    /// The client does not have all of the response.
    in_progress: bool,
    /// The time of the present request; `None` for the first response, which is there without one.
    asked: Option<Time>,
}

impl Rpc {
    /// Returns the calls of `config` with packets of `bytes` bytes.
    pub(super) fn new(config: &scenario::Rpc, bytes: u32, seed: Seed) -> Self {
        let sizes = Transfers { size: config.response, sizes: config.sizes, think: None };
        let responses = TransferSequence::new(&sizes, bytes, seed);
        Self { request: packet_bytes(config.request), responses, supplied: 0, in_progress: false, asked: None }
    }
}

impl Application for Rpc {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.on_request(server);
    }

    fn on_request(&mut self, server: &mut Server<'_>) {
        self.supplied = server.send(self.responses.next_size());
        self.in_progress = true;
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if !self.in_progress || received < self.supplied {
            return;
        }
        self.in_progress = false;
        if let Some(asked) = self.asked.replace(client.now()) {
            client.completed(client.now() - asked, None);
        }
        client.request(self.request, Duration::ZERO);
    }
}
