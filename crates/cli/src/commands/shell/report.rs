//! The outcome of a link, as text.

use std::fmt::Write as _;

use fairlane_outcome::{FlowRun, QueueRun};
use fairlane_qdisc::{Duration, Reason};
use fairlane_shell::{Ended, HostedCounts, Signalled};

/// The most connections that are shown.
const MOST_FLOWS: usize = 12;

/// The lateness of packets at the 99th percentile from which the report warns.
const LATE: Duration = Duration::from_millis(1);

/// The seconds with drops or marks, and the utilisation in them below which the discipline limited the throughput.
const LIMITED_SECONDS: u64 = 3;
const USED: f64 = 0.85;

/// Returns the report; with `quiet` the warnings alone.
pub(super) fn text(ended: &Ended, quiet: bool) -> String {
    let mut text = String::new();
    let Ended { run, lateness, lost_frames, signalled, .. } = ended;
    let seconds = run.to_s;
    if !quiet {
        for (queue, way) in run.queues.iter().zip(["down", "up"]) {
            text += &link(queue, way, seconds);
        }
        text += &flows(&run.flows, seconds);
        text += &own_flows(&ended.flows);
    }
    if !quiet && lateness.packets() > 0 {
        let [median, most, max] = [lateness.quantile(0.5), lateness.quantile(0.99), lateness.max()].map(micros);
        let _ = writeln!(text, "packets late by {median} (median), {most} (99 %), {max} (most)");
    }
    for ((queue, way), signalled) in run.queues.iter().zip(["down", "up"]).zip(signalled) {
        text += &limited(queue, way, *signalled);
    }
    if lateness.quantile(0.99) > LATE {
        let late = micros(lateness.quantile(0.99));
        let _ = writeln!(text, "warning: 1 % of the packets were late by more than {late}: the machine was too busy");
    }
    if let Some(error) = &ended.capture_failed {
        let _ = writeln!(text, "warning: the capture (--pcap) is partial: {error}");
    }
    if ended.server_ended {
        text += "warning: the server (--server) ended before the command\n";
    }
    if *lost_frames > 0 {
        let _ =
            writeln!(text, "warning: {lost_frames} packets were lost outside of the link: the machine was too slow");
    }
    text
}

/// Returns a note if the discipline limited the throughput.
fn limited(queue: &QueueRun, way: &str, Signalled { seconds, utilisation }: Signalled) -> String {
    if seconds < LIMITED_SECONDS || utilisation >= USED {
        return String::new();
    }
    format!(
        "note: {way}: the discipline, not the link, limited the throughput: in the {seconds} s in which {} dropped or \
         marked packets the link was used to {:.0} %\n",
        queue.kind,
        100.0 * utilisation
    )
}

/// Returns the lines of one direction.
fn link(queue: &QueueRun, way: &str, seconds: f64) -> String {
    let sum = |of: fn(&fairlane_outcome::QueueFlowRun) -> u64| queue.flows.iter().map(of).sum::<u64>();
    let (departed, bytes) = (sum(|flow| flow.departed), sum(|flow| flow.departed_bytes));
    let throughput = bytes as f64 * 8.0 / seconds.max(1e-9);
    let utilisation = if queue.rate_bps > 0.0 { 100.0 * throughput / queue.rate_bps } else { 0.0 };
    let delay = |part| queue.delay_ns.value_at_quantile(part) as f64 / 1e6;
    let mut text = format!(
        "{way:<5} {:<10} {} of {} Mbit/s ({utilisation:.1} %), {departed} packets, queue delay {:.2} ms (median), {:.2} ms (99 %)",
        queue.kind,
        mbit(throughput),
        mbit(queue.rate_bps),
        delay(0.5),
        delay(0.99),
    );
    for reason in Reason::ALL {
        let dropped: u64 = queue.flows.iter().map(|flow| flow.dropped[reason.index()]).sum();
        if dropped > 0 {
            let _ = write!(text, ", {dropped} dropped ({})", reason.words());
        }
    }
    for (count, what) in [(sum(|flow| flow.marked), "marked"), (sum(|flow| flow.lost), "lost")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text + "\n"
}

/// Returns a line for each of the largest flows.
fn flows(flows: &[FlowRun], seconds: f64) -> String {
    let mut largest: Vec<&FlowRun> = flows.iter().collect();
    largest.sort_by_key(|flow| std::cmp::Reverse(flow.unique_bytes));
    let mut text = String::new();
    for flow in largest.iter().take(MOST_FLOWS) {
        let rate = mbit(flow.unique_bytes as f64 * 8.0 / seconds.max(1e-9));
        let _ = write!(text, "  {:<58} {rate:>9} Mbit/s, {} packets", flow.name, flow.sent);
        for (count, what) in [(flow.dropped, "dropped"), (flow.lost, "lost"), (flow.retransmitted, "retransmissions")] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text.push('\n');
    }
    if let Some(others) = flows.len().checked_sub(MOST_FLOWS).filter(|others| *others > 0) {
        let _ = writeln!(text, "  and {others} more (--json FILE)");
    }
    text
}

/// Returns a line for each group of the scenario's own flows.
fn own_flows(flows: &[HostedCounts]) -> String {
    let group = |flow: &HostedCounts| flow.name.split('/').next().unwrap_or_default().to_owned();
    let mut text = String::new();
    for chunk in flows.chunk_by(|one, other| group(one) == group(other)) {
        let sum = |of: fn(&HostedCounts) -> u64| chunk.iter().map(of).sum::<u64>();
        let (sent, received) = (sum(|flow| flow.sent), sum(|flow| flow.received));
        let _ = write!(text, "flows {}: {sent} packets sent, {received} received", group(&chunk[0]));
        for (count, what) in
            [(sum(|flow| flow.retransmitted), "retransmissions"), (sum(|flow| flow.timeouts), "timeouts")]
        {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text.push('\n');
    }
    text
}

fn mbit(bits_per_second: f64) -> String {
    let mbit = bits_per_second / 1e6;
    if mbit < 10.0 { format!("{mbit:.2}") } else { format!("{mbit:.1}") }
}

fn micros(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1e3;
    if micros < 1e3 { format!("{micros:.1} us") } else { format!("{:.1} ms", micros / 1e3) }
}
