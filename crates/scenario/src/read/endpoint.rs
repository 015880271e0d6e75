//! The keys of a group of endpoints.

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Reader};
use crate::key::{Key, SourceKeys};
use crate::read::GROUP_KEYS;

/// The keys of other groups that an endpoint decides for itself.
const ELSEWHERE: Elsewhere = &[
    ("packet", "an endpoint gives each datagram its size"),
    ("class", "an endpoint gives each datagram its traffic class"),
    ("ecn", "an endpoint gives each datagram its ECN field"),
    ("stop", "an endpoint ends by itself"),
    ("phases", "an endpoint pauses by itself"),
    ("jitter_buffer", "`jitter_buffer` is for kind = \"udp\""),
    ("rate", "an endpoint finds its rate by itself: `rate` is for kind = \"udp\""),
    ("cc", "an endpoint has its own congestion control: `cc` is for kind = \"tcp\""),
    ("window", "an endpoint has its own window: `window` is for kind = \"tcp\""),
    ("tcp", "the table `tcp` is for kind = \"tcp\""),
    ("source", "an endpoint has its own data: `source` is for kind = \"tcp\" and \"udp\""),
    ("delay", "it belongs to the group's hosts: access = { delay = \"10ms\" }"),
];

fn keys() -> Vec<Key> {
    let own = |key: &&Key| ELSEWHERE.iter().all(|(name, _)| *name != key.name);
    GROUP_KEYS.iter().filter(own).cloned().collect()
}

/// The keys of a group; it has no key for a source.
pub(crate) fn sources() -> Vec<SourceKeys> {
    vec![("", keys())]
}

/// Checks the keys of `group`.
pub(crate) fn endpoint(group: Reader<'_>) -> Result<(), ScenarioError> {
    group.only(&keys(), ELSEWHERE).map(drop)
}
