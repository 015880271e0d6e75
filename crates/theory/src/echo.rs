//! ECHO with equal unresponsive flows among equal TCP flows.
//!
//! A flow of rate `r` has `K` of the tags, and arrivals of flows with more than the fair share `T` are sampled less, by
//! `T / K`. So `(K / T)^2 = r / f` for `r >= f`, where `f` is the rate of a flow with `T` tags; the excess
//! `w = r / f - 1` is what the discipline computes from `K` and `T` alone. It drops a part `d = w^2 / (1 + w + w^2)`,
//! and the flow gets `f (1 + w / (1 + w + w^2))`: `f` at `w = 0`, at most `4/3 f`, at `r = 2 f`, and `f` again as `r`
//! grows. A TCP flow at a loss of `p` has the excess with `d = p`. The shares of all flows add up to 1, which gives
//! `f`. `docs/echo.md` derives this.
//!
//! With a number of tags the noise of `K` is modelled, too: `K` is a birth-death chain, in which tags of the flow come
//! in proportion to its rate, thinned, and go in proportion to `K`, as random tags are overwritten. A flow then loses
//! the mean of `d` over the chain. A TCP that can lose little stays below the fair rate by that noise; so the
//! discipline multiplies `w` by `T / M`, 1 to 3, where `M` is the mean of `K + 1/4` at sampled arrivals of flows with
//! `K <= 2 T + 1`. Without noise `M` is at least `T`, and nothing is multiplied. The model assumes that a flow's rate
//! is constant, each sampled arrival overwrites one tag, and `M` is that of the TCP flows; it leaves the spared
//! arrivals at an empty queue and the rarer sampling of unknown flows out.

use crate::check::{Error, below_one, count, positive};
use crate::solve::increasing;

/// The least fair share in tags, e^-4, as the discipline's.
const LEAST_FAIR: f64 = 0.018_315_638_888_734_18;

/// ECHO in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Echo {
    /// The TCP flows, and their loss.
    tcps: f64,
    loss: f64,
    /// The unresponsive flows, and the rate of each.
    floods: f64,
    load: f64,
    share: f64,
    one_tcp: f64,
    /// The fair rate without noise, as a part of the link's.
    pub(crate) fair: f64,
}

impl Echo {
    /// `floods` unresponsive flows of `load` times the link's rate each, among `tcps` TCP flows of which a part `loss`
    /// is dropped, measured by as many tags as one likes.
    ///
    /// # Errors
    /// When a number is out of its range: flows from 1 on, a load above 0, a loss from 0 to less than 1.
    pub fn at_load(tcps: u32, loss: f64, floods: u32, load: f64) -> Result<Self, Error> {
        let (tcps, floods) = (count("tcps", tcps)?, count("floods", floods)?);
        below_one("loss", loss)?;
        positive("load", load)?;
        let of_tcp = admitted(excess_of_loss(loss));
        let of_flood = |fair: f64| if load <= fair { load } else { fair * admitted(load / fair - 1.0) };
        let fair = increasing(|fair| tcps * fair * of_tcp + floods * of_flood(fair), 1.0, 0.0, 1.0 / tcps);
        Ok(Self { tcps, loss, floods, load, share: of_flood(fair), one_tcp: fair * of_tcp, fair })
    }

    /// The same with `tags` tags, which measure rates with noise.
    ///
    /// # Errors
    /// When a number is out of its range, there are fewer than 2 or more than 65,536 tags, or so many do not hold the
    /// flows back.
    pub fn with_tags(tcps: u32, loss: f64, floods: u32, load: f64, tags: u32) -> Result<Self, Error> {
        let ideal = Self::at_load(tcps, loss, floods, load)?;
        if !(2..=65_536).contains(&tags) {
            return Err(Error::new("tags", format!("{tags} is out of range; give 2 to 65536")));
        }
        let noisy = Noisy::among(tags, &ideal)?;
        Ok(Self { share: noisy.share, one_tcp: noisy.one_tcp, ..ideal })
    }

    /// Sending rate of each unresponsive flow as a part of the link's rate.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Share of the link of each unresponsive flow.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Share of the link of all unresponsive flows together.
    #[must_use]
    pub fn total_share(&self) -> f64 {
        self.floods * self.share
    }

    /// Share of the link of all TCP flows together.
    #[must_use]
    pub fn tcp_share(&self) -> f64 {
        self.tcps * self.one_tcp
    }

