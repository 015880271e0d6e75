//! A network of links so fast that times can be worked out by hand.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, run};

/// Runs `groups` over a dumbbell with 12 ms one way, hosts' links of 1 Gbit/s, and these general keys and keys of the
/// bottleneck, its `rate` among them.
pub(crate) fn network(general: &str, bottleneck: &str, groups: &str, observer: &mut impl Observer) -> Run {
    let text = format!(
        r#"
        {general}
        [bottleneck]
        delay = "10ms"
        {bottleneck}
        [access]
        rate = "1gbit"
        delay = "1ms"
        {groups}
        "#
    );
    let scenario = Document::parse("wide.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), observer).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a group of TCP with the keys `flows` over a bottleneck of 1 Gbit/s with these further keys.
pub(crate) fn observe(duration: &str, bottleneck: &str, flows: &str, observer: &mut impl Observer) -> Run {
    let bottleneck = format!("rate = \"1gbit\"\n{bottleneck}");
    let group = format!("[[flows]]\nname = \"web\"\nkind = \"tcp\"\nstart = \"0s\"\n{flows}");
    network(&format!("duration = \"{duration}\""), &bottleneck, &group, observer)
}
