//! The interfaces whose packets are queued, while the router runs. The rules contain their names.

use fairlane_linux::interface_name;
use nix::net::if_::if_nametoindex;
use tracing::{info, warn};

/// An interface that the settings name.
#[derive(Debug)]
struct WatchedInterface {
    /// The name in the settings.
    name: String,
    /// Its name now, which is in the rules.
    now: String,
    /// The kernel's number of the interface.
    index: u32,
    there: bool,
}

/// A change of an interface.
#[derive(Debug, PartialEq, Eq)]
enum InterfaceChange {
    Gone,
    /// The interface has another name now.
    Renamed,
    /// An interface with the name in the settings exists again.
    Back,
}

/// The interfaces of a router's rules.
#[derive(Debug, Default)]
pub(super) struct WatchedInterfaces(Vec<WatchedInterface>);

impl WatchedInterfaces {
    pub(super) fn new(names: &[String]) -> Self {
        let watched = |name: &String| {
            let index = if_nametoindex(name.as_str()).ok();
            let there = index.is_some();
            WatchedInterface { name: name.clone(), now: name.clone(), index: index.unwrap_or(0), there }
        };
        Self(names.iter().map(watched).collect())
    }

    /// Logs each change since the last call. Returns the present names of all interfaces if one of them has changed.
    pub(super) fn look(&mut self) -> Option<Vec<String>> {
        let mut renamed = false;
        for watched in &mut self.0 {
            let before = watched.now.clone();
            let index_of = |name: &str| if_nametoindex(name).ok();
            let interface = &watched.name.clone();
            match watched.change(index_of, interface_name) {
                Some(InterfaceChange::Gone) => {
                    warn!(
                        interface,
                        name = before,
                        "there is no such interface any more: packets are queued again when it is back"
                    );
                }
                Some(InterfaceChange::Renamed) => {
                    warn!(
                        interface,
                        now = watched.now,
                        "the interface has another name, and its packets are queued by that"
                    );
                }
                Some(InterfaceChange::Back) => {
                    info!(interface, "there is such an interface again: its packets are queued");
                }
                None => {}
            }
            renamed |= watched.now != before;
        }
        renamed.then(|| self.0.iter().map(|watched| watched.now.clone()).collect())
    }
}

impl WatchedInterface {
    /// Finds the interface: the one with the name of the settings, otherwise the one that had the name, under its
    /// present name.
    fn change(
        &mut self,
        index_of: impl FnOnce(&str) -> Option<u32>,
        name_of: impl FnOnce(u32) -> Option<String>,
    ) -> Option<InterfaceChange> {
        let (was_there, was_named) = (self.there, self.now.clone());
        if let Some(index) = index_of(&self.name) {
            (self.index, self.there) = (index, true);
            self.now.clone_from(&self.name);
            return (!was_there || was_named != self.name).then_some(InterfaceChange::Back);
        }
        match name_of(self.index) {
            Some(name) => {
                self.there = true;
                self.now = name;
                (self.now != was_named).then_some(InterfaceChange::Renamed)
            }
            None => {
                self.there = false;
                self.now.clone_from(&self.name);
                was_there.then_some(InterfaceChange::Gone)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each change is told once. Would catch a renamed interface that is lost from sight, one that is followed although
    /// there is another with the name of the settings, and a new interface with the old name that is mistaken for the
    /// old one when it goes too.
    #[test]
    fn each_change_is_told_once() {
        let mut watched = WatchedInterface { name: "eth0".to_owned(), now: "eth0".to_owned(), index: 2, there: true };
        let mut look = |with_name: Option<u32>, name_of_old: Option<&str>| {
            let change = watched.change(|_| with_name, |_| name_of_old.map(str::to_owned));
            (change, watched.now.clone(), watched.index)
        };
        let is = |change, now: &str, index| (change, now.to_owned(), index);
        assert_eq!(look(Some(2), Some("eth0")), is(None, "eth0", 2));
        assert_eq!(look(None, Some("wan2")), is(Some(InterfaceChange::Renamed), "wan2", 2));
        assert_eq!(look(None, Some("wan2")), is(None, "wan2", 2));
        assert_eq!(look(None, Some("wan3")), is(Some(InterfaceChange::Renamed), "wan3", 2));
        assert_eq!(look(Some(7), Some("wan3")), is(Some(InterfaceChange::Back), "eth0", 7));
        assert_eq!(look(Some(7), None), is(None, "eth0", 7));
        // Replaced between two looks: the rules apply to the new one too.
        assert_eq!(look(Some(8), None), is(None, "eth0", 8));
        assert_eq!(look(None, None), is(Some(InterfaceChange::Gone), "eth0", 8));
        assert_eq!(look(None, None), is(None, "eth0", 8));
        assert_eq!(look(Some(9), None), is(Some(InterfaceChange::Back), "eth0", 9));
        assert_eq!(look(None, Some("wan0")), is(Some(InterfaceChange::Renamed), "wan0", 9));
        assert_eq!(look(None, None), is(Some(InterfaceChange::Gone), "eth0", 9));
    }
}
