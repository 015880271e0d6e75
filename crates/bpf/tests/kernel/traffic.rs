//! A device of the guest, and packets for it from the kernel's own generator.
//!
//! Source: Linux, `Documentation/networking/pktgen.rst`.

use std::error::Error;
use std::fs;
use std::process::Command;

use fairlane_bpf::Program;
use fairlane_qdisc::{Kind, QdiscParameters, Rate};

/// The device. It frees the packets that it is given, and counts them.
pub(super) const DEVICE: &str = "dummy7";

const GENERATOR: &str = "/proc/net/pktgen";

/// Packets to generate.
pub(super) struct Traffic {
    /// The number of packets that the discipline takes, without those that it drops at once; 0: until [`stop`] is
    /// called.
    pub(super) packets: u64,
    /// The number of UDP flows, by their source ports. More than one are in random order.
    pub(super) flows: u32,
    /// The least and the largest number of bytes, with the Ethernet header.
    pub(super) bytes: [u32; 2],
    /// The time between two packets in nanoseconds.
    pub(super) delay_ns: u64,
    /// The packets may be marked.
    pub(super) ecn: bool,
}

/// The generator's own counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generated {
    /// Packets given to the queue discipline.
    pub(super) packets: u64,
    /// The time in microseconds, without that in which the generator waited for its last packet to leave the queue.
    pub(super) us: u64,
}

/// Makes the device, up and without own traffic.
pub(super) fn device() -> Result<(), Box<dyn Error>> {
    if fs::exists(format!("/sys/class/net/{DEVICE}"))? {
        program("ip", &["link", "del", DEVICE])?;
    }
    fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
    program("ip", &["link", "add", DEVICE, "type", "dummy"])?;
    program("ip", &["link", "set", DEVICE, "up"])
}

/// Runs a program to its end.
pub(super) fn program(name: &str, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new(name).args(words).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name} {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)).into())
}

/// Returns a number of the device's statistics, such as `tx_packets`.
pub(super) fn statistic(name: &str) -> Result<u64, Box<dyn Error>> {
    Ok(fs::read_to_string(format!("/sys/class/net/{DEVICE}/statistics/{name}"))?.trim().parse()?)
}

/// Returns the program of a discipline for a link of `megabits` a second.
pub(super) fn discipline(kind: Kind, parameters: &str, megabits: u64) -> Result<Program, Box<dyn Error>> {
    let rate = Rate::from_bits_per_second(megabits * 1_000_000);
    let mut given = QdiscParameters::new(kind);
    for (key, value) in parameters.split(' ').filter_map(|setting| setting.split_once('=')) {
        given.set(key, value.into())?;
    }
    Ok(Program::new(&given.resolve(rate)?, rate)?)
}

/// Generates packets, and returns when all have been sent.
pub(super) fn generate(traffic: &Traffic) -> Result<Generated, Box<dyn Error>> {
    prepare(traffic)?;
    start()?;
    generated()
}

/// Configures the packets of the generator.
pub(super) fn prepare(traffic: &Traffic) -> Result<(), Box<dyn Error>> {
    fs::write(format!("{GENERATOR}/kpktgend_0"), "rem_device_all")?;
    fs::write(format!("{GENERATOR}/kpktgend_0"), format!("add_device {DEVICE}"))?;
    let Traffic { packets, flows, bytes: [least, largest], delay_ns, ecn } = *traffic;
    let mut words = vec![
        "xmit_mode queue_xmit".to_owned(),
        format!("count {packets}"),
        format!("min_pkt_size {least}"),
        format!("max_pkt_size {largest}"),
        format!("delay {delay_ns}"),
        format!("tos {}", if ecn { "02" } else { "00" }),
        "dst 10.7.0.2".to_owned(),
        "udp_src_min 9".to_owned(),
        format!("udp_src_max {}", 9 + flows),
    ];
    for (name, wanted) in [("UDPSRC_RND", flows > 1), ("TXSIZE_RND", largest > least)] {
        words.push(format!("flag {}{name}", if wanted { "" } else { "!" }));
    }
    for word in words {
        fs::write(format!("{GENERATOR}/{DEVICE}"), &word).map_err(|error| format!("pktgen: {word}: {error}"))?;
    }
    Ok(())
}

/// Starts the generator, and returns when it has ended.
pub(super) fn start() -> std::io::Result<()> {
    fs::write(format!("{GENERATOR}/pgctrl"), "start")
}

/// Ends the generator.
pub(super) fn stop() -> std::io::Result<()> {
    fs::write(format!("{GENERATOR}/pgctrl"), "stop")
}

/// Reads the generator's counts.
pub(super) fn generated() -> Result<Generated, Box<dyn Error>> {
    let text = fs::read_to_string(format!("{GENERATOR}/{DEVICE}"))?;
    let number = |name: &str| -> Option<u64> {
        let (_, rest) = text.split_once(name)?;
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let both = || Some(Generated { packets: number("pkts-sofar:")? + number("errors:")?, us: number("(c")? });
    both().ok_or_else(|| format!("the generator's counts cannot be read: {text}").into())
}
