//! The share of a link that a flood keeps in competition with other flows, as `scenarios/flood.toml` measures it under
//! some disciplines.

use fairlane_qdisc::{Duration, Kind, Rate};

/// The file that `UPDATE_DOCS=1 cargo test -p fairlane --features full --test disciplines` writes.
const TABLE: &str = include_str!("floods.csv");

/// The rate of the simulated link. Another link is much like this one if as many packets fill it: a link of ten times
/// the rate and a tenth of the round trip. The test that writes the table finds less than ten points between such
/// links.
const RATE: Rate = Rate::from_bits_per_second(10_000_000);

/// A share is worth a warning if it is so many times the fair share.
const UNFAIR: f64 = 1.5;

/// A link, and the flows that compete with the flood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// The rate of the link.
    pub rate: Rate,
    /// The round-trip time without the queue; `None` if it is not known.
    pub rtt: Option<Duration>,
    /// The number of flows in addition to the flood; `None` if it is not known.
    pub flows: Option<u32>,
}

/// The part of the link that a flood keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// No more than about its fair share.
    Fair(String),
    /// Much more than its fair share, in some of the simulated cases between which the mix is.
    Unfair(String),
}

/// A simulated case.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    flows: u32,
    rtt_us: u64,
    share: f64,
}

impl Case {
    /// The flood's share in fair shares.
    fn unfairness(self) -> f64 {
        self.share * f64::from(self.flows + 1)
    }
}

/// Returns what a flood of twice the link's rate keeps under `kind` with its default parameters, by the simulated cases
/// next to `mix`; `None` if `kind` was not simulated.
#[must_use]
pub fn find(kind: Kind, mix: &Mix) -> Option<Finding> {
    let cases = near(kind, mix)?;
    let text = format!(
        "a flood keeps {} of the link against {} with {}, in the simulator with default parameters (scenarios/flood.toml); fair is {}",
        shown(cases.iter().map(|case| case.share)),
        flows(&cases),
        round_trips(&cases, mix),
        shown(cases.iter().map(|case| 1.0 / f64::from(case.flows + 1))),
    );
    let text = text + &beyond(kind, mix);
    if cases.iter().all(|case| case.unfairness() < UNFAIR) {
        return Some(Finding::Fair(text));
    }
    let other = near(Kind::FqCodel, mix)?;
    let instead = shown(other.iter().map(|case| case.share));
    Some(Finding::Unfair(format!("{text}. With a queue for each flow, as fq-codel, it is {instead}")))
}

/// Returns a clause that says what of `mix` is beyond the simulated cases; empty if nothing is.
fn beyond(kind: Kind, mix: &Mix) -> String {
    let all: Vec<Case> = cases(kind).collect();
    let (few, many) = ends(all.iter().map(|case| u64::from(case.flows)));
    let (short, long) = ends(all.iter().map(|case| case.rtt_us));
    let flows = mix.flows.filter(|flows| !(few..=many).contains(&u64::from(*flows)));
    let rtt = mix.rtt.filter(|rtt| !(short..=long).contains(&scaled_us(*rtt, mix.rate)));
    let asked = [flows.map(|flows| format!("{flows} flows")), rtt.map(|rtt| format!("a round trip of {rtt}"))];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    if asked.is_empty() {
        String::new()
    } else {
        format!("; this is the nearest case, for {} was not simulated", asked.join(" with "))
    }
}

/// Returns the cases between which `mix` is, or the nearest.
fn near(kind: Kind, mix: &Mix) -> Option<Vec<Case>> {
    let all: Vec<Case> = cases(kind).collect();
    let between = |values: &mut Vec<u64>, wanted: Option<u64>| {
        values.sort_unstable();
        values.dedup();
        let (first, last) = (*values.first()?, *values.last()?);
        let Some(wanted) = wanted else { return Some((first, last)) };
        let below = values.iter().copied().rfind(|value| *value <= wanted).unwrap_or(first);
        Some((below, values.iter().copied().find(|value| *value >= wanted).unwrap_or(last)))
    };
    let rtt_us = mix.rtt.map(|rtt| scaled_us(rtt, mix.rate));
    let flows = between(&mut all.iter().map(|case| u64::from(case.flows)).collect(), mix.flows.map(u64::from))?;
    let rtts = between(&mut all.iter().map(|case| case.rtt_us).collect(), rtt_us)?;
    let within = |value: u64, (least, most): (u64, u64)| (least..=most).contains(&value);
    Some(all.into_iter().filter(|case| within(u64::from(case.flows), flows) && within(case.rtt_us, rtts)).collect())
}

/// Returns the round trip on the simulated link that is like `rtt` on a link of `rate`, in microseconds.
fn scaled_us(rtt: Duration, rate: Rate) -> u64 {
    (rtt.as_secs() * 1e6 * scale(rate)).round() as u64
}

/// Returns by how much a round trip on a link of `rate` is longer on the simulated link, if as many packets fill it.
fn scale(rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / RATE.bits_per_second() as f64
}

fn cases(kind: Kind) -> impl Iterator<Item = Case> {
    let of_kind = move |line: &'static str| line.strip_prefix(kind.name())?.strip_prefix(',');
    TABLE.lines().filter_map(of_kind).filter_map(|rest| {
        let mut fields = rest.split(',');
        let mut field = || fields.next();
        Some(Case { flows: field()?.parse().ok()?, rtt_us: field()?.parse().ok()?, share: field()?.parse().ok()? })
    })
}

