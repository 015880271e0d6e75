//! Errors with their remedies.

use std::io;
use std::path::PathBuf;

use fairlane_qdisc::Kind;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no program for a discipline.
    #[error("there is no BPF program for {0}: choose choke, front-choke, back-choke, gchoke or red")]
    NoProgram(Kind),
    /// The crate was compiled without clang.
    #[error(
        "this build has no BPF programs, since there was no clang 16 or newer: install it (apt install clang-16) and build again"
    )]
    NoPrograms,
    /// A program does not have a parameter.
    #[error("{key}: {message}")]
    Unsupported {
        /// The parameter.
        key: &'static str,
        /// The values that are not supported, and those that are.
        message: String,
    },
    /// There is no such device.
    #[error("there is no device {0}: ip link shows all")]
    NoDevice(String),
    /// The kernel cannot run BPF queue disciplines, or this user may not load them.
    #[error("the kernel refuses the program: {0} (it needs Linux 6.16 or later with CONFIG_NET_SCH_BPF, and root)")]
    Load(#[source] libbpf_rs::Error),
    /// The kernel has no queue disciplines in BPF.
    #[error("this kernel has no queue disciplines in BPF: it needs Linux 6.16 or later with CONFIG_NET_SCH_BPF")]
    OldKernel,
    /// The BPF file system is missing or not writable.
    #[error(
        "{}: {source} (is it mounted? mount -t bpf bpf /sys/fs/bpf; `ip netns exec` hides it, `nsenter --net` does not)",
        path.display()
    )]
    Pins {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel refuses to read or change the discipline of a device.
    #[error("the kernel refuses to read or change the queue discipline of {device}: {source}")]
    Netlink {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// Packets that arrive by a device have no Ethernet header.
    #[error(
        "{0} has no Ethernet headers, and its arriving packets cannot be queued in the kernel: fairlane router --path nfqueue queues them"
    )]
    NoEthernet(String),
    /// The kernel has no IFB devices, at which arriving packets wait.
    #[error("the kernel makes no IFB device, at which arriving packets wait: {0} (it needs CONFIG_IFB: modprobe ifb)")]
    NoIfb(#[source] io::Error),
    /// The discipline of a device is not one of ours.
    #[error("{device} has {kind}, which Fairlane did not attach: nothing was changed")]
    NotOurs {
        /// The device.
        device: String,
        /// Its discipline.
        kind: String,
    },
}

impl Error {
    pub(crate) fn unsupported(key: &'static str, message: &str) -> Self {
        Self::Unsupported { key, message: message.to_owned() }
    }
}
