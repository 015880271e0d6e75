//! The TCP of a script: its preset, its sysctls and socket options, and what its handshake agrees on.

use fairlane_qdisc::Duration;
use fairlane_scenario::{AfterIdle, Congestion, LossRecovery, SlowStart, Tcp};

use super::Problem;
use super::packet::Packet;
use super::script::{Action, Script};

/// The names of the presets.
pub(crate) const PRESETS: [&str; 3] = ["modern", "linux", "ns2-1999"];

/// The settings of a script.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The parameters of TCP.
    pub(crate) tcp: Tcp,
    /// The bytes of data in a segment of the sender.
    pub(crate) segment: u32,
    /// The most bytes of data in a segment of the peer.
    pub(crate) peer_segment: u32,
    /// The bits by which the windows of the peer are shifted.
    pub(crate) window_scale: u32,
    /// Small segments wait for no acknowledgement.
    pub(crate) no_delay: bool,
}

/// The wishes of a script, apart from those of its handshake.
#[derive(Debug, Default)]
struct Wishes<'a> {
    /// The name of congestion control, and its line.
    congestion: Option<(usize, &'a str)>,
    /// Known settings of the system: name, value and line.
    sysctls: Vec<(String, &'a str, usize)>,
    no_delay: bool,
}

/// The maximum segment size of a peer that names none (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// The bytes of the timestamp option in each segment.
const TIMESTAMP_BYTES: u32 = 12;

/// The smallest segment that is run.
const SMALLEST: u32 = 8;

impl Settings {
    /// Returns the settings of a script; `preset` is that of a script that names none.
    pub(crate) fn new(script: &Script, preset: &str) -> Result<Self, Problem> {
        let handshake = Handshake::find(script)?;
        let mut wishes = Wishes::default();
        for (line, command) in &script.commands {
            wishes.take_commands(command, *line)?;
        }
        for event in &script.events {
            match &event.action {
                Action::Shell(command) => wishes.take_commands(command, event.line)?,
                Action::Call(call) if call.name == "setsockopt" => {
                    wishes.take_option(&call.arguments, event.line)?;
                }
                Action::Packet(_) | Action::Call(_) | Action::Code(_) => {}
            }
        }
        let (line, text) = script.preset.as_ref().map_or((1, preset), |(line, text)| (*line, text.as_str()));
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut pairs = Vec::new();
        for word in words {
            let pair = word.split_once('=');
            pairs.push(pair.ok_or_else(|| Problem::new(line, format!("`{word}` is not of the form KEY=VALUE")))?);
        }
        if let Some((_, value)) = pairs.iter().find(|(key, _)| *key == "cc") {
            wishes.congestion = Some((line, value));
        }
        let (cc_line, cc_name) = wishes.congestion.unwrap_or((1, "cubic"));
        let congestion = Congestion::ALL.into_iter().find(|congestion| congestion.name() == cc_name);
        let Some(congestion) = congestion else {
            return Err(Problem::new(cc_line, format!("there is no congestion control `{cc_name}`")));
        };
        let segment = handshake.segment;
        let window = handshake.largest_window(script) / segment;
        let Some(mut tcp) = tcp_of(name, congestion, window.max(1)) else {
            let presets = PRESETS.join(", ");
            return Err(Problem::new(line, format!("there is no preset `{name}`, only {presets}")));
        };
        tcp.handshake = true;
        handshake.apply(&mut tcp)?;
        for (name, value, line) in &wishes.sysctls {
            apply_sysctl(&mut tcp, name, value).map_err(|text| Problem::new(*line, text))?;
        }
        if !handshake.sack {
            without_sack(&mut tcp).map_err(|text| Problem::new(handshake.line, text))?;
        }
        for (key, value) in pairs {
            apply_key(&mut tcp, key, value).map_err(|text| Problem::new(line, text))?;
        }
        let Handshake { peer_segment, window_scale, .. } = handshake;
        Ok(Self { tcp, segment, peer_segment, window_scale, no_delay: wishes.no_delay })
    }
}

/// Returns the TCP of a preset.
fn tcp_of(preset: &str, congestion: Congestion, window: u32) -> Option<Tcp> {
    match preset {
        "modern" => Some(Tcp::modern(congestion, window)),
        "linux" => Some(Tcp::linux(congestion, window)),
        "ns2-1999" => Some(Tcp::ns2_1999(congestion, window)),
        _ => None,
    }
}

/// The agreement of the SYN and the SYN-ACK.
#[derive(Debug)]
struct Handshake {
    /// The line of the peer's SYN or SYN-ACK.
    line: usize,
    segment: u32,
    peer_segment: u32,
    window_scale: u32,
    timestamps: bool,
    sack: bool,
    ecn: bool,
}

impl Handshake {
    /// Finds the handshake of a script.
    fn find(script: &Script) -> Result<Self, Problem> {
        let syns = script.events.iter().filter_map(|event| match &event.action {
            Action::Packet(packet) if packet.flags.syn => Some((event.line, &**packet)),
            _ => None,
        });
        let mut peer: Option<(usize, &Packet)> = None;
        let mut own: Option<(usize, &Packet)> = None;
        for (line, packet) in syns {
            let side = if packet.inbound { &mut peer } else { &mut own };
            side.get_or_insert((line, packet));
        }
        let (Some((line, peer)), Some((own_line, own))) = (peer, own) else {
            return Err(Problem::new(1, "there is no handshake of TCP: a SYN and a SYN-ACK"));
        };
        for (line, packet) in [(line, peer), (own_line, own)] {
            if packet.flags.accurate {
                return Err(Problem::new(line, "accurate ECN is not negotiated in the simulator"));
            }
            if let Some(option) = &packet.options.other {
                return Err(Problem::new(line, format!("the option `{option}` is not in the simulator")));
            }
        }
        let both = |has: fn(&Packet) -> bool| has(peer) && (own.options.any || has(own));
        let timestamps = peer.options.timestamps.is_some() && (own.options.any || own.options.timestamps.is_some());
        let mss = peer.options.mss.unwrap_or(DEFAULT_MSS).min(own.options.mss.unwrap_or(u32::MAX));
        let segment = mss.saturating_sub(if timestamps { TIMESTAMP_BYTES } else { 0 });
        if segment < SMALLEST {
            return Err(Problem::new(line, format!("segments of {segment} bytes are too small")));
        }
        // The SYN asks, the SYN-ACK agrees (RFC 3168, section 6.1.1).
        let (asks, agrees) = if peer.flags.ack { (own, peer) } else { (peer, own) };
        let peer_segment = own.options.mss.unwrap_or(u32::from(u16::MAX));
        Ok(Self {
            line,
            segment,
            peer_segment,
            window_scale: if both(|packet| packet.options.window_scale.is_some()) {
                peer.options.window_scale.unwrap_or(0)
            } else {
                0
            },
            timestamps,
            sack: both(|packet| packet.options.sack_permitted),
            ecn: asks.flags.ece && asks.flags.cwr && agrees.flags.ece && !agrees.flags.cwr,
        })
    }

    /// Returns the largest window of the peer, in bytes.
    fn largest_window(&self, script: &Script) -> u32 {
        let windows = script.events.iter().filter_map(|event| match &event.action {
            Action::Packet(packet) if packet.inbound && !packet.flags.syn => packet.window,
            _ => None,
        });
        windows.max().unwrap_or(u32::from(u16::MAX)).min(u32::from(u16::MAX)) << self.window_scale
    }

    /// Sets what was agreed on.
    fn apply(&self, tcp: &mut Tcp) -> Result<(), Problem> {
        if tcp.congestion.needs_ecn() && !self.ecn {
            let name = tcp.congestion.name();
            return Err(Problem::new(self.line, format!("{name} needs ECN, which the handshake does not agree on")));
        }
        tcp.ecn = self.ecn;
        tcp.timestamps = self.timestamps;
        Ok(())
    }
}

/// Replaces a recovery that needs selective acknowledgements.
fn without_sack(tcp: &mut Tcp) -> Result<(), String> {
    if !tcp.uses_sack() {
        return Ok(());
    }
    if !tcp.congestion.recoveries().contains(&LossRecovery::NewReno) {
        return Err(format!("{} needs SACK, which the handshake does not agree on", tcp.congestion.name()));
    }
    tcp.recovery = LossRecovery::NewReno;
    Ok(())
}

impl<'a> Wishes<'a> {
    /// Takes the commands of a shell.
    fn take_commands(&mut self, text: &'a str, line: usize) -> Result<(), Problem> {
        for (number, row) in text.lines().enumerate() {
            let row = row.split('#').next().unwrap_or_default().trim_end_matches('\\');
            for command in row.split([';', '|']).flat_map(|part| part.split("&&")) {
                self.take_command(command, line + number)?;
            }
        }
        Ok(())
    }

    /// Takes one command.
    fn take_command(&mut self, command: &'a str, line: usize) -> Result<(), Problem> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let Some(program) = words.first() else { return Ok(()) };
        let refuse = |text: &str| Err(Problem::new(line, text.to_owned()));
        let file = program.rsplit('/').next().unwrap_or_default();
        match file {
            _ if file.starts_with("sysctl_restore") || file.contains("tcp_") && file.contains('=') => {}
            "defaults.sh" => return Ok(()),
            "sysctl" | "set_sysctls.py" => {}
            "echo" if command.contains("hystart_detect") => {
                self.sysctls.push(("hystart_detect".to_owned(), words.get(1).copied().unwrap_or_default(), line));
                return Ok(());
            }
            // TCP paces itself where the discipline fq is.
            "tc" if words.contains(&"fq") => {
                self.sysctls.push(("pacing".to_owned(), "1", line));
                return Ok(());
            }
            "tc" if words.ends_with(&["pfifo"]) => return Ok(()),
            "ip" if words.contains(&"initcwnd") => {
                let value = words.iter().skip_while(|word| **word != "initcwnd").nth(1).copied().unwrap_or_default();
                self.sysctls.push(("initcwnd".to_owned(), value, line));
                return Ok(());
            }
            _ => return refuse(&format!("the command `{}` is not known", command.trim())),
        }
        for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let name = name.rsplit(['.', '/']).next().unwrap_or_default();
            if name == "tcp_congestion_control" {
                self.congestion = Some((line, value));
            } else {
                self.sysctls.push((name.to_owned(), value, line));
            }
        }
        Ok(())
    }

    /// Takes the arguments of `setsockopt`.
    fn take_option(&mut self, arguments: &'a str, line: usize) -> Result<(), Problem> {
        let has = |name: &str| arguments.split([',', ' ', '[', ']', '(', ')', '{', '}']).any(|word| word == name);
        if has("TCP_CONGESTION") {
            let name = arguments.split('"').nth(1);
            let name = name.ok_or_else(|| Problem::new(line, "TCP_CONGESTION has no name in quotes"))?;
            self.congestion = Some((line, name));
            return Ok(());
        }
        if has("TCP_NODELAY") {
            self.no_delay = true;
            return Ok(());
        }
        let harmless = [
            "SO_REUSEADDR",
            "SO_SNDBUF",
            "SO_RCVBUF",
            "SO_LINGER",
            "SO_KEEPALIVE",
            "IP_MTU_DISCOVER",
            "IP_TOS",
            "TCP_NOTSENT_LOWAT",
            "TCP_INQ",
            "TCP_SAVE_SYN",
            "IPV6_V6ONLY",
        ];
        if harmless.iter().any(|name| has(name)) {
            return Ok(());
        }
        let name = arguments.split(',').nth(2).unwrap_or(arguments).trim();
        Err(Problem::new(line, format!("the socket option {name} is not in the simulator")))
    }
}

