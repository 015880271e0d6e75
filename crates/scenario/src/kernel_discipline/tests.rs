use fairlane_qdisc::{Kind, QdiscParameters};

use super::*;

fn translated(kind: Kind, set: &[(&str, &str)]) -> Option<KernelDiscipline> {
    let rate = Rate::from_bits_per_second(10_000_000);
    let parameters = set.iter().fold(QdiscParameters::new(kind), |all, (key, value)| all.with(key, *value).unwrap());
    KernelDiscipline::new(parameters.resolve(rate).unwrap().config(), rate, 1000)
}

/// tc-testing's example, `choke limit 1000`: min 83, max 250 and burst 138 give Wlog 6. Each burst up to it that
/// gives 6 is as good, and the smallest is chosen.
#[test]
fn a_burst_gives_its_weight() {
    assert_eq!(exponent_of(138, 83.0), Some(6));
    for (exponent, min) in [(5, 25.0), (6, 83.0), (9, 100.0), (9, 5.0), (2, 5.0)] {
        let burst = burst_for(exponent, min).unwrap();
        assert_eq!(exponent_of(burst, min), Some(exponent));
        assert_ne!(exponent_of(burst - 1, min), Some(exponent), "{burst} is not the smallest");
    }
    assert!(burst_for(6, 83.0).unwrap() <= 138);
    // With a burst of min, a packet above the average is let through by the largest weight; no smaller burst
    // exists.
    assert_eq!(burst_for(1, 100.0), Some(100));
}

/// The words against the manual pages tc-choke(8), tc-red(8), tc-sfb(8), tc-sfq(8), tc-codel(8), tc-fq_codel(8),
/// tc-pie(8), tc-fq_pie(8), tc-cake(8), tc-dualpi2(8), tc-bfifo(8).
#[test]
fn words_are_those_of_tc() {
    let words = |kind, set: &[(&str, &str)]| translated(kind, set).unwrap().words;
    assert_eq!(words(Kind::DropTail, &[("limit", "64kb")]), "bfifo limit 64000");
    assert_eq!(words(Kind::DropTail, &[("limit", "50p"), ("drop", "front")]), "pfifo_head_drop limit 50");
    assert_eq!(
        words(
            Kind::Choke,
            &[("limit", "300p"), ("min", "100p"), ("max", "200p"), ("weight", "0.015625"), ("probability", "0.02")]
        ),
        format!(
            "choke limit 300 min 100 max 200 avpkt 1000 burst {} probability 0.02 bandwidth 10000000bit",
            burst_for(6, 100.0).unwrap()
        )
    );
    let red = words(Kind::Red, &[("limit", "300p"), ("min", "100p"), ("max", "200p"), ("ecn", "true")]);
    assert!(red.starts_with("red limit 300000 min 100000 max 200000 avpkt 1000 burst "), "{red}");
    assert!(red.ends_with("bandwidth 10000000bit ecn"), "{red}");
    assert_eq!(
        words(Kind::Sfb, &[]),
        "sfb limit 300 target 20 max 25 increment 0.0005 decrement 0.00005 rehash 600000 db 60000 penalty_rate 10 penalty_burst 20"
    );
    assert_eq!(
        words(Kind::Sfq, &[("perturb", "1500ms"), ("headdrop", "true")]),
        "sfq limit 300 divisor 1024 flows 1024 depth 127 quantum 1000 perturb 2 headdrop"
    );
    assert_eq!(words(Kind::Codel, &[]), "codel limit 1000 target 5000us interval 100000us noecn");
    assert_eq!(
        words(Kind::FqCodel, &[("ce_threshold", "1ms")]),
        "fq_codel limit 10240 flows 1024 quantum 1514 memory_limit 33554432 drop_batch 64 target 5000us interval 100000us ecn \
         ce_threshold 1000us"
    );
    assert_eq!(
        words(Kind::Pie, &[]),
        "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator"
    );
    assert_eq!(
        words(Kind::DualPi2, &[("alpha", "0.15625"), ("beta", "3.195312")]),
        "dualpi2 limit 10000 target 15000us tupdate 16000us alpha 0.15625 beta 3.195312 coupling_factor 2 \
         drop_on_overload step_thresh 1000us min_qlen_step 0 classic_protection 10"
    );
    assert!(words(Kind::FqPie, &[]).starts_with("fq_pie limit 10240 flows 1024 quantum 1514 "));
    assert_eq!(
        words(Kind::Cake, &[("isolation", "dual-srchost"), ("rtt", "30ms"), ("ingress", "true")]),
        "cake bandwidth 10000000bit overhead 0 diffserv3 dual-srchost rtt 30000us ingress"
    );
    assert_eq!(
        words(
            Kind::Cake,
            &[
                ("diffserv", "diffserv8"),
                ("isolation", "hosts"),
                ("wash", "true"),
                ("ack_filter", "aggressive"),
                ("nat", "true")
            ]
        ),
        "cake bandwidth 10000000bit overhead 0 diffserv8 hosts rtt 100000us wash ack-filter-aggressive nat"
    );
}

#[test]
fn a_discipline_that_shapes_stands_alone() {
    let of = |kind| translated(kind, &[]).unwrap().commands("r1", Rate::from_bits_per_second(10_000_000), 2000);
    let cake = "qdisc replace dev r1 root handle 2: cake bandwidth 10000000bit overhead 0 diffserv3";
    assert!(of(Kind::Cake)[0].starts_with(cake) && of(Kind::Cake).len() == 1);
    assert_eq!(
        of(Kind::Codel),
        [
            "qdisc replace dev r1 root handle 1: stab overhead -14 linklayer ethernet tbf rate 10000000bit burst 2000b \
             limit 1gb",
            "qdisc replace dev r1 parent 1:1 handle 2: codel limit 1000 target 5000us interval 100000us noecn",
        ]
    );
}

/// Differences of the kernel's discipline are told; a discipline that the kernel does not have is refused.
#[test]
fn differences_are_told() {
    let differences = |kind, set: &[(&str, &str)]| translated(kind, set).unwrap().differences;
    let same = [("sampling", "linux"), ("count_matches", "false")];
    assert_eq!(differences(Kind::Choke, &same), [""; 0]);
    assert_eq!(differences(Kind::Choke, &[]).len(), 2);
    let weight = differences(Kind::Red, &[("weight", "0.002")]);
    assert_eq!(weight, ["the kernel's weight of a sample is 2^-9, the nearest to 0.002"]);
    assert!(differences(Kind::Sfb, &[("bins", "23")])[0].contains("8 levels of 16 bins"));
    for kind in [Kind::Blue, Kind::Gchoke, Kind::FrontChoke, Kind::Drr] {
        assert_eq!(translated(kind, &[]), None, "{kind}");
    }
    assert_eq!(translated(Kind::DropTail, &[("drop", "random")]), None);
}
