//! The keys of TCP: the `[tcp]` table and a group's own `tcp = { … }`.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Size};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{TableKeys, Takes, key, names};
use crate::read::application::ApplicationKind;
use crate::read::{DEFAULT_PACKET, PACKET};
use crate::tcp::{AfterIdle, Congestion, LossRecovery, OwnCongestion, SlowStart, Tcp};

/// A set of parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preset {
    Ns2In1999,
    Modern,
    Linux,
}

/// The default preset.
const DEFAULT: Preset = Preset::Ns2In1999;

const PRESETS: [(&str, Preset); 3] =
    [("ns2-1999", Preset::Ns2In1999), ("modern", Preset::Modern), ("linux", Preset::Linux)];

impl Preset {
    /// Returns its values. Short connections open by a handshake today.
    fn tcp(self, congestion: Congestion, window: u32, application: ApplicationKind) -> Tcp {
        let handshake = matches!(application, ApplicationKind::Transfers | ApplicationKind::Web);
        match self {
            Self::Ns2In1999 => Tcp::ns2_1999(congestion, window),
            Self::Modern => Tcp { handshake, ..Tcp::modern(congestion, window) },
            Self::Linux => Tcp { handshake, ..Tcp::linux(congestion, window) },
        }
    }
}

const BY_PRESET: &str = "that of the preset";

pub(crate) const KEYS: TableKeys = TableKeys {
    name: "tcp",
    meaning: "the parameters of TCP flows; those of a group replace those of the file",
    keys: &[
        key("preset", Takes::Choice(|| names(&PRESETS)), "ns2-1999", "the values of the other keys by default"),
        key("tick", Takes::Time(TIMES), BY_PRESET, "granularity of the retransmission clock"),
        key("min_rto", Takes::Time(TIMES), BY_PRESET, "the smallest retransmission timeout"),
        key(
            "rto_margin",
            Takes::Switch,
            BY_PRESET,
            "`min_rto` is the least margin over the smoothed round trip, not the least timeout",
        ),
        key("max_rto", Takes::Time(TIMES), BY_PRESET, "the largest retransmission timeout"),
        key("initial_rto", Takes::Time(TIMES), BY_PRESET, "the retransmission timeout before the first measurement"),
        key("initial_window", Takes::count(&WINDOWS), BY_PRESET, "initial congestion window in packets"),
        key(
            "limited_transmit",
            Takes::Switch,
            BY_PRESET,
            "new segments on the first duplicate acknowledgements (RFC 3042)",
        ),
        key(
            "byte_counting",
            Takes::Switch,
            BY_PRESET,
            "the window grows by the packets that are acknowledged (RFC 3465)",
        ),
        key("timestamps", Takes::Switch, BY_PRESET, "every round trip is measured (RFC 7323), not one a window"),
        key(
            "delayed_ack",
            Takes::Either(&Takes::Time(ACK_DELAYS), &Takes::Off),
            BY_PRESET,
            "one acknowledgement for two packets, or after this time (RFC 1122)",
        ),
        key("ack", Takes::Bytes(PACKET), "40b", "size of an acknowledgement on the wire"),
        key(
            "ecn",
            Takes::Switch,
            "false, or as the congestion control needs it",
            "Explicit Congestion Notification (RFC 3168)",
        ),
        key("accurate_ecn", Takes::Switch, "false", "marks are fed back by the counter of accurate ECN (RFC 9768)"),
        key(
            "ecn_timeout",
            Takes::Switch,
            "false",
            "a mark at a window of one packet makes the sender wait for its timer",
        ),
        key(
            "pacing",
            Takes::Switch,
            "false, or as the congestion control needs it",
            "packets leave evenly spread over the round trip, not in bursts",
        ),
        key(
            "burst",
            Takes::Size,
            "one packet",
            "the most that a paced sender releases at once, as segmentation offload",
        ),
        key(
            "after_idle",
            Takes::Choice(|| AfterIdle::ALL.map(AfterIdle::name).to_vec()),
            "keep",
            "what becomes of a window that is not used",
        ),
        key("grow_unused", Takes::Switch, BY_PRESET, "a window grows although the sender does not use it"),
        key("as_linux", Takes::Switch, BY_PRESET, "what Linux does where it differs from the RFCs"),
        key(
            "recovery",
            Takes::Choice(|| LossRecovery::CHOICES.map(LossRecovery::name).to_vec()),
            BY_PRESET,
            "loss recovery; some congestion controls have their own",
        ),
        key(
            "slow_start",
            Takes::Choice(|| SlowStart::ALL.map(SlowStart::name).to_vec()),
            BY_PRESET,
            "the end of slow start: by a loss or a mark, or before it by HyStart or HyStart++",
        ),
        key("ledbat_target", Takes::Time(TIMES), "100ms", "the queueing delay that `ledbat` keeps (RFC 6817)"),
        key(
            "ledbat_gain",
            Takes::Ratio(GAINS),
            "1",
            "the packets by which the window of `ledbat` grows in a round trip",
        ),
        key(
            "vegas_least_rtt",
            Takes::Switch,
            BY_PRESET,
            "`vegas` goes by the shortest round trip of a round, not by their mean",
        ),
        key("handshake", Takes::Switch, BY_PRESET, "connections open with SYN, SYN-ACK and ACK"),
    ],
};
const ELSEWHERE: Elsewhere = &[
    ("cc", "the congestion control is a key of each group of flows: [[flows]] cc = \"reno\""),
    ("window", "the receiver's window is a key of each group of flows: [[flows]] window = 300"),
    ("hystart", "the end of slow start has a name: slow_start = \"hystart\" or \"hystart++\""),
    ("sack", "loss recovery has a name: recovery = \"sack\""),
    ("packet", "the packets' size is a key of each group of flows: [[flows]] packet = \"1000b\""),
];

