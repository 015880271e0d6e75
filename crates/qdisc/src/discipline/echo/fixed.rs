//! Square roots and powers of two in integers, without a division.
//!
//! Numbers have 16 binary digits behind the point unless stated otherwise.

/// One.
pub(super) const ONE: u64 = 1 << 16;

/// Returns the square root of `x`, to 16 leading binary digits, rounded down; 0 of 0.
pub(super) fn root(x: u64) -> u64 {
    if x == 0 {
        return 0;
    }
    // The point moves by whole pairs of digits, so that the leading 32 of them have a root of 16.
    let shift = x.leading_zeros() & !1;
    let leading = (x << shift) >> 32;
    let (entry, rest) = ((leading >> 24) as usize - FIRST, leading & 0xff_ffff);
    let mut root = (ROOTS[entry] + (((ROOTS[entry + 1] - ROOTS[entry]) * rest) >> 24)) >> 16;
    // A line between two entries is less than one below the root.
    root += u64::from((root + 1) * (root + 1) <= leading);
    (root << 24) >> (shift / 2)
}

/// The first entry of [`ROOTS`]: leading digits are at least a quarter of their range.
const FIRST: usize = 64;

/// The roots of the multiples of 2^24, from 64 of them on, with 16 digits behind the point.
const ROOTS: [u64; 193] = {
    let mut roots = [0; 193];
    let mut entry = 0;
    while entry < roots.len() {
        roots[entry] = (((FIRST + entry) as u128) << 56).isqrt() as u64;
        entry += 1;
    }
    roots
};

/// Returns 2 to the power of `x`, which has 32 binary digits behind the point and is from -16 to below 32.
pub(super) fn power_of_two(x: i64) -> u64 {
    let fraction = x as u32;
    let mut power = 1 << 31;
    for (digit, factor) in FACTORS.iter().enumerate() {
        if fraction << digit >> 31 == 1 {
            power = (power * factor) >> 31;
        }
    }
    // From 31 digits behind the point to 16.
    let whole = (x >> 32) - 15;
    if whole < 0 { power >> -whole } else { power << whole }
}

/// 2 to the powers of 1/2, 1/4 … 2^-16, with 31 binary digits behind the point: repeated roots of 2.
const FACTORS: [u64; 16] = {
    let mut factors = [0; 16];
    let mut power: u128 = 2 << 60;
    let mut digit = 0;
    while digit < factors.len() {
        power = (power << 60).isqrt();
        factors[digit] = (power >> 29) as u64;
        digit += 1;
    }
    factors
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a root that is not the largest of 16 digits whose square is at most the number, at the ends of each
    /// entry of the table and anywhere else.
    #[test]
    fn a_root_has_sixteen_exact_digits() {
        let check = |x: u64| {
            let exact = (u128::from(x) << 16).isqrt();
            let digits = u128::BITS - exact.leading_zeros();
            let expected = exact >> digits.saturating_sub(16) << digits.saturating_sub(16);
            assert_eq!(u128::from(root(x)), expected, "{x}");
        };
        (0..70_000).for_each(check);
        for entry in 64..=256_u64 {
            for offset in [-2_i64, -1, 0, 1, 2] {
                for shift in [40, 24, 8] {
                    check(((entry << 24).wrapping_add_signed(offset)) << shift >> 24);
                }
            }
        }
        let mut numbers = crate::Seed::new(1).stream("numbers");
        for _ in 0..300_000 {
            let bits = numbers.below(63);
            check(numbers.bits() >> bits);
        }
    }

    /// Against the logarithm's definition in floating point: 15 digits below 1, a relative error of 2^-15 above.
    #[test]
    fn powers_are_those_of_two() {
        for step in -1600..1300 {
            let x = f64::from(step) / 100.0;
            let power = power_of_two(libm::floor(x * 4_294_967_296.0) as i64) as f64 / 65_536.0;
            let exact = libm::exp2(x);
            assert!((power - exact).abs() <= exact / 32_768.0 + 1.0 / 65_536.0, "{x}: {power} {exact}");
        }
        assert_eq!([power_of_two(0), power_of_two(1 << 32), power_of_two(-1 << 32)], [ONE, 2 * ONE, ONE / 2]);
    }
}
