//! The sample of recent arrivals: tags of two bytes.

use alloc::vec;
use alloc::vec::Vec;

/// The tag of a flow; [`NOBODY`] is no flow's.
pub(super) type Tag = u16;

/// The tag of an entry that no arrival has taken yet.
const NOBODY: Tag = 0;

/// The largest sample: places are drawn by 12 bits each.
pub(super) const MOST_TAGS: u32 = 1 << 12;

/// The arrivals of a trial at least, the part of them whose numbers may be unknown, a third, and the trials without
/// places.
const TRIAL: u64 = 512;
const MOST_UNKNOWN: u64 = 3;
const PAUSE: u32 = 15;

/// The tags that are counted together: the default sample.
const GROUP: usize = 256;

/// The tags that are counted together in a sample of fewer than [`GROUP`]: the smallest sample.
const SMALL_GROUP: usize = 64;

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
    /// Numbers of tags, so that few arrivals have theirs counted: see [`places`], a tag's at its low bits. It follows
    /// every change of `tags`.
    known: Vec<Known>,
    trial: Trial,
}

/// A trial of whether known numbers save time. Where half of them, at random, are not known, a processor predicts the
/// branch badly, and counting all tags costs less. Then one place is left, of nobody, and once in a while all are tried
/// again.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// The arrivals before the trial.
    before: u64,
    /// The arrivals since then whose number was not known.
    unknown: u64,
    /// The trials without places until the next with them.
    pause: u32,
}

/// A tag, and how many of the sample are equal to it. Nothing is known of [`NOBODY`], which is never asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    tag: Tag,
    count: u16,
}

impl Sample {
    /// Creates a sample of `size` tags of nobody.
    pub(super) fn new(size: u32) -> Self {
        Self { tags: vec![NOBODY; size as usize], known: none_known(size as usize), trial: Trial::default() }
    }

    /// Returns the number of tags.
    pub(super) fn size(&self) -> u32 {
        self.tags.len() as u32
    }

    /// Counts the tags that are `tag` (K).
    #[inline]
    pub(super) fn count(&mut self, tag: Tag) -> u32 {
        let place = self.place(tag);
        let known = self.known[place];
        if known.tag == tag {
            return u32::from(known.count);
        }
        self.trial.unknown += 1;
        let count = count(&self.tags, tag);
        if self.known.len() > 1 {
            self.known[place] = Known { tag, count };
        }
        u32::from(count)
    }

    /// Decides by the number of arrivals so far whether numbers are to be known.
    pub(super) fn weigh(&mut self, arrivals: u64) {
        let Trial { before, unknown, pause } = self.trial;
        let seen = arrivals.wrapping_sub(before);
        if seen < TRIAL {
            return;
        }
        self.trial = Trial { before: arrivals, unknown: 0, pause: pause.saturating_sub(1) };
        if self.known.len() > 1 && MOST_UNKNOWN * unknown > seen {
            self.trial.pause = PAUSE;
            self.known.clear();
            self.known.push(Known::default());
        } else if self.known.len() == 1 && pause == 0 {
            self.known.clear();
            self.known.resize(places(self.tags.len()), Known::default());
        }
    }

    /// Returns where the number of tags that are `tag` would be.
    fn place(&self, tag: Tag) -> usize {
        usize::from(tag) & (self.known.len() - 1)
    }

    /// Writes `tag` over `copies` tags, 5 at most, at places drawn by 12 of the random `bits` each.
    pub(super) fn put(&mut self, tag: Tag, copies: u32, mut bits: u64) {
        let last = self.tags.len() - 1;
        for _ in 0..copies {
            let old = core::mem::replace(&mut self.tags[bits as usize & last], tag);
            self.note(old, u16::MAX);
            self.note(tag, 1);
            bits >>= 12;
        }
    }

