//! Replays conformance vectors: tells in how many steps a discipline decides as its definition.

use fairlane_qdisc::testing::Vector;

/// The vectors that claims ask for.
const VECTORS: [(&str, &str); 12] = [
    ("back-choke", include_str!("../data/back-choke.jsonl")),
    ("bare", include_str!("../data/bare.jsonl")),
    ("blue", include_str!("../data/blue.jsonl")),
    ("choke", include_str!("../data/choke.jsonl")),
    ("choke-adaptive", include_str!("../data/choke-adaptive.jsonl")),
    ("front-choke", include_str!("../data/front-choke.jsonl")),
    ("gchoke", include_str!("../data/gchoke.jsonl")),
    ("mloc-choke", include_str!("../data/mloc-choke.jsonl")),
    ("sfb", include_str!("../data/sfb.jsonl")),
    ("sfb-figure-14", include_str!("../data/sfb-figure-14.jsonl")),
    ("sfred", include_str!("../data/sfred.jsonl")),
    ("xchoke", include_str!("../data/xchoke.jsonl")),
];

/// The agreement of a discipline with its vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// The number of operations.
    pub(crate) operations: u64,
    /// The number of operations with the results of the vectors.
    pub(crate) agreed: u64,
}

/// Replays the vectors of `kind`, whose expected steps were written by a slow implementation of the definition.
pub(crate) fn replay(kind: &str) -> Result<Agreement, String> {
    let known = VECTORS.iter().find(|(name, _)| *name == kind);
    let (_, text) = known.ok_or_else(|| format!("there are no vectors of \"{kind}\" among the claims'"))?;
    let vector = Vector::parse(text).map_err(|error| format!("the vectors of {kind}: {error}"))?;
    if vector.expected_from != "reference" {
        return Err(format!("the vectors of {kind} have no reference behind them"));
    }
    let steps = vector.replay().map_err(|error| error.to_string())?;
    let agreed = steps.iter().zip(&vector.expected).filter(|(step, expected)| step.agrees(expected)).count();
    Ok(Agreement { operations: vector.operations.len() as u64, agreed: agreed as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_decisions_agree() {
        for (kind, text) in VECTORS {
            let agreement = replay(kind).expect("they are read");
            assert_eq!(agreement.operations, text.lines().count() as u64 - 1, "{kind}");
            assert_eq!(agreement.agreed, agreement.operations, "{kind}");
        }
        assert!(replay("fifo").is_err_and(|why| why.contains("fifo")));
    }
}
