//! Warnings of numbers that would mislead, before a scenario runs.

use fairlane_qdisc::{Domain, Explanation};

use crate::application::Application;
use crate::model::{FlowGroup, Hop, Scenario, Traffic};

/// The part of the measured time that may belong to the beginning.
const BEGINNING: f64 = 0.05;
/// Jain's index of flows that are served alike but for the queues that they share, below which it is worth a word.
const UNEVEN: f64 = 0.9;
/// The index that is aimed at instead.
const EVEN: f64 = 0.99;

impl Scenario {
    /// Returns a sentence for each queue whose parameters do not suit its link or its flows, with the queue's name.
    #[must_use]
    pub fn queue_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            for (side, reverse, end) in [(&link.forward, false, ""), (&link.reverse, true, "/reverse")] {
                let explanation = side.queue.explanation();
                let hop = Hop { link: index, reverse };
                let shared = shared_queues(explanation, self.steady_flows(hop));
                let all = explanation.warnings.iter().cloned().chain(shared).chain(self.small_bucket(hop));
                warnings.extend(all.map(|warning| format!("{}{end}: {warning}", link.name)));
            }
        }
        warnings
    }

    /// Returns a sentence for each group whose beginning is measured, or that mostly pauses while it is.
    #[must_use]
    pub fn time_warnings(&self) -> Vec<String> {
        let measured = self.duration.as_secs() - self.warmup.as_secs();
        let rates = self.fair_rates();
        let each = self.flows.iter().zip(rates);
        each.flat_map(|(group, rate)| [self.begins(group, rate, measured), self.pauses(group, measured)])
            .flatten()
            .collect()
    }

    /// Returns the flows that send all the time over `hop`.
    fn steady_flows(&self, hop: Hop) -> u64 {
        let crossing = self.flows.iter().filter(|group| is_steady(group) && group.path.contains(&hop));
        crossing.map(|group| u64::from(group.count)).sum()
    }

    /// Warns of a policer at `hop` whose bucket is too small for a packet.
    fn small_bucket(&self, hop: Hop) -> Option<String> {
        let link = &self.links[hop.link];
        let side = if hop.reverse { &link.reverse } else { &link.forward };
        let burst = side.wire.policer?.burst;
        let group = self.flows.iter().find(|group| group.path.contains(&hop) && group.packet > burst)?;
        Some(format!(
            "the policer's bucket of {burst} has never enough for a packet of \"{}\", {packet}: burst = {packet} is the least",
            group.name,
            packet = group.packet
        ))
    }

    /// Warns of flows that still begin when the measurement has begun. `rate` is the fair rate of all of them.
    fn begins(&self, group: &FlowGroup, rate: f64, measured: f64) -> Option<String> {
        // Flows that start later are meant to.
        if !is_steady(group) || group.start_from > self.warmup || !group.later_phases.is_empty() {
            return None;
        }
        let round_trip = self.round_trip_s(group);
        let rounds = match &group.traffic {
            Traffic::Tcp(tcp) => {
                let packets = rate / f64::from(group.count.max(1)) * round_trip / (8.0 * group.packet.get() as f64);
                libm::ceil(libm::log2((packets / f64::from(tcp.initial_window.max(1))).max(1.0)))
            }
            Traffic::Udp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => 0.0,
        };
        let ready = group.start_to.as_secs() + rounds * round_trip;
        if ready - self.warmup.as_secs() <= BEGINNING * measured {
            return None;
        }
        let slow_start = match rounds {
            0.0 => String::new(),
            _ => format!(" and needs {rounds:.0} round trips of {:.0} ms to reach its fair rate", 1e3 * round_trip),
        };
        Some(format!(
            "\"{}\": its last flow starts by {:.1} s{slow_start}, and the measurement begins at {:.1} s: a warm-up of {:.0} s leaves \
             this out",
            group.name,
            group.start_to.as_secs(),
            self.warmup.as_secs(),
            libm::ceil(ready)
        ))
    }

    /// Warns of pauses that are longer than the measurement.
    fn pauses(&self, group: &FlowGroup, measured: f64) -> Option<String> {
        let Traffic::Tcp(tcp) = &group.traffic else { return None };
        let think = match &tcp.application {
            Application::Transfers(transfers) => transfers.think?,
            Application::Web(web) => web.think,
            _ => return None,
        };
        (measured < think.as_secs()).then(|| {
            format!(
                "\"{}\": its pauses take {think} in the mean, and the measurement {measured:.1} s: most of its flows send nothing in \
                 it; a duration of {:.0} s has ten pauses",
                group.name,
                libm::ceil(self.warmup.as_secs() + 10.0 * think.as_secs())
            )
        })
    }

    /// Returns the round trip without queues in seconds.
    fn round_trip_s(&self, group: &FlowGroup) -> f64 {
        let side = |hop: &Hop| {
            let link = &self.links[hop.link];
            if hop.reverse { link.reverse.delay } else { link.forward.delay }
        };
        let hosts = [&group.source, &group.sink].into_iter().flatten().map(|access| 2.0 * access.delay.as_secs());
        let links = group.path.iter().chain(&group.back).map(|hop| side(hop).as_secs());
        hosts.chain(links).sum()
    }
}

