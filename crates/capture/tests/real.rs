//! A capture of Linux TCP; `data/make.sh` says how it was made.

use std::collections::BTreeMap;
use std::path::Path;

use fairlane_capture::{Capture, Flows, LinkType};

/// Packets by ECN codepoint and IP version as `tcpdump -v` prints them (tos and class), their number and the last one's
/// time as `tcpdump -tt` does. Would catch a codepoint that is read from another place, and a clock of other units.
#[test]
fn is_read_as_tcpdump_reads_it() -> Result<(), Box<dyn std::error::Error>> {
    let mut capture = Capture::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/linux-tcp.pcap"))?;
    let (mut flows, mut codepoints, mut last) = (Flows::new(), BTreeMap::<(bool, u8), u32>::new(), None);
    while let Some(packet) = capture.next_packet()? {
        assert_eq!(packet.link, LinkType::Ethernet);
        assert!(packet.data.len() <= 96 && packet.original == packet.headers.bytes);
        flows.number(packet.time, &packet.headers);
        let (source, _) = packet.headers.hosts().ok_or("all packets are IP")?;
        *codepoints.entry((source.is_ipv6(), packet.headers.tos)).or_default() += 1;
        last = Some((packet.number, packet.stamp.as_micros(), packet.time.as_nanos() / 1000));
    }
    assert_eq!(codepoints[&(false, 0)], 554);
    assert_eq!((codepoints[&(false, 2)], codepoints[&(true, 2)]), (242, 246));
    assert_eq!(codepoints.values().sum::<u32>(), 1049);
    assert_eq!(last, Some((1049, 1_795_232_103_539_525, 1_502_957)));
    assert_eq!((flows.all().len(), capture.late().packets), (7, 0));
    Ok(())
}
