//! Lines of others that let no time pass.

use fairlane_link::{Bottleneck, FrameLimits, Line};
use fairlane_qdisc::{Duration, SimplePacket, Time};

use crate::caller::{fifo, mbit};

/// A line whose times go back, and whose frames may have no room.
#[derive(Debug)]
struct Stubborn(Option<FrameLimits>);

impl Line for Stubborn {
    fn hold(&mut self, now: Time, _: bool) -> Option<Time> {
        Some(Time::from_nanos(now.as_nanos().saturating_sub(1)))
    }

    fn frame(&self) -> Option<FrameLimits> {
        self.0
    }

    fn finish(&mut self, _: Time, _: u32) -> Time {
        Time::ZERO
    }

    fn arrival(&mut self, sent: Time) -> Option<Time> {
        Some(sent)
    }
}

/// Would catch a bottleneck that asks such a line for ever.
#[test]
fn a_line_without_time_passes_packets_at_once() {
    let limits = |packets, time| FrameLimits { packets, time, rate: mbit(1) };
    for frame in [None, Some(limits(0, None)), Some(limits(9, Some(Duration::ZERO)))] {
        let mut link: Bottleneck<_, _, _, ()> = Bottleneck::with_line(fifo(10), Stubborn(frame), ());
        for at in [5, 5, 9].map(Time::from_nanos) {
            link.push(at, SimplePacket::new(1, 1000));
            assert_eq!(link.pop_timed(at).map(|(arrival, _)| arrival), Some(at), "{frame:?}");
        }
        assert_eq!(link.next(), None);
    }
}
