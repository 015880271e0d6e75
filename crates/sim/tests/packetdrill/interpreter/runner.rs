//! Runs the events of a script against a sender and a receiver.
//!
//! For a passive opening the sender's SYN stands for the SYN-ACK, so that the handshake gives the first round trip.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::endpoint::Ecn;
use fairlane_sim::tcp::{Ack, Opening, SackBlocks, Segment, SegmentSink, TcpReceiver, TcpSender};

use super::code::{self, Check, Variables};
use super::numbers::{PeerStream, Stream};
use super::packet::Packet;
use super::script::{Action, Base, Call, Event, Script};
use super::settings::Settings;
use super::{Outcome, Problem, Report};

/// The most timers of a script.
const MOST_TIMERS: u32 = 10_000;

/// The last time of a script, in microseconds.
const LONGEST: i64 = 1_000_000_000_000;

/// A packet that TCP has sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Opening(Opening),
    Data(Segment),
    Ack(Ack),
}

/// Takes what the sender sends.
struct Wire<'a> {
    now: Time,
    sent: &'a mut VecDeque<Sent>,
}

impl SegmentSink for Wire<'_> {
    fn send(&mut self, segment: Segment) {
        self.sent.push_back(Sent { at: self.now, kind: Kind::Data(segment) });
    }

    fn open(&mut self, packet: Opening) {
        self.sent.push_back(Sent { at: self.now, kind: Kind::Opening(packet) });
    }
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Closed,
    /// A SYN has come.
    Passive,
    /// A SYN was sent.
    Active,
    Open,
}

/// The end of a run before the end of the script.
enum Stop {
    Outcome(Outcome),
    /// The end of the connection follows.
    Closing,
}

type Step = Result<(), Stop>;

/// A script that runs.
pub(crate) struct Runner<'a> {
    script: &'a Script,
    settings: Settings,
    strict: bool,
    sender: TcpSender,
    receiver: TcpReceiver,
    now: Time,
    /// Packets that were sent and have not been compared.
    wire: VecDeque<Sent>,
    connection: Connection,
    /// When the first packet of the handshake was sent.
    opened: Time,
    stream: Stream,
    peer: PeerStream,
    /// When each segment was last sent.
    last_sent: Vec<Time>,
    /// The echo of the last acknowledgement without timestamps.
    echo: Time,
    /// A time and the timestamp that the sender has then.
    clock: Option<(Time, u32)>,
    /// The last window of the peer, and the sequence number at which all of its windows end.
    window: Option<u32>,
    limit: u32,
    variables: Variables,
    timers: u32,
    compared: usize,
    skipped: Vec<Problem>,
}

impl<'a> Runner<'a> {
    /// Returns a run that has not begun.
    pub(crate) fn new(script: &'a Script, settings: Settings, strict: bool) -> Self {
        Self {
            script,
            strict,
            sender: TcpSender::new(&settings.tcp, Duration::ZERO),
            receiver: TcpReceiver::new(&settings.tcp),
            now: Time::ZERO,
            wire: VecDeque::new(),
            connection: Connection::Closed,
            opened: Time::ZERO,
            stream: Stream::new(settings.segment),
            peer: PeerStream::new(settings.peer_segment),
            last_sent: Vec::new(),
            echo: Time::ZERO,
            clock: None,
            window: None,
            limit: 1,
            variables: Variables::default(),
            timers: 0,
            compared: 0,
            skipped: Vec::new(),
            settings,
        }
    }

    /// Runs the script.
    pub(crate) fn run(mut self) -> Report {
        let outcome = match self.events() {
            Ok(()) | Err(Stop::Closing) if self.compared == 0 => {
                Outcome::NotComparable(Problem::new(1, "the script compares nothing that the simulator has"))
            }
            Ok(()) | Err(Stop::Closing) => Outcome::Passes,
            Err(Stop::Outcome(outcome)) => outcome,
        };
        Report { outcome, compared: self.compared, skipped: self.skipped }
    }

    /// Runs the events, and looks for packets that none of them expects.
    fn events(&mut self) -> Step {
        let (mut before, mut open) = (0, false);
        for event in &self.script.events {
            let origin = if event.when.base == Base::Before { before } else { 0 };
            let from = origin + event.when.from;
            let to = origin + event.when.to.unwrap_or(event.when.from);
            if to > LONGEST {
                return incomparable(event.line, "a time beyond 1000000 s");
            }
            let pause = if open { 0 } else { from - before };
            self.event(event, from, to, self.tolerance(pause))?;
            // A time counts from the event before as the script has it, or as it was if the script leaves it open.
            open = event.when.base == Base::Any || event.when.to.is_some();
            before = if open { (self.now.as_nanos() / 1_000) as i64 } else { from };
        }
        if self.strict {
            let line = self.script.events.last().map_or(1, |event| event.line);
            self.expect_nothing(line, Time::MAX)?;
        }
        Ok(())
    }

