//! The disciplines under Poisson arrivals and exponential service, against closed forms and the tables of the CHOKe paper.
//!
//! As in the models, the packet in service stays at the head of the queue: it is taken when its service ends. Time advances by
//! uniformisation: each step is an arrival of flow i with probability `lambda_i / (Lambda + mu)`, else an end of service, which
//! finds the queue empty or not. Averages over steps are averages over time.

use fairlane_qdisc::{
    AnyQdisc, Duration, Host, Kind, ParameterError, Qdisc, QdiscConfig, Rate, Seed, SimplePacket, Time,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Observed {
    /// For each flow, the part of all ends of service that served one of its packets.
    served: Vec<f64>,
    /// For each flow, its part of what was admitted.
    admitted: Vec<f64>,
    /// The part of time with so many packets, the last for more.
    lengths: Vec<f64>,
    /// The part of all arrivals that was lost.
    lost: f64,
}

fn observe(queue: &mut AnyQdisc<SimplePacket>, mu: f64, lambda: &[f64], steps: u32) -> Observed {
    let total = mu + lambda.iter().sum::<f64>();
    let mut random = Seed::new(7).stream("events");
    let (mut served, mut offered, mut services) = (vec![0.0; lambda.len()], vec![0.0; lambda.len()], 0.0);
    let mut admitted = vec![0.0; lambda.len()];
    let mut lengths = vec![0.0; 64];
    let mut now = Time::ZERO;
    for _ in 0..steps {
        now += Duration::from_nanos(1000);
        let length = queue.packets().min(lengths.len() - 1);
        lengths[length] += 1.0 / f64::from(steps);
        let mut roll = random.unit() * total;
        let flow = lambda.iter().position(|rate| {
            roll -= rate;
            roll < 0.0
        });
        if let Some(flow) = flow {
            offered[flow] += 1.0;
            let before = queue.counters().dropped_total().packets;
            queue.enqueue(now, SimplePacket::new(flow as u64, 1000), &mut ());
            if queue.counters().dropped_total().packets == before {
                admitted[flow] += 1.0;
            }
        } else {
            services += 1.0;
            if queue.packets() > 0
                && let Some(packet) = queue.dequeue(now, &mut ())
            {
                served[packet.flow as usize] += 1.0;
            }
        }
    }
    let (all, in_all) = (offered.iter().sum::<f64>(), admitted.iter().sum::<f64>());
    Observed {
        served: served.iter().map(|count| count / services).collect(),
        admitted: admitted.iter().map(|count| count / in_all).collect(),
        lengths,
        lost: 1.0 - in_all / all,
    }
}

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<AnyQdisc<SimplePacket>, ParameterError> {
    let mut config = QdiscConfig::new(kind);
    for (key, value) in given {
        config = config.with(key, *value)?;
    }
    config.build(&Host { rate: Rate::from_bits_per_second(8_000_000), seed: Seed::new(1) })
}

/// Table II of the paper: front CHOKe without thresholds, simulated by its authors and in theory,
/// `pi_i = lambda_i / (mu + 2 lambda_i)`.
#[test]
fn front_choke_gives_table_2() -> Outcome {
    // mu, lambdas, the theory's probability of an empty queue and of each flow at the head.
    let rows: [(&[f64], &[f64], f64); 8] = [
        (&[0.5, 1.0], &[0.417, 0.250, 0.333], 0.003),
        (&[1.0, 2.0], &[0.267, 0.333, 0.400], 0.003),
        (&[2.0, 3.0], &[0.171, 0.400, 0.429], 0.003),
        (&[3.0, 4.0], &[0.127, 0.429, 0.444], 0.003),
        (&[3.0, 5.0], &[0.117, 0.429, 0.455], 0.003),
        (&[3.0, 6.0], &[0.110, 0.429, 0.462], 0.003),
        (&[0.3, 0.6, 0.9], &[0.218, 0.188, 0.273, 0.321], 0.003),
        // Close to instability, it mixes slowly: the authors' own simulation is off by 0.005.
        (&[0.5, 1.0, 1.5], &[0.042, 0.250, 0.333, 0.375], 0.006),
    ];
    for (lambda, theory, tolerance) in rows {
        // A weight of 1 makes the average the queue itself, and thresholds of 0 and without reach leave CHOKe alone.
        let alone = [
            ("limit", "1000000p"),
            ("min", "0p"),
            ("max", "10000000p"),
            ("weight", "1"),
            ("probability", "0.000000001"),
            ("spare", "false"),
        ];
        let seen = observe(&mut build(Kind::FrontChoke, &alone)?, 1.0, lambda, 3_000_000);
        let all = std::iter::once(seen.lengths[0]).chain(seen.served);
        for (seen, theory) in all.zip(theory) {
            assert!((seen - theory).abs() <= tolerance, "{lambda:?}: {seen}, {theory} in theory");
        }
    }
    Ok(())
}

/// Table III of the paper: each flow's part of what back CHOKe with a memory of k flows admits.
#[test]
fn back_choke_with_memory_gives_table_3() -> Outcome {
    let rows: [(&str, &[f64], &[f64]); 8] = [
        ("0", &[1.0, 1.0, 1.0, 7.0], &[0.1, 0.1, 0.1, 0.7]),
        ("1", &[1.0, 1.0, 1.0, 7.0], &[0.1875, 0.1875, 0.1875, 0.4375]),
        ("2", &[1.0, 1.0, 1.0, 7.0], &[0.2273, 0.2273, 0.2273, 0.3182]),
        ("3", &[1.0, 1.0, 1.0, 7.0], &[0.25, 0.25, 0.25, 0.25]),
        ("1", &[1.0, 2.0, 3.0, 4.0], &[0.1286, 0.2286, 0.3000, 0.3429]),
        ("2", &[1.0, 2.0, 3.0, 4.0], &[0.1733, 0.2533, 0.2800, 0.2933]),
        ("3", &[1.0, 2.0, 3.0, 4.0, 5.0], &[0.1405, 0.1953, 0.2135, 0.2226, 0.2281]),
        ("3", &[1.0, 3.0, 5.0, 7.0, 9.0], &[0.1101, 0.2034, 0.2220, 0.2300, 0.2345]),
    ];
    for (memory, lambda, shares) in rows {
        let mut queue = build(Kind::MlocChoke, &[("limit", "1000000p"), ("memory", memory)])?;
        let seen = observe(&mut queue, 50.0, lambda, 8_000_000);
        for (seen, share) in seen.admitted.iter().zip(shares) {
            assert!((seen - share).abs() <= 0.003, "memory {memory}, {lambda:?}: {seen}, {share} in the table");
        }
    }
    Ok(())
}

/// Each kind with what makes it let everything pass that fits into `limit`.
fn passing(kind: Kind, limit: &str) -> Result<AnyQdisc<SimplePacket>, ParameterError> {
    match kind {
        Kind::DropTail => build(kind, &[("limit", limit)]),
        Kind::MlocChoke => build(kind, &[("limit", limit), ("memory", "0")]),
        _ => build(kind, &[("limit", limit), ("min", "1000000p"), ("max", "3000000p")]),
    }
}

const PASSING: [Kind; 10] = [
    Kind::DropTail,
    Kind::Red,
    Kind::Ared,
    Kind::Choke,
    Kind::ChokeAdaptive,
    Kind::FrontChoke,
    Kind::BackChoke,
    Kind::MlocChoke,
    Kind::Xchoke,
    Kind::Gchoke,
];

/// M/M/1: `P(n) = (1 - rho) rho^n`.
#[test]
fn everything_passes_as_m_m_1() -> Outcome {
    let rho = 0.7;
    for kind in PASSING {
        let seen = observe(&mut passing(kind, "100000p")?, 1.0, &[0.3, 0.4], 2_000_000);
        let mut expected = 1.0 - rho;
        for (n, part) in seen.lengths.iter().take(12).enumerate() {
            assert!((part - expected).abs() < 0.004, "{kind}: {n} packets for {part} of the time, not {expected}");
            expected *= rho;
        }
        assert!(seen.lost == 0.0, "{kind} lost {}", seen.lost);
    }
    Ok(())
}

/// M/M/1/K: an arrival is lost with `(1 - rho) rho^K / (1 - rho^(K + 1))`.
#[test]
fn what_does_not_fit_is_lost_as_m_m_1_k() -> Outcome {
    for rho in [0.5, 0.9, 2.0] {
        let power: f64 = (0..8).map(|_| rho).product();
        let expected = (1.0 - rho) * power / (1.0 - power * rho);
        for kind in PASSING {
            let seen = observe(&mut passing(kind, "8p")?, 1.0, &[rho], 1_000_000);
            assert!((seen.lost - expected).abs() < 0.003, "{kind} at {rho}: {} lost, not {expected}", seen.lost);
        }
    }
    Ok(())
}
