//! How far the parts of a divided run may go on without each other's packets.

use fairlane_qdisc::{Duration, Time};

/// The least time from an event in each part to its effect in each other one.
#[derive(Debug)]
pub(crate) struct Lookaheads {
    /// By the part of the effect: the parts of the events, each with its time.
    into: Vec<Vec<(usize, Duration)>>,
}

/// How parts go on.
#[derive(Debug, PartialEq)]
pub(crate) struct Pace {
    /// The time for which a part goes on at once.
    pub(crate) step: Duration,
    /// The time that a part may be ahead of the last one.
    pub(crate) ahead: Duration,
}

/// Events in a step, if it can be so long: a step costs as much as some tens of events.
const EVENTS: f64 = 1000.0;

/// The shortest step is such a part of the longest one.
const STEPS: u64 = 32;

/// Steps that a part may be ahead. A part that has less work for a while is seldom kept waiting, and what it sends is used before it leaves the cache.
const AHEAD: u64 = 8;

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

    /// Returns the time before which `part` can handle its events, when each other one has handled its own before its time in `clocks`.
    pub(crate) fn horizon(&self, part: usize, clocks: impl Fn(usize) -> Time) -> Time {
        self.into[part].iter().map(|(from, lookahead)| clocks(*from) + *lookahead).min().unwrap_or(Time::MAX)
    }

    /// Returns the pace for so many events per second; `None` if the parts do not affect each other. Short steps find the packets of other parts in
    /// the processor's cache.
    ///
    /// Some part can always go on if a step is at most the least mean of the lookaheads around any cycle of parts (R. M. Karp, "A characterization of
    /// the minimum cycle mean in a digraph", Discrete Mathematics 23, 1978): if all waited, each for another one, the lookaheads around a cycle of these
    /// would have a lower mean. Packets need 1 ms from a flow to a bottleneck's link, say, and 21 ms from there to a flow; then a step may be 11 ms.
    pub(crate) fn pace(&self, events_per_second: f64) -> Option<Pace> {
        let least = self.least()?.as_nanos();
        let (mut possible, mut too_long) = (least, self.all().max()?.as_nanos() + 1);
        while too_long - possible > possible / 100 + 1 {
            let middle = possible.midpoint(too_long);
            match self.behind(middle) {
                Some(_) => possible = middle,
                None => too_long = middle,
            }
        }
        let step = ((1e9 * EVENTS / events_per_second) as u64).clamp(possible.div_ceil(STEPS), possible);
        let ahead = self.behind(step)? + AHEAD * step;
        Some(Pace { step: Duration::from_nanos(step), ahead: Duration::from_nanos(ahead) })
    }

    fn all(&self) -> impl Iterator<Item = Duration> {
        self.into.iter().flatten().map(|(_, time)| *time)
    }

    /// Returns how far a part must stay behind another one at most, so that no part waits for ever with steps of so many nanoseconds; `None` if they
    /// are too long. Each stays so far behind that a part whose packets it needs, and a step, are within the lookahead. This is the method of
    /// Bellman and Ford; steps for which it takes long count as too long.
    fn behind(&self, step: u64) -> Option<u64> {
        let mut behind = vec![0_u64; self.into.len()];
        for _ in 0..=self.into.len().min(64) {
            let before = behind.clone();
            for (part, into) in self.into.iter().enumerate() {
                let needed = into.iter().map(|(from, time)| (before[*from] + step).saturating_sub(time.as_nanos()));
                behind[part] = before[part].max(needed.max().unwrap_or(0));
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
    use super::*;

    fn millis(parts: usize, lookaheads: &[(usize, usize, u64)]) -> Lookaheads {
        let mut all = Lookaheads::new(parts);
        for (from, to, time) in lookaheads {
            all.note(*from, *to, Duration::from_millis(*time));
        }
        all
    }

    /// The cycles of two links, 0 and 1, and flows, 2 and 3, by hand: 0 and 2 have a mean of 11 ms, 1 and 3 of 7.5 ms, and 0, 2, 1, 3 of 9.25 ms. Would
    /// catch steps with which all parts could come to wait for each other, and ones that are shorter than need be.
    #[test]
    fn the_longest_step_is_the_least_mean_of_a_cycle() {
        let links = [(2, 0, 1), (0, 2, 21), (3, 0, 1), (0, 3, 21), (2, 1, 1), (1, 2, 14), (3, 1, 1), (1, 3, 14)];
        let all = millis(4, &links);
        let pace = |events_per_second| all.pace(events_per_second).unwrap();
        let longest = pace(1.0).step.as_nanos();
        assert!((7_425_000..=7_500_000).contains(&longest), "{longest}");
        // The links must be so far behind the flows, besides.
        assert_eq!(pace(1.0).ahead, Duration::from_nanos(longest - 1_000_000 + AHEAD * longest));
        assert_eq!(pace(5e5).step, Duration::from_millis(2));
        assert_eq!(pace(1e9).step, Duration::from_nanos(longest.div_ceil(STEPS)));
        assert_eq!(all.least(), Some(Duration::from_millis(1)));
        // The links must be 6 ms behind the flows for steps of 7 ms, and no time for 1 ms.
        assert_eq!([7_000_000, 7_500_001, 1_000_000].map(|step| all.behind(step)), [Some(6_000_000), None, Some(0)]);
        // A chain, and parts that do not affect each other.
        assert!(millis(3, &[(0, 1, 5), (1, 2, 8)]).pace(1.0).unwrap().step >= Duration::from_nanos(7_900_000));
        assert_eq!(millis(2, &[]).pace(1.0), None);
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
