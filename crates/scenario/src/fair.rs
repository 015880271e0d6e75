//! Max-min fair rates: the rates that an ideally fair network would give to the flows of a scenario.
//!
//! Rates are max-min fair if no flow's rate can rise without lowering that of a flow which has no more (Bertsekas and
//! Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2). They are found by progressive filling: the rates of
//! all flows rise together, and a flow stops when it has what it demands or when a link of its path is full.
//!
//! A flow demands
//! - what its source sends, if that does not react: the rate of a constant, Poisson, geometric or self-similar source,
//!   the bytes of a trace over the flow's time;
//! - with on and off periods, the mean over both: the rate of the on periods, or that of the narrowest link of the path
//!   for unlimited data, times on/(on + off);
//! - with transfers, the load that it would offer alone: the mean size over the mean pause and the time that it takes
//!   at the rate of the narrowest link; a single transfer, its size over the flow's time;
//! - everything otherwise. Windows, losses on the wire, and the room that acknowledgements take are not considered.
//!
//! The links of its hosts limit what it can demand. A flow lives from the middle of its range of starts until it stops.
//! In between rates are those of the flows that live, and [`Scenario::fair_rates`] is their mean over the time that is
//! measured.

use fairlane_qdisc::{Duration, Kind, QdiscParameters, Rate, Size};

use crate::application::{Application, Transfers, Web};
use crate::model::{FlowGroup, Hop, LinkSide, Scenario, Traffic};
use crate::shaper::ShaperKind;
use crate::source::{OnOff, Source, Udp};

/// The name of the link of the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

/// Flows with the same path and the same demand.
struct Class {
    group: usize,
    flows: f64,
    /// In bit/s each; infinite for unlimited data behind nothing.
    demand: f64,
}

/// The limit of a flow's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The flow has its demand.
    Demand,
    /// This link is full.
    Link(usize),
}

impl Scenario {
    /// Returns the max-min fair rate of each group, of all its flows together, in bit/s: the mean over the time that is
    /// measured.
    #[must_use]
    pub fn fair_rates(&self) -> Vec<f64> {
        let mut rates = vec![0.0; self.flows.len()];
        let whole = self.duration.as_secs() - self.warmup.as_secs();
        for span in self.spans() {
            let part = (span.1.as_secs() - span.0.as_secs()) / whole;
            let (classes, levels) = self.filled(span);
            for (class, (rate, _)) in classes.iter().zip(levels) {
                if rate.is_finite() {
                    rates[class.group] += part * class.flows * rate;
                }
            }
        }
        rates
    }

