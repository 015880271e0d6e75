//! ECHO's control loop, linearised around its equilibrium with equal TCP flows, and unresponsive ones where there are
//! any.
//!
//! TCP's window is that of Misra, Gong and Towsley (SIGCOMM 2000): it grows by a packet a round trip and is halved by a
//! loss, so that the loss of a window of `W` packets is `p = 2 / (2 + W^2)`. Around it, as in De Schepper and others
//! (CoNEXT 2016, appendix B),
//!
//! ```text
//! W(s) / p(s) = - e^(-sR) / (R p (s + W p / R))
//! ```
//!
//! with the round trip `R`, the queue's delay among it. The delay of the queue grows by the admitted rate beyond the
//! link's rate; of TCP that is `W (1 - p) / R`, so that with TCP's part of the link `c`
//!
//! ```text
//! (s + c / R) q(s) = c (W(s) / W - p(s) / (1 - p)) + x(s)
//! ```
//!
//! where `x` is the admitted rate of unresponsive flows. A relative rise of the fair share `T` lowers TCP's loss by the
//! gain `g = 2 (1 + w) dd/dw`, about `4 p^(1/2)` for small `p`: with the window as `(2/p)^(1/2)` this makes the gain of
//! the loop the same at any window, as PI2's square does. With a number of tags `g` is its mean over the noise of the
//! count, of `w` as the discipline multiplies it. An unresponsive flow's admitted rate rises by its own gain at once,
//! and then settles, as the number of its tags follows within half of the sample's memory.
//!
//! The controller is `ln T(s) = -(0.3 / s + 0.3) / target q(s)`, at intervals of 16 ms that hold its value. The model
//! leaves out the controller's behaviour far from the target, in a flood that lasts, or at an empty queue; timeouts;
//! and the joint change of the TCP flows' parts of the sample against those of unresponsive flows. It does not hold
//! below a window of two packets, where TCP does not halve its window.

use crate::check::{Error, count, positive};
use crate::echo::{Chain, Echo, Noisy, admitted, excess_of_loss, gain_at};
use crate::margins::{Complex, Margins, delayed, imaginary, real};
use crate::solve::increasing;

/// The controller's gains: the integral one in 1/s, both for errors as parts of the target.
const INTEGRAL: f64 = 0.3;
const PROPORTIONAL: f64 = 0.3;
/// The time between updates, and that which the sample remembers, in seconds.
const PERIOD: f64 = 0.016;
const MEMORY: f64 = 0.2;
/// The packets whose time is the least target.
const WINDOW: f64 = 4.0;
/// The window in packets below which a loss does not halve it.
const LEAST_WINDOW: f64 = 2.0;
/// The change of a logarithm in a quotient of differences.
const SMALL: f64 = 1e-4;

/// A link and its flows, under ECHO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EchoPath {
    /// The rate of the link in packets a second.
    pub rate: f64,
    /// The round-trip time without the queue, in seconds.
    pub rtt: f64,
    /// The target that was configured, in seconds; the loop's is at least the time of four packets.
    pub target: f64,
    /// The TCP flows.
    pub tcps: u32,
    /// The unresponsive flows, which may be none, and the rate of each as a part of the link's.
    pub floods: u32,
    /// See `floods`.
    pub load: f64,
    /// The tags of the sample; `None` for rates that are measured without noise.
    pub tags: Option<u32>,
}

/// The loop of one path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EchoLoop {
    round_trip: f64,
    target: f64,
    window: f64,
    loss: f64,
    /// TCP's part of the link.
    part: f64,
    /// By how much TCP's loss falls for a relative rise of the fair share.
    gain: f64,
    flood: Flood,
}

/// The additional rate admitted of all unresponsive flows for a relative rise of the fair share, as a part of the link:
/// at once, and when their tags have followed, by half of `memory` seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flood {
    at_once: f64,
    settled: f64,
    memory: f64,
}

impl EchoLoop {
    /// The loop, or `None` where windows have less than two packets.
    ///
    /// # Errors
    /// When a number is out of its range, or the tags do not hold the flows back.
    pub fn new(path: &EchoPath) -> Result<Option<Self>, Error> {
        let rate = positive("rate", path.rate)?;
        let tcps = count("tcps", path.tcps)?;
        let target = positive("target", path.target)?.max(WINDOW / rate);
        let round_trip = positive("rtt", path.rtt)? + target;
        if path.tags.is_some_and(|tags| !(2..=65_536).contains(&tags)) {
            return Err(Error::new("tags", "give 2 to 65536"));
        }
        let mut this =
            Self { round_trip, target, window: 0.0, loss: 0.0, part: 1.0, gain: 0.0, flood: Flood::default() };
        // What TCP has depends on its loss by less than a third: a few rounds settle it.
        for _ in 0..ROUNDS {
            let sent = this.part * rate * round_trip / tcps;
            if sent < LEAST_WINDOW {
                return Ok(None);
            }
            // Of a window W a part 2 / (2 + W^2) is dropped, and `sent` passes: W^3 / (2 + W^2) = sent.
            this.window =
                increasing(|window| window * window * window / (2.0 + window * window), sent, sent, sent + 2.0);
            this.loss = 2.0 / (2.0 + this.window * this.window);
            this.settle(path)?;
        }
        Ok(Some(this))
    }

