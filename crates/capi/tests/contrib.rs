//! The folder `contrib`: the library in other languages and programs.

mod common;

use std::path::Path;
use std::process::Command;

use common::{CRATE, Outcome, compile, installed, run, text};
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

/// Would catch an adapter that changes the order, the drops or the marks of a discipline, and packets that are lost
/// with the link.
#[test]
fn the_adapter_for_picoquic_does_what_the_queue_does() -> Outcome {
    let folder = Path::new(CRATE).join("tests/picoquic");
    let include = format!("-I{}", folder.display());
    let flags = ["-std=gnu99", &include, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compile(&folder.join("main.c"), "picoquic", &flags)?;
    let lines = run(&program, "")?;
    assert_eq!(lines.lines().count(), Kind::ALL.len());
    for line in lines.lines() {
        let [_, left, dropped, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        // The link sends a packet in 880 µs at first and then in 1760 µs; one comes each 270 µs. More leave in a pause.
        let (left, dropped): (u64, u64) = (left.parse()?, dropped.parse()?);
        assert!(left >= 1360 && left + dropped == 6000, "{line}");
    }
    assert!(lines.lines().filter(|line| !line.ends_with(" 0")).count() >= 4, "no marks: {lines}");
    Ok(())
}

/// Would catch an example for DPDK that does not build, and buffers that do not come back to their pool.
#[test]
fn the_forwarder_of_dpdk_gives_every_buffer_back() -> Outcome {
    let known = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output();
    let Some(known) = known.ok().filter(|output| output.status.success()) else {
        skip::because("dpdk", "pkg-config does not find libdpdk");
        return Ok(());
    };
    // The headers of others are not ours to keep free of warnings.
    let flags = text(known)?.replace("-I/", "-isystem/");
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let program = compile(&Path::new(CRATE).join("../../contrib/c/dpdk.c"), "dpdk", &flags)?;
    for discipline in ["droptail limit=300p", "choke limit=300p", "fq-codel limit=300p"] {
        let ran = Command::new("timeout")
            .args(["--kill-after=5", "60"])
            .arg(&program)
            .args(["--no-shconf", "--no-huge", "--no-pci", "--no-telemetry", "--vdev=net_null0", "--vdev=net_null1"])
            .args(["--", discipline, "1000000000", "300000"])
            .output()?;
        let printed = text(ran)?;
        let line = printed.lines().last().ok_or("no line")?;
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [came, sent, unsent, dropped, back, all] = numbers[..] else { panic!("{line}") };
        // The rest waits when the program ends.
        let waiting = came - sent - unsent - dropped;
        assert!(came == 300_000 && sent > 1000 && dropped > 1000 && waiting <= 300 && back == all, "{line}");
    }
    Ok(())
}
