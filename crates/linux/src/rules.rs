//! The firewall rules that send packets to a queue. They are installed and removed as a whole, and no other rule is
//! changed.
//!
//! The names contain the number of the (first) queue: a table `inet fairlane_q0` if nftables can queue, otherwise the
//! chains `FAIRLANE-Q0` and `FAIRLANE-Q0-PASSED` in `mangle` and rules that jump to them. The names let a later start
//! find and remove the rules of a router that was killed. Every rule has the bypass option: packets pass while no
//! router runs.

use std::fmt;
use std::io;

use fairlane_qdisc::Duration;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::nfqueue::proc::kernel_queues;
use crate::nfqueue::queue_numbers::Queues;
use crate::packet::exempt::Exempt;
use crate::sys::interface_info;
use crate::sys::lock_file::Lock;
use crate::sys::rtnetlink::RouteSocket;

mod changes;
mod encrypted;
mod error;
mod iptables;
mod marks;
mod nft;
mod ports;
mod reservation;
mod tool;

pub use changes::RuleChanges;
pub use encrypted::Encrypted;
pub use error::RuleError;
pub use marks::MarkBits;
pub use reservation::Reservation;

/// The rules of a router: its queues, the interfaces whose leaving or arriving packets are queued, and the bits of the
/// firewall mark by which the rules know packets that have left the discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    direction: RuleDirection,
    queues: Queues,
    interfaces: Vec<String>,
    bits: MarkBits,
    exempt: Exempt,
}

/// The packets of an interface that are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleDirection {
    /// The packets that leave by the interface.
    Leaving,
    /// The packets that arrive by the interface.
    Arriving,
}

impl RuleError {
    /// Returns `true` if a tool refused, as it does without the necessary rights.
    const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(..))
    }
}

impl Rules {
    /// Returns rules that send packets to `queues` if they leave by one of `interfaces`, whether forwarded or sent by
    /// this machine, behind all routing decisions. A rule behind the queue sets Congestion Experienced in packets with
    /// the second of `bits` in their firewall mark, if they are ECN-capable, and clears both bits.
    ///
    /// # Errors
    /// An interface does not exist, or its name cannot be used in a rule.
    pub fn new(queues: impl Into<Queues>, interfaces: &[String], bits: MarkBits) -> Result<Self, RuleError> {
        Self::checked(RuleDirection::Leaving, queues.into(), interfaces, bits)
    }

    /// Returns rules that send packets to `queues` if they arrive by one of `interfaces`, whether they are forwarded or
    /// for this machine. They are queued before their destination is translated. The rest is as for [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn arriving(queues: impl Into<Queues>, interfaces: &[String], bits: MarkBits) -> Result<Self, RuleError> {
        Self::checked(RuleDirection::Arriving, queues.into(), interfaces, bits)
    }

    fn checked(
        direction: RuleDirection,
        queues: Queues,
        interfaces: &[String],
        bits: MarkBits,
    ) -> Result<Self, RuleError> {
        for name in interfaces {
            check_name(name)?;
            if_nametoindex(name.as_str()).map_err(|error| match error {
                Errno::ENODEV => RuleError::NoInterface(name.clone()),
                other => RuleError::Unknown(other.into()),
            })?;
        }
        let mut once: Vec<String> = Vec::new();
        for name in interfaces {
            if !once.contains(name) {
                once.push(name.clone());
            }
        }
        Ok(Self { direction, queues, interfaces: once, bits, exempt: Exempt::default() })
    }

    /// Returns the same rules for other interfaces, which need not exist.
    ///
    /// # Errors
    /// A name cannot be used in a rule.
    pub fn with_interfaces(&self, interfaces: &[String]) -> Result<Self, RuleError> {
        interfaces.iter().try_for_each(|name| check_name(name))?;
        Ok(Self { interfaces: interfaces.to_vec(), ..self.clone() })
    }

    /// Returns the same rules, which do not queue packets that leave to these addresses or arrive from them.
    #[must_use]
    pub fn exempting(self, exempt: Exempt) -> Self {
        Self { exempt, ..self }
    }

    /// Returns the names of the interfaces.
    #[must_use]
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }

    /// Returns the interfaces that are bridges of the kernel whose ports' packets pass rules (`br_netfilter`), as with
    /// Docker.
    pub(crate) fn bridges(&self) -> impl Iterator<Item = &str> {
        self.interfaces.iter().map(String::as_str).filter(|name| ports::pass_rules(name))
    }

    /// Returns the bits of the firewall mark.
    #[must_use]
    pub const fn bits(&self) -> MarkBits {
        self.bits
    }

    /// Returns the number of the (first) queue.
    #[must_use]
    pub const fn queue(&self) -> u16 {
        self.queues.first()
    }
}

