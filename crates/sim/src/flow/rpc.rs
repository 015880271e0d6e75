//! Requests and responses, one after the other over one connection.

use fairlane_qdisc::{Size, Time};
use fairlane_scenario as scenario;

use crate::packet::packet_bytes;

/// The calls of one client, which is the receiver. A request travels with the acknowledgement of the response before.
#[derive(Debug)]
pub(super) struct Rpc {
    /// The bytes of a request.
    request: u32,
    /// The size of a response in packets.
    response: u32,
    /// The packets of all responses so far.
    supplied: u32,
    progress: CallProgress,
    /// The time of the present request; `None` for the first response, which is there without one.
    asked: Option<Time>,
    /// The durations in nanoseconds of the calls completed since the start of the measurement.
    completions: Vec<u64>,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallProgress {
    /// The client does not have all of the response.
    InProgress,
    /// The client has all of the response, and the next request is on its way.
    Asked,
    /// The server has the request.
    Requested,
}

impl Rpc {
    /// Returns the calls of `config` with packets of `bytes` bytes.
    pub(super) fn new(config: &scenario::Rpc, bytes: u32) -> Self {
        let response = match config.response {
            Size::Packets(packets) => packets.get(),
            Size::Bytes(size) => u32::try_from(size.get().div_ceil(u64::from(bytes.max(1)))).unwrap_or(u32::MAX),
        };
        Self {
            request: packet_bytes(config.request),
            response,
            supplied: 0,
            progress: CallProgress::Requested,
            asked: None,
            completions: Vec::new(),
        }
    }

    /// Begins a response; returns the number of packets of all responses so far.
    pub(super) fn begin(&mut self) -> u32 {
        self.supplied = self.supplied.saturating_add(self.response);
        self.progress = CallProgress::InProgress;
        self.supplied
    }

    /// Notes that the client has the first `packets` packets. If it has all of the response now, returns the bytes of
    /// the next request.
    pub(super) fn received(&mut self, now: Time, packets: u32) -> Option<u32> {
        if self.progress != CallProgress::InProgress || packets < self.supplied {
            return None;
        }
        self.progress = CallProgress::Asked;
        self.completions.extend(self.asked.replace(now).map(|asked| (now - asked).as_nanos()));
        Some(self.request)
    }

    /// Notes that the first `packets` packets have been acknowledged; returns true if the request came with that.
    pub(super) fn acknowledged(&mut self, packets: u32) -> bool {
        let requested = self.progress == CallProgress::Asked && packets >= self.supplied;
        if requested {
            self.progress = CallProgress::Requested;
        }
        requested
    }

    /// Starts the measurement: removes the completed calls.
    pub(super) fn begin_measurement(&mut self) {
        self.completions.clear();
    }

    /// Returns the durations in nanoseconds of the calls completed since the start of the measurement.
    pub(super) fn completions(&self) -> &[u64] {
        &self.completions
    }
}