    /// The part of the packets of each unresponsive flow that is dropped.
    #[must_use]
    pub fn loss(&self) -> f64 {
        1.0 - self.share / self.load
    }

    /// Share of each unresponsive flow, as a part of its max-min fair share: its rate, or an equal part of the link
    /// where that is less.
    #[must_use]
    pub fn of_fair_share(&self) -> f64 {
        let equal = 1.0 / (self.tcps + self.floods);
        self.share / if self.load < equal { self.load } else { equal }
    }
}

/// The part of an unresponsive flow, and of a TCP flow, at a fair share in tags.
pub(crate) struct Noisy {
    pub(crate) fair: f64,
    pub(crate) share: f64,
    pub(crate) one_tcp: f64,
    pub(crate) births_of_tcp: f64,
    pub(crate) births_of_flood: f64,
    /// By what an excess is multiplied.
    pub(crate) times: f64,
}

impl Noisy {
    /// Solves for the fair share in tags at which the flows of `model` fill the link.
    pub(crate) fn among(tags: u32, model: &Echo) -> Result<Self, Error> {
        let of = |fair: f64| Self::new(fair, tags, model);
        let all = |noisy: &Self| model.tcps * noisy.one_tcp + model.floods * noisy.share;
        let noisy = of(increasing(|fair| all(&of(fair)), 1.0, LEAST_FAIR, f64::from(tags)));
        if (all(&noisy) - 1.0).abs() > 1e-6 {
            let message = format!("{tags} do not hold so many flows back, or so fast ones; give more");
            return Err(Error::new("tags", message));
        }
        Ok(noisy)
    }

    /// Solves for the rates of births at which TCP's loss is as wanted and all tags are taken.
    fn new(fair: f64, tags: u32, model: &Echo) -> Self {
        let most = 1e4 * f64::from(tags);
        let births_of_tcp = increasing(|births| Chain::of_tcp(births, fair, tags).loss, model.loss, 0.0, most);
        let times = times(births_of_tcp, fair, tags);
        let chain = |births: f64| Chain::new(births, fair, tags, times);
        let left = (f64::from(tags) - model.tcps * chain(births_of_tcp).mean) / model.floods;
        let births_of_flood = increasing(|births| chain(births).mean, left, 0.0, most);
        // Births are in proportion to rates.
        let rate = model.load * births_of_tcp / births_of_flood;
        let share = model.load * (1.0 - chain(births_of_flood).loss);
        Self { fair, share, one_tcp: rate * (1.0 - model.loss), births_of_tcp, births_of_flood, times }
    }
}

/// The tags of one flow in equilibrium.
pub(crate) struct Chain {
    pub(crate) mean: f64,
    /// The mean part of its arrivals that is dropped.
    pub(crate) loss: f64,
    /// By how much that falls for a relative rise of the fair share, before the number of tags follows.
    pub(crate) gain: f64,
}

impl Chain {
    /// The chain of a TCP flow, whose own number of tags decides by what its excess is multiplied.
    pub(crate) fn of_tcp(births: f64, fair: f64, tags: u32) -> Self {
        Self::new(births, fair, tags, times(births, fair, tags))
    }

    /// The chain on 0 to `tags` that goes up at the rate `births`, thinned, and down at the rate K, where an excess is
    /// multiplied by `times`.
    pub(crate) fn new(births: f64, fair: f64, tags: u32, times: f64) -> Self {
        let (mut sum, mut mean, mut loss, mut gain) = (0.0, 0.0, 0.0, 0.0);
        for (number, part) in distribution(births, fair, tags) {
            let excess = excess_of_ratio((number + 0.25) / fair);
            sum += part;
            mean += part * number;
            loss += part * dropped(times * excess);
            gain += part * gain_among(excess, times);
        }
        Self { mean: mean / sum, loss: loss / sum, gain: gain / sum }
    }
}

/// How likely each number of tags is, as a multiple of the likeliest's; none that is below a millionth of a millionth
/// of it.
fn distribution(births: f64, fair: f64, tags: u32) -> Vec<(f64, f64)> {
    let mut logarithms = Vec::with_capacity(tags as usize + 1);
    let (mut logarithm, mut most) = (0.0_f64, 0.0_f64);
    for k in 0..=tags {
        let number = f64::from(k);
        most = most.max(logarithm);
        // It rises to one most, and falls.
        if logarithm < most - 28.0 {
            break;
        }
        logarithms.push((number, logarithm));
        logarithm += libm::log(births * thinned(number, fair) / (number + 1.0));
    }
    logarithms.retain(|(_, logarithm)| logarithm - most > -28.0);
    logarithms.iter().map(|(number, logarithm)| (*number, libm::exp(logarithm - most))).collect()
}

