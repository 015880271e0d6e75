//! The options of `fairlane router`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use fairlane_console::values::{Setting, kind, rate, setting, time};
#[cfg(target_os = "linux")]
use fairlane_linux::Network;
use fairlane_qdisc::{Duration, Kind, Rate};

use super::address::address;

/// Shape a Linux link with a queue discipline
///
/// Packets of an NFQUEUE, or between two interfaces, wait in the discipline and leave at the link's rate. Needs root.
///
/// Example: fairlane router --queue-num 0 --rate 10mbit --interface eth0 choke limit=300p min=100p max=200p
///
/// With --interface it installs the firewall rules that send packets leaving there to the queue, and removes them at
/// the end. If it is killed, packets pass as if there were no queue, and the next start removes the rules. On SIGTERM
/// and Ctrl-C the waiting packets leave first; SIGHUP reads --config again and keeps them.
///
/// With --up and --down in place of --rate it shapes both directions of an interface: fairlane router --interface wan0
/// --up 20mbit --down 80mbit fq-codel
///
/// With --bridge in place of --queue-num the program itself forwards between two interfaces of a machine that does not
/// route: faster, but nothing passes while it is not running.
#[derive(Debug, Args)]
pub struct RouterArgs {
    /// The discipline [default: the file's]
    #[arg(value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Option<Kind>,

    /// Its parameters as in a scenario's queue, such as limit=300p
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// A TOML file with the same options: queue-num = 0, rate = "10mbit", queue = { kind = "choke" }; options given
    /// here take precedence
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FileOptions,

    /// Print the actions, the firewall rules included, and take none
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Check the options and the file, print all mistakes, and touch nothing; root is not needed
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check_config: bool,

    /// Remove the rules that killed routers have left behind, and do nothing else
    #[arg(long, exclusive = true)]
    pub(crate) clean: bool,

    /// Take the rules away while the router that has started this process hangs
    #[arg(long, hide = true, exclusive = true)]
    pub(crate) guard: Option<GuardedRules>,
}

/// The options that the file may have too.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FileOptions {
    /// Where packets wait [default: an NFQUEUE with --queue-num, this program with --bridge]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathChoice>,

    /// The number of the NFQUEUE, 0 to 65535; or a range such as 0:3, with a thread for each queue. Of --up and --down,
    /// the second has the numbers behind those of the first [default with these: 0]
    #[arg(long, value_name = "N", value_parser = queue_num)]
    pub(crate) queue_num: Option<(u16, u16)>,

    /// Forward between two interfaces, inside and outside: packets going out wait in the discipline; those coming in
    /// pass, or with --down wait too
    #[arg(long, value_name = "INSIDE,OUTSIDE", value_parser = bridge)]
    pub(crate) bridge: Option<[String; 2]>,

    /// Rate of the link, for the packets that leave by it
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// In place of --rate: the rate of the packets that leave by --interface, or go out over --bridge; with --down,
    /// each direction has its own queue
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) up: Option<Rate>,

    /// In place of --rate: the rate of the packets that arrive by --interface, or come in over --bridge
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) down: Option<Rate>,

    /// Send packets of this interface to the queue; repeatable. Without it, your own rules must do so
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,

    /// Do not queue packets to these addresses, nor with --down those from them, such as 192.168.0.0/16; repeatable
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exempt: Vec<Network>,

    /// Bytes that the link adds to each IP packet, as in tc-cake(8), such as 38b for Ethernet [default: 0b]
    #[arg(long, value_name = "BYTES", value_parser = overhead, allow_hyphen_values = true)]
    pub(crate) overhead: Option<i16>,

    /// The smallest number of bytes that the link sends for a packet, as in tc-cake(8), such as 84b for Ethernet
    /// [default: 0b]
    #[arg(long, value_name = "BYTES", value_parser = mpu)]
    pub(crate) mpu: Option<u16>,

    /// The framing of the link, as in tc-cake(8) [default: noatm]
    #[arg(long, value_name = "NAME")]
    pub(crate) framing: Option<Framing>,

    /// The packets that count as one flow [default: five-tuple]
    #[arg(long, value_name = "BY")]
    pub(crate) flows: Option<Flows>,

    /// Two bits of the firewall mark for the rules of --interface, such as 0x18000000; nothing else may use them
    /// [default: two that no rule uses]
    #[arg(long, value_name = "BITS", value_parser = marks)]
    pub(crate) marks: Option<u32>,

    /// Let packets pass that the kernel cannot hand over, instead of dropping them
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    pub(crate) fail_open: Option<bool>,

    /// Take packets that segmentation offload has joined whole, up to 64 kB each, instead of having them segmented
    /// first; with --queue-num it needs --interface
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    pub(crate) gso: Option<bool>,

    /// The time that waiting packets have to leave at the end [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) drain: Option<Duration>,

    /// Serve /metrics for Prometheus and /state for fairlane top at this address, a port alone being on loopback; or at
    /// a socket, a path with a slash; "off" for none [default: a socket in /run/fairlane]
    #[arg(long, value_name = "ADDR", value_parser = metrics)]
    pub(crate) metrics: Option<Metrics>,

    /// The form of messages on standard error [default: text]
    #[arg(long, value_name = "FORM")]
    pub(crate) log: Option<Log>,
}

