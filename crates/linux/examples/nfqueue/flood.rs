//! Throughput of a UDP flood.

use std::thread;

use crate::common::{Lab, install};
use crate::load::{DECIDES, Flow, SENDS, cost, flood, in_turn, listen, median, quantile, stay_on};
use crate::program::{PROGRAMS, Program};

/// The sizes of IP packets in bytes.
const SIZES: [usize; 2] = [64, 1500];

/// The results of one flood through one program.
#[derive(Clone, Copy, Debug)]
struct Sample {
    flow: Flow,
    /// The processor time of a packet in nanoseconds.
    cost: f64,
}

/// Measures all programs `rounds` times in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nA flood\n");
    println!("| bytes | program | packets/s | of bare's (quartiles) | CPU ns a packet | lost in the kernel |");
    println!("|---|---|---|---|---|---|");
    for bytes in SIZES {
        let samples = in_turn(&PROGRAMS, rounds, |program| measure(lab, program, bytes));
        for (program, of) in PROGRAMS.iter().zip(&samples) {
            let rates = of.iter().map(|sample| sample.flow.packets_per_second);
            let ratios = rates.clone().zip(&samples[0]).map(|(rate, bare)| rate / bare.flow.packets_per_second);
            let [low, core, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            println!(
                "| {bytes} | {} | {:.0} | {core:.3} ({low:.3} to {high:.3}) | {:.0} | {:.1} % |",
                program.name(),
                median(rates),
                median(of.iter().map(|sample| sample.cost)),
                100.0 * median(of.iter().map(|sample| sample.flow.lost)),
            );
        }
    }
}

fn measure(lab: &Lab, program: Program, bytes: usize) -> Sample {
    let bound = program.bind();
    let firewall = install(0);
    let working = thread::spawn(|| {
        stay_on(DECIDES);
        cost(bound.work)
    });
    let flow = flood(lab, bytes, &[SENDS]);
    firewall.stop(0).unwrap();
    (bound.stop)();
    let (packets, cost) = working.join().unwrap();
    firewall.remove(0).unwrap();
    Sample { flow, cost: cost / packets as f64 }
}
