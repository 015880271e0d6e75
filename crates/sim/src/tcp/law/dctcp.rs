//! DCTCP (RFC 8257): the window is cut by half of the share of segments that the network has marked, so a shallow
//! threshold keeps the queue short without leaving the link idle.
//!
//! The receiver echoes marks segment by segment ([`super::super::Receiver`]). `g` is 1/16 and α begins at 1 (RFC 8257 3.3,
//! 4.2). After a loss the window is halved (3.5). Deviations: segments are counted rather than bytes, which are alike here;
//! the window may fall to one segment, as elsewhere in this simulator, where Linux stops at two.

use super::{Cause, News, reno};

/// g: the weight of the last window.
const WEIGHT: f64 = 1.0 / 16.0;

#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    /// The share of marked segments, averaged; 0 to 1.
    alpha: f64,
    /// Acknowledged in this window, and of these with an echo.
    acked: u32,
    marked: u32,
    window_end: u32,
}

impl Dctcp {
    pub(super) fn new() -> Self {
        Self { alpha: 1.0, acked: 0, marked: 0, window_end: 0 }
    }

    pub(super) fn on_ack(&mut self, news: &News) {
        self.acked += news.acked;
        if news.marked {
            self.marked += news.acked;
        }
        if news.ends_round(&mut self.window_end) {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += WEIGHT * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
        }
    }

    pub(super) fn decrease(&self, segments: f64, cause: Cause) -> f64 {
        match cause {
            Cause::Mark => segments * (1.0 - self.alpha / 2.0),
            Cause::Loss | Cause::Timeout => reno::decrease(segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Duration, Time};

    use super::*;

    fn window(dctcp: &mut Dctcp, una: u32, marked: u32) {
        for (acked, marked) in [(10 - marked, false), (marked, true)] {
            let news = News { now: Time::ZERO, una, max: una + 10, acked, counted: 1, marked, rtt: Duration::ZERO };
            dctcp.on_ack(&News { una: if marked { una } else { una - 1 }, ..news });
        }
    }

    /// RFC 8257 3.3 by hand: α = 15/16, then 15/16 of that and 1/16 of 4/10; a cut by half of it.
    #[test]
    fn follows_the_share_of_marks() {
        let mut dctcp = Dctcp { window_end: 10, ..Dctcp::new() };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
        near(dctcp.decrease(20.0, Cause::Mark), 10.0);
        let news =
            News { now: Time::ZERO, una: 10, max: 20, acked: 10, counted: 1, marked: false, rtt: Duration::ZERO };
        dctcp.on_ack(&news);
        near(dctcp.alpha, 15.0 / 16.0);
        window(&mut dctcp, 20, 4);
        near(dctcp.alpha, 225.0 / 256.0 + 0.025);
        near(dctcp.decrease(20.0, Cause::Mark), 20.0 - 10.0 * dctcp.alpha);
        near(dctcp.decrease(21.0, Cause::Loss), 10.0);
    }
}
