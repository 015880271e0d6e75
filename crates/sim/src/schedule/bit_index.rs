//! Sets of positions in which the next one is found fast.

/// The positions of a wheel or a calendar that hold something.
#[derive(Debug, Default)]
pub(crate) struct Occupied {
    /// A bit for each position.
    words: Vec<u64>,
    /// A bit for each word that is not 0, so that a search passes over 64 empty words at once.
    summary: Vec<u64>,
}

impl Occupied {
    /// Returns as many empty positions: a multiple of 64.
    pub(crate) fn new(positions: usize) -> Self {
        let words = positions / 64;
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub(crate) fn set(&mut self, position: usize) {
        let word = position / 64;
        self.words[word] |= 1 << (position % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    #[inline]
    pub(crate) fn clear(&mut self, position: usize) {
        let word = position / 64;
        self.words[word] &= !(1 << (position % 64));
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Returns the first occupied position at or after `from`.
    #[inline]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let word = from as usize / 64;
        // In the first word, the positions before `from` do not count.
        let here = self.words.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
        }
        let next = first_bit(&self.summary, word + 1)?;
        Some(next as u64 * 64 + u64::from(self.words[next].trailing_zeros()))
    }
}

/// Returns the first bit of `words` at or after `from` that is set.
fn first_bit(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = words.get(word)? & (u64::MAX << (from % 64));
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}
