//! Draws the pictures in `docs/figures`, from real runs: `make figures`.

use std::error::Error;
use std::fs;
use std::path::Path;

use fairlane_outcome::Outcome;
use fairlane_report::compare_figure;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_all};

fn main() -> Result<(), Box<dyn Error>> {
    let mut outcomes = Vec::new();
    for kind in ["droptail", "red", "choke", "choke-adaptive", "gchoke"] {
        let mut document = Document::builtin();
        document.set("bottleneck.queue.kind", kind)?;
        let runs = run_all(&[document.scenario()?], 5, &Control::default())?;
        outcomes.extend(runs.into_iter().filter_map(Outcome::from_runs));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("compare.svg"), compare_figure(&outcomes).to_svg())?;
    Ok(())
}
