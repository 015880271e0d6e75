//! A TCP flow: sender, receiver and application.

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::Tcp;
use fairlane_traffic::part;

use super::application::{Applications, DataSource, Told};
use super::common::Common;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::{Flags, NO_SACK, Packet, packet_bytes};
use crate::sack_table::AckOptions;
use crate::schedule::event_key::Target;
use crate::schedule::timer::{Timer, is_due};
use crate::tcp::congestion::FlowAlgorithm;
use crate::tcp::{Ack, Opening, Received, SackBlocks, Segment, SegmentSink, TcpReceiver, TcpSender};

/// A sender, its receiver and the application.
///
/// If one connection follows another, its sequence numbers in packets continue those of the one before with one number
/// left out. So packets of an old connection that are still in the network, including the last acknowledgement, are not
/// taken for packets of the new one.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) application: DataSource,
    pub(super) peers: Peers,
    ack_bytes: u32,
    /// The flags of every data packet.
    data: Flags,
    started: bool,
    sender_timer: Timer,
    /// The pacing timer. It is separate because its deadline moves to an earlier time with each segment: as one timer
    /// the two would leave a stale event in the event queue for each segment.
    pacing_timer: Timer,
    receiver_timer: Timer,
}

/// Sender and receiver of the present connection.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) sender: TcpSender,
    pub(super) receiver: TcpReceiver,
    /// The offset of the sender's clock.
    clock_offset: Duration,
    /// The sequence number in packets of the connection's first segment.
    first: u32,
    /// `None`: congestion control is Fairlane's.
    own: Option<Box<FlowAlgorithm>>,
}

impl Peers {
    /// Returns those of the first connection.
    fn new(tcp: &Tcp, clock_offset: Duration, own: Option<FlowAlgorithm>) -> Self {
        let algorithm = own.as_ref().map(|own| own.connect(tcp, Time::ZERO));
        let sender = TcpSender::with_congestion(tcp, clock_offset, algorithm);
        Self { receiver: receiver(tcp, &sender), sender, clock_offset, first: 0, own: own.map(Box::new) }
    }

    /// Begins a new connection after one of `segments` segments; returns false if the sequence numbers are used up.
    pub(super) fn reconnect(&mut self, now: Time, tcp: &Tcp, segments: u32) -> bool {
        let Some(first) = after(self.first, segments) else { return false };
        self.first = first;
        let algorithm = self.own.as_ref().map(|own| own.connect(tcp, now));
        self.sender = TcpSender::with_congestion(tcp, self.clock_offset, algorithm);
        self.receiver = receiver(tcp, &self.sender);
        true
    }
}

/// Returns the receiver for `sender`.
fn receiver(tcp: &Tcp, sender: &TcpSender) -> TcpReceiver {
    let receiver = TcpReceiver::new(tcp);
    if sender.is_l4s() { receiver.with_exact_echo() } else { receiver }
}

impl Connection {
    /// Returns the flow before its start; `None` if its application is missing.
    pub(crate) fn new(
        tcp: &Tcp,
        common: &Common,
        seed: Seed,
        applications: &mut Applications,
        own: Option<FlowAlgorithm>,
    ) -> Option<Self> {
        let peers = Peers::new(tcp, part(tcp.tick, seed.stream("clock").unit()), own);
        Some(Self {
            application: applications.next(tcp, common, seed)?,
            ack_bytes: packet_bytes(tcp.ack),
            data: Flags::of_ecn(peers.sender.ecn()),
            peers,
            started: false,
            sender_timer: Timer::off(),
            pacing_timer: Timer::off(),
            receiver_timer: Timer::off(),
        })
    }

