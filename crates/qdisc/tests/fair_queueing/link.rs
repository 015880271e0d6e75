//! A link of 1 Mbit/s that sends given arrivals through a discipline.

use fairlane_qdisc::{
    BoxQdisc, DropSink, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time,
};

/// The result of a test that builds queues.
pub(crate) type Outcome = Result<(), ParameterError>;

/// The rate of the link: 1 Mbit/s, 8 µs per byte.
pub(crate) const RATE: Rate = Rate::from_bits_per_second(1_000_000);
/// The time that the link takes for a byte, in nanoseconds.
pub(crate) const BYTE_NANOS: u64 = 8_000;

/// The ids of dropped packets, with the reasons.
#[derive(Default)]
pub(crate) struct Drops(pub(crate) Vec<(u64, Reason)>);

impl DropSink<SimplePacket> for Drops {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push((packet.id, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, _reason: Reason) {
        panic!("packet {} was marked, and no discipline here marks", packet.id);
    }
}

/// Returns the parameters of `kind` with those that are `given`.
fn parameters(kind: Kind, given: &[(&str, &str)]) -> Result<QdiscParameters, ParameterError> {
    given.iter().try_fold(QdiscParameters::new(kind), |parameters, &(key, text)| parameters.with(key, text))
}

/// Builds `kind` with the parameters that are `given`, for the link.
pub(crate) fn build(kind: Kind, given: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    parameters(kind, given)?.build(&Host { rate: RATE, seed: Seed::new(3) })
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) packet: SimplePacket,
    /// The end of its transmission, in nanoseconds.
    pub(crate) end: u64,
}

/// Sends `arrivals`, which are in the order of time, over the link until the time `until` or until nothing is left.
pub(crate) fn send(
    queue: &mut BoxQdisc<SimplePacket>,
    arrivals: &[(u64, SimplePacket)],
    until: u64,
) -> (Vec<Sent>, Drops) {
    let (mut sent, mut drops) = (Vec::new(), Drops::default());
    let mut arrivals = arrivals.iter().peekable();
    let mut free = 0;
    loop {
        while let Some(&(at, packet)) = arrivals.next_if(|(at, _)| *at <= free) {
            queue.enqueue(Time::from_nanos(at), packet, &mut drops);
        }
        if free >= until {
            return (sent, drops);
        }
        if let Some(packet) = queue.dequeue(Time::from_nanos(free), &mut drops) {
            free += u64::from(packet.bytes) * BYTE_NANOS;
            sent.push(Sent { packet, end: free });
            continue;
        }
        // The link is idle until the next arrival, or until a packet that is held back may leave.
        let ready = queue.ready_at().map(Time::as_nanos);
        assert!(ready.is_none_or(|ready| ready > free), "a packet was ready and not sent");
        assert_eq!(ready.is_none(), queue.packets() == 0);
        match (arrivals.peek().map(|(at, _)| *at), ready) {
            (Some(arrival), Some(ready)) => free = arrival.min(ready),
            (Some(next), None) | (None, Some(next)) => free = next,
            (None, None) => return (sent, drops),
        }
    }
}

/// Returns `count` simultaneous packets of `flow` with ids from 0, of the sizes that `bytes` returns.
pub(crate) fn backlog(flow: u64, class: u8, count: u64, mut bytes: impl FnMut() -> u32) -> Vec<(u64, SimplePacket)> {
    (0..count).map(|id| (0, SimplePacket::new(flow, bytes()).with_class(class).with_id(id))).collect()
}

/// Returns the flows of the packets in `sent`.
pub(crate) fn flows_of(sent: &[Sent]) -> Vec<u64> {
    sent.iter().map(|s| s.packet.flow).collect()
}

/// A limit that no test here reaches.
pub(crate) const LONG: (&str, &str) = ("limit", "100000p");
