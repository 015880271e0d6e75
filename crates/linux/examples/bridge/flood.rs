//! Throughput of a UDP flood.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::Lab;
use crate::common::bridged::interface;
use crate::common::send::send_while;
use crate::load::{DECIDES, SENDS, cost, in_turn, listen, median, quantile, stay_on};
use crate::program::{PROGRAMS, Program};

/// The sizes of IP packets in bytes.
const SIZES: [usize; 2] = [64, 1500];

/// The duration of the measurement, and of the flood before it.
const MEASURED: Duration = Duration::from_millis(1000);
const SETTLING: Duration = Duration::from_millis(200);

/// The results of one flood through one program.
#[derive(Clone, Copy, Debug)]
struct Sample {
    frames_per_second: f64,
    /// The processor time of a frame in nanoseconds.
    cost: f64,
    /// The fraction of the frames that the kernel dropped because the ring was full.
    lost: f64,
}

/// Measures all programs `rounds` times in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nA flood\n");
    println!("| bytes | program | frames/s | best | of bare's (quartiles) | CPU ns a packet | lost in the kernel |");
    println!("|---|---|---|---|---|---|---|");
    for bytes in SIZES {
        let samples = in_turn(&PROGRAMS, rounds, |program| measure(lab, program, bytes));
        for (program, of) in PROGRAMS.iter().zip(&samples) {
            let rates = of.iter().map(|sample| sample.frames_per_second);
            let ratios = rates.clone().zip(&samples[0]).map(|(rate, bare)| rate / bare.frames_per_second);
            let [low, core, high] = [1, 2, 3].map(|quarters| quantile(ratios.clone(), quarters));
            println!(
                "| {bytes} | {} | {:.0} | {:.0} | {core:.3} ({low:.3} to {high:.3}) | {:.0} | {:.1} % |",
                program.name(),
                median(rates.clone()),
                rates.fold(0.0, f64::max),
                median(of.iter().map(|sample| sample.cost)),
                100.0 * median(of.iter().map(|sample| sample.lost)),
            );
        }
    }
}

fn measure(lab: &Lab, program: Program, bytes: usize) -> Sample {
    let router = program.open(false);
    let handle = router.handle();
    let working = thread::spawn(|| {
        stay_on(DECIDES);
        cost(|| router.run().unwrap())
    });
    let sending = lab.sender.start(move || {
        stay_on(SENDS);
        let start = Instant::now();
        send_while(bytes, |_| start.elapsed() < SETTLING + MEASURED + SETTLING);
    });
    thread::sleep(SETTLING);
    let received = || lab.receiver.run(|| interface("d0")[0]);
    let (start, before) = (Instant::now(), received());
    thread::sleep(MEASURED);
    let (seconds, after) = (start.elapsed().as_secs_f64(), received());
    sending.recv().unwrap();
    handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
    let (report, cost) = working.join().unwrap();
    let counts = program.counts(&report);
    let sent = (counts.received + counts.kernel_dropped) as f64;
    Sample {
        frames_per_second: (after - before) as f64 / seconds,
        cost: cost / counts.forwarded as f64,
        lost: counts.kernel_dropped as f64 / sent,
    }
}
