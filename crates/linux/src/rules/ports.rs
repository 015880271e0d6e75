//! Bridges and the like, at which the firewall sees packets that are not those of the link, and their ports, at which
//! it sees none.

use std::fs;

use super::RuleError;
use crate::sys::interface_info::{InterfaceInfo, interface_name};

/// The switches of `br_netfilter` for IPv4 and IPv6 in this network namespace. Each bridge has its own ones, too.
const SWITCHES: [&str; 2] =
    ["/proc/sys/net/bridge/bridge-nf-call-iptables", "/proc/sys/net/bridge/bridge-nf-call-ip6tables"];

/// The kinds whose ports' packets the firewall sees at the whole only.
const WHOLES: [&str; 3] = ["bridge", "bond", "team"];

/// Tells whether an interface is a bridge whose packets from port to port pass the firewall.
pub(super) fn pass_rules(interface: &str) -> bool {
    // Without the folder there is no br_netfilter, and a bridge's own flags do nothing.
    let switches = SWITCHES.map(|path| fs::read_to_string(path).ok());
    let on = switches.iter().flatten().any(|value| value.trim() != "0");
    switches[0].is_some() && InterfaceInfo::of(interface).is_ok_and(|info| info.bridge && (on || info.calls_rules))
}

/// Checks that an interface is no port of another one. One that is missing is told of elsewhere.
pub(super) fn check(interface: &str) -> Result<(), RuleError> {
    let Ok(InterfaceInfo { master: Some(master), master_kind: kind, .. }) = InterfaceInfo::of(interface) else {
        return Ok(());
    };
    if !WHOLES.contains(&kind.as_str()) {
        return Ok(());
    }
    let master = interface_name(master).unwrap_or_else(|| format!("interface {master}"));
    Err(RuleError::Port { interface: interface.to_owned(), master, kind })
}
