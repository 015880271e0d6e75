//! quick
use fairlane_outcome::Outcome;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_all};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut d = Document::load(std::path::Path::new(&args[1])).unwrap_or_else(|e| panic!("{e}"));
    let runs: u32 = args[2].parse().unwrap();
    for kv in &args[3..] {
        let (k, v) = kv.split_once('=').unwrap();
        d.set(k, v).unwrap_or_else(|e| panic!("{e}"));
    }
    let s = d.scenario().unwrap_or_else(|e| panic!("{e}"));
    let r = run_all(std::slice::from_ref(&s), runs, &Control::default()).unwrap();
    let o = Outcome::from_runs(&r[0]).unwrap();
    for q in &o.queues {
        println!(
            "{} {} mean {:.1} avg {:?} util {:.4}",
            q.name,
            q.kind,
            q.mean_packets.mean,
            q.mean_avg.map(|a| a.mean),
            q.utilisation.mean
        );
        for g in &q.groups {
            println!(
                "   {} {:.1} kb/s ± {:.1} drop {:.4} qshare {:.3} {:?}",
                g.name,
                g.throughput_bps.mean / 1e3,
                g.throughput_bps.ci95.unwrap_or(0.0) / 1e3,
                g.drop_ratio.mean,
                g.queue_share.mean,
                0
            );
        }
    }
    for g in &o.groups {
        println!("{} {:.1} kb/s jain {:.3}", g.name, g.throughput_bps.mean / 1e3, g.jain.mean);
    }
    let mut t: Vec<_> = o.flows.iter().map(|f| f.throughput_bps.mean / 1e3).collect();
    t.sort_by(f64::total_cmp);
    println!(
        "min {:.1} max {:.1}; events {} hops {} timeouts {}",
        t[0],
        t[t.len() - 2],
        o.cost.events,
        o.cost.packet_hops,
        o.flows.iter().map(|f| f.timeouts.mean).sum::<f64>()
    );
}