/// The default window in packets: large enough not to limit a flow.
const WINDOW: u32 = 10_000;
pub(crate) const WINDOWS: RangeInclusive<u32> = 1..=1_000_000;
const TIMES: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000);
/// RFC 6817 allows 1 at most; RFC 7928, section 5.4, asks for 10.
const GAINS: RangeInclusive<f64> = 0.001..=100.0;
/// The largest burst of segmentation offload in Linux has 64 KiB; larger ones are for experiments.
const BURSTS: RangeInclusive<u64> = 1..=1_000_000;
/// RFC 1122, 4.2.3.2: an acknowledgement waits half a second at most.
const ACK_DELAYS: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(500);

/// Reads the TCP parameters of `group`. The preset's values depend on its `cc` and `window`; the keys of `base`, the
/// `[tcp]` table, and then those of the group's own `tcp` replace them. A group's own preset starts afresh, without
/// `base`. `known` are the congestion controls of the program.
pub(crate) fn of_group(
    (base, known): (Option<&Reader<'_>>, &[OwnCongestion]),
    group: &Reader<'_>,
    packet: Bytes,
    application: ApplicationKind,
) -> Result<Tcp, ScenarioError> {
    let congestion = group.get("cc").map_or(Ok(Congestion::Reno), |cc| congestion(&cc, known))?;
    let window = group.get("window").map_or(Ok(WINDOW), |window| window.count32(&WINDOWS))?;
    let own = group.get("tcp").map(|own| own.table()?.only(KEYS.keys, ELSEWHERE)).transpose()?;
    let base = base.filter(|_| own.as_ref().is_none_or(|own| own.get("preset").is_none()));
    let preset = own.iter().chain(base).find_map(|table| table.get("preset"));
    let preset = preset.map_or(Ok(DEFAULT), |preset| preset.choice("preset", &PRESETS, &[]))?;
    let mut tcp = preset.tcp(congestion, window, application);
    if let Some(base) = base {
        replace(&mut tcp, base, packet)?;
        keep_own_parts(&mut tcp);
    }
    if let Some(own) = &own {
        replace(&mut tcp, own, packet)?;
        contradictions(&tcp, own)?;
    }
    Ok(tcp)
}

/// A congestion control of Fairlane, or of those of the program, which are `known`.
fn congestion(cc: &Field<'_>, known: &[OwnCongestion]) -> Result<Congestion, ScenarioError> {
    let own = known.iter().copied().map(Congestion::Own);
    let choices: Vec<(&str, Congestion)> =
        Congestion::ALL.into_iter().chain(own).map(|congestion| (congestion.name(), congestion)).collect();
    cc.own_choice("congestion control", &choices)
}

/// Checks the `[tcp]` table.
pub(crate) fn table(table: Reader<'_>) -> Result<Reader<'_>, ScenarioError> {
    let table = table.only(KEYS.keys, ELSEWHERE)?;
    let preset = table.get("preset").map_or(Ok(DEFAULT), |preset| preset.choice("preset", &PRESETS, &[]))?;
    replace(&mut preset.tcp(Congestion::Reno, WINDOW, ApplicationKind::Ftp), &table, DEFAULT_PACKET)?;
    Ok(table)
}

/// Replaces the parameters that `table` has, for packets of this size.
fn replace(tcp: &mut Tcp, table: &Reader<'_>, packet: Bytes) -> Result<(), ScenarioError> {
    times(tcp, table)?;
    if let Some(window) = table.get("initial_window") {
        tcp.initial_window = window.count32(&WINDOWS)?;
    }
    if let Some(ack) = table.get("ack") {
        tcp.ack = ack.unit_in(&PACKET)?;
    }
    if let Some(field) = table.get("burst") {
        tcp.burst = burst(&field, packet)?;
    }
    if let Some(recovery) = table.get("recovery") {
        let choices = LossRecovery::CHOICES.map(|recovery| (recovery.name(), recovery));
        tcp.recovery = recovery.choice("loss recovery", &choices, &[])?;
    }
    if let Some(slow_start) = table.get("slow_start") {
        let choices = SlowStart::ALL.map(|slow_start| (slow_start.name(), slow_start));
        tcp.slow_start = slow_start.choice("slow start", &choices, &[])?;
    }
    if let Some(after_idle) = table.get("after_idle") {
        let choices = AfterIdle::ALL.map(|after_idle| (after_idle.name(), after_idle));
        tcp.after_idle = after_idle.choice("behaviour after an idle time", &choices, &[])?;
    }
    if let Some(target) = table.get("ledbat_target") {
        tcp.ledbat.target = target.unit_in(&TIMES)?;
    }
    if let Some(gain) = table.get("ledbat_gain") {
        tcp.ledbat.gain = gain.ratio(&GAINS)?;
    }
    for (key, switch) in [
        ("limited_transmit", &mut tcp.limited_transmit),
        ("byte_counting", &mut tcp.byte_counting),
        ("timestamps", &mut tcp.timestamps),
        ("ecn", &mut tcp.ecn),
        ("accurate_ecn", &mut tcp.accurate_ecn),
        ("ecn_timeout", &mut tcp.ecn_timeout),
        ("pacing", &mut tcp.pacing),
        ("handshake", &mut tcp.handshake),
        ("rto_margin", &mut tcp.rto_margin),
        ("vegas_least_rtt", &mut tcp.vegas_least_rtt),
        ("grow_unused", &mut tcp.grow_unused),
        ("as_linux", &mut tcp.as_linux),
    ] {
        if let Some(field) = table.get(key) {
            *switch = field.switch()?;
        }
    }
    Ok(())
}

/// A burst of data in packets of this size, or in packets; at least one.
fn burst(field: &Field<'_>, packet: Bytes) -> Result<u32, ScenarioError> {
    let packets = match field.unit()? {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => (bytes.get() / packet.get().max(1)).max(u64::from(bytes.get() > 0)),
    };
    if BURSTS.contains(&packets) {
        return Ok(packets as u32);
    }
    Err(field.error(format!("{} is out of range: a burst has 1 to {} packets", field.written(), BURSTS.end())))
}

/// Takes back what `[tcp]`, which is for all groups, sets otherwise than this congestion control needs it.
fn keep_own_parts(tcp: &mut Tcp) {
    tcp.ecn |= tcp.congestion.needs_ecn();
    tcp.recovery = tcp.congestion.recovery_or_own(tcp.recovery);
    if tcp.congestion.has_own_slow_start() {
        tcp.slow_start = SlowStart::Standard;
    }
}

/// Rejects keys of a group's own `table` that its congestion control cannot follow.
fn contradictions(tcp: &Tcp, table: &Reader<'_>) -> Result<(), ScenarioError> {
    let cc = tcp.congestion.name();
    if let Some(ecn) = table.get("ecn").filter(|_| tcp.congestion.needs_ecn() && !tcp.ecn) {
        let error = ecn.error(format!("{cc} goes by ECN marks, and ECN is off"));
        return Err(error.with_help("leave `ecn` out, or choose another `cc`"));
    }
    if let Some(accurate) = table.get("accurate_ecn").filter(|_| tcp.accurate_ecn && !tcp.ecn) {
        let error = accurate.error("accurate ECN feeds back marks, and ECN is off");
        return Err(error.with_help("add ecn = true, or leave `accurate_ecn` out"));
    }
    if let Some(pacing) = table.get("pacing").filter(|_| tcp.congestion.always_paces() && !tcp.pacing) {
        return Err(pacing.error(format!("{cc} always paces")).with_help("leave `pacing` out, or choose another `cc`"));
    }
    if let Some(burst) = table.get("burst").filter(|_| !tcp.pacing && !tcp.congestion.always_paces()) {
        let error = burst.error("a burst is what a paced sender releases at once, and this one is not paced");
        return Err(error.with_help("add pacing = true, or leave `burst` out"));
    }
    let possible = tcp.congestion.recoveries();
    if let Some(recovery) = table.get("recovery").filter(|_| !possible.contains(&tcp.recovery)) {
        let names: Vec<&str> = possible.iter().map(|recovery| recovery.name()).collect();
        let error = recovery.error(format!("the loss recovery of {cc} is always {}", names.join(" or ")));
        return Err(error.with_help("leave `recovery` out, or choose another `cc`, such as \"reno\""));
    }
    for key in ["ledbat_target", "ledbat_gain"] {
        if let Some(field) = table.get(key).filter(|_| tcp.congestion != Congestion::Ledbat) {
            return Err(field.error(format!("{cc} has no `{key}`")).with_help("it is for cc = \"ledbat\""));
        }
    }
    let own_slow_start = tcp.congestion.has_own_slow_start() && tcp.slow_start != SlowStart::Standard;
    if let Some(slow_start) = table.get("slow_start").filter(|_| own_slow_start) {
        let own = if tcp.congestion == Congestion::Ledbat { "no slow start" } else { "its own slow start" };
        let error = slow_start.error(format!("{cc} has {own}"));
        return Err(error.with_help("leave `slow_start` out, or choose another `cc`"));
    }
    Ok(())
}

fn times(tcp: &mut Tcp, table: &Reader<'_>) -> Result<(), ScenarioError> {
    for (key, time) in [
        ("tick", &mut tcp.tick),
        ("min_rto", &mut tcp.min_rto),
        ("max_rto", &mut tcp.max_rto),
        ("initial_rto", &mut tcp.initial_rto),
    ] {
        if let Some(field) = table.get(key) {
            *time = field.unit_in(&TIMES)?;
        }
    }
    if let Some(delay) = table.get("delayed_ack") {
        tcp.delayed_ack = if delay.is_off() { None } else { Some(delay.unit_in(&ACK_DELAYS)?) };
    }
    for (key, time) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto), ("tick", tcp.tick)] {
        if time > tcp.max_rto {
            let message = format!("{key} is {time}, which is more than max_rto, {}", tcp.max_rto);
            // The one that was written here is the one to point at.
            let place = table.get(key).or_else(|| table.get("max_rto"));
            return Err(place.map_or_else(|| table.error(&message), |field| field.error(&message)));
        }
    }
    Ok(())
}
