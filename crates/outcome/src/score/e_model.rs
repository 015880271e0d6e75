//! The E-model of ITU-T G.107: the quality of a call from its delay and its loss.

use fairlane_qdisc::Duration;

/// The impairment by a codec (ITU-T G.113, Appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// The equipment impairment factor without losses, Ie.
    pub impairment: f64,
    /// The robustness against losses, Bpl, in percent.
    pub robustness: f64,
}

impl Codec {
    /// G.711 without concealment of losses.
    pub const G711: Self = Self { impairment: 0.0, robustness: 4.3 };
    /// G.711 with concealment of losses (Appendix I of G.711).
    pub const G711_CONCEALED: Self = Self { impairment: 0.0, robustness: 25.1 };

    /// Returns the effective equipment impairment factor Ie,eff of a `loss` from 0 to 1 with `burst_ratio` (G.107,
    /// equation 7-29).
    ///
    /// The Recommendation has burst ratios from 1 on; below it, where losses are spaced more evenly than by chance, the
    /// ratio counts as 1.
    #[must_use]
    pub fn effective_impairment(self, loss: f64, burst_ratio: f64) -> f64 {
        let percent = 100.0 * loss;
        if percent <= 0.0 {
            return self.impairment;
        }
        self.impairment + (95.0 - self.impairment) * percent / (percent / burst_ratio.max(1.0) + self.robustness)
    }
}

/// The noise of both ends of the default connection in dBm0p, No, from the default values of G.107, Table 2.
const NOISE: f64 = -61.179;
/// The basic signal-to-noise ratio of the default connection, Ro = 15 − 1.5 (SLR + No).
const BASIC: f64 = 15.0 - 1.5 * (8.0 + NOISE);
/// The simultaneous impairments of the default connection, Is.
const SIMULTANEOUS: f64 = 1.414;
/// The talker echo loudness rating of the default connection in dB, TELR.
const TALKER_ECHO: f64 = 65.0;
/// The weighted echo path loss of the default connection in dB, WEPL.
const ECHO_LOSS: f64 = 110.0;
/// The receive loudness rating of the default connection in dB, RLR.
const RECEIVE: f64 = 2.0;

/// Returns the transmission rating R of ITU-T G.107, which is 93.2 for the default connection without delay and loss.
///
/// `delay` is the time from mouth to ear. Echo comes back by the other direction, with the same delay. `loss` is that
/// of packets, from 0 to 1, and `burst_ratio` is 1 if losses are independent.
///
/// The equation for losses is one of few losses (G.107 permits 20 %): of a call that loses everything it would leave a
/// rating of 17. So a call that loses a part of its packets keeps at most the other part of its rating.
#[must_use]
pub fn transmission_rating(codec: Codec, delay: Duration, loss: f64, burst_ratio: f64) -> f64 {
    let delay_ms = delay.as_secs() * 1e3;
    let without_loss = BASIC - SIMULTANEOUS - delay_impairment(delay_ms);
    (without_loss - codec.effective_impairment(loss, burst_ratio)).min(without_loss * (1.0 - loss))
}

/// Returns the delay impairment factor Id: of echo to the talker and to the listener, and of delay as such (G.107,
/// section 7.4).
fn delay_impairment(ms: f64) -> f64 {
    let (one_way, round_trip) = (ms, 2.0 * ms);
    let echo = TALKER_ECHO - 40.0 * libm::log10((1.0 + one_way / 10.0) / (1.0 + one_way / 150.0))
        + 6.0 * libm::exp(-0.3 * one_way * one_way);
    let talker = 80.0 + 2.5 * (echo - 14.0);
    let (reference, half) = (-1.5 * (NOISE - RECEIVE), |from: f64, to: f64| (from - to) / 2.0);
    let of_talker = (half(reference, talker) + libm::sqrt(squared(half(reference, talker)) + 100.0) - 1.0)
        * (1.0 - libm::exp(-one_way));
    let listener = 10.5 * (ECHO_LOSS + 7.0) * libm::pow(round_trip + 1.0, -0.25);
    let of_listener = half(BASIC, listener) + libm::sqrt(squared(half(BASIC, listener)) + 169.0);
    of_talker + of_listener + absolute_delay(ms)
}

