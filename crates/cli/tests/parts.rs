//! Sweeps in parts, for jobs on several machines: they are joined when all are there, and nothing else is.

mod common;

use std::fs;

use common::{Place, fairlane};

const VARY: [&str; 4] = ["--vary", "seed=1..5/5", "--vary", "bottleneck.queue=red,choke"];

/// Runs the sweep with `more` options. Returns whether it succeeded, and what it said.
fn sweep(file: &str, out: &str, more: &[&str]) -> (bool, String) {
    let done = fairlane(&[&["sweep", file, "--table", out], &VARY[..], more].concat());
    (done.status.success(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn parts_are_joined_into_the_whole() {
    let (place, file) = Place::with_small();
    let (out, whole) = (place.name("sweep.csv"), place.name("whole.csv"));
    assert!(sweep(&file, &whole, &[]).0);
    for part in ["2/3", "3/3", "1/3"] {
        let (done, said) = sweep(&file, &out, &["--part", part]);
        assert!(done && said.contains("--merge joins the parts"), "{said}");
    }
    assert!(place.path("sweep.csv.part-2-of-3").exists() && !place.path("sweep.csv").exists());
    let (done, said) = sweep(&file, &out, &["--merge", "--html", &place.name("page.html")]);
    assert!(done, "{said}");
    assert_eq!(fs::read_to_string(&out).unwrap(), fs::read_to_string(&whole).unwrap());
    assert!(place.path("page.html").exists());
    assert!((1..=3).all(|part| !place.path(&format!("sweep.csv.part-{part}-of-3")).exists()));
}

#[test]
fn what_does_not_make_a_whole_is_refused_with_words() {
    let (place, file) = Place::with_small();
    let out = place.name("sweep.csv");
    let refused = |more: &[&str], words: &[&str]| {
        let (done, said) = sweep(&file, &out, more);
        assert!(!done && words.iter().all(|words| said.contains(words)), "{more:?}: {said}");
    };
    refused(&["--merge"], &["there are no parts of", "--part 1/8"]);
    refused(&["--part", "0/2"], &["from 1/8 to 8/8"]);
    assert!(sweep(&file, &out, &["--part", "1/3"]).0);
    refused(&["--merge"], &["are missing: 2/3, 3/3", "--part 2/3"]);
    // A copy of another part.
    fs::copy(place.path("sweep.csv.part-1-of-3"), place.path("sweep.csv.part-2-of-3")).unwrap();
    assert!(sweep(&file, &out, &["--part", "3/3"]).0);
    refused(&["--merge"], &["which is none of part 2/3", "run this part"]);
    fs::remove_file(place.path("sweep.csv.part-2-of-3")).unwrap();
    // One that was cut off: its last point is run again.
    assert!(sweep(&file, &out, &["--part", "2/3"]).0);
    let part = place.path("sweep.csv.part-2-of-3");
    let text = fs::read_to_string(&part).unwrap();
    fs::write(&part, &text[..text.len() - 9]).unwrap();
    refused(&["--merge"], &["has 2 of its 3 points", "--part 2/3"]);
    assert!(sweep(&file, &out, &["--part", "2/3"]).0);
    // Another sweep.
    refused(&["--merge", "--runs", "2"], &["is of another sweep: it has 1 runs of each point, and not 2"]);
    // Parts of two numbers of parts.
    assert!(sweep(&file, &out, &["--part", "1/2"]).0);
    refused(&["--merge"], &["has parts of 2 and of 3, whose points are double"]);
    fs::remove_file(place.path("sweep.csv.part-1-of-2")).unwrap();
    assert!(sweep(&file, &out, &["--merge"]).0);
}
