//! The driver of a bridge. Frames of one direction wait in our memory; those of the other are forwarded at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_capture::{Headers, LinkType, mark_ce};
use fairlane_qdisc::Duration;
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;

use super::Driver;
use crate::bridge::{BridgeError, GsoFrame, IncomingFrame, Interface, LONGEST, Port, Slab, VIRTIO, is_gso};
use crate::classifier::Classifier;
use crate::config::BridgeConfig;
use crate::nfqueue::{Decision, Verdict};
use crate::packet::QueuedPacket;
use crate::report::{BridgeCounts, DirectionCounts, Report};

/// The number of frames of the link read from one ring before the other has its turn. A GSO frame counts as its segments.
const BATCH: usize = 64;

/// The interval between attempts to send on an interface that did not accept frames.
const RETRY: Duration = Duration::from_millis(1);

/// The interval at which an interface that is down is looked for, since it may have been removed.
const LOOK: Duration = Duration::from_millis(500);

/// The number of attempts at the end.
const LAST_TRIES: usize = 100;

/// The two interfaces of a bridge, opened.
pub(crate) struct BridgeDriver {
    inside: Port,
    outside: Port,
    /// The lengths of the longest frames that they send.
    longest_inside: usize,
    longest_outside: usize,
    waiting: Slab,
    /// Queues GSO frames whole.
    gso: bool,
    /// A buffer for a GSO frame that is forwarded at once.
    buffer: Vec<u8>,
    counts: BridgeCounts,
}

impl BridgeDriver {
    /// Opens both interfaces. From now on their frames wait for us.
    pub(crate) fn open(config: &BridgeConfig) -> Result<Self, BridgeError> {
        let [inside, outside] = Interface::pair([&config.inside, &config.outside])?;
        let (longest_inside, longest_outside) = (inside.longest(), outside.longest());
        let longest = longest_inside.max(longest_outside);
        Ok(Self {
            inside: Port::open(inside, longest)?,
            outside: Port::open(outside, longest)?,
            longest_inside,
            longest_outside,
            waiting: Slab::new(VIRTIO + longest_outside, VIRTIO + LONGEST),
            gso: config.gso,
            buffer: vec![0; VIRTIO + LONGEST],
            counts: BridgeCounts::default(),
        })
    }

    /// Reads frames from the inside interface and passes them to the discipline.
    fn receive_inside(&mut self, classifier: &Classifier, mut arrive: impl FnMut(QueuedPacket)) -> bool {
        let Self { inside, waiting, longest_outside, gso, counts: BridgeCounts { forward, .. }, .. } = self;
        let mut intake = FrameIntake { waiting, longest: *longest_outside, gso: *gso, counts: forward };
        let mut taken = 0;
        while taken < BATCH {
            match inside.receive(|frame| intake.take(frame, classifier, &mut arrive)) {
                Some(frames) => taken += frames,
                None => return false,
            }
        }
        true
    }

    /// Forwards frames from the outside interface.
    fn forward_reverse(&mut self) -> io::Result<bool> {
        let Self { inside, outside, longest_inside, counts: BridgeCounts { reverse, .. }, buffer, .. } = self;
        let mut passed = 0;
        while passed < BATCH {
            let taken = outside.receive(|frame| -> io::Result<usize> {
                reverse.received += 1;
                let segments = if frame.is_gso() {
                    reverse.gso_frames += 1;
                    gso_frame(frame, *longest_inside).map(|joined| joined.segments())
                } else {
                    frame.fits(*longest_inside).then_some(1)
                };
                let Some(segments) = segments else {
                    *(if frame.is_truncated() { &mut reverse.no_memory } else { &mut reverse.unfit }) += 1;
                    return Ok(1);
                };
                let put = if frame.is_gso() {
                    let length = frame.write(buffer);
                    inside.send_gso(&buffer[..length])?
                } else {
                    inside.put(|slot| frame.write(slot))?
                };
                *(if put { &mut reverse.forwarded } else { &mut reverse.refused }) += 1;
                Ok(segments)
            });
            let Some(segments) = taken else { break };
            passed += segments?;
        }
        inside.flush()?;
        Ok(passed >= BATCH)
    }

