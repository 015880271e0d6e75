//! Questions to the models and their answers, as JSON.

use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::{
    BackChoke, Candidates, Choke, Comparisons, Echo, EchoLoop, EchoPath, Error, FrontChoke, GChoke, Sfb, TcpPath,
    candidates_that_protect,
};

/// Number of parts of the queue in a profile.
const PARTS: u32 = 10;

/// A window in packets that no model reaches.
const UNLIMITED: f64 = 1e12;

/// A question to one of the models, as `fairlane theory` and the papers' claims ask it.
///
/// ```
/// use fairlane_theory::Question;
///
/// let question: Question = serde_json::from_str(r#"{ "model": "choke", "load": 2.0 }"#)?;
/// let answer = question.answer()?;
/// assert_eq!(format!("{:.4}", answer["share"].as_f64().unwrap_or_default()), "0.2507");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// [`FrontChoke`].
    Front {
        /// The rate of service.
        mu: f64,
        /// The rate of each flow's arrivals.
        rates: Vec<f64>,
    },
    /// [`BackChoke`].
    Back {
        /// The rate of each flow's arrivals.
        rates: Vec<f64>,
        /// Flows in memory.
        memory: usize,
    },
    /// [`Sfb`], and the best division of as many bins.
    Sfb {
        /// Levels.
        levels: u32,
        /// Bins of each level.
        bins: u32,
        /// Flows that do not answer.
        flows: u32,
    },
    /// [`Choke`].
    Choke {
        /// Sending rate of the flow as a part of the link's rate.
        load: f64,
        /// The part of arrivals without a match that RED drops; 0 by default.
        #[serde(default)]
        early_drops: f64,
    },
    /// [`Candidates`].
    ChokeMulti {
        /// Unresponsive flows.
        flows: u32,
        /// Candidates drawn for each arrival.
        candidates: u32,
        /// Sending rate of each flow as a part of the link's rate.
        load: f64,
    },
    /// [`GChoke`].
    Gchoke {
        /// Packets that one arrival may match: a number, or `"infinite"`.
        #[serde(deserialize_with = "comparisons")]
        maxcomp: Comparisons,
        /// Sending rate of the flow as a part of the link's rate.
        load: f64,
    },
    /// [`Echo`].
    Echo {
        /// TCP flows.
        tcps: u32,
        /// The part of TCP's packets that is dropped.
        loss: f64,
        /// Unresponsive flows.
        floods: u32,
        /// Sending rate of each unresponsive flow as a part of the link's rate.
        load: f64,
        /// Tags of the sample; by default as many as one likes.
        #[serde(default)]
        tags: Option<u32>,
    },
    /// [`EchoLoop`] for each round trip and number of TCP flows.
    EchoStability {
        /// The rate of the link in packets a second.
        rate: f64,
        /// Round-trip times without the queue, in seconds.
        rtt: Vec<f64>,
        /// Numbers of TCP flows.
        tcps: Vec<u32>,
        /// Unresponsive flows; none by default.
        #[serde(default)]
        floods: u32,
        /// Sending rate of each unresponsive flow as a part of the link's rate; 1 by default.
        #[serde(default = "one")]
        load: f64,
        /// Tags of the sample; by default as many as one likes.
        #[serde(default)]
        tags: Option<u32>,
        /// The target in seconds; 10 ms by default.
        #[serde(default = "ten_milliseconds")]
        target: f64,
    },
    /// [`TcpPath`].
    Tcp {
        /// The probability that a packet is lost.
        loss: f64,
        /// The round-trip time in seconds.
        rtt: f64,
        /// The retransmission timeout in seconds; four round trips by default.
        #[serde(default)]
        timeout: Option<f64>,
        /// Packets that an acknowledgement covers; 1 by default.
        #[serde(default = "one")]
        acked: f64,
        /// The largest window in packets; unlimited by default.
        #[serde(default)]
        window: Option<f64>,
    },
}

