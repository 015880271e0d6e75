//! The differences between the kernel's TCP and the simulator's, for a comparison of the two.

use fairlane_scenario::{
    Application, Congestion, FlowGroup, LossRecovery, PacketSizes, SlowStart, Source, Tcp, Traffic,
};

use crate::plan::{LabPlan, kernel_name, tcp_of};

impl LabPlan {
    /// Returns the differences between the TCP of Linux and that of the simulator, a sentence for each.
    pub(crate) fn differences(&self) -> Vec<String> {
        let groups = self.scenario.flows.iter().filter_map(|group| Some((group, tcp_of(group)?)));
        let tcp = groups.flat_map(|(group, tcp)| of_group(group, tcp, self.recovery()));
        tcp.chain(self.scenario.flows.iter().filter_map(|group| self.sizes(group))).collect()
    }

    /// Returns the limits of the sizes of a group's datagrams, if they vary.
    fn sizes(&self, group: &FlowGroup) -> Option<String> {
        let Traffic::Udp(udp) = &group.traffic else { return None };
        let varies = udp.sizes == PacketSizes::Geometric || matches!(udp.source, Source::Trace(_));
        let [least, most] = self.udp_sizes();
        varies.then(|| format!("flows.{}: the lab's datagrams have {least} to {most} bytes", group.name))
    }
}

/// Returns the differences of one group. `recovery` is the loss recovery of the kernel.
fn of_group(group: &FlowGroup, tcp: &Tcp, recovery: LossRecovery) -> Vec<String> {
    let (name, cc, kernel) = (&group.name, tcp.congestion.name(), kernel_name(tcp));
    let mut lines = Vec::new();
    if cc != kernel {
        lines.push(format!("flows.{name}.cc: \"{cc}\" runs as Linux's {kernel}"));
    }
    if tcp.recovery != recovery {
        let (here, there) = (tcp.recovery.name(), recovery.name());
        lines.push(format!(
            "flows.{name}: the simulator repairs losses by \"{here}\", Linux by \"{there}\"; cc = \"{kernel}\" with \
             recovery = \"{there}\" is the same in both"
        ));
    }
    let slow_start = slow_start(tcp.congestion);
    if tcp.slow_start != slow_start {
        let (here, there) = (tcp.slow_start.name(), slow_start.name());
        lines.push(format!(
            "flows.{name}: slow start is \"{here}\" in the simulator and \"{there}\" in Linux; slow_start = \"{there}\" is \
             the same in both"
        ));
    }
    if tcp.congestion == Congestion::Vegas && !tcp.as_linux {
        lines.push(format!(
            "flows.{name}: Linux's vegas keeps 2 to 4 packets in the queue, the simulator's 1 to 3, as in ns-2"
        ));
    }
    match tcp.application {
        // The lab refuses pages, video, calls, data at a rate, and applications of a program.
        Application::Ftp if group.later_phases.is_empty() || tcp.handshake => {}
        Application::Ftp => lines.push(format!(
            "flows.{name}: Linux opens a connection for each phase after the first, which takes a round trip that the \
             simulator's do not; handshake = true is the same in both"
        )),
        Application::Web(_)
        | Application::Video(_)
        | Application::Rpc(_)
        | Application::Cbr(_)
        | Application::Own(_) => {}
        Application::Transfers(_) => lines.push(format!(
            "flows.{name}: Linux opens a connection for each transfer, which takes a round trip that the simulator's do not"
        )),
        Application::OnOff(_) => lines.push(format!(
            "flows.{name}: at the end of an on period Linux still sends two segments that its buffer holds, the simulator none"
        )),
    }
    let keys = other_keys(tcp);
    if !keys.is_empty() {
        lines.push(format!(
            "flows.{name}: {} of the simulator's TCP {} not Linux's; the closest is preset = \"linux\"",
            keys.join(", "),
            if keys.len() == 1 { "is" } else { "are" }
        ));
    }
    lines
}

/// Returns the end of slow start in the kernel: HyStart is a part of its CUBIC.
const fn slow_start(congestion: Congestion) -> SlowStart {
    match congestion {
        Congestion::Cubic => SlowStart::HyStart,
        _ => SlowStart::Standard,
    }
}