/// The rules that a guard takes away: the tool that installed them, and the numbers of their queues, such as `nft:0,1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardedRules {
    pub(crate) tool: String,
    pub(crate) queues: Vec<u16>,
}

impl fmt::Display for GuardedRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues: Vec<String> = self.queues.iter().map(u16::to_string).collect();
        write!(f, "{}:{}", self.tool, queues.join(","))
    }
}

impl FromStr for GuardedRules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a tool and the numbers of queues, such as nft:0,1".to_owned();
        let (tool, queues) = text.split_once(':').ok_or_else(wrong)?;
        let queues: Result<Vec<u16>, _> = queues.split(',').map(str::parse).collect();
        Ok(Self { tool: tool.to_owned(), queues: queues.map_err(|_| wrong())? })
    }
}

/// `--metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Metrics {
    /// A socket in the runtime folder, named after the queue or the interface.
    #[default]
    Usual,
    /// A port.
    At(SocketAddr),
    /// A socket with this path.
    Socket(PathBuf),
    /// No metrics.
    Off,
}

/// `--path`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathChoice {
    /// The best that the kernel and this build have: bridge if two interfaces are named, else bpf, else nfqueue
    Auto,
    /// The kernel itself, in a BPF program at one --interface: the fastest, for the CHOKe family and RED (Linux 6.16)
    Bpf,
    /// An NFQUEUE, by default number 0
    Nfqueue,
    /// Two interfaces, named with --bridge
    Bridge,
}

/// `--framing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// None
    Noatm,
    /// Cells of ATM: 48 of 53 bytes are the packet's
    Atm,
    /// PTM: a byte more for each 64
    Ptm,
}

/// `--flows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flows {
    /// Addresses, protocol and ports
    FiveTuple,
    /// The same inside tunnels: GRE and IP in IP
    Inner,
    /// Both addresses
    AddressPair,
    /// The source address
    SourceAddress,
    /// The destination address
    DestinationAddress,
}

/// `--log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Lines to read
    Text,
    /// A JSON object a line
    Json,
}

/// Reads two interfaces, inside first.
pub(crate) fn bridge(text: &str) -> Result<[String; 2], String> {
    let names: Vec<&str> = text.split(',').collect();
    match names[..] {
        [inside, outside] if !inside.is_empty() && !outside.is_empty() => Ok([inside.to_owned(), outside.to_owned()]),
        _ => Err("write two interfaces, such as lan0,wan0".to_owned()),
    }
}

/// Reads a number of bytes with its unit.
fn bytes(text: &str, least: i16, most: i16) -> Result<i16, String> {
    let number = text.strip_suffix('b').and_then(|number| number.parse().ok());
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("write {least}b to {most}b, such as 38b"))
}

/// Reads the first and the last of a range, or the same number twice.
pub(crate) fn queue_num(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once(':').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => Ok((first, last)),
        _ => Err("write a number from 0 to 65535, or a range such as 0:3".to_owned()),
    }
}

pub(crate) fn overhead(text: &str) -> Result<i16, String> {
    bytes(text, -64, 256)
}

pub(crate) fn mpu(text: &str) -> Result<u16, String> {
    bytes(text, 0, 256).map(i16::unsigned_abs)
}

pub(crate) fn marks(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x");
    let mark = digits.map_or_else(|| text.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
    mark.filter(|mark: &u32| mark.count_ones() == 2).ok_or_else(|| "write two bits, such as 0x18000000".to_owned())
}

pub(crate) fn metrics(text: &str) -> Result<Metrics, String> {
    match text {
        "off" => Ok(Metrics::Off),
        path if path.contains('/') => Ok(Metrics::Socket(path.into())),
        _ => address(text).map(Metrics::At).map_err(|how| format!("{how}; or a path with a slash; or off")),
    }
}
