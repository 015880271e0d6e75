//! A queue of any kind that is kept at one length.

use std::hint::black_box;

use fairlane_qdisc::{
    BoxQdisc, Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Stream, Time,
};

/// Light flows beside the heavy one, with 1,000 packets queued.
pub const FEW: u32 = 32;
/// Light flows beside the heavy one, with 10,000 packets queued.
pub const MANY: u32 = 10_000;

/// The rate of the link; a packet of 1000 bytes takes 80 ns.
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);
const PACKET_TIME: Duration = Duration::from_nanos(80);

/// Returns the number of packets in the queue.
const fn length(light: u32) -> usize {
    if light == FEW { 1000 } else { 10_000 }
}

/// Returns parameters with room for four times the length, and thresholds around it.
fn configured(kind: Kind, light: u32) -> Result<QdiscParameters, ParameterError> {
    let length = length(light);
    let room = format!("{}p", 4 * length);
    let mut given: Vec<(&str, String)> = Vec::new();
    let mut add = |key, value: String| {
        if kind.parameters().iter().any(|parameter| parameter.key == key) {
            given.push((key, value));
        }
    };
    match kind {
        Kind::Bare => {
            for (key, value) in [("limit", "40mb"), ("flows", "20000"), ("timeout", "100ms")] {
                add(key, value.to_owned());
            }
            // What a flow may queue: by default 8 packets, with few flows less than the length in all.
            if light == FEW {
                add("hi", "80kb".to_owned());
                add("lo", "40kb".to_owned());
            }
        }
        // Its parameter `limit` is memory.
        Kind::Cake => {}
        _ => {
            add("limit", room);
            // ECHO's sample on links of up to 1 Gbit/s.
            add("tags", "256".to_owned());
            // CHOKeD draws so many candidates that the queue does not grow far above `min`.
            add("min", format!("{}p", if kind == Kind::Choked { length - length / 50 } else { length / 2 }));
            // A bin of SFB is full at four times its part of the queue.
            add("bin_size", format!("{}p", length / 4));
            add("max", format!("{}p", 3 * length / 2));
            if light == MANY {
                add("flows", if kind == Kind::SfqRed { "10000" } else { "65536" }.to_owned());
            }
        }
    }
    given.into_iter().try_fold(QdiscParameters::new(kind), |config, (key, text)| config.with(key, text.as_str()))
}

/// A queue that is kept at one length, with its arrivals. Every second one belongs to a heavy flow.
///
/// A packet leaves for each one that is admitted; an arrival that is dropped has no departure. The link takes 80 ns for a
/// packet: 1,000 packets are 0.08 ms and 10,000 are 0.8 ms, below the targets of the disciplines that control the delay.
pub struct Station {
    queue: BoxQdisc<SimplePacket>,
    arrivals: Vec<SimplePacket>,
    length: usize,
    next: usize,
    now: Time,
}

impl Station {
    /// Builds `kind` for [`FEW`] or [`MANY`] light flows, and offers it `arrivals` packets.
    ///
    /// # Errors
    /// The kind refuses its parameters, or does not settle within a tenth of the length.
    pub fn new(kind: Kind, light: u32, arrivals: u32) -> Result<Self, String> {
        let parameters = configured(kind, light).map_err(|error| error.to_string())?;
        let queue = parameters.build(&Host { rate: RATE, seed: Seed::new(1) }).map_err(|error| error.to_string())?;
        let mut chance = Seed::new(1).stream("arrivals");
        let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(light)) };
        let ring = (0..65_536).map(|_| SimplePacket::new(flow(&mut chance), 1000).unresponsive()).collect();
        let mut station = Self { queue, arrivals: ring, length: length(light), next: 0, now: Time::ZERO };
        station.steps(arrivals);
        let there = station.queue.packets();
        if there.abs_diff(station.length) > station.length / 10 {
            return Err(format!("{there} packets are queued, and not {}", station.length));
        }
        Ok(station)
    }

    /// Lets a packet arrive, and another one leave if the queue has become too long.
    #[inline]
    pub fn step(&mut self) {
        self.now += PACKET_TIME;
        self.next += 1;
        self.queue.enqueue(self.now, self.arrivals[self.next & (self.arrivals.len() - 1)], &mut ());
        if self.queue.packets() > self.length {
            black_box(&self.queue.dequeue(self.now, &mut ()));
        }
    }

    /// Does `count` steps.
    pub fn steps(&mut self, count: u32) {
        (0..count).for_each(|_| self.step());
    }
}
