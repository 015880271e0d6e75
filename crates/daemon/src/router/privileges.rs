//! The privileges of the router, for the programs that it starts.

use caps::{CapSet, Capability};

/// The capabilities that the router and the tools that change rules need.
const NEEDED: [Capability; 2] = [Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW];

/// Passes the privileges on to the programs that this thread and later ones start. A program that has them from its
/// file, by setcap(8), keeps them for itself otherwise (capabilities(7)).
pub(super) fn pass_on() {
    for capability in NEEDED {
        // Where a privilege is missing, or must not be passed on, the tool says what it lacks.
        let _ = caps::raise(None, CapSet::Inheritable, capability)
            .and_then(|()| caps::raise(None, CapSet::Ambient, capability));
    }
}
