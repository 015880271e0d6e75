//! SFQ with RED in each queue: flows are hashed into a few small queues, which are served in turn and have a RED each.
//!
//! The paper on Stochastic Fair BLUE compares SFB with it, with as many queues as SFB has bins and twice the buffer.
//! Flows are kept apart, but a queue of nine packets is too small for RED to work well.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "Stochastic Fair Blue", INFOCOM 2001, section IV-B: 46 queues of 9 kB with
//! thresholds of 2 and 8 kB. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990, for the round robin.
//!
//! **Deviations.** The paper leaves open `weight`, here 0.002; `probability`, here 1; the length of a turn, here one
//! packet; and the order of RED's steps, here that of this crate's RED. A queue is idle from the departure of its last
//! packet, and its average then decays at the rate of the whole link.
//!
//! **Cost.** A hash, and RED's.

use alloc::vec::Vec;

use crate::discipline::red::{RedCore, RedParameters, check_thresholds};
use crate::error::check;
use crate::flow::hash::FlowHash;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::ring::Ring;
use crate::queue::room::Room;
use crate::queue::signal::{discard, mark};
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Time};

/// The configuration of [`SfqRed`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: 414 kB, as the paper.
    pub limit: Size,
    /// The number of queues that flows are hashed to, 1 to 65,536. Default: 46, as the paper.
    pub flows: u32,
    /// The most that each queue holds, in packets or bytes. Default: 9 kB, as the paper.
    pub queue_limit: Size,
    /// RED for each queue. Errors call its `min` and `max` by their keys in text, `queue_min` and `queue_max`. Default:
    /// thresholds of 2 and 8 kB, as the paper; a probability of 1, and ns-2's values for the rest.
    pub red: RedParameters,
}

impl Default for Config {
    fn default() -> Self {
        let red = RedParameters {
            min: Size::bytes(2000),
            max: Size::bytes(8000),
            probability: 1.0,
            ..RedParameters::default()
        };
        Self { limit: Size::bytes(414_000), flows: 46, queue_limit: Size::bytes(9000), red }
    }
}

impl Config {
    /// Checks every value, and the thresholds against each other.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::count("flows", self.flows, 1..=65_536)?;
        check::size("queue_limit", self.queue_limit)?;
        check_thresholds(THRESHOLDS, self.red.min, self.red.max)?;
        self.red.validate()
    }
}

/// The keys of a queue's thresholds.
pub(crate) const THRESHOLDS: [&str; 2] = ["queue_min", "queue_max"];

/// SFQ with RED in each queue.
#[derive(Debug)]
pub struct SfqRed<P> {
    queues: FlowQueues<P>,
    /// RED's state for each queue.
    reds: Vec<RedCore>,
    /// The queues that are not empty.
    ring: Ring,
    counters: Counters,
    flows: u32,
    room: Room,
    queue_room: Room,
    /// The averages are in bytes.
    in_bytes: bool,
    hash: FlowHash,
}

impl<P: Packet> SfqRed<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, the lower threshold is above the upper one, or their units differ.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, flows, queue_limit, red } = config;
        let reds = (0..flows).map(|queue| RedCore::new(red, seed.numbered(u64::from(queue))));
        Ok(Self {
            queues: FlowQueues::new(),
            reds: reds.collect::<Result<_, _>>()?,
            ring: Ring::new(),
            counters: Counters::default(),
            flows,
            room: Room::of(limit),
            queue_room: Room::of(queue_limit),
            in_bytes: matches!(red.max, Size::Bytes(_)),
            hash: FlowHash::new(seed),
        })
    }

    /// Tells whether a packet of `bytes` bytes would exceed the limit of `queue` or that of all queues.
    fn overflows(&self, queue: usize, bytes: u32) -> bool {
        let Self { queues, room, queue_room, .. } = self;
        let bytes = u64::from(bytes);
        room.is_exceeded(queues.packets() + 1, queues.bytes() + bytes)
            || queue_room.is_exceeded(queues.packets_in(queue) + 1, queues.bytes_in(queue) + bytes)
    }

    /// Returns the fate, apart from the limits, that the RED of `queue` decides on for `packet`.
    fn test(&mut self, now: Time, queue: usize, packet: &P) -> Fate {
        let backlog = self.queues.packets_in(queue);
        let occupancy = if self.in_bytes { self.queues.bytes_in(queue) as f64 } else { backlog as f64 };
        let red = &mut self.reds[queue];
        red.sample(now, occupancy);
        let signal = red.test(backlog, packet.bytes());
        red.fate(signal, packet.ecn_capable())
    }

    /// Appends `packet` to `queue`.
    #[inline(always)]
    fn push(&mut self, queue: usize, packet: P) {
        if self.queues.packets_in(queue) == 0 {
            self.ring.join(queue);
        }
        self.queues.push_back(queue, packet);
    }

    /// Marks `packet` and appends it to `queue`. Apart, so that a packet without a mark is copied only once.
    #[inline(never)]
    fn push_marked(
        &mut self,
        now: Time,
        queue: usize,
        mut packet: P,
        reason: Reason,
        sink: &mut dyn DropSink<P>,
    ) -> Fate {
        let fate = mark(now, &mut packet, reason, &mut self.counters, sink);
        self.push(queue, packet);
        fate
    }

    /// Drops `packet`, an arrival for `queue`, which stays idle if it is empty.
    fn refuse(&mut self, now: Time, queue: usize, packet: P, reason: Reason, sink: &mut dyn DropSink<P>) -> Fate {
        if self.queues.packets_in(queue) == 0 {
            self.reds[queue].idle(now);
        }
        discard(now, packet, reason, &mut self.counters, sink)
    }
}

