//! Packets of geometric sizes, compared with closed forms of queueing theory.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

/// Runs flows of `keys` over a link of `rate` without access links.
fn simulate(duration: &str, rate: &str, keys: &str) -> Run {
    let text = format!(
        r#"
        duration = "{duration}"
        [[links]]
        from = "a"
        to = "b"
        rate = "{rate}"
        queue = {{ kind = "droptail", limit = "100000p" }}
        [[flows]]
        name = "u"
        kind = "udp"
        from = "a"
        to = "b"
        start = "0s"
        {keys}
        "#
    );
    let scenario = Document::parse("sizes.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), &mut ()).expect("it runs")
}

/// Returns the mean waiting time in seconds.
fn wait(run: &Run) -> f64 {
    run.queues[0].delay_ns.mean() / 1e9
}

/// M/M/1: the mean waiting time is ρ/(μ − λ), here with a service time of 1/125 s at loads of 0.5 and 0.8. Would catch
/// sizes that are fixed (half the waiting time), and sizes that depend on the gaps. Over 800,000 packets the standard
/// error at a load of 0.8 is about 1 %.
#[test]
fn poisson_arrivals_and_a_thousand_bytes_make_an_m_m_1_queue() {
    for (load, rate, tolerance) in [(0.5, "500kbit", 0.02), (0.8, "800kbit", 0.04)] {
        let run =
            simulate("8000s", "1mbit", &format!("source = \"poisson\"\nrate = \"{rate}\"\nsizes = \"geometric\""));
        let expected = load / (125.0 * (1.0 - load));
        assert!((wait(&run) / expected - 1.0).abs() < tolerance, "{load}: {} for {expected}", wait(&run));
    }
}

/// Geo/Geo/1 with batches: n sources that send in a slot with probability α each, and a server that completes service
/// in a slot with probability μ. With B the work that arrives in a slot and ρ = nα/μ the mean waiting time in slots is
/// (E[B²] − ρ)/(2(1 − ρ)) + (n − 1)α/(2μ): the work in the system, and that of earlier arrivals in the same slot. For n
/// = 1 that is α(1 − μ)/(μ(μ − α)). Would catch another service time distribution, and arrivals that are not aligned
/// with slots.
#[test]
fn slots_of_a_byte_make_a_geo_geo_1_queue() {
    for (count, probability, packet) in [(1, 0.165, 4), (5, 0.033, 4), (1, 0.25, 2), (3, 0.1, 3)] {
        let keys = format!(
            "source = \"geometric\"\nslot = \"1ms\"\nprobability = {probability}\ncount = {count}\npacket = \"{packet}b\"\nsizes = \"geometric\""
        );
        let run = simulate("3000s", "8kbit", &keys);
        let (n, mean) = (f64::from(count), f64::from(packet));
        let (load, square) = (n * probability * mean, (2.0 - 1.0 / mean) * mean * mean);
        let work = n * probability * square + load * (n - 1.0) * probability * mean;
        let expected = (work - load) / (2.0 * (1.0 - load)) + (n - 1.0) * probability * mean / 2.0;
        let found = wait(&run) * 1000.0;
        assert!((found / expected - 1.0).abs() < 0.04, "{count} of {probability}: {found} for {expected}");
    }
}

/// Would catch random sizes that change the sending times: sizes have their own stream.
#[test]
fn sizes_leave_the_times_alone() {
    for source in ["source = \"poisson\"\nrate = \"80kbit\"", "rate = \"80kbit\"\njitter = 0.5"] {
        let sent = |sizes: &str| {
            let run = simulate("100s", "100mbit", &format!("{source}\npacket = \"100b\"\nsizes = \"{sizes}\""));
            (run.flows[0].sent, run.queues[0].flows[0].departed_bytes)
        };
        let ((fixed, _), (geometric, bytes)) = (sent("fixed"), sent("geometric"));
        assert_eq!(fixed, geometric);
        // 10,000 packets with a mean and a standard deviation of 100 bytes: a standard error of 1 %.
        assert!((bytes as f64 / (100.0 * geometric as f64) - 1.0).abs() < 0.04, "{bytes} in {geometric}");
    }
}
