//! How far the parts of a divided run may go on without each other's packets.

use fairlane_qdisc::{Duration, Time};

/// The least time from an event in each part to its effect in each other one.
#[derive(Debug)]
pub(crate) struct Lookaheads {
    /// For each part, the parts whose events affect it, each with the least time until then.
    into: Vec<Vec<(usize, Duration)>>,
}

/// How parts go on.
#[derive(Debug, PartialEq)]
pub(crate) struct Pace {
    /// The time for which a part goes on at once.
    pub(crate) step: Duration,
    /// The time that a part may be ahead of the last one.
    pub(crate) ahead: Duration,
    /// The steps after which all parts meet, idle time is skipped, and a run can be stopped.
    pub(crate) steps: u64,
}

/// Events in a step, if it can be so long: a step costs as much as some tens of events.
const EVENTS: f64 = 1000.0;

/// The shortest step is the longest possible one divided by this number.
const SHORTEST: u64 = 32;

/// Steps that a part may be ahead. A part that has less work for a while is seldom kept waiting, and what it sends is
/// used before it leaves the cache.
const AHEAD: u64 = 8;

/// Events between two meetings at most, if a step has less: about a twentieth of a second.
const MANY_EVENTS: f64 = 1e6;

/// Steps between two meetings for each event in a step: a meeting costs as much as some tens of steps, but skips idle
/// time.
const STEPS_FOR_EACH: f64 = 64.0;

impl Lookaheads {
    pub(crate) fn new(parts: usize) -> Self {
        Self { into: vec![Vec::new(); parts] }
    }

    /// Notes that an event in part `from` has an effect in part `to` after `time`.
    pub(crate) fn note(&mut self, from: usize, to: usize, time: Duration) {
        match self.into[to].iter_mut().find(|(part, _)| *part == from) {
            Some((_, least)) => *least = time.min(*least),
            None => self.into[to].push((from, time)),
        }
    }

