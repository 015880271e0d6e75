//! The frames of one direction of a bridge, from their arrival until they are sent or dropped.

use std::io;

use fairlane_qdisc::headers::{Headers, LinkType};

use super::frame::{IncomingFrame, TAG, VIRTIO, is_gso, is_sendable};
use super::gso_frame::GsoFrame;
use super::port::{LONGEST, Port};
use super::slab::Slab;
use crate::nfqueue::ClassChange;
use crate::packet::classifier::Classifier;
use crate::router::report::DirectionCounts;
use crate::shaper::queued_packet::QueuedPacket;

/// Stores frames by number.
pub(crate) struct FrameStore {
    waiting: Slab,
    /// The length of the longest frame that can be sent, without the tag that the kernel removes.
    pub(crate) longest: usize,
    /// Stores GSO frames whole.
    gso: bool,
    pub(crate) counts: DirectionCounts,
}

impl FrameStore {
    pub(crate) fn new(longest: usize, gso: bool) -> Self {
        let waiting = Slab::new(VIRTIO + longest + TAG, VIRTIO + LONGEST);
        Self { waiting, longest, gso, counts: DirectionCounts::default() }
    }

    /// Stores a frame and returns the number of packets that it is for the discipline.
    pub(crate) fn take(
        &mut self,
        frame: &IncomingFrame<'_>,
        classifier: &Classifier,
        arrive: &mut impl FnMut(QueuedPacket),
    ) -> usize {
        if !frame.is_gso() {
            let fits = frame.fits(self.longest);
            let number = fits.then(|| self.waiting.put(frame.length(), |place| frame.write(place)));
            match number {
                Some(number) => self.offer(number, classifier, &mut *arrive),
                None => self.count_unsendable(frame),
            }
            return 1;
        }
        self.counts.gso_frames += 1;
        match GsoFrame::that_fits(frame, self.longest) {
            None => self.count_unsendable(frame),
            Some(joined) if self.gso => {
                let number = self.waiting.put(frame.length(), |place| frame.write(place));
                let taken = joined.wire_bytes(classifier.layer);
                self.offer(number, classifier, |packet| arrive(packet.with_size(taken)));
            }
            Some(joined) => {
                for segment in 0..joined.segments() {
                    let number = self.waiting.put(VIRTIO + joined.longest(), |place| joined.write(segment, place));
                    self.offer(number, classifier, &mut *arrive);
                }
                return joined.segments();
            }
        }
        1
    }

    /// Passes the frame stored as `number` to `arrive`; `None` means not enough memory for it.
    fn offer(&mut self, number: Option<u32>, classifier: &Classifier, arrive: impl FnOnce(QueuedPacket)) {
        self.counts.received += 1;
        match number {
            Some(number) => arrive(QueuedPacket::from_frame(number, &self.waiting.get(number)[VIRTIO..], classifier)),
            None => self.counts.no_memory += 1,
        }
    }

    /// Counts a frame that cannot be sent.
    fn count_unsendable(&mut self, frame: &IncomingFrame<'_>) {
        self.counts.received += 1;
        *(if frame.is_truncated() { &mut self.counts.no_memory } else { &mut self.counts.unfit }) += 1;
    }

    /// Returns the frame `number`, without its virtio header; an empty slice if there is none.
    pub(crate) fn frame(&mut self, number: u32) -> &mut [u8] {
        self.waiting.get(number).get_mut(VIRTIO..).unwrap_or_default()
    }

    /// Applies `change` to the frame `number`.
    pub(crate) fn change(&mut self, number: u32, change: ClassChange) {
        if change != ClassChange::default() {
            let frame = self.frame(number);
            let headers = Headers::read(LinkType::Ethernet, frame, frame.len() as u32);
            headers.ip_at.into_iter().for_each(|at| change.apply(frame, at));
        }
    }

    /// Sends the frame `number` to `to`, and removes it.
    pub(crate) fn send(&mut self, number: u32, to: &mut Port) -> io::Result<()> {
        let stored = self.waiting.get(number);
        let put = if is_gso(stored) {
            to.send_gso(stored)?
        } else if !is_sendable(stored, self.longest) {
            // The bridge has moved to an interface with a smaller MTU.
            false
        } else {
            to.put(|slot| {
                slot[..stored.len()].copy_from_slice(stored);
                stored.len()
            })?
        };
        *(if put { &mut self.counts.forwarded } else { &mut self.counts.refused }) += 1;
        self.waiting.remove(number);
        Ok(())
    }

    /// Sends the frame `number` to the queue discipline of `to`, which may drop it, and removes it. A frame is refused
    /// if the buffer of the socket is full. From a ring, the kernel would send one again that the discipline dropped.
    pub(crate) fn send_through_queue(&mut self, number: u32, to: &mut Port) -> io::Result<()> {
        self.counts.refused += u64::from(!to.send_through_queue(self.waiting.get(number))?);
        self.waiting.remove(number);
        Ok(())
    }

    /// Removes the frame `number`.
    pub(crate) fn remove(&mut self, number: u32) {
        self.waiting.remove(number);
    }

    /// Returns the numbers of all frames in their order of arrival.
    pub(crate) fn waiting(&self) -> Vec<u32> {
        self.waiting.waiting()
    }
}
