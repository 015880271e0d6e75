//! The sample of recent arrivals: tags of two bytes.

use alloc::vec;
use alloc::vec::Vec;

/// The tag of a flow; [`NOBODY`] is no flow's.
pub(super) type Tag = u16;

/// The tag of an entry that no arrival has taken yet.
const NOBODY: Tag = 0;

/// The largest sample: places are drawn by 12 bits each.
pub(super) const MOST_TAGS: u32 = 1 << 12;

/// The tags that are counted together: the smallest sample.
const GROUP: usize = 64;

/// Returns the tag of a flow with this hash.
#[inline]
pub(super) fn tag(hash: u64) -> Tag {
    ((hash >> 48) as Tag).max(1)
}

/// The tags of the arrivals that were put into the sample last.
#[derive(Debug)]
pub(super) struct Sample {
    /// A power of two of them.
    tags: Vec<Tag>,
}

impl Sample {
    /// Creates a sample of `size` tags of nobody.
    pub(super) fn new(size: u32) -> Self {
        Self { tags: vec![NOBODY; size as usize] }
    }

    /// Returns the number of tags.
    pub(super) fn size(&self) -> u32 {
        self.tags.len() as u32
    }

    /// Counts the tags that are `tag` (K).
    #[inline]
    pub(super) fn count(&self, tag: Tag) -> u32 {
        // Counts of 16 bits beside tags of 16 bits: a compiler compares eight at once with SSE2, for a group of this size
        // without a loop. A sample is a power of two of tags, so that none is left over.
        let groups = self.tags.chunks_exact(GROUP).filter_map(|group| <&[Tag; GROUP]>::try_from(group).ok());
        let count = |group: &[Tag; GROUP]| group.iter().fold(0_u16, |count, entry| count + u16::from(*entry == tag));
        groups.map(|group| u32::from(count(group))).sum()
    }

    /// Writes `tag` over `copies` tags, 5 at most, at places drawn by 12 of the random `bits` each.
    pub(super) fn put(&mut self, tag: Tag, copies: u32, mut bits: u64) {
        let last = self.tags.len() - 1;
        for _ in 0..copies {
            self.tags[bits as usize & last] = tag;
            bits >>= 12;
        }
    }

    /// Changes the number of tags, and leaves the flows' parts in them about as they are: a larger sample repeats the
    /// tags, a smaller one keeps the first, which are as random as any others.
    pub(super) fn resize(&mut self, size: u32) {
        let old = self.tags.len();
        self.tags.truncate(size as usize);
        for place in old..size as usize {
            self.tags.push(self.tags[place - old]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// Would catch places that are not drawn evenly from all tags, and copies that are lost.
    #[test]
    fn each_place_is_as_likely() {
        let mut draws = Seed::new(1).stream("draws");
        let mut written = [0_u32; 256];
        let rounds = 64_000_u32;
        for _ in 0..rounds {
            let mut sample = Sample::new(256);
            sample.put(7, 4, draws.bits());
            (0..256).for_each(|place| written[place] += u32::from(sample.tags[place] == 7));
        }
        // Of four draws some fall on the same place: 1 - (255/256)^4 each.
        let expected = f64::from(rounds) * (1.0 - libm::pow(255.0 / 256.0, 4.0));
        let chi2: f64 = written.iter().map(|&count| libm::pow(f64::from(count) - expected, 2.0) / expected).sum();
        // The 99.99 % point of chi-square with 255 degrees of freedom.
        assert!(chi2 < 348.0, "{chi2}");
    }

    /// Would catch a size whose change forgets the flows or changes their parts.
    #[test]
    fn another_size_keeps_the_parts_of_flows() {
        let mut draws = Seed::new(1).stream("draws");
        let mut sample = Sample::new(256);
        (0..5000).for_each(|n| sample.put(if n % 4 == 0 { 7 } else { 9 }, 1, draws.bits()));
        let before = sample.count(7);
        sample.resize(1024);
        assert_eq!((sample.size(), sample.count(7), sample.count(NOBODY)), (1024, 4 * before, 0));
        sample.resize(256);
        assert_eq!((sample.size(), sample.count(7)), (256, before));
    }

    /// Would catch a flow with the tag of nobody, which would be found in an empty sample.
    #[test]
    fn no_flow_is_nobody() {
        assert_eq!([tag(0), tag(0xffff), tag(1 << 48), tag(u64::MAX)], [1, 1, 1, 0xffff]);
        assert_eq!(Sample::new(64).count(tag(0)), 0);
    }
}