    /// Takes the gains, and the part of the link that TCP has at its loss.
    fn settle(&mut self, path: &EchoPath) -> Result<(), Error> {
        match (path.floods, path.tags) {
            (0, None) => self.gain = gain_at(excess_of_loss(self.loss)),
            (0, Some(tags)) => self.gain = of_tcp_alone(tags, path.tcps, self.loss).gain,
            (_, None) => {
                let echo = Echo::at_load(path.tcps, self.loss, path.floods, path.load)?;
                self.part = echo.tcp_share();
                self.gain = gain_at(excess_of_loss(self.loss));
                let excess = (path.load / echo.fair - 1.0).max(0.0);
                let passes =
                    |fair: f64| if path.load > fair { fair * admitted(path.load / fair - 1.0) } else { path.load };
                let settled = (passes(echo.fair * (1.0 + SMALL)) - passes(echo.fair)) / SMALL;
                self.flood = Flood::new(path, path.load * gain_at(excess), settled);
            }
            (_, Some(tags)) => {
                let echo = Echo::at_load(path.tcps, self.loss, path.floods, path.load)?;
                let noisy = Noisy::among(tags, &echo)?;
                self.part = 1.0 - f64::from(path.floods) * noisy.share;
                self.gain = Chain::of_tcp(noisy.births_of_tcp, noisy.fair, tags).gain;
                let flood = |fair: f64| Chain::new(noisy.births_of_flood, fair, tags, noisy.times);
                let (here, above) = (flood(noisy.fair), flood(noisy.fair * (1.0 + SMALL)));
                self.flood = Flood::new(path, path.load * here.gain, path.load * (here.loss - above.loss) / SMALL);
            }
        }
        Ok(())
    }

    /// The window of each TCP flow in packets.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The part of TCP's packets that is dropped.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// By how much that part falls for a relative rise of the fair share.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// The margins of the loop.
    #[must_use]
    pub fn margins(&self) -> Margins {
        Margins::of(|frequency| self.at(frequency), self.round_trip + PERIOD)
    }

    /// The loop's transfer function at a frequency in radians a second.
    fn at(&self, frequency: f64) -> Complex {
        let s = imaginary(frequency);
        let controller =
            (real(INTEGRAL) / s + real(PROPORTIONAL)) * real(1.0 / self.target) * delayed(frequency, PERIOD / 2.0);
        let queue = s + real(self.part / self.round_trip);
        controller * (real(self.part) * self.tcp(frequency) + self.flood.at(s)) / queue
    }

    /// The relative rise of TCP's rate for a relative rise of the fair share.
    fn tcp(&self, frequency: f64) -> Complex {
        let pole = imaginary(frequency) + real(self.window * self.loss / self.round_trip);
        let sent = delayed(frequency, self.round_trip) / (real(self.window * self.round_trip * self.loss) * pole);
        real(self.gain) * (sent + real(1.0 / (1.0 - self.loss)))
    }
}

/// Rounds until TCP's part of the link and its loss agree.
const ROUNDS: u32 = 4;

impl Flood {
    fn new(path: &EchoPath, at_once: f64, settled: f64) -> Self {
        // Samples are at least a packet apart.
        let memory = path.tags.map_or(MEMORY, |tags| MEMORY.max(f64::from(tags) / path.rate));
        let floods = f64::from(path.floods);
        Self { at_once: floods * at_once, settled: floods * settled, memory }
    }

    fn at(&self, s: Complex) -> Complex {
        let follows = real(self.settled - self.at_once) / (real(1.0) + s * real(self.memory / 2.0));
        real(self.at_once) + follows
    }
}

