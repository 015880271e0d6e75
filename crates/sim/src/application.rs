//! Applications over the simulator's TCP: those of Fairlane, and those that a program brings.
//!
//! An [`Application`] decides what a TCP flow sends, and when. It is both ends of its connection at once: the
//! [`Server`] sends data, the [`Client`] takes them and may ask for more. It has no clock and no sockets. Group by
//! group, a program brings them by [`Control::with_application`](crate::Control::with_application); `transfers`, `web`,
//! `video` and `rpc` go the same way.
//!
//! Data are counted in packets of the group's `packet`, as everywhere in the simulator's TCP.

use std::fmt;

use fairlane_outcome::VideoRun;
use fairlane_qdisc::{Duration, Seed, Time};

/// The application of a TCP flow. All methods but two have a default that does nothing.
///
/// A run is repeatable if the application is: it must read no clock and no randomness but the seed of its
/// [group](ApplicationGroup). If a method panics, the run ends with an
/// [`EndpointError`](crate::endpoint::EndpointError), unless the program is built with `panic = "abort"`.
pub trait Application: fmt::Debug + Send {
    /// Begins, when the flow starts. The first request, if there are requests, is at the server.
    fn on_start(&mut self, server: &mut Server<'_>);

    /// Takes data. The client has the first `received` packets of the connection. It is called for each packet that
    /// arrives, so `received` may be what it was: a packet came before one that is missing, or once more.
    fn on_data(&mut self, received: u32, client: &mut Client<'_>);

    /// Takes an acknowledgement: the server knows that the client has the first `acknowledged` packets of the
    /// connection. It is called for each acknowledgement.
    fn on_acknowledged(&mut self, _acknowledged: u32, _server: &mut Server<'_>) {}

    /// Takes a [request](Client::request) of the client, which has reached the server.
    fn on_request(&mut self, _server: &mut Server<'_>) {}

    /// The [timer](Server::set_timer) has expired.
    fn on_timer(&mut self, _server: &mut Server<'_>) {}

    /// Another flow of the group has [woken](Server::wake) this one. A flow that began by being woken is also called so
    /// when its own start comes.
    fn on_wake(&mut self, _server: &mut Server<'_>) {}

    /// The flow stops, at its `stop`. Data that have been sent still arrive, but nothing is sent any more.
    fn on_stop(&mut self, _now: Time) {}

    /// The measurement begins. The durations of what was [completed](Client::completed) before do not count.
    fn begin_measurement(&mut self, _now: Time) {}

    /// Returns what the viewer of a video saw from the start of the measurement to the end of the run, at `now`;
    /// `None`, as by default, for all that is no video. The outcome has it as that of `video`.
    fn video(&mut self, _now: Time) -> Option<VideoRun> {
        None
    }
}

/// A group of flows that asks for its applications.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationGroup<'g> {
    /// The group's name.
    pub name: &'g str,
    /// The number of its flows.
    pub flows: u32,
    /// The size of its packets in bytes.
    pub packet_bytes: u32,
    /// The source of all randomness, different in each run: [`numbered`](Seed::numbered) gives that of a flow.
    pub seed: Seed,
}

/// The end of a connection that sends data.
#[derive(Debug)]
pub struct Server<'s> {
    pub(crate) now: Time,
    pub(crate) session: &'s mut Session,
}

impl Server<'_> {
    /// Returns the simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of packets that `bytes` bytes fill, rounded up.
    #[must_use]
    pub fn packets(&self, bytes: u64) -> u32 {
        let packets = bytes.div_ceil(u64::from(self.session.packet.max(1)));
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// Sends `packets` more packets, as fast as TCP allows; `u32::MAX` stands for data without end. Returns the number
    /// of all packets of the connection: these have arrived when `received` is as large.
    pub fn send(&mut self, packets: u32) -> u32 {
        self.session.supplied = self.session.supplied.saturating_add(packets);
        self.session.supplied
    }

    /// Begins a new connection: packets are counted from zero again, TCP starts afresh, and what the one before has
    /// not delivered is lost, with the requests on their way.
    pub fn reconnect(&mut self) {
        let session = &mut *self.session;
        (session.reconnects, session.supplied) = (true, 0);
        session.asked.clear();
        session.stale.append(&mut session.requests);
    }

    /// Sets the timer, which calls [`on_timer`](Application::on_timer) once at `at`, or now if that has passed. There
    /// is one timer: it replaces a time that was set before.
    pub fn set_timer(&mut self, at: Time) {
        self.session.timer = Some(at.max(self.now));
    }

    /// Calls [`on_wake`](Application::on_wake) of another flow of the group at `at`, or now if that has passed. Flows
    /// that share state need it. One that has not started starts with it.
    pub fn wake(&mut self, flow: u32, at: Time) {
        self.session.wakes.push((flow, at.max(self.now)));
    }
}

/// The end of a connection that takes data.
#[derive(Debug)]
pub struct Client<'s> {
    pub(crate) now: Time,
    pub(crate) session: &'s mut Session,
}

impl Client<'_> {
    /// Returns the simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Sends a request of `bytes` bytes, at most a packet of the group. It travels with an acknowledgement of all that
    /// has come, which leaves at once, and is as reliable: a later acknowledgement brings it too. The client can also
    /// wait for `pause`: then the request reaches the server by as much later.
    pub fn request(&mut self, bytes: u32, pause: Duration) {
        self.session.request_bytes = self.session.request_bytes.saturating_add(bytes);
        self.session.asking.push(pause);
        self.acknowledge();
    }

    /// Acknowledges all that has come at once, where [`delayed_ack`](fairlane_scenario::Tcp::delayed_ack) would wait.
    pub fn acknowledge(&mut self) {
        self.session.acknowledges = true;
    }

    /// Notes that a transfer, a call, a page was completed, `duration` after it began. The outcome has the durations of
    /// the flow; with `startup` also the times from the beginning to the first data.
    pub fn completed(&mut self, duration: Duration, startup: Option<Duration>) {
        self.session.completions.get_or_insert_default().push(duration.as_nanos());
        if let Some(startup) = startup {
            self.session.startups.get_or_insert_default().push(startup.as_nanos());
        }
    }
}

/// The state of an application's connection, and what the application asks for.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The number of the flow in its group.
    pub(crate) index: u32,
    /// The size of a packet in bytes.
    pub(crate) packet: u32,
    /// The flow has stopped.
    pub(crate) stopped: bool,
    /// The packets of the connection so far.
    pub(crate) supplied: u32,
    /// The connection is to be left for a new one.
    pub(crate) reconnects: bool,
    /// When the timer expires.
    pub(crate) timer: Option<Time>,
    /// The flows to wake, by their numbers in the group, and when.
    pub(crate) wakes: Vec<(u32, Time)>,
    /// The pauses before the requests that leave now.
    pub(crate) asking: Vec<Duration>,
    /// The bytes of these.
    pub(crate) request_bytes: u32,
    /// An acknowledgement leaves at once.
    pub(crate) acknowledges: bool,
    /// The requests so far.
    pub(crate) made: u32,
    /// The requests that the server does not have, by their numbers from 1, and the pauses before them.
    pub(crate) asked: Vec<(u32, Duration)>,
    /// When the requests arrive that have been acknowledged.
    pub(crate) requests: Vec<Time>,
    /// The times of events that have lost their meaning.
    pub(crate) stale: Vec<Time>,
    /// The durations in nanoseconds of what was completed since the start of the measurement; `None` for an application
    /// that completes nothing.
    pub(crate) completions: Option<Vec<u64>>,
    /// The time to the first data of each of them.
    pub(crate) startups: Option<Vec<u64>>,
    /// The view of a video, once the run has ended.
    pub(crate) video: Option<Box<VideoRun>>,
}

impl Session {
    /// Returns the number of the last request that an acknowledgement brings which leaves now; 0 for none.
    pub(crate) fn request(&self) -> u32 {
        self.asked.last().map_or(0, |(number, _)| *number)
    }
}