/// Returns true for flows that always have data.
fn is_steady(group: &FlowGroup) -> bool {
    match &group.traffic {
        Traffic::Tcp(tcp) => tcp.application == Application::Ftp,
        Traffic::Tfrc(tfrc) => tfrc.on_off.is_none(),
        Traffic::Udp(_) | Traffic::Endpoint => true,
    }
}

/// Warns of `flows` that a discipline hashes to so few queues that many share one, and so are served unlike others;
/// `None` if few do, or if it has no table of queues.
///
/// A queue has Poisson's number of other flows, and each flow the part of its queue's turn: with λ others in the mean,
/// the mean of the part is (1 − e⁻λ)/λ, and that of its square Σ e⁻λ λᵏ / (k! (k + 1)²).
#[must_use]
pub fn shared_queues(explanation: &Explanation, flows: u64) -> Option<String> {
    let parameter = explanation.parameters.iter().find(|parameter| parameter.key == "flows")?;
    // BARE's parameter of that name is the number of flows with a state.
    let queues: u64 = parameter.value.parse().ok().filter(|_| parameter.meaning.starts_with("queues"))?;
    let index = evenness(flows, queues);
    if index >= UNEVEN {
        return None;
    }
    let domain = explanation.kind.parameters().iter().find(|known| known.key == parameter.key)?.domain;
    let Domain::Count { max: most, .. } = domain else { return None };
    let doubled = (1..64).map(|power| queues.saturating_mul(1 << power)).find(|more| evenness(flows, *more) >= EVEN);
    let enough = doubled.unwrap_or(u64::MAX).min(u64::from(most)).max(queues);
    let remedy = if enough > queues {
        format!("flows = {enough} allows {:.2}", evenness(flows, enough))
    } else {
        format!("flows = {queues} is the largest value")
    };
    let shared = -libm::expm1(-others(flows, queues));
    Some(format!(
        "{flows} flows are hashed to {queues} queues, so that {:.0} % of them share one and Jain's index is at most about \
         {index:.2}; {remedy}",
        100.0 * shared
    ))
}

/// Returns the mean number of other flows in a flow's queue.
fn others(flows: u64, queues: u64) -> f64 {
    flows.saturating_sub(1) as f64 / queues.max(1) as f64
}