/// Returns the MTU of an interface in bytes.
///
/// # Errors
/// The interface does not exist, or its MTU cannot be read.
pub fn mtu(interface: &str) -> Result<u32, RuleError> {
    interface_info::mtu(interface).map_err(|error| match error {
        Errno::ENODEV => RuleError::NoInterface(interface.to_owned()),
        other => RuleError::NoMtu(interface.to_owned(), other.into()),
    })
}

/// Checks that `name` means only itself in a rule; `eth+` would match every name that begins with `eth`.
fn check_name(name: &str) -> Result<(), RuleError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(RuleError::BadName(name.to_owned()));
    }
    Ok(())
}

/// The time that one router waits while others change their rules.
const CHANGES: Duration = Duration::from_millis(5000);

/// Keeps other routers from changing rules while the result exists: a change takes several calls of a tool.
fn changing() -> Result<Lock, RuleError> {
    Lock::wait("rules", CHANGES).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => RuleError::Changing,
        _ => RuleError::CannotReserve("the rules".to_owned(), error),
    })
}

/// The tool that installs rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firewall {
    /// nft(8), with a separate table, behind all filters.
    Nft,
    /// iptables-restore(8) and ip6tables-restore(8), with chains of their own in `mangle`.
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
    /// Returns two bits of the firewall mark that no rule, policy route or known program uses, as far as this process
    /// may read them; without the right to, those that are free where there are none.
    ///
    /// # Errors
    /// There are no two free bits, or a tool hangs.
    pub fn choose_marks(self) -> Result<MarkBits, RuleError> {
        let rules = self.others().or_else(|error| if error.is_refusal() { Ok(String::new()) } else { Err(error) })?;
        let routed = RouteSocket::open().and_then(|socket| socket.rule_marks()).unwrap_or_default();
        MarkBits::choose(&rules, &routed).ok_or(RuleError::NoFreeBits)
    }

    /// Returns a rule of another program that uses one of `bits`, or the name of that program; `None` if there is none.
    ///
    /// # Errors
    /// The tool could not list the rules.
    pub fn use_of(self, bits: MarkBits) -> Result<Option<String>, RuleError> {
        Ok(bits.used_in(&self.others()?))
    }

    /// Returns the rules of others that may change firewall marks, as the tool lists them.
    fn others(self) -> Result<String, RuleError> {
        match self {
            Self::Nft => nft::others(),
            Self::Iptables => iptables::others(),
        }
    }

    /// Returns the bit of [`QueueConfig::repeat`](crate::QueueConfig::repeat) for rules by this tool. In a table of
    /// iptables, the rules behind ours would not see a packet that is accepted, so packets pass the table once more.
    #[must_use]
    pub const fn repeat(self, bits: MarkBits) -> Option<u32> {
        match self {
            Self::Nft => None,
            Self::Iptables => Some(bits.passed),
        }
    }

    /// Returns the tool that works on this machine: nft if both it and the kernel can queue, otherwise iptables.
    /// Changes nothing.
    ///
    /// # Errors
    /// Neither tool can be used.
    pub fn find() -> Result<Self, RuleError> {
        if nft::is_available() {
            return Ok(Self::Nft);
        }
        if iptables::is_available() { Ok(Self::Iptables) } else { Err(RuleError::NoTool) }
    }

    /// Returns the input of the tool that installs `rules`, with the command in a comment.
    #[must_use]
    pub fn script(self, rules: &Rules) -> String {
        match self {
            Self::Nft => nft::script_with_command(rules),
            Self::Iptables => iptables::script_with_command(rules),
        }
    }

    /// Installs `rules`, all or none. Existing ones for the same queue and direction are replaced in one transaction:
    /// no packet passes unqueued, and none that waits is dropped. With iptables IPv4 and IPv6 have a transaction each.
    /// Returns how often packets of IPsec are queued.
    ///
    /// # Errors
    /// The tool refused, as without the necessary rights. With nft nothing has changed then, and with iptables there
    /// are no rules.
    pub fn install(self, rules: &Rules) -> Result<Encrypted, RuleError> {
        let _changing = changing()?;
        match self {
            Self::Nft => nft::install(rules),
            Self::Iptables => iptables::install(rules),
        }
    }

    /// Checks that `rules` queue the packets of their interfaces, and no others.
    ///
    /// # Errors
    /// An interface is a port of another one, or packets between ports of a bridge would be queued.
    pub fn check(self, rules: &Rules) -> Result<(), RuleError> {
        rules.interfaces.iter().try_for_each(|name| ports::check(name))?;
        let bridge = self.queues_between_ports(rules);
        bridge.map_or(Ok(()), |bridge| Err(RuleError::BridgedPorts(bridge.to_owned())))
    }

    /// Returns a bridge between whose ports packets are queued by `rules`. Only iptables knows that a packet was
    /// bridged, and only where that is decided.
    #[must_use]
    pub fn queues_between_ports(self, rules: &Rules) -> Option<&str> {
        let told = self == Self::Iptables && rules.direction == RuleDirection::Leaving;
        rules.bridges().next().filter(|_| !told)
    }

    /// Returns `true` if `rules` are installed. Others may have flushed all tables since.
    ///
    /// # Errors
    /// The tool could not list the rules.
    pub fn is_installed(self, rules: &Rules) -> Result<bool, RuleError> {
        match self {
            Self::Nft => nft::is_installed(rules),
            Self::Iptables => iptables::is_installed(rules),
        }
    }

    /// Sends no more packets to `queue`. The rule that marks packets stays until [`remove`](Self::remove), for those
    /// that wait.
    ///
    /// # Errors
    /// The tool refused.
    pub fn stop(self, queue: u16) -> Result<(), RuleError> {
        let _changing = changing()?;
        match self {
            Self::Nft => nft::stop(queue),
            Self::Iptables => iptables::stop(queue),
        }
    }

    /// Removes the rules for `queue`. No packet should wait any more: when the last chain of a hook is removed, the
    /// kernel drops the packets that wait in any queue.
    ///
    /// # Errors
    /// The tool refused.
    pub fn remove(self, queue: u16) -> Result<(), RuleError> {
        let _changing = changing()?;
        match self {
            Self::Nft => nft::remove(queue),
            Self::Iptables => iptables::remove(queue),
        }
    }
}

