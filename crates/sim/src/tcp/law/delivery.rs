//! How fast segments are delivered (draft-cheng-iccrg-delivery-rate-estimation-00): each segment notes, as it leaves, how
//! many had been delivered by then, so that its acknowledgement tells the rate over its own round trip.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};

/// The estimator of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// Segments delivered so far (C.delivered), and when the last ones were.
    delivered: u32,
    delivered_at: Time,
    /// When the segment was sent that the last sample is of (C.first_sent_time).
    first_sent: Time,
    /// Samples of segments sent before this many were delivered may show the application's rate, not the network's.
    limited_until: u32,
    /// The segment that `records` begins with.
    base: u32,
    records: VecDeque<Record>,
    /// The segment sent last of those delivered by the acknowledgement at hand.
    latest: Option<Record>,
    /// How many those are.
    newly: u32,
}

/// What a segment noted as it left.
#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u32,
    limited: bool,
    /// It has been delivered.
    arrived: bool,
    /// It had been sent before.
    again: bool,
}

/// What one acknowledgement tells of the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// How many segments it has delivered.
    pub(super) newly: u32,
    /// How many had been delivered when the segment left that the sample is of.
    pub(super) prior_delivered: u32,
    /// Segments a second; `None` if the interval is too short to tell.
    pub(super) rate: Option<f64>,
    /// What it was measured over: the time in which as many were sent or, if that is longer, in which they were delivered.
    pub(super) interval: Duration,
    /// The application may have sent less than the network would have carried.
    pub(super) limited: bool,
    /// That segment's round trip; `None` if it was sent more than once (Karn).
    pub(super) rtt: Option<Duration>,
}

impl Delivery {
    /// Segments delivered so far.
    pub(super) fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Whether the rates of segments that leave now may be the application's.
    pub(super) fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Segments that leave until the `in_flight` are delivered do not show the network's rate.
    pub(super) fn limit(&mut self, in_flight: u32) {
        self.limited_until = self.delivered.saturating_add(in_flight).max(1);
    }

