//! A station of queueing theory, as an experiment of a claim: a discipline, the rate of service, and the flows' rates.
//! See [`fairlane_qdisc::testing::Station`].

use std::collections::BTreeMap;

use fairlane_qdisc::testing::{self, FlowObservation};
use fairlane_qdisc::{BoxQdisc, Host, Kind, QdiscParameters, Rate, Seed, SimplePacket};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::symmetric::{Comparing, ComparingQueue};

/// A station as a claim describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Station {
    /// The discipline: `kind` and its parameters, as text.
    #[serde(default)]
    queue: BTreeMap<String, String>,
    /// A queue that does not serve in order, in place of a discipline.
    #[serde(default)]
    model: Option<Comparing>,
    /// The rate of service.
    mu: f64,
    /// The rate of each flow's arrivals.
    rates: Vec<f64>,
    /// The number of arrivals and ends of service.
    events: u32,
}

impl Station {
    /// Runs it once and returns `empty`, the part of the time without a packet; `mean_packets`; and for each flow
    /// `share`, its part of the packets admitted, `goodput`, its part of all ends of service, and `loss`.
    pub(crate) fn observe(&self, run: u32) -> Result<Value, String> {
        let seed = Seed::new(u64::from(run) + 1);
        let mut queue = self.queue(seed)?;
        let station = testing::Station { mu: self.mu, rates: self.rates.clone() };
        let seen = station.observe(&mut queue, self.events, &mut seed.stream("events"));
        let admitted = seen.flows.iter().map(|flow| flow.admitted).sum::<u64>();
        let part = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        let flow = |flow: &FlowObservation| {
            json!({ "share": part(flow.admitted, admitted), "goodput": part(flow.served, seen.services),
                "loss": 1.0 - part(flow.admitted, flow.offered) })
        };
        Ok(json!({ "empty": part(seen.lengths[0], seen.steps), "mean_packets": part(seen.packets, seen.steps),
            "flows": seen.flows.iter().map(flow).collect::<Vec<_>>() }))
    }

    /// Creates the queue.
    fn queue(&self, seed: Seed) -> Result<BoxQdisc<SimplePacket>, String> {
        if let Some(rule) = self.model {
            if !self.queue.is_empty() {
                return Err("the station has a queue and a model: leave one of them out".to_owned());
            }
            return Ok(Box::new(ComparingQueue::new(rule, seed.stream("picks"))));
        }
        let kind: Kind = self
            .queue
            .get("kind")
            .ok_or("the station's queue has no kind")?
            .parse()
            .map_err(|error| format!("{error}"))?;
        let mut config = QdiscParameters::new(kind);
        for (key, value) in self.queue.iter().filter(|(key, _)| *key != "kind") {
            config = config.with(key, value.as_str()).map_err(|error| error.to_string())?;
        }
        let host = Host { rate: Rate::from_bits_per_second(8_000_000), seed };
        config.build(&host).map_err(|error| error.to_string())
    }
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
            model: None,
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
            model: None,
            mu: 1.0,
            rates: vec![1.0],
            events: 1,
        };
        assert!(station(&[]).observe(0).is_err_and(|why| why.contains("kind")));
        assert!(station(&[("kind", "chok")]).observe(0).is_err());
        assert!(station(&[("kind", "choke"), ("limits", "3p")]).observe(0).is_err_and(|why| why.contains("limits")));
        let model = serde_json::from_value(json!({ "compare": "head", "serve": "tail" })).ok();
        assert!(model.is_some());
        let both = Station { model, ..station(&[("kind", "choke")]) };
        assert!(both.observe(0).is_err_and(|why| why.contains("leave one of them out")));
    }
}
