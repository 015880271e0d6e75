//! The smallest of several keys that change one at a time.

/// A key that comes after all others.
pub(crate) const NEVER: u128 = u128::MAX << 32;

/// A tournament of keys: each inner node of a binary tree passes on the smaller key of its two children, so a changed key costs a
/// comparison for each level. The number of its leaf is in the lowest 32 bits of each key; so of equal keys that of the lower leaf
/// comes first.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// The keys of each inner node's children. The root is at 1, and the children of node `n` are `2n` and `2n + 1`; the leaves come last,
    /// filled up to a power of two.
    matches: Vec<[u128; 2]>,
    /// The leaf that won last. Its key changes almost always before the next winner is asked for, so its matches are played
    /// only then.
    last: usize,
    /// The winner's key, unless a key has changed since.
    known: Option<u128>,
}

impl Tournament {
    /// Returns a tournament of this many keys, all [`NEVER`].
    pub(crate) fn new(leaves: usize) -> Self {
        Self { matches: vec![[NEVER; 2]; leaves.next_power_of_two().max(2)], last: 0, known: None }
    }

    /// Changes the key of `leaf`, whose lowest 32 bits are 0.
    #[inline]
    pub(crate) fn set(&mut self, leaf: usize, key: u128) {
        let mut node = self.matches.len() + leaf;
        let mut winner = key | leaf as u128;
        self.known = None;
        loop {
            let pair = &mut self.matches[node / 2];
            // What has not changed here has not changed above either, but for the matches of the last winner.
            let before = std::mem::replace(&mut pair[node % 2], winner);
            if leaf == self.last || before == winner || node / 2 == 1 {
                return;
            }
            winner = least(*pair);
            node /= 2;
        }
    }

    /// Returns the smallest key with its leaf in the lowest bits, at no cost if no key has changed.
    #[inline(always)]
    pub(crate) fn winner_key(&mut self) -> u128 {
        if let Some(known) = self.known {
            return known;
        }
        let (_, key) = self.winner();
        self.known = Some(key);
        key
    }

    /// Returns the leaf with the smallest key, and the key with the leaf in its lowest bits.
    #[inline]
    pub(crate) fn winner(&mut self) -> (usize, u128) {
        let mut node = (self.matches.len() + self.last) / 2;
        let mut winner = least(self.matches[node]);
        while node > 1 {
            let pair = &mut self.matches[node / 2];
            pair[node % 2] = winner;
            winner = least(*pair);
            node /= 2;
        }
        self.last = winner as u32 as usize;
        (self.last, winner)
    }
}

#[inline]
fn least([left, right]: [u128; 2]) -> u128 {
    if right < left { right } else { left }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Compares with a search through all keys. Would catch a winner that is not the first of the smallest.
    #[test]
    fn the_smallest_key_wins() {
        for leaves in [1, 2, 3, 8, 21] {
            let mut random = Seed::new(1).stream("tournament");
            let mut tournament = Tournament::new(leaves);
            let mut keys = vec![NEVER; leaves];
            for _ in 0..20_000 {
                for _ in 0..random.below(4) {
                    let leaf = random.below(leaves as u32) as usize;
                    keys[leaf] = if random.chance(0.1) { NEVER } else { u128::from(random.below(50)) << 64 };
                    tournament.set(leaf, keys[leaf]);
                }
                let (winner, key) = tournament.winner();
                assert_eq!((tournament.winner_key(), tournament.winner_key()), (key, key));
                let least = keys.iter().copied().min();
                assert_eq!(least, Some(key - winner as u128));
                assert_eq!(Some(winner), keys.iter().position(|other| Some(*other) == least));
                // What usually happens to a winner: its next key is greater.
                keys[winner] = keys[winner].saturating_add(u128::from(random.below(3)) << 64).min(NEVER);
                tournament.set(winner, keys[winner]);
            }
        }
    }
}
