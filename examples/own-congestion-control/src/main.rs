//! Three own congestion controls, compared with Reno and CUBIC on a fast and long path: alone, with random losses, and
//! next to a flow of CUBIC.

mod htcp;
mod scalable;
mod westwood;

use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

const SCENARIO: &str = r#"
    duration = "60s"
    warmup   = "20s"
    [tcp]
    preset = "modern"
    [bottleneck]
    rate  = "50mbit"
    delay = "48ms"
    queue = { kind = "droptail", limit = "100p" }
    [access]
    rate  = "1gbit"
    delay = "1ms"
    [[flows]]
    name = "one"
    kind = "tcp"
"#;
const CUBIC: &str = "[[flows]]\nname = \"other\"\nkind = \"tcp\"\ncc = \"cubic\"\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let control = Control::default()
        .with_congestion("scalable", |_| Box::new(scalable::Scalable))
        .with_congestion("westwood+", |_| Box::<westwood::Westwood>::default())
        .with_congestion("h-tcp", |_| Box::new(htcp::Htcp::new()));
    // Of the packets that the link can carry in the time that is measured.
    let share = |cc: &str, other: &str, loss: &str| -> Result<f64, Box<dyn std::error::Error>> {
        let mut document =
            Document::parse("main.rs", &format!("{SCENARIO}{other}"))?.with_congestion(control.congestion());
        document.set("flows.one.cc", cc)?;
        document.set("bottleneck.loss", loss)?;
        let run = run(&document.scenario()?, 0, &control, &mut ())?;
        Ok(100.0 * run.flows[0].unique_bytes as f64 * 8.0 / (50e6 * (run.to_s - run.from_s)))
    };
    println!("{:10} {:>9} {:>16} {:>14}", "cc", "alone", "0.02 % are lost", "next to cubic");
    for cc in ["reno", "cubic"].into_iter().chain(control.congestion().map(|own| own.name)) {
        let (alone, lossy, shared) = (share(cc, "", "0")?, share(cc, "", "0.0002")?, share(cc, CUBIC, "0")?);
        println!("{cc:10} {alone:>7.1} % {lossy:>14.1} % {shared:>12.1} %");
    }
    Ok(())
}
