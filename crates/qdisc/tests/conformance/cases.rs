//! The cases of the vectors: the parameters of each kind, and the operations.

use fairlane_qdisc::testing::Operation;
use fairlane_qdisc::{Host, Kind, ParameterError, QdiscParameters, Rate, Seed, SimplePacket, Stream, Time};

/// A case: its vector is the file of this name.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) config: QdiscParameters,
    pub(crate) seed: u64,
}

/// The link of all cases.
pub(crate) const RATE: Rate = Rate::from_bits_per_second(1_000_000);

impl Case {
    pub(crate) fn host(&self) -> Host {
        Host { rate: RATE, seed: Seed::new(self.seed) }
    }
}

/// Parameters under which a few hundred packets exercise a discipline; each kind takes those that it has.
const ALL: [(&str, &str); 12] = [
    ("limit", "24p"),
    ("min", "3p"),
    ("max", "9p"),
    ("probability", "0.2"),
    ("weight", "0.2"),
    ("ecn", "true"),
    ("weighted", "true"),
    ("quantum", "500b"),
    ("memory", "2"),
    ("shares", "0.3,0.1,0.4"),
    ("prio", "2,1,1"),
    ("maxburst", "2p"),
];

/// Returns parameters of a kind that replace those of [`ALL`] or are added to them; `""` removes one, so that it has
/// its default.
fn own(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind.name() {
        "bare" => &[("limit", "32kb"), ("weighted", "")],
        "chokew" => &[("threshold", "2p"), ("increment", "0.2"), ("decrement", "0.1")],
        "choker" => &[("threshold", "2p"), ("increment", "0.2"), ("decrement", "0.1"), ("band", "4p")],
        "cbq" => &[("bounded", "0,1")],
        "sred" => &[("zombies", "20")],
        "afd" => &[("shadow", "20"), ("sample", "2"), ("target_queue", "4p")],
        "echo" => &[("tags", "64")],
        "blue" => &[("increment", "0.1"), ("decrement", "0.02"), ("freeze", "50ms"), ("jitter", "true")],
        "sfb" => &[
            ("levels", "2"),
            ("bins", "5"),
            ("bin_size", "4p"),
            ("bin_max", "6p"),
            ("increment", "0.1"),
            ("decrement", "0.02"),
        ],
        "sfred" => &[("levels", "2"), ("bins", "5"), ("bin_size", "4p"), ("bin_max", "6p")],
        "sfq" => &[("flows", "5")],
        "sfq-red" => {
            &[("limit", "1mb"), ("flows", "5"), ("queue_limit", "8p"), ("queue_min", "1p"), ("queue_max", "4p")]
        }
        "fq-codel" | "fq-pie" => &[("quantum", "")],
        _ => &[],
    }
}

/// Parameters as text, by their keys.
type Given = &'static [(&'static str, &'static str)];

/// Kinds that have more than one vector: the suffix of the name, and parameters that replace those of [`own`] or are
/// added to them; `""` removes one. SFB's second vector has the rules of its paper's figure 14, where a full bin drops
/// and one step leads up and down.
const MORE: [(Kind, &str, Given); 4] = [
    (Kind::DropTail, "-front", &[("drop", "front")]),
    (Kind::DropTail, "-random", &[("drop", "random")]),
    (Kind::Ared, "-feng", &[("law", "feng")]),
    (
        Kind::Sfb,
        "-figure-14",
        &[
            ("drop_on_over", "any"),
            ("bin_max", ""),
            ("harddrop", "false"),
            ("increment", "0.25"),
            ("decrement", "0.25"),
            ("penalty_burst", "1500b"),
        ],
    ),
];

fn case(kind: Kind, suffix: &str, more: &[(&str, &str)]) -> Result<Case, ParameterError> {
    let own: Vec<_> = own(kind).iter().filter(|(key, _)| more.iter().all(|(mine, _)| mine != key)).collect();
    let mut config = QdiscParameters::new(kind);
    let shared = ALL.iter().filter(|(key, _)| own.iter().all(|(mine, _)| mine != key));
    for (key, value) in shared.chain(own.iter().copied()).chain(more).filter(|(_, value)| !value.is_empty()) {
        if kind.parameters().iter().any(|parameter| parameter.key == *key) {
            config.set(key, (*value).into())?;
        }
    }
    Ok(Case { name: format!("{kind}{suffix}"), config, seed: 7 })
}

/// Returns all cases: at least one of each kind.
pub(crate) fn cases() -> Result<Vec<Case>, ParameterError> {
    let plain = Kind::ALL.into_iter().map(|kind| case(kind, "", &[]));
    plain.chain(MORE.into_iter().map(|(kind, suffix, more)| case(kind, suffix, more))).collect()
}

/// Returns the operations of every vector: arrivals at twice the link's rate, then at half of it, then an hour without
/// packets, then a flood of small packets; at the end the queue is emptied. Time starts at a second.
pub(crate) fn operations() -> Vec<Operation> {
    let mut chance = Seed::new(1).stream("conformance");
    let mut operations = Vec::new();
    let mut id = 0;
    let mut phase = |from_ms: u64, gap_ms: u64, packets: u64, departures: u64, chance: &mut Stream| {
        let mut at = from_ms * 1_000_000;
        for _ in 0..packets {
            operations.push(Operation::Enqueue(Time::from_nanos(at), packet(id, chance)));
            id += 1;
            at += u64::from(chance.below(2 * gap_ms as u32 * 1_000_000));
        }
        for number in 0..departures {
            operations.push(Operation::Dequeue(Time::from_nanos((from_ms + 8 * number) * 1_000_000 + 500_000)));
        }
    };
    phase(1000, 4, 110, 60, &mut chance);
    phase(2000, 12, 30, 70, &mut chance);
    phase(3_602_000, 2, 40, 8, &mut chance);
    phase(3_602_200, 8, 10, 50, &mut chance);
    operations.sort_by_key(Operation::at);
    operations
}

/// One heavy flow that does not slow down, and ten others: some ECN-capable, some L4S, of several classes and hosts.
fn packet(id: u64, chance: &mut Stream) -> SimplePacket {
    let flow = if chance.below(5) < 2 { 0 } else { 1 + u64::from(chance.below(10)) };
    let bytes = [1000, 1000, 1000, 1500, 576, 40][chance.below(6) as usize];
    let mut packet = SimplePacket::new(flow, bytes).with_id(id).with_class((flow % 4 * 32) as u8);
    packet = packet.with_hosts((flow / 3) as u32, (flow % 3) as u32).with_label(100_000 * (flow % 4));
    match flow % 4 {
        0 if flow == 0 => packet.unresponsive(),
        1 => packet.with_ecn(),
        2 => packet.with_l4s(),
        _ => packet,
    }
}
