//! The packets of a capture.

use std::path::Path;

use fairlane_capture::{Capture, Flows};
use fairlane_qdisc::{Bytes, Duration};

use crate::error::ScenarioError;
use crate::field::Field;
use crate::read::PACKET;
use crate::source::Recorded;

/// More packets than this are taken for a slip: they would take 160 MB.
const MOST: usize = 10_000_000;

/// A flow for each 5-tuple, in the order in which they come up; times count from the first packet of all.
pub(super) fn flows(field: &Field<'_>, path: &Path) -> Result<Vec<Vec<Recorded>>, ScenarioError> {
    let refused = |error| field.error(format!("{error}"));
    let mut capture = Capture::open(path).map_err(refused)?;
    let (mut numbers, mut flows, mut total) = (Flows::new(), Vec::<Vec<Recorded>>::new(), 0);
    while let Some(packet) = capture.next_packet().map_err(refused)? {
        total += 1;
        if total > MOST {
            return Err(field.error(format!("{}: there are more than {MOST} packets in it", path.display())));
        }
        let flow = numbers.number(packet.time, &packet.headers) as usize;
        if flow >= flows.len() {
            flows.resize_with(flow + 1, Vec::new);
        }
        let bytes = Bytes::new(u64::from(packet.headers.bytes)).clamp(*PACKET.start(), *PACKET.end());
        flows[flow].push(Recorded { at: Duration::from_nanos(packet.time.as_nanos()), bytes });
    }
    Ok(flows)
}
