//! Traffic mixes as text, and the scenario of a link with one.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fairlane_qdisc::{Duration, QdiscParameters, Rate};
use fairlane_scenario::{Congestion, Document, suggest};

use crate::error::Error;
use crate::files;
use crate::text::{TextError, split, trimmed};

/// The traffic of a link: groups of flows, as text such as `web, 8 cubic, 1 udp 2x`.
///
/// A group is a number of flows, by default one, their kind, and for `udp` the rate of each, absolute (`3mbit`) or
/// as a multiple of the link's (`2x`).
///
/// | name | flows |
/// |---|---|
/// | `cubic`, `reno`, `bbr`, … | TCP with this congestion control and data without end, with packets of 1500 bytes |
/// | `web` | browsers: pages of 20 objects of 50 kB in the mean over six connections, a page five seconds after the one before |
/// | `udp` | UDP at a constant rate that reacts to nothing, with packets of 1500 bytes, each half an interval early or late at most |
/// | `voip` | a voice of G.711: a packet of 200 bytes each 20 ms, with IP, UDP and RTP headers |
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    text: String,
    groups: Vec<MixGroup>,
}

#[derive(Clone, Debug, PartialEq)]
struct MixGroup {
    count: u32,
    traffic: MixTraffic,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MixTraffic {
    Tcp(Congestion),
    Web,
    Udp(MixRate),
    Voip,
    /// UDP at the link's rate.
    Flood,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MixRate {
    /// A multiple of the link's rate.
    Times(f64),
    Rate(Rate),
}

/// The name of a flood that a case adds.
pub(crate) const FLOOD: &str = "flood";

/// The names of groups that are no congestion control.
const OTHERS: [&str; 3] = ["web", "udp", "voip"];

const EXAMPLE: &str = "write for example web, 8 cubic, 1 udp 2x";

/// The most flows of a group.
const MOST: u32 = 10_000;

/// A link with its traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// The round trip without queues.
    pub rtt: Duration,
    /// The traffic.
    pub mix: Mix,
}

/// The times of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
}

impl Default for Mix {
    /// Returns eight CUBIC flows and two browsers.
    fn default() -> Self {
        let group = |count, traffic| MixGroup { count, traffic };
        let groups = vec![group(8, MixTraffic::Tcp(Congestion::Cubic)), group(2, MixTraffic::Web)];
        Self { text: "8 cubic, 2 web".to_owned(), groups }
    }
}

impl Mix {
    /// Returns the mix with so many times the flows of each group, at least one; rates of UDP stay.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let scaled = |group: &MixGroup| match group.traffic {
            MixTraffic::Udp(_) => group.clone(),
            traffic => MixGroup { count: (f64::from(group.count) * factor).round().max(1.0) as u32, traffic },
        };
        Self { text: self.text.clone(), groups: self.groups.iter().map(scaled).collect() }
    }

    /// Returns the mix with a flood.
    pub(crate) fn with_flood(mut self) -> Self {
        self.groups.push(MixGroup { count: 1, traffic: MixTraffic::Flood });
        self
    }

    /// Returns true if a congestion control is to be controlled by marks.
    pub(crate) fn needs_ecn(&self) -> bool {
        let scalable = [MixTraffic::Tcp(Congestion::Dctcp), MixTraffic::Tcp(Congestion::Prague)];
        self.groups.iter().any(|group| scalable.contains(&group.traffic))
    }

    /// Returns the number of flows, with the connections of browsers.
    pub(crate) fn flows(&self) -> u32 {
        let flows = |group: &MixGroup| if group.traffic == MixTraffic::Web { 6 * group.count } else { group.count };
        self.groups.iter().map(flows).sum()
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Mix {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let groups = split(text, 0..text.len(), ',').into_iter().map(|span| group(text, trimmed(text, span)));
        Ok(Self { text: text.to_owned(), groups: groups.collect::<Result<_, _>>()? })
    }
}

