//! Sequence numbers: those of a script count bytes from 1, those of the simulator segments from 0.

/// The most segments of a script.
const MOST: usize = 1_000_000;

/// The data that the application has written, as segments.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The bytes in a full segment.
    segment: u32,
    /// The sequence number behind each segment, in bytes.
    ends: Vec<u32>,
}

impl Stream {
    /// Returns a stream without data.
    pub(crate) fn new(segment: u32) -> Self {
        Self { segment, ends: Vec::new() }
    }

    /// Adds `bytes`, as full segments and a last one with the rest. `sent` segments have been sent and `acknowledged`
    /// of them acknowledged.
    ///
    /// Data that would join an earlier, short segment, or that would wait for the acknowledgement of one (Nagle), are
    /// refused.
    pub(crate) fn write(&mut self, bytes: u32, sent: u32, acknowledged: u32, no_delay: bool) -> Result<(), String> {
        let behind = self.ends.last().copied().unwrap_or(1);
        let Some(end) = behind.checked_add(bytes) else { return Err("more than 4 GB of data".to_owned()) };
        if bytes as usize / self.segment as usize + self.ends.len() > MOST {
            return Err(format!("more than {MOST} segments"));
        }
        if self.is_short(self.ends.len()) && (sent as usize) < self.ends.len() {
            return Err("the data join a short segment that has not been sent".to_owned());
        }
        let first_unacknowledged = acknowledged as usize + 1;
        let waits = (first_unacknowledged..=self.ends.len()).any(|number| self.is_short(number));
        if !bytes.is_multiple_of(self.segment) && waits && !no_delay {
            return Err("the data wait for the acknowledgement of a short segment (Nagle)".to_owned());
        }
        let mut next = behind;
        while next < end {
            next = end.min(next.saturating_add(self.segment));
            self.ends.push(next);
        }
        Ok(())
    }

    /// Returns true if segment `number`, counted from 1, is not full.
    fn is_short(&self, number: usize) -> bool {
        let Some(place) = number.checked_sub(1) else { return false };
        let before = place.checked_sub(1).map_or(1, |before| self.ends[before]);
        self.ends.get(place).is_some_and(|end| end - before < self.segment)
    }

    /// Returns the number of segments written.
    pub(crate) fn segments(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Returns the number of segments below `sequence`; `None` if that is within a segment or beyond all of them.
    pub(crate) fn segments_below(&self, sequence: u32) -> Option<u32> {
        if sequence == 1 {
            return Some(0);
        }
        self.ends.binary_search(&sequence).ok().map(|place| place as u32 + 1)
    }

    /// Returns the sequence number of the first byte of segment `number`, or behind the last one.
    pub(crate) fn start(&self, number: u32) -> u32 {
        let before = (number as usize).min(self.ends.len()).checked_sub(1);
        before.map_or(1, |place| self.ends[place])
    }
}

/// The data of the peer, all of whose segments have the size of the first.
#[derive(Debug)]
pub(crate) struct PeerStream {
    segment: Option<u32>,
    /// The most bytes in a segment.
    most: u32,
}

impl PeerStream {
    /// Returns a stream without data, whose segments have at most `most` bytes.
    pub(crate) fn new(most: u32) -> Self {
        Self { segment: None, most }
    }

    /// Returns the number of the segment with these bytes.
    pub(crate) fn segment(&mut self, start: u32, length: u32) -> Result<u32, String> {
        if length > self.most {
            return Err(format!("{length} bytes are more than a segment, of {} bytes", self.most));
        }
        let segment = *self.segment.get_or_insert(length);
        let offset = start.checked_sub(1).filter(|offset| offset.is_multiple_of(segment) && length == segment);
        let Some(offset) = offset else {
            return Err(format!("the data of the peer are not whole segments of {segment} bytes"));
        };
        Ok(offset / segment)
    }

    /// Returns the sequence number of the first byte of segment `number`.
    pub(crate) fn start(&self, number: u32) -> u32 {
        number.saturating_mul(self.segment.unwrap_or(0)).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a short segment that is not one, or that later data join.
    #[test]
    fn a_write_ends_with_a_short_segment() {
        let mut stream = Stream::new(1000);
        stream.write(2500, 0, 0, false).expect("three segments");
        assert_eq!((stream.segments(), stream.start(0), stream.start(2), stream.start(3)), (3, 1, 2001, 2501));
        let below: Vec<_> = [1, 1001, 2001, 2501, 1500, 3001].map(|number| stream.segments_below(number)).into();
        assert_eq!(below, [Some(0), Some(1), Some(2), Some(3), None, None]);
        assert!(stream.write(1000, 2, 0, false).is_err(), "joins a short segment");
        assert!(stream.write(500, 3, 2, false).is_err(), "waits (Nagle)");
        stream.write(500, 3, 2, true).expect("does not wait");
        stream.write(1000, 4, 4, false).expect("all is acknowledged");
        assert_eq!((stream.segments(), stream.start(5)), (5, 4001));
    }

    /// Would catch a part of a segment that is taken for one, and a division by zero.
    #[test]
    fn the_peer_sends_whole_segments() {
        let mut peer = PeerStream::new(1460);
        assert_eq!((peer.segment(2001, 1000), peer.segment(1, 1000), peer.start(3)), (Ok(2), Ok(0), 3001));
        assert!(peer.segment(1, 2000).is_err() && peer.segment(501, 1000).is_err());
        assert!(peer.segment(1001, 500).is_err() && peer.segment(0, 1000).is_err());
    }
}