    /// Returns how far an expected packet may be from its time, which is `pause` after the event before.
    fn tolerance(&self, pause: i64) -> i64 {
        let fixed = self.script.tolerance;
        if self.strict { fixed } else { fixed.max((pause as f64 * self.script.tolerance_percent / 100.0) as i64) }
    }

    /// Runs an event between two times in microseconds.
    fn event(&mut self, event: &Event, from: i64, to: i64, tolerance: i64) -> Step {
        let line = event.line;
        let at = time(from);
        match &event.action {
            Action::Packet(packet) if !packet.inbound => {
                let any = event.when.base == Base::Any;
                let range = (!any).then(|| (time(from - tolerance), time(to + tolerance)));
                return self.expect(line, packet, range);
            }
            Action::Packet(_) => self.advance(line, at, false)?,
            Action::Call(_) | Action::Shell(_) | Action::Code(_) => self.advance(line, at, true)?,
        }
        if self.strict {
            let settled = self.now.as_nanos().saturating_sub(self.script.tolerance as u64 * 1_000);
            self.expect_nothing(line, Time::from_nanos(settled))?;
        }
        match &event.action {
            Action::Packet(packet) => self.arrive(line, packet),
            Action::Call(call) => self.call(line, call),
            Action::Code(code) => self.check(line, code),
            // The settings have it.
            Action::Shell(_) => Ok(()),
        }
    }

    /// Fails if a packet that was sent before `settled` has not been compared.
    fn expect_nothing(&self, line: usize, settled: Time) -> Step {
        match self.wire.front().filter(|sent| sent.at < settled) {
            Some(sent) => differs(line, "no packet", self.describe(sent)),
            None => Ok(()),
        }
    }

