//! The smallest of several keys that change one at a time.

/// A key that comes after all others.
pub(crate) const NEVER: u128 = u128::MAX << 32;

/// A tournament of keys: each inner node of a binary tree passes on the smaller key of its two children, so a changed
/// key costs a comparison for each level. The lowest 32 bits of a key are its tag. Each leaf has its own tags, so no
/// two keys are equal.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// The keys of each inner node's children. The root is at 1, and the children of node `n` are `2n` and `2n + 1`;
    /// the leaves come last, filled up to a power of two.
    matches: Vec<[u128; 2]>,
    /// The leaf that won last. Its key changes almost always before the next winner is asked for, so its matches are
    /// played only then.
    last: usize,
    /// The winner, unless a key has changed since.
    known: Option<u128>,
    /// The leaf that has each tag.
    leaf_of_tag: Vec<u32>,
}

impl Tournament {
    /// Returns a tournament of this many keys, all [`NEVER`], whose tags belong to these leaves.
    pub(crate) fn new(leaves: usize, leaf_of_tag: Vec<u32>) -> Self {
        Self { matches: vec![[NEVER; 2]; leaves.next_power_of_two().max(2)], last: 0, known: None, leaf_of_tag }
    }

    /// Returns the leaf of a key.
    #[inline(always)]
    pub(crate) fn leaf_of(&self, key: u128) -> usize {
        self.leaf_of_tag.get(key as u32 as usize).map_or(0, |leaf| *leaf as usize)
    }

    /// Changes the key of `leaf`.
    #[inline]
    pub(crate) fn set(&mut self, leaf: usize, key: u128) {
        let mut node = self.matches.len() + leaf;
        let mut winner = key;
        self.known = None;
        loop {
            let pair = &mut self.matches[node / 2];
            // If the key has not changed here, nothing above has changed either, except the matches of the last winner.
            let before = std::mem::replace(&mut pair[node % 2], winner);
            if leaf == self.last || before == winner || node / 2 == 1 {
                return;
            }
            winner = pair[0].min(pair[1]);
            node /= 2;
        }
    }

    /// Returns the smallest key, at no cost if no key has changed.
    #[inline(always)]
    pub(crate) fn winner(&mut self) -> u128 {
        match self.known {
            Some(known) => known,
            None => self.find_winner(),
        }
    }

    #[inline]
    fn find_winner(&mut self) -> u128 {
        let mut node = (self.matches.len() + self.last) / 2;
        let [left, right] = self.matches[node];
        let mut winner = left.min(right);
        while node > 1 {
            let pair = &mut self.matches[node / 2];
            pair[node % 2] = winner;
            winner = pair[0].min(pair[1]);
            node /= 2;
        }
        (self.last, self.known) = (self.leaf_of(winner), Some(winner));
        winner
    }
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
            let mut tournament = Tournament::new(leaves, (0..leaves as u32).collect());
            let mut keys = vec![NEVER; leaves];
            for _ in 0..20_000 {
                for _ in 0..random.below(4) {
                    let leaf = random.below(leaves as u32) as usize;
                    keys[leaf] = if random.chance(0.1) { NEVER } else { u128::from(random.below(50)) << 64 };
                    tournament.set(leaf, keys[leaf] | leaf as u128);
                }
                let key = tournament.winner();
                let winner = key as u32 as usize;
                assert_eq!(tournament.winner(), key);
                let least = keys.iter().copied().min();
                assert_eq!(least, Some(key - winner as u128));
                assert_eq!(Some(winner), keys.iter().position(|other| Some(*other) == least));
                // What usually happens to a winner: its next key is greater.
                keys[winner] = keys[winner].saturating_add(u128::from(random.below(3)) << 64).min(NEVER);
                tournament.set(winner, keys[winner] | winner as u128);
            }
        }
    }
}
