//! The weight of a packet's traffic class.

/// Returns the weight of the traffic class byte, 1 to 4: one more than its two highest bits.
///
/// BARE's paper (section 4.5) uses "two bits of the type of service (TOS) field" and does not say which. The two
/// highest bits follow the order of the class selectors of RFC 2474: CS0 and CS1 have weight 1, CS2 and CS3 weight 2,
/// CS4 and CS5 weight 3, CS6 and CS7 weight 4.
pub(crate) const fn weight(class: u8) -> u32 {
    (class >> 6) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2474: class selector n is the DSCP 8n, so 32n in the byte; best effort is 0. Would catch other bits, and a
    /// best effort that has not the least weight.
    #[test]
    fn class_selectors_have_weights_in_their_order() {
        let weights: [u32; 8] = core::array::from_fn(|n| weight(32 * n as u8));
        assert_eq!(weights, [1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(weight(0b11), 1, "ECN's bits do not count");
    }
}