    /// Lets time pass up to `end`, with the timers at `end` if `inclusive`.
    fn advance(&mut self, line: usize, end: Time, inclusive: bool) -> Step {
        while let Some(next) = self.next_timer().filter(|next| *next < end || (inclusive && *next == end)) {
            self.timer(line, next)?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Returns the time of the next timer.
    fn next_timer(&self) -> Option<Time> {
        let timers = [self.sender.deadline(), self.sender.release(), self.receiver.deadline()];
        timers.into_iter().flatten().min().map(|next| next.max(self.now))
    }

    /// Lets the timer at `next` fire.
    fn timer(&mut self, line: usize, next: Time) -> Step {
        self.timers += 1;
        if self.timers > MOST_TIMERS {
            return incomparable(line, format!("more than {MOST_TIMERS} timers"));
        }
        self.now = next;
        if self.receiver.deadline().is_some_and(|deadline| deadline <= next) {
            if let Some(ack) = self.receiver.on_timer(next) {
                self.wire.push_back(Sent { at: next, kind: Kind::Ack(ack) });
            }
            return Ok(());
        }
        self.drive(line, |sender, now, wire| sender.on_timer(now, wire))
    }

    /// Calls the sender and notes what it sends.
    fn drive(&mut self, line: usize, call: impl FnOnce(&mut TcpSender, Time, &mut Wire<'_>)) -> Step {
        let first = self.wire.len();
        call(&mut self.sender, self.now, &mut Wire { now: self.now, sent: &mut self.wire });
        let mut carries = false;
        for sent in self.wire.iter().skip(first) {
            let Kind::Data(segment) = sent.kind else { continue };
            carries = true;
            let place = segment.seq as usize;
            if place >= self.last_sent.len() {
                self.last_sent.resize(place + 1, self.now);
            }
            self.last_sent[place] = self.now;
            if self.stream.start(segment.seq + 1) > self.limit {
                return incomparable(line, "the window of the peer, which changes, holds back data");
            }
        }
        if carries {
            // Data carry an acknowledgement that waits.
            self.receiver.flush();
        }
        Ok(())
    }

    /// Handles a packet of the peer.
    fn arrive(&mut self, line: usize, packet: &Packet) -> Step {
        let refuse = |text: &str| incomparable(line, text.to_owned());
        let flags = packet.flags;
        if flags.rst {
            return refuse("a reset is not in the simulator");
        }
        if flags.urg {
            return refuse("urgent data are not in the simulator");
        }
        if flags.accurate && !flags.syn {
            return refuse("the counter of accurate ECN is not compared");
        }
        if flags.fin {
            return Err(Stop::Closing);
        }
        if let Some(option) = &packet.options.other {
            return refuse(&format!("the option `{option}` is not in the simulator"));
        }
        if flags.syn {
            return self.arrive_syn(line, packet);
        }
        if self.connection == Connection::Closed || self.connection == Connection::Active {
            return refuse("a packet comes before the handshake");
        }
        self.take_window(line, packet)?;
        if self.connection == Connection::Passive {
            self.connection = Connection::Open;
            if let (None, Some((_, echo))) = (self.clock, packet.options.timestamps) {
                self.clock = Some((self.opened, echo));
            }
            self.drive(line, |sender, now, wire| sender.on_syn_ack(now, wire))?;
            // The acknowledgement of a SYN-ACK, which a passive end does not send.
            self.wire.retain(|sent| !matches!(sent.kind, Kind::Opening(Opening::Ack)));
        } else {
            self.arrive_ack(line, packet)?;
        }
        if packet.length == 0 {
            return Ok(());
        }
        let seq = self.peer.segment(packet.start, packet.length).map_err(|text| stop(line, text))?;
        let sent = packet.options.timestamps.map_or(Time::ZERO, |(value, _)| timestamp(value));
        let marked = packet.codepoint == Some(Ecn::Ce);
        let received = self.receiver.on_segment(self.now, seq, sent, marked, flags.cwr);
        if let Some(ack) = received.ack {
            self.wire.push_back(Sent { at: self.now, kind: Kind::Ack(ack) });
        }
        Ok(())
    }

    /// Handles a SYN or a SYN-ACK.
    fn arrive_syn(&mut self, line: usize, packet: &Packet) -> Step {
        if packet.length > 0 {
            return incomparable(line, "data in a SYN (TCP Fast Open) are not in the simulator");
        }
        // The window of a SYN is not scaled (RFC 7323, section 2.2).
        self.limit = packet.window.unwrap_or(0).min(u32::from(u16::MAX)) + 1;
        match (self.connection, packet.flags.ack) {
            (Connection::Closed, false) => {
                self.connection = Connection::Passive;
                self.open(line)
            }
            (Connection::Active, true) => {
                self.connection = Connection::Open;
                self.drive(line, |sender, now, wire| sender.on_syn_ack(now, wire))
            }
            _ => incomparable(line, "only the first SYN or SYN-ACK is compared"),
        }
    }

    /// Sends the first packet, without data.
    fn open(&mut self, line: usize) -> Step {
        self.opened = self.now;
        // The sender opens when there are data; it is told of one segment, and then of none.
        self.drive(line, |sender, now, wire| {
            sender.supply(now, 1, wire);
            sender.stop();
        })
    }

    /// Notes the peer's window.
    fn take_window(&mut self, line: usize, packet: &Packet) -> Step {
        let (Some(window), Some(ack)) = (packet.window, packet.ack) else { return Ok(()) };
        if window == 0 {
            return incomparable(line, "a window of zero, and its probes, are not in the simulator");
        }
        self.limit = self.limit.max(ack.saturating_add(window.min(u32::from(u16::MAX)) << self.settings.window_scale));
        Ok(())
    }

    /// Handles the acknowledgement of a packet.
    fn arrive_ack(&mut self, line: usize, packet: &Packet) -> Step {
        let Some(number) = packet.ack else { return Ok(()) };
        let una = self.sender.acknowledged();
        let Some(next) = self.stream.segments_below(number) else {
            return incomparable(
                line,
                format!("ack {number} acknowledges a part of a segment, or what was not written"),
            );
        };
        let mut sack = SackBlocks::default();
        if packet.options.sack.len() > 3 {
            return incomparable(line, "the simulator has up to three SACK blocks");
        }
        for &(start, end) in &packet.options.sack {
            match (self.stream.segments_below(start), self.stream.segments_below(end)) {
                (Some(first), Some(behind)) => sack.push(first, behind),
                _ => return incomparable(line, format!("the SACK block {start}:{end} has a part of a segment")),
            }
        }
        let same_window = self.window.is_none() || self.window == packet.window;
        self.window = packet.window;
        if next == una && sack.is_empty() && (packet.length > 0 || !same_window) {
            // Neither new nor a duplicate (RFC 5681, section 2).
            return Ok(());
        }
        self.echo = match (packet.options.timestamps, self.clock) {
            (Some((_, echo)), Some(clock)) => self.echoed(clock, echo),
            // The first segment that it acknowledges (RFC 7323, section 4.3).
            _ if next > una => self.last_sent.get(una as usize).copied().unwrap_or(self.echo),
            _ => self.echo,
        };
        let ack = Ack { next, sack, ece: packet.flags.ece, ace: 0, echo: self.echo, delay: None };
        self.drive(line, |sender, now, wire| sender.on_ack(now, &ack, wire))
    }

    /// Returns the time at which the sender had timestamp `value`, given that at a time it had another. A segment sent
    /// within that millisecond tells the time in full.
    fn echoed(&self, (at, then): (Time, u32), value: u32) -> Time {
        let millis = i64::from(value.wrapping_sub(then) as i32);
        let nanos = at.as_nanos() as i64 + millis * 1_000_000;
        let tick = Time::from_nanos(u64::try_from(nanos).unwrap_or(0)).min(self.now);
        let within = |sent: &&Time| sent.as_nanos().abs_diff(tick.as_nanos()) < 1_000_000;
        self.last_sent.iter().rev().take(1_000).find(within).copied().unwrap_or(tick)
    }

    /// Handles a system call.
    fn call(&mut self, line: usize, call: &Call) -> Step {
        match call.name.as_str() {
            "write" | "send" | "sendto" => {
                for flag in ["MSG_FASTOPEN", "MSG_OOB", "MSG_EOR", "MSG_ZEROCOPY", "MSG_MORE"] {
                    if call.arguments.contains(flag) {
                        return incomparable(line, format!("{flag} is not in the simulator"));
                    }
                }
                let Ok(bytes) = call.result.parse::<u32>() else {
                    return incomparable(line, format!("{} returns `{}`, no number of bytes", call.name, call.result));
                };
                let (sent, acknowledged) = (self.sender.sent(), self.sender.acknowledged());
                let written = self.stream.write(bytes, sent, acknowledged, self.settings.no_delay);
                written.map_err(|text| stop(line, text))?;
                let segments = self.stream.segments();
                self.drive(line, |sender, now, wire| sender.supply(now, segments, wire))
            }
            "connect" if self.connection == Connection::Closed => {
                self.connection = Connection::Active;
                self.open(line)
            }
            "close" | "shutdown" => Err(Stop::Closing),
            "socket" | "bind" | "listen" | "accept" | "setsockopt" | "getsockopt" | "fcntl" | "ioctl" | "poll"
            | "read" | "recv" | "recvfrom" | "recvmsg" | "epoll_create" | "epoll_ctl" | "epoll_wait" => Ok(()),
            other => incomparable(line, format!("the call {other} is not in the simulator")),
        }
    }

    /// Runs code.
    fn check(&mut self, line: usize, text: &str) -> Step {
        let (sender, segment) = (&self.sender, self.settings.segment);
        let (window, limit) = (f64::from(self.settings.tcp.window.max(1)), f64::from(i32::MAX));
        let micros = |duration: Duration| (duration.as_nanos() / 1_000) as f64;
        let counter = |name: &str| match name {
            "tcpi_snd_cwnd" => Some(sender.cwnd().floor()),
            // Before the first congestion it is the receiver's window here, but for Linux and its preset.
            "tcpi_snd_ssthresh" if sender.ssthresh() >= window && !self.settings.tcp.as_linux => Some(limit),
            "tcpi_snd_ssthresh" => Some(sender.ssthresh().floor()),
            "tcpi_unacked" => Some(f64::from(sender.sent() - sender.acknowledged())),
            "tcpi_total_retrans" => Some(sender.retransmissions() as f64),
            "tcpi_rto" => Some(micros(sender.rto())),
            "tcpi_rtt" => Some(sender.srtt().map_or(0.0, micros)),
            "tcpi_snd_mss" => Some(f64::from(segment)),
            _ => None,
        };
        for (number, check) in code::run(text, &mut self.variables, &counter) {
            match check {
                Check::Holds => self.compared += 1,
                Check::Nothing => {}
                Check::Fails(condition, values) => return differs(line + number, condition, values),
                Check::Unknown(what) => {
                    self.skipped.push(Problem::new(line + number, format!("{what} is not in the public interface")));
                }
            }
        }
        Ok(())
    }
}

/// Returns a time from microseconds.
fn time(micros: i64) -> Time {
    Time::from_nanos(u64::try_from(micros).unwrap_or(0).saturating_mul(1_000))
}

/// Returns the time that stands for a timestamp of the peer.
fn timestamp(value: u32) -> Time {
    Time::from_nanos(u64::from(value) * 1_000_000)
}

fn stop(line: usize, reason: impl Into<String>) -> Stop {
    Stop::Outcome(Outcome::NotComparable(Problem::new(line, reason)))
}

fn incomparable(line: usize, reason: impl Into<String>) -> Step {
    Err(stop(line, reason))
}

fn differs(line: usize, expected: impl Into<String>, got: impl Into<String>) -> Step {
    Err(Stop::Outcome(Outcome::Differs { line, expected: expected.into(), got: got.into() }))
}

mod expect;
