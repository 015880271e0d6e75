//! The folder `contrib`: the library in other languages and programs.

mod common;

use std::path::Path;
use std::process::Command;

use common::{CRATE, Outcome, installed, text};
use fairlane_qdisc::Kind;

/// Would catch a package for Go that does not build, or whose tests fail.
#[test]
fn the_package_for_go_passes_its_tests() -> Outcome {
    let Some(prefix) = installed("capi-for-go")? else { return Ok(()) };
    let folder = Path::new(CRATE).join("../../contrib/go");
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.args(arguments).current_dir(&folder).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        command.env("LD_LIBRARY_PATH", prefix.join("lib")).env("GOPROXY", "off").env("CGO_ENABLED", "1").output()
    };
    if let Err(error) = go(&["version"]) {
        skip::because("go", error.to_string());
        return Ok(());
    }
    text(go(&["vet", "./..."])?)?;
    let tested = text(go(&["test", "-count=1", "./..."])?)?;
    assert!(tested.starts_with("ok"), "{tested}");
    Ok(())
}

/// Would catch a module for ns-3 that does not build, or whose tests fail.
#[test]
fn the_module_for_ns3_passes_its_tests() -> Outcome {
    let mut probe = Command::new("g++");
    probe.args(["-std=c++17", "-fsyntax-only", "-include", "ns3/queue-disc.h", "-x", "c++", "/dev/null"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        skip::because("ns-three", "g++ does not find ns3/queue-disc.h");
        return Ok(());
    }
    let Some(prefix) = installed("capi-for-ns3")? else { return Ok(()) };
    let tested = Command::new(Path::new(CRATE).join("../../contrib/ns3/run"))
        .arg("test")
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .env("BUILD", prefix.join("ns3"))
        .output()?;
    let (lines, errors) = (String::from_utf8_lossy(&tested.stdout), String::from_utf8_lossy(&tested.stderr));
    assert!(tested.status.success() && lines.starts_with("PASS fairlane"), "{lines}{errors}");
    // One test for each discipline, and others.
    assert!(lines.matches("\n  PASS ").count() > Kind::ALL.len(), "{lines}");
    Ok(())
}
