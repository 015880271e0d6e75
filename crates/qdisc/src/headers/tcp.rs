//! TCP headers, for filters of acknowledgements.

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, ip_number};

use crate::{Sack, SackBlocks, TcpHeader};

// Flags of TCP (RFC 9293, section 3.1), in the two bytes that begin with the length of the header.
const SYN: u16 = 1 << 1;
const ACK: u16 = 1 << 4;
/// All flags and reserved bits but ECE and CWR.
const NOT_ECN: u16 = 0x0f3f;

// Options of TCP: RFC 9293, RFC 2018, RFC 7323, RFC 2385.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5_SIGNATURE: u8 = 19;

/// The length of a SACK block.
const BLOCK: usize = 8;

/// Returns the input of a filter of acknowledgements for the packet that begins with the IP header `ip`; see
/// [`Packet::tcp`](crate::Packet::tcp). `connection` identifies its addresses and ports.
///
/// `None` if the packet is not TCP, is a fragment, has IPv6 extension headers, or was not captured to the end of its
/// TCP header.
#[must_use]
pub fn tcp_header(ip: &[u8], connection: u64) -> Option<TcpHeader> {
    let (tcp, length) = segment(ip)?;
    let tcp = TcpHeaderSlice::from_slice(tcp).ok()?;
    let flags = tcp.slice().get(12..14)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))?;
    let options = TcpOptions::read(tcp.options());
    Some(TcpHeader {
        connection,
        acknowledges: flags & (ACK | SYN) == ACK,
        number: tcp.acknowledgment_number(),
        pure: flags & NOT_ECN == ACK && length == tcp.slice().len() && options.harmless,
        ece: tcp.ece(),
        cwr: tcp.cwr(),
        timestamps: options.timestamps,
        sack: options.sack,
    })
}

/// Returns the bytes from the TCP header on, and the length of the segment with its header according to the IP header.
fn segment(ip: &[u8]) -> Option<(&[u8], usize)> {
    match ip.first()? >> 4 {
        4 => {
            let header = Ipv4HeaderSlice::from_slice(ip).ok()?;
            let own = header.slice().len();
            let is_tcp = header.protocol() == ip_number::TCP && !header.is_fragmenting_payload();
            is_tcp.then_some((ip.get(own..)?, usize::from(header.total_len()).saturating_sub(own)))
        }
        6 => {
            let header = Ipv6HeaderSlice::from_slice(ip).ok()?;
            let is_tcp = header.next_header() == ip_number::TCP;
            is_tcp.then_some((ip.get(header.slice().len()..)?, usize::from(header.payload_length())))
        }
        _ => None,
    }
}

/// The options of a TCP header.
struct TcpOptions {
    /// There are none but timestamps, SACK and MD5 signatures.
    harmless: bool,
    timestamps: Option<(u32, u32)>,
    sack: Sack,
}

impl TcpOptions {
    /// Reads options up to the end of the list or to one that is cut off.
    fn read(mut rest: &[u8]) -> Self {
        let mut options = Self { harmless: true, timestamps: None, sack: Sack::None };
        while let [kind, behind @ ..] = rest {
            match *kind {
                END => break,
                NO_OPERATION => rest = behind,
                kind => {
                    let length = behind.first().map_or(0, |length| usize::from(*length));
                    let Some(value) = rest.get(2..length) else { break };
                    options.add(kind, value);
                    rest = &rest[length..];
                }
            }
        }
        options
    }

    /// Notes an option. Of several of a kind the first counts, and they are not harmless.
    fn add(&mut self, kind: u8, value: &[u8]) {
        match kind {
            MD5_SIGNATURE => {}
            SACK if self.sack == Sack::None => {
                let mut blocks = [(0, 0); SackBlocks::MOST];
                let mut count = 0;
                for (place, block) in blocks.iter_mut().zip(value.chunks_exact(BLOCK).filter_map(numbers)) {
                    *place = block;
                    count += 1;
                }
                if count > 0 {
                    self.sack = Sack::Blocks(SackBlocks::new(&blocks[..count]));
                }
                self.harmless &= value.len().is_multiple_of(BLOCK);
            }
            TIMESTAMPS if self.timestamps.is_none() && value.len() == 8 => self.timestamps = numbers(value),
            _ => self.harmless = false,
        }
    }
}

