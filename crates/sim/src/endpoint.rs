//! Transports that a program brings: the simulator carries their datagrams.
//!
//! An [`Endpoint`] is a protocol stack without clock and sockets, such as those of QUIC libraries: it is told the time,
//! takes datagrams, and is asked for datagrams. A flow of a group with `kind = "endpoint"` has two, its source and its
//! sink. [`run_endpoints`](crate::run_endpoints) asks for them and runs the scenario.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairlane_qdisc::Time;

/// The most datagrams, deadlines that have come, and flows to wake, that an endpoint may give at one time. More are an
/// endless loop.
pub const MOST_CALLS: u32 = 65_536;

/// The largest datagram on the wire in bytes: the length field of IPv4 has 16 bits.
pub const LARGEST: u32 = 65_535;

/// One end of a transport. Time is virtual: `now` never goes back and is the only clock there is.
///
/// After each [`start`](Self::start), [`receive`](Self::receive) and [`on_timer`](Self::on_timer) the simulator calls
/// [`transmit`](Self::transmit) until that returns `None`, then [`wake`](Self::wake), and asks for the
/// [`deadline`](Self::deadline). It may ask at other times as well.
///
/// A run is repeatable if the endpoint is: it must read no clock and no randomness but the seed that its maker was
/// given. If a method panics, the run ends with an [`EndpointError`], unless the program is built with `panic =
/// "abort"`.
pub trait Endpoint: fmt::Debug + Send {
    /// Begins, when the flow starts: first the sink, then the source. Nothing is called before.
    fn start(&mut self, now: Time);

    /// Takes a datagram of the other end. The buffer may be taken or changed.
    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn);

    /// Writes the next datagram into the buffer, which is empty; `None` if there is none to send at `now`.
    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing>;

    /// Returns the time at which [`on_timer`](Self::on_timer) is to be called; `None` if it waits for datagrams only. A
    /// time that has passed stands for now.
    fn deadline(&mut self) -> Option<Time>;

    /// Lets the timers expire that are due at `now`. The deadline must be later afterwards.
    fn on_timer(&mut self, now: Time);

    /// Returns the number in the group of another flow whose endpoint at the same end wants to send now; `None` if
    /// there is none. Endpoints that share state need it, such as those of a server that relays datagrams.
    ///
    /// By default `None`.
    fn wake(&mut self) -> Option<u32> {
        None
    }

    /// Returns the bytes that it has delivered to its application since the start, which never become fewer. Those of
    /// the sink are the flow's goodput. It is asked after each of the sink's datagrams and timers.
    fn delivered_bytes(&self) -> u64;
}

/// A datagram on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The size on the wire in bytes, with all headers: 1 to [`LARGEST`], and no less than the buffer has.
    pub bytes: u32,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The TOS or traffic class byte of the IP header; its two ECN bits do not count. 0 is best effort.
    pub class: u8,
}

impl Outgoing {
    /// Returns a best-effort datagram of `bytes` bytes on the wire, which is not ECN-capable.
    #[must_use]
    pub const fn new(bytes: u32) -> Self {
        Self { bytes, ecn: Ecn::NotEct, class: 0 }
    }
}

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1): the L4S service (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// The two endpoints of a flow.
#[derive(Debug)]
pub struct Pair {
    /// The end where the group's path begins. The outcome counts its datagrams as the flow's data.
    pub source: Box<dyn Endpoint>,
    /// The end where the path ends. Its datagrams take the way back, as acknowledgements do.
    pub sink: Box<dyn Endpoint>,
}

impl Pair {
    /// Returns these endpoints as a pair.
    #[must_use]
    pub fn new(source: impl Endpoint + 'static, sink: impl Endpoint + 'static) -> Self {
        Self { source: Box::new(source), sink: Box::new(sink) }
    }
}

/// One of the endpoints of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end where the path begins.
    Source,
    /// The end where the path ends.
    Sink,
}

/// The error of an endpoint, or of an [application](crate::application), which ends the run. The source is where data
/// are sent: the server of an application, of which the sink is the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointError {
    /// The flow group's name.
    pub group: String,
    /// The flow's number in the group.
    pub index: u32,
    /// The end of the flow.
    pub end: End,
    /// The time of the error.
    pub at: Time,
    /// The problem.
    pub problem: Problem,
}

/// The problem of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A method panicked, with this message.
    Panic(String),
    /// A datagram had this size on the wire, which is none of 1 to [`LARGEST`] bytes.
    Size(u32),
    /// A datagram had more bytes than its size on the wire.
    Payload {
        /// The size on the wire.
        bytes: u32,
        /// The bytes in the buffer.
        payload: usize,
    },
    /// The method of this name did not return `None`: there were [`MOST_CALLS`] results at one time.
    Endless(&'static str),
    /// Its deadline was this time, which had passed, after [`MOST_CALLS`] calls.
    PastDeadline(Time),
    /// `wake` gave the number of a flow that the group does not have.
    NoFlow(u32),
    /// The requests of an application that leave at one time are larger than a packet.
    Request {
        /// Their bytes.
        bytes: u32,
        /// The bytes of a packet.
        packet: u32,
    },
    /// An application was called [`MOST_CALLS`] times without time going by.
    Stuck,
}

impl EndpointError {
    /// Returns the place of the error as text: the end, the flow and the time.
    #[must_use]
    pub fn place(&self) -> String {
        let Self { group, index, end, at, problem: _ } = self;
        let end = match end {
            End::Source => "source",
            End::Sink => "sink",
        };
        format!("the {end} of flow \"{group}/{index}\" at {} s", at.as_secs())
    }
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "it panicked: {message}"),
            Self::Size(bytes) => {
                write!(f, "a datagram of {bytes} bytes on the wire cannot be sent; give it 1 to {LARGEST}")
            }
            Self::Payload { bytes, payload } => write!(
                f,
                "a datagram of {payload} bytes cannot have {bytes} bytes on the wire; count its headers as well"
            ),
            Self::Endless(method) => {
                write!(f, "`{method}` gives results without end; let it return None until time has passed")
            }
            Self::PastDeadline(deadline) => {
                let seconds = deadline.as_secs();
                write!(f, "its deadline stays at {seconds} s; let `deadline` return a later time after `on_timer`")
            }
            Self::Request { bytes, packet } => {
                write!(f, "a request of {bytes} bytes does not fit a packet of {packet}; send it in parts")
            }
            Self::Stuck => {
                write!(f, "it was called {MOST_CALLS} times at one time; let its timers and calls of others be later")
            }
            Self::NoFlow(index) => {
                write!(f, "`wake` gave flow {index}, which the group does not have; flows are numbered from 0")
            }
        }
    }
}

impl std::error::Error for EndpointError {}

/// Returns the result of a program's code; a panic is its problem.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
        Problem::Panic(message.unwrap_or_else(|| "no message".to_owned()))
    })
}

/// The limit of a program's calls at one time.
#[derive(Debug)]
pub(crate) struct CallLimit {
    /// The time of the last call.
    last: Time,
    /// The calls left at this time.
    left: u32,
}

impl CallLimit {
    pub(crate) const fn new() -> Self {
        Self { last: Time::ZERO, left: MOST_CALLS }
    }

    /// Counts a call at `now` that must come to an end; after too many it is this problem.
    pub(crate) fn count(&mut self, now: Time, problem: Problem) -> Result<(), Problem> {
        let left = if self.last == now { self.left } else { MOST_CALLS };
        (self.last, self.left) = (now, left.checked_sub(1).ok_or(problem)?);
        Ok(())
    }
}
