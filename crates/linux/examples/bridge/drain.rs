//! What waits in the ring is passed on, with nothing else going on: the processor's time that a frame takes.

use std::thread;

use crate::common::Lab;
use crate::load::{DECIDES, SENDS, cost, in_turn, listen, median, quantile, send_number, stay_on};
use crate::program::{PROGRAMS, Program};

/// Sizes of IP packets.
const SIZES: [usize; 2] = [64, 1500];

/// Frames that wait: fewer than the ring has slots.
const FRAMES: u64 = 3840;

/// For each round of the other measurements there are so many of this one, which is short.
const TIMES: usize = 15;

/// Measures all programs in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nWhat waits is passed on\n");
    println!("| bytes | program | CPU ns a packet | CPU, of bare's (quartiles) |");
    println!("|---|---|---|---|");
    for bytes in SIZES {
        let samples = in_turn(&PROGRAMS, rounds * TIMES, |program| measure(lab, program, bytes));
        for (program, of) in PROGRAMS.iter().zip(&samples) {
            let ratios = of.iter().zip(&samples[0]).map(|(one, bare)| one / bare);
            let [low, middle, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            let nanos = median(of.iter().copied());
            println!("| {bytes} | {} | {nanos:.0} | {middle:.3} ({low:.3} to {high:.3}) |", program.name());
        }
    }
}

/// The nanoseconds that a frame takes. The end takes a while by itself: the rings are given back.
fn measure(lab: &Lab, program: Program, bytes: usize) -> f64 {
    let [none, all] = [0, FRAMES].map(|frames| passed_on(lab, program, bytes, frames));
    (all - none) / FRAMES as f64
}

/// The nanoseconds in which so many frames are passed on, with the end.
fn passed_on(lab: &Lab, program: Program, bytes: usize, frames: u64) -> f64 {
    let router = program.open(false);
    lab.sender.run(move || {
        stay_on(SENDS);
        send_number(bytes, frames);
    });
    let remote = router.remote();
    let worked = thread::spawn(move || {
        stay_on(DECIDES);
        // It is over when nothing waits any more.
        remote.stop(fairlane_qdisc::Duration::from_secs(2.0));
        cost(|| router.run().unwrap())
    });
    let (report, processor) = worked.join().unwrap();
    assert_eq!(program.counts(&report).forwarded, frames, "what was sent did not wait: {report:?}");
    processor
}
