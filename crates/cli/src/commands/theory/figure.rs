//! `--svg`: the answer of a model as a figure, with the question marked in it.

use fairlane_outcome::Estimate;
use fairlane_report::{Axis, Bars, Content, Figure, Line, LineStyle};
use fairlane_theory::{Error, Question, Sfb};
use serde_json::Value;

/// The minimum range of loads in a figure, and the number of points.
const LOADS: (f64, f64) = (0.1, 10.0);
const POINTS: u32 = 120;
/// The numbers of levels that a figure compares.
const LEVELS: std::ops::RangeInclusive<u32> = 1..=5;

/// Draws a question's answer.
///
/// # Errors
/// The errors of the model.
pub(super) fn figure(question: &Question) -> Result<Figure, Error> {
    let answer = question.answer()?;
    Ok(match question {
        Question::Front { .. } => {
            of_flows("Front CHOKe: what each flow sends and gets", &answer, "goodput", "rate (in the unit of --mu)")
        }
        Question::Back { .. } => {
            of_flows("Back CHOKe: what each flow sends and has admitted", &answer, "admitted", "rate (in its own unit)")
        }
        Question::Sfb { levels, bins, flows } => sfb(*levels, *bins, *flows, &answer)?,
        Question::Choke { load, early_drops } => {
            let at = |load| Question::Choke { load, early_drops: *early_drops };
            over_load("CHOKe: one unresponsive flow among many TCP flows", *load, &answer, &ONE_FLOW, at)
        }
        Question::ChokeMulti { flows, candidates, load } => {
            let at = |load| Question::ChokeMulti { flows: *flows, candidates: *candidates, load };
            let title = format!("CHOKe: {flows} unresponsive flows against candidates: {candidates}");
            over_load(&title, *load, &answer, &MANY_FLOWS, at)
        }
        Question::Gchoke { maxcomp, load } => {
            let at = |load| Question::Gchoke { maxcomp: *maxcomp, load };
            over_load("gCHOKe: one unresponsive flow among many TCP flows", *load, &answer, &ONE_FLOW, at)
        }
        Question::Echo { tcps, loss, floods, load, tags } => {
            let at = |load| Question::Echo { tcps: *tcps, loss: *loss, floods: *floods, load, tags: *tags };
            let title = format!("ECHO: {floods} unresponsive flows among {tcps} TCP flows");
            over_load(&title, *load, &answer, &MANY_FLOWS, at)
        }
        Question::EchoStability { tcps, .. } => echo_stability(tcps, &answer),
        Question::Tcp { loss, rtt, timeout, acked, window } => {
            let at = |loss| Question::Tcp { loss, rtt: *rtt, timeout: *timeout, acked: *acked, window: *window };
            over_loss(*loss, &answer, at)
        }
    })
}

/// The curves of a model: the answer's key, and the curve's name.
type Measures = [(&'static str, &'static str); 3];

const ONE_FLOW: Measures =
    [("share", "its share of the link"), ("buffer_share", "its part of the queue"), ("loss", "dropped of its packets")];
const MANY_FLOWS: Measures =
    [("total_share", "their share of the link"), ("tcp_share", "TCP's share"), ("loss", "dropped of their packets")];

/// The minimum range of losses in a figure.
const LOSSES: (f64, f64) = (1e-4, 0.5);
const TCP_LAWS: Measures =
    [("full", "full model"), ("approximate", "approximate model"), ("square_root", "square root law")];

/// Draws curves over the load, with the numbers at the given load.
fn over_load(title: &str, asked: f64, answer: &Value, measures: &Measures, at: impl Fn(f64) -> Question) -> Figure {
    let (least, most) = (LOADS.0.min(asked / 2.0), LOADS.1.max(asked * 2.0));
    let load = |point: u32| least * libm::pow(most / least, f64::from(point) / f64::from(POINTS));
    let answers: Vec<(f64, Value)> =
        (0..=POINTS).map(load).filter_map(|load| Some((load, at(load).answer().ok()?))).collect();
    let curve = |(key, name): &(&str, &str)| {
        let points = answers.iter().map(|(load, answer)| (*load, percent(answer, key)));
        Line::new(*name, LineStyle::Plain, points.collect())
    };
    let mut lines: Vec<Line> = measures.iter().map(curve).collect();
    let points = measures.iter().map(|(key, _)| (asked, percent(answer, key))).collect();
    lines.push(Line::new(format!("at a load of {asked}"), LineStyle::Points, points));
    Figure::lines(title, Axis::log("load, as a part of the link's rate"), Axis::linear("%"), lines)
}

