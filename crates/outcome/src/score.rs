//! Scores of applications: the effect of delays and losses on their users.

mod e_model;
mod qoo;

use fairlane_qdisc::Duration;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::histogram::{read_histogram, write_histogram};

pub use e_model::{Codec, mean_opinion_score, transmission_rating};
pub use qoo::{PathRequirements, Profile, Requirement};

/// The measurements for the score of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreRun {
    /// A call.
    Voice(VoiceRun),
    /// Another application, by the round trips of its path.
    Path(PathScoreRun),
}

/// One direction of a call behind a jitter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceRun {
    /// Packets that were played.
    pub played: u64,
    /// Packets that were lost, or came after their time.
    pub missing: u64,
    /// Runs of missing packets.
    pub bursts: u64,
    /// The time from the speaker to the listener, in nanoseconds; 0 if no packet ever came.
    pub delay_ns: u64,
}

/// The round trips of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathScoreRun {
    /// The application.
    pub profile: Profile,
    /// The round trips in nanoseconds.
    #[serde(serialize_with = "write_histogram", deserialize_with = "read_histogram")]
    pub round_trip_ns: Histogram<u64>,
}

impl VoiceRun {
    /// Returns the share of the packets that are missing, 0 to 1; 1 if none was played.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.played == 0 { 1.0 } else { self.missing as f64 / (self.played + self.missing) as f64 }
    }

    /// Returns the burst ratio of ITU-T G.107: the mean length of a run of missing packets over that of independent
    /// losses, 1/(1 − loss); 1 without any loss.
    #[must_use]
    pub fn burst_ratio(&self) -> f64 {
        if self.bursts == 0 { 1.0 } else { self.missing as f64 / self.bursts as f64 * (1.0 - self.loss()) }
    }

    /// Returns the transmission rating R of a call over G.711 with concealment of losses.
    #[must_use]
    pub fn rating(&self) -> f64 {
        let delay = Duration::from_nanos(self.delay_ns);
        transmission_rating(Codec::G711_CONCEALED, delay, self.loss(), self.burst_ratio())
    }
}
