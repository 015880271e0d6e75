//! The processor time of a packet, while verdicts are given on packets that wait and nothing else runs.

use std::thread;
use std::time::Instant;

use crate::common::{Lab, install};
use crate::load::{DECIDES, SENDS, cost, in_turn, listen, median, quantile, send_number, stay_on};
use crate::program::{PROGRAMS, Program};

/// The sizes of IP packets in bytes.
const SIZES: [usize; 2] = [64, 1500];

/// The number of waiting packets, which fit into the receive buffer.
const PACKETS: u64 = 16_384;

/// The number of repetitions for each round of the other measurements, since this one is short.
const TIMES: usize = 5;

/// The time per packet in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Sample {
    processor: f64,
    wall: f64,
}

/// Measures all programs in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nWhat waits is decided on\n");
    println!("| bytes | program | CPU ns a packet | wall ns a packet | CPU, of bare's (quartiles) |");
    println!("|---|---|---|---|---|");
    for bytes in SIZES {
        let samples = in_turn(&PROGRAMS, rounds * TIMES, |program| measure(lab, program, bytes));
        for (program, of) in PROGRAMS.iter().zip(&samples) {
            let ratios = of.iter().zip(&samples[0]).map(|(one, bare)| one.processor / bare.processor);
            let [low, core, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            println!(
                "| {bytes} | {} | {:.0} | {:.0} | {core:.3} ({low:.3} to {high:.3}) |",
                program.name(),
                median(of.iter().map(|sample| sample.processor)),
                median(of.iter().map(|sample| sample.wall)),
            );
        }
    }
}

fn measure(lab: &Lab, program: Program, bytes: usize) -> Sample {
    let bound = program.bind();
    let firewall = install(0);
    lab.sender.run(move || {
        stay_on(SENDS);
        send_number(bytes, PACKETS);
    });
    (bound.stop)();
    let worked = thread::spawn(|| {
        stay_on(DECIDES);
        let start = Instant::now();
        let (packets, cost) = cost(bound.work);
        (packets, cost, start.elapsed())
    });
    let (packets, processor, wall) = worked.join().unwrap();
    firewall.remove(0).unwrap();
    assert_eq!(packets, PACKETS, "what was sent did not wait");
    let each = 1.0 / packets as f64;
    Sample { processor: processor * each, wall: wall.as_nanos() as f64 * each }
}
