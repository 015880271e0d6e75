//! Instructions a packet, compared with the kernel's `tbf` with `sch_choke` below.
//!
//! A guest's clock counts two nanoseconds for each instruction, and the generator leaves no pause, so the time of a
//! flood tells the instructions of everything that happens to its packets: making one, enqueue, the share of
//! departures, the device.

use std::error::Error;

use fairlane_bpf::{attach, detach};
use fairlane_qdisc::Kind;

use super::Checked;
use super::traffic::{DEVICE, Traffic, device, discipline, generate, program};

/// Nanoseconds of a guest's clock for an instruction.
const NS: f64 = 2.0;

/// The bound of the ratio.
const MOST: f64 = 1.15;

/// The rate of the link in Mbit/s: the flood is about ten times as much.
const LINK: u64 = 100;

/// Packets before the first flood, while the kernel still does what belongs to its start.
const FIRST: u64 = 50_000;

/// Sends floods of `packets` packets: of one flow, and of a thousand.
pub(super) fn check(packets: u64) -> Checked {
    device()?;
    generate(&Traffic { packets: FIRST, flows: 1, bytes: [1000; 2], delay_ns: 0, ecn: false })?;
    let mut text = String::new();
    let mut worst: f64 = 0.0;
    for flows in [1, 1000] {
        let flood = Traffic { packets, flows, bytes: [1000; 2], delay_ns: 0, ecn: false };
        device()?;
        let none = instructions(&flood)?;
        kernels_choke()?;
        let kernel = instructions(&flood)?;
        attach(DEVICE, &discipline(Kind::Choke, "limit=300p min=100p max=200p", LINK)?)?;
        let ours = instructions(&flood)?;
        detach(DEVICE)?;
        worst = worst.max(ours / kernel);
        text += &format!(
            "{flows} flows: no discipline {none:.0}, tbf and choke {kernel:.0}, ours {ours:.0}, ratio {:.3}; ",
            ours / kernel
        );
    }
    if worst > MOST { Err(format!("{text}more than {MOST}").into()) } else { Ok(text) }
}

/// Puts the kernel's `tbf` with `sch_choke` below at the root of the device.
fn kernels_choke() -> Result<(), Box<dyn Error>> {
    let rate = format!("{LINK}mbit");
    let tbf = format!("qdisc replace dev {DEVICE} root handle 1: tbf rate {rate} burst 2028b limit 1gb");
    let words = format!("limit 300 min 100 max 200 avpkt 1000 burst 264 probability 0.1 bandwidth {rate}");
    let choke = format!("qdisc replace dev {DEVICE} parent 1:1 handle 2: choke {words}");
    [tbf, choke].iter().try_for_each(|command| program("tc", &command.split(' ').collect::<Vec<_>>()))
}

/// Returns the instructions a packet of a flood, after one that fills the queue.
fn instructions(flood: &Traffic) -> Result<f64, Box<dyn Error>> {
    generate(&Traffic { packets: 300, ..*flood })?;
    let generated = generate(flood)?;
    Ok(generated.us as f64 * 1000.0 / NS / generated.packets as f64)
}
