//! Control of segmentation offloads.

use std::io;

use fairlane_linux::ethtool::value;
use nix::errno::Errno;

/// The offloads that join or delay segmentation: the name, and the commands to read and set it (`linux/ethtool.h`).
const OFFLOADS: [(&str, u32, u32); 3] = [("tso", 0x1e, 0x1f), ("gso", 0x23, 0x24), ("gro", 0x2b, 0x2c)];

/// Disables all offloads of `interface` in this thread's namespace, and verifies that they are off.
///
/// # Errors
/// The kernel refused, or an offload is still on.
pub(crate) fn switch_off(interface: &str) -> io::Result<()> {
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