impl Question {
    /// Returns the model's answer. `docs/theory.md` explains each key.
    ///
    /// # Errors
    /// The errors of the model.
    pub fn answer(&self) -> Result<Value, Error> {
        match *self {
            Self::Front { mu, ref rates } => front(mu, rates),
            Self::Back { ref rates, memory } => back(rates, memory),
            Self::Sfb { levels, bins, flows } => sfb(levels, bins, flows),
            Self::Choke { load, early_drops } => choke(load, early_drops),
            Self::ChokeMulti { flows, candidates, load } => choke_multi(flows, candidates, load),
            Self::Gchoke { maxcomp, load } => gchoke(maxcomp, load),
            Self::Echo { tcps, loss, floods, load, tags } => echo(tcps, loss, floods, load, tags),
            Self::EchoStability { rate, ref rtt, ref tcps, floods, load, tags, target } => {
                let path = EchoPath { rate, rtt: 0.0, target, tcps: 0, floods, load, tags };
                echo_stability(&path, rtt, tcps)
            }
            Self::Tcp { loss, rtt, timeout, acked, window } => tcp(loss, rtt, timeout, acked, window),
        }
    }
}

fn comparisons<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Comparisons, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a whole number from 1, or \"infinite\"")]
    enum Written {
        Number(NonZeroU32),
        Word(Infinite),
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Infinite {
        Infinite,
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Number(most) => Comparisons::AtMost(most),
        Written::Word(Infinite::Infinite) => Comparisons::Unlimited,
    })
}

const fn one() -> f64 {
    1.0
}

const fn ten_milliseconds() -> f64 {
    0.01
}

fn tcp(loss: f64, rtt: f64, timeout: Option<f64>, acked: f64, window: Option<f64>) -> Result<Value, Error> {
    let timeout = timeout.unwrap_or(4.0 * rtt);
    let (path, most) = (TcpPath::new(rtt, timeout, acked)?, window.unwrap_or(UNLIMITED));
    let full = path.reno_in_full(loss, most)?;
    Ok(json!({
        "model": "tcp",
        "loss": loss,
        "rtt": rtt,
        "timeout": timeout,
        "acked": acked,
        "window": window,
        "full": full,
        "full_window": full * rtt,
        "approximate": path.reno(loss, most)?,
        "square_root": path.square_root(loss)?,
        "tfrc": path.equation(loss)?,
    }))
}

fn front(mu: f64, rates: &[f64]) -> Result<Value, Error> {
    let model = FrontChoke::new(mu, rates)?;
    let flow = |flow: &crate::FrontFlow| json!({ "rate": flow.rate, "head": flow.head, "goodput": flow.goodput, "loss": flow.loss });
    let flows: Vec<Value> = model.flows().iter().map(flow).collect();
    Ok(json!({ "model": "front", "mu": mu, "empty": model.empty(), "flows": flows }))
}

fn back(rates: &[f64], memory: usize) -> Result<Value, Error> {
    let model = BackChoke::new(rates, memory)?;
    let flow = |flow: &crate::BackFlow| json!({ "rate": flow.rate, "admitted": flow.admitted, "share": flow.share, "loss": flow.loss });
    let flows: Vec<Value> = model.flows().iter().map(flow).collect();
    Ok(json!({ "model": "back", "memory": model.memory(), "admitted": model.admitted(), "flows": flows }))
}

fn sfb(levels: u32, bins: u32, flows: u32) -> Result<Value, Error> {
    let model = Sfb::new(levels, bins, flows)?;
    let best = Sfb::best(levels.saturating_mul(bins), flows)?;
    Ok(json!({
        "model": "sfb",
        "levels": model.levels(),
        "bins": model.bins(),
        "flows": model.flows(),
        "polluted": model.polluted(),
        "polluted_bins": model.polluted_bins(),
        "misclassified": model.misclassified(),
        "best": { "levels": best.levels(), "bins": best.bins(), "misclassified": best.misclassified() },
    }))
}

fn choke(load: f64, early_drops: f64) -> Result<Value, Error> {
    let model = Choke::at_load(load, early_drops)?;
    let part = |part| f64::from(part) / f64::from(PARTS);
    let profile = model.profile();
    let along = (0..PARTS).map(|n| profile.mean_density(part(n), part(n + 1))).collect::<Result<Vec<f64>, Error>>()?;
    let peak = Choke::peak();
    Ok(json!({
        "model": "choke",
        "load": model.load(),
        "early_drops": early_drops,
        "share": model.share(),
        "tcp_share": 1.0 - model.share(),
        "buffer_share": model.buffer_share(),
        "loss": model.loss(),
        "profile": along,
        "peak": { "load": peak.load(), "share": peak.share(), "buffer_share": peak.buffer_share() },
    }))
}

