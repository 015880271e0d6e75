//! The sources of UDP: what they mean in a file, and what a slip is told.

mod editor;

use fairlane_scenario::{
    Document, Duration, OnOff, PacketSizes, Periods, Rate, Scenario, ScenarioError, Source, Ssmp, Tfrc, Traffic, Udp,
};

fn check(keys: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"u\"\nkind = \"udp\"\n{keys}\n"
    );
    let read = Document::parse("test.toml", &text).and_then(|document| document.scenario());
    editor::agrees(&text, &read);
    read
}

fn udp(keys: &str) -> Udp {
    let scenario = check(keys).unwrap_or_else(|error| panic!("{error}"));
    match scenario.flows.into_iter().next().map(|group| group.traffic) {
        Some(Traffic::Udp(udp)) => udp,
        other => panic!("{other:?} is not UDP"),
    }
}

const fn kbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1000)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn each_source_is_read() {
    let source = |keys: &str| {
        let udp = udp(keys);
        (udp.rate, udp.source)
    };
    assert_eq!(source("rate = \"100kbit\""), (kbit(100), Source::Cbr { jitter: 0.0 }));
    let jitter = source("source = \"cbr\"\nrate = \"100kbit\"\njitter = 0.1");
    assert_eq!(jitter, (kbit(100), Source::Cbr { jitter: 0.1 }));
    assert_eq!(source("source = \"poisson\"\nrate = \"100kbit\""), (kbit(100), Source::Poisson));
    let on_off = |periods| (kbit(100), Source::OnOff(OnOff { on: ms(2000), off: ms(3000), periods }));
    let times = "rate = \"100kbit\"\non = \"2s\"\noff = \"3s\"";
    assert_eq!(source(&format!("source = \"exponential\"\n{times}")), on_off(Periods::Exponential));
    // ns-2's shape unless another is named.
    assert_eq!(source(&format!("source = \"pareto\"\n{times}")), on_off(Periods::Pareto { shape: 1.5 }));
    assert_eq!(source(&format!("source = \"pareto\"\n{times}\nshape = 1.2")), on_off(Periods::Pareto { shape: 1.2 }));
}

/// A packet of 1000 bytes a millisecond is 8 Mbit/s: a tenth of it is a probability of 0.1, whichever is written.
#[test]
fn a_slotted_source_has_a_rate_or_a_probability() {
    for load in ["rate = \"800kbit\"", "probability = 0.1"] {
        let geometric = udp(&format!("source = \"geometric\"\nslot = \"1ms\"\n{load}\necn = true"));
        assert_eq!(geometric.rate, kbit(800));
        assert_eq!(geometric.source, Source::Geometric { slot: ms(1), probability: 0.1 });
        assert!(geometric.ecn);
        let ssmp = udp(&format!("source = \"ssmp\"\nslot = \"1ms\"\n{load}\na = 5\nstates = 11"));
        let chain = Ssmp { states: 11, a: 5.0, hurst: 0.8 };
        assert_eq!(ssmp.source, Source::Ssmp { slot: ms(1), probability: 0.1, chain });
    }
}

/// All sources but a trace may have packets of random sizes.
#[test]
fn sizes_are_fixed_unless_they_are_geometric() {
    let times = "on = \"2s\"\noff = \"3s\"";
    let slots = "slot = \"100ms\"";
    for (source, keys) in
        [("cbr", ""), ("poisson", ""), ("exponential", times), ("pareto", times), ("geometric", slots), ("ssmp", slots)]
    {
        let sizes = |sizes: &str| udp(&format!("source = \"{source}\"\nrate = \"10kbit\"\n{keys}\n{sizes}")).sizes;
        assert_eq!(sizes(""), PacketSizes::Fixed, "{source}");
        assert_eq!(sizes("sizes = \"fixed\""), PacketSizes::Fixed, "{source}");
        assert_eq!(sizes("sizes = \"geometric\"\npacket = \"2000b\""), PacketSizes::Geometric, "{source}");
    }
}

