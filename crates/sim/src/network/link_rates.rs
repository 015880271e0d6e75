//! Changes of links' rates during a run.

use fairlane_qdisc::{Rate, Time};
use fairlane_traffic::TransmissionTime;

use crate::network::shaper::LinkShaper;
use crate::network::topology::Topology;

/// A change of a link's rate during the run.
#[derive(Debug)]
pub(crate) struct RateChange {
    link: u32,
    at: Time,
    /// The rate until then.
    before: Rate,
}

impl Topology {
    /// Sets the rate of `link` from `now` on and tells its discipline. The packet in transmission keeps the rate at
    /// which it began.
    pub(crate) fn set_link_rate(&mut self, now: Time, link: u32, rate: Rate) {
        let state = &mut self.links[link as usize];
        let transmission = &mut self.media[state.medium as usize].transmission;
        state.before_change(now, transmission);
        self.rate_changes.push(RateChange { link, at: now, before: transmission.rate() });
        *transmission = TransmissionTime::new(rate);
        state.follow_rate(rate);
    }

    /// Sets the rate of `links`, which belong to the hosts of a group and share their media, from `now` on.
    pub(crate) fn set_host_rate(&mut self, now: Time, links: impl Iterator<Item = u32> + Clone, rate: Rate) {
        for link in links.clone() {
            let state = &mut self.links[link as usize];
            state.before_change(now, &self.media[state.medium as usize].transmission);
        }
        for link in links {
            let state = &mut self.links[link as usize];
            self.media[state.medium as usize].transmission = TransmissionTime::new(rate);
            state.follow_rate(rate);
        }
    }

    /// Returns the rate at which the queue of `link` is emptied at `now`: that of its shaper, or else of the link;
    /// `None` if there is no such link.
    pub(crate) fn queue_rate(&self, now: Time, link: u32) -> Option<Rate> {
        let state = self.links.get(link as usize)?;
        let shaper = self.shapers.iter().find(|shaper| shaper.queue == link).map(LinkShaper::rate);
        let steps = || state.impairments().and_then(|impairments| impairments.rate(now));
        Some(shaper.or_else(steps).unwrap_or_else(|| self.media[state.medium as usize].transmission.rate()))
    }

    /// Returns the number of the link that sends what leaves the queue of `link`: with a shaper, the link of the
    /// buffer.
    pub(crate) fn sending(&self, link: u32) -> u32 {
        self.shapers.iter().find(|shaper| shaper.queue == link).map_or(link, |shaper| shaper.buffer)
    }

    /// Returns the mean rate of `link` in bit/s from `from` to `to`.
    pub(crate) fn mean_rate(&self, link: u32, from: Time, to: Time) -> f64 {
        let state = &self.links[link as usize];
        if let Some(varying) = state.impairments().and_then(|impairments| impairments.mean_rate(from, to)) {
            return varying;
        }
        let rate = self.media[state.medium as usize].transmission.rate();
        let mut changes = self.rate_changes.iter().filter(|change| change.link == link && change.at > from).peekable();
        if changes.peek().is_none() || to <= from {
            return rate.bits_per_second() as f64;
        }
        let (mut bits, mut since) = (0.0, from);
        for change in changes {
            bits += change.before.bits_per_second() as f64 * (change.at - since).as_secs();
            since = change.at;
        }
        (bits + rate.bits_per_second() as f64 * (to - since).as_secs()) / (to - from).as_secs()
    }
}
