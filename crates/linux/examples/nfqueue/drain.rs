//! What waits in the kernel is decided on, with nothing else going on: the processor's time that a packet takes.

use std::thread;
use std::time::Instant;

use crate::common::{Lab, install};
use crate::load::{DECIDES, SENDS, cost, listen, median, quantile, send_number, stay_on};
use crate::program::{PROGRAMS, Program};

/// Sizes of IP packets.
const SIZES: [usize; 2] = [64, 1500];

/// Packets that wait: they fit into the receive buffer.
const PACKETS: u64 = 16_384;

/// Each round is one of the flood's, and this often.
const TIMES: usize = 5;

/// One program's work; nanoseconds of one packet.
#[derive(Clone, Copy, Debug)]
struct Sample {
    processor_ns: f64,
    ours_ns: f64,
    wall_ns: f64,
}

/// Measures all programs in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nWhat waits is decided on\n");
    println!("| bytes | program | CPU ns a packet | of it ours | wall ns a packet | CPU of bare's (quartiles) |");
    println!("|---|---|---|---|---|---|");
    for bytes in SIZES {
        let mut samples = vec![Vec::new(); PROGRAMS.len()];
        for _ in 0..rounds * TIMES {
            for (program, samples) in PROGRAMS.iter().zip(&mut samples) {
                samples.push(measure(lab, *program, bytes));
            }
        }
        for (program, of) in PROGRAMS.iter().zip(&samples) {
            let ratios = of.iter().zip(&samples[0]).map(|(one, bare)| one.processor_ns / bare.processor_ns);
            let [low, middle, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            println!(
                "| {bytes} | {} | {:.0} | {:.0} | {:.0} | {middle:.3} ({low:.3} to {high:.3}) |",
                program.name(),
                median(of.iter().map(|sample| sample.processor_ns)),
                median(of.iter().map(|sample| sample.ours_ns)),
                median(of.iter().map(|sample| sample.wall_ns)),
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
        (packets, cost, start.elapsed().as_nanos() as f64)
    });
    let (packets, cost, wall_ns) = worked.join().unwrap();
    firewall.remove(0).unwrap();
    assert_eq!(packets, PACKETS, "what was sent did not wait");
    let each = |ns: f64| ns / packets as f64;
    Sample { processor_ns: each(cost.ns), ours_ns: each(cost.ns * (1.0 - cost.kernel)), wall_ns: each(wall_ns) }
}
