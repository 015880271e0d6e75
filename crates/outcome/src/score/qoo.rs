//! Quality of Outcome (draft-ietf-ippm-qoo, section 7.1): the place of a path between an application's requirements and
//! its limit of usefulness.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The network requirements of an application.
///
/// The draft has the form and no values. These are those of LibreQoS, version 2 of its profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Web pages: 90 % of the round trips within 50 ms, useless at 150 ms; loss of 0.5 and 1 %.
    Web,
    /// Video streaming: 95 % within 50 ms, 100 ms; loss of 0.1 and 1 %.
    VideoStreaming,
    /// Video conferences: 95 % within 50 ms, 100 ms; loss of 0.1 and 0.5 %.
    VideoConference,
}

/// A value at which the application works as it should, and one at which it is useless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// Required for optimal performance.
    pub optimal: f64,
    /// Conditions at the point of unacceptable performance; above `optimal`.
    pub unacceptable: f64,
}

/// The requirements on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathRequirements {
    /// The part of the round trips that the requirement is about, 0 to 1.
    pub quantile: f64,
    /// The round trip in seconds.
    pub round_trip_s: Requirement,
    /// The loss of packets, 0 to 1.
    pub loss: Requirement,
}

impl Requirement {
    /// Returns 100 up to the optimal value, 0 from the unacceptable one on, and between them a straight line.
    #[must_use]
    pub fn score(self, measured: f64) -> f64 {
        let over = (measured - self.optimal) / (self.unacceptable - self.optimal);
        100.0 * (1.0 - over).clamp(0.0, 1.0)
    }
}

impl PathRequirements {
    /// Returns the percentile of the round trips that the requirement is about, in seconds; `None` without any.
    #[must_use]
    pub fn measured_s(&self, round_trip_ns: &Histogram<u64>) -> Option<f64> {
        (!round_trip_ns.is_empty()).then(|| round_trip_ns.value_at_quantile(self.quantile) as f64 / 1e9)
    }

    /// Returns the score of a path, 0 to 100: the lowest of the scores of its round trip and of its loss. The draft's
    /// third part, a least throughput, is left out: the requirements have none.
    #[must_use]
    pub fn score(&self, round_trip_s: f64, loss: f64) -> f64 {
        self.round_trip_s.score(round_trip_s).min(self.loss.score(loss))
    }
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Web, Self::VideoStreaming, Self::VideoConference];

    /// Returns its name in scenarios and outcomes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::VideoStreaming => "video-streaming",
            Self::VideoConference => "video-conference",
        }
    }

    /// Returns the requirements of the application.
    #[must_use]
    pub const fn requirements(self) -> PathRequirements {
        let (quantile, unacceptable_s, loss) = match self {
            Self::Web => (0.9, 0.15, (0.005, 0.01)),
            Self::VideoStreaming => (0.95, 0.1, (0.001, 0.01)),
            Self::VideoConference => (0.95, 0.1, (0.001, 0.005)),
        };
        PathRequirements {
            quantile,
            round_trip_s: Requirement { optimal: 0.05, unacceptable: unacceptable_s },
            loss: Requirement { optimal: loss.0, unacceptable: loss.1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips(ms: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        ms.iter().for_each(|ms| histogram.record(ms * 1_000_000).expect("it grows"));
        histogram
    }

    /// By hand, of ten round trips of which nine take at most 75 ms: for web pages p90 = 75 ms scores 1 − 25/100 = 75;
    /// a loss of 0.8 % scores 1 − 0.3/0.5 = 40, which is lower. For video p95 is the longest, 200 ms: useless.
    #[test]
    fn the_score_is_the_lowest_of_its_parts() {
        let trips = round_trips(&[20, 20, 20, 20, 30, 30, 30, 30, 75, 200]);
        let score = |profile: Profile, loss| {
            let needs = profile.requirements();
            needs.score(needs.measured_s(&trips).expect("ten round trips"), loss)
        };
        assert!((score(Profile::Web, 0.0) - 75.0).abs() < 0.1, "{}", score(Profile::Web, 0.0));
        assert!((score(Profile::Web, 0.008) - 40.0).abs() < 1e-9);
        assert_eq!(score(Profile::VideoStreaming, 0.0), 0.0);
        assert_eq!(Profile::Web.requirements().measured_s(&round_trips(&[])), None);
    }

    /// The same path for two applications: at 1 % of loss between 0.1 and 1 % streaming is useless, at 0.28 % a
    /// conference has 1 − 0.18/0.4 = 55 and streaming 1 − 0.18/0.9 = 80.
    #[test]
    fn applications_bear_different_losses() {
        let score = |profile: Profile, loss| profile.requirements().score(0.04, loss);
        assert!((score(Profile::VideoConference, 0.0028) - 55.0).abs() < 1e-9);
        assert!((score(Profile::VideoStreaming, 0.0028) - 80.0).abs() < 1e-9);
        assert_eq!(
            (score(Profile::Web, 0.005), score(Profile::Web, 0.01), score(Profile::VideoStreaming, 0.01)),
            (100.0, 0.0, 0.0)
        );
    }

    /// The example of draft-ietf-ippm-qoo-09, section 7.2: of 99 % within 200 ms and useless at 500 ms, with 1 and 5 %
    /// of loss, 350 ms and 2 % score 50 and 75, so that the path has 50. With 99.9 % within 300 ms and useless at 600
    /// ms, 375 ms score 75.
    #[test]
    fn the_example_of_the_draft() {
        let requirements = |quantile, optimal, unacceptable| PathRequirements {
            quantile,
            round_trip_s: Requirement { optimal, unacceptable },
            loss: Requirement { optimal: 0.01, unacceptable: 0.05 },
        };
        let (first, second) = (requirements(0.99, 0.2, 0.5), requirements(0.999, 0.3, 0.6));
        assert!((first.round_trip_s.score(0.35) - 50.0).abs() < 1e-9);
        assert!((first.loss.score(0.02) - 75.0).abs() < 1e-9);
        assert!((first.score(0.35, 0.02) - 50.0).abs() < 1e-9);
        assert!((second.score(0.375, 0.02) - 75.0).abs() < 1e-9);
    }
}
