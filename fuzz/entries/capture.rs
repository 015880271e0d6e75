//! Any bytes as a packet capture: packets, or an error with the number of the packet.

use fairlane_capture::{Capture, Flows, FlowsBy, Writer};
use fairlane_qdisc::Time;
use fairlane_qdisc::headers::mark_ce;

/// Reads all packets, as `fairlane replay` does, marks each and writes it again.
pub(crate) fn run(bytes: &[u8]) {
    let mut capture = match Capture::new("fuzz.pcap", bytes) {
        Ok(capture) => capture,
        Err(error) => return assert!(!error.message().is_empty()),
    };
    let (mut flows, mut before, mut read) = (Flows::by(FlowsBy::Inner), Time::ZERO, 0);
    loop {
        let packet = match capture.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => {
                assert!(!error.message().is_empty());
                assert!(error.packet().is_none_or(|number| number == read + 1), "{error} after {read} packets");
                break;
            }
        };
        read += 1;
        assert_eq!(packet.number, read);
        assert!(packet.time >= before, "times never run backwards");
        before = packet.time;
        let headers = packet.headers.by(FlowsBy::Inner, packet.data);
        assert_eq!((headers.tos, headers.ip_at), (packet.headers.tos, packet.headers.ip_at));
        let flow = flows.number(packet.time, &headers);
        assert!((flow as usize) < flows.all().len());
        assert!(packet.headers.bytes <= packet.original.max(1), "{:?} of {} bytes", packet.headers, packet.original);
        let mut data = packet.data.to_vec();
        if let Some(at) = packet.headers.ip_at {
            mark_ce(&mut data, at);
        }
        assert_eq!(data.len(), packet.data.len());
        let written = Writer::new(Vec::new(), packet.link)
            .and_then(|mut writer| writer.write(packet.stamp, packet.original, &data).map(|()| writer.into_inner()));
        // The seconds of a pcap file have 32 bits, those of a pcapng file more.
        match written {
            Ok(file) => assert!(file.len() >= 24 + data.len()),
            Err(error) => assert!(packet.stamp.as_secs() > u64::from(u32::MAX), "{error}"),
        }
    }
    assert!(capture.late().packets <= read);
}