/// Reads `[COUNT] NAME [RATE]`.
fn group(text: &str, span: Range<usize>) -> Result<MixGroup, TextError> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for word in split(text, span.clone(), ' ') {
        if !word.is_empty() {
            words.push(word);
        }
    }
    let word = |words: &[Range<usize>], at: usize| words.get(at).map(|place| (&text[place.clone()], place.clone()));
    let Some((first, place)) = word(&words, 0) else {
        return Err(TextError::new(text, span, "here is no group of flows", EXAMPLE));
    };
    let mut count = 1;
    if first.starts_with(|c: char| c.is_ascii_digit()) {
        let read = first.parse().ok().filter(|count| (1..=MOST).contains(count));
        let message = format!("\"{first}\" is no number of flows from 1 to {MOST}");
        count = read.ok_or_else(|| TextError::new(text, place, message, EXAMPLE))?;
        words.remove(0);
    }
    let Some((name, place)) = word(&words, 0) else {
        return Err(TextError::new(text, span, "this does not say what the flows are", EXAMPLE));
    };
    let rate = word(&words, 1);
    if let Some((more, place)) = word(&words, 2) {
        return Err(TextError::new(text, place, format!("\"{more}\" is too much"), "separate groups by commas"));
    }
    let traffic = match (name, rate) {
        ("udp", Some((rate, place))) => MixTraffic::Udp(mix_rate(text, rate, place)?),
        ("udp", None) => {
            let help = "write udp 3mbit, or udp 2x for twice the link's rate";
            return Err(TextError::new(text, place, "udp needs a rate", help));
        }
        (_, Some((rate, place))) => {
            let message = format!("\"{rate}\" cannot follow {name}: only udp has a rate");
            return Err(TextError::new(text, place, message, "leave it out, or separate groups by commas"));
        }
        ("web", None) => MixTraffic::Web,
        ("voip", None) => MixTraffic::Voip,
        (name, None) => match Congestion::ALL.into_iter().find(|congestion| congestion.name() == name) {
            Some(congestion) => MixTraffic::Tcp(congestion),
            None => {
                let names: Vec<&str> = OTHERS.into_iter().chain(Congestion::ALL.map(Congestion::name)).collect();
                let help = suggest::help(name, names);
                return Err(TextError::new(text, place, format!("there are no flows called \"{name}\""), help));
            }
        },
    };
    Ok(MixGroup { count, traffic })
}

fn mix_rate(text: &str, rate: &str, place: Range<usize>) -> Result<MixRate, TextError> {
    if let Some(times) = rate.strip_suffix('x') {
        let times = times.parse().ok().filter(|times| (0.001..=1000.0).contains(times));
        let message = format!("\"{rate}\" is no multiple of the link's rate from 0.001x to 1000x");
        return times
            .map(MixRate::Times)
            .ok_or_else(|| TextError::new(text, place, message, "write 2x, or a rate, 3mbit"));
    }
    match rate.parse::<Rate>() {
        Ok(rate) if rate.bits_per_second() > 0 => Ok(MixRate::Rate(rate)),
        Ok(_) => Err(TextError::new(
            text,
            place,
            "a rate must be above zero",
            "write 3mbit, or 2x for twice the link's rate",
        )),
        Err(error) => Err(TextError::new(text, place, error.to_string(), "or write 2x for twice the link's rate")),
    }
}

impl Link {
    /// Returns the scenario as a file: a dumbbell with a quarter of the round trip's way in the bottleneck, and TCP of
    /// today.
    pub(crate) fn text(&self, parameters: &QdiscParameters, seed: u64, comment: &str) -> String {
        let times = self.times();
        let (middle, host) = (self.rtt.as_nanos() / 4, self.rtt.as_nanos() / 8);
        let (middle, host) = (Duration::from_nanos(middle), Duration::from_nanos(host));
        let mut text = format!(
            "{comment}\nname = \"{} {}, {}\"\nduration = \"{}\"\nwarmup = \"{}\"\nseed = {seed}\n\n\
             [tcp]\npreset = \"modern\"\n\n\
             [bottleneck]\nrate = \"{}\"\ndelay = \"{middle}\"\nqueue = {}\n\n\
             # Two links of hosts and the bottleneck, there and back: a round trip of {}.\n[access]\ndelay = \"{host}\"\n",
            self.rate,
            self.rtt,
            self.mix,
            times.duration,
            times.warmup,
            self.rate,
            files::inline(parameters),
            self.rtt
        );
        let mut names: Vec<String> = Vec::new();
        for group in &self.mix.groups {
            let name = group.traffic.name();
            let same = names.iter().filter(|other| other.split('-').next() == Some(name)).count();
            names.push(if same == 0 { name.to_owned() } else { format!("{name}-{}", same + 1) });
            text += &format!("\n[[flows]]\nname = \"{}\"\n", names[names.len() - 1]);
            text += &group.toml(self.rate);
        }
        text
    }

