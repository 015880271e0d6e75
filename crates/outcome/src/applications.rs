//! The quality that applications experienced, and their scores, from the counts of a run.

use hdrhistogram::Histogram;

use crate::estimate::Estimate;
use crate::schema::{ScoreOutcome, VideoOutcome};
use crate::score::{ScoreRun, VoiceRun, mean_opinion_score};
use crate::{FlowRun, VideoRun};

/// Returns the playback at the viewers of `flows`; `None` if none of them is adaptive video.
pub(crate) fn video<'a>(flows: impl Iterator<Item = &'a FlowRun>) -> Option<Box<VideoOutcome>> {
    let viewers: Vec<&VideoRun> = flows.filter_map(|flow| flow.video.as_deref()).collect();
    if viewers.is_empty() {
        return None;
    }
    let sum = |of: fn(&VideoRun) -> u64| viewers.iter().map(|video| of(video)).fold(0, u64::saturating_add) as f64;
    let startups = viewers.iter().filter_map(|video| video.startup_ns).map(|nanos| nanos as f64 / 1e9);
    let segments = sum(|video| video.segments);
    let rates = sum(|video| video.bit_rates_bps);
    Some(Box::new(VideoOutcome {
        segments: Estimate::single(segments),
        bit_rate_bps: (segments > 0.0).then(|| Estimate::single(rates / segments)),
        stalls: Estimate::single(sum(|video| video.stalls)),
        stalled_s: Estimate::single(sum(|video| video.stalled_ns) / 1e9),
        switches: Estimate::single(sum(|video| video.switches)),
        startup_s: mean(startups),
    }))
}

/// Returns the score of `flows`, a group; `None` if it has none.
pub(crate) fn score(flows: &[&FlowRun]) -> Option<Box<ScoreOutcome>> {
    let scores = || flows.iter().filter_map(|flow| flow.score.as_deref());
    Some(Box::new(match scores().next()? {
        ScoreRun::Voice(_) => {
            let calls: Vec<&VoiceRun> =
                flows.iter().filter(|flow| flow.sent > 0).filter_map(|flow| voice(flow)).collect();
            // A call of which nothing came has no delay.
            let heard = calls.iter().filter(|call| call.delay_ns > 0);
            let of = |value: &dyn Fn(&VoiceRun) -> f64| mean(calls.iter().map(|call| value(call)));
            ScoreOutcome {
                application: "voip".to_owned(),
                mos: of(&|call| mean_opinion_score(call.rating())),
                rating: of(&VoiceRun::rating),
                delay_s: mean(heard.map(|call| call.delay_ns as f64 / 1e9)),
                missing: of(&VoiceRun::loss),
                ..ScoreOutcome::default()
            }
        }
        ScoreRun::Path(path) => {
            let (requirements, loss) = (path.profile.requirements(), loss(flows));
            let round_trip_s = requirements.measured_s(&round_trips(scores()));
            ScoreOutcome {
                application: path.profile.name().to_owned(),
                qoo: match (round_trip_s, loss) {
                    (Some(round_trip_s), Some(loss)) => Some(Estimate::single(requirements.score(round_trip_s, loss))),
                    // Nothing came back: a path that loses everything is useless, and of another nothing is known yet.
                    (None, Some(1.0)) => Some(Estimate::single(0.0)),
                    _ => None,
                },
                round_trip_s: round_trip_s.map(Estimate::single),
                loss: loss.map(Estimate::single),
                ..ScoreOutcome::default()
            }
        }
    }))
}

fn voice(flow: &FlowRun) -> Option<&VoiceRun> {
    match flow.score.as_deref()? {
        ScoreRun::Voice(voice) => Some(voice),
        ScoreRun::Path(_) => None,
    }
}

/// Returns the round trips of all `scores`.
fn round_trips<'a>(scores: impl Iterator<Item = &'a ScoreRun>) -> Histogram<u64> {
    let mut all = Histogram::new(3).expect("three significant digits are allowed");
    for score in scores {
        if let ScoreRun::Path(path) = score {
            all.add(&path.round_trip_ns).expect("the histogram grows to any value");
        }
    }
    all
}

/// Returns the packets of `flows` that were dropped or lost, over those sent, at most 1; `None` if none was sent.
fn loss(flows: &[&FlowRun]) -> Option<f64> {
    let (sent, gone) = flows.iter().fold((0_u64, 0_u64), |(sent, gone), flow| {
        (sent.saturating_add(flow.sent), gone.saturating_add(flow.dropped).saturating_add(flow.lost))
    });
    (sent > 0).then(|| (gone as f64 / sent as f64).min(1.0))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| Estimate::single(sum / f64::from(count)))
}
