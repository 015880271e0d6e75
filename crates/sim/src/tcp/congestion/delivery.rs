//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation-00; draft-ietf-ccwg-bbr, section 4.1). For each
//! segment sent, the numbers of segments delivered, lost and in flight by then are recorded, so that its
//! acknowledgement gives the rate and the losses of the same round trip.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};

/// An estimator of the delivery rate, for a congestion control to keep, as BBR does.
///
/// The congestion control passes on [`CongestionControl::on_send`](super::CongestionControl::on_send) and `on_arrived`,
/// `on_lost` and `on_application_limited` if they are to count, and gets a sample in `on_ack`.
///
/// ```
/// use fairlane_qdisc::{Duration, Time};
/// use fairlane_sim::tcp::DeliveryRate;
///
/// let mut delivery = DeliveryRate::default();
/// delivery.on_send(Time::ZERO, 0, true, 1);
/// delivery.on_send(Time::ZERO, 1, false, 2);
/// let sample = delivery.acknowledged(Time::ZERO + Duration::from_millis(100), 2).expect("two have arrived");
/// assert_eq!((sample.newly, sample.rate), (2, Some(20.0)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// The number of segments delivered so far (C.delivered), and the time of the last delivery.
    delivered: u32,
    delivered_at: Time,
    /// The number of losses so far (C.lost).
    lost: u32,
    /// The sending time of the segment of the last sample (C.first_sent_time).
    first_sent: Time,
    /// Samples of segments sent before this many were delivered may be limited by the application (C.app_limited).
    limited_until: u32,
    /// The first segment of `records`.
    base: u32,
    records: VecDeque<Record>,
    /// The last sent of the segments that the current acknowledgement delivers.
    latest: Option<Record>,
    /// The number of these segments.
    newly: u32,
    /// The number of losses since the last sample.
    newly_lost: u32,
}

/// The state recorded when a segment is sent.
#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u32,
    lost: u32,
    /// The segments in flight, with this one (P.tx_in_flight).
    in_flight: u32,
    limited: bool,
    /// The segment has been delivered.
    arrived: bool,
    /// The segment had been sent before.
    again: bool,
}

impl Record {
    /// Returns the segment's round trip; `lost` is the number of losses until now.
    fn flight(&self, lost: u32) -> FlightSample {
        FlightSample { in_flight: self.in_flight, lost: lost - self.lost, limited: self.limited }
    }
}

/// The delivery rate that one acknowledgement gives, in segments and segments per second.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// The number of segments that it delivers.
    pub newly: u32,
    /// The number of segments found lost since the sample before (RS.newly_lost).
    pub newly_lost: u32,
    /// The number of segments delivered when the sample's segment was sent.
    pub prior_delivered: u32,
    /// The number of segments delivered since (RS.delivered).
    pub delivered: u32,
    /// The segment's round trip: the flight when it was sent, and the losses since.
    pub flight: FlightSample,
    /// The rate in segments per second; `None` if the interval is zero.
    pub rate: Option<f64>,
    /// The interval of the measurement: the time in which as many segments were sent or, if longer, delivered.
    pub interval: Duration,
    /// The round-trip time of the segment; `None` if it was sent more than once (Karn's algorithm).
    pub rtt: Option<Duration>,
}

/// The segments in flight when a segment was sent, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlightSample {
    /// The segments in flight, with this one (RS.tx_in_flight).
    pub in_flight: u32,
    /// The number of segments found lost since (RS.lost).
    pub lost: u32,
    /// The rate may have been limited by the application.
    pub limited: bool,
}

impl DeliveryRate {
    /// Returns the number of segments delivered so far.
    #[must_use]
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Returns true if samples of segments sent now may be limited by the application.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Marks the segments sent until the `in_flight` segments are delivered as limited by the application.
    pub fn limit(&mut self, in_flight: u32) {
        self.limited_until = self.delivered.saturating_add(in_flight).max(1);
    }

