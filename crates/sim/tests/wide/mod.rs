//! A network of links so fast that times can be worked out by hand.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, run};

/// Runs `flows` over a dumbbell of 1 Gbit/s throughout, with 12 ms one way and these further keys of the bottleneck.
pub(crate) fn observe(duration: &str, bottleneck: &str, flows: &str, observer: &mut impl Observer) -> Run {
    let text = format!(
        r#"
        duration = "{duration}"
        [bottleneck]
        rate = "1gbit"
        delay = "10ms"
        {bottleneck}
        [access]
        rate = "1gbit"
        delay = "1ms"
        [[flows]]
        name = "web"
        kind = "tcp"
        start = "0s"
        {flows}
        "#
    );
    let scenario = Document::parse("wide.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), observer).unwrap_or_else(|error| panic!("{error}"))
}
