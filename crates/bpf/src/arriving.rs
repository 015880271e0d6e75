//! The IFB devices at which arriving packets wait.

use fairlane_linux::rtnetlink::RouteSocket;
use fairlane_linux::{has_ethernet_headers, interface_name};
use nix::net::if_::if_nametoindex;

use crate::Error;

/// The prefix of their names; the index of the device by which the packets arrive follows. With the largest index a
/// name has 15 letters, the most that the kernel takes.
const PREFIX: &str = "flifb";

/// Returns the IFB device for the packets that arrive by the device `of`; `None` if there is none.
pub(crate) fn at(of: u32) -> Option<u32> {
    if_nametoindex(name_for(of).as_str()).ok()
}

/// Returns the device whose arriving packets wait at the IFB device `name`; `None` if it is another device.
pub(crate) fn device_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// Makes an IFB device for the packets that arrive by `device`, whose index is `of`, or finds the one that is there.
pub(crate) fn prepare(device: &str, of: u32) -> Result<u32, Error> {
    let netlink = |source| Error::Netlink { device: device.to_owned(), source };
    if !has_ethernet_headers(device).map_err(netlink)? {
        return Err(Error::NoEthernet(device.to_owned()));
    }
    let socket = RouteSocket::open().map_err(netlink)?;
    remove_orphans(&socket);
    if at(of).is_none() {
        socket.add_interface(&name_for(of), "ifb").map_err(Error::NoIfb)?;
    }
    let at = at(of).ok_or_else(|| Error::NoDevice(name_for(of)))?;
    socket.set_up(&name_for(of), true).map_err(netlink)?;
    Ok(at)
}

/// Removes IFB devices for devices that are gone. One that cannot be removed is in nobody's way.
fn remove_orphans(socket: &RouteSocket) {
    for interface in nix::net::if_::if_nameindex().iter().flatten() {
        let of = interface.name().to_str().ok().and_then(device_of);
        if of.is_some_and(|of| interface_name(of).is_none()) {
            let _ = socket.remove_interface(interface.index());
        }
    }
}

fn name_for(of: u32) -> String {
    format!("{PREFIX}{of}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a name that the kernel refuses, and one that leads to another device.
    #[test]
    fn names_lead_back_to_their_device() {
        for of in [1, 42, i32::MAX.cast_unsigned()] {
            let name = name_for(of);
            assert!(name.len() <= 15, "{name}");
            assert_eq!(device_of(&name), Some(of));
        }
        assert_eq!(["ifb7", "flifb", "flifbx", "eth7"].map(device_of), [None; 4]);
    }
}