    /// Handles the flow's start and stop, the start of a transfer, and the ends of on and off periods.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        if common.is_stopped(now) {
            self.peers.sender.stop();
            self.tell_of_stop(now, common, network);
            if let Some(start) = common.next_phase(now) {
                network.events.push(start, Target::Source(common.id));
                if let Some(stop) = common.stop() {
                    network.events.push(stop, Target::Source(common.id));
                }
            }
            return;
        }
        if !self.started
            && let Some(stop) = common.stop()
        {
            network.events.push(stop, Target::Source(common.id));
        }
        let again = std::mem::replace(&mut self.started, true);
        match &mut self.application {
            DataSource::Ftp(tcp) => {
                if again
                    && let Some(tcp) = tcp
                    && !self.peers.reconnect(now, tcp, self.peers.sender.sent())
                {
                    return;
                }
                self.with_sender(now, common, network, |sender, output| sender.start(now, output));
            }
            DataSource::Told(_) => self.tell_of_event(now, again, common, network),
            DataSource::OnOff(periods) => {
                let (on, length) = periods.next_period();
                network.events.push(now + length, Target::Source(common.id));
                if on {
                    self.with_sender(now, common, network, |sender, output| sender.start(now, output));
                } else {
                    self.peers.sender.stop();
                }
            }
        }
    }

    /// Returns the sender of the current connection.
    pub(crate) const fn sender(&self) -> &TcpSender {
        &self.peers.sender
    }

    pub(crate) fn prefetch_scoreboard(&self, sender: bool) {
        if sender {
            self.peers.sender.prefetch_scoreboard();
        } else {
            self.peers.receiver.prefetch_early();
        }
    }

    /// Returns the application that is told what arrives; `None` for one without end.
    pub(crate) const fn told(&self) -> Option<&Told> {
        match &self.application {
            DataSource::Told(told) => Some(told),
            DataSource::Ftp(_) | DataSource::OnOff(_) => None,
        }
    }

    /// As [`told`](Self::told).
    pub(crate) const fn told_mut(&mut self) -> Option<&mut Told> {
        match &mut self.application {
            DataSource::Told(told) => Some(told),
            DataSource::Ftp(_) | DataSource::OnOff(_) => None,
        }
    }

    /// Handles a timer event of the sender; returns true if a timer is due.
    pub(crate) fn on_sender_timer<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        network: &mut Network<O>,
    ) -> bool {
        let fires = self.sender_timer.fires(now) | self.pacing_timer.fires(now);
        fires && self.check_sender(now, common, network)
    }

    /// Fires the sender's timers that are due, and sets them again; returns true if one was due.
    #[inline(never)]
    fn check_sender<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) -> bool {
        let due = is_due(self.peers.sender.deadline(), now) || is_due(self.peers.sender.release(), now);
        let timeouts = self.peers.sender.timeouts();
        self.with_sender(now, common, network, |sender, output| {
            if due {
                sender.on_timer(now, output);
            }
        });
        common.totals.timeouts += self.peers.sender.timeouts() - timeouts;
        due
    }

    /// Fires the timers of the sender that are due before `now`, if packets are [delivered early](crate::flow::hosts).
    /// Their events will find nothing that is due. A sender that paces takes no packets early.
    #[inline(always)]
    fn fire_sender_before<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        while let Some(due) = self.peers.sender.deadline().filter(|due| *due < now) {
            network.early_timers += u64::from(self.check_sender(due, common, network));
        }
    }

    /// Fires the timer of the receiver if it is due before `now`, as [`fire_sender_before`](Self::fire_sender_before)
    /// does.
    #[inline(always)]
    fn fire_receiver_before<O: Observer>(&mut self, now: Time, common: &Common, network: &mut Network<O>) {
        if let Some(due) = self.peers.receiver.deadline().filter(|due| *due < now) {
            network.early_timers += u64::from(self.check_receiver(due, common, network));
        }
    }

    /// Handles a timer event of the receiver; returns true if the timer is due.
    pub(crate) fn on_receiver_timer<O: Observer>(
        &mut self,
        now: Time,
        common: &Common,
        network: &mut Network<O>,
    ) -> bool {
        self.receiver_timer.fires(now) && self.check_receiver(now, common, network)
    }

    /// Fires the receiver's timer if it is due, and sets it again; returns true if it was.
    fn check_receiver<O: Observer>(&mut self, now: Time, common: &Common, network: &mut Network<O>) -> bool {
        let ack = self.peers.receiver.on_timer(now);
        let request = self.told().map_or(0, |told| told.session().request());
        self.answer_apart(now, (ack.as_ref(), 0, request), common, network);
        ack.is_some()
    }

    /// Handles an acknowledgement at the sender.
    // A page loads the program, so there it may not be large.
    #[cfg_attr(target_family = "wasm", inline(never))]
    pub(crate) fn on_ack<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        self.fire_sender_before(now, common, network);
        if packet.flags.has(Flags::SYN) {
            if packet.seq == self.peers.first {
                self.with_sender(now, common, network, |sender, output| sender.on_syn_ack(now, output));
            }
            return;
        }
        let Some(next) = packet.seq.checked_sub(self.peers.first) else {
            return network.records.sacks.forget(packet.sack);
        };
        let (ece, ace) = (packet.flags.has(Flags::ECE), packet.flags.ace());
        let mut ack = Ack { next, sack: SackBlocks::default(), ece, ace, echo: packet.sent, delay: None };
        let mut request = 0;
        if packet.sack != NO_SACK {
            AckOptions { sack: ack.sack, delay: ack.delay, request } = network.records.sacks.take(packet.sack);
        }
        self.with_sender(now, common, network, |sender, output| sender.on_ack(now, &ack, output));
        if !self.application.is_bulk() {
            self.tell_of_ack(now, request, common, network);
        }
    }

    /// Handles a packet without data at the receiver, and answers a SYN of the present connection. It counts as
    /// received only if data follow, so the acknowledgement of the answer changes nothing.
    pub(crate) fn on_opening<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &Common,
        network: &mut Network<O>,
    ) {
        self.fire_receiver_before(now, common, network);
        if !packet.flags.has(Flags::SYN) || packet.seq != self.peers.first {
            return;
        }
        // Neither a SYN nor its answer is ECN-capable (RFC 3168, section 6.1.1).
        let flags = Flags::SYN.with(Flags::ACK, true);
        let route = common.routes.back;
        network.inject(now, &Packet { at: now, bytes: self.ack_bytes, route, flags, class: 0, ..*packet });
    }

    /// Handles a segment at the receiver.
    // A page loads the program, so there it may not be large.
    #[cfg_attr(target_family = "wasm", inline(never))]
    pub(crate) fn on_segment<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        self.fire_receiver_before(now, common, network);
        let Some(seq) = packet.seq.checked_sub(self.peers.first) else { return };
        if !self.application.is_bulk() {
            return self.on_told_segment(now, (seq, packet), common, network);
        }
        let received = self.receive(now, (seq, packet), common);
        self.answer(now, (received.ack.as_ref(), 0, 0), common, network);
    }

    /// Passes segment `seq` of the present connection to the receiver.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Time, (seq, packet): (u32, &Packet), common: &mut Common) -> Received {
        let (ce, cwr) = (packet.flags.has(Flags::CE), packet.flags.has(Flags::CWR));
        let received = self.peers.receiver.on_segment(now, seq, packet.sent, ce, cwr);
        if received.new {
            common.totals.unique_bytes += u64::from(packet.bytes);
        }
        received
    }

    /// Calls `act` with the sender, then sets its timers.
    pub(super) fn with_sender<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        network: &mut Network<O>,
        act: impl FnOnce(&mut TcpSender, &mut SegmentInjector<'_, O>),
    ) {
        let (opening_bytes, first, flags) = (self.ack_bytes, self.peers.first, self.data);
        act(&mut self.peers.sender, &mut SegmentInjector { now, flags, opening_bytes, first, common, network });
        self.sender_timer.set(self.peers.sender.deadline(), Target::SenderTimer(common.id), &mut network.events);
        self.pacing_timer.set(self.peers.sender.release(), Target::SenderTimer(common.id), &mut network.events);
    }

    /// Does what [`answer`](Self::answer) does, where that is not to be compiled once more.
    #[inline(never)]
    pub(super) fn answer_apart<O: Observer>(
        &mut self,
        now: Time,
        (ack, bytes, request): (Option<&Ack>, u32, u32),
        common: &Common,
        network: &mut Network<O>,
    ) {
        self.answer(now, (ack, bytes, request), common, network);
    }

    /// Sends the acknowledgement, if there is one, with the bytes of new requests and the number of the last one that
    /// it brings, and sets the receiver's timer.
    #[inline(always)]
    fn answer<O: Observer>(
        &mut self,
        now: Time,
        (ack, bytes, request): (Option<&Ack>, u32, u32),
        common: &Common,
        network: &mut Network<O>,
    ) {
        self.receiver_timer.set(self.peers.receiver.deadline(), Target::ReceiverTimer(common.id), &mut network.events);
        let Some(ack) = ack else { return };
        let packet = Packet {
            sent: ack.echo,
            at: now,
            flow: common.id,
            seq: self.peers.first.wrapping_add(ack.next),
            bytes: self.ack_bytes + bytes,
            route: common.routes.back,
            sack: network.records.sacks.keep(ack, request),
            flags: Flags::ACK.with_ace(ack.ace | u8::from(ack.ece)),
            class: 0,
        };
        network.inject(now, &packet);
    }
}

