//! Helpers shared by the tests of the command line.
#![allow(dead_code, reason = "each test program uses its own part")]

#[cfg(target_os = "linux")]
pub(crate) mod guest;

use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// One UDP flow of twice the link's rate and three TCP flows, without warm-up.
pub(crate) const SMALL: &str = r#"
name = "small"
duration = "4s"

[bottleneck]
rate = "1mbit"
delay = "1ms"
queue = { kind = "choke", limit = "100p", min = "20p", max = "40p" }

[[flows]]
name = "ftp"
kind = "tcp"
count = 3

[[flows]]
name = "cbr"
kind = "udp"
rate = "2mbit"
"#;

/// A temporary folder of one test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Makes a folder with the scenario [`SMALL`] in it, and returns it with the scenario's path.
    pub(crate) fn with_small() -> (Self, String) {
        let place = Self::new();
        let file = place.write("small.toml", SMALL);
        (place, file)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of a file or folder in this folder, as text.
    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.name(name)
    }
}

/// Runs the program.
pub(crate) fn fairlane(args: &[&str]) -> Output {
    Command::cargo_bin("fairlane").unwrap().args(args).output().unwrap()
}

/// Runs the program and returns its standard output; fails unless it succeeds with an empty standard error.
pub(crate) fn printed(args: &[&str]) -> String {
    let output = fairlane(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The JSON that the program prints.
pub(crate) fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// The keys of an object, in their order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
