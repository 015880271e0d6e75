//! `fairlane top`: watches a running router. Its code stands in `crates/daemon`, as `aqmrun` has it too.

pub(crate) use fairlane_daemon::top::show as execute;
