//! Links whose queue only drops from the tail.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};
use fairlane_traffic::TransmissionTime;

/// A FIFO that drops from the tail, and its transmitter. Later arrivals never change when a packet leaves it, so that
/// is known when the packet comes, and no event is needed at the queue. `tests/links.rs` compares it with DropTail.
#[derive(Debug, Default)]
pub(crate) struct DroptailLink {
    /// When the transmitter has sent all packets.
    busy_until: Time,
    /// `None` if all packets have the same size, from which the ends of their transmissions follow.
    ends: Option<Box<Ends>>,
}

/// The ends of the transmissions that are not over, the first one first.
#[derive(Debug, Default)]
struct Ends(VecDeque<Time>);

impl DroptailLink {
    /// Returns a link without packets. `sizes_differ` is true if they will not all have the same size.
    pub(crate) fn new(sizes_differ: bool) -> Self {
        Self { busy_until: Time::ZERO, ends: sizes_differ.then(Box::default) }
    }

    /// Returns true if a packet that comes at `now` is sent at once, and nothing but the end of that must be noted.
    #[inline(always)]
    pub(crate) const fn is_idle(&self, now: Time) -> bool {
        self.busy_until.as_nanos() <= now.as_nanos() && self.ends.is_none()
    }

    /// Notes that a packet that came to the idle link is sent until `end`.
    #[inline(always)]
    pub(crate) const fn send_until(&mut self, end: Time) {
        self.busy_until = end;
    }

    /// Takes a packet of `bytes` bytes at `now` and returns when its transmission begins and ends; `None` if, without
    /// the packet in transmission, `limit` packets wait already. See [`TransmissionTime::next`] for `carry`.
    pub(crate) fn take(
        &mut self,
        (now, bytes): (Time, u32),
        limit: usize,
        transmission: &mut TransmissionTime,
        carry: &mut u64,
    ) -> Option<(Time, Time)> {
        let begin = now.max(self.busy_until);
        if begin > now && self.is_full(now, limit, transmission, *carry) {
            return None;
        }
        let end = begin + transmission.next(carry, bytes);
        self.busy_until = end;
        if let Some(ends) = &mut self.ends {
            if begin == now {
                ends.0.clear();
            }
            ends.0.push_back(end);
        }
        Some((begin, end))
    }

    /// Returns true if, without the packet in transmission, `limit` packets wait at `now`. `transmission` and `carry`
    /// are those of the last packet.
    fn is_full(&mut self, now: Time, limit: usize, transmission: &TransmissionTime, carry: u64) -> bool {
        let Some(ends) = &mut self.ends else {
            let busy = self.busy_until.since(now);
            return busy > transmission.least(limit as u64) && busy > transmission.last(limit as u64, carry);
        };
        while ends.0.front().is_some_and(|end| *end <= now) {
            ends.0.pop_front();
        }
        ends.0.len() > limit
    }

    /// Prepares for packets that take another time than those so far, whose `transmission` and `carry` were these.
    pub(crate) fn before_change(&mut self, now: Time, transmission: &TransmissionTime, carry: u64) {
        if self.ends.is_some() || self.busy_until <= now {
            return;
        }
        let busy = self.busy_until.since(now);
        let earlier = (0..).map(|packets| transmission.last(packets, carry)).take_while(|earlier| *earlier < busy);
        let end = |earlier: Duration| Time::from_nanos(self.busy_until.as_nanos() - earlier.as_nanos());
        let mut ends: VecDeque<Time> = earlier.map(end).collect();
        ends.make_contiguous().reverse();
        self.ends = Some(Box::new(Ends(ends)));
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Rate, Seed};

    use super::*;

    /// Compares a link of one size, one with a list, and one that gets its list half-way, with a count of all packets.
    /// Would catch a place too many or too few at any fraction of a nanosecond.
    #[test]
    fn the_limit_is_exact() {
        for rate in [1_000_000, 7_000_003, 9_999_999_937] {
            let mut transmission = TransmissionTime::new(Rate::from_bits_per_second(rate));
            let (mut carries, mut random) = ([0; 3], Seed::new(1).stream("plain"));
            let mut links = [DroptailLink::new(false), DroptailLink::new(true), DroptailLink::new(false)];
            let mut all: Vec<Time> = Vec::new();
            let (mut now, mut refused) = (Time::ZERO, 0);
            let mean = transmission.next(&mut 0, 1000);
            for number in 0..20_000 {
                // To an end, or anywhere.
                let gap = Duration::from_nanos(mean.as_nanos() * u64::from(random.below(200)) / 100);
                now = if random.chance(0.2) { all.last().map_or(now, |last| now.max(*last)) } else { now + gap };
                if number == 10_000 {
                    links[2].before_change(now, &transmission, carries[2]);
                }
                let limit = 1 + random.below(6) as usize;
                let full = all.iter().rev().take_while(|end| **end > now).count() > limit;
                refused += u32::from(full);
                let before = carries[0];
                let begin = all.last().map_or(now, |last| now.max(*last));
                for (link, carry) in links.iter_mut().zip(&mut carries) {
                    let taken = link.take((now, 1000), limit, &mut transmission, carry);
                    let end = begin + transmission.next(&mut before.clone(), 1000);
                    assert_eq!(taken, (!full).then_some((begin, end)), "{now:?}, packet {number}");
                }
                if !full {
                    all.push(links[0].busy_until);
                }
            }
            assert!(refused > 100, "{refused}");
        }
    }

    /// Would catch a list for a link that is idle when its rate changes.
    #[test]
    fn an_idle_link_forgets() {
        let mut link = DroptailLink::new(false);
        let mut transmission = TransmissionTime::new(Rate::from_bits_per_second(8_000_000_000));
        assert_eq!(link.take((Time::ZERO, 5), 1, &mut transmission, &mut 0), Some((Time::ZERO, Time::from_nanos(5))));
        link.before_change(Time::from_nanos(5), &transmission, 0);
        assert!(link.ends.is_none());
        link.before_change(Time::from_nanos(4), &transmission, 0);
        assert_eq!(link.ends.map(|ends| ends.0), Some(VecDeque::from([Time::from_nanos(5)])));
    }
}