/// The part of the arrivals that are sampled, of those that would be within the fair share.
fn thinned(number: f64, fair: f64) -> f64 {
    if number > fair { fair / number } else { 1.0 }
}

/// The fair share as a multiple of the mean number of tags, and a quarter, that sampled arrivals of TCP find, 1 to 3.
fn times(births: f64, fair: f64, tags: u32) -> f64 {
    let (mut sum, mut mean) = (0.0, 0.0);
    for (number, part) in distribution(births, fair, tags) {
        if number <= 2.0 * fair + 1.0 {
            let sampled = part * thinned(number, fair);
            sum += sampled;
            mean += sampled * (number + 0.25);
        }
    }
    (fair * sum / mean).clamp(1.0, MOST_TIMES)
}

/// The most by which an excess is multiplied.
const MOST_TIMES: f64 = 3.0;

/// The excess of a flow with `ratio` times the fair share of the tags.
fn excess_of_ratio(ratio: f64) -> f64 {
    (ratio * ratio - 1.0).max(0.0)
}

/// The part that is dropped of a flow with this excess.
fn dropped(excess: f64) -> f64 {
    excess * excess / (1.0 + excess + excess * excess)
}

/// By how much that falls for a relative rise of the fair share in tags: the excess then falls by `2 (1 + w)`.
pub(crate) fn gain_at(excess: f64) -> f64 {
    gain_among(excess, 1.0)
}

/// The same where the excess is multiplied by `times`: between its bounds that rises with the fair share, so that the
/// product falls by `2 + w` times as much.
fn gain_among(excess: f64, times: f64) -> f64 {
    let product = times * excess;
    let all = 1.0 + product + product * product;
    let fall = if times > 1.0 && times < MOST_TIMES { 2.0 + excess } else { 2.0 * (1.0 + excess) };
    times * fall * product * (2.0 + product) / (all * all)
}

/// The rate of a flow with this excess, as a multiple of the fair rate.
pub(crate) fn admitted(excess: f64) -> f64 {
    1.0 + excess / (1.0 + excess + excess * excess)
}

