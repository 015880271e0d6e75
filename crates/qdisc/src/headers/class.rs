//! Changes of the traffic class in a packet's IP header.

/// The two ECN bits of a traffic class (RFC 3168). Both set mean Congestion Experienced.
const ECN: u8 = 0b11;

/// Sets Congestion Experienced in the IP header that begins at `ip_at` of `data`, and changes the checksum of an IPv4
/// header as much. Without the bytes of the class and of the checksum nothing changes.
pub fn mark_ce(data: &mut [u8], ip_at: usize) {
    change_class(data, ip_at, |class| class | ECN);
}

/// Clears the DSCP (RFC 2474) in the IP header that begins at `ip_at` of `data`, and changes the checksum as
/// [`mark_ce`] does.
pub fn clear_dscp(data: &mut [u8], ip_at: usize) {
    change_class(data, ip_at, |class| class & ECN);
}

/// Applies `change` to the TOS or traffic class byte of an IP header.
fn change_class(data: &mut [u8], ip_at: usize, change: impl Fn(u8) -> u8) {
    let Some(ip) = data.get_mut(ip_at..) else { return };
    match ip {
        // RFC 8200: the class is the four lower bits of the first byte and the four upper ones of the second.
        [first, second, ..] if *first >> 4 == 6 => {
            let class = change(*first << 4 | *second >> 4);
            (*first, *second) = (*first & 0xf0 | class >> 4, class << 4 | *second & 0x0f);
        }
        // A checksum that is wrong stays wrong: it is changed by as much as the class is (RFC 1624, equation 3).
        [first, second, _, _, _, _, _, _, _, _, high, low, ..] if *first >> 4 == 4 => {
            let before = u16::from(*second);
            *second = change(*second);
            let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!before) + u32::from(*second);
            let folded = (sum & 0xffff) + (sum >> 16);
            [*high, *low] = (!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use etherparse::Ipv4HeaderSlice;

    use super::*;

    /// The header of the example in Wikipedia's article on the IPv4 header checksum, whose sum is 0xb861; CE adds 3 to
    /// the first word, so one's complement arithmetic takes 3 from the sum (RFC 1624).
    #[test]
    fn a_mark_is_in_the_header_with_its_checksum() {
        let mut data = *b"--\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61\xc0\xa8\x00\x01\xc0\xa8\x00\xc7++";
        let before = data;
        mark_ce(&mut data, 2);
        assert_eq!((data[3], &data[12..14]), (3, &[0xb8, 0x5e][..]));
        let changed: Vec<usize> = (0..data.len()).filter(|at| data[*at] != before[*at]).collect();
        assert_eq!(changed, [3, 13]);
        // RFC 8200: version, traffic class, flow label.
        // Would catch a header that was damaged on its way and is right after a mark.
        let mut wrong = before;
        wrong[13] ^= 1;
        mark_ce(&mut wrong, 2);
        assert_eq!(wrong[12..14], [0xb8, 0x5d]);
        let mut six = [0x60, 0x20, 0x12, 0x34];
        mark_ce(&mut six, 0);
        assert_eq!(six, [0x60, 0x30, 0x12, 0x34]);
    }

    /// Class 0xb9 is EF with ECT(1); it goes from the second byte, and its 0xb8 goes to the sum (RFC 1624). Would catch
    /// an ECN codepoint that is lost, a version or a flow label that is changed.
    #[test]
    fn a_dscp_is_cleared_with_its_checksum() {
        let mut data = *b"--\x45\xb9\x00\x73\x00\x00\x40\x00\x40\x11\xb7\xa8\xc0\xa8\x00\x01\xc0\xa8\x00\xc7++";
        clear_dscp(&mut data, 2);
        assert_eq!(data, *b"--\x45\x01\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x60\xc0\xa8\x00\x01\xc0\xa8\x00\xc7++");
        let mut six = [0x6b, 0x92, 0x12, 0x34];
        clear_dscp(&mut six, 0);
        assert_eq!(six, [0x60, 0x12, 0x12, 0x34]);
    }

    /// RFC 791 by another implementation, for each value that a checksum can have. Would catch a carry that is lost.
    #[test]
    fn every_checksum_stays_right() {
        for identification in 0..=u16::MAX {
            let [high, low] = identification.to_be_bytes();
            let mut data = [0x45, 0x02, 0, 20, high, low, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let right = |data: &[u8]| Ipv4HeaderSlice::from_slice(data).unwrap().to_header().calc_header_checksum();
            let before = right(&data);
            data[10..12].copy_from_slice(&before.to_be_bytes());
            mark_ce(&mut data, 0);
            assert_eq!(data[10..12], right(&data).to_be_bytes(), "{identification}");
        }
    }

    #[test]
    fn what_is_no_ip_stays_as_it_is() {
        for mut data in [[0x50, 1, 2], [0x00, 1, 2]] {
            let before = data;
            mark_ce(&mut data, 0);
            mark_ce(&mut data, 3);
            mark_ce(&mut data, 99);
            assert_eq!(data, before);
        }
        mark_ce(&mut [0x45], 0);
    }
}
