//! The cost of a packet under each discipline, as `bench/costs` measured it.

use fairlane_qdisc::Kind;

/// The file that `bench/costs` writes: the machine in a comment, the names of the columns, a line for each kind.
const TABLE: &str = include_str!("costs.csv");

/// Nanoseconds for an arrival with its share of departures; the median of many samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// With 33 flows and, under disciplines that allow it, a queue of about 1,000 packets.
    pub few_ns: u32,
    /// With 10,001 active flows.
    pub many_ns: u32,
}

/// Returns the cost of `kind`, or `None` if it has not been measured.
#[must_use]
pub fn of(kind: Kind) -> Option<Cost> {
    let line = TABLE.lines().find_map(|line| line.strip_prefix(kind.name())?.strip_prefix(','))?;
    let (few, many) = line.split_once(',')?;
    Some(Cost { few_ns: few.parse().ok()?, many_ns: many.parse().ok()? })
}

/// Returns the processor and the day of the measurement.
#[must_use]
pub fn machine() -> &'static str {
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
