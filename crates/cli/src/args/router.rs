//! The options of `fairlane router`, which stand in `crates/daemon`.

pub(crate) use fairlane_daemon::RouterArgs;