/// Returns the number of the first segment after a connection of `size` segments from `first` on; `None` if the numbers
/// are used up.
fn after(first: u32, size: u32) -> Option<u32> {
    // Leaves room for the longest transfer.
    const LAST: u32 = u32::MAX / 2;
    first.checked_add(size)?.checked_add(1).filter(|next| *next <= LAST)
}

/// Makes packets of a sender's segments and injects them.
pub(super) struct SegmentInjector<'f, O> {
    now: Time,
    /// The flags of every data packet.
    flags: Flags,
    /// The size of a packet without data.
    opening_bytes: u32,
    first: u32,
    common: &'f mut Common,
    network: &'f mut Network<O>,
}

impl<O: Observer> SegmentSink for SegmentInjector<'_, O> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        self.common.totals.sent += 1;
        self.common.totals.retransmitted += u64::from(segment.retransmission);
        let flags = self.flags.with(Flags::CWR, segment.cwr);
        let seq = self.first.wrapping_add(segment.seq);
        self.network.inject(self.now, &Packet { seq, ..self.common.data(self.now, flags) });
    }

    fn open(&mut self, packet: Opening) {
        let flags = match packet {
            Opening::Syn => Flags::SYN,
            Opening::Ack => Flags::OPENING_ACK,
        };
        let packet = self.common.data(self.now, flags);
        self.network.inject(self.now, &Packet { seq: self.first, bytes: self.opening_bytes, ..packet });
    }
}