    /// Records that segment `seq` is sent; `in_flight` includes it. `idle` is true if nothing was outstanding.
    pub fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            limited: self.is_limited(),
            arrived: false,
            again: false,
        };
        if self.records.is_empty() {
            self.base = seq;
        }
        let index = seq.wrapping_sub(self.base) as usize;
        match self.records.get_mut(index) {
            // A segment that is retransmitted unnecessarily stays delivered.
            Some(old) => *old = Record { arrived: old.arrived, again: true, ..record },
            None => self.records.push_back(record),
        }
    }

    /// Records that segment `seq` is lost. Returns its round trip, with this loss; `None` if it has arrived or was
    /// never sent.
    pub fn lost(&mut self, seq: u32) -> Option<FlightSample> {
        let record = *self.records.get(seq.checked_sub(self.base)? as usize).filter(|record| !record.arrived)?;
        self.lost += 1;
        self.newly_lost += 1;
        Some(record.flight(self.lost))
    }

    /// Records that segments `[start, end)` have arrived.
    pub fn arrived(&mut self, start: u32, end: u32) {
        for seq in start.max(self.base)..end {
            let Some(record) = self.records.get_mut((seq - self.base) as usize) else { break };
            if !record.arrived {
                record.arrived = true;
                let record = *record;
                self.count(record);
            }
        }
    }

    /// Records that all segments below `una` have arrived. Returns a sample if the acknowledgement at `now` delivered
    /// any.
    pub fn acknowledged(&mut self, now: Time, una: u32) -> Option<RateSample> {
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
        Some(RateSample {
            newly,
            newly_lost: std::mem::take(&mut self.newly_lost),
            prior_delivered: latest.delivered,
            delivered: self.delivered - latest.delivered,
            flight: latest.flight(self.lost),
            rate: (interval > Duration::ZERO).then(|| delivered / interval.as_secs()),
            interval,
            rtt: (!latest.again).then(|| now.since(latest.sent)),
        })
    }

    fn count(&mut self, record: Record) {
        self.newly += 1;
        // Among segments sent with the same number delivered, the last one has the most recent information.
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

    fn rate(sample: Option<RateSample>) -> f64 {
        sample.and_then(|sample| sample.rate).unwrap_or_default()
    }

    /// Sends ten segments at once over a path that delivers one every 10 ms and has a round-trip time of 100 ms. The
    /// first samples include the round trip of the first segment.
    fn after_ten() -> DeliveryRate {
        let mut delivery = DeliveryRate::default();
        for seq in 0..10 {
            delivery.on_send(ms(0), seq, seq == 0, 1);
        }
        for seq in 0..10_u32 {
            let now = ms(100 + 10 * u64::from(seq));
            let delivered = f64::from(seq + 1);
            let sample = delivery.acknowledged(now, seq + 1);
            assert!((rate(sample) - delivered / now.as_secs()).abs() < 1e-9, "{sample:?}");
            delivery.on_send(now, seq + 10, false, 1);
        }
        delivery
    }

    /// The samples of the next ten segments span the time since the burst, those of the ten after them show the path's
    /// rate of 100 segments per second.
    #[test]
    fn finds_the_rate_of_the_path() {
        let mut delivery = after_ten();
        for seq in 10..30_u32 {
            let now = ms(100 + 10 * u64::from(seq));
            let sample = delivery.acknowledged(now, seq + 1);
            let expected = if seq < 20 { 10.0 / (now.as_secs() - 0.1) } else { 100.0 };
            assert!((rate(sample) - expected).abs() < 1e-9, "{sample:?}");
            assert_eq!(sample.and_then(|sample| sample.rtt), Some(Duration::from_millis(100)));
            delivery.on_send(now, seq + 10, false, 1);
        }
    }

    /// Ten acknowledgements arrive together at 290 ms, ten segments in the 100 ms since the last was sent, but sent
    /// over 190 ms. Would catch an estimator that does not use the longer interval and so takes bunched
    /// acknowledgements for a fast path.
    #[test]
    fn bunched_acknowledgements_show_no_more_than_was_sent() {
        let sample = after_ten().acknowledged(ms(290), 20);
        assert!((rate(sample) - 10.0 / 0.19).abs() < 1e-9, "{sample:?}");
        assert_eq!(sample.map(|sample| sample.newly), Some(10));
    }

    /// Would catch a segment that is counted again when it is acknowledged cumulatively, and a round-trip time of a
    /// segment sent twice.
    #[test]
    fn counts_each_segment_once() {
        let mut delivery = DeliveryRate::default();
        for seq in 0..4 {
            delivery.on_send(ms(0), seq, seq == 0, 1);
        }
        delivery.arrived(1, 3);
        delivery.arrived(1, 4);
        assert_eq!(delivery.acknowledged(ms(100), 0).map(|sample| sample.newly), Some(3));
        delivery.on_send(ms(100), 0, false, 1);
        let sample = delivery.acknowledged(ms(200), 4);
        assert_eq!(sample.map(|sample| (sample.newly, sample.rtt)), Some((1, None)));
        assert_eq!(delivery.delivered(), 4);
        assert!(delivery.acknowledged(ms(300), 4).is_none());
    }

    /// Of four segments sent at 0, number 1 arrives, 0 and 2 are lost before 0 is sent again with two in flight, and 3
    /// is lost after that: one loss in the round trip of the second copy of 0, three in that of the first copies. Would
    /// catch losses of an earlier round trip that count, a loss that counts before it happens, and one of a segment
    /// that has arrived.
    #[test]
    fn knows_the_losses_of_each_round_trip() {
        let mut delivery = DeliveryRate::default();
        for seq in 0..4 {
            delivery.on_send(ms(0), seq, seq == 0, seq + 1);
        }
        delivery.arrived(1, 2);
        let counts = |flight: Option<FlightSample>| flight.map(|flight| (flight.in_flight, flight.lost));
        assert_eq!(counts(delivery.acknowledged(ms(100), 0).map(|sample| sample.flight)), Some((2, 0)));
        assert_eq!(counts(delivery.lost(0)), Some((1, 1)));
        assert_eq!(counts(delivery.lost(1)), None);
        assert_eq!(counts(delivery.lost(2)), Some((3, 2)));
        delivery.on_send(ms(110), 0, false, 2);
        assert_eq!(counts(delivery.lost(3)), Some((4, 3)));
        assert_eq!(counts(delivery.acknowledged(ms(210), 1).map(|sample| sample.flight)), Some((2, 1)));
    }

    /// Would catch samples that are not marked as limited until all segments then in flight are delivered, or for
    /// longer.
    #[test]
    fn knows_what_the_application_limited() {
        let mut delivery = DeliveryRate::default();
        delivery.on_send(ms(0), 0, true, 1);
        delivery.limit(1);
        delivery.on_send(ms(50), 1, false, 1);
        let limited = |sample: Option<RateSample>| sample.map(|sample| sample.flight.limited);
        assert_eq!(limited(delivery.acknowledged(ms(100), 1)), Some(false));
        assert_eq!(limited(delivery.acknowledged(ms(150), 2)), Some(true));
        delivery.on_send(ms(160), 2, true, 1);
        assert_eq!(limited(delivery.acknowledged(ms(260), 3)), Some(false));
    }
}