impl<P: Packet> Qdisc<P> for SfqRed<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        let queue = self.hash.bin(packet.flow().get(), self.flows) as usize;
        let fate = self.test(now, queue, &packet);
        if let Fate::Dropped(reason) = fate {
            return self.refuse(now, queue, packet, reason, sink);
        }
        if self.overflows(queue, packet.bytes()) {
            return self.refuse(now, queue, packet, Reason::Limit, sink);
        }
        if let Fate::Marked(reason) = fate {
            return self.push_marked(now, queue, packet, reason, sink);
        }
        self.push(queue, packet);
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let queue = self.ring.head()?;
        let packet = self.queues.pop_front(queue)?;
        self.ring.pass();
        if self.queues.packets_in(queue) == 0 {
            self.ring.leave(queue);
            self.reds[queue].idle(now);
        }
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }

    fn status(&self) -> Status {
        Status::new(self.queues.packets(), self.queues.bytes())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        for red in &mut self.reds {
            red.link_rate(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    const RATE: Rate = Rate::from_bits_per_second(1_000_000);

    /// Would catch a value that is let in out of its range, or refused under the key of another parameter.
    #[test]
    fn impossible_configurations_are_refused() {
        let default = Config::default();
        let thresholds = |min, max| Config { red: RedParameters { min, max, ..default.red }, ..default };
        for (config, key) in [
            (Config { flows: 0, ..default }, "flows"),
            (thresholds(Size::packets(2), Size::bytes(8000)), "queue_max"),
            (thresholds(Size::bytes(9000), Size::bytes(8000)), "queue_min"),
            (Config { red: RedParameters { weight: 0.0, ..default.red }, ..default }, "weight"),
        ] {
            let refused = SfqRed::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
            assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
        }
    }

    /// A link that becomes known or changes must reach the idle clock of every queue, and no state may be lost. Would
    /// catch a clock that keeps the first rate.
    #[test]
    fn averages_decay_at_the_rate_of_the_link() {
        let average = |rates: &[Rate]| {
            let red = RedParameters { weight: 0.5, ..Config::default().red };
            let Ok(mut queue) = SfqRed::new(Config { flows: 1, red, ..Config::default() }, Seed::new(1)) else {
                panic!("a valid configuration")
            };
            for _ in 0..3 {
                queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
            }
            while queue.dequeue(Time::ZERO, &mut ()).is_some() {}
            for rate in rates {
                queue.link_rate(*rate);
            }
            queue.enqueue(Time::from_nanos(32_000_000), SimplePacket::new(1, 1000), &mut ());
            queue.reds[0].average()
        };
        // Samples of 0, 1000 and 2000 bytes give 1250; the sample at the end halves what idle time leaves.
        assert_eq!(average(&[]), 625.0);
        // A packet of 1000 bytes takes 8 ms, so 32 ms are four samples of 0.
        assert_eq!(average(&[RATE]), 625.0 / 16.0);
        assert_eq!(average(&[RATE, Rate::from_bits_per_second(500_000)]), 625.0 / 4.0);
    }
}
