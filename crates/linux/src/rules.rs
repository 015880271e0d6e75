//! The firewall rules that send packets to a queue: installed and removed at once, and nothing else touched.
//!
//! All that is installed bears the queue's number, that of the first if there are several: a table `inet fairlane_q0` where nftables can queue, else two chains of
//! `mangle`, `FAIRLANE-Q0` and `FAIRLANE-Q0-CE`, and the rules that lead there. So what a router left behind that was killed can
//! be found and taken away. Every rule that queues has the bypass: without a router packets pass.

use std::fmt;
use std::io;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::bridge;
use crate::kernel::kernel_queues;
use crate::lock::Lock;
use crate::queues::Queues;

mod iptables;
mod nft;
mod tool;

/// Which packets go to which queues, and which bit of their firewall mark says that they are to be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    queues: Queues,
    interfaces: Vec<String>,
    ce_bit: u32,
}

/// Why rules cannot be.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// There is no such interface.
    #[error("there is no interface \"{0}\" here: ip link shows those that there are")]
    NoInterface(String),
    /// The kernel does not tell an interface's MTU.
    #[error("the kernel does not tell the MTU of \"{0}\": {1}")]
    NoMtu(String, #[source] io::Error),
    /// An interface's name that means more than itself in a rule.
    #[error("the interface \"{0}\" cannot stand in a rule: its name has more than letters, digits and . _ - @ :")]
    BadName(String),
    /// Another router queues what leaves by it.
    #[error(
        "another fairlane router has what leaves by \"{0}\", and two queues on one link are one too many: end that one first, or choose \
         another interface"
    )]
    Claimed(String),
    /// Whether another router has it cannot be found out.
    #[error("\"{0}\" cannot be taken for this router: {1}")]
    NoClaim(String, #[source] io::Error),
    /// The bit is none, or several.
    #[error("a mark for Congestion Experienced is one bit, such as 0x40000000, and {0:#x} is not")]
    NotOneBit(u32),
    /// Neither tool is there.
    #[error(
        "there is neither nft that can queue nor iptables-restore in PATH: install iptables, or nftables with a kernel that has nft_queue"
    )]
    NoTool,
    /// A tool could not be started.
    #[error("{0} cannot be started: {1}")]
    Start(&'static str, #[source] io::Error),
    /// A tool refused.
    #[error("{0} refused: {1}")]
    Refused(&'static str, String),
    /// The kernel does not tell which queues are bound.
    #[error("the kernel does not say which queues are bound: {0}")]
    Unknown(#[source] io::Error),
}

impl Rules {
    /// Rules that send to `queues` what leaves by one of `interfaces`, forwarded or from here, and that set Congestion
    /// Experienced where a packet has `ce_bit` in its mark, which they take away.
    ///
    /// # Errors
    /// An interface does not exist or cannot stand in a rule, or `ce_bit` is not one bit.
    pub fn new(queues: impl Into<Queues>, interfaces: &[String], ce_bit: u32) -> Result<Self, RuleError> {
        for name in interfaces {
            check_name(name)?;
            if_nametoindex(name.as_str()).map_err(|error| match error {
                Errno::ENODEV => RuleError::NoInterface(name.clone()),
                other => RuleError::Unknown(other.into()),
            })?;
        }
        if !ce_bit.is_power_of_two() {
            return Err(RuleError::NotOneBit(ce_bit));
        }
        let mut once: Vec<String> = Vec::new();
        for name in interfaces {
            if !once.contains(name) {
                once.push(name.clone());
            }
        }
        Ok(Self { queues: queues.into(), interfaces: once, ce_bit })
    }

    /// Takes the interfaces for one router: no other gets a claim on them while this one lives.
    ///
    /// # Errors
    /// Another router has one of them.
    pub fn claim(&self) -> Result<Claim, RuleError> {
        let lock = |name: &String| {
            Lock::new(&format!("queue/{name}")).map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => RuleError::Claimed(name.clone()),
                _ => RuleError::NoClaim(name.clone(), error),
            })
        };
        self.interfaces.iter().map(lock).collect::<Result<_, _>>().map(Claim)
    }
}

/// What leaves by the interfaces of some [`Rules`] is one router's, as long as this lives; see [`Rules::claim`].
#[derive(Debug)]
pub struct Claim(#[expect(dead_code, reason = "what it has ends with it")] Vec<Lock>);

/// The MTU of an interface, in bytes.
///
/// # Errors
/// There is no such interface, or the kernel does not tell.
pub fn mtu(interface: &str) -> Result<u32, RuleError> {
    bridge::mtu(interface).map_err(|error| match error {
        Errno::ENODEV => RuleError::NoInterface(interface.to_owned()),
        other => RuleError::NoMtu(interface.to_owned(), other.into()),
    })
}

/// An interface's name goes into a rule as it is; `eth+` would be all that begin with `eth`.
fn check_name(name: &str) -> Result<(), RuleError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(RuleError::BadName(name.to_owned()));
    }
    Ok(())
}

