//! The station of queueing theory: Poisson arrivals at a queue with an exponential server, which holds the packet at
//! the head until its service ends.
//!
//! Time advances by uniformisation: each step is an arrival of flow i with probability `rate_i / (sum of rates + mu)`,
//! else an end of service, which finds the queue empty or not. Averages over steps are averages over time.

use alloc::vec;
use alloc::vec::Vec;

use crate::{Duration, Qdisc, SimplePacket, Stream, Time};

/// The time of a step. Its length does not matter to a discipline without a clock.
const STEP: Duration = Duration::from_nanos(1000);

/// The longest queue whose part of the time is counted by itself.
const LENGTHS: usize = 64;

/// A station: the rate of service, and the rate of each flow's arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// The rate of service, above zero.
    pub mu: f64,
    /// The rate of arrivals of each flow.
    pub rates: Vec<f64>,
}

/// The measurements of a station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The number of steps.
    pub steps: u64,
    /// The number of ends of service, whether they found a packet or not.
    pub services: u64,
    /// The sum of the queue's packets over all steps.
    pub packets: u64,
    /// The number of steps with 0, 1, … packets in the queue; the last counts longer queues too.
    pub lengths: Vec<u64>,
    /// The counts of each flow's packets.
    pub flows: Vec<FlowObservation>,
}

/// The counts of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowObservation {
    /// The packets that arrived.
    pub offered: u64,
    /// The packets whose arrival dropped none.
    pub admitted: u64,
    /// The packets that were served.
    pub served: u64,
}

impl Station {
    /// Runs `steps` steps of the station with `queue`, whose packets are of 1000 bytes.
    pub fn observe(&self, queue: &mut dyn Qdisc<SimplePacket>, steps: u32, random: &mut Stream) -> Observation {
        let total = self.mu + self.rates.iter().sum::<f64>();
        let mut seen = Observation {
            steps: u64::from(steps),
            lengths: vec![0; LENGTHS],
            flows: vec![FlowObservation::default(); self.rates.len()],
            ..Observation::default()
        };
        let mut now = Time::ZERO;
        for _ in 0..steps {
            now += STEP;
            let packets = queue.packets();
            seen.packets += packets as u64;
            seen.lengths[packets.min(LENGTHS - 1)] += 1;
            let mut roll = random.unit() * total;
            let arrival = self.rates.iter().position(|rate| {
                roll -= rate;
                roll < 0.0
            });
            match arrival {
                Some(flow) => arrive(queue, now, flow, &mut seen.flows[flow]),
                None => {
                    seen.services += 1;
                    let served = if packets > 0 { queue.dequeue(now, &mut ()) } else { None };
                    if let Some(packet) = served {
                        seen.flows[packet.flow as usize].served += 1;
                    }
                }
            }
        }
        seen
    }
}

fn arrive(queue: &mut dyn Qdisc<SimplePacket>, now: Time, flow: usize, seen: &mut FlowObservation) {
    let before = queue.counters().dropped_total().packets;
    queue.enqueue(now, SimplePacket::new(flow as u64, 1000), &mut ());
    seen.offered += 1;
    seen.admitted += u64::from(queue.counters().dropped_total().packets == before);
}
