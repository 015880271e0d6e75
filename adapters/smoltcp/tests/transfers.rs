//! Transfers by smoltcp share a bottleneck.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Fingerprint, Observer, run_endpoints};
use fairlane_smoltcp::transfer;
use smoltcp::socket::tcp::CongestionControl;

/// The rate of the link in bit/s.
const RATE: u64 = 20_000_000;
/// The seconds that are measured.
const SECONDS: u64 = 15;
const FLOOD: &str = "[[flows]]\nname = 'flood'\nkind = 'udp'\nrate = '40mbit'\n";

/// Runs ten transfers, and these flows, at 20 Mbit/s through `queue`.
fn simulate(congestion: CongestionControl, flows: &str, queue: &str, observer: &mut impl Observer) -> Run {
    let text = format!(
        "duration = '20s'\nwarmup = '5s'\n[bottleneck]\nrate = '20mbit'\ndelay = '10ms'\nqueue = {{ kind = '{queue}' }}\n\
         [[flows]]\nname = 'smoltcp'\nkind = 'endpoint'\ncount = 10\n{flows}"
    );
    let scenario = Document::parse("smoltcp.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run_endpoints(&scenario, 0, &Control::default(), observer, |_, _, seed| Some(transfer(congestion, seed)))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the goodput of each transfer in bit/s.
fn goodputs(run: &Run) -> impl Iterator<Item = u64> {
    let transfers = run.flows.iter().filter(|flow| &*flow.group == "smoltcp");
    transfers.map(|flow| flow.unique_bytes * 8 / SECONDS)
}

/// Would catch a stall: packets or timers that get lost between smoltcp and the simulator. A packet of 1500 bytes
/// carries at most 1460: 97.3 % of the link are data, and a little more where some had waited for a retransmission when
/// the measurement began. With congestion control it is at least 90 %.
#[test]
fn transfers_fill_the_link_under_every_discipline() {
    for queue in ["droptail", "choke", "fq-codel", "dualpi2"] {
        for congestion in [CongestionControl::Reno, CongestionControl::Cubic] {
            let sum: u64 = goodputs(&simulate(congestion, "", queue, &mut ())).sum();
            assert!(sum > RATE * 90 / 100 && sum < RATE * 98 / 100, "{congestion:?} under {queue}: {sum} bit/s");
        }
    }
}

/// Would catch flows that are not told apart, or that do not recover from losses. A FIFO leaves the transfers next to
/// nothing of a link with a flood; fair queueing leaves each of the eleven flows its part.
#[test]
fn transfers_survive_a_flood_behind_fair_queueing() {
    let sum = |queue| goodputs(&simulate(CongestionControl::Reno, FLOOD, queue, &mut ())).sum::<u64>();
    assert!(sum("droptail") < RATE / 100);
    assert!(sum("fq-codel") > RATE * 10 / 11 * 90 / 100);
}

/// Would catch randomness that does not come from the seed.
#[test]
fn the_same_seed_has_the_same_packets() {
    let print = || {
        let mut fingerprint = Fingerprint::default();
        simulate(CongestionControl::Cubic, "", "droptail", &mut fingerprint);
        fingerprint.strict()
    };
    assert_eq!(print(), print());
}
