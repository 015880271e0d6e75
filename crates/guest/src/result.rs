//! The output of a guest on its second serial port: its progress, line by line, and at last its result.

use std::io::{self, Write};

/// The output that has been read so far.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard<'a> {
    /// Nothing, or the last progress, in seconds of the guest's own clock.
    Progress(Option<f64>),
    /// The result.
    Result(&'a [u8]),
}

/// Says that `seconds` are over.
pub(crate) fn progress(to: &mut impl Write, seconds: f64) -> io::Result<()> {
    writeln!(to, "progress {seconds}")
}

/// Says the result.
pub(crate) fn result(to: &mut impl Write, data: &[u8]) -> io::Result<()> {
    writeln!(to, "result {}", data.len())?;
    to.write_all(data)?;
    to.flush()
}

/// Reads the output.
pub(crate) fn hear(mut said: &[u8]) -> Heard<'_> {
    let mut progress = None;
    while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
        let (line, rest) = (String::from_utf8_lossy(&said[..end]), &said[end + 1..]);
        match line.split_once(' ') {
            Some(("progress", seconds)) => progress = seconds.parse().ok().or(progress),
            Some(("result", length)) => {
                let data = length.parse().ok().and_then(|length: usize| rest.get(..length));
                return data.map_or(Heard::Progress(progress), Heard::Result);
            }
            _ => {}
        }
        said = rest;
    }
    Heard::Progress(progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part of an output is read as progress or as the whole result.
    #[test]
    fn what_is_said_is_heard() {
        let mut said = Vec::new();
        progress(&mut said, 0.5).expect("memory");
        progress(&mut said, 12.25).expect("memory");
        result(&mut said, b"{\n\"progress\": 1}").expect("memory");
        assert_eq!(hear(&said), Heard::Result(b"{\n\"progress\": 1}"));
        for end in 0..said.len() {
            let expected = if end < 13 {
                None
            } else if end < 28 {
                Some(0.5)
            } else {
                Some(12.25)
            };
            assert_eq!(hear(&said[..end]), Heard::Progress(expected), "{end}");
        }
        assert_eq!(hear(b"\nresult x\nprogress y\n"), Heard::Progress(None));
    }
}
