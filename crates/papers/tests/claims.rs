//! The claims as they stand: their short forms, and the documentation of the full ones.

use std::fs;
use std::path::Path;

use fairlane_papers::{Finding, Judgement, Library, Options, Plan, Status, shown};
use fairlane_sim::Control;

fn library() -> Library {
    Library::open().unwrap_or_else(|error| panic!("{error}"))
}

/// Claims that are met in full miss nothing in short, where wide intervals leave numbers undecided. Would catch a
/// change of a discipline, the transports or the simulator that takes the results away from the papers'.
#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation; make check runs it in a release build")]
fn what_is_met_in_full_is_not_missed_in_short() {
    let library = library();
    let claims = library.select(&["all".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
    let plan =
        Plan::new(&library, claims, Options { short: true, runs: None }).unwrap_or_else(|error| panic!("{error}"));
    let results = plan.execute(None, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut missed = Vec::new();
    for verdict in plan.judge(&results).unwrap_or_else(|error| panic!("{error}")) {
        assert!(verdict.status().is_some(), "the short form of {} runs nothing", verdict.claim.id);
        if verdict.claim.status == Some(Status::Met) {
            let findings = verdict.findings.iter().filter(|finding| misses(finding));
            missed
                .extend(findings.map(|finding| format!("{}: {}: {}", verdict.claim.id, finding.what, finding.shown())));
        }
    }
    assert!(missed.is_empty(), "missed in short:\n{}", missed.join("\n"));
}

/// Returns true if the number is missed, or was measured once and lies outside of the demand.
fn misses(finding: &Finding<'_>) -> bool {
    let outside = |value: f64| value < finding.demand.0 || value > finding.demand.1;
    let once_outside = finding.ours.is_some_and(|ours| ours.ci95().is_none() && outside(ours.mean));
    finding.judgement == Some(Judgement::Missed) || once_outside
}

/// `docs/papers` was made by a full run of all claims, and each claim is recorded as that run had it.
#[test]
fn the_documents_and_the_records_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
    for book in library().books() {
        let file = folder.join(&book.paper.id).with_extension("md");
        let text = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}; `make papers` writes it", file.display()));
        for claim in &book.claims {
            assert!(claim.status.is_some(), "{} has no status", claim.id);
            let stands = shown::standing(claim.status);
            let row = format!("| [`{}`](#{}) | {} | {stands} |", claim.id, claim.id, claim.place);
            assert!(text.contains(&row), "{}: no \"{row}\"; `make papers` writes it anew", file.display());
        }
    }
}
