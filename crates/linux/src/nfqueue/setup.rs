//! `NFQNL_MSG_CONFIG`.

use super::attribute::Writer;
use super::{MSG_CONFIG, NLM_F_ACK};

const NFQA_CFG_CMD: u16 = 1;
const NFQA_CFG_PARAMS: u16 = 2;
const NFQA_CFG_QUEUE_MAXLEN: u16 = 3;
const NFQA_CFG_MASK: u16 = 4;
const NFQA_CFG_FLAGS: u16 = 5;

const CMD_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;

const FLAG_FAIL_OPEN: u32 = 1 << 0;
const FLAG_CONNTRACK: u32 = 1 << 1;
const FLAG_GSO: u32 = 1 << 2;
const FLAG_UID_GID: u32 = 1 << 3;

/// The part of each packet that the kernel copies to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The first 128 bytes, which hold the headers, with IPv6 extension headers too.
    Headers,
    /// The whole packet, so that it can be rewritten.
    Whole,
}

impl Copied {
    /// Returns the maximum number of bytes copied of a packet.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Headers => 128,
            // The maximum length of an attribute.
            Self::Whole => 0xffff - 4,
        }
    }
}

/// The parameters of a queue when it is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The number of the NFQUEUE.
    pub queue: u16,
    /// The part of each packet that is copied.
    pub copied: Copied,
    /// The maximum number of packets that wait for their verdict. The kernel drops packets beyond it.
    pub max_packets: u32,
    /// Packets that the kernel cannot hand over pass instead of being dropped.
    pub fail_open: bool,
    /// GSO packets are handed over whole (`NFQA_CFG_F_GSO`): they have up to 64 kB and no checksum, and cannot be
    /// rewritten. If `false`, the kernel segments them first.
    pub gso: bool,
    /// The kernel tells what connection tracking knows of packets (`NFQA_CFG_F_CONNTRACK`), if it has
    /// `CONFIG_NETFILTER_NETLINK_GLUE_CT`; otherwise it refuses.
    pub conntrack: bool,
}

impl Setup {
    /// Writes the request to bind the queue. The kernel answers with the number `sequence`, and executes the request as
    /// a whole or not at all.
    pub fn write(&self, sequence: u32, buffer: &mut Vec<u8>) {
        let mut writer = Writer::new(buffer, MSG_CONFIG, NLM_F_ACK, sequence, self.queue);
        // The command, padding, and the protocol family 0 (any).
        writer.attribute(NFQA_CFG_CMD, &[CMD_BIND, 0, 0, 0]);
        let [a, b, c, d] = self.copied.bytes().to_be_bytes();
        writer.attribute(NFQA_CFG_PARAMS, &[a, b, c, d, COPY_PACKET]);
        writer.number(NFQA_CFG_QUEUE_MAXLEN, self.max_packets);
        writer.number(NFQA_CFG_MASK, FLAG_FAIL_OPEN | FLAG_CONNTRACK | FLAG_GSO | FLAG_UID_GID);
        let on = [(self.fail_open, FLAG_FAIL_OPEN), (self.conntrack, FLAG_CONNTRACK), (self.gso, FLAG_GSO)];
        writer.number(NFQA_CFG_FLAGS, on.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum());
        writer.finish();
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    /// The expected bytes were written by hand after `nfnetlink_queue.h`.
    #[test]
    fn a_queue_is_bound_by_one_message() {
        let setup = Setup {
            queue: 0x0102,
            copied: Copied::Headers,
            max_packets: 1_000_000,
            fail_open: true,
            gso: true,
            conntrack: false,
        };
        let mut buffer = vec![0xee];
        setup.write(7, &mut buffer);
        let expected = [
            64, 0, 0, 0, 2, 3, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, // nlmsghdr: CONFIG, REQUEST and ACK
            0, 0, 1, 2, // nfgenmsg: any family, version 0, the queue
            8, 0, 1, 0, 1, 0, 0, 0, // BIND
            9, 0, 2, 0, 0, 0, 0, 128, 2, 0, 0, 0, // 128 bytes of each packet, and padding
            8, 0, 3, 0, 0, 0x0f, 0x42, 0x40, // a million packets
            8, 0, 4, 0, 0, 0, 0, 15, // the flags that are meant
            8, 0, 5, 0, 0, 0, 0, 5, // the flags that are on
        ];
        assert_eq!((buffer[0], &buffer[1..]), (0xee, &expected[..]));
        buffer.clear();
        Setup { conntrack: true, ..setup }.write(7, &mut buffer);
        assert_eq!(buffer[60..], [0, 0, 0, 7]);
        buffer.clear();
        Setup { fail_open: false, gso: false, copied: Copied::Whole, ..setup }.write(7, &mut buffer);
        assert_eq!((&buffer[32..37], &buffer[60..]), (&[0, 0, 0xff, 0xfb, 2][..], &[0; 4][..]));
    }
}
