//! The models' own world: Poisson arrivals at a queue with an exponential server, which holds the packet at the head until its
//! service ends.
//!
//! Time advances by uniformisation: each step is an arrival of flow i with probability `rate_i / (sum of rates + mu)`, else an end
//! of service, which finds the queue empty or not. Averages over steps are averages over time.

use std::collections::BTreeMap;

use fairlane_qdisc::{AnyQdisc, Duration, Host, Kind, Qdisc, QdiscConfig, Rate, Seed, SimplePacket, Time};
use serde::Deserialize;
use serde_json::{Value, json};

/// A station.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Station {
    /// The discipline: `kind` and its parameters, as text.
    queue: BTreeMap<String, String>,
    /// The rate of service.
    mu: f64,
    /// The rate of each flow's arrivals.
    rates: Vec<f64>,
    /// Arrivals and ends of service.
    events: u32,
}

impl Station {
    /// One run: `empty`, the part of time without a packet; `mean_packets`; and for each flow `share`, its part of what was
    /// admitted, `goodput`, its part of all ends of service, and `loss`.
    pub(crate) fn observe(&self, run: u32) -> Result<Value, String> {
        let kind: Kind = self
            .queue
            .get("kind")
            .ok_or("the station's queue has no kind")?
            .parse()
            .map_err(|error| format!("{error}"))?;
        let mut config = QdiscConfig::new(kind);
        for (key, value) in self.queue.iter().filter(|(key, _)| *key != "kind") {
            config = config.with(key, value.as_str()).map_err(|error| error.to_string())?;
        }
        let seed = Seed::new(u64::from(run) + 1);
        let host = Host { rate: Rate::from_bits_per_second(8_000_000), seed };
        let mut queue: AnyQdisc<SimplePacket> = config.build(&host).map_err(|error| error.to_string())?;
        let mut random = seed.stream("events");
        let all = self.mu + self.rates.iter().sum::<f64>();
        let mut flows = vec![Flow::default(); self.rates.len()];
        let (mut services, mut empty, mut packets) = (0_u64, 0_u64, 0_u64);
        let mut now = Time::ZERO;
        for _ in 0..self.events {
            now += Duration::from_nanos(1000);
            empty += u64::from(queue.packets() == 0);
            packets += queue.packets() as u64;
            let mut roll = random.unit() * all;
            let arrival = self.rates.iter().position(|rate| {
                roll -= rate;
                roll < 0.0
            });
            let Some(flow) = arrival else {
                services += 1;
                if queue.packets() > 0
                    && let Some(packet) = queue.dequeue(now, &mut ())
                {
                    flows[packet.flow as usize].served += 1;
                }
                continue;
            };
            let before = queue.counters().dropped_total().packets;
            queue.enqueue(now, SimplePacket::new(flow as u64, 1000), &mut ());
            flows[flow].offered += 1;
            flows[flow].admitted += u64::from(queue.counters().dropped_total().packets == before);
        }
        let admitted = flows.iter().map(|flow| flow.admitted).sum::<u64>();
        let part = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        let flow = |flow: &Flow| {
            json!({ "share": part(flow.admitted, admitted), "goodput": part(flow.served, services),
                "loss": 1.0 - part(flow.admitted, flow.offered) })
        };
        let steps = u64::from(self.events);
        Ok(json!({ "empty": part(empty, steps), "mean_packets": part(packets, steps),
            "flows": flows.iter().map(flow).collect::<Vec<_>>() }))
    }
}

/// What became of a flow's packets.
#[derive(Clone, Debug, Default)]
struct Flow {
    offered: u64,
    admitted: u64,
    served: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1: empty for 1 - rho of the time, rho / (1 - rho) packets on average.
    #[test]
    fn a_plain_queue_is_m_m_1() {
        let station = Station {
            queue: [("kind", "droptail"), ("limit", "100000p")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            mu: 1.0,
            rates: vec![0.3, 0.4],
            events: 1_000_000,
        };
        let seen = station.observe(0).expect("it runs");
        assert!((seen["empty"].as_f64().unwrap() - 0.3).abs() < 0.005, "{seen}");
        assert!((seen["mean_packets"].as_f64().unwrap() - 0.7 / 0.3).abs() < 0.1, "{seen}");
        assert!((seen["flows"][1]["goodput"].as_f64().unwrap() - 0.4).abs() < 0.005, "{seen}");
        assert_eq!(seen["flows"][0]["loss"], 0.0);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let station = |queue: &[(&str, &str)]| Station {
            queue: queue.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            mu: 1.0,
            rates: vec![1.0],
            events: 1,
        };
        assert!(station(&[]).observe(0).is_err_and(|why| why.contains("kind")));
        assert!(station(&[("kind", "chok")]).observe(0).is_err());
        assert!(station(&[("kind", "choke"), ("limits", "3p")]).observe(0).is_err_and(|why| why.contains("limits")));
    }
}
