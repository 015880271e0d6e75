//! The keys of TCP: the `[tcp]` table and a group's own `tcp = { … }`.

use std::ops::RangeInclusive;

use fairlane_qdisc::Duration;

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Reader};
use crate::model::{Congestion, Tcp};
use crate::read::PACKET;

/// A set of parameters: takes congestion control and window.
type Preset = fn(Congestion, u32) -> Tcp;

const PRESETS: [(&str, Preset); 2] = [("ns2-1999", Tcp::ns2_1999), ("modern", Tcp::modern)];

const CONGESTIONS: [Congestion; 8] = [
    Congestion::Tahoe,
    Congestion::Reno,
    Congestion::NewReno,
    Congestion::Sack,
    Congestion::Vegas,
    Congestion::Cubic,
    Congestion::Bbr,
    Congestion::Dctcp,
];

pub(crate) const KEYS: [&str; 15] = [
    "preset",
    "tick",
    "min_rto",
    "max_rto",
    "initial_rto",
    "initial_window",
    "limited_transmit",
    "byte_counting",
    "timestamps",
    "delayed_ack",
    "ack",
    "ecn",
    "ecn_timeout",
    "pacing",
    "hystart",
];
const ELSEWHERE: Elsewhere = &[
    ("cc", "the congestion control is a key of each group of flows: [[flows]] cc = \"reno\""),
    ("window", "the receiver's window is a key of each group of flows: [[flows]] window = 300"),
    ("packet", "the packets' size is a key of each group of flows: [[flows]] packet = \"1000b\""),
];

/// The default window in packets: large enough not to limit a flow.
const WINDOW: u32 = 10_000;
const WINDOWS: RangeInclusive<u32> = 1..=1_000_000;
const TIMES: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000);
/// RFC 1122, 4.2.3.2: an acknowledgement waits half a second at most.
const ACK_DELAYS: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(500);

/// The default TCP: Reno as in ns-2 in 1999.
pub(crate) const fn default() -> Tcp {
    Tcp::ns2_1999(Congestion::Reno, WINDOW)
}

/// The name of a congestion control in a file.
pub(crate) const fn congestion_name(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Tahoe => "tahoe",
        Congestion::Reno => "reno",
        Congestion::NewReno => "newreno",
        Congestion::Sack => "sack",
        Congestion::Vegas => "vegas",
        Congestion::Cubic => "cubic",
        Congestion::Bbr => "bbr",
        Congestion::Dctcp => "dctcp",
    }
}

/// Reads the TCP parameters of `group`: its own `cc`, `window` and `tcp` take precedence over `base`.
pub(crate) fn of_group(base: &Tcp, group: &Reader<'_>) -> Result<Tcp, ScenarioError> {
    let mut tcp = base.clone();
    if let Some(cc) = group.get("cc") {
        let choices = CONGESTIONS.map(|congestion| (congestion_name(congestion), congestion));
        tcp.congestion = cc.choice("congestion control", &choices, &[])?;
        // DCTCP turns ECN on; its own table must not turn it off.
        tcp.ecn |= tcp.congestion.needs_ecn();
    }
    if let Some(window) = group.get("window") {
        tcp.window = window.count32(&WINDOWS)?;
    }
    match group.get("tcp") {
        Some(own) => table(&tcp, own.table()?),
        None => Ok(tcp),
    }
}

/// The keys of a `tcp` table over `base`. A preset starts afresh, but for congestion control and window.
pub(crate) fn table(base: &Tcp, table: Reader<'_>) -> Result<Tcp, ScenarioError> {
    let table = table.only(&KEYS, ELSEWHERE)?;
    let mut tcp = match table.get("preset") {
        Some(preset) => preset.choice("preset", &PRESETS, &[])?(base.congestion, base.window),
        None => base.clone(),
    };
    times(&mut tcp, &table)?;
    if let Some(window) = table.get("initial_window") {
        tcp.initial_window = window.count32(&WINDOWS)?;
    }
    if let Some(ack) = table.get("ack") {
        tcp.ack = ack.unit_in(&PACKET)?;
    }
    for (key, switch) in [
        ("limited_transmit", &mut tcp.limited_transmit),
        ("byte_counting", &mut tcp.byte_counting),
        ("timestamps", &mut tcp.timestamps),
        ("ecn", &mut tcp.ecn),
        ("ecn_timeout", &mut tcp.ecn_timeout),
        ("pacing", &mut tcp.pacing),
        ("hystart", &mut tcp.hystart),
    ] {
        if let Some(field) = table.get(key) {
            *switch = field.switch()?;
        }
    }
    contradictions(&tcp, &table)?;
    Ok(tcp)
}

/// Rejects switches that would have no effect.
fn contradictions(tcp: &Tcp, table: &Reader<'_>) -> Result<(), ScenarioError> {
    let cc = congestion_name(tcp.congestion);
    if let Some(ecn) = table.get("ecn").filter(|_| tcp.congestion.needs_ecn() && !tcp.ecn) {
        let error = ecn.error(format!("{cc} goes by ECN marks, and ECN is off"));
        return Err(error.with_help("leave `ecn` out, or choose another `cc`"));
    }
    let Some(pacing) = table.get("pacing").filter(|_| tcp.congestion == Congestion::Bbr && !tcp.pacing) else {
        return Ok(());
    };
    Err(pacing.error("bbr always paces").with_help("leave `pacing` out, or choose another `cc`"))
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
