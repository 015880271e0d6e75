//! Files of the command's mount namespace: /proc, and those by which names become addresses.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::address::Addresses;

/// The folder that is covered while the files are made.
const COVERED: &str = "/tmp";

/// The name of the far end.
const GATEWAY: &str = "gateway";

/// Returns the caller's first name server.
pub(crate) fn resolver() -> Option<IpAddr> {
    let text = fs::read_to_string("/etc/resolv.conf").ok()?;
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    servers.filter_map(|server| server.trim().parse().ok()).next()
}

/// Gives this mount namespace a /proc of its process namespace.
pub(super) fn mount_processes() -> io::Result<()> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let proc_flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    // Where a container hides parts of /proc the kernel forbids another one. The command sees the caller's then.
    let _ = mount(Some("proc"), "/proc", Some("proc"), proc_flags, none);
    Ok(())
}

/// Gives this mount namespace the names of a shell.
pub(super) fn arrange(addresses: Addresses) -> io::Result<()> {
    mount(Some("fairlane"), COVERED, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=0755"))?;
    for (file, change) in [
        ("/etc/hosts", hosts as fn(&str, Addresses) -> String),
        ("/etc/resolv.conf", resolv_conf),
        ("/etc/nsswitch.conf", nsswitch),
    ] {
        replace(Path::new(file), |text| change(text, addresses))?;
    }
    // The files stay where they are mounted.
    Ok(umount2(COVERED, MntFlags::MNT_DETACH)?)
}

/// Puts another text in place of `file`, if there is such a file.
fn replace(file: &Path, change: impl FnOnce(&str) -> String) -> io::Result<()> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(()) };
    let copy = Path::new(COVERED).join(file.file_name().unwrap_or_default());
    fs::write(&copy, change(&text))?;
    Ok(mount(Some(&copy), file, None::<&str>, MsFlags::MS_BIND, None::<&str>)?)
}

fn hosts(text: &str, addresses: Addresses) -> String {
    let own = addresses.gateway().map(|address| format!("{address} {GATEWAY}\n")).concat();
    // The lines of a shell around this one lead to its own far end.
    let others = text.lines().filter(|line| line.split_whitespace().nth(1) != Some(GATEWAY));
    own + &others.map(|line| format!("{line}\n")).collect::<String>()
}

/// Asks the far end, which asks the caller's name server.
fn resolv_conf(text: &str, addresses: Addresses) -> String {
    let [four, _] = addresses.gateway();
    let others = text.lines().filter(|line| !line.trim_start().starts_with("nameserver"));
    format!("nameserver {four}\n") + &others.map(|line| format!("{line}\n")).collect::<String>()
}

/// Asks no service of the caller's host, which would not be behind the link.
fn nsswitch(text: &str, _: Addresses) -> String {
    let line = |line: &str| {
        if line.trim_start().starts_with("hosts:") { "hosts: files dns\n".to_owned() } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a name server of the caller that is asked around the link, and a `gateway` that is another's.
    #[test]
    fn names_come_from_the_far_end() {
        let addresses = Addresses::here();
        let [four, six] = addresses.gateway();
        assert_eq!(
            hosts("127.0.0.1 localhost\n198.18.9.1 gateway\n", addresses),
            format!("{four} gateway\n{six} gateway\n127.0.0.1 localhost\n")
        );
        let text = "search a.example\nnameserver 127.0.0.53\nnameserver ::1\noptions edns0\n";
        assert_eq!(resolv_conf(text, addresses), format!("nameserver {four}\nsearch a.example\noptions edns0\n"));
        assert_eq!(
            nsswitch("passwd: files\nhosts:  files resolve dns\n", addresses),
            "passwd: files\nhosts: files dns\n"
        );
    }
}