    /// Segment `seq` goes out; `idle`: nothing was outstanding.
    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool) {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            limited: self.is_limited(),
            arrived: false,
            again: false,
        };
        if self.records.is_empty() {
            self.base = seq;
        }
        let index = seq.wrapping_sub(self.base) as usize;
        match self.records.get_mut(index) {
            // A segment that is sent again without need has been delivered all the same.
            Some(old) => *old = Record { arrived: old.arrived, again: true, ..record },
            None => self.records.push_back(record),
        }
    }

    /// Segments `[start, end)` have arrived.
    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        for seq in start.max(self.base)..end {
            let Some(record) = self.records.get_mut((seq - self.base) as usize) else { break };
            if !record.arrived {
                record.arrived = true;
                let record = *record;
                self.count(record);
            }
        }
    }

    /// Everything below `una` has arrived; what the acknowledgement at `now` tells, if it delivered anything.
    pub(super) fn acknowledged(&mut self, now: Time, una: u32) -> Option<Sample> {
        while self.base < una
            && let Some(record) = self.records.pop_front()
        {
            self.base += 1;
            if !record.arrived {
                self.count(record);
            }
        }
        let latest = self.latest.take()?;
        let newly = std::mem::take(&mut self.newly);
        self.delivered = self.delivered.saturating_add(newly);
        self.delivered_at = now;
        self.first_sent = latest.sent;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let interval = latest.sent.since(latest.first_sent).max(now.since(latest.delivered_at));
        let delivered = f64::from(self.delivered - latest.delivered);
        Some(Sample {
            newly,
            prior_delivered: latest.delivered,
            rate: (interval > Duration::ZERO).then(|| delivered / interval.as_secs()),
            interval,
            limited: latest.limited,
            rtt: (!latest.again).then(|| now.since(latest.sent)),
        })
    }

    fn count(&mut self, record: Record) {
        self.newly += 1;
        // Of segments sent with as many delivered, the one sent last tells most.
        if self.latest.is_none_or(|latest| (record.delivered, record.sent) >= (latest.delivered, latest.sent)) {
            self.latest = Some(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn rate(sample: Option<Sample>) -> f64 {
        sample.and_then(|sample| sample.rate).unwrap_or_default()
    }

    /// Ten segments sent at once; the path delivers one in 10 ms, and its round trip is 100 ms. The first samples count the
    /// way of the first segment.
    fn after_ten() -> Delivery {
        let mut delivery = Delivery::default();
        for seq in 0..10 {
            delivery.on_send(ms(0), seq, seq == 0);
        }
        for seq in 0..10_u32 {
            let now = ms(100 + 10 * u64::from(seq));
            let delivered = f64::from(seq + 1);
            let sample = delivery.acknowledged(now, seq + 1);
            assert!((rate(sample) - delivered / now.as_secs()).abs() < 1e-9, "{sample:?}");
            delivery.on_send(now, seq + 10, false);
        }
        delivery
    }

    /// The ten that follow left over as long a time as it was since the burst, and the next ten in the rhythm of the path: 100
    /// a second.
    #[test]
    fn finds_the_rate_of_the_path() {
        let mut delivery = after_ten();
        for seq in 10..30_u32 {
            let now = ms(100 + 10 * u64::from(seq));
            let sample = delivery.acknowledged(now, seq + 1);
            let expected = if seq < 20 { 10.0 / (now.as_secs() - 0.1) } else { 100.0 };
            assert!((rate(sample) - expected).abs() < 1e-9, "{sample:?}");
            assert_eq!(sample.and_then(|sample| sample.rtt), Some(Duration::from_millis(100)));
            delivery.on_send(now, seq + 10, false);
        }
    }

    /// Ten acknowledgements that come together at 290 ms, the time of the last: ten segments in the 100 ms since the last of
    /// them was sent, and sent over 190 ms. The longer of the two counts, or bunched acknowledgements would show a fast path.
    #[test]
    fn bunched_acknowledgements_show_no_more_than_was_sent() {
        let sample = after_ten().acknowledged(ms(290), 20);
        assert!((rate(sample) - 10.0 / 0.19).abs() < 1e-9, "{sample:?}");
        assert_eq!(sample.map(|sample| sample.newly), Some(10));
    }

    /// What has been acknowledged selectively is not delivered a second time, and a segment sent twice times nothing.
    #[test]
    fn counts_each_segment_once() {
        let mut delivery = Delivery::default();
        for seq in 0..4 {
            delivery.on_send(ms(0), seq, seq == 0);
        }
        delivery.arrived(1, 3);
        delivery.arrived(1, 4);
        assert_eq!(delivery.acknowledged(ms(100), 0).map(|sample| sample.newly), Some(3));
        delivery.on_send(ms(100), 0, false);
        let sample = delivery.acknowledged(ms(200), 4);
        assert_eq!(sample.map(|sample| (sample.newly, sample.rtt)), Some((1, None)));
        assert_eq!(delivery.delivered(), 4);
        assert!(delivery.acknowledged(ms(300), 4).is_none());
    }

    /// Segments sent while the application had too little are known for it, until all that was then in flight is delivered.
    #[test]
    fn knows_what_the_application_limited() {
        let mut delivery = Delivery::default();
        delivery.on_send(ms(0), 0, true);
        delivery.limit(1);
        delivery.on_send(ms(50), 1, false);
        let limited = |sample: Option<Sample>| sample.map(|sample| sample.limited);
        assert_eq!(limited(delivery.acknowledged(ms(100), 1)), Some(false));
        assert_eq!(limited(delivery.acknowledged(ms(150), 2)), Some(true));
        delivery.on_send(ms(160), 2, true);
        assert_eq!(limited(delivery.acknowledged(ms(260), 3)), Some(false));
    }
}
