//! Segmentation offloads of an interface.

use std::io;

use nix::errno::Errno;

use crate::ethtool::value;

/// What can join segments, or put off cutting them: the name, and the commands that ask and set (`linux/ethtool.h`).
const OFFLOADS: [(&str, u32, u32); 3] = [("tso", 0x1e, 0x1f), ("gso", 0x23, 0x24), ("gro", 0x2b, 0x2c)];

/// Switches all of them off at `interface` of this thread's namespace, and makes sure that they are.
///
/// # Errors
/// The kernel refused, or one of them is still on.
pub(super) fn switch_off(interface: &str) -> io::Result<()> {
    for (name, get, set) in OFFLOADS {
        value(interface, set, 0).map_err(|error| said(name, &error))?;
        if value(interface, get, 0).map_err(|error| said(name, &error))? != 0 {
            return Err(io::Error::other(format!("{name} stays on")));
        }
    }
    Ok(())
}

fn said(name: &str, error: &Errno) -> io::Error {
    io::Error::other(format!("{name}: {error}"))
}
