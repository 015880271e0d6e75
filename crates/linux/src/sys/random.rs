//! Randomness of the operating system.

use std::hash::{BuildHasher, RandomState};

use fairlane_qdisc::Seed;

/// Returns a random secret for hashes of flows.
pub(crate) fn random_secret() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Returns a random seed for a discipline on a real link.
#[must_use]
pub fn random_seed() -> Seed {
    Seed::new(random_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a secret that is the same in every run, which an attacker could learn. Two are equal with
    /// probability 2^-64.
    #[test]
    fn each_draw_differs() {
        assert_ne!(random_secret(), random_secret());
        assert_ne!(random_seed(), random_seed());
    }
}
