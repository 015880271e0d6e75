//! The processor time of a frame, while frames that wait in the ring are forwarded and nothing else runs.

use std::thread;

use crate::common::Lab;
use crate::load::{DECIDES, SENDS, cost, in_turn, listen, median, quantile, send_number, stay_on};
use crate::program::{PROGRAMS, Program};

/// The sizes of IP packets in bytes.
const SIZES: [usize; 2] = [64, 1500];

/// The number of waiting frames, below the number of slots of the ring.
const FRAMES: u64 = 3840;

/// The number of repetitions for each round of the other measurements, since this one is short.
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
            let [low, core, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            let nanos = median(of.iter().copied());
            println!("| {bytes} | {} | {nanos:.0} | {core:.3} ({low:.3} to {high:.3}) |", program.name());
        }
    }
}

/// Returns the time per frame in nanoseconds, without that of the end, which releases the rings.
fn measure(lab: &Lab, program: Program, bytes: usize) -> f64 {
    let [none, all] = [0, FRAMES].map(|frames| passed_on(lab, program, bytes, frames));
    (all - none) / FRAMES as f64
}

/// Returns the time in nanoseconds to forward this many frames and to end.
fn passed_on(lab: &Lab, program: Program, bytes: usize, frames: u64) -> f64 {
    let router = program.open(false);
    lab.sender.run(move || {
        stay_on(SENDS);
        send_number(bytes, frames);
    });
    let handle = router.handle();
    let worked = thread::spawn(move || {
        stay_on(DECIDES);
        // The program ends when no frame waits.
        handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
        cost(|| router.run().unwrap())
    });
    let (report, processor) = worked.join().unwrap();
    assert_eq!(program.counts(&report).forwarded, frames, "what was sent did not wait: {report:?}");
    processor
}
