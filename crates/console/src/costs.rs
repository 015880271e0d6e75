//! The cost of a packet under each discipline, as `bench/costs` measured it.

use fairlane_qdisc::Kind;

/// The file that `bench/costs` writes: the machine in a comment, the names of the columns, a line for each kind.
const TABLE: &str = include_str!("costs.csv");

/// The cost of an arrival with its departure, at the same length of the queue under every discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// With 33 flows and a queue of 1,000 packets.
    pub few: CostAtLength,
    /// With 10,001 flows and a queue of 10,000 packets.
    pub many: CostAtLength,
}

/// The cost at one length of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostAtLength {
    /// Nanoseconds, the median of many samples.
    pub ns: u32,
    /// Instructions, the mean over many arrivals.
    pub instructions: u32,
}

/// Returns the cost of `kind`, or `None` if it has not been measured.
#[must_use]
pub fn of(kind: Kind) -> Option<Cost> {
    let line = TABLE.lines().find_map(|line| line.strip_prefix(kind.name())?.strip_prefix(','))?;
    let mut numbers = line.split(',').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    let (few_ns, many_ns, few, many) = (next()?, next()?, next()?, next()?);
    let (few, many) =
        (CostAtLength { ns: few_ns, instructions: few }, CostAtLength { ns: many_ns, instructions: many });
    Some(Cost { few, many })
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