    /// Returns the times of a scenario, as the mix needs them to converge and to be measured: several pages of
    /// browsers, several cycles of congestion controls, several thousand packets and round trips.
    pub(crate) fn times(&self) -> Times {
        let rtt = self.rtt.as_secs();
        let a_second = self.rate.bits_per_second() as f64 / 12_000.0;
        let long = self.mix.groups.iter().filter(|group| matches!(group.traffic, MixTraffic::Tcp(_)));
        let long = long.map(|group| group.count).sum::<u32>().max(1);
        // Of each long flow, with a queue of a round trip.
        let window = 2.0 * a_second * rtt / f64::from(long);
        let cycle = self.mix.groups.iter().map(|group| group.traffic.cycle(window, 2.0 * rtt)).fold(0.0, f64::max);
        // A timeout takes a fifth of a second at least (Linux), so that a second is the least time without chance.
        let least = (1e6 / a_second).clamp(1.0, 10.0).max(5000.0 / a_second);
        let measured = (3.0 * cycle).max(60.0 * rtt).max(least);
        // To whole milliseconds, for a person's eyes.
        let millis = |seconds: f64| Duration::from_millis((seconds * 1e3).ceil() as u64);
        Times { warmup: millis(measured / 2.0), duration: millis(1.5 * measured) }
    }

    /// Returns the same as a checked document.
    ///
    /// # Errors
    /// The rate or the round trip is beyond what a scenario can have, or the discipline refuses it.
    pub(crate) fn document(&self, parameters: &QdiscParameters, seed: u64) -> Result<Document, Error> {
        Ok(Document::parse("advise.toml", &self.text(parameters, seed, "# A link."))?)
    }
}

impl MixTraffic {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp(congestion) => congestion.name(),
            Self::Web => "web",
            Self::Udp(_) => "udp",
            Self::Voip => "voip",
            Self::Flood => FLOOD,
        }
    }

    /// Returns the seconds from one loss of a flow to its next one, or from one page to the next.
    fn cycle(self, window: f64, rtt: f64) -> f64 {
        // Reno grows by a packet in a round trip, from half of the window.
        let reno = window / 2.0 * rtt;
        match self {
            // RFC 9438, section 4.2, with C = 0.4 and beta = 0.7; below it CUBIC is like Reno.
            Self::Tcp(Congestion::Cubic) => libm::cbrt(0.75 * window).min(reno),
            Self::Tcp(Congestion::Dctcp | Congestion::Prague | Congestion::Vegas | Congestion::Ledbat) => 20.0 * rtt,
            // Probes of the round trip come each ten seconds.
            Self::Tcp(Congestion::Bbr | Congestion::Bbr3) => 10.0,
            Self::Tcp(_) => reno,
            // A pause of five seconds and a page.
            Self::Web => 10.0,
            Self::Udp(_) | Self::Voip | Self::Flood => 0.0,
        }
    }
}

