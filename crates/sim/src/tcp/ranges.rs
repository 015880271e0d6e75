//! A sorted set of ranges of segments: those that have arrived out of order, or that SACK blocks have acknowledged.

use fairlane_qdisc::prefetch::prefetch;

/// Disjoint ranges `[start, end)` that do not touch, in rising order. The set is empty until a segment is lost, so a
/// flow without losses never allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(Vec<(u32, u32)>);

/// The effect of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inserted {
    /// The number of segments that the set did not have.
    pub(super) new: u32,
    /// The range that they are in now.
    pub(super) range: (u32, u32),
}

impl Ranges {
    /// [Asks for](crate::network::prefetch) the first ranges.
    pub(super) fn prefetch(&self) {
        prefetch(self.0.first());
    }

    /// Adds `[start, end)`, which is not empty, merged with the ranges that it overlaps or touches. Calls `each` for
    /// each range within it that was not in the set, in rising order.
    pub(super) fn insert(&mut self, start: u32, end: u32, mut each: impl FnMut(u32, u32)) -> Inserted {
        // Mostly it comes last.
        if let Some(last) = self.0.last_mut().filter(|last| last.0 <= start && start <= last.1) {
            let before = last.1;
            if end > before {
                last.1 = end;
                each(before, end);
            }
            return Inserted { new: last.1 - before, range: *last };
        }
        // Ranges `from..to` overlap or touch the new one.
        let from = self.0.partition_point(|range| range.1 < start);
        let (mut to, mut position, mut new) = (from, start, 0);
        while let Some(&(next, behind)) = self.0.get(to).filter(|range| range.0 <= end) {
            if position < next {
                new += next - position;
                each(position, next);
            }
            position = behind;
            to += 1;
        }
        if position < end {
            new += end - position;
            each(position, end);
        }
        if from == to {
            self.0.insert(from, (start, end));
            return Inserted { new, range: (start, end) };
        }
        let range = (start.min(self.0[from].0), end.max(position));
        self.0[from] = range;
        if to - from > 1 {
            self.0.drain(from + 1..to);
        }
        Inserted { new, range }
    }

    /// Removes all segments below `limit`, and returns their number.
    #[inline]
    pub(super) fn remove_below(&mut self, limit: u32) -> u32 {
        if self.0.first().is_some_and(|first| first.0 < limit) { self.remove_some_below(limit) } else { 0 }
    }

    fn remove_some_below(&mut self, limit: u32) -> u32 {
        let gone = self.0.partition_point(|range| range.1 <= limit);
        let mut removed = self.0.drain(..gone).map(|range| range.1 - range.0).sum();
        if let Some(first) = self.0.first_mut().filter(|first| first.0 < limit) {
            removed += limit - first.0;
            first.0 = limit;
        }
        removed
    }

    /// Removes the first range if it begins at `start`, and returns its end.
    pub(super) fn take_first(&mut self, start: u32) -> Option<u32> {
        let &(first, end) = self.0.first()?;
        (first == start).then(|| {
            self.0.remove(0);
            end
        })
    }

    /// Returns the range that holds `segment`.
    pub(super) fn holding(&self, segment: u32) -> Option<(u32, u32)> {
        let last = *self.0.last()?;
        let range = if last.0 <= segment { last } else { self.0[self.0.partition_point(|range| range.1 <= segment)] };
        (range.0 <= segment && segment < range.1).then_some(range)
    }

    /// Returns the first segment from `from` on that is not in the set.
    pub(super) fn first_gap(&self, from: u32) -> u32 {
        self.holding(from).map_or(from, |(_, end)| end)
    }

    /// Returns the last segment below `limit` that is not in the set.
    pub(super) fn last_gap(&self, limit: u32) -> Option<u32> {
        let last = limit.checked_sub(1)?;
        match self.holding(last) {
            Some((start, _)) => start.checked_sub(1),
            None => Some(last),
        }
    }

    /// Returns the number of segments of `[start, end)` that are not in the set.
    pub(super) fn missing(&self, start: u32, end: u32) -> u32 {
        (end - start) - self.count(start, end)
    }

    /// Returns the number of segments of `[start, end)` in the set.
    pub(super) fn count(&self, start: u32, end: u32) -> u32 {
        let first = self.0.partition_point(|range| range.1 <= start);
        let inside = self.0[first..].iter().take_while(|range| range.0 < end);
        inside.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }

    /// Returns the `n`-th highest segment of the set, counted from 1.
    pub(super) fn nth_highest(&self, n: u32) -> Option<u32> {
        let mut left = n.checked_sub(1)?;
        for &(start, end) in self.0.iter().rev() {
            let length = end - start;
            if left < length {
                return Some(end - 1 - left);
            }
            left -= length;
        }
        None
    }

    /// Returns one past the highest segment of the set; 0 if it is empty.
    pub(super) fn end(&self) -> u32 {
        self.0.last().map_or(0, |range| range.1)
    }

    /// Returns true if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ranges, highest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().rev().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairlane_qdisc::Seed;

    use super::*;

    /// Compares with a set of single segments. Would catch a merge that loses or invents a segment, and any wrong
    /// answer at the edge of a range.
    #[test]
    fn equals_a_set_of_single_segments() {
        let mut random = Seed::new(1).stream("ranges");
        for _ in 0..400 {
            let (mut ranges, mut slow) = (Ranges::default(), BTreeSet::new());
            for _ in 0..30 {
                let start = random.below(60);
                let end = start + 1 + random.below(5);
                let missing: Vec<u32> = (start..end).filter(|segment| !slow.contains(segment)).collect();
                slow.extend(start..end);
                let mut gaps = Vec::new();
                let Inserted { new, range } = ranges.insert(start, end, |from, to| gaps.extend(from..to));
                assert_eq!((new as usize, gaps), (missing.len(), missing));
                let first = (0..start).rev().take_while(|segment| slow.contains(segment)).last().unwrap_or(start);
                let last = (end..).take_while(|segment| slow.contains(segment)).last().unwrap_or(end - 1);
                assert_eq!(range, (first, last + 1));
                if random.chance(0.1) {
                    let (limit, before) = (random.below(40), slow.len());
                    let removed = ranges.remove_below(limit);
                    slow.retain(|segment| *segment >= limit);
                    assert_eq!(removed as usize, before - slow.len());
                }
                compare(&ranges, &slow, random.below(64));
            }
        }
    }

    fn compare(ranges: &Ranges, slow: &BTreeSet<u32>, at: u32) {
        let all: Vec<u32> = ranges.0.iter().flat_map(|&(start, end)| start..end).collect();
        assert_eq!(all, slow.iter().copied().collect::<Vec<_>>());
        assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0), "ranges touch: {ranges:?}");
        assert_eq!(ranges.is_empty(), slow.is_empty());
        assert_eq!(ranges.end(), slow.last().map_or(0, |last| last + 1));
        assert_eq!(ranges.holding(at).is_some(), slow.contains(&at));
        assert_eq!(Some(ranges.first_gap(at)), (at..).find(|segment| !slow.contains(segment)));
        assert_eq!(ranges.last_gap(at), (0..at).rev().find(|segment| !slow.contains(segment)));
        assert_eq!(ranges.count(at / 2, at), slow.range(at / 2..at).count() as u32);
        assert_eq!(ranges.count(at / 2, at) + ranges.missing(at / 2, at), at - at / 2);
        for n in 0..5_u32 {
            let nth = n.checked_sub(1).and_then(|skip| slow.iter().rev().nth(skip as usize).copied());
            assert_eq!(ranges.nth_highest(n), nth);
        }
    }
}
