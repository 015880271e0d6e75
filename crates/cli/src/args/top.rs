//! The options of `fairlane top`, which stand in `crates/daemon`.

pub(crate) use fairlane_daemon::TopArgs;
