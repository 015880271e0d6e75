//! The kernel's own discipline in front of a link, and its counts.

use std::io;

use fairlane_linux::rtnetlink::{QdiscCounts, QdiscEntry, ROOT, RouteSocket};
use fairlane_qdisc::Rate;
use nix::net::if_::if_nametoindex;

use crate::error::{LabError, setup};
use crate::in_kernel::InKernel;
use crate::network::node::tc;
use fairlane_scenario::KernelDiscipline;

/// The handle of the discipline, `2:`; the link before it is `1:`.
const HANDLE: u32 = 2 << 16;

/// A link of the kernel with a discipline in front of it.
pub(crate) struct KernelLink {
    socket: RouteSocket,
    place: Place,
}

/// The property that distinguishes the discipline from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Its handle, since we gave it.
    Handle,
    /// The discipline is the root of the interface with this index.
    RootOf(u32),
}

impl Place {
    fn is_of(self, entry: &QdiscEntry) -> bool {
        match self {
            Self::Handle => entry.handle == HANDLE,
            Self::RootOf(index) => entry.ifindex == index && entry.parent == ROOT,
        }
    }
}

impl KernelLink {
    /// Gives `interface` of this thread's namespace a link of `rate` that begins to send a packet when it has sent the
    /// one before, and `discipline` in front of it. No packet is larger than `largest` bytes.
    pub(crate) fn install(interface: &str, discipline: &InKernel, rate: Rate, largest: u32) -> Result<Self, LabError> {
        let queue = || format!("the queue of {interface}");
        let index = if_nametoindex(interface).map_err(setup(queue()))?;
        let place = match discipline {
            InKernel::Own(discipline) => {
                install_own(interface, discipline, rate, largest)?;
                Place::Handle
            }
            InKernel::Installed(installer) => {
                let refused = |why| LabError::Setup(queue(), io::Error::other(why));
                installer.install(interface).map_err(refused)?;
                Place::RootOf(index)
            }
        };
        let link = Self { socket: RouteSocket::open().map_err(setup(queue()))?, place };
        link.counts().map_err(setup("the counts of the kernel's queue"))?;
        Ok(link)
    }

    /// Asks the kernel for the counts.
    pub(crate) fn counts(&self) -> io::Result<QdiscCounts> {
        let found = self.socket.qdiscs()?.into_iter().find(|entry| self.place.is_of(entry));
        found.and_then(|entry| entry.counts).ok_or_else(|| io::Error::other("the kernel has no counts of it"))
    }
}

/// Installs the kernel's own discipline with tc(8).
fn install_own(interface: &str, discipline: &KernelDiscipline, rate: Rate, largest: u32) -> Result<(), LabError> {
    // Room for two packets lets the link make up for a timer that is late by up to the time of one packet.
    let commands = discipline.commands(interface, rate, 2 * u64::from(largest)).join("\n");
    tc(&(commands + "\n")).map_err(|error| match error {
        LabError::Setup(_, said) if said.to_string().contains("kind is unknown") => {
            LabError::NoDiscipline(discipline.words.split(' ').next().unwrap_or_default().to_owned())
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch the counts of the link before the discipline, or of another device.
    #[test]
    fn the_discipline_is_told_from_others() {
        let entry = |ifindex, handle, parent| QdiscEntry { ifindex, handle, parent, kind: String::new(), counts: None };
        let (link, choke) = (entry(7, 1 << 16, ROOT), entry(7, HANDLE, 1 << 16 | 1));
        assert_eq!([&link, &choke].map(|entry| Place::Handle.is_of(entry)), [false, true]);
        assert_eq!([&link, &choke].map(|entry| Place::RootOf(7).is_of(entry)), [true, false]);
        assert!(!Place::RootOf(8).is_of(&link));
    }
}
