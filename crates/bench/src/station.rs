//! A queue of any kind that is kept at one length.

use std::hint::black_box;

use fairlane_qdisc::{
    BoxQdisc, Counters, DropSink, Duration, Fate, FlowKey, Host, Kind, Packet, ParameterError, Qdisc, QdiscParameters,
    Rate, Seed, Status, Stream, Time,
};

/// How many light flows share the queue with the heavy one, and how many packets are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Flows in addition to the heavy one; at most 65,535.
    pub light: u16,
    /// Packets in the queue.
    pub length: u32,
}

impl Load {
    /// 33 flows in all, 1,000 packets.
    pub const FEW: Self = Self { light: 32, length: 1000 };
    /// 10,001 flows in all, 10,000 packets.
    pub const MANY: Self = Self { light: 10_000, length: 10_000 };

    /// Returns the number of flows, the heavy one included.
    #[must_use]
    pub const fn flows(self) -> u32 {
        self.light as u32 + 1
    }

    /// Returns the arrivals after which the queue has its length, the averages have settled and every table has its
    /// size.
    const fn settling(self) -> u32 {
        30_000 + 3 * self.length + 20 * self.light as u32
    }
}

/// A packet that is kept elsewhere, as a router's: the properties that a discipline may request, and the place of the
/// packet.
///
/// Its transport does not slow down. It has 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    flow: FlowKey,
    /// The number of its buffer, for the host.
    _buffer: u64,
    bytes: u32,
    ecn: Ecn,
}

/// The value of the two ECN bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Ecn {
    NotCapable,
    Marked,
}

impl Packet for Handle {
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotCapable
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Marked;
    }
    fn responsive(&self) -> bool {
        false
    }
}

/// The rate of the link; a packet of 1000 bytes takes 80 ns.
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);
const PACKET_TIME: Duration = Duration::from_nanos(80);

/// Returns parameters with room for four times the length, and thresholds around it.
fn configured(kind: Kind, load: Load) -> Result<QdiscParameters, ParameterError> {
    let length = load.length;
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
            if load.light == Load::FEW.light {
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
            if load.light == Load::MANY.light {
                add("flows", if kind == Kind::SfqRed { "10000" } else { "65536" }.to_owned());
            }
        }
    }
    given.into_iter().try_fold(QdiscParameters::new(kind), |config, (key, text)| config.with(key, text.as_str()))
}

/// Passes on the packet that arrived last. It does nothing else, so that the rest is the cost of the driver.
#[derive(Default)]
struct Relay {
    packet: Option<Handle>,
    counters: Counters,
}

impl Qdisc<Handle> for Relay {
    fn enqueue(&mut self, _now: Time, packet: Handle, _sink: &mut dyn DropSink<Handle>) -> Fate {
        self.packet = Some(packet);
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<Handle>) -> Option<Handle> {
        self.packet.take()
    }
    fn status(&self) -> Status {
        Status::new(usize::MAX, 0)
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// A queue that is kept at one length, with its arrivals. Every second one belongs to a heavy flow.
///
/// A packet leaves for each one that is admitted; an arrival that is dropped has no departure. The link takes 80 ns for
/// a packet: 1,000 packets are 0.08 ms and 10,000 are 0.8 ms, below the targets of the disciplines that control the
/// delay.
pub struct Station {
    queue: BoxQdisc<Handle>,
    /// The arrivals, in turn. A packet is copied from here as from a host's ring, and not put together from its parts:
    /// then it would be in several stores on their way to the cache, which the discipline's copy would have to wait
    /// for.
    arrivals: Vec<Handle>,
    length: usize,
    next: usize,
    now: Time,
}

/// So many arrivals that the processor does not learn their order, and so few that they leave room in its cache.
const ARRIVALS: usize = 1 << 14;

impl Station {
    /// Builds `kind` for `load`, and offers it packets until it has settled.
    ///
    /// # Errors
    /// The kind refuses its parameters, or does not settle within a tenth of the length.
    pub fn new(kind: Kind, load: Load) -> Result<Self, String> {
        let parameters = configured(kind, load).map_err(|error| error.to_string())?;
        let queue = parameters.build(&Host { rate: RATE, seed: Seed::new(1) }).map_err(|error| error.to_string())?;
        let mut station = Self::with(queue, load);
        station.steps(load.settling());
        let there = station.queue.packets();
        if there.abs_diff(station.length) > station.length / 10 {
            return Err(format!("{there} packets are queued, and not {}", station.length));
        }
        Ok(station)
    }

    /// Builds a station whose every packet leaves at once: its cost is the part of the driver in all measurements.
    #[must_use]
    pub fn driver(load: Load) -> Self {
        Self::with(Box::new(Relay::default()), load)
    }

    fn with(queue: BoxQdisc<Handle>, load: Load) -> Self {
        let mut chance = Seed::new(1).stream("arrivals");
        let light = u32::from(load.light);
        let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(light)) };
        let packet = |flow| Handle { flow: FlowKey::new(flow), _buffer: 0, bytes: 1000, ecn: Ecn::NotCapable };
        let arrivals = (0..ARRIVALS).map(|_| packet(flow(&mut chance))).collect();
        Self { queue, arrivals, length: load.length as usize, next: 0, now: Time::ZERO }
    }

    /// Lets a packet arrive, and another one leave if the queue has become too long.
    #[inline]
    pub fn step(&mut self) {
        self.now += PACKET_TIME;
        self.next = (self.next + 1) % ARRIVALS;
        self.queue.enqueue(self.now, self.arrivals[self.next], &mut ());
        if self.queue.packets() > self.length {
            black_box(&self.queue.dequeue(self.now, &mut ()));
        }
    }

    /// Does `count` steps.
    pub fn steps(&mut self, count: u32) {
        (0..count).for_each(|_| self.step());
    }
}