    /// Sends the frame `number`, marked or unchanged.
    fn send(&mut self, number: u32, marked: bool) -> io::Result<()> {
        let stored = self.waiting.get(number);
        if marked && let Some(frame) = stored.get_mut(VIRTIO..) {
            let headers = Headers::read(LinkType::Ethernet, frame, frame.len() as u32);
            headers.ip_at.into_iter().for_each(|at| mark_ce(frame, at));
        }
        let put = if is_gso(stored) {
            self.outside.send_gso(stored)?
        } else {
            self.outside.put(|slot| {
                slot[..stored.len()].copy_from_slice(stored);
                stored.len()
            })?
        };
        let forward = &mut self.counts.forward;
        *(if put { &mut forward.forwarded } else { &mut forward.refused }) += 1;
        self.waiting.remove(number);
        Ok(())
    }
}

/// Stores frames from the inside interface for the discipline.
struct FrameIntake<'d> {
    waiting: &'d mut Slab,
    /// The length of the longest frame that the outside interface sends.
    longest: usize,
    /// Stores GSO frames whole.
    gso: bool,
    counts: &'d mut DirectionCounts,
}

impl FrameIntake<'_> {
    /// Stores a frame and returns the number of packets that it is for the discipline.
    fn take(
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
        match gso_frame(frame, self.longest) {
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

    /// Passes the frame stored as `number` to `arrive`; `None` means that there was no memory for it.
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
}

/// Returns the segments of a GSO frame if an interface whose frames have at most `longest` bytes can send them.
fn gso_frame<'f>(frame: &IncomingFrame<'f>, longest: usize) -> Option<GsoFrame<'f>> {
    Some(frame).filter(|frame| frame.is_whole()).and_then(GsoFrame::read).filter(|joined| joined.longest() <= longest)
}

impl Driver for BridgeDriver {
    type Buffer = ();

    fn buffer(&self) {}

    fn receive(&mut self, (): &mut (), classifier: &Classifier, arrive: impl FnMut(QueuedPacket)) -> io::Result<bool> {
        let more = self.receive_inside(classifier, arrive);
        Ok(self.forward_reverse()? || more)
    }

    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        for Verdict { id, decision } in verdicts {
            match decision {
                Decision::Drop => self.waiting.remove(id),
                Decision::Mark(_) => self.send(id, true)?,
                Decision::Accept | Decision::Rewrite(_) => self.send(id, false)?,
            }
        }
        self.outside.flush()
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.inside.as_fd(), self.outside.as_fd()].into_iter()
    }

    fn retry(&self) -> Option<Duration> {
        let pending = (self.inside.is_pending() || self.outside.is_pending()).then_some(RETRY);
        pending.or(self.may_be_gone().then_some(LOOK))
    }

    fn may_be_gone(&self) -> bool {
        self.inside.is_down() || self.outside.is_down()
    }

    fn clear_errors(&mut self) -> io::Result<()> {
        self.inside.clear_errors()?;
        self.outside.clear_errors()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inside.close()
    }

    fn release(&mut self) -> io::Result<()> {
        for number in self.waiting.waiting() {
            self.send(number, false)?;
        }
        for _ in 0..LAST_TRIES {
            self.outside.flush()?;
            self.inside.flush()?;
            if self.retry().is_none() {
                break;
            }
            // Waits for the time alone. An interrupted wait is shorter, which is harmless.
            let _ = ppoll(&mut [], Some(TimeSpec::new(0, RETRY.as_nanos() as i64)), None);
        }
        Ok(())
    }

    fn fill_report(&mut self, report: &mut Report) {
        let dropped = |way: DirectionCounts, port: &mut Port| DirectionCounts { kernel_dropped: port.dropped(), ..way };
        let BridgeCounts { forward, reverse } = self.counts;
        report.bridge = Some(BridgeCounts {
            forward: dropped(forward, &mut self.inside),
            reverse: dropped(reverse, &mut self.outside),
        });
    }
}
