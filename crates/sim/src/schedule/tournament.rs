//! The smallest of several keys that change one at a time.

use crate::schedule::event_key::FirstArrival;

/// A key that comes after all others.
pub(crate) const NEVER: u128 = u128::MAX << 32;

/// What is compared in a [`Tournament`].
pub(crate) trait Contender: Copy + PartialEq {
    /// Comes after all others.
    const NEVER: Self;

    /// Returns the same for this leaf.
    fn at_leaf(self, leaf: usize) -> Self;

    /// Returns its leaf.
    fn leaf(&self) -> usize;

    /// Returns true if it comes before `other`. Of those of which neither does, that of the lower leaf wins.
    fn comes_before(&self, other: &Self) -> bool;
}

/// A key whose lowest 32 bits are those of its leaf.
impl Contender for u128 {
    const NEVER: Self = NEVER;

    #[inline(always)]
    fn at_leaf(self, leaf: usize) -> Self {
        self | leaf as Self
    }

    #[inline(always)]
    fn leaf(&self) -> usize {
        *self as u32 as usize
    }

    #[inline(always)]
    fn comes_before(&self, other: &Self) -> bool {
        self < other
    }
}

impl Contender for FirstArrival {
    const NEVER: Self = Self::NONE;

    #[inline(always)]
    fn at_leaf(self, leaf: usize) -> Self {
        Self { place: leaf as u32, ..self }
    }

    #[inline(always)]
    fn leaf(&self) -> usize {
        self.place as usize
    }

    #[inline(always)]
    fn comes_before(&self, other: &Self) -> bool {
        Self::comes_before(self, other)
    }
}

/// A tournament of keys: each inner node of a binary tree passes on the smaller key of its two children, so a changed key costs a
/// comparison for each level.
#[derive(Debug)]
pub(crate) struct Tournament<K> {
    /// The keys of each inner node's children. The root is at 1, and the children of node `n` are `2n` and `2n + 1`; the leaves come last,
    /// filled up to a power of two.
    matches: Vec<[K; 2]>,
    /// The leaf that won last. Its matches are played only when the next winner is asked for, since its key changes almost
    /// always before.
    last: usize,
    /// The winner, unless it has to be found again.
    known: Option<K>,
    /// No key of another leaf than the last winner's comes before this one.
    runner_up: K,
}

impl<K: Contender> Default for Tournament<K> {
    /// Returns a tournament without leaves, which must not be asked.
    fn default() -> Self {
        Self { matches: Vec::new(), last: 0, known: None, runner_up: K::NEVER }
    }
}

impl<K: Contender> Tournament<K> {
    /// Returns a tournament of this many keys, all [`NEVER`](Contender::NEVER).
    pub(crate) fn new(leaves: usize) -> Self {
        let matches = vec![[K::NEVER; 2]; leaves.next_power_of_two().max(2)];
        Self { matches, last: 0, known: None, runner_up: K::NEVER }
    }

    /// Changes the key of `leaf`.
    #[inline]
    pub(crate) fn set(&mut self, leaf: usize, key: K) {
        if leaf == self.last {
            return self.replace_winner(key);
        }
        let mut winner = key.at_leaf(leaf);
        if winner.comes_before(&self.runner_up) {
            self.runner_up = winner;
            self.known = self.known.filter(|known| !winner.comes_before(known));
        }
        let mut node = self.matches.len() + leaf;
        loop {
            let pair = &mut self.matches[node / 2];
            // What has not changed here has not changed above either, but for the matches of the last winner.
            let before = std::mem::replace(&mut pair[node % 2], winner);
            if before == winner || node / 2 == 1 {
                return;
            }
            winner = least(pair);
            node /= 2;
        }
    }

    /// Changes the key of the leaf that won last. It wins again where no other key can come before it.
    #[inline(always)]
    pub(crate) fn replace_winner(&mut self, key: K) {
        let (node, key) = (self.matches.len() + self.last, key.at_leaf(self.last));
        self.matches[node / 2][node % 2] = key;
        self.known = if key.comes_before(&self.runner_up) { Some(key) } else { None };
    }

    /// Returns the smallest key, at no cost if it is known.
    #[inline(always)]
    pub(crate) fn winner(&mut self) -> K {
        match self.known {
            Some(known) => known,
            None => self.find_winner(),
        }
    }

    #[inline]
    fn find_winner(&mut self) -> K {
        let mut node = (self.matches.len() + self.last) / 2;
        let mut winner = least(&self.matches[node]);
        while node > 1 {
            let pair = &mut self.matches[node / 2];
            pair[node % 2] = winner;
            winner = least(pair);
            node /= 2;
        }
        (self.last, self.known) = (winner.leaf(), Some(winner));
        self.runner_up = self.without_winner();
        winner
    }

    /// Returns the smallest key of all leaves but the last winner's.
    #[inline]
    fn without_winner(&self) -> K {
        let mut node = self.matches.len() + self.last;
        let mut least = K::NEVER;
        while node > 1 {
            let other = &self.matches[node / 2][1 - node % 2];
            if other.comes_before(&least) {
                least = *other;
            }
            node /= 2;
        }
        least
    }
}

#[inline(always)]
fn least<K: Contender>([left, right]: &[K; 2]) -> K {
    if right.comes_before(left) { *right } else { *left }
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
                let key = tournament.winner();
                let winner = key.leaf();
                assert_eq!(tournament.winner(), key);
                let least = keys.iter().copied().min();
                assert_eq!(least, Some(key - winner as u128));
                assert_eq!(Some(winner), keys.iter().position(|other| Some(*other) == least));
                // What usually happens to a winner: its next key is greater.
                keys[winner] = keys[winner].saturating_add(u128::from(random.below(3)) << 64).min(NEVER);
                tournament.replace_winner(keys[winner]);
            }
        }
    }
}