    /// Adds `change`, which wraps, to the number of tags that are `tag`, where it is known.
    fn note(&mut self, tag: Tag, change: u16) {
        let place = self.place(tag);
        let known = &mut self.known[place];
        if known.tag == tag {
            known.count = known.count.wrapping_add(change);
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
        self.known = none_known(size as usize);
    }

    /// The memory of `size` tags and of their known numbers, in bytes.
    #[cfg(test)]
    pub(super) fn memory(size: u32) -> usize {
        size as usize * size_of::<Tag>() + places(size as usize) * size_of::<Known>()
    }
}

/// Returns the numbers of tags for a sample of `size` tags, none of them known.
fn none_known(size: usize) -> Vec<Known> {
    vec![Known::default(); places(size)]
}

/// Returns how many tags may be known of `size` in the sample: a quarter as many, and 256 at most.
fn places(size: usize) -> usize {
    (size / 4).min(256)
}

/// Counts the tags that are `tag`.
#[inline]
fn count(tags: &[Tag], tag: Tag) -> u16 {
    // A sample is a power of two of tags, so that none is left over.
    if tags.len() < GROUP { count_by::<SMALL_GROUP>(tags, tag) } else { count_by::<GROUP>(tags, tag) }
}

/// Counts the tags that are `tag` in groups of `SIZE`.
///
/// Counts of 16 bits for tags of 16 bits: a compiler compares eight at once with SSE2, and a group of a constant size
/// without a loop.
#[inline]
fn count_by<const SIZE: usize>(tags: &[Tag], tag: Tag) -> u16 {
    let groups = tags.chunks_exact(SIZE).filter_map(|group| <&[Tag; SIZE]>::try_from(group).ok());
    groups.map(|group| group.iter().fold(0, |count, entry| count + u16::from(*entry == tag))).sum()
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
        assert_eq!((sample.size(), sample.count(7), count(&sample.tags, NOBODY)), (1024, 4 * before, 0));
        sample.resize(256);
        assert_eq!((sample.size(), sample.count(7)), (256, before));
    }

    /// Would catch a number of tags that does not follow what is put in, what it overwrites and the size, where a
    /// number is known, and where another tag has its place.
    #[test]
    fn known_numbers_are_those_of_the_tags() {
        for size in [64, 256, 1024] {
            let mut draws = Seed::new(2).stream("draws");
            let mut sample = Sample::new(size);
            for step in 0..20_000 {
                let bits = draws.bits();
                // Few tags, of which many have the same place, as the number of places is at most 256.
                let tag = 1 + 128 * (bits >> 61) as Tag + (bits >> 50 & 1) as Tag;
                assert_eq!(sample.count(tag), u32::from(count(&sample.tags, tag)), "step {step} of {size}");
                sample.put(tag, (bits >> 48 & 3) as u32, bits);
            }
            sample.resize(2 * size);
            assert_eq!(sample.count(1), u32::from(count(&sample.tags, 1)));
        }
    }

    /// Would catch numbers that are kept where half of them are not known, which costs more than to count, that are not
    /// where nearly all are, and that are never tried again.
    #[test]
    fn numbers_are_known_where_it_pays() {
        let (mut sample, mut arrivals) = (Sample::new(256), 0);
        let mut offer = |sample: &mut Sample, tag: &dyn Fn(u64) -> u64| {
            for n in 0..TRIAL {
                let tag = tag(n) as Tag;
                assert_eq!(sample.count(tag), u32::from(count(&sample.tags, tag)));
                sample.put(tag, 1, n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            arrivals += TRIAL;
            sample.weigh(arrivals);
            sample.known.len() > 1
        };
        assert!(!offer(&mut sample, &|n| if n % 2 == 0 { 7 } else { 1000 + n }));
        assert!((1..PAUSE).all(|_| !offer(&mut sample, &|n| 1 + n % 32)));
        assert!((0..20).filter(|_| offer(&mut sample, &|n| 1 + n % 32)).count() >= 19);
    }

    /// Would catch a flow with the tag of nobody, which would be found in an empty sample.
    #[test]
    fn no_flow_is_nobody() {
        assert_eq!([tag(0), tag(0xffff), tag(1 << 48), tag(u64::MAX)], [1, 1, 1, 0xffff]);
        assert_eq!(Sample::new(64).count(tag(0)), 0);
    }
}