/// Applies a setting of the system.
fn apply_sysctl(tcp: &mut Tcp, name: &str, value: &str) -> Result<(), String> {
    let is = |wished: &str| value == wished;
    match name {
        "tcp_slow_start_after_idle" => tcp.after_idle = if is("0") { AfterIdle::Keep } else { AfterIdle::Restart },
        "tcp_recovery" if tcp.uses_sack() => {
            let wished = if is("0") { LossRecovery::Sack } else { LossRecovery::Rack };
            tcp.recovery = tcp.congestion.recovery_or_own(wished);
        }
        "hystart_detect" if tcp.congestion == Congestion::Cubic => {
            tcp.slow_start = if is("0") { SlowStart::Standard } else { SlowStart::HyStart };
        }
        "pacing" => tcp.pacing = is("1"),
        "initcwnd" => tcp.initial_window = number(value)?,
        "tcp_rto_min_us" => tcp.min_rto = Duration::from_nanos(u64::from(number(value)?) * 1_000),
        "tcp_reordering" if !is("3") => return Err(format!("the duplicate threshold is 3, not {value}")),
        "tcp_mtu_probing" if !is("0") => return Err("MTU probing is not in the simulator".to_owned()),
        "tcp_syncookies" if is("2") => return Err("SYN cookies are not in the simulator".to_owned()),
        "tcp_comp_sack_nr" | "tcp_thin_linear_timeouts" if !is("0") => {
            return Err(format!("{name} is not in the simulator"));
        }
        // The handshake tells of SACK, timestamps and ECN; others have no effect here.
        _ => {}
    }
    Ok(())
}

