//! What a packet costs under each discipline, as `bench/costs` measured it.

use fairlane_qdisc::Kind;

/// What `bench/costs` wrote: the machine in a comment, the columns' names, a line a kind.
const TABLE: &str = include_str!("costs.csv");

/// Nanoseconds for an arrival with its share of departures; the median of many samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// With 33 flows and, where the discipline lets it stand, a queue of about 1,000 packets.
    pub(crate) few_ns: u32,
    /// With 10,001 active flows.
    pub(crate) many_ns: u32,
}

/// The cost of `kind`; `None` if it has not been measured since it came.
pub(crate) fn of(kind: Kind) -> Option<Cost> {
    let line = TABLE.lines().find_map(|line| line.strip_prefix(kind.name())?.strip_prefix(','))?;
    let (few, many) = line.split_once(',')?;
    Some(Cost { few_ns: few.parse().ok()?, many_ns: many.parse().ok()? })
}

/// The processor and the day of the measurement.
pub(crate) fn machine() -> &'static str {
    let comment = TABLE.lines().next().unwrap_or_default().trim_start_matches("# ");
    comment.split_once(';').map_or(comment, |(machine, _)| machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a kind that came without `bench/costs` being run, and a table in another form.
    #[test]
    fn every_kind_has_been_measured() {
        for kind in Kind::ALL {
            assert!(of(kind).is_some(), "{kind}: run bench/costs");
        }
        assert!(machine().contains(", 20"), "{}", machine());
    }
}