/// What rules are installed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firewall {
    /// nft(8), in a table of our own, behind all that others filter.
    Nft,
    /// iptables-restore(8) and ip6tables-restore(8), in chains of our own in `mangle`.
    Iptables,
}

impl fmt::Display for Firewall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nft => "nft",
            Self::Iptables => "iptables",
        })
    }
}

impl Firewall {
    /// What works here: nft, if both it and the kernel can queue, else iptables. Nothing is changed.
    ///
    /// # Errors
    /// Neither is there.
    pub fn find() -> Result<Self, RuleError> {
        if nft::is_there() {
            return Ok(Self::Nft);
        }
        if iptables::is_there() { Ok(Self::Iptables) } else { Err(RuleError::NoTool) }
    }

    /// What is given to the tool to install `rules`, with the command in a comment.
    #[must_use]
    pub fn script(self, rules: &Rules) -> String {
        match self {
            Self::Nft => nft::shown(rules),
            Self::Iptables => iptables::shown(rules),
        }
    }

    /// Installs `rules`, all or none. Should they be there already, they are replaced.
    ///
    /// # Errors
    /// The tool refused, such as without the right to. Nothing has changed then.
    pub fn install(self, rules: &Rules) -> Result<(), RuleError> {
        match self {
            Self::Nft => nft::install(rules),
            Self::Iptables => iptables::install(rules),
        }
    }

    /// Whether what `rules` say is in place. Others may have emptied all tables since it was installed.
    ///
    /// # Errors
    /// The tool refused to list what there is.
    pub fn is_installed(self, rules: &Rules) -> Result<bool, RuleError> {
        match self {
            Self::Nft => nft::has(rules.queues.first()),
            Self::Iptables => iptables::is_installed(rules),
        }
    }

    /// Sends nothing to `queue` any more. What waits there still finds the rules that mark it, until [`remove`](Self::remove).
    ///
    /// # Errors
    /// The tool refused.
    pub fn stop(self, queue: u16) -> Result<(), RuleError> {
        match self {
            Self::Nft => nft::stop(queue),
            Self::Iptables => iptables::stop(queue),
        }
    }

    /// Removes what there is of ours for `queue`. Let nothing wait there any more: when the last chain of a hook goes, the kernel
    /// drops what waits in queues, in all of them.
    ///
    /// # Errors
    /// The tool refused.
    pub fn remove(self, queue: u16) -> Result<(), RuleError> {
        match self {
            Self::Nft => nft::remove(queue),
            Self::Iptables => iptables::remove(queue),
        }
    }
}

/// Removes whatever there is of ours for `queue`, whatever it was installed with.
///
/// # Errors
/// A tool refused.
pub fn remove_rules(queue: u16) -> Result<(), RuleError> {
    nft::remove(queue)?;
    iptables::remove(queue)
}

/// Rules of ours for a queue, or for several, of which this is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// What they were installed with.
    pub firewall: Firewall,
    /// The queue's number.
    pub queue: u16,
}

/// The rules of ours whose queue nobody has bound: their router was killed.
///
/// # Errors
/// There is no tool to look with, one refused to list what there is, or the kernel to tell which queues are bound.
pub fn leftovers() -> Result<Vec<Leftover>, RuleError> {
    let of = |firewall, queues: Vec<u16>| queues.into_iter().map(move |queue| Leftover { firewall, queue });
    let (by_nft, by_iptables) = (nft::installed()?, iptables::installed()?);
    if by_nft.is_none() && by_iptables.is_none() {
        return Err(RuleError::NoTool);
    }
    let mut found: Vec<Leftover> = of(Firewall::Nft, by_nft.unwrap_or_default()).collect();
    found.extend(of(Firewall::Iptables, by_iptables.unwrap_or_default()));
    if !found.is_empty() {
        let bound = kernel_queues().map_err(RuleError::Unknown)?;
        found.retain(|leftover| bound.iter().all(|queue| queue.number != leftover.queue));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rules() -> Rules {
        Rules { queues: 7.into(), interfaces: vec!["eth0".to_owned(), "wan.2".to_owned()], ce_bit: 0x4000_0000 }
    }

    /// Would catch a name that is another option or matches other interfaces, and several bits that would mark what has one.
    #[test]
    fn what_means_more_than_itself_is_refused() {
        for name in ["", "eth+", "a b", "-o", "a\"b", "a\nb", "{a}", "é"] {
            assert!(matches!(Rules::new(0, &[name.to_owned()], 1), Err(RuleError::BadName(_))), "{name}");
        }
        let lo = ["lo".to_owned()];
        for bits in [0, 3, u32::MAX] {
            assert!(matches!(Rules::new(0, &lo, bits), Err(RuleError::NotOneBit(_))), "{bits}");
        }
        assert!(matches!(Rules::new(0, &["nosuch0".to_owned()], 1), Err(RuleError::NoInterface(_))));
        assert!(Rules::new(0, &lo, 1 << 31).is_ok());
    }
}
