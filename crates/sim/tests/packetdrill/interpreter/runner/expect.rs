//! Compares the packets that were sent with those that a script expects.

use fairlane_qdisc::Time;
use fairlane_sim::endpoint::Ecn;
use fairlane_sim::tcp::{Ack, Opening};

use super::{Connection, Kind, Packet, Runner, Sent, Step, Stop, differs, incomparable, stop, timestamp};

impl Runner<'_> {
    /// Compares the next packet, or packets, with an expected one. `range` is the first and the last time; `None` is
    /// any.
    pub(super) fn expect(&mut self, line: usize, packet: &Packet, range: Option<(Time, Time)>) -> Step {
        let flags = packet.flags;
        if flags.fin || flags.rst {
            return Err(Stop::Closing);
        }
        if flags.urg || (flags.accurate && !flags.syn) {
            return incomparable(line, "urgent data and accurate ECN are not compared");
        }
        if let (None, Some((value, _))) = (self.clock, packet.options.timestamps) {
            let at = self.wire.front().map_or(self.now, |sent| sent.at);
            self.clock = Some((at, value));
        }
        if packet.length > 0 {
            return self.expect_data(line, packet, range);
        }
        let sent = self.take(line, packet, range)?;
        let equal = packet.codepoint.is_none_or(|ecn| ecn == Ecn::NotEct)
            && match sent.kind {
                Kind::Opening(Opening::Syn) => flags.syn && flags.ack == (self.connection == Connection::Passive),
                Kind::Opening(Opening::Ack) => !flags.syn && packet.ack == Some(1),
                Kind::Ack(ack) => !flags.syn && self.equals(packet, &ack),
                Kind::Data(_) => false,
            };
        if !equal {
            return differs(line, packet.text.clone(), self.describe(&sent));
        }
        if matches!(sent.kind, Kind::Ack(_)) || self.connection != Connection::Passive {
            self.compared += 1;
        }
        Ok(())
    }

    /// Compares segments with a packet that may be as long as several of them.
    fn expect_data(&mut self, line: usize, packet: &Packet, range: Option<(Time, Time)>) -> Step {
        let numbers = (self.stream.segments_below(packet.start), self.stream.segments_below(packet.end()));
        let (Some(first), Some(behind)) = numbers else {
            return incomparable(line, "a packet with a part of a segment, or with what was not written");
        };
        for number in first..behind {
            let sent = self.take(line, packet, range)?;
            let Kind::Data(segment) = sent.kind else {
                return differs(line, packet.text.clone(), self.describe(&sent));
            };
            // Only the first of several carries CWR.
            let cwr = packet.flags.cwr && number == first;
            let ecn = packet.codepoint.unwrap_or(self.sender.ecn());
            if segment.seq != number || segment.cwr != cwr || ecn != self.sender.ecn() {
                return differs(line, packet.text.clone(), self.describe(&sent));
            }
        }
        if packet.ack != Some(self.peer.start(self.receiver.next())) {
            return differs(line, packet.text.clone(), format!("ack {}", self.peer.start(self.receiver.next())));
        }
        self.compared += 1;
        Ok(())
    }

    /// Takes the next packet, waiting for it up to the end of `range`.
    fn take(&mut self, line: usize, packet: &Packet, range: Option<(Time, Time)>) -> Result<Sent, Stop> {
        let end = range.map_or(Time::MAX, |(_, end)| end);
        while self.wire.is_empty() {
            let Some(next) = self.next_timer().filter(|next| *next <= end) else {
                let got = match range {
                    Some((_, end)) => format!("no packet up to {:.6} s", seconds(end)),
                    None => "no packet, and no timer".to_owned(),
                };
                return Err(differs(line, packet.text.clone(), got).expect_err("a difference"));
            };
            self.timer(line, next)?;
        }
        let sent = self.wire.pop_front().ok_or_else(|| stop(line, "no packet"))?;
        self.now = self.now.max(sent.at);
        match range.filter(|(from, to)| sent.at < *from || *to < sent.at) {
            Some((from, to)) => {
                let expected = format!("{} from {:.6} to {:.6} s", packet.text, seconds(from), seconds(to));
                Err(differs(line, expected, self.describe(&sent)).expect_err("a difference"))
            }
            None => Ok(sent),
        }
    }

    /// Returns true if an acknowledgement is the expected one.
    fn equals(&self, packet: &Packet, ack: &Ack) -> bool {
        let blocks: Vec<_> = ack.sack.as_slice().iter().map(|block| self.bytes(*block)).collect();
        let echo = packet.options.timestamps.is_none_or(|(_, echo)| timestamp(echo) == ack.echo);
        packet.ack == Some(self.peer.start(ack.next))
            && packet.flags.ece == ack.ece
            && (packet.options.any || (packet.options.sack == blocks && echo))
    }

    /// Returns a range of the peer's segments in bytes.
    fn bytes(&self, block: (u32, u32)) -> (u32, u32) {
        (self.peer.start(block.0), self.peer.start(block.1))
    }

    /// Describes a packet that was sent, as a script would write it.
    pub(super) fn describe(&self, sent: &Sent) -> String {
        let text = match sent.kind {
            Kind::Opening(Opening::Syn) => "> S".to_owned(),
            Kind::Opening(Opening::Ack) => "> . 1:1(0) ack 1".to_owned(),
            Kind::Data(segment) => {
                let (start, end) = (self.stream.start(segment.seq), self.stream.start(segment.seq + 1));
                let flag = if segment.cwr { "W." } else { "." };
                format!("> {flag} {start}:{end}({})", end - start)
            }
            Kind::Ack(ack) => {
                let flag = if ack.ece { "E." } else { "." };
                let blocks: Vec<_> = ack.sack.as_slice().iter().map(|block| self.bytes(*block)).collect();
                let sack: String = blocks.iter().map(|(start, end)| format!(" {start}:{end}")).collect();
                let sack = if sack.is_empty() { sack } else { format!(" <sack{sack}>") };
                format!("> {flag} ack {}{sack}, echo {} ms", self.peer.start(ack.next), ack.echo.as_nanos() / 1_000_000)
            }
        };
        format!("{text} at {:.6} s", seconds(sent.at))
    }
}

/// Returns a time in seconds.
fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e9
}
