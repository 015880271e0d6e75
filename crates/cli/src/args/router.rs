//! The options of `fairlane router`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use fairlane_qdisc::{Duration, Kind, Rate};

use super::{Setting, kind, rate, setting, time};

/// Put a discipline on a real link: packets of an NFQUEUE, or between two interfaces, wait in it and leave at the link's rate (Linux, root)
///
/// Example: fairlane router --queue-num 0 --rate 10mbit --interface eth0 choke limit=300p min=100p max=200p
///
/// With --interface it installs the rules that send what leaves there to the queue, and removes them at the end. Should it be
/// killed, packets pass as if there were no queue; the next start removes what is left. SIGTERM and Ctrl-C let what waits leave
/// first; SIGHUP reads --config again and keeps what waits.
///
/// With --bridge in place of --queue-num the program itself is the wire between two interfaces of a machine that does not route:
/// faster, but while it does not run nothing passes.
#[derive(Debug, Args)]
pub(crate) struct Router {
    /// The discipline [default: the file's]
    #[arg(value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Option<Kind>,

    /// Its parameters as in a scenario's queue, such as limit=300p
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// A TOML file with the same words: queue-num = 0, rate = "10mbit", queue = { kind = "choke" }; what is given here goes before
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) words: Words,

    /// Say all that would be done, the rules included, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Remove the rules that routers have left behind that were killed, and do nothing else
    #[arg(long, exclusive = true)]
    pub(crate) clean: bool,
}

/// What can stand in the file too.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Words {
    /// The number of the NFQUEUE, 0 to 65535; or a range such as 0:3, with a thread for each queue
    #[arg(long, value_name = "N", value_parser = queue_num)]
    pub(crate) queue_num: Option<(u16, u16)>,

    /// Be the wire between two interfaces, inside and outside: what goes out waits in the discipline, what comes in passes
    #[arg(long, value_name = "INSIDE,OUTSIDE", value_parser = bridge)]
    pub(crate) bridge: Option<[String; 2]>,

    /// Rate of the link
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Send what leaves by this interface to the queue; may be given several times. Without it, rules of yours must
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,

    /// What the link adds to each IP packet, as in tc-cake(8), such as 38b for Ethernet [default: 0b]
    #[arg(long, value_name = "BYTES", value_parser = overhead, allow_hyphen_values = true)]
    pub(crate) overhead: Option<i16>,

    /// The least that the link sends for a packet, as in tc-cake(8), such as 84b for Ethernet [default: 0b]
    #[arg(long, value_name = "BYTES", value_parser = mpu)]
    pub(crate) mpu: Option<u16>,

    /// How the link cuts packets, as in tc-cake(8) [default: noatm]
    #[arg(long, value_name = "NAME")]
    pub(crate) framing: Option<Framing>,

    /// What a flow is [default: five-tuple]
    #[arg(long, value_name = "BY")]
    pub(crate) flows: Option<Flows>,

    /// The bit of firewall marks that says to our rules which packets to mark with ECN; it must be free [default: 0x40000000]
    #[arg(long, value_name = "BIT", value_parser = ce_mark)]
    pub(crate) ce_mark: Option<u32>,

    /// Let packets pass that the kernel cannot hand over, instead of dropping them
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    pub(crate) fail_open: Option<bool>,

    /// Take packets that segmentation offload has joined as they are, one packet of up to 64 kB each, instead of having them cut
    /// first; with --queue-num it needs --interface
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    pub(crate) gso: Option<bool>,

    /// How long what waits may take to leave at the end [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) drain: Option<Duration>,

    /// Serve /metrics for Prometheus and /state for fairlane top at this address; a port alone is on loopback; or off
    /// [default: 127.0.0.1:9277, if it is free]
    #[arg(long, value_name = "ADDR", value_parser = metrics)]
    pub(crate) metrics: Option<Metrics>,

    /// How messages are written to standard error [default: text]
    #[arg(long, value_name = "FORM")]
    pub(crate) log: Option<Log>,
}

/// Where a router tells of itself unless told otherwise, and where `fairlane top` looks for one.
pub(crate) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9277);

/// `--metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Metrics {
    /// At the usual place, if nobody else is there.
    #[default]
    Usual,
    /// There.
    At(SocketAddr),
    /// Nowhere.
    Off,
}

#[cfg(target_os = "linux")]
impl Metrics {
    /// The address, if there is to be one.
    pub(crate) const fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Usual => Some(USUAL),
            Self::At(address) => Some(address),
            Self::Off => None,
        }
    }
}

/// `--framing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// Not at all
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
    /// Both addresses
    AddressPair,
}

/// `--log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Lines to read
    Text,
    /// A JSON object a line
    Json,
}

/// Two interfaces, inside first.
pub(crate) fn bridge(text: &str) -> Result<[String; 2], String> {
    let names: Vec<&str> = text.split(',').collect();
    match names[..] {
        [inside, outside] if !inside.is_empty() && !outside.is_empty() => Ok([inside.to_owned(), outside.to_owned()]),
        _ => Err("write two interfaces, such as lan0,wan0".to_owned()),
    }
}

/// A number of bytes with its unit.
fn bytes(text: &str, least: i16, most: i16) -> Result<i16, String> {
    let number = text.strip_suffix('b').and_then(|number| number.parse().ok());
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("write {least}b to {most}b, such as 38b"))
}

/// The first and the last of a range, or the same number twice.
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

pub(crate) fn ce_mark(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x");
    let mark = digits.map_or_else(|| text.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
    mark.filter(|mark| mark.is_power_of_two()).ok_or_else(|| "write one bit, such as 0x40000000".to_owned())
}

/// An address and a port, or a port of loopback.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse().map(|port| SocketAddr::new(USUAL.ip(), port));
    port.or_else(|_| text.parse())
        .map_err(|_| format!("write a port, or an address and a port, such as {USUAL} or [::1]:{}", USUAL.port()))
}

pub(crate) fn metrics(text: &str) -> Result<Metrics, String> {
    if text == "off" {
        Ok(Metrics::Off)
    } else {
        address(text).map(Metrics::At).map_err(|how| format!("{how}; or off"))
    }
}