impl MixGroup {
    /// Returns the keys of a group behind its name.
    fn toml(&self, link: Rate) -> String {
        let count = self.count;
        // Without jitter two floods stay in phase, and one of them may find the queue full each time.
        let flood = |rate: Rate| {
            format!("kind = \"udp\"\ncount = {count}\nrate = \"{rate}\"\njitter = 0.5\npacket = \"1500b\"\n")
        };
        match self.traffic {
            MixTraffic::Tcp(congestion) => {
                format!("kind = \"tcp\"\ncount = {count}\ncc = \"{}\"\npacket = \"1500b\"\n", congestion.name())
            }
            MixTraffic::Web => format!(
                "kind = \"tcp\"\ncount = {}\ncc = \"cubic\"\npacket = \"1500b\"\nsource = \"web\"\nobjects = 20\nconnections = 6\n\
                 size = \"50kb\"\nsizes = \"lognormal\"\nsigma = 1.0\nmin_size = \"1kb\"\nthink = \"5s\"\n",
                6 * count
            ),
            MixTraffic::Udp(MixRate::Rate(rate)) => flood(rate),
            MixTraffic::Udp(MixRate::Times(times)) => {
                flood(Rate::from_bits_per_second((link.bits_per_second() as f64 * times).round().max(1.0) as u64))
            }
            MixTraffic::Flood => flood(link),
            MixTraffic::Voip => format!("kind = \"udp\"\ncount = {count}\nrate = \"80kbit\"\npacket = \"200b\"\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Kind;
    use fairlane_scenario::Traffic;

    use super::*;

    /// Would catch a round trip or a rate that is another one in the scenario, and groups of one name.
    #[test]
    fn a_mix_becomes_a_scenario() {
        let mix: Mix = "web, 8 cubic, 1 udp 2x, 2 udp 300kbit,  voip".parse().unwrap();
        let link = Link { rate: Rate::from_bits_per_second(20_000_000), rtt: Duration::from_millis(40), mix };
        let scenario = link.document(&QdiscParameters::new(Kind::Codel), 7).unwrap().scenario().unwrap();
        let bottleneck = &scenario.links[0].forward;
        assert_eq!(bottleneck.queue.kind(), Kind::Codel);
        let groups = scenario.flows.iter().map(|group| (group.name.as_str(), group.count));
        assert_eq!(groups.collect::<Vec<_>>(), [("web", 6), ("cubic", 8), ("udp", 1), ("udp-2", 2), ("voip", 1)]);
        for group in &scenario.flows {
            let hosts = [&group.source, &group.sink].into_iter().flatten().map(|access| access.delay);
            let one_way: f64 = hosts.chain([bottleneck.delay]).map(Duration::as_secs).sum();
            assert!((2.0 * one_way - 0.04).abs() < 1e-12, "{}: {one_way}", group.name);
        }
        let rates = scenario.flows.iter().filter_map(|group| match &group.traffic {
            Traffic::Udp(_) => Some(scenario.flows.iter().position(|other| other.name == group.name)),
            _ => None,
        });
        assert_eq!(rates.flatten().collect::<Vec<_>>(), [2, 3, 4]);
        assert!(link.text(&QdiscParameters::new(Kind::Codel), 7, "").contains("rate = \"40mbit\""));
    }

    /// By hand. 2 Reno at 12 Mbit/s and 50 ms: 1000 packets a second, a window of 50 with a queue of a round trip, and
    /// 25 round trips of 100 ms from half of it: three are 7.5 s, so ten seconds are measured. One Reno: 100 · 100 ms /
    /// 2 = 5 s. One CUBIC at 1 Gbit/s and 100 ms: (0.75 · 16,667)^(1/3) = 23.2 s. Browsers: three times ten seconds. At
    /// 120 kbit/s 5000 packets take 500 s. At 12 Gbit/s a second is enough.
    #[test]
    fn a_mix_gets_the_time_that_it_needs() {
        for (rate, rtt, mix, measured) in [
            (12_000_000, 50, "2 reno", 10.0),
            (12_000_000, 50, "reno", 15.0),
            (1_000_000_000, 100, "cubic", 69.6),
            (1_000_000_000, 20, "300 cubic, 20 web", 30.0),
            (20_000_000, 600, "prague", 72.0),
            (120_000, 20, "2 cubic", 500.0),
            (12_000_000_000, 1, "200 dctcp", 1.0),
        ] {
            let rate = Rate::from_bits_per_second(rate);
            let link = Link { rate, rtt: Duration::from_millis(rtt), mix: mix.parse().unwrap() };
            let Times { warmup, duration } = link.times();
            let found = duration.as_secs() - warmup.as_secs();
            assert!((found / measured - 1.0_f64).abs() < 0.01, "{mix}: {found}");
            assert!((warmup.as_secs() * 2.0 / found - 1.0_f64).abs() < 0.01);
        }
    }

    /// Would catch a flood that scales with the flows, and a group without flows.
    #[test]
    fn a_mix_is_scaled() {
        let mix: Mix = "web, 8 cubic, udp 2x".parse().unwrap();
        let counts = |mix: &Mix| mix.groups.iter().map(|group| group.count).collect::<Vec<_>>();
        assert_eq!(counts(&mix.scaled(0.5)), [1, 4, 1]);
        assert_eq!(counts(&mix.scaled(2.0).with_flood()), [2, 16, 1, 1]);
        assert_eq!((mix.flows(), mix.needs_ecn()), (15, false));
        assert!("2 prague, cubic".parse::<Mix>().unwrap().needs_ecn());
    }

    /// Would catch an error that points elsewhere.
    #[test]
    fn mistakes_are_pointed_at() {
        for (text, wrong, part) in [
            ("cubik", "cubik", "did you mean \"cubic\"?"),
            ("8 cubic, 0 web", "0", "from 1 to 10000"),
            ("8", "8", "what the flows are"),
            ("udp", "udp", "udp needs a rate"),
            ("udp 2y", "2y", "2x"),
            ("udp 0x", "0x", "0.001x"),
            ("udp 0mbit", "0mbit", "above zero"),
            ("cubic 3mbit", "3mbit", "only udp has a rate"),
            ("cubic web reno", "reno", "separate groups by commas"),
            ("", "", "no group"),
            ("web,,web", "", "no group"),
        ] {
            let error = text.parse::<Mix>().unwrap_err();
            assert_eq!(&error.text()[error.span()], wrong, "{text}: {error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_default_is_what_it_says() {
        assert_eq!(Mix::default().to_string().parse::<Mix>().unwrap(), Mix::default());
    }
}