/// Returns Jain's index of the parts of flows hashed to queues that are served alike.
fn evenness(flows: u64, queues: u64) -> f64 {
    let others = others(flows, queues);
    if others < 1e-9 {
        return 1.0;
    }
    let mean = -libm::expm1(-others) / others;
    let mut term = libm::exp(-others);
    let mut squares = 0.0;
    for k in 0..1_000_000_u32 {
        let step = term / (f64::from(k + 1) * f64::from(k + 1));
        squares += step;
        if f64::from(k) > others && step < 1e-12 * squares {
            break;
        }
        term *= others / f64::from(k + 1);
    }
    if squares > 0.0 { (mean * mean / squares).min(1.0) } else { 1.0 / others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    fn scenario(text: &str) -> Scenario {
        Document::parse("test.toml", text).and_then(|document| document.scenario()).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Two flows in m queues: alone with 1 − 1/m, else with half a turn each, an index of 1 either way. Of three in two
    /// queues the index is 1 (all in one, 1/4) or (1/2 + 1/2 + 1)²/(3 · 3/2) = 8/9. For many flows, against the mean of
    /// 20 tables that are filled at random with 2000 flows.
    #[test]
    fn evenness_is_that_of_tables_filled_at_random() {
        let mut state = 1_u64;
        for queues in [256_u64, 1024, 4096, 65536] {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..20 {
                let mut table = vec![0_u32; queues as usize];
                for _ in 0..2000 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    table[((state >> 33) % queues) as usize] += 1;
                }
                sum += table.iter().filter(|flows| **flows > 0).count() as f64;
                squares += table.iter().filter(|flows| **flows > 0).map(|flows| 1.0 / f64::from(*flows)).sum::<f64>();
            }
            let filled = sum * sum / (20.0 * 2000.0 * squares);
            assert!((evenness(2000, queues) - filled).abs() < 0.01, "{queues}: {} {filled}", evenness(2000, queues));
        }
        assert_eq!((evenness(1, 1024), evenness(0, 1024)), (1.0, 1.0));
    }

    const WIDE: &str = "[bottleneck]\nrate = \"1gbit\"\ndelay = \"9ms\"\nqueue = { kind = \"fq-codel\" }\n";

    /// Would catch a warning without need, and one that does not say by what to mend it.
    #[test]
    fn a_table_that_is_too_small_is_named() {
        let of = |flows: u32| {
            let group = format!("[[flows]]\nname = \"a\"\nkind = \"tcp\"\ncount = {flows}\n");
            scenario(&format!("duration = \"60s\"\nwarmup = \"20s\"\n{WIDE}{group}")).queue_warnings()
        };
        assert_eq!(of(300), Vec::<String>::new());
        let warnings = of(2000);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for word in ["bottleneck: 2000 flows", "1024 queues", "0.75", "flows = 65536", "0.99"] {
            assert!(warning.contains(word), "{word}: {warning}");
        }
        // No table has more than 65536 queues.
        let warnings = of(3000);
        assert!(warnings[0].ends_with(&format!("flows = 65536 allows {:.2}", evenness(3000, 65536))), "{warnings:?}");
        let full = |flows| {
            let parameters = "fq-codel flows=65536".parse::<fairlane_qdisc::QdiscParameters>().unwrap();
            shared_queues(
                &parameters.explain(fairlane_qdisc::Rate::from_bits_per_second(1_000_000_000)).unwrap(),
                flows,
            )
        };
        assert!(full(65_536).unwrap().ends_with("flows = 65536 is the largest value"));
    }

    /// Would catch a policer that lets no packet pass, without a word.
    #[test]
    fn a_bucket_below_a_packet_is_named() {
        let of = |burst: &str| {
            let policer =
                format!("[bottleneck]\nrate = \"9mbit\"\npolicer = {{ rate = \"1mbit\", burst = \"{burst}\" }}\n");
            let group = "[[flows]]\nname = \"a\"\nkind = \"tcp\"\npacket = \"1500b\"\n";
            scenario(&format!("duration = \"60s\"\n{policer}{group}")).queue_warnings()
        };
        assert_eq!(of("1500b"), Vec::<String>::new());
        let warnings = of("1499b");
        assert!(
            matches!(&warnings[..], [warning] if warning.contains("1499b") && warning.contains("burst = 1500b")),
            "{warnings:?}"
        );
    }

    /// A round trip of 22 ms holds 2750 kB, and a flow of one packet of 1000 bytes doubles to 2750 in 12 of them: 0.3
    /// s. A measurement that begins before 0.3 s and takes less than 20 times the rest has its beginning in it. A group
    /// that starts after the warm-up is meant to.
    #[test]
    fn a_beginning_that_is_measured_is_named() {
        let of = |times: &str, start: &str| {
            let group = format!("[[flows]]\nname = \"a\"\nkind = \"tcp\"\nstart = \"{start}\"\nwindow = 9000\n");
            scenario(&format!("{times}\n{WIDE}{group}")).time_warnings()
        };
        assert_eq!(of("duration = \"60s\"\nwarmup = \"1s\"", "0s"), Vec::<String>::new());
        assert_eq!(of("duration = \"60s\"", "0s"), Vec::<String>::new());
        assert_eq!(of("duration = \"60s\"\nwarmup = \"10s\"", "30s"), Vec::<String>::new());
        let warnings = of("duration = \"2s\"", "0s");
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.contains("12 round trips of 22 ms") && warning.contains("a warm-up of 1 s"), "{warning}");
        let warnings = of("duration = \"60s\"\nwarmup = \"2s\"", "0s..20s");
        assert!(matches!(&warnings[..], [warning] if warning.contains("starts by 20.0 s")), "{warnings:?}");
    }

    #[test]
    fn pauses_longer_than_the_measurement_are_named() {
        let of = |duration: &str| {
            let group =
                "[[flows]]\nname = \"get\"\nkind = \"tcp\"\nsource = \"transfers\"\nsize = \"9kb\"\nthink = \"5s\"\n";
            scenario(&format!("duration = \"{duration}\"\nwarmup = \"2s\"\n{WIDE}{group}")).time_warnings()
        };
        assert_eq!(of("30s"), Vec::<String>::new());
        let warnings = of("4s");
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.contains("5s") && warning.contains("2.0 s") && warning.contains("52 s"), "{warning}");
    }
}
