//! Drops by reason.

use fairlane_qdisc::Reason;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::estimate::{Averager, Estimate};
use crate::record::{Combine, Count, FieldKind, Fields};

/// Dropped packets by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drops([Estimate; Reason::COUNT]);

impl Drops {
    /// The reasons that are printed even without drops: those of DropTail, RED and CHOKe.
    pub const ALWAYS: [Reason; 5] =
        [Reason::Limit, Reason::Early, Reason::Forced, Reason::MatchArrival, Reason::MatchVictim];

    /// One run's drops, by [`Reason::index`].
    pub(crate) fn counted(counts: [u64; Reason::COUNT]) -> Self {
        Self(counts.map(|count| Estimate::single(count as f64)))
    }

    /// Packets dropped for `reason`.
    #[must_use]
    pub const fn get(&self, reason: Reason) -> Estimate {
        self.0[reason.index()]
    }

    /// Packets dropped for any reason; the mean over the runs when there are several.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.iter().map(|count| count.mean).sum()
    }

    /// Every reason with its packets, in the order of [`Reason::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Reason, Estimate)> {
        Reason::ALL.into_iter().map(|reason| (reason, self.get(reason)))
    }
}

impl Combine for Drops {
    fn combine(_first: &Self, parts: &[Option<&Self>], over: &Averager) -> Self {
        let mut combined = Self::default();
        for reason in Reason::ALL {
            let counts = parts.iter().map(|part| part.map_or(0.0, |drops| drops.get(reason).mean));
            combined.0[reason.index()] = over.estimate(counts);
        }
        combined
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (reason, count) in self.iter() {
            if Self::ALWAYS.contains(&reason) || count.mean > 0.0 {
                Count::write(&mut map, reason.name(), &ci95_key(reason), &count)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Drops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Fields::deserialize(deserializer)?;
        let mut drops = Self::default();
        for reason in Reason::ALL {
            let count: Option<f64> = fields.take_if_there(reason.name())?;
            let Some(mean) = count else {
                if Self::ALWAYS.contains(&reason) {
                    return Err(D::Error::missing_field(reason.name()));
                }
                continue;
            };
            drops.0[reason.index()] = Estimate::new(mean, fields.take_if_there(&ci95_key(reason))?);
        }
        Ok(drops)
    }
}

fn ci95_key(reason: Reason) -> String {
    format!("{reason}_ci95")
}
