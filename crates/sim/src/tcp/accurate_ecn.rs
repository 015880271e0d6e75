//! The feedback of accurate ECN (RFC 9768): a counter of marked segments, of which each acknowledgement carries three
//! bits.
//!
//! Only the counter in the header is here, without the option of the RFC's section 3.2.3. Its use is configured, not
//! negotiated.

/// Both ends count from here (section 3.2.1).
const INITIAL: u32 = 5;

/// The values of the counter in the header (DIVACE of appendix A).
const VALUES: u32 = 8;

/// Marks since the last acknowledgement that cause one (section 3.2.2.5.1).
const INCREMENT: u8 = 2;

/// The receiver's counter.
#[derive(Clone, Debug)]
pub(super) struct MarkCounter {
    /// The marked segments that have come (r.cep).
    count: u32,
    /// The marked segments since the last acknowledgement.
    unacknowledged: u8,
    /// The last segment was marked.
    last: bool,
}

impl MarkCounter {
    pub(super) const fn new() -> Self {
        Self { count: INITIAL, unacknowledged: 0, last: false }
    }

    /// Counts a segment. Returns true if it is to be acknowledged at once: the first marked one after one that was not,
    /// and the second marked one since the last acknowledgement.
    pub(super) fn received(&mut self, marked: bool) -> bool {
        let first = marked && !self.last;
        self.last = marked;
        if marked {
            self.count = self.count.wrapping_add(1);
            self.unacknowledged = self.unacknowledged.saturating_add(1);
        }
        first || self.unacknowledged >= INCREMENT
    }

    /// Returns the three bits for an acknowledgement.
    pub(super) fn acknowledge(&mut self) -> u8 {
        self.unacknowledged = 0;
        (self.count % VALUES) as u8
    }
}

/// The sender's knowledge of the receiver's counter.
#[derive(Clone, Debug)]
pub(super) struct MarkFeedback {
    /// The marked segments that are known of (s.cep).
    count: u32,
    /// The segments that are known to have arrived.
    delivered: u32,
}

impl MarkFeedback {
    pub(super) const fn new() -> Self {
        Self { count: INITIAL, delivered: 0 }
    }

    /// Returns the number of marked segments that an acknowledgement with `ace` tells of, now that `delivered` segments
    /// are known to have arrived.
    ///
    /// If it tells of so many arrivals that the counter may have gone round, it is taken to have done so as often as
    /// possible (section 3.2.2.5.2 and appendix A.2.1).
    pub(super) fn marked(&mut self, ace: u8, delivered: u32) -> u32 {
        let new = delivered.saturating_sub(self.delivered);
        self.delivered = self.delivered.max(delivered);
        let least = u32::from(ace).wrapping_sub(self.count) % VALUES;
        let marked = if new >= VALUES { new - (new.wrapping_sub(least) % VALUES) } else { least };
        self.count = self.count.wrapping_add(marked);
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from section 3.2.2.5.1. Would catch a counter that does not begin at 5, marks of which none is
    /// acknowledged, and an acknowledgement for each.
    #[test]
    fn the_receiver_counts_from_five() {
        let mut counter = MarkCounter::new();
        assert_eq!(counter.acknowledge(), 5);
        assert!(!counter.received(false));
        assert!(counter.received(true), "the first mark");
        assert_eq!(counter.acknowledge(), 6);
        assert!(!counter.received(true), "one mark since");
        assert!(counter.received(true), "two marks since");
        assert_eq!(counter.acknowledge(), 0);
        assert!(!counter.received(false));
        assert_eq!(counter.acknowledge(), 0);
    }

    /// Appendix A.2.1 by hand: dSafer.cep = n - ((n - d.cep) mod 8) for n newly acknowledged segments. With 10 segments
    /// a step of 2 is taken for 10, and one of 3 for 3; with 9 a step of 2 is 2, and one of 0 is 8.
    #[test]
    fn the_sender_takes_the_safest_likely_case() {
        let mut feedback = MarkFeedback::new();
        assert_eq!((feedback.marked(5, 2), feedback.marked(6, 4)), (0, 1));
        assert_eq!(feedback.marked(0, 14), 10);
        assert_eq!(feedback.marked(3, 24), 3);
        assert_eq!(feedback.marked(5, 33), 2);
        assert_eq!(feedback.marked(5, 42), 8);
        // An old acknowledgement tells of no new arrival, and seven arrivals have no room for a round.
        assert_eq!((feedback.marked(5, 42), feedback.marked(6, 49)), (0, 1));
    }

    /// All segments are marked, and acknowledgements of two segments each are lost in runs. Would catch a run of three
    /// lost ones, which tells of eight marks at once, that counts as none, and any other loss of fewer than 16 marks
    /// that is not made up for.
    #[test]
    fn lost_acknowledgements_cost_nothing_if_all_is_marked() {
        for lost in 0..8_u32 {
            let (mut counter, mut feedback) = (MarkCounter::new(), MarkFeedback::new());
            let (mut known, mut sent) = (0, 0);
            for _ in 0..10 {
                for _ in 0..=lost {
                    counter.received(true);
                    counter.received(true);
                    sent += 2;
                }
                known += feedback.marked(counter.acknowledge(), sent);
            }
            assert_eq!(known, sent, "{lost} acknowledgements lost in a row");
        }
    }
}