#[test]
fn a_slip_is_explained() {
    let cases = [
        ("source = \"paretto\"\nrate = \"1mbit\"", 7, "did you mean \"pareto\"? There are cbr, poisson, exponential"),
        ("source = \"poisson\"", 4, "flows.u.rate: `rate` is missing"),
        ("source = \"poisson\"\nrate = \"1mbit\"\njitter = 0.1", 9, "`jitter` is for source = \"cbr\""),
        ("rate = \"1mbit\"\non = \"1s\"", 8, "for source = \"exponential\" and \"pareto\""),
        ("rate = \"1mbit\"\nsize = \"1mb\"", 8, "`size` is for kind = \"tcp\" with source = \"transfers\""),
        (
            "source = \"exponential\"\nrate = \"1mbit\"\non = \"1s\"\noff = \"1s\"\nshape = 2",
            11,
            "for source = \"pareto\"",
        ),
        (
            "source = \"pareto\"\nrate = \"1mbit\"\non = \"1s\"",
            4,
            "`off` is missing; write for example off = \"500ms\"",
        ),
        ("source = \"pareto\"\nrate = \"1mbit\"\non = \"1s\"\noff = \"1s\"\nshape = 1", 11, "from 1.01 to 100"),
        (
            "source = \"pareto\"\nrate = \"1mbit\"\non = \"7ms\"\noff = \"1s\"",
            9,
            "takes 8ms at 1mbit, which is longer than",
        ),
        ("source = \"geometric\"\nprobability = 0.1", 4, "`slot` is missing"),
        ("source = \"geometric\"\nslot = \"1ms\"", 4, "`rate` or `probability` is missing"),
        ("source = \"geometric\"\nslot = \"1ms\"\nprobability = 0.1\nrate = \"1mbit\"", 9, "has both"),
        (
            "source = \"geometric\"\nslot = \"1ms\"\nrate = \"8001kbit\"",
            9,
            "1.000125 packets a slot, and 1 is the most",
        ),
        ("source = \"geometric\"\nslot = \"1ns\"\nrate = \"1mbit\"", 9, "0.000001 is the least"),
        (
            "source = \"geometric\"\nslot = \"1ns\"\nprobability = 0.5\npacket = \"5000b\"",
            9,
            "would be 20tbit, and 10tbit is the most",
        ),
        ("source = \"geometric\"\nslot = \"1ms\"\nprobability = 0", 9, "from 0.000001 to 1"),
        ("source = \"geometric\"\nslot = \"1ms\"\nhurst = 0.8", 9, "`hurst` is for source = \"ssmp\""),
        (
            "rate = \"1mbit\"\nsizes = \"exponential\"",
            8,
            "no distribution of sizes \"exponential\"; there are fixed, geometric",
        ),
        ("rate = \"1mbit\"\npacket = \"2001b\"\nsizes = \"geometric\"", 8, "2kb is the largest mean"),
        ("source = \"trace\"\nsizes = \"geometric\"", 8, "a trace says how large each packet is"),
        ("source = \"ssmp\"\nslot = \"1ms\"\nprobability = 0.5", 9, "0.5 packets a slot, and 0.48"),
        ("source = \"ssmp\"\nslot = \"1ms\"\nhurst = 1.0\nprobability = 0.1", 9, "from 0.5 to 0.99"),
        ("source = \"ssmp\"\nslot = \"1ms\"\nstates = 1\nprobability = 0.1", 9, "from 2 to 32"),
    ];
    for (keys, line, said) in cases {
        refuse(check(keys), line, said);
    }
}

fn refuse(result: Result<Scenario, ScenarioError>, line: usize, said: &str) {
    let Err(error) = result else { panic!("not refused: {said}") };
    let shown = error.to_string();
    assert!(shown.contains(said), "{said:?} is not in: {shown}");
    assert_eq!(error.line_column().map(|(line, _)| line), Some(line), "{shown}");
}

#[test]
fn tfrc_is_read() {
    let check = |keys: &str| {
        let text = format!(
            "duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"t\"\nkind = \"tfrc\"\n{keys}\n"
        );
        let read = Document::parse("test.toml", &text).and_then(|document| document.scenario());
        editor::agrees(&text, &read);
        read
    };
    let traffic = |keys: &str| check(keys).unwrap_or_else(|error| panic!("{error}")).flows.remove(0).traffic;
    assert_eq!(traffic(""), Traffic::Tfrc(Tfrc { rate: None, on_off: None, damping: false, ecn: false }));
    let all =
        "source = \"pareto\"\non = \"1s\"\noff = \"2s\"\nshape = 1.2\nrate = \"64kbit\"\ndamping = true\necn = true";
    let on_off = OnOff { on: ms(1000), off: ms(2000), periods: Periods::Pareto { shape: 1.2 } };
    assert_eq!(
        traffic(all),
        Traffic::Tfrc(Tfrc { rate: Some(kbit(64)), on_off: Some(on_off), damping: true, ecn: true })
    );
    refuse(check("rate = \"0bit\""), 7, "flows.t.rate: \"0bit\" is out of range");
    refuse(check("jitter = 0.1"), 7, "`jitter` is for kind = \"udp\"");
    refuse(check("source = \"transfers\""), 7, "there is no source of TFRC \"transfers\"");
    refuse(check("on = \"1s\""), 7, "for source = \"exponential\" and \"pareto\"");
    refuse(check("source = \"exponential\"\non = \"1s\""), 4, "`off` is missing");
}
