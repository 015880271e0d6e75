//! The part of ECHO that every arrival passes: counts the tags of its flow, samples it, and tells whether it is
//! signalled.
//!
//! The code does not depend on the type of packets, so that it is compiled once.

use super::control::Controller;
use super::mean::MeanCount;
use super::sample::{Sample, Tag, tag};
use super::tag_share::{Excess, TagShare};
use crate::flow::hash::FlowHash;
use crate::{Seed, Stream};

/// The sample, and the fair share as the controller last had it.
#[derive(Debug)]
pub(super) struct FlowMeter {
    sample: Sample,
    fair: TagShare,
    mean: MeanCount,
    hash: FlowHash,
    draws: Stream,
}

impl FlowMeter {
    /// Creates a meter with `tags` tags.
    pub(super) fn new(controller: &Controller, tags: u32, seed: Seed) -> Self {
        let mean = MeanCount::default();
        Self {
            sample: Sample::new(tags),
            fair: TagShare::new(controller, tags, mean.get()),
            mean,
            hash: FlowHash::new(seed),
            draws: seed.stream("echo"),
        }
    }

    /// Returns the number of tags.
    pub(super) fn tags(&self) -> u32 {
        self.sample.size()
    }

    /// Changes the number of tags. [`follow`](Self::follow) must be next.
    pub(super) fn resize(&mut self, tags: u32) {
        self.mean.resize(self.sample.size(), tags);
        self.sample.resize(tags);
    }

    /// Takes over the fair share of `controller`.
    pub(super) fn follow(&mut self, controller: &Controller) {
        self.fair = TagShare::new(controller, self.sample.size(), self.mean.get());
    }

    /// Decides whether it pays to know numbers of tags, by the number of arrivals so far.
    pub(super) fn weigh(&mut self, arrivals: u64) {
        self.sample.weigh(arrivals);
    }

    /// Samples an arrival of `bytes` bytes of `flow`, and returns the flow's excess if the arrival is signalled.
    #[inline(never)]
    pub(super) fn arrive(&mut self, flow: u64, bytes: u32, queue_is_empty: bool) -> Option<Excess> {
        let tag = self.tag(flow);
        let count = self.sample.count(tag);
        let draw = self.draws.bits();
        if self.fair.is_sampled(count, bytes, draw >> 32) {
            self.remember(tag, count);
        }
        let spared = queue_is_empty && self.fair.is_near(count);
        let excess = self.fair.excess(count);
        (!spared && excess.is_signalled(draw & 0xffff_ffff)).then_some(excess)
    }

    /// Returns the tag of `flow`.
    pub(super) fn tag(&self, flow: u64) -> Tag {
        tag(self.hash.bits(flow))
    }

    /// Tells whether `flow` has so few tags that with one more it would have half of the fair share.
    pub(super) fn is_sparse(&mut self, flow: u64) -> bool {
        let tag = self.tag(flow);
        self.fair.is_sparse(self.sample.count(tag))
    }

    /// Puts `tag`, of which there are `count`, into the sample. Apart from [`arrive`](Self::arrive), which then needs
    /// fewer registers.
    #[inline(never)]
    fn remember(&mut self, tag: Tag, count: u32) {
        if self.fair.is_ordinary(count) {
            self.mean.add(count);
        }
        let places = self.draws.bits();
        self.sample.put(tag, self.fair.copies(places >> 48), places);
    }

    /// The memory of a meter with `tags` tags, in bytes.
    #[cfg(test)]
    pub(super) fn memory(tags: u32) -> usize {
        size_of::<Self>() + Sample::memory(tags)
    }
}