/// Returns Idd, the impairment of too long a delay even without echo.
fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log10(ms / 100.0) / libm::log10(2.0);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

fn squared(x: f64) -> f64 {
    x * x
}

/// Returns the mean opinion score of a transmission rating, 1 to 4.5 (G.107, Annex B).
#[must_use]
pub fn mean_opinion_score(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        // Below a rating of 6.5 the cubic is less than 1.
        (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rating(delay: u64, loss: f64) -> f64 {
        transmission_rating(Codec::G711_CONCEALED, ms(delay), loss, 1.0)
    }

    /// The constants, from the default values of G.107, Table 2: Nc = −70, Nfor = −64, Ps = Pr = 35, SLR = 8, RLR = 2,
    /// Ds = Dr = 3, STMR = 15, TELR = 65, T = 0, qdu = 1, by the formulas of sections 7.2 and 7.3.
    #[test]
    fn the_constants_are_those_of_the_default_connection() {
        let db = |x: f64| libm::pow(10.0, x / 10.0);
        let (slr, rlr, olr) = (8.0, 2.0, 10.0);
        let send = 35.0 - slr - 3.0 - 100.0 + 0.004 * squared(35.0 - olr - 3.0 - 14.0);
        let room = 35.0 + 10.0 * libm::log10(1.0 + db(10.0 - (15.0 + 3.0)));
        let receive = rlr - 121.0 + room + 0.008 * squared(room - 35.0);
        let noise = 10.0 * libm::log10(db(-70.0) + db(send) + db(receive) + db(-64.0 + rlr));
        assert!((noise - NOISE).abs() < 1e-3, "{noise}");
        let part = |x: f64, power: f64| libm::pow(1.0 + libm::pow(x, power), 1.0 / power);
        let loud = (olr + 0.2 * (64.0 + noise - rlr)) / 8.0;
        let loudness = 20.0 * (part(loud, 8.0) - loud);
        let side = -10.0 * libm::log10(db(-15.0) + db(-65.0));
        let sidetone = 12.0 * part((side - 13.0) / 6.0, 8.0)
            - 28.0 * part((side + 1.0) / 19.4, 35.0)
            - 13.0 * part((side - 3.0) / 33.0, 13.0)
            + 29.0;
        let q = 37.0;
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let y = (BASIC - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        let quantizing = 15.0 * libm::log10(1.0 + libm::pow(10.0, y) + libm::pow(10.0, z));
        let all = loudness + sidetone + quantizing;
        assert!((all - SIMULTANEOUS).abs() < 1e-3, "{all}");
    }

    /// G.107, section 7.7 and Annex B: R = 93.2 and a MOS of 4.41 with the default values.
    #[test]
    fn the_default_connection_has_its_published_rating() {
        assert!((rating(0, 0.0) - 93.2).abs() < 0.05, "{}", rating(0, 0.0));
        assert!((mean_opinion_score(93.2) - 4.41).abs() < 0.005);
    }

    /// G.107, Annex B, Table B.1 and G.109: the mean opinion scores of the limits of the categories of quality.
    #[test]
    fn opinion_scores_are_those_of_the_table() {
        for (rating, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((mean_opinion_score(rating) - mos).abs() < 0.01, "{rating}: {}", mean_opinion_score(rating));
        }
        let ends = [-5.0, 0.0, 1.0, 6.0, 100.0, 120.0].map(mean_opinion_score);
        assert_eq!(ends, [1.0, 1.0, 1.0, 1.0, 4.5, 4.5]);
    }

    /// By hand for 150 ms: TERV = 65 − 40 lg 8 = 28.876, Re = 117.191, Idte = 2.812; Rle = 1228.5 · 301^(−1/4) =
    /// 294.94, Idle = 0.841; X = lg 1.5 / lg 2 = 0.58496, Idd = 0.1635. So R = 94.769 − 1.414 − 3.816 = 89.54. The
    /// delay as such only counts above 100 ms.
    #[test]
    fn delay_by_hand() {
        assert!((rating(150, 0.0) - 89.54).abs() < 0.01, "{}", rating(150, 0.0));
        assert_eq!([0.0, 100.0].map(absolute_delay), [0.0, 0.0]);
        // X = 2: 25 (65^(1/6) − 3 (1 + (2/3)^6)^(1/6) + 2) = 25 (2.00518 − 3.04237 + 2).
        assert!((absolute_delay(400.0) - 24.07).abs() < 0.01, "{}", absolute_delay(400.0));
        let falling: Vec<f64> = (0..40).map(|step| rating(25 * step, 0.0)).collect();
        assert!(falling.windows(2).all(|pair| pair[1] < pair[0]), "{falling:?}");
    }

    /// The impairments of G.711 that G.113 tabulated before it had Bpl (Appendix I of 2001), with concealment and
    /// independent losses of 1 to 20 %: 5, 7, 10, 15, 20, 25, 35, 45. The formula of 2002 comes within 3 of each.
    /// Without concealment, 1 % costs five times that.
    #[test]
    fn losses_cost_what_g_113_tabulates() {
        let table = [(1, 5), (2, 7), (3, 10), (5, 15), (7, 20), (10, 25), (15, 35), (20, 45)];
        for (percent, expected) in table {
            let found = Codec::G711_CONCEALED.effective_impairment(f64::from(percent) / 100.0, 1.0);
            assert!((found - f64::from(expected)).abs() < 3.0, "{percent} %: {found}");
        }
        // By hand: 95 · 1/(1 + 25.1) and 95 · 1/(1 + 4.3); bursts of twice the length: 95 · 2/(2/2 + 25.1).
        let near = |codec: Codec, loss, ratio, expected: f64| {
            (codec.effective_impairment(loss, ratio) - expected).abs() < 1e-3
        };
        assert!(near(Codec::G711_CONCEALED, 0.01, 1.0, 3.640) && near(Codec::G711, 0.01, 1.0, 17.925));
        assert!(near(Codec::G711_CONCEALED, 0.02, 2.0, 7.280));
        assert_eq!(Codec::G711.effective_impairment(0.0, 1.0), 0.0);
    }

    /// A call is never better for losing more, at random, in bursts, or spaced evenly; one that loses everything has
    /// the lowest score. Would catch an equation that is used beyond its range, and a burst ratio of 0. Up to 20 %, the
    /// range of the Recommendation, the rating is that of its equation.
    #[test]
    fn more_loss_is_never_better() {
        for (codec, delay, burst_ratio) in [Codec::G711, Codec::G711_CONCEALED].into_iter().flat_map(|codec| {
            [0, 97, 400].into_iter().flat_map(move |delay| [0.0, 0.5, 1.0, 2.0, 8.0, 500.0].map(|b| (codec, delay, b)))
        }) {
            let rating = |loss| transmission_rating(codec, ms(delay), loss, burst_ratio);
            let ratings: Vec<f64> = (0..=1000).map(|step| rating(f64::from(step) / 1000.0)).collect();
            assert!(ratings.windows(2).all(|pair| pair[1] < pair[0]), "{codec:?} {delay} {burst_ratio}");
            assert_eq!(mean_opinion_score(ratings[1000]), 1.0, "{codec:?} {delay} {burst_ratio}");
            let ratio = burst_ratio.max(1.0);
            let by_equation = rating(0.0) - 95.0 * 20.0 / (20.0 / ratio + codec.robustness);
            assert!((ratings[200] - by_equation).abs() < 1e-9, "{codec:?} {delay} {burst_ratio}");
        }
    }
}