/// The tags of one of `tcps` flows that hold all `tags` and lose a part `loss`.
fn of_tcp_alone(tags: u32, tcps: u32, loss: f64) -> Chain {
    let held = f64::from(tags) / f64::from(tcps);
    let most = 1e4 * f64::from(tags);
    let of = |fair: f64| {
        Chain::of_tcp(increasing(|births| Chain::of_tcp(births, fair, tags).mean, held, 0.0, most), fair, tags)
    };
    of(increasing(|fair| -of(fair).loss, -loss, 0.01 * held, f64::from(tags)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: EchoPath) -> EchoLoop {
        EchoLoop::new(&path).ok().flatten().unwrap_or_else(|| panic!("{path:?}"))
    }

    fn path(rate: f64, rtt: f64, tcps: u32) -> EchoPath {
        EchoPath { rate, rtt, target: 0.01, tcps, floods: 0, load: 1.0, tags: None }
    }

    /// The plant of Hollot, Misra, Towsley and Gong (INFOCOM 2001): 60 flows at 3750 packets a second and a round trip
    /// of 0.246 s have `C^2 / 2N e^(-sR) / ((s + 2N / (R^2 C)) (s + 1 / R))` from loss to packets. Would catch a pole
    /// or a gain that is off. With `p = 2 / W^2` and without the packets that are lost theirs have `W p` less by 1.6 %,
    /// and the gain has its square.
    #[test]
    fn tcp_is_that_of_the_literature() {
        let this = of(path(3750.0, 0.236, 60));
        let (c, n, r) = (3750.0_f64, 60.0, 0.246);
        let size = |z: Complex| libm::hypot(z.re, z.im);
        for frequency in [0.1, 0.5, 2.0, 5.0] {
            let s = imaginary(frequency);
            let published = real(c * c / (2.0 * n)) / ((s + real(2.0 * n / (r * r * c))) * (s + real(1.0 / r)));
            // From a relative rise of the share to the delay, without the packets that are not dropped at once.
            let sent = this.tcp(frequency) + real(-this.gain / (1.0 - this.loss));
            let ours = sent / (s + real(1.0 / r)) * real(c / this.gain);
            assert!((size(ours) / size(published) - 1.0).abs() < 0.04, "{frequency}: {ours:?} {published:?}");
        }
    }

    /// Without noise the gain of the loop is the same at any large window: at a given round trip the margins at a
    /// hundred times the rate are the same. Would catch a law whose knee is not a square.
    #[test]
    fn the_square_makes_windows_irrelevant() {
        let [few, many] = [1e7, 1e9].map(|rate| of(path(rate, 0.02, 100)).margins());
        assert!((few.phase_degrees - many.phase_degrees).abs() < 1.0, "{few:?} {many:?}");
        assert!((few.gain_decibels - many.gain_decibels).abs() < 0.2, "{few:?} {many:?}");
    }

    /// By hand: with `g = 4 p^(1/2)` and `p = 2 / W^2`, at a large window and above TCP's own pole, the loop is
    /// `30 (1 + 1 / s) 2 sqrt(2) / (R s (s + 1/R))`, delayed. Would catch a gain of the controller or of the knee that
    /// is off.
    #[test]
    fn the_gain_is_that_of_the_hand_calculation() {
        let this = of(path(1e8, 0.01, 100));
        let frequency = 60.0;
        let value = this.at(frequency);
        let hand = 30.0 * 2.0 * libm::sqrt(2.0) / 0.02 / libm::hypot(frequency, 50.0)
            * libm::hypot(1.0, 1.0 / frequency)
            / frequency;
        assert!((libm::hypot(value.re, value.im) / hand - 1.0).abs() < 0.02, "{value:?} {hand}");
    }

    /// Would catch noise that does not soften the knee: the fewer the tags, the smaller the gain at large windows.
    #[test]
    fn noise_softens_the_knee() {
        let gains = [None, Some(4096), Some(256)].map(|tags| of(EchoPath { tags, ..path(1e5, 0.05, 20) }).gain());
        assert!(gains[0] > gains[1] && gains[1] > gains[2], "{gains:?}");
    }

    /// A flood far above its share passes in proportion to T once its tags have followed, and to its square before: `K`
    /// fixed, `1 - d` is `1 / w`, and `w` falls as `T^-2`.
    #[test]
    fn a_flood_follows_the_share() {
        let this = of(EchoPath { floods: 1, load: 100.0, ..path(1e5, 0.05, 20) });
        let share = 1.0 - this.part;
        assert!((this.flood.settled / share - 1.0).abs() < 0.01, "{this:?}");
        assert!((this.flood.at_once / share - 2.0).abs() < 0.01, "{this:?}");
    }

    #[test]
    fn small_windows_have_no_loop() {
        assert_eq!(EchoLoop::new(&path(1000.0, 0.01, 100)), Ok(None));
        assert!(EchoLoop::new(&EchoPath { tags: Some(1), ..path(1e5, 0.05, 20) }).is_err());
        assert!(EchoLoop::new(&path(1e5, 0.05, 0)).is_err());
    }
}
