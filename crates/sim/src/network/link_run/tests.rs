use fairlane_qdisc::{Status, Time};

use super::*;

/// Would catch a simulation whose time does not advance because a discipline returns a time in the past.
#[test]
fn time_advances_although_the_queue_is_ready_now() {
    let mut status = Status::new(1, 0);
    status.ready_at = Some(Time::ZERO);
    assert_eq!(retry_at(Time::from_nanos(50), &status), Some(Time::from_nanos(51)));
}
