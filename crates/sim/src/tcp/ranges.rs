//! A sorted set of ranges of segments: those that have arrived out of order, or that SACK blocks have acknowledged.

/// Disjoint ranges `[start, end)` that do not touch, in rising order. The set is empty until a segment is lost, so a flow
/// without losses never allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<(u32, u32)>,
    /// The number of segments in all of them.
    segments: u32,
}

impl Ranges {
    /// Adds `[start, end)`, merged with the ranges that it overlaps or touches. Returns true if the set has changed.
    pub(super) fn insert(&mut self, start: u32, end: u32) -> bool {
        if start >= end {
            return false;
        }
        let before = self.segments;
        // Mostly it comes last.
        if let Some(last) = self.ranges.last_mut().filter(|last| last.0 <= start && start <= last.1) {
            self.segments += end.saturating_sub(last.1);
            last.1 = last.1.max(end);
            return self.segments > before;
        }
        // Ranges `from..to` overlap or touch the new one.
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = from + self.ranges[from..].iter().take_while(|range| range.0 <= end).count();
        if from == to {
            self.ranges.insert(from, (start, end));
            self.segments += end - start;
            return true;
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[to - 1].1));
        let replaced: u32 = self.ranges[from..to].iter().map(|range| range.1 - range.0).sum();
        self.segments += merged.1 - merged.0 - replaced;
        self.ranges[from] = merged;
        if to - from > 1 {
            self.ranges.drain(from + 1..to);
        }
        self.segments > before
    }

    /// Calls `visit` for each range within `[start, end)` that is not in the set, in rising order.
    pub(super) fn gaps(&self, start: u32, end: u32, mut visit: impl FnMut(u32, u32)) {
        let mut from = self.first_gap(start);
        let mut later = self.ranges.partition_point(|range| range.0 < from);
        while from < end {
            let next = self.ranges.get(later).copied();
            visit(from, next.map_or(end, |range| range.0.min(end)));
            from = next.map_or(end, |range| range.1);
            later += 1;
        }
    }

    /// Removes all segments below `limit`.
    #[inline]
    pub(super) fn remove_below(&mut self, limit: u32) {
        if self.ranges.first().is_some_and(|first| first.0 < limit) {
            self.remove_some_below(limit);
        }
    }

    fn remove_some_below(&mut self, limit: u32) {
        let gone = self.ranges.partition_point(|range| range.1 <= limit);
        self.segments -= self.ranges.drain(..gone).map(|range| range.1 - range.0).sum::<u32>();
        if let Some(first) = self.ranges.first_mut().filter(|first| first.0 < limit) {
            self.segments -= limit - first.0;
            first.0 = limit;
        }
    }

    /// Removes the first range if it begins at `start`, and returns its end.
    pub(super) fn take_first(&mut self, start: u32) -> Option<u32> {
        let &(first, end) = self.ranges.first()?;
        (first == start).then(|| {
            self.ranges.remove(0);
            self.segments -= end - first;
            end
        })
    }

    /// Returns the range that holds `segment`.
    pub(super) fn holding(&self, segment: u32) -> Option<(u32, u32)> {
        let last = *self.ranges.last()?;
        let range =
            if last.0 <= segment { last } else { self.ranges[self.ranges.partition_point(|range| range.1 <= segment)] };
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

    /// Returns the number of segments in the set.
    #[inline]
    pub(super) const fn segments(&self) -> u32 {
        self.segments
    }

    /// Returns the number of segments of `[start, end)` that are not in the set.
    pub(super) fn missing(&self, start: u32, end: u32) -> u32 {
        (end - start) - self.count(start, end)
    }

    /// Returns the number of segments of `[start, end)` in the set.
    pub(super) fn count(&self, start: u32, end: u32) -> u32 {
        let first = self.ranges.partition_point(|range| range.1 <= start);
        let inside = self.ranges[first..].iter().take_while(|range| range.0 < end);
        inside.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }

    /// Returns the `n`-th highest segment of the set, counted from 1.
    pub(super) fn nth_highest(&self, n: u32) -> Option<u32> {
        let mut left = n.checked_sub(1)?;
        for &(start, end) in self.ranges.iter().rev() {
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
        self.ranges.last().map_or(0, |range| range.1)
    }

    /// Returns true if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the ranges, highest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ranges.iter().rev().copied()
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
                let end = start + random.below(6);
                let before = slow.len();
                slow.extend(start..end);
                assert_eq!(ranges.insert(start, end), slow.len() != before);
                if random.chance(0.1) {
                    let limit = random.below(40);
                    ranges.remove_below(limit);
                    slow.retain(|segment| *segment >= limit);
                }
                compare(&ranges, &slow, random.below(64));
            }
        }
    }

    fn compare(ranges: &Ranges, slow: &BTreeSet<u32>, at: u32) {
        let all: Vec<u32> = ranges.ranges.iter().flat_map(|&(start, end)| start..end).collect();
        assert_eq!(all, slow.iter().copied().collect::<Vec<_>>());
        assert!(ranges.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "ranges touch: {ranges:?}");
        assert_eq!(ranges.is_empty(), slow.is_empty());
        assert_eq!(ranges.segments() as usize, slow.len());
        assert_eq!(ranges.end(), slow.last().map_or(0, |last| last + 1));
        assert_eq!(ranges.holding(at).is_some(), slow.contains(&at));
        assert_eq!(Some(ranges.first_gap(at)), (at..).find(|segment| !slow.contains(segment)));
        assert_eq!(ranges.last_gap(at), (0..at).rev().find(|segment| !slow.contains(segment)));
        let mut gaps = Vec::new();
        ranges.gaps(at / 2, at, |start, end| gaps.extend(start..end));
        assert_eq!(gaps, (at / 2..at).filter(|segment| !slow.contains(segment)).collect::<Vec<_>>());
        assert_eq!(ranges.count(at / 2, at), slow.range(at / 2..at).count() as u32);
        assert_eq!(ranges.count(at / 2, at) + ranges.missing(at / 2, at), at - at / 2);
        for n in 0..5_u32 {
            let nth = n.checked_sub(1).and_then(|skip| slow.iter().rev().nth(skip as usize).copied());
            assert_eq!(ranges.nth_highest(n), nth);
        }
    }
}
