//! No packet is lost or counted twice: arrived = departed + dropped + flushed + queued, as many as the generator has
//! sent arrive, and as many depart as the device counts.

use std::error::Error;
use std::thread;

use fairlane_bpf::{Program, State, attach, detach, status};
use fairlane_qdisc::Kind;

use super::Checked;
use super::traffic::{
    DEVICE, Traffic, device, discipline, generate, generated, prepare, program, start, statistic, stop,
};

/// A discipline, its parameters, the rate of the link in Mbit/s, and the discipline's part of the packets in tenths.
/// The generator sends without pause about 800 Mbit/s of packets of 1000 bytes.
const DISCIPLINES: [(Kind, &str, u64, u64); 4] = [
    (Kind::Choke, "limit=300p min=100p max=200p", 100, 6),
    (Kind::Choke, "limit=100000b min=20000b max=60000b candidates=5 ecn=true harddrop=false", 10, 2),
    (Kind::Gchoke, "limit=100p min=20p max=60p", 10, 1),
    (Kind::Red, "limit=100p min=20p max=60p ecn=true harddrop=false", 100, 1),
];

/// Sends about `packets` packets through each of the disciplines.
pub(super) fn check(packets: u64) -> Checked {
    let (mut total, mut flushed, mut marked) = (0, 0, 0);
    for (kind, parameters, link, tenths) in DISCIPLINES {
        let state = one(&discipline(kind, parameters, link)?, packets * tenths / 10)
            .map_err(|error| format!("{kind} {parameters}: {error}"))?;
        total += state.arrived.packets;
        flushed += state.flushed.packets;
        marked += state.marked.iter().map(|marks| marks.count.packets).sum::<u64>();
    }
    if total < packets || flushed == 0 || marked == 0 {
        return Err(format!("{total} packets, {flushed} flushed, {marked} marked: the traffic misses a path").into());
    }
    Ok(format!("{total} packets, of which {flushed} were flushed; all are accounted for"))
}

/// Sends at least `packets` packets through one discipline, and returns its final state.
fn one(discipline: &Program, packets: u64) -> Result<State, Box<dyn Error>> {
    device()?;
    attach(DEVICE, discipline)?;
    let flood = Traffic { packets: 0, flows: 1, bytes: [1000; 2], delay_ns: 0, ecn: false };
    let phases = [
        Traffic { ..flood },
        Traffic { flows: 1000, ecn: true, ..flood },
        Traffic { flows: 8, bytes: [60, 1514], ..flood },
    ];
    let mut sent = 0;
    for (number, phase) in (1..).zip(&phases) {
        sent += at_least(packets * number / 3 - sent.min(packets * number / 3), phase)?;
        balanced(sent)?;
    }
    // Packets one by one, between which the queue is often empty.
    sent += generate(&Traffic { packets: 500, flows: 4, delay_ns: 120_000, ..flood })?.packets;
    // Packets that are queued when the device goes down are flushed; then it goes on. The generator may give one packet
    // to the device that is down already. Of many flows, since matches of one may have emptied the queue.
    sent += until_down(&Traffic { flows: 1000, ..flood })?;
    sent -= u64::from(ours()?.arrived.packets + 1 == sent);
    let state = balanced(sent)?;
    if state.queued.packets > 0 || state.flushed.packets == 0 {
        return Err(format!("the device is down: {state:?}").into());
    }
    program("ip", &["link", "set", DEVICE, "up"])?;
    sent += at_least(500, &flood)?;
    let state = balanced(sent)?;
    detach(DEVICE)?;
    Ok(state)
}

/// Generates at least `packets` packets. The generator counts the packets that the discipline takes; the
/// first ones tell which part that is.
fn at_least(packets: u64, phase: &Traffic) -> Result<u64, Box<dyn Error>> {
    let (mut sent, mut taken) = (0, packets / 100 + 100);
    let mut all_taken = 0;
    while sent < packets {
        sent += generate(&Traffic { packets: taken, ..*phase })?.packets;
        all_taken += taken;
        taken = packets.saturating_sub(sent) * all_taken / sent + 100;
    }
    Ok(sent)
}

/// Generates packets until the device goes down in the middle of them.
fn until_down(flood: &Traffic) -> Result<u64, Box<dyn Error>> {
    prepare(flood)?;
    let before = ours()?.arrived.packets;
    let generator = thread::spawn(start);
    while ours()?.arrived.packets < before + 1000 {
        thread::yield_now();
    }
    program("ip", &["link", "set", DEVICE, "down"])?;
    stop()?;
    generator.join().map_err(|_| "the generator's thread panicked")??;
    Ok(generated()?.packets)
}

/// Compares the discipline's counts with each other and with those of others.
fn balanced(sent: u64) -> Result<State, Box<dyn Error>> {
    // The queue goes on sending; a packet may leave between two of these lines.
    let (mut before, mut state) = (statistic("tx_packets")?, ours()?);
    while statistic("tx_packets")? != before {
        (before, state) = (statistic("tx_packets")?, ours()?);
    }
    if !state.is_balanced() {
        return Err(format!("packets were lost, or counted twice: {state:?}").into());
    }
    if state.arrived.packets != sent {
        return Err(format!("{sent} packets were sent, and {} arrived", state.arrived.packets).into());
    }
    if state.departed.packets != before {
        return Err(format!("{} packets departed, and the device sent {before}", state.departed.packets).into());
    }
    Ok(state)
}

fn ours() -> Result<State, Box<dyn Error>> {
    let found = status()?.into_iter().find(|instance| instance.device.as_deref() == Some(DEVICE));
    Ok(found.ok_or("the device has no discipline of ours")?.state)
}
