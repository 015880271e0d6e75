//! Powers of two in integers, without a division.
//!
//! Numbers have 16 binary digits behind the point unless stated otherwise.

/// One.
pub(super) const ONE: u64 = 1 << 16;

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
