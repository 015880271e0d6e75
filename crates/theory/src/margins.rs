//! Gain and phase margins of a control loop, by Nyquist's criterion.

use core::f64::consts::PI;
use core::ops::{Add, Div, Mul};

/// Gain and phase margins of a loop: by how much the gain may rise and the phase may fall before the closed loop is
/// unstable.
///
/// Negative margins are those of an unstable loop: by how much the gain has to fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Phase margin in degrees: the least over all frequencies at which the gain is 1.
    pub phase_degrees: f64,
    /// Gain margin in decibels: the least over all frequencies at which the phase is half a turn, or more by whole
    /// turns. Infinite if there is none before the gain is below 1/1000.
    pub gain_decibels: f64,
    /// The frequency of the least phase margin, in radians a second.
    pub crossover: f64,
    /// No zero of `1 + L` lies in the right half of the plane. `L` itself must have no pole there, and one at 0.
    pub stable: bool,
}

/// The first frequency, in radians a second, and the steps: a part of the frequency, and of the turn by the loop's
/// delay.
const FIRST: f64 = 1e-4;
const STEP: f64 = 2e-3;
const TURN: f64 = 0.05;
/// The gain from which on nothing happens any more.
const NEGLIGIBLE: f64 = 1e-3;

impl Margins {
    /// The margins of the loop whose transfer function at a frequency of `w` radians a second is `at(w)`, with an
    /// integrator, no poles in the right half of the plane and a delay of about `delay` seconds.
    pub(crate) fn of(at: impl Fn(f64) -> Complex, delay: f64) -> Self {
        let mut margins =
            Self { phase_degrees: f64::INFINITY, gain_decibels: f64::INFINITY, crossover: 0.0, stable: false };
        let (mut frequency, mut before) = (FIRST, at(FIRST));
        let mut phase = before.phase();
        // An integrator begins a quarter of a turn behind.
        if phase > 0.0 {
            phase -= 2.0 * PI;
        }
        let mut turned = 0.0;
        while before.size() > NEGLIGIBLE {
            frequency += (STEP * frequency).min(TURN / delay);
            let now = at(frequency);
            let behind = phase + (now / before).phase();
            turned += ((ONE + now) / (ONE + before)).phase();
            if (before.size() > 1.0) != (now.size() > 1.0) {
                let margin = 180.0 + behind.to_degrees();
                if margin < margins.phase_degrees {
                    (margins.phase_degrees, margins.crossover) = (margin, frequency);
                }
            }
            if half_turns(phase) != half_turns(behind) {
                margins.gain_decibels = margins.gain_decibels.min(-20.0 * libm::log10(now.size()));
            }
            (phase, before) = (behind, now);
        }
        // From -j infinity to 1 it is a quarter of a turn, and each zero on the right takes two turns off.
        margins.stable = turned > 0.0;
        margins
    }
}

/// The number of times that a phase has passed half a turn, whole turns apart.
fn half_turns(phase: f64) -> f64 {
    libm::floor((phase + PI) / (2.0 * PI))
}

/// A complex number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

const ONE: Complex = real(1.0);

/// A real number.
pub(crate) const fn real(re: f64) -> Complex {
    Complex { re, im: 0.0 }
}

/// `s` at a frequency of `w` radians a second.
pub(crate) const fn imaginary(w: f64) -> Complex {
    Complex { re: 0.0, im: w }
}

/// A delay of `seconds` at a frequency of `w` radians a second.
pub(crate) fn delayed(w: f64, seconds: f64) -> Complex {
    Complex { re: libm::cos(w * seconds), im: -libm::sin(w * seconds) }
}

impl Complex {
    fn size(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    fn phase(self) -> f64 {
        libm::atan2(self.im, self.re)
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Div for Complex {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let square = other.re * other.re + other.im * other.im;
        let Self { re, im } = self * Self { re: other.re, im: -other.im };
        Self { re: re / square, im: im / square }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a phase or a gain that is off: `K e^(-sT) / s` has its gain of 1 at `K`, where the phase margin is
    /// `pi/2 - KT`, and its phase of half a turn at `pi / (2T)`, so a gain margin of `pi / (2KT)`.
    #[test]
    fn an_integrator_with_a_delay_has_its_closed_form() {
        for (gain, delay) in [(1.0, 0.5), (10.0, 0.1), (2.0, 0.7), (3.0, 1.0)] {
            let margins = Margins::of(|w| real(gain) * delayed(w, delay) / imaginary(w), delay);
            assert!((margins.crossover / gain - 1.0).abs() < 0.01, "{margins:?}");
            assert!((margins.phase_degrees - (PI / 2.0 - gain * delay).to_degrees()).abs() < 0.5, "{margins:?}");
            let decibels = 20.0 * libm::log10(PI / (2.0 * gain * delay));
            assert!((margins.gain_decibels - decibels).abs() < 0.1, "{margins:?}");
            assert_eq!(margins.stable, gain * delay < PI / 2.0);
        }
    }

    /// Routh: `K / (s (s+1) (s+2))` is stable below 6, where half a turn is at the root of 2. Would catch zeros on the
    /// right that are not counted.
    #[test]
    fn three_poles_are_stable_up_to_rouths_gain() {
        for gain in [0.5, 3.0, 5.9, 6.1, 30.0] {
            let at = |w| {
                let s = imaginary(w);
                real(gain) / (s * (s + real(1.0)) * (s + real(2.0)))
            };
            let margins = Margins::of(at, 1.0);
            assert!((margins.gain_decibels - 20.0 * libm::log10(6.0 / gain)).abs() < 0.1, "{margins:?}");
            assert_eq!(margins.stable, gain < 6.0);
            assert_eq!(margins.phase_degrees > 0.0, gain < 6.0);
        }
    }

    /// Hollot, Misra, Towsley and Gong (INFOCOM 2001): TCP with a PI controller whose zero cancels the slow pole, `2.13
    /// e^(-0.246 s) / (s (s + 4.1))`. By hand: at 0.516 radians a second the gain is 1 and the phase -90 - 7.2 - 7.3
    /// degrees.
    #[test]
    fn the_loop_of_a_published_controller() {
        let at = |w| real(2.13) * delayed(w, 0.246) / (imaginary(w) * (imaginary(w) + real(4.1)));
        let margins = Margins::of(at, 0.246);
        let crossover = libm::sqrt((libm::hypot(16.81, 2.0 * 2.13) - 16.81) / 2.0);
        assert!((margins.crossover / crossover - 1.0).abs() < 0.005, "{margins:?} {crossover}");
        assert!((margins.phase_degrees - 75.5).abs() < 0.3, "{margins:?}");
    }
}
