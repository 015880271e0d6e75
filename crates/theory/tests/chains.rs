//! The closed forms against slow, obvious computations of the same Markov chains.

use fairlane_theory::{BackChoke, Error, FrontChoke};

/// All ordered memories of `k` different flows out of `n`, the newest first.
fn memories(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..k {
        let mut longer = Vec::new();
        for memory in &all {
            let free = (0..n).filter(|flow| !memory.contains(flow));
            longer.extend(free.map(|flow| [&memory[..], &[flow]].concat()));
        }
        all = longer;
    }
    all
}

/// The law of the memory at admissions, by power iteration, and each flow's share and admitted rate from it. Half of
/// the steps stay where they are, so that a chain that goes round converges, too.
fn by_iteration(rates: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
    let states = memories(rates.len(), k);
    let position = |memory: &[usize]| states.iter().position(|state| state == memory).unwrap_or(usize::MAX);
    let left = |state: &[usize]| -> f64 { (0..rates.len()).filter(|f| !state.contains(f)).map(|f| rates[f]).sum() };
    let steps: Vec<Vec<(usize, usize, f64)>> = states
        .iter()
        .map(|state| {
            let next = |flow: usize| [&[flow], &state[..]].concat()[..k].to_vec();
            let free = (0..rates.len()).filter(|flow| !state.contains(flow));
            free.map(|flow| (flow, position(&next(flow)), rates[flow] / left(state))).collect()
        })
        .collect();
    let mut law = vec![1.0 / states.len() as f64; states.len()];
    for _ in 0..3000 {
        let mut next: Vec<f64> = law.iter().map(|part| part / 2.0).collect();
        for (part, steps) in law.iter().zip(&steps) {
            for (_, to, probability) in steps {
                next[*to] += part * probability / 2.0;
            }
        }
        law = next;
    }
    let mut shares = vec![0.0; rates.len()];
    for (part, steps) in law.iter().zip(&steps) {
        for (flow, _, probability) in steps {
            shares[*flow] += part * probability;
        }
    }
    // A state lasts 1 / (what is left) on average, so that is the mean time between admissions.
    let time: f64 = law.iter().zip(&states).map(|(part, state)| part / left(state)).sum();
    let admitted = shares.iter().map(|share| share / time).collect();
    (shares, admitted)
}

/// Would catch a wrong polynomial, a share taken for a rate, and a memory of the wrong length.
#[test]
fn back_choke_is_the_law_of_its_chain() -> Result<(), Error> {
    let flows: [&[f64]; 4] =
        [&[1.0, 1.0, 1.0, 7.0], &[1.0, 2.0, 3.0, 4.0], &[0.2, 5.0, 1.0, 9.0, 0.7], &[3.0, 0.01, 40.0]];
    for rates in flows {
        for k in 0..rates.len() {
            let (shares, admitted) = by_iteration(rates, k);
            let model = BackChoke::new(rates, k)?;
            for ((flow, share), admitted) in model.flows().iter().zip(shares).zip(admitted) {
                assert!((flow.share - share).abs() < 1e-9, "{rates:?}, k = {k}: share {}, not {share}", flow.share);
                let off = (flow.admitted - admitted).abs() / admitted;
                assert!(off < 1e-9, "{rates:?}, k = {k}: {} admitted, not {admitted}", flow.admitted);
            }
        }
    }
    Ok(())
}

/// With a memory of all flows but one they go in turns, each at the rate of the harmonic sum: a turn waits for each of
/// them.
#[test]
fn a_long_memory_is_a_round_robin_of_a_thousand_flows() -> Result<(), Error> {
    let rates: Vec<f64> = (1..=1000).map(f64::from).collect();
    let turn: f64 = rates.iter().map(|rate| 1.0 / rate).sum();
    for flow in BackChoke::new(&rates, 999)?.flows() {
        assert!((flow.share - 0.001).abs() < 1e-12, "{}", flow.share);
        assert!((flow.admitted * turn - 1.0).abs() < 1e-9, "{}", flow.admitted);
    }
    Ok(())
}

/// One flow under front CHOKe is a birth and death chain: up at `lambda` when empty, else down at `lambda + mu`, so
/// empty for `(lambda + mu) / (2 lambda + mu)` of the time.
#[test]
fn front_choke_with_one_flow_is_a_chain_of_two_states() -> Result<(), Error> {
    for lambda in [0.001, 0.5, 1.0, 20.0] {
        let empty = (lambda + 1.0) / (2.0 * lambda + 1.0);
        assert!((FrontChoke::new(1.0, &[lambda])?.empty() - empty).abs() < 1e-12);
    }
    Ok(())
}
