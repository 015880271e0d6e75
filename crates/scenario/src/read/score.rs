//! The score of a group of flows.

use std::ops::RangeInclusive;

use fairlane_qdisc::Duration;

use crate::error::ScenarioError;
use crate::field::Reader;
use crate::model::{Score, Traffic};
use crate::source::{Source, Udp};

/// The usual jitter buffer, an assumption: three packets of 20 ms.
const JITTER_BUFFER: Duration = Duration::from_millis(60);
pub(crate) const JITTER_BUFFERS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_millis(10_000);

pub(crate) const SCORES: [(&str, Score); 4] = [
    ("voip", Score::Voip { jitter_buffer: JITTER_BUFFER }),
    ("web", Score::Web),
    ("video-streaming", Score::VideoStreaming),
    ("video-conference", Score::VideoConference),
];

/// Reads the score of a group; `None` without one.
pub(crate) fn score(table: &Reader<'_>, traffic: &Traffic) -> Result<Option<Score>, ScenarioError> {
    let buffer = table.get("jitter_buffer");
    let score = table.get("score").map(|field| Ok((field.choice("score", &SCORES, &[])?, field))).transpose()?;
    let Some((score, field)) = score else {
        return match buffer {
            Some(buffer) => {
                Err(buffer.error("there is no score that it belongs to").with_help("write score = \"voip\""))
            }
            None => Ok(None),
        };
    };
    match (score, buffer) {
        (Score::Voip { jitter_buffer }, buffer) => {
            if !matches!(traffic, Traffic::Udp(Udp { source: Source::Cbr { .. }, .. })) {
                let error = field.error("a call is UDP at a constant rate");
                return Err(error.with_help("write kind = \"udp\", rate = \"80kbit\" and packet = \"200b\" for G.711"));
            }
            let jitter_buffer = buffer.map_or(Ok(jitter_buffer), |buffer| buffer.unit_in(&JITTER_BUFFERS))?;
            Ok(Some(Score::Voip { jitter_buffer }))
        }
        (_, Some(buffer)) => Err(buffer.error(format!("a score of {} has no jitter buffer", field.written()))),
        (other, None) => Ok(Some(other)),
    }
}