/// Removes the rules for `queue`, whichever tool installed them.
///
/// # Errors
/// A tool refused the request.
pub fn remove_rules(queue: u16) -> Result<(), RuleError> {
    let _changing = changing()?;
    nft::remove(queue)?;
    iptables::remove(queue)
}

/// Rules left behind for a queue, or for several of which this is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The tool that installed them.
    pub firewall: Firewall,
    /// The number of the queue.
    pub queue: u16,
}

/// Returns the rules of Fairlane whose queue is neither bound nor reserved: their router was killed.
///
/// # Errors
/// No tool can be used, a tool could not list the rules, or the bound queues cannot be listed.
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
        found.retain(|leftover| {
            bound.iter().all(|queue| queue.number != leftover.queue) && reservation::is_free(leftover.queue)
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    pub(super) fn rules() -> Rules {
        Rules {
            direction: RuleDirection::Leaving,
            queues: 7.into(),
            interfaces: vec!["eth0".to_owned(), "wan.2".to_owned()],
            bits: MarkBits { passed: 0x2000_0000, ce: 0x4000_0000 },
            exempt: Exempt::default(),
        }
    }

    /// Would catch rules for the old interfaces that stay, as there may be only one for each hook and interface.
    #[test]
    fn other_interfaces_take_the_place_of_the_old_ones() {
        let tried = thread::spawn(|| {
            let alone = unshare(CloneFlags::CLONE_NEWNET);
            alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
            let firewall = Firewall::find().map_err(|error| ("iptables", error.to_string()))?;
            let other = rules().with_interfaces(&["wan.3".to_owned()]).unwrap();
            firewall.install(&rules()).map_err(|error| ("iptables", error.to_string()))?;
            for now in [&other, &other, &rules(), &other] {
                firewall.install(now).unwrap();
                assert!(firewall.is_installed(now).unwrap());
            }
            assert!(!firewall.is_installed(&rules()).unwrap());
            firewall.remove(7).unwrap();
            assert!(!firewall.is_installed(&other).unwrap());
            Ok(())
        });
        if let Err((requirement, reason)) = tried.join().unwrap() {
            skip::because(requirement, reason);
        }
    }

    /// Twice five at once remove the rules of a killed router, each by several calls of a tool. Would catch one that
    /// trips over what another has removed between two of its calls.
    #[test]
    fn several_may_clean_up_at_once() {
        let tried = thread::spawn(|| {
            let alone = unshare(CloneFlags::CLONE_NEWNET);
            alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
            let firewall = Firewall::find().map_err(|error| ("iptables", error.to_string()))?;
            for _ in 0..2 {
                firewall.install(&rules()).map_err(|error| ("iptables", error.to_string()))?;
                let removed = thread::scope(|scope| {
                    let threads: Vec<_> = (0..5).map(|_| scope.spawn(|| remove_rules(7))).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
                });
                assert!(removed.iter().all(Result::is_ok), "{removed:?}");
                assert!(!firewall.is_installed(&rules()).unwrap());
            }
            Ok(())
        });
        if let Err((requirement, reason)) = tried.join().unwrap() {
            skip::because(requirement, reason);
        }
    }

    /// Would catch a name that is an option or matches other interfaces.
    #[test]
    fn ambiguous_names_are_refused() {
        let bits = rules().bits;
        for name in ["", "eth+", "a b", "-o", "a\"b", "a\nb", "{a}", "é"] {
            assert!(matches!(Rules::new(0, &[name.to_owned()], bits), Err(RuleError::BadName(_))), "{name}");
        }
        assert!(matches!(Rules::new(0, &["nosuch0".to_owned()], bits), Err(RuleError::NoInterface(_))));
        assert!(Rules::new(0, &["lo".to_owned()], bits).is_ok());
    }
}