    /// Returns a sentence for each group that something else than the queues under study limits: the links of its
    /// hosts, or a link whose queue is not described.
    #[must_use]
    pub fn limit_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut limits = vec![None; self.flows.len()];
        for span in self.spans() {
            let (classes, levels) = self.filled(span);
            for (class, (rate, limit)) in classes.iter().zip(levels) {
                limits[class.group] = limits[class.group].or(self.foreign_limit(class.group, rate, limit));
            }
        }
        for (group, limit) in self.flows.iter().zip(limits) {
            let cap = host_rate(group);
            let own = own_rate(&group.traffic).filter(|own| cap.is_some_and(|cap| *own > cap));
            notes.extend(match (own, cap, limit) {
                (Some(own), Some(cap), _) => Some(format!(
                    "\"{}\": the links of its hosts carry {cap}, less than the {own} that each flow sends; the rest is lost before the \
                     queues shown here",
                    group.name
                )),
                (None, Some(cap), Some(Limit::Demand)) => {
                    Some(format!("\"{}\": the links of its hosts, {cap}, limit its flows before a queue shown here does", group.name))
                }
                (_, _, Some(Limit::Link(link))) => Some(format!(
                    "\"{}\": link \"{}\" limits its flows, and its queue is the plain default, droptail of 1000 packets",
                    group.name,
                    self.side_name(link)
                )),
                _ => None,
            });
        }
        notes
    }

    /// Returns the limit of a group if it is not a queue under study: [`Limit::Demand`] for the links of its hosts.
    fn foreign_limit(&self, group: usize, rate: f64, limit: Limit) -> Option<Limit> {
        match limit {
            Limit::Demand => {
                let group = &self.flows[group];
                let unlimited = matches!(&group.traffic, Traffic::Tcp(tcp) if tcp.application == Application::Ftp)
                    || matches!(&group.traffic, Traffic::Tfrc(tfrc) if tfrc.on_off.is_none() && tfrc.rate.is_none())
                    || group.traffic == Traffic::Endpoint;
                let capped = host_rate(group).is_some_and(|cap| rate >= cap.bits_per_second() as f64);
                (unlimited && capped).then_some(Limit::Demand)
            }
            Limit::Link(link) => {
                let sides = 2 * self.links.len();
                let foreign = !self.described(link) && (0..sides).any(|other| self.described(other));
                foreign.then_some(limit)
            }
        }
    }

    /// Returns true if the queue of a direction of a link is described, or if it is the bottleneck.
    fn described(&self, side: usize) -> bool {
        let plain = QdiscParameters::new(Kind::DropTail).with("limit", "1000p").ok();
        self.links[side / 2].name == BOTTLENECK || plain.as_ref() != Some(self.side(side).queue.parameters())
    }

    fn side(&self, side: usize) -> &LinkSide {
        let link = &self.links[side / 2];
        if side.is_multiple_of(2) { &link.forward } else { &link.reverse }
    }

    fn side_name(&self, side: usize) -> String {
        let reverse = if side.is_multiple_of(2) { "" } else { "/reverse" };
        format!("{}{reverse}", self.links[side / 2].name)
    }

    /// Returns the parts of the measured time in which the same flows live.
    fn spans(&self) -> Vec<(Duration, Duration)> {
        let ends = self.flows.iter().flat_map(|group| [start(group), group.stop.unwrap_or(self.duration)]);
        let later = self.flows.iter().flat_map(|group| &group.later_phases).flat_map(|phase| [phase.from, phase.to]);
        let inside = ends.chain(later).filter(|end| *end > self.warmup && *end < self.duration);
        let mut ends: Vec<Duration> = inside.chain([self.warmup, self.duration]).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// Returns the classes of the flows that live in `span`, each with its rate and what limits it.
    fn filled(&self, span: (Duration, Duration)) -> (Vec<Class>, Vec<(f64, Limit)>) {
        let capacities: Vec<f64> = (0..2 * self.links.len()).map(|side| capacity(self.side(side), span)).collect();
        let lives = |group: &FlowGroup| {
            let first = start(group) <= span.0 && group.stop.is_none_or(|stop| stop >= span.1);
            first || group.later_phases.iter().any(|phase| phase.from <= span.0 && phase.to >= span.1)
        };
        let living = self.flows.iter().enumerate().filter(|(_, group)| lives(group));
        let classes: Vec<Class> = living.flat_map(|(number, group)| self.classes(number, group, &capacities)).collect();
        let paths: Vec<Vec<usize>> = self.flows.iter().map(|group| group.path.iter().map(side_of).collect()).collect();
        let levels = fill(&capacities, &classes, &paths);
        (classes, levels)
    }

    /// Returns the classes of a group: one, or one for each flow of a trace.
    fn classes(&self, number: usize, group: &FlowGroup, capacities: &[f64]) -> Vec<Class> {
        let cap = host_rate(group).map_or(f64::INFINITY, |cap| cap.bits_per_second() as f64);
        let narrowest = group.path.iter().map(|hop| capacities[side_of(hop)]).fold(cap, f64::min);
        let lifetime = group.stop.unwrap_or(self.duration).as_secs() - start(group).as_secs();
        let class = |flows: f64, demand: f64| Class { group: number, flows, demand: demand.min(cap) };
        match &group.traffic {
            Traffic::Udp(Udp { source: Source::Trace(trace), .. }) => {
                let recorded = trace.flows().min(group.count as usize).max(1);
                let each = |index: usize| {
                    let packets = trace.flow(index as u32).iter().take_while(|packet| packet.at.as_secs() < lifetime);
                    let bits: u64 = packets.map(|packet| packet.bytes.get() * 8).sum();
                    // If the group has more flows than the trace, the trace's flows are reused in order.
                    let flows = (group.count as usize - index).div_ceil(recorded);
                    class(flows as f64, bits as f64 / lifetime)
                };
                (0..recorded).map(each).collect()
            }
            other => vec![class(f64::from(group.count), demand(other, group, narrowest, lifetime))],
        }
    }
}