/// The excess of which the part `loss` is dropped: the positive root of `(1 - p) w^2 - p w - p`.
pub(crate) fn excess_of_loss(loss: f64) -> f64 {
    (loss + libm::sqrt(loss * (4.0 - 3.0 * loss))) / (2.0 * (1.0 - loss))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The excess is the inverse of the loss, and 4/3 of the fair rate the most that any flow gets, at twice the fair
    /// rate.
    #[test]
    fn the_law_has_its_closed_forms() {
        for loss in [0.0, 1e-6, 0.01, 0.2, 0.9] {
            let excess = excess_of_loss(loss);
            let back = excess * excess / (1.0 + excess + excess * excess);
            assert!((back - loss).abs() < 1e-12, "{loss}: {back}");
            // r (1 - d) and f (1 + w / (1 + w + w^2)) are the same.
            assert!(((1.0 + excess) * (1.0 - loss) - admitted(excess)).abs() < 1e-12);
        }
        assert!((admitted(1.0) - 4.0 / 3.0).abs() < 1e-15);
        assert!((0..1000).all(|n| admitted(f64::from(n) / 100.0) <= 4.0 / 3.0));
        assert!((dropped(excess_of_ratio(std::f64::consts::SQRT_2)) - 1.0 / 3.0).abs() < 1e-12, "twice the fair rate");
        // Its slope, by a difference quotient of the definition.
        for ratio in [1.01, 1.3, 2.0, 20.0] {
            let at = |change: f64| dropped(excess_of_ratio(ratio * libm::exp(change)));
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gain_at(excess_of_ratio(ratio)) / slope - 1.0).abs() < 1e-6, "{ratio}: {slope}");
            // With the excess twice as large, and for each rise of the fair share as much larger again.
            let at = |change: f64| dropped(2.0 * libm::exp(-change) * excess_of_ratio(ratio * libm::exp(change)));
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gain_among(excess_of_ratio(ratio), 2.0) / slope - 1.0).abs() < 1e-6, "{ratio}: {slope}");
        }
    }

    /// Poisson's distribution of mean 3, nearly all within a share of 7, which is 7 / 3.25 of the mean with a quarter;
    /// a share of 20 is 6 times as much, and has the bound. With births of 40 nearly all numbers are above a share of
    /// 6, which is then less than the mean.
    #[test]
    fn an_excess_is_in_the_rates_of_tcp() {
        assert!((times(3.0, 20.0, 200) - MOST_TIMES).abs() < 1e-12);
        assert!((times(3.0, 7.0, 200) / (7.0 / 3.25) - 1.0).abs() < 0.03, "{}", times(3.0, 7.0, 200));
        assert!((times(40.0, 6.0, 200) - 1.0).abs() < 1e-12);
    }

    /// One TCP without a loss and one flow of half of the link or less: both get the fair share. Far above, both have
    /// half.
    #[test]
    fn without_loss_shares_are_equal_at_both_ends() {
        for (load, share) in [(0.2, 0.2), (0.5, 0.5), (1e6, 0.5)] {
            let echo = Echo::at_load(1, 0.0, 1, load).unwrap_or_else(|error| panic!("{error}"));
            assert!((echo.share() - share).abs() < 1e-5, "{load}: {echo:?}");
            assert!((echo.share() + echo.tcp_share() - 1.0).abs() < 1e-9);
        }
    }

    /// Would catch a chain with another distribution: without thinning it is Poisson's, and with it detailed balance
    /// holds, by a simulation of the tags themselves.
    #[test]
    fn the_chain_is_that_of_the_tags() {
        let poisson = Chain::new(3.0, 1000.0, 200, 1.0);
        assert!((poisson.mean - 3.0).abs() < 1e-12);
        // 200 tags, four flows, of which one sends ten times as much; a linear congruential generator.
        let (rates, fair, tags) = ([1.0, 1.0, 1.0, 10.0], 20.0, 200_usize);
        let mut state = 1_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 9_007_199_254_740_992.0
        };
        let (mut places, mut held) = (vec![0_usize; tags], [tags as f64, 0.0, 0.0, 0.0]);
        let (mut sums, mut steps) = ([0.0; 4], 0.0);
        for step in 0..1_000_000 {
            let pick = unit() * 13.0;
            let flow = if pick < 3.0 { pick as usize } else { 3 };
            if held[flow] <= fair || unit() < fair / held[flow] {
                let place = (unit() * tags as f64) as usize;
                held[places[place]] -= 1.0;
                places[place] = flow;
                held[flow] += 1.0;
            }
            if step > 10_000 {
                steps += 1.0;
                (0..4).for_each(|flow| sums[flow] += held[flow]);
            }
        }
        // Births in the units of the chain: the flows' parts of what fills all tags.
        let births = increasing(
            |unit| rates.iter().map(|rate| Chain::new(unit * rate, fair, 200, 1.0).mean).sum(),
            tags as f64,
            0.0,
            1e6,
        );
        for (flow, rate) in rates.iter().enumerate() {
            let (model, simulated) = (Chain::new(births * rate, fair, 200, 1.0).mean, sums[flow] / steps);
            assert!((model / simulated - 1.0).abs() < 0.03, "{flow}: {model} {simulated}");
        }
    }

    /// Would catch noise that does not become less with more tags, and noise that helps TCP.
    #[test]
    fn more_tags_come_closer_to_the_ideal() {
        let ratio = |echo: Result<Echo, Error>| echo.map(|echo| echo.share() / echo.tcp_share()).unwrap_or(f64::NAN);
        let ideal = ratio(Echo::at_load(8, 0.02, 1, 2.0));
        let noisy = [64, 256, 1024].map(|tags| ratio(Echo::with_tags(8, 0.02, 1, 2.0, tags)));
        assert!(noisy.windows(2).all(|pair| pair[0] > pair[1]), "{noisy:?}");
        assert!((noisy[2] / ideal - 1.0).abs() < 0.1, "{noisy:?} {ideal}");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let refused = |echo: Result<Echo, Error>| echo.map_or_else(|error| error.parameter(), |_| "");
        assert_eq!(refused(Echo::at_load(0, 0.1, 1, 1.0)), "tcps");
        assert_eq!(refused(Echo::at_load(1, 1.0, 1, 1.0)), "loss");
        assert_eq!(refused(Echo::at_load(1, 0.1, 0, 1.0)), "floods");
        assert_eq!(refused(Echo::at_load(1, 0.1, 1, 0.0)), "load");
        assert_eq!(refused(Echo::with_tags(1, 0.1, 1, 1.0, 1)), "tags");
    }
}
