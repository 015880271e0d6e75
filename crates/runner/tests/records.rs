//! Runs that are recorded in files.

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use fairlane_outcome::Extent;
use fairlane_qdisc::Time;
use fairlane_runner::files::{check_distinct, check_file};
use fairlane_runner::{Batch, Error, Job, LinkLog, PacketCapture, Recorder, Records};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};
use fairlane_sim::{Control, run_endpoints};

/// A shaper that is adjusted before a link that becomes slow.
const ADJUSTED: &str = r#"
    duration = "8s"
    [bottleneck]
    rate   = { steps = [["0s", "8mbit"], ["4s", "2mbit"]] }
    delay  = "5ms"
    queue  = { kind = "fq-codel" }
    shaper = { kind = "autorate", rate = "6mbit", min = "1mbit", max = "10mbit" }
    [[flows]]
    name = "upload"
    kind = "tcp"
"#;

fn scenario() -> Scenario {
    Document::parse("adjusted.toml", ADJUSTED).unwrap().scenario().unwrap()
}

/// Would catch a record that changes the run, and a timeline without the decisions about the shaper's rate.
#[test]
fn a_recorded_run_has_the_outcome_and_the_timeline_of_any_other() {
    let scenario = scenario();
    let batch = Batch::new(vec![Job::of(scenario.clone())], NonZeroU32::MIN, None).unwrap().recorded();
    let plain = batch.execute(&Control::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let records = Records {
        pcap: Some(PacketCapture::create(&folder.path().join("x.pcap"), &scenario).unwrap()),
        mahimahi: Some(LinkLog::new(&folder.path().join("x.log"), &scenario).unwrap()),
        timeline: Some(Recorder::new(&scenario)),
        ..Records::default()
    };
    let recorded = records.run(&scenario, &mut (), &Control::default()).unwrap();
    assert!(!recorded.interrupted);
    let groups = recorded.outcome.unwrap().groups;
    assert_eq!(groups, plain.outcomes[0].groups);
    let (ours, theirs) = (recorded.timeline.unwrap(), plain.timelines[0].as_ref().unwrap());
    // As text, since no NaN equals another.
    assert!(format!("{ours:?}") == format!("{theirs:?}"), "the rates of the shaper are {:?}", ours.shapers[0].rate_bps);
    for file in ["x.pcap", "x.log", "x.trace"] {
        assert!(fs::metadata(folder.path().join(file)).unwrap().len() > 1000, "{file}");
    }
}

/// Sends one datagram of 100 bytes, of 200 on the wire, of the L4S service and the class EF.
#[derive(Debug)]
struct Once(bool);

impl Endpoint for Once {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, _now: Time, _datagram: &mut Vec<u8>, _ecn: Ecn) {}
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        datagram.extend(1..=100);
        std::mem::take(&mut self.0).then_some(Outgoing { bytes: 200, ecn: Ecn::Ect1, class: 46 << 2 })
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Each way has one packet behind headers of 24 bytes of the file, 16 of the packet, 20 of IPv4 and 8 of UDP. Would
/// catch a payload that is missing, is another one's, or hides the size on the wire, and an L4S packet, whose bits of
/// ECN are 01 (RFC 9331), that looks classic.
#[test]
fn a_capture_has_the_payloads_of_endpoints() {
    let text = "duration = \"2s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"own\"\nkind = \"endpoint\"\n";
    let scenario = Document::parse("own.toml", text).unwrap().scenario().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.pcap");
    let mut capture = PacketCapture::create(&file, &scenario).unwrap();
    let pair = |_: &str, _, _| Some(Pair::new(Once(true), Once(true)));
    run_endpoints(&scenario, 0, &Control::default(), &mut capture, pair).unwrap();
    capture.finish(Extent::Whole).unwrap();
    let bytes = fs::read(file).unwrap();
    let packets: Vec<&[u8]> = bytes[24..].chunks(16 + 128).collect();
    assert_eq!(packets.len(), 2);
    for packet in packets {
        // The numbers of the bytes captured and of those on the wire, in either order of bytes.
        let number = |bytes: &[u8]| bytes.iter().sum::<u8>();
        assert_eq!((number(&packet[8..12]), number(&packet[12..16])), (128, 200));
        assert_eq!(packet[16 + 1], 46 << 2 | 0b01);
        assert!(packet[16 + 28..].iter().copied().eq(1..=100));
    }
}

/// Would catch a run that goes on for hours after its file is lost, an error without the path, and a part in the place
/// of a whole file.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_and_leaves_parts() {
    use std::path::Path;

    use fairlane_outcome::Extent;
    use fairlane_runner::FlentFile;

    let scenario = scenario();
    let folder = tempfile::tempdir().unwrap();
    let flent = folder.path().join("x.flent.gz");
    let records = Records {
        pcap: Some(PacketCapture::create(Path::new("/dev/full"), &scenario).unwrap()),
        flent: Some(FlentFile::new(&flent, None, &scenario)),
        ..Records::default()
    };
    let control = Control::default();
    match records.run(&scenario, &mut (), &control) {
        Err(Error::Write { path, .. }) => assert_eq!(path, PathBuf::from("/dev/full")),
        other => panic!("{other:?}"),
    }
    assert!(control.stopped() && !flent.exists() && Extent::Partial.path(&flent).exists());
}

/// Would catch a file that is read and overwritten under another name, two outputs of one place, and devices that count
/// as one.
#[test]
fn files_are_told_apart_whatever_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in.toml"), "").unwrap();
    fs::hard_link(at("in.toml"), at("hard.toml")).unwrap();
    let distinct = |outputs: &[(&'static str, PathBuf)]| {
        let outputs = outputs.iter().map(|(name, path)| (*name, vec![path.clone()]));
        check_distinct(outputs, &[at("in.toml")]).map_err(|error| error.to_string())
    };
    for name in ["in.toml", "hard.toml", "./in.toml"] {
        let error = distinct(&[("pcap", at(name))]).unwrap_err();
        let expected = format!("pcap would overwrite {}, which is read; write to another file", at(name).display());
        assert_eq!(error, expected);
    }
    let error = distinct(&[("pcap", at("x")), ("flent", at("./x"))]).unwrap_err();
    assert_eq!(error, "pcap and flent name the same file; give each a separate file");
    distinct(&[("pcap", at("x")), ("flent", at("y"))]).unwrap();
    #[cfg(unix)]
    distinct(&[("pcap", "/dev/null".into()), ("flent", "/dev/null".into())]).unwrap();
    check_file(&at("x")).unwrap();
    assert!(!at("x").exists());
    assert!(matches!(check_file(&at("none/x")), Err(Error::Write { .. })));
    assert!(check_file(folder.path()).unwrap_err().to_string().ends_with("is a folder; name a file in it"));
}