/// Returns the demand of a flow in bit/s; see the module.
fn demand(traffic: &Traffic, group: &FlowGroup, narrowest: f64, lifetime: f64) -> f64 {
    match traffic {
        Traffic::Udp(udp) => match &udp.source {
            Source::OnOff(periods) => bits(udp.rate) * on(periods),
            _ => bits(udp.rate),
        },
        Traffic::Tfrc(tfrc) => match &tfrc.on_off {
            Some(periods) => tfrc.rate.map_or(narrowest, bits).min(narrowest) * on(periods),
            None => tfrc.rate.map_or(f64::INFINITY, bits),
        },
        // An endpoint may want all that it can get.
        Traffic::Endpoint => f64::INFINITY,
        Traffic::Tcp(tcp) => match &tcp.application {
            // An application of a program may want all that it can get.
            Application::Ftp | Application::Own(_) => f64::INFINITY,
            Application::OnOff(periods) => narrowest * on(periods),
            Application::Video(video) => bits(video.highest()),
            Application::Cbr(cbr) => bits(cbr.rate),
            // Except for the round trips, the link is always busy.
            Application::Rpc(_) => narrowest,
            Application::Transfers(Transfers { size, think, .. }) => {
                let bits = size_bits(*size, group);
                bits / think.map_or(lifetime, |think| think.as_secs() + bits / narrowest)
            }
            // Each connection has its part of the objects.
            Application::Web(Web { objects, connections, size, think, .. }) => {
                let page = f64::from(*objects) * size_bits(*size, group);
                page / (think.as_secs() + page / narrowest) / f64::from((*connections).max(1))
            }
        },
    }
}

/// Returns the bits of a transfer of `size`.
fn size_bits(size: Size, group: &FlowGroup) -> f64 {
    8.0 * match size {
        Size::Packets(packets) => f64::from(packets.get()) * group.packet.get() as f64,
        Size::Bytes(bytes) => bytes.get() as f64,
    }
}

/// Returns the rate at which a flow sends by itself while it sends; `None` if it adapts.
fn own_rate(traffic: &Traffic) -> Option<Rate> {
    match traffic {
        Traffic::Udp(Udp { source: Source::Trace(_), .. }) | Traffic::Tcp(_) | Traffic::Endpoint => None,
        Traffic::Udp(udp) => Some(udp.rate),
        Traffic::Tfrc(tfrc) => tfrc.rate,
    }
}

/// Returns the rate of the slower link of a flow's hosts; `None` if the hosts are nodes.
fn host_rate(group: &FlowGroup) -> Option<Rate> {
    [&group.source, &group.sink].into_iter().flatten().map(|access| access.rate).min()
}

/// Returns the part of the time that the source is on.
fn on(periods: &OnOff) -> f64 {
    let (on, off) = (periods.on.as_secs(), periods.off.as_secs());
    if on > 0.0 { on / (on + off) } else { 0.0 }
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_second() as f64
}

/// Returns the middle of the range of starts.
fn start(group: &FlowGroup) -> Duration {
    Duration::from_nanos(group.start_from.as_nanos().midpoint(group.start_to.as_nanos()))
}

const fn side_of(hop: &Hop) -> usize {
    2 * hop.link + hop.reverse as usize
}