    /// Returns the least of all; `None` if the parts do not affect each other.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.all().min()
    }

    /// Returns the parts that affect `part`.
    pub(crate) fn sources(&self, part: usize) -> impl Iterator<Item = usize> {
        self.into[part].iter().map(|(from, _)| *from)
    }

    /// Returns the time before which `part` can handle its events, when each other one has handled its own before its
    /// time in `clocks`.
    pub(crate) fn horizon(&self, part: usize, clocks: impl Fn(usize) -> Time) -> Time {
        self.into[part].iter().map(|(from, lookahead)| clocks(*from) + *lookahead).min().unwrap_or(Time::MAX)
    }

    /// Returns the pace for so many events per second; `None` if the parts do not affect each other.
    ///
    /// Some part can always go on if a step is at most the least mean of the lookaheads around any cycle of parts (R.
    /// M. Karp, "A characterization of the minimum cycle mean in a digraph", Discrete Mathematics 23, 1978): if all
    /// waited, each for another one, the lookaheads around a cycle of these would have a lower mean. Packets need 1 ms
    /// from a flow to a bottleneck's link, say, and 21 ms from there to a flow; then a step may be 11 ms. Short steps
    /// find the packets of other parts in the processor's cache.
    pub(crate) fn pace(&self, events_per_second: f64) -> Option<Pace> {
        let least = self.least()?.as_nanos();
        let (mut possible, mut too_long) = (least, self.all().max()?.as_nanos().saturating_add(1));
        while too_long - possible > possible / 100 + 1 {
            let middle = possible.midpoint(too_long);
            match self.behind(middle) {
                Some(_) => possible = middle,
                None => too_long = middle,
            }
        }
        let step = ((1e9 * EVENTS / events_per_second) as u64).clamp(possible.div_ceil(SHORTEST), possible);
        let ahead = self.behind(step)?.saturating_add(AHEAD.saturating_mul(step));
        let each = 1e-9 * step as f64 * events_per_second;
        let steps = (STEPS_FOR_EACH * each).min(MANY_EVENTS / each) as u64;
        Some(Pace { step: Duration::from_nanos(step), ahead: Duration::from_nanos(ahead), steps: steps.clamp(1, 256) })
    }

    fn all(&self) -> impl Iterator<Item = Duration> {
        self.into.iter().flatten().map(|(_, time)| *time)
    }

    /// Returns how far a part stays behind another one at most, so that some part can always go on for `step`
    /// nanoseconds; `None` if it is too long, or if 64 rounds of the method of Bellman and Ford do not tell.
    ///
    /// Where a part is affected by another one, it stays behind at least as far as that one, and a step more, less the
    /// lookahead. The part whose time plus the time that it stays behind is the least can always go on.
    fn behind(&self, step: u64) -> Option<u64> {
        let mut behind = vec![0_u64; self.into.len()];
        for _ in 0..=self.into.len().min(64) {
            let before = behind.clone();
            for (part, into) in self.into.iter().enumerate() {
                for (from, lookahead) in into {
                    let needed = before[*from].checked_add(step)?.saturating_sub(lookahead.as_nanos());
                    behind[part] = behind[part].max(needed);
                }
            }
            if behind == before {
                return behind.into_iter().max();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    fn millis(parts: usize, lookaheads: &[(usize, usize, u64)]) -> Lookaheads {
        let mut all = Lookaheads::new(parts);
        for (from, to, time) in lookaheads {
            all.note(*from, *to, Duration::from_millis(*time));
        }
        all
    }

    /// The cycles of two links, 0 and 1, and flows, 2 and 3, by hand: 0 and 2 have a mean of 11 ms, 1 and 3 of 7.5 ms,
    /// and 0, 2, 1, 3 of 9.25 ms. Would catch steps with which all parts could come to wait for each other, and ones
    /// that are shorter than need be.
    #[test]
    fn the_longest_step_is_the_least_mean_of_a_cycle() {
        let links = [(2, 0, 1), (0, 2, 21), (3, 0, 1), (0, 3, 21), (2, 1, 1), (1, 2, 14), (3, 1, 1), (1, 3, 14)];
        let all = millis(4, &links);
        let pace = |events_per_second| all.pace(events_per_second).unwrap();
        let longest = pace(1.0).step.as_nanos();
        assert!((7_425_000..=7_500_000).contains(&longest), "{longest}");
        // The links must be so far behind the flows, too.
        assert_eq!(pace(1.0).ahead, Duration::from_nanos(longest - 1_000_000 + AHEAD * longest));
        assert_eq!(pace(5e5).step, Duration::from_millis(2));
        assert_eq!(pace(1e9).step, Duration::from_nanos(longest.div_ceil(SHORTEST)));
        // By 0.0074, 0.074, 740 and 230,000 events a step.
        assert_eq!([1.0, 10.0, 1e5, 1e9].map(|events_per_second| pace(events_per_second).steps), [1, 4, 256, 4]);
        // The links must be 6 ms behind the flows for steps of 7 ms, and no time for 1 ms.
        assert_eq!([7_000_000, 7_500_001, 1_000_000].map(|step| all.behind(step)), [Some(6_000_000), None, Some(0)]);
        // A chain, and parts that do not affect each other.
        assert!(millis(3, &[(0, 1, 5), (1, 2, 8)]).pace(1.0).unwrap().step >= Duration::from_nanos(7_900_000));
        assert_eq!(millis(2, &[]).pace(1.0), None);
    }

    /// Parts with random lookaheads go on in random order, by the rule of an epoch. Would catch steps with which all
    /// wait for each other, and parts that may be too little ahead.
    #[test]
    fn some_part_can_always_go_on() {
        let mut random = Seed::new(4).stream("lookaheads");
        for parts in [2, 3, 5, 8, 70].repeat(20) {
            let mut all = Lookaheads::new(parts);
            for part in 0..parts {
                all.note(part, (part + 1) % parts, Duration::from_nanos(1 + u64::from(random.below(1_000_000))));
                let other = random.below(parts as u32) as usize;
                if other != part {
                    all.note(part, other, Duration::from_nanos(1 + u64::from(random.below(1_000_000))));
                }
            }
            let pace = all.pace([1.0, 1e7, 1e9][random.below(3) as usize]).unwrap();
            let mut times = vec![Time::ZERO; parts];
            for _ in 0..300 {
                let last = *times.iter().min().unwrap();
                let can_go_on = |part: &usize| {
                    let to = times[*part] + pace.step;
                    to <= last + pace.ahead && to <= all.horizon(*part, |other| times[other])
                };
                let able: Vec<usize> = (0..parts).filter(can_go_on).collect();
                assert!(!able.is_empty(), "{pace:?}: {times:?} {all:?}");
                times[able[random.below(able.len() as u32) as usize]] += pace.step;
            }
        }
    }

    /// Would catch a horizon that forgets a part, or takes a greater lookahead than the least one.
    #[test]
    fn the_horizon_is_that_of_the_part_which_is_first_to_have_an_effect() {
        let all = millis(3, &[(0, 2, 7), (0, 2, 5), (0, 2, 6), (1, 2, 1)]);
        let clocks = |part: usize| Time::from_nanos(1_000_000 * [3, 8, 0][part]);
        assert_eq!(all.horizon(2, clocks), Time::from_nanos(8_000_000));
        assert_eq!(all.horizon(0, clocks), Time::MAX);
        assert_eq!(all.sources(2).collect::<Vec<_>>(), [0, 1]);
    }
}