/// Returns the keys whose values differ from those of Linux. Congestion control, loss recovery and slow start are
/// compared elsewhere, and the lab follows `window`, `ecn` and `pacing`.
fn other_keys(tcp: &Tcp) -> Vec<&'static str> {
    let linux = Tcp::linux(tcp.congestion, tcp.window);
    let keys = [
        ("tick", tcp.tick != linux.tick),
        ("min_rto", tcp.min_rto != linux.min_rto),
        ("max_rto", tcp.max_rto != linux.max_rto),
        ("initial_rto", tcp.initial_rto != linux.initial_rto),
        ("initial_window", tcp.initial_window != linux.initial_window),
        ("limited_transmit", tcp.limited_transmit != linux.limited_transmit),
        ("byte_counting", tcp.byte_counting != linux.byte_counting),
        ("timestamps", tcp.timestamps != linux.timestamps),
        ("delayed_ack", tcp.delayed_ack != linux.delayed_ack),
        ("ecn_timeout", tcp.ecn_timeout != linux.ecn_timeout),
        ("accurate_ecn", tcp.accurate_ecn != linux.accurate_ecn),
        ("burst", tcp.burst != linux.burst),
        ("rto_margin", tcp.rto_margin != linux.rto_margin),
        ("after_idle", tcp.after_idle != linux.after_idle),
        ("grow_unused", tcp.grow_unused != linux.grow_unused),
        ("as_linux", tcp.as_linux != linux.as_linux),
        ("vegas_least_rtt", tcp.vegas_least_rtt != linux.vegas_least_rtt),
    ];
    keys.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Document;

    use super::*;
    use crate::address::IpVersion;

    /// Returns the differences for groups with these keys under `[tcp]`.
    fn differences(tcp: &str, groups: &[&str]) -> Vec<String> {
        let mut text = format!("duration = \"1s\"\n[tcp]\n{tcp}\n[bottleneck]\nrate = \"10mbit\"\n");
        for (index, keys) in groups.iter().enumerate() {
            text += &format!("[[flows]]\nname = \"f{index}\"\nkind = \"tcp\"\n{keys}\n");
        }
        let scenario = Document::parse("test.toml", &text).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        LabPlan::new(&scenario, IpVersion::V4).unwrap().differences()
    }

    /// Linux's names with `preset = "linux"` mean the same in both; `modern` differs, and in the slow start of CUBIC.
    /// UDP and other groups do not matter.
    #[test]
    fn the_names_of_linux_are_the_same() {
        for keys in ["cc = \"reno\"", "cc = \"dctcp\"", "cc = \"bbr\"", "cc = \"cubic\"", "cc = \"vegas\""] {
            assert_eq!(differences("preset = \"linux\"", &[keys]), [""; 0], "{keys}");
        }
        let cubic = differences("preset = \"modern\"", &["cc = \"cubic\""]);
        assert_eq!(cubic.len(), 2, "{cubic:?}");
        assert!(cubic[0].contains("\"hystart++\" in the simulator and \"hystart\" in Linux"), "{cubic:?}");
        assert!(
            cubic[1].starts_with("flows.f0: max_rto, after_idle, as_linux of the simulator's TCP are not"),
            "{cubic:?}"
        );
        assert_eq!(differences("preset = \"linux\"\nrecovery = \"newreno\"", &["cc = \"reno\""]), [""; 0]);
        assert_eq!(differences("preset = \"linux\"\npacing = true\necn = true", &["cc = \"dctcp\""]), [""; 0]);
    }

    /// Would catch a difference that is not named, or not at its group.
    #[test]
    fn other_meanings_are_named() {
        let lines = differences("preset = \"linux\"", &["cc = \"sack\"", "cc = \"newreno\""]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], "flows.f0.cc: \"sack\" runs as Linux's reno");
        assert_eq!(lines[1], "flows.f1.cc: \"newreno\" runs as Linux's reno");
        assert!(lines[2].starts_with("flows.f1: the simulator repairs losses by \"newreno\", Linux by \"sack\""));

        let lines = differences("preset = \"linux\"\nrecovery = \"reno\"", &["cc = \"reno\""]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("by \"reno\", Linux by \"newreno\""), "{lines:?}");

        let lines = differences("preset = \"linux\"\nslow_start = \"hystart++\"", &["cc = \"reno\""]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("\"hystart++\" in the simulator and \"standard\" in Linux"), "{lines:?}");

        assert!(differences("preset = \"modern\"", &["cc = \"vegas\""])[0].contains("2 to 4 packets"));
    }

    /// With the parameters of 1999 all keys that Linux has otherwise are named.
    #[test]
    fn parameters_of_another_time_are_named() {
        let lines = differences("preset = \"ns2-1999\"", &["cc = \"sack\""]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let keys = "tick, max_rto, initial_rto, initial_window, limited_transmit, byte_counting, timestamps, delayed_ack, \
             rto_margin, after_idle, grow_unused, as_linux, vegas_least_rtt";
        assert!(lines[1].starts_with(&format!("flows.f0: {keys} of the simulator's TCP are not Linux's")), "{lines:?}");
        let one = differences("preset = \"linux\"\ndelayed_ack = false", &["cc = \"reno\""]);
        assert!(one[0].starts_with("flows.f0: delayed_ack of the simulator's TCP is not"), "{one:?}");
    }
}