/// Returns the range of shares, such as `22 to 64 %`.
fn shown(shares: impl Iterator<Item = f64> + Clone) -> String {
    let least = shares.clone().fold(f64::INFINITY, f64::min);
    let most = shares.fold(0.0, f64::max);
    let [least, most] = [least, most].map(|share| (100.0 * share).round());
    if least < most { format!("{least} to {most} %") } else { format!("{most} %") }
}

fn flows(cases: &[Case]) -> String {
    let (least, most) = ends(cases.iter().map(|case| u64::from(case.flows)));
    match (least, most) {
        (1, 1) => "1 flow".to_owned(),
        (least, most) if least < most => format!("{least} to {most} flows"),
        (_, most) => format!("{most} flows"),
    }
}

/// Returns the round trips of the cases as they are on the link of `mix`.
fn round_trips(cases: &[Case], mix: &Mix) -> String {
    let (least, most) = ends(cases.iter().map(|case| case.rtt_us));
    let [least, most] = [least, most].map(|rtt_us| rounded((rtt_us as f64 * 1e3 / scale(mix.rate)) as u64));
    if least < most { format!("round trips of {least} to {most}") } else { format!("a round trip of {most}") }
}

/// Returns a time with two significant digits.
fn rounded(nanos: u64) -> Duration {
    let mut unit = 1;
    while nanos / unit >= 100 {
        unit *= 10;
    }
    Duration::from_nanos((nanos + unit / 2) / unit * unit)
}

fn ends(values: impl Iterator<Item = u64> + Clone) -> (u64, u64) {
    (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(rate_mbit: u64, rtt_ms: Option<u64>, flows: Option<u32>) -> Mix {
        Mix { rate: Rate::from_bits_per_second(1_000_000 * rate_mbit), rtt: rtt_ms.map(Duration::from_millis), flows }
    }

    /// Would catch an answer about 32 flows and 1 ms to a question about 2000 flows and 20 ms that does not say so:
    /// 20 ms at 1 Gbit/s hold as many packets as 2 s at 10 Mbit/s.
    #[test]
    fn beyond_the_simulated_cases_it_says_so() {
        let text = |mix: Mix| match find(Kind::FqCodel, &mix) {
            Some(Finding::Fair(text) | Finding::Unfair(text)) => text,
            None => panic!("fq-codel was simulated"),
        };
        let far = text(mix(1000, Some(20), Some(2000)));
        assert!(far.contains("2000 flows with a round trip of 20ms was not simulated"), "{far}");
        let near = text(mix(10, Some(20), Some(8)));
        assert!(!near.contains("not simulated"), "{near}");
    }

    fn points(mix: &Mix) -> Vec<(u32, u64)> {
        near(Kind::Choke, mix).unwrap().into_iter().map(|case| (case.flows, case.rtt_us)).collect()
    }

    /// By hand: the cases have 1, 4, 12 and 32 flows, and round trips of 0.2, 20 and 100 ms on a link of 10 Mbit/s.
    /// Would catch a case that is not next to the mix, and a round trip that is not that of the mix's own link.
    #[test]
    fn a_mix_is_between_its_neighbours() {
        assert_eq!(points(&mix(10, Some(20), Some(4))), [(4, 20_000)]);
        assert_eq!(points(&mix(10, Some(20), Some(5))), [(4, 20_000), (12, 20_000)]);
        assert_eq!(points(&mix(100, Some(2), Some(4))), [(4, 20_000)]);
        assert_eq!(points(&mix(100, Some(20), Some(100))), [(32, 100_000)]);
        assert_eq!(points(&mix(10, Some(50), Some(0))), [(1, 20_000), (1, 100_000)]);
        assert_eq!(points(&mix(10, None, None)).len(), 12);
        let text = |finding: Option<Finding>| match finding.unwrap() {
            Finding::Fair(text) | Finding::Unfair(text) => text,
        };
        let shown = text(find(Kind::Choke, &mix(100, Some(3), Some(5))));
        assert!(shown.contains("against 4 to 12 flows with round trips of 2ms to 10ms"), "{shown}");
        assert!(shown.contains("; fair is 8 to 20 %"), "{shown}");
        let shown = text(find(Kind::Choke, &mix(18, Some(5), Some(4))));
        assert!(shown.contains("against 4 flows with round trips of 110us to 11ms"), "{shown}");
        assert_eq!(find(Kind::Red, &mix(10, None, None)), None);
    }

    /// With a queue for each flow a flood has its share (RFC 8290); CHOKe's packets are many in a queue with few flows,
    /// and BARE needs flows enough for its target. Would catch a warning about fair disciplines, and none about others.
    #[test]
    fn few_flows_are_warned_about() {
        assert!(matches!(find(Kind::FqCodel, &mix(10, Some(20), None)), Some(Finding::Fair(_))));
        assert!(matches!(find(Kind::Choke, &mix(10, Some(20), Some(4))), Some(Finding::Unfair(_))));
        assert!(matches!(find(Kind::Bare, &mix(10, Some(20), Some(4))), Some(Finding::Unfair(_))));
    }
}
