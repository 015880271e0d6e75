//! The interfaces whose packets are queued, while the router runs. The rules contain their names: packets that leave by an
//! interface that was renamed pass unqueued.

use nix::net::if_::{if_indextoname, if_nametoindex};
use tracing::{info, warn};

/// An interface by its name in the rules.
#[derive(Debug)]
struct WatchedInterface {
    name: String,
    /// The kernel's number of the interface that has, or last had, this name.
    index: u32,
    there: bool,
}

/// What has happened to an interface.
#[derive(Debug, PartialEq, Eq)]
enum InterfaceChange {
    Gone,
    /// It has this name now.
    Renamed(String),
    Back,
}

/// The interfaces of a router's rules.
#[derive(Debug, Default)]
pub(super) struct WatchedInterfaces(Vec<WatchedInterface>);

impl WatchedInterfaces {
    pub(super) fn new(names: &[String]) -> Self {
        let watched = |name: &String| {
            let index = if_nametoindex(name.as_str()).ok();
            WatchedInterface { name: name.clone(), index: index.unwrap_or(0), there: index.is_some() }
        };
        Self(names.iter().map(watched).collect())
    }

    /// Logs each change since the last call.
    pub(super) fn look(&mut self) {
        for watched in &mut self.0 {
            let index = if_nametoindex(watched.name.as_str()).ok();
            // Without such an interface, nix returns an empty name.
            let name_of = |index| if_indextoname(index).ok()?.into_string().ok().filter(|name| !name.is_empty());
            match watched.change(index, name_of) {
                Some(InterfaceChange::Gone) => warn!(
                    interface = watched.name,
                    "there is no such interface any more: packets are queued again when one has this name"
                ),
                Some(InterfaceChange::Renamed(now)) => warn!(
                    interface = watched.name,
                    now,
                    "the interface has another name, and its packets pass unqueued: give it the old name, or restart the router with the new one"
                ),
                Some(InterfaceChange::Back) => {
                    info!(interface = watched.name, "there is such an interface again: its packets are queued");
                }
                None => {}
            }
        }
    }
}

impl WatchedInterface {
    /// Compares with the interface that has the name now. `name_of` returns the name of an interface.
    fn change(&mut self, index: Option<u32>, name_of: impl FnOnce(u32) -> Option<String>) -> Option<InterfaceChange> {
        let was_there = self.there;
        self.there = index.is_some();
        match index {
            Some(index) => {
                self.index = index;
                (!was_there).then_some(InterfaceChange::Back)
            }
            None => was_there.then(|| name_of(self.index).map_or(InterfaceChange::Gone, InterfaceChange::Renamed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each change is told once. Would catch a new interface with the old name that is mistaken for the old one when it goes too.
    #[test]
    fn each_change_is_told_once() {
        let mut watched = WatchedInterface { name: "eth0".to_owned(), index: 2, there: true };
        let none = |_| None;
        let renamed = |index| Some(format!("wan{index}"));
        assert_eq!(watched.change(Some(2), none), None);
        assert_eq!(watched.change(None, renamed), Some(InterfaceChange::Renamed("wan2".to_owned())));
        assert_eq!(watched.change(None, renamed), None);
        assert_eq!(watched.change(Some(7), renamed), Some(InterfaceChange::Back));
        assert_eq!(watched.change(Some(7), renamed), None);
        // Replaced between two looks: the rules apply to the new one too.
        assert_eq!(watched.change(Some(8), renamed), None);
        assert_eq!(watched.change(None, none), Some(InterfaceChange::Gone));
        assert_eq!(watched.change(None, none), None);
    }
}
