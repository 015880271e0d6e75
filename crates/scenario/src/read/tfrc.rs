//! The keys of a group of TFRC flows.

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Reader};
use crate::key::{Key, SourceKeys, Takes, key, names};
use crate::model::Tfrc;
use crate::read::{GROUP_KEYS, RATE, source};
use crate::source::Periods;

const COMMON_KEYS: &[Key] = &[
    key("source", Takes::Choice(|| names(&KINDS)), "ftp", "source of the data"),
    key("rate", Takes::Rate(RATE), "no limit", "the highest rate of the application"),
    key(
        "damping",
        Takes::Switch,
        "false",
        "packets are spaced by the round trip of the moment (RFC 5348, section 4.5)",
    ),
    key("ecn", Takes::Switch, "false", "the packets are ECN-capable; a mark counts as a loss"),
];
const ELSEWHERE: Elsewhere = &[
    ("jitter", "`jitter` is for kind = \"udp\" with source = \"cbr\""),
    ("cc", "TFRC is a congestion control itself: `cc` is for kind = \"tcp\""),
    ("window", "TFRC has no window: `window` is for kind = \"tcp\""),
    ("tcp", "the table `tcp` is for kind = \"tcp\""),
    ("size", "TFRC sends without end: `size` is for kind = \"tcp\" with source = \"transfers\""),
    ("shape", "`shape` is for source = \"pareto\""),
    ("on", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("off", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("delay", "it belongs to the group's hosts: access = { delay = \"10ms\" }"),
];

#[derive(Clone, Copy)]
enum TfrcSource {
    Ftp,
    Exponential,
    Pareto,
}

const KINDS: [(&str, TfrcSource); 3] =
    [("ftp", TfrcSource::Ftp), ("exponential", TfrcSource::Exponential), ("pareto", TfrcSource::Pareto)];

impl TfrcSource {
    /// The keys of TFRC in addition to the common ones.
    const fn keys(self) -> &'static [Key] {
        match self {
            Self::Ftp => &[],
            Self::Exponential => &[source::ON, source::OFF],
            Self::Pareto => &[source::ON, source::OFF, source::SHAPE_KEY],
        }
    }

    /// The keys of a group that has it.
    fn group_keys(self) -> Vec<Key> {
        [GROUP_KEYS, COMMON_KEYS, self.keys()].concat()
    }
}

/// The keys of each source.
pub(crate) fn sources() -> Vec<SourceKeys> {
    KINDS.iter().map(|(name, kind)| (*name, kind.group_keys())).collect()
}

/// Reads the TFRC flow of `group`.
pub(crate) fn tfrc(group: Reader<'_>) -> Result<Tfrc, ScenarioError> {
    let kind = group.get("source").map_or(Ok(TfrcSource::Ftp), |field| field.choice("source of TFRC", &KINDS, &[]))?;
    let group = group.only(&kind.group_keys(), ELSEWHERE)?;
    let on_off = match kind {
        TfrcSource::Ftp => None,
        TfrcSource::Exponential => Some(source::on_off(&group, Periods::Exponential)?),
        TfrcSource::Pareto => Some(source::pareto(&group)?),
    };
    let switch = |key: &str| group.get(key).map_or(Ok(false), |field| field.switch());
    let rate = group.get("rate").map(|field| field.unit_in(&RATE)).transpose()?;
    Ok(Tfrc { rate, on_off, damping: switch("damping")?, ecn: switch("ecn")? })
}
