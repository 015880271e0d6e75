//! CoDel as a slow reference: the pseudocode of RFC 8289, section 5, with the marks of Linux and tc-codel(8).

use fairlane_qdisc::{Duration, Reason, SimplePacket, Time};

use super::delay::{Limit, Queue, Slow, age, bytes, control_law};
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    pub(crate) mtu: u64,
    pub(crate) ecn: bool,
    pub(crate) ce_threshold: Option<Duration>,
}

/// CoDel's variables for one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    first_above: Option<Time>,
    drop_next: Time,
    pub(crate) count: u32,
    last_count: u32,
    dropping: bool,
}

impl Variables {
    /// Takes the head of `queue`; tells whether it may be dropped.
    fn look(&mut self, s: &Settings, now: Time, queue: &mut Queue) -> (Option<(SimplePacket, Time)>, bool) {
        if queue.is_empty() {
            self.first_above = None;
            return (None, false);
        }
        let (p, arrived) = queue.remove(0);
        let mut ok_to_drop = false;
        if age(now, arrived) < s.target || bytes(queue) <= s.mtu {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now + s.interval),
                Some(at) => ok_to_drop = now >= at,
            }
        }
        (Some((p, arrived)), ok_to_drop)
    }

    /// Removes and returns the packet that leaves `queue`.
    pub(crate) fn dequeue(
        &mut self,
        s: &Settings,
        now: Time,
        queue: &mut Queue,
        events: &mut Vec<Event>,
    ) -> Option<SimplePacket> {
        let (mut head, mut ok_to_drop) = self.look(s, now, queue);
        let mut marked = false;
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                let (p, _) = head?;
                if s.ecn && p.ecn_capable {
                    events.push(Event::Marked(p.id, Reason::AqmDequeue));
                    marked = true;
                    self.drop_next = control_law(self.drop_next, s.interval, self.count);
                    break;
                }
                events.push(Event::Dropped(p.id, Reason::AqmDequeue));
                (head, ok_to_drop) = self.look(s, now, queue);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, s.interval, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let (p, _) = head?;
            if s.ecn && p.ecn_capable {
                events.push(Event::Marked(p.id, Reason::AqmDequeue));
                marked = true;
            } else {
                events.push(Event::Dropped(p.id, Reason::AqmDequeue));
                (head, _) = self.look(s, now, queue);
            }
            self.dropping = true;
            let delta = self.count - self.last_count;
            let close = i128::from(now.as_nanos()) - i128::from(self.drop_next.as_nanos())
                < 16 * i128::from(s.interval.as_nanos());
            self.count = if delta > 1 && close { delta } else { 1 };
            self.drop_next = control_law(now, s.interval, self.count);
            self.last_count = self.count;
        }
        let (p, arrived) = head?;
        if !marked && p.ecn_capable && s.ce_threshold.is_some_and(|most| age(now, arrived) > most) {
            events.push(Event::Marked(p.id, Reason::AqmDequeue));
        }
        Some(p)
    }
}

/// CoDel over one queue.
pub(crate) struct Codel {
    pub(crate) settings: Settings,
    pub(crate) limit: Limit,
    pub(crate) queue: Queue,
    pub(crate) variables: Variables,
    pub(crate) events: Vec<Event>,
}

impl Slow for Codel {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.limit.is_exceeded(self.queue.len() + 1, bytes(&self.queue) + u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
        } else {
            self.queue.push((p, now));
        }
    }

    fn dequeue(&mut self, now: Time) {
        let p = self.variables.dequeue(&self.settings, now, &mut self.queue, &mut self.events);
        self.events.extend(p.map(|p| Event::Departed(p.id)));
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.queue.iter().map(|(p, _)| *p).collect()
    }
}