fn choke_multi(flows: u32, candidates: u32, load: f64) -> Result<Value, Error> {
    let model = Candidates::at_load(flows, candidates, load)?;
    Ok(json!({
        "model": "choke-multi",
        "flows": flows,
        "candidates": candidates,
        "load": model.load(),
        "share": model.share(),
        "total_share": model.total_share(),
        "tcp_share": model.tcp_share(),
        "buffer_share": model.buffer_share(),
        "loss": model.loss(),
        "starves": model.starves(),
        "starvation_load": model.starvation_load(),
        "candidates_that_protect": candidates_that_protect(flows)?,
    }))
}

fn gchoke(maxcomp: Comparisons, load: f64) -> Result<Value, Error> {
    let model = GChoke::at_load(maxcomp, load)?;
    let (peak, bound) = (GChoke::peak(maxcomp), GChoke::buffer_bound(maxcomp));
    let maxcomp = match maxcomp {
        Comparisons::AtMost(most) => json!(most),
        Comparisons::Unlimited => json!("infinite"),
    };
    Ok(json!({
        "model": "gchoke",
        "maxcomp": maxcomp,
        "load": model.load(),
        "share": model.share(),
        "tcp_share": 1.0 - model.share(),
        "buffer_share": model.buffer_share(),
        "loss": model.loss(),
        "peak": { "load": peak.load(), "share": peak.share(), "buffer_share": peak.buffer_share() },
        "buffer_bound": bound,
    }))
}

fn echo(tcps: u32, loss: f64, floods: u32, load: f64, tags: Option<u32>) -> Result<Value, Error> {
    let model = match tags {
        Some(tags) => Echo::with_tags(tcps, loss, floods, load, tags)?,
        None => Echo::at_load(tcps, loss, floods, load)?,
    };
    Ok(json!({
        "model": "echo",
        "tcps": tcps,
        "tcp_loss": loss,
        "floods": floods,
        "load": model.load(),
        "tags": tags,
        "share": model.share(),
        "total_share": model.total_share(),
        "tcp_share": model.tcp_share(),
        "loss": model.loss(),
        "of_fair_share": model.of_fair_share(),
    }))
}

fn echo_stability(path: &EchoPath, rtts: &[f64], tcps: &[u32]) -> Result<Value, Error> {
    const MOST: usize = 100;
    for (parameter, points) in [("rtt", rtts.len()), ("tcps", tcps.len())] {
        if points == 0 || points > MOST {
            return Err(Error::new(parameter, format!("{points} values is out of range; give 1 to {MOST}")));
        }
    }
    let mut points = Vec::new();
    for &rtt in rtts {
        for &tcps in tcps {
            points.push(one_loop(&EchoPath { rtt, tcps, ..*path })?);
        }
    }
    let EchoPath { rate, floods, load, tags, target, .. } = *path;
    Ok(json!({
        "model": "echo-stability",
        "rate": rate,
        "floods": floods,
        "load": load,
        "tags": tags,
        "target": target,
        "points": points,
    }))
}

/// The margins of one path; without them where windows are below two packets.
fn one_loop(path: &EchoPath) -> Result<Value, Error> {
    let (rtt, tcps) = (path.rtt, path.tcps);
    let Some(control) = EchoLoop::new(path)? else {
        return Ok(json!({ "rtt": rtt, "tcps": tcps, "window": null }));
    };
    let margins = control.margins();
    Ok(json!({
        "rtt": rtt,
        "tcps": tcps,
        "window": control.window(),
        "tcp_loss": control.loss(),
        "gain": control.gain(),
        "phase_margin_degrees": finite(margins.phase_degrees),
        "gain_margin_db": finite(margins.gain_decibels),
        "crossover": margins.crossover,
        "stable": margins.stable,
    }))
}

/// JSON has no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
