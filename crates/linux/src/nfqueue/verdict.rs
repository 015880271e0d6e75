//! `NFQNL_MSG_VERDICT` and `NFQNL_MSG_VERDICT_BATCH`.

use fairlane_qdisc::headers::{clear_dscp, mark_ce};

use super::attribute::Writer;
use super::{MSG_VERDICT, MSG_VERDICT_BATCH};

const NFQA_VERDICT_HDR: u16 = 2;
const NFQA_MARK: u16 = 3;
const NFQA_PAYLOAD: u16 = 10;

const NF_DROP: u32 = 0;
const NF_ACCEPT: u32 = 1;
const NF_REPEAT: u32 = 4;

/// A change of a packet's TOS or traffic class byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassChange {
    /// Congestion Experienced is set (RFC 3168).
    pub mark: bool,
    /// The DSCP is cleared (RFC 2474).
    pub wash: bool,
}

impl ClassChange {
    /// Changes the IP header that begins at `ip_at` of `data`, with its checksum.
    pub(crate) fn apply(self, data: &mut [u8], ip_at: usize) {
        if self.mark {
            mark_ce(data, ip_at);
        }
        if self.wash {
            clear_dscp(data, ip_at);
        }
    }
}

/// The decision on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet passes unchanged.
    Accept,
    /// The packet passes with this firewall mark.
    Mark(u32),
    /// The packet passes with these bytes in place of the old ones, from the network header on.
    Rewrite(Box<[u8]>),
    /// The packet passes with this change, which whoever holds its bytes makes. The kernel does not: from an NFQUEUE
    /// the packet passes unchanged.
    Change(ClassChange),
    /// The packet is dropped.
    Drop,
}

/// The verdict on one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The packet's number: [`PacketMessage::id`](super::PacketMessage::id).
    pub id: u32,
    /// The decision.
    pub decision: Decision,
    /// The firewall mark with which the packet passes the rules of its hook once more (`NF_REPEAT`): rules that know it
    /// by a bit of the mark let it pass to those behind. `None`: it goes on behind the hook function that queued it,
    /// so in tables of iptables the rules behind that one do not see it.
    pub repeat: Option<u32>,
}

impl Verdict {
    /// Appends the message for `queue` to `buffer`. The kernel answers only if it does not know the packet, with the
    /// sequence number 0.
    pub fn write(&self, queue: u16, buffer: &mut Vec<u8>) {
        let mut writer = Writer::new(buffer, MSG_VERDICT, 0, 0, queue);
        let verdict = if self.decision == Decision::Drop { NF_DROP } else { passing(self.repeat) };
        writer.attribute(NFQA_VERDICT_HDR, &header(verdict, self.id));
        if let Decision::Rewrite(packet) = &self.decision {
            writer.attribute(NFQA_PAYLOAD, packet);
        }
        let mark = match self.decision {
            Decision::Mark(mark) => Some(mark | self.repeat.unwrap_or(0)),
            Decision::Drop => None,
            Decision::Accept | Decision::Rewrite(_) | Decision::Change(_) => self.repeat,
        };
        if let Some(mark) = mark {
            writer.number(NFQA_MARK, mark);
        }
        writer.finish();
    }
}

/// Appends the message that accepts every waiting packet of `queue` up to `id`; with `repeat` as in [`Verdict`].
pub fn accept_up_to(id: u32, queue: u16, repeat: Option<u32>, buffer: &mut Vec<u8>) {
    let mut writer = Writer::new(buffer, MSG_VERDICT_BATCH, 0, 0, queue);
    writer.attribute(NFQA_VERDICT_HDR, &header(passing(repeat), id));
    if let Some(mark) = repeat {
        writer.number(NFQA_MARK, mark);
    }
    writer.finish();
}

/// Returns the kernel's number of the verdict on a packet that passes.
const fn passing(repeat: Option<u32>) -> u32 {
    if repeat.is_some() { NF_REPEAT } else { NF_ACCEPT }
}

/// `struct nfqnl_msg_verdict_hdr`.
fn header(verdict: u32, id: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (verdict.to_be_bytes(), id.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    fn written(decision: Decision) -> Vec<u8> {
        again(decision, None)
    }

    fn again(decision: Decision, repeat: Option<u32>) -> Vec<u8> {
        let mut buffer = Vec::new();
        Verdict { id: 0x0102_0304, decision, repeat }.write(9, &mut buffer);
        buffer
    }

    /// The expected bytes were written by hand after `nfnetlink_queue.h`. Would catch a number in the wrong byte order,
    /// padding that is counted in an attribute's length, and a message that does not begin at a multiple of four bytes.
    #[test]
    fn verdicts_are_these_bytes() {
        let head = |length: u8, kind: u8| [length, 0, 0, 0, kind, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        let accept = [&head(32, 1)[..], &[12, 0, 2, 0, 0, 0, 0, 1, 1, 2, 3, 4]].concat();
        let drop = [&head(32, 1)[..], &[12, 0, 2, 0, 0, 0, 0, 0, 1, 2, 3, 4]].concat();
        let with = |length: u8, more: &[u8]| [&head(length, 1)[..], &accept[20..], more].concat();
        assert_eq!(written(Decision::Accept), accept);
        assert_eq!(written(Decision::Drop), drop);
        assert_eq!(written(Decision::Mark(0x4000_0001)), with(40, &[8, 0, 3, 0, 0x40, 0, 0, 1]));
        let rewritten = written(Decision::Rewrite(Box::new([0x45, 3, 0, 20, 1])));
        assert_eq!(rewritten, with(44, &[9, 0, 10, 0, 0x45, 3, 0, 20, 1, 0, 0, 0]));
        let mut batch = rewritten.clone();
        accept_up_to(5, 9, None, &mut batch);
        assert_eq!(batch[44..], [&head(32, 3)[..], &[12, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 5]].concat());
        // `NF_REPEAT` is 4. A packet that is dropped passes no rules.
        let repeated = |length, kind, number: u8, more: &[u8]| {
            [&head(length, kind)[..], &[12, 0, 2, 0, 0, 0, 0, 4], &[1, 2, 3, number], more].concat()
        };
        assert_eq!(again(Decision::Accept, Some(0x2000_0001)), repeated(40, 1, 4, &[8, 0, 3, 0, 0x20, 0, 0, 1]));
        let marked = again(Decision::Mark(0x4000_0001), Some(0x2000_0001));
        assert_eq!(marked, repeated(40, 1, 4, &[8, 0, 3, 0, 0x60, 0, 0, 1]));
        let rewritten = again(Decision::Rewrite(Box::new([0x45, 3, 0, 20])), Some(1));
        assert_eq!(rewritten, repeated(48, 1, 4, &[8, 0, 10, 0, 0x45, 3, 0, 20, 8, 0, 3, 0, 0, 0, 0, 1]));
        assert_eq!(again(Decision::Drop, Some(1)), drop);
        batch.clear();
        accept_up_to(0x0102_0305, 9, Some(0x2000_0000), &mut batch);
        assert_eq!(batch, repeated(40, 3, 5, &[8, 0, 3, 0, 0x20, 0, 0, 0]));
    }
}
