//! Conformance vectors replayed: whether a discipline decides as its definition, step by step.

use fairlane_qdisc::{AnyQdisc, Fate, Host, Kind, Qdisc, QdiscConfig, Rate, Reason, Seed, SimplePacket, Time};
use serde_json::{Value, json};

/// The vectors that claims ask for.
const VECTORS: [(&str, &str); 11] = [
    ("back-choke", include_str!("../../../conformance/vectors/back-choke.jsonl")),
    ("bare", include_str!("../../../conformance/vectors/bare.jsonl")),
    ("blue", include_str!("../../../conformance/vectors/blue.jsonl")),
    ("choke", include_str!("../../../conformance/vectors/choke.jsonl")),
    ("choke-adaptive", include_str!("../../../conformance/vectors/choke-adaptive.jsonl")),
    ("front-choke", include_str!("../../../conformance/vectors/front-choke.jsonl")),
    ("gchoke", include_str!("../../../conformance/vectors/gchoke.jsonl")),
    ("mloc-choke", include_str!("../../../conformance/vectors/mloc-choke.jsonl")),
    ("sfb", include_str!("../../../conformance/vectors/sfb.jsonl")),
    ("sfred", include_str!("../../../conformance/vectors/sfred.jsonl")),
    ("xchoke", include_str!("../../../conformance/vectors/xchoke.jsonl")),
];

/// How a discipline did in its vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Operations.
    pub(crate) operations: u64,
    /// Those with the fates and the backlog that the vectors have.
    pub(crate) agreed: u64,
}

/// Replays the vectors of `kind`. What they expect was written by slow implementations straight from the definitions.
pub(crate) fn replay(kind: &str) -> Result<Agreement, String> {
    let known = VECTORS.iter().find(|(name, _)| *name == kind);
    let (_, text) = known.ok_or_else(|| format!("there are no vectors of \"{kind}\" among the claims'"))?;
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).map_err(|error| error.to_string()));
    let header = lines.next().ok_or("the vectors are empty")??;
    if header["expected_from"] != "reference" {
        return Err(format!("the vectors of {kind} have no reference behind them"));
    }
    let mut config = QdiscConfig::new(kind.parse::<Kind>().map_err(|error| format!("{error}"))?);
    for (key, value) in header["parameters"].as_object().into_iter().flatten() {
        config.set(key, value.as_str().unwrap_or_default().into()).map_err(|error| error.to_string())?;
    }
    let host =
        Host { rate: Rate::from_bits_per_second(whole(&header, "rate_bps")), seed: Seed::new(whole(&header, "seed")) };
    let mut queue: AnyQdisc<SimplePacket> = config.build(&host).map_err(|error| error.to_string())?;
    let mut agreement = Agreement { operations: 0, agreed: 0 };
    for line in lines {
        let line = line?;
        let mut diary = Diary(Vec::new());
        let at = Time::from_nanos(whole(&line, "t"));
        if line["op"] == "enqueue" {
            queue.enqueue(at, packet(&line), &mut diary);
        } else if let Some(packet) = queue.dequeue(at, &mut diary) {
            diary.0.push(json!(["departed", packet.id]));
        }
        let same = line["fates"].as_array().is_some_and(|fates| *fates == diary.0)
            && whole(&line, "packets") == queue.packets() as u64
            && whole(&line, "queued") == queue.bytes();
        agreement.operations += 1;
        agreement.agreed += u64::from(same);
    }
    Ok(agreement)
}

/// The fates of packets, as the vectors write them.
struct Diary(Vec<Value>);

impl Fate<SimplePacket> for Diary {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push(json!(["dropped", packet.id, reason.name()]));
    }

    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        self.0.push(json!(["marked", packet.id, reason.name()]));
    }
}

fn whole(line: &Value, key: &str) -> u64 {
    line[key].as_u64().unwrap_or_default()
}

fn packet(line: &Value) -> SimplePacket {
    let mut packet = SimplePacket::new(whole(line, "flow"), whole(line, "bytes") as u32);
    packet.id = whole(line, "id");
    packet.ecn_capable = line["ecn"] == true;
    packet.l4s = line["l4s"] == true;
    packet.responsive = line["responsive"] != false;
    packet.class = whole(line, "class") as u8;
    packet.label = whole(line, "label");
    let host = |n: usize| line["hosts"][n].as_u64().map(|host| host as u32);
    packet.hosts = host(0).zip(host(1));
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_decisions_agree() {
        for (kind, text) in VECTORS {
            let agreement = replay(kind).expect("they are read");
            assert_eq!(agreement.operations, text.lines().count() as u64 - 1, "{kind}");
            assert_eq!(agreement.agreed, agreement.operations, "{kind}");
        }
        assert!(replay("fifo").is_err_and(|why| why.contains("fifo")));
    }
}
