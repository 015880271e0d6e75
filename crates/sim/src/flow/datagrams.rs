//! A UDP flow.

use fairlane_qdisc::{Duration, Rate, Seed, Stream, Time};
use fairlane_scenario::Udp;
use fairlane_traffic as traffic;

use super::common::Common;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::{Flags, Packet};
use crate::schedule::event_key::Target;

/// A source and the sequence numbers of its packets.
#[derive(Debug)]
pub(crate) struct Datagrams {
    packets: traffic::Datagrams,
    ecn: bool,
    next_seq: u32,
}

impl Datagrams {
    pub(crate) fn new(udp: &Udp, index: u32, bytes: u32, seed: Seed) -> Self {
        Self { packets: traffic::Datagrams::new(udp, index, bytes, seed), ecn: udp.ecn, next_seq: 0 }
    }

    /// Returns the time from the flow's start to its first packet.
    pub(crate) fn first(&mut self, start: &mut Stream) -> Duration {
        self.packets.first(start)
    }

    /// Sets the source's rate for the packets after the one that is scheduled.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.packets.set_rate(rate);
    }

    /// Sends the next packet and schedules the one after it.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        if common.is_stopped(now) {
            if let Some(start) = common.next_phase(now) {
                network.events.push(start, Target::Source(common.id));
            }
            return;
        }
        let flags = Flags::DATAGRAM.with(Flags::ECT, self.ecn);
        let packet = Packet { seq: self.next_seq, bytes: self.packets.bytes(), ..common.data(now, flags) };
        self.next_seq = self.next_seq.wrapping_add(1);
        network.events.push(now + self.packets.next_gap(), Target::Source(common.id));
        common.totals.sent += 1;
        network.inject(now, &packet);
    }
}