/// Returns the two numbers with which `bytes` begins.
fn numbers(bytes: &[u8]) -> Option<(u32, u32)> {
    let &[a, b, c, d, e, f, g, h] = bytes.first_chunk()?;
    Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])))
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// Returns a TCP segment with acknowledgement number 9, these flags, options of whole words and `data` bytes of
    /// data.
    fn tcp(flags: u16, options: &[u8], data: usize) -> Vec<u8> {
        let words = 5 + options.len() / 4;
        let [high, low] = ((words as u16) << 12 | flags).to_be_bytes();
        let mut segment = vec![0, 5, 0, 6, 0, 0, 0, 1, 0, 0, 0, 9, high, low, 0, 1, 0, 0, 0, 0];
        segment.extend(options);
        segment.resize(segment.len() + data, 7);
        segment
    }

    fn ipv4(segment: &[u8]) -> Vec<u8> {
        let length = 20 + segment.len() as u8;
        [&[0x45, 0, 0, length, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], segment].concat()
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        [&[0x60, 0, 0, 0, 0, payload.len() as u8, next, 64][..], &[1; 16], &[2; 16], payload].concat()
    }

    const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];

    /// RFC 9293, RFC 7323, RFC 2018. Would catch a field from another place of the header.
    #[test]
    fn a_header_is_read() {
        let ack = TcpHeader { timestamps: Some((3, 4)), ..TcpHeader::ack(77, 9) };
        for packet in [ipv4(&tcp(ACK, &STAMPS, 0)), ipv6(6, &tcp(ACK, &STAMPS, 0))] {
            assert_eq!(tcp_header(&packet, 77), Some(ack));
        }
        let blocks = [1, 1, 5, 18, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0, 50];
        let sack = Sack::Blocks(SackBlocks::new(&[(20, 30), (40, 50)]));
        let both = [&STAMPS[..], &blocks].concat();
        assert_eq!(tcp_header(&ipv4(&tcp(ACK, &both, 0)), 77), Some(TcpHeader { sack, ..ack }));
        let flags = |flags| tcp_header(&ipv4(&tcp(flags, &[], 0)), 0).unwrap();
        assert_eq!((flags(ACK | 1 << 6), flags(ACK | 1 << 7)), {
            let plain = TcpHeader::ack(0, 9);
            (TcpHeader { ece: true, ..plain }, TcpHeader { cwr: true, ..plain })
        });
    }

    /// The acknowledgements that sch_cake's `cake_tcph_may_drop` lets pass. Would catch a packet with data, another
    /// flag, a reserved bit or an unknown option that would be dropped.
    #[test]
    fn only_a_plain_acknowledgement_is_pure() {
        let pure = |packet: &[u8]| tcp_header(packet, 0).map(|tcp| (tcp.pure, tcp.acknowledges));
        assert_eq!(pure(&ipv4(&tcp(ACK, &[], 1))), Some((false, true)), "data");
        for flag in [0, 2, 3, 5, 8, 9, 10, 11] {
            assert_eq!(pure(&ipv4(&tcp(ACK | 1 << flag, &[], 0))), Some((false, true)), "flag {flag}");
        }
        assert_eq!(pure(&ipv4(&tcp(ACK | SYN, &[], 0))), Some((false, false)));
        assert_eq!(pure(&ipv4(&tcp(0, &[], 0))), Some((false, false)));
        let md5 = [&[19, 18][..], &[5; 16], &[1, 1]].concat();
        assert_eq!(pure(&ipv4(&tcp(ACK, &md5, 0))), Some((true, true)));
        // MSS, an unknown option, timestamps and SACK of wrong lengths, two timestamps, an option that is cut off is
        // not read.
        for options in [&[2, 4, 5, 180][..], &[99, 4, 0, 0], &[8, 4, 0, 0], &[5, 4, 0, 0], &[STAMPS, STAMPS].concat()] {
            assert_eq!(pure(&ipv4(&tcp(ACK, options, 0))), Some((false, true)), "{options:?}");
        }
        for options in [[1, 1, 1, 99], [99, 1, 0, 0], [99, 40, 0, 0], [0, 99, 4, 0]] {
            assert_eq!(pure(&ipv4(&tcp(ACK, &options, 0))), Some((true, true)), "{options:?}");
        }
    }

    /// Would catch a read beyond the end, and data of a fragment or behind an extension header that are taken for a TCP
    /// header.
    #[test]
    fn what_is_no_whole_header_is_none() {
        let whole = ipv4(&tcp(ACK, &STAMPS, 0));
        for length in 0..whole.len() {
            assert_eq!(tcp_header(&whole[..length], 0), None, "{length} bytes");
        }
        for fragment in [[0x20, 0], [0, 1]] {
            let mut packet = whole.clone();
            packet[6..8].copy_from_slice(&fragment);
            assert_eq!(tcp_header(&packet, 0), None);
        }
        let mut udp = whole;
        udp[9] = 17;
        assert_eq!(tcp_header(&udp, 0), None);
        let options = [&[6, 0, 1, 4, 0, 0, 0, 0][..], &tcp(ACK, &[], 0)].concat();
        assert_eq!(tcp_header(&ipv6(60, &options), 0), None);
    }
}