/// Applies a key of the comment `// preset:`. The keys are those of the scenario file.
fn apply_key(tcp: &mut Tcp, key: &str, value: &str) -> Result<(), String> {
    let named = |text: &str| format!("{key} cannot be `{value}`, only {text}");
    match key {
        "cc" => {}
        "recovery" => {
            let all = tcp.congestion.recoveries();
            let found = all.iter().find(|recovery| recovery.name() == value);
            let names: Vec<_> = all.iter().map(|recovery| recovery.name()).collect();
            tcp.recovery = *found.ok_or_else(|| named(&names.join(", ")))?;
        }
        "after_idle" => {
            let found = AfterIdle::ALL.into_iter().find(|after| after.name() == value);
            tcp.after_idle = found.ok_or_else(|| named(&AfterIdle::ALL.map(AfterIdle::name).join(", ")))?;
        }
        "slow_start" => {
            let found = SlowStart::ALL.into_iter().find(|start| start.name() == value);
            tcp.slow_start = found.ok_or_else(|| named(&SlowStart::ALL.map(SlowStart::name).join(", ")))?;
        }
        "initial_window" => tcp.initial_window = number(value)?,
        "window" => tcp.window = number(value)?,
        "min_rto" => tcp.min_rto = millis(value)?,
        "max_rto" => tcp.max_rto = millis(value)?,
        "initial_rto" => tcp.initial_rto = millis(value)?,
        "tick" => tcp.tick = millis(value)?,
        "delayed_ack" if value == "none" => tcp.delayed_ack = None,
        "delayed_ack" => tcp.delayed_ack = Some(millis(value)?),
        "limited_transmit" => tcp.limited_transmit = switch(value)?,
        "byte_counting" => tcp.byte_counting = switch(value)?,
        "ecn_timeout" => tcp.ecn_timeout = switch(value)?,
        _ => return Err(format!("the key `{key}` is not known")),
    }
    Ok(())
}

fn number(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number"))
}

fn millis(value: &str) -> Result<Duration, String> {
    number(value).map(|millis| Duration::from_millis(u64::from(millis)))
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{value}` is neither on nor off")),
    }
}