/// Draws the rate of TCP over the loss, with that at the given loss.
fn over_loss(asked: f64, answer: &Value, at: impl Fn(f64) -> Question) -> Figure {
    let (least, most) = (LOSSES.0.min(asked / 2.0), LOSSES.1.max((1.0 + asked) / 2.0));
    let loss = |point: u32| least * libm::pow(most / least, f64::from(point) / f64::from(POINTS));
    let answers: Vec<(f64, Value)> =
        (0..=POINTS).map(loss).filter_map(|loss| Some((100.0 * loss, at(loss).answer().ok()?))).collect();
    let rate = |answer: &Value, key: &str| Estimate::single(answer[key].as_f64().unwrap_or(f64::NAN));
    let curve = |(key, name): &(&str, &str)| {
        let points = answers.iter().map(|(loss, answer)| (*loss, rate(answer, key)));
        Line::new(*name, LineStyle::Plain, points.collect())
    };
    let mut lines: Vec<Line> = TCP_LAWS.iter().map(curve).collect();
    let points = vec![(100.0 * asked, rate(answer, "full"))];
    lines.push(Line::new(format!("at a loss of {} %", 100.0 * asked), LineStyle::Points, points));
    Figure::lines("TCP: throughput by loss", Axis::log("loss (%)"), Axis::log("packets per second"), lines)
}

fn percent(answer: &Value, key: &str) -> Estimate {
    Estimate::single(100.0 * answer[key].as_f64().unwrap_or(f64::NAN))
}

/// Draws the rate that each flow sends and the rate that it gets.
fn of_flows(title: &str, answer: &Value, gets: &str, unit: &str) -> Figure {
    let flows = answer["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let values =
        |key: &str| flows.iter().map(|flow| Estimate::single(flow[key].as_f64().unwrap_or(f64::NAN))).collect();
    Figure {
        title: title.to_owned(),
        x: Axis::linear("flow"),
        y: Axis::linear(unit),
        content: Content::Bars(Bars {
            categories: (1..=flows.len()).map(|number| number.to_string()).collect(),
            series: vec![("sends".to_owned(), values("rate")), (gets.to_owned(), values(gets))],
        }),
        marks: Vec::new(),
    }
}

/// Draws the phase margin over the round trip, a curve for each number of TCP flows.
fn echo_stability(tcps: &[u32], answer: &Value) -> Figure {
    let points = answer["points"].as_array().map_or(&[][..], Vec::as_slice);
    let curve = |tcps: &u32| {
        let of = points.iter().filter(|point| point["tcps"] == *tcps);
        let margins =
            of.filter_map(|point| Some((1000.0 * point["rtt"].as_f64()?, point["phase_margin_degrees"].as_f64()?)));
        let name = if *tcps == 1 { "1 TCP flow".to_owned() } else { format!("{tcps} TCP flows") };
        Line::new(name, LineStyle::Plain, margins.map(|(rtt, margin)| (rtt, Estimate::single(margin))).collect())
    };
    let (x, y) = (Axis::log("round trip (ms)"), Axis::linear("phase margin (degrees)"));
    Figure::lines("ECHO: the phase margin of its control loop", x, y, tcps.iter().map(curve).collect())
}

/// Draws the probability of misclassifying a flow over the number of unresponsive ones, for divisions of the same bins
/// into levels.
fn sfb(levels: u32, bins: u32, flows: u32, answer: &Value) -> Result<Figure, Error> {
    let total = levels.saturating_mul(bins);
    let most = flows.saturating_mul(2).max(10);
    let every = most.div_ceil(POINTS).max(1) as usize;
    let divisions = LEVELS.filter(|levels| total / levels > 0);
    let curve = |levels: u32| -> Result<Line, Error> {
        let bins = total / levels;
        let point = |flows: u32| Ok((f64::from(flows), rate(&Sfb::new(levels, bins, flows)?)));
        let points = (1..=most).step_by(every).map(point).collect::<Result<_, Error>>()?;
        Ok(Line::new(format!("{levels} x {bins} bins"), LineStyle::Plain, points))
    };
    let mut lines = divisions.map(curve).collect::<Result<Vec<Line>, Error>>()?;
    let asked = vec![(f64::from(flows), percent(answer, "misclassified"))];
    lines.push(Line::new(format!("{levels} x {bins} bins, {flows} flows"), LineStyle::Points, asked));
    let (x, y) = (Axis::linear("unresponsive flows"), Axis::linear("misclassified responsive flows (%)"));
    Ok(Figure::lines("SFB: responsive flows classified as unresponsive", x, y, lines))
}

fn rate(model: &Sfb) -> Estimate {
    Estimate::single(100.0 * model.misclassified())
}