/// Returns the mean rate that a link carries in `span`.
fn capacity(side: &LinkSide, (from, to): (Duration, Duration)) -> f64 {
    let link = side.wire.rates.as_ref().map_or(bits(side.rate), |rates| rates.mean(from, to));
    let link = side.wire.policer.map_or(link, |policer| link.min(bits(policer.rate)));
    match &side.wire.shaper {
        Some(shaper) if shaper.kind == ShaperKind::Fixed => link.min(bits(shaper.rate)),
        _ => link,
    }
}

/// Fills the links of `capacities` progressively. `paths` has the links of each group. Returns the rate of a flow of
/// each class, and what limits it.
fn fill(capacities: &[f64], classes: &[Class], paths: &[Vec<usize>]) -> Vec<(f64, Limit)> {
    let mut rates: Vec<Option<(f64, Limit)>> = vec![None; classes.len()];
    let mut free = capacities.to_vec();
    // The flows on each link that still rise, and the classes there.
    let mut rising = vec![0.0; capacities.len()];
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); capacities.len()];
    for (number, class) in classes.iter().enumerate() {
        for link in &paths[class.group] {
            rising[*link] += class.flows;
            members[*link].push(number);
        }
    }
    let mut by_demand: Vec<usize> = (0..classes.len()).collect();
    by_demand.sort_by(|a, b| classes[*a].demand.total_cmp(&classes[*b].demand));
    let mut next = by_demand.into_iter().peekable();
    loop {
        while next.next_if(|number| rates[*number].is_some()).is_some() {}
        let Some(lowest) = next.peek().copied() else { break };
        // Subtractions leave a little on links that nobody uses any more, so they are told by the flows.
        let level = |link: usize| (free[link].max(0.0) / rising[link], link);
        let fullest = (0..free.len()).filter(|link| rising[*link] > 0.5).map(level);
        let fullest = fullest.reduce(|least, level| if level.0 < least.0 { level } else { least });
        let (level, limit, stopping) = match fullest {
            Some((level, link)) if level < classes[lowest].demand => {
                (level, Limit::Link(link), std::mem::take(&mut members[link]))
            }
            _ => (classes[lowest].demand, Limit::Demand, vec![lowest]),
        };
        for number in stopping {
            if rates[number].is_none() {
                rates[number] = Some((level, limit));
                for link in &paths[classes[number].group] {
                    rising[*link] -= classes[number].flows;
                    free[*link] -= level * classes[number].flows;
                }
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or((0.0, Limit::Demand))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    fn scenario(text: &str) -> Scenario {
        Document::parse("test.toml", text)
            .and_then(|document| document.scenario())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns a dumbbell of 1 Mbit/s, measured from 10 s to 20 s.
    fn dumbbell(rest: &str) -> Scenario {
        scenario(&format!("duration = \"20s\"\nwarmup = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n{rest}"))
    }

    fn assert_rates(scenario: &Scenario, expected: &[f64]) {
        let rates = scenario.fair_rates();
        let near = rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-3);
        assert!(near && rates.len() == expected.len(), "{rates:?} instead of {expected:?}");
    }

    /// 64 kbit/s are less than a fifth of 1 Mbit/s, so the call gets all of it and four downloads share the rest.
    /// "Flows over all flows" would give it 200 kbit/s.
    #[test]
    fn a_flow_gets_no_more_than_it_demands() {
        let call = "[[flows]]\nname = \"voip\"\nkind = \"udp\"\nrate = \"64kbit\"\n";
        let downloads = "[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\ncount = 4\n";
        let flood = "[[flows]]\nname = \"flood\"\nkind = \"udp\"\nrate = \"5mbit\"\n";
        assert_rates(&dumbbell(&format!("{call}{downloads}")), &[64e3, 936e3]);
        assert_rates(&dumbbell(&format!("{call}{downloads}{flood}")), &[64e3, 936e3 * 0.8, 936e3 * 0.2]);
    }

    /// The parking lot: over links of 3, 2 and 3 Mbit/s one flow crosses all of them, and 2, 1 and 1 flows one each.
    /// The first link gives 1 Mbit/s to each of its three; the second 1 Mbit/s to both of its flows; the third leaves 2
    /// Mbit/s for its own.
    #[test]
    fn a_parking_lot_is_filled_link_by_link() {
        let mut text = "duration = \"10s\"\n".to_owned();
        for (from, to, rate) in [("a", "b", 3), ("b", "c", 2), ("c", "d", 3)] {
            text += &format!("[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}mbit\"\n");
        }
        for (name, from, to, count) in
            [("long", "a", "d", 1), ("x", "a", "b", 2), ("y", "b", "c", 1), ("z", "c", "d", 1)]
        {
            text += &format!(
                "[[flows]]\nname = \"{name}\"\nkind = \"tcp\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\nstart = \"0s\"\n"
            );
        }
        assert_rates(&scenario(&text), &[1e6, 2e6, 1e6, 2e6]);
    }

    /// From 10 s to 15 s one flow is alone, then it shares with one that starts at 14 s to 16 s, in the middle at 15 s:
    /// 1 and 0.5 Mbit/s over 5 s each.
    #[test]
    fn rates_follow_the_flows_that_live() {
        let early = "[[flows]]\nname = \"early\"\nkind = \"tcp\"\n";
        let late = "[[flows]]\nname = \"late\"\nkind = \"tcp\"\nstart = \"14s..16s\"\n";
        assert_rates(&dumbbell(&format!("{early}{late}")), &[750e3, 250e3]);
        let gone = "[[flows]]\nname = \"gone\"\nkind = \"tcp\"\nstop = \"9s\"\n";
        assert_rates(&dumbbell(&format!("{early}{gone}")), &[1e6, 0.0]);
    }

    /// On a quarter of the time at 400 kbit/s: 100 kbit/s. 100 packets of 1000 bytes, 0.8 s at 1 Mbit/s, after a pause
    /// of 1.2 s: 400 kbit/s; a single one over the 20 s of the flow: 40 kbit/s.
    #[test]
    fn demands_by_hand() {
        let rest = "[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\n";
        let of = |flow: &str| dumbbell(&format!("[[flows]]\nname = \"x\"\n{flow}\n{rest}")).fair_rates()[0];
        let on_off = of("kind = \"udp\"\nrate = \"400kbit\"\nsource = \"exponential\"\non = \"1s\"\noff = \"3s\"");
        assert!((on_off - 100e3).abs() < 1e-3, "{on_off}");
        let web = of("kind = \"tcp\"\nsource = \"transfers\"\nsize = \"100p\"\nthink = \"1.2s\"");
        assert!((web - 400e3).abs() < 1e-3, "{web}");
        let single = of("kind = \"tcp\"\nsource = \"transfers\"\nsize = \"100p\"\nstart = \"0s\"");
        assert!((single - 40e3).abs() < 1e-3, "{single}");
    }

    /// A link of 2 Mbit/s for 12 s and of 1 Mbit/s after that carries 1.2 Mbit/s in the mean from 10 s to 20 s.
    #[test]
    fn a_rate_that_varies_counts_with_its_mean() {
        let text = "duration = \"20s\"\nwarmup = \"10s\"\n[bottleneck]\nrate = { steps = [[\"0s\", \"2mbit\"], [\"12s\", \"1mbit\"]] }\n\
                    [[flows]]\nname = \"a\"\nkind = \"tcp\"\n";
        assert_rates(&scenario(text), &[1.2e6]);
        let repeated = text.replace("]] }", "]], every = \"15s\" }");
        // 2 s and 3 s of the first round, then 5 s of the second at 2 Mbit/s: 4 + 3 + 10 Mbit.
        assert_rates(&scenario(&repeated), &[1.7e6]);
    }

    /// Would catch links of hosts that bind without a word, and notes about those that do not.
    #[test]
    fn links_that_are_not_studied_are_named_where_they_limit() {
        let access = "[access]\nrate = \"100mbit\"\n";
        let flood = |rate: &str| format!("[[flows]]\nname = \"flood\"\nkind = \"udp\"\nrate = \"{rate}\"\n");
        assert_eq!(dumbbell(&format!("{access}{}", flood("100mbit"))).limit_notes(), Vec::<String>::new());
        let notes = dumbbell(&format!("{access}{}", flood("200mbit"))).limit_notes();
        assert!(matches!(&notes[..], [note] if note.contains("100mbit, less than the 200mbit")), "{notes:?}");
        let slow = dumbbell("[access]\nrate = \"900kbit\"\n[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\n").limit_notes();
        assert!(matches!(&slow[..], [note] if note.contains("\"ftp\"") && note.contains("900kbit")), "{slow:?}");
        let plain = "duration = \"9s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n[[links]]\nfrom = \"b\"\nto = \"c\"\n\
                     rate = \"2mbit\"\nqueue = { kind = \"red\" }\n[[flows]]\nname = \"x\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"c\"\n";
        let notes = scenario(plain).limit_notes();
        assert!(matches!(&notes[..], [note] if note.contains("\"a-b\"")), "{notes:?}");
    }

    /// Without `[access]` no link of a host limits anything, at any rates.
    #[test]
    fn hosts_links_limit_nothing_by_default() {
        for rate in ["1mbit", "100mbit", "1gbit"] {
            let text = format!(
                "duration = \"9s\"\n[bottleneck]\nrate = \"{rate}\"\nqueue = {{ kind = \"choke\" }}\n[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\n\
                 [[flows]]\nname = \"flood\"\nkind = \"udp\"\nrate = \"5gbit\"\n"
            );
            let scenario = scenario(&text);
            assert_eq!(scenario.limit_notes(), Vec::<String>::new(), "{rate}");
            let of = |group: usize| scenario.flows[group].source.as_ref().map(|access| access.rate);
            assert_eq!(of(0), Some(Rate::from_bits_per_second(10 * scenario.links[0].forward.rate.bits_per_second())));
            assert_eq!(of(1), Some(Rate::from_bits_per_second(50_000_000_000)));
        }
    }

    proptest! {
        /// The condition that is equivalent to max-min fairness (Bertsekas and Gallager, section 6.5.2): no link
        /// carries more than it can, and each flow has its demand, or a full link on its path where no other flow has
        /// more.
        #[test]
        fn each_flow_has_its_demand_or_a_bottleneck(
            capacities in prop::collection::vec(1.0..100.0_f64, 1..6),
            flows in prop::collection::vec((prop::collection::btree_set(0_usize..6, 1..4), 1_u32..9, 0.1..60.0_f64, any::<bool>()), 1..12),
        ) {
            let mut paths = Vec::new();
            let mut classes = Vec::new();
            for (links, count, demand, unlimited) in flows {
                let path: Vec<usize> = links.into_iter().filter(|link| *link < capacities.len()).collect();
                let demand = if unlimited && !path.is_empty() { f64::INFINITY } else { demand };
                classes.push(Class { group: paths.len(), flows: f64::from(count), demand });
                paths.push(path);
            }
            let rates: Vec<f64> = fill(&capacities, &classes, &paths).iter().map(|(rate, _)| *rate).collect();
            let on = |link: usize| (0..classes.len()).filter(|number| paths[*number].contains(&link)).collect::<Vec<_>>();
            let used = |link: usize| on(link).iter().map(|number| rates[*number] * classes[*number].flows).sum::<f64>();
            for (link, capacity) in capacities.iter().enumerate() {
                prop_assert!(used(link) <= capacity * (1.0 + 1e-9));
            }
            for (number, class) in classes.iter().enumerate() {
                prop_assert!(rates[number] <= class.demand);
                let bottleneck = |link: &usize| {
                    used(*link) >= capacities[*link] * (1.0 - 1e-9)
                        && on(*link).iter().all(|other| rates[*other] <= rates[number] * (1.0 + 1e-9))
                };
                prop_assert!(rates[number] == class.demand || paths[number].iter().any(bottleneck));
            }
        }
    }
}
