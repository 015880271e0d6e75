//! `fairlane router`: a discipline on a real link. Its code stands in `crates/daemon`, as `aqmrun` is the same router
//! alone.

pub(crate) use fairlane_daemon::router::execute;
