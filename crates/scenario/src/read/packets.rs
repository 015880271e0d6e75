//! Packets from a file: a table of times and sizes, or a capture.

use std::path::Path;

use fairlane_qdisc::{Bytes, Rate};

use crate::error::ScenarioError;
use crate::field::{Field, Reader};
use crate::read::trace::{LineError, lines, nanos, text};
use crate::read::{FLOWS, PACKET, RATE};
use crate::source::{Recorded, Trace};

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod capture;

/// A page in a browser has no files, and does without the reader of captures.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod capture {
    use super::{Field, Path, Recorded, ScenarioError};

    pub(super) fn flows(field: &Field<'_>, path: &Path) -> Result<Vec<Vec<Recorded>>, ScenarioError> {
        Err(field.error(format!("{}: cannot be read: there are no files here", path.display())))
    }
}

/// The first line of a table.
const HEADER: &str = "time_s,bytes";
/// Reads the file that `trace` names, in the scenario's folder: a `.csv` is a table of one flow's packets, any other a
/// capture. With the mean rate of all its packets.
pub(crate) fn recorded(group: &Reader<'_>) -> Result<(Rate, Trace), ScenarioError> {
    let field = group.need("trace", "\"packets.csv\" or \"capture.pcap\"")?;
    if let Some(packet) = group.get("packet") {
        return Err(packet.error("the trace says how large each packet is: leave `packet` out"));
    }
    let path = field.beside(field.text()?);
    let flows = if is_table(&path) { table(&field, &path)? } else { capture::flows(&field, &path)? };
    if flows.is_empty() {
        return Err(field.error(format!("{}: there are no packets in it", path.display())));
    }
    let packets = || flows.iter().flatten();
    let bits = packets().map(|packet| packet.bytes.get() * 8).sum::<u64>() as f64;
    let length = packets().map(|packet| packet.at).max().unwrap_or_default().as_secs();
    let rate = Rate::from_bits_per_second((bits / length.max(1e-9)) as u64);
    Ok((rate.clamp(*RATE.start(), *RATE.end()), Trace::new(flows)))
}

/// Returns the number of flows of `group`: the key `count` with a table, the number of captured flows with a capture.
pub(crate) fn count(group: &Reader<'_>, trace: &Trace) -> Result<u32, ScenarioError> {
    let captured = trace.flows() as u32;
    match group.get("count") {
        None => Ok(captured),
        Some(field) if captured == 1 => field.count32(&FLOWS),
        Some(field) => {
            Err(field
                .error(format!("the capture has {captured} flows, and the group has one for each: leave `count` out")))
        }
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv")
}

fn table(field: &Field<'_>, path: &Path) -> Result<Vec<Vec<Recorded>>, ScenarioError> {
    let text = text(path).map_err(|why| field.error(format!("{}: {why}", path.display())))?;
    let packets = rows(&text).map_err(|(line, why)| field.error(format!("{}:{line}: {why}", path.display())))?;
    Ok(if packets.is_empty() { Vec::new() } else { vec![packets] })
}

fn rows(text: &str) -> Result<Vec<Recorded>, LineError> {
    let mut lines = lines(text);
    if lines.next().is_none_or(|(_, line)| line != HEADER) {
        return Err((1, format!("the first line of a table of packets is {HEADER}")));
    }
    let mut packets: Vec<Recorded> = Vec::new();
    for (line, row) in lines {
        let packet =
            row.split_once(',').and_then(|(time, bytes)| Some(Recorded { at: nanos(time)?, bytes: size(bytes)? }));
        let Some(packet) = packet else {
            let most = PACKET.end().get();
            return Err((line, format!("this is not a time in seconds and 1 to {most} bytes, such as 0.25,1000")));
        };
        if packets.last().is_some_and(|before| packet.at < before.at) {
            return Err((line, "the times must not fall".to_owned()));
        }
        packets.push(packet);
    }
    Ok(packets)
}

fn size(text: &str) -> Option<Bytes> {
    let bytes = Bytes::new(text.trim().parse().ok()?);
    PACKET.contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::*;

    #[test]
    fn a_table_is_read_in_order() {
        let packets = rows("time_s,bytes\n0,1000\n0.5, 40\n\n0.5,1500\n").unwrap_or_else(|error| panic!("{error:?}"));
        let expected = [(0, 1000), (500, 40), (500, 1500)];
        let expected = expected.map(|(at, bytes)| Recorded { at: Duration::from_millis(at), bytes: Bytes::new(bytes) });
        assert_eq!(packets, expected);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let line = |text: &str| rows(text).map_err(|(line, _)| line).err();
        assert_eq!(line("0,1000\n"), Some(1));
        // The contents of a file that is no trace are not repeated.
        let why = rows(&format!("{HEADER}\nroot:x:0:0\n")).map_err(|(_, why)| why).err().unwrap_or_default();
        assert!(why.contains("0.25,1000") && !why.contains("root"), "{why}");
        for row in ["x,1", "0", "0,-1", "-1,5", "nan,5", "0,1.5", "0,0", "0,65536"] {
            assert_eq!(line(&format!("{HEADER}\n{row}\n")), Some(2), "{row}");
        }
        assert_eq!(line(&format!("{HEADER}\n2,5\n1,5\n")), Some(3));
    }
}
