//! Pages of objects over parallel connections.

use fairlane_qdisc::{Duration, Seed, Size, Time};
use fairlane_scenario::{Tcp, Transfers, Web};
use fairlane_traffic::TransferSequence;

/// The pages of one browser, which its connections share.
#[derive(Debug)]
pub(crate) struct Browser {
    /// The flow that begins each page; the other connections have the numbers after it.
    leader: u32,
    connections: u32,
    objects: u32,
    /// The smallest object in segments.
    least: u32,
    sequence: TransferSequence,
    /// The number of the present page, from 1; 0 before the first one.
    page: u32,
    began: Time,
    /// The time from its start until its first data reached a receiver; `None` before that.
    startup: Option<Duration>,
    /// The objects of the page that no connection has begun.
    waiting: u32,
    /// The objects of the page that the receivers do not have.
    missing: u32,
    /// The objects of the page that have not been acknowledged.
    unacknowledged: u32,
}

impl Browser {
    /// Returns the number of its first connection.
    pub(crate) const fn first_flow(&self) -> u32 {
        self.leader
    }

    /// Returns the browser whose first connection is flow `leader`, with segments of `bytes` bytes.
    pub(crate) fn new(web: &Web, leader: u32, bytes: u32, seed: Seed) -> Self {
        let transfers = Transfers { size: web.size, sizes: web.sizes, think: Some(web.think) };
        let least = match web.least {
            Size::Packets(packets) => packets.get(),
            Size::Bytes(least) => u32::try_from(least.get().div_ceil(u64::from(bytes.max(1)))).unwrap_or(u32::MAX),
        };
        Self {
            leader,
            connections: web.connections,
            objects: web.objects,
            least,
            sequence: TransferSequence::new(&transfers, bytes, seed),
            page: 0,
            began: Time::ZERO,
            startup: None,
            waiting: 0,
            missing: 0,
            unacknowledged: 0,
        }
    }

    /// Returns the flow that begins each page.
    pub(super) const fn leader(&self) -> u32 {
        self.leader
    }

    /// Begins a page if `flow` is the one to do so and the page before is complete; returns the other connections,
    /// which are to load.
    pub(super) fn begin(&mut self, flow: u32, now: Time) -> std::ops::Range<u32> {
        if flow != self.leader || self.unacknowledged > 0 {
            return 0..0;
        }
        (self.page, self.began, self.startup) = (self.page + 1, now, None);
        (self.waiting, self.missing, self.unacknowledged) = (self.objects, self.objects, self.objects);
        self.leader + 1..self.leader + self.connections
    }

    /// Returns the size in segments of the next object of the page; `None` if all are loaded or being loaded.
    fn next_object(&mut self) -> Option<u32> {
        self.waiting = self.waiting.checked_sub(1)?;
        Some(self.sequence.next_size().max(self.least))
    }

    /// Notes that a receiver has all of an object; returns the duration of the page if that completes it, and the time
    /// to its first data.
    pub(super) fn received(&mut self, now: Time) -> Option<(Duration, Duration)> {
        self.missing -= 1;
        (self.missing == 0).then(|| (now - self.began, self.startup.unwrap_or_default()))
    }

    /// Notes that an object has been acknowledged; returns the pause before the next page if that was the last one.
    pub(super) fn acknowledged(&mut self) -> Option<Duration> {
        self.unacknowledged -= 1;
        if self.unacknowledged == 0 { self.sequence.next_pause() } else { None }
    }
}

/// One connection of a browser.
#[derive(Debug)]
pub(super) struct WebConnection {
    /// The index of the browser in [`Network`](crate::network::Network).
    pub(super) browser: u32,
    /// The settings of each new connection.
    pub(super) tcp: Tcp,
    /// The page that the connection belongs to.
    page: u32,
    /// The segments of this page's objects on this connection.
    supplied: u32,
    progress: ObjectProgress,
    /// The durations in nanoseconds of the pages whose last object came here, since the start of the measurement.
    completions: Vec<u64>,
    /// The time to the first data of each of them in nanoseconds.
    startups: Vec<u64>,
}

/// The progress of the connection's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectProgress {
    /// There is none.
    Idle,
    /// The receiver does not have all segments.
    InProgress,
    /// The receiver has all segments, but not all have been acknowledged.
    Received,
}

/// The next object of a connection.
pub(super) struct NextObject {
    /// The segments of all objects so far, this one included.
    pub(super) supply: u32,
    /// If it is the first object of a page, and there was one before: the segments on the connection before.
    pub(super) after: Option<u32>,
}

impl WebConnection {
    pub(super) fn new(browser: u32, tcp: &Tcp) -> Self {
        Self {
            browser,
            tcp: tcp.clone(),
            page: 0,
            supplied: 0,
            progress: ObjectProgress::Idle,
            completions: Vec::new(),
            startups: Vec::new(),
        }
    }

    /// Takes the next object of `browser`'s page; `None` if the connection has one, or no object is left.
    pub(super) fn next_object(&mut self, browser: &mut Browser) -> Option<NextObject> {
        if self.progress != ObjectProgress::Idle {
            return None;
        }
        let size = browser.next_object()?;
        self.progress = ObjectProgress::InProgress;
        let mut after = None;
        if self.page != browser.page {
            after = (self.page > 0).then_some(self.supplied);
            (self.page, self.supplied) = (browser.page, 0);
        }
        self.supplied = self.supplied.saturating_add(size);
        Some(NextObject { supply: self.supplied, after })
    }

    /// Notes that data have come, and that the receiver has the first `segments` segments; returns true if it has all
    /// of the object now.
    pub(super) fn received(&mut self, now: Time, segments: u32, browser: &mut Browser) -> bool {
        if self.progress != ObjectProgress::InProgress {
            return false;
        }
        browser.startup.get_or_insert(now - browser.began);
        if segments < self.supplied {
            return false;
        }
        self.progress = ObjectProgress::Received;
        if let Some((duration, startup)) = browser.received(now) {
            self.completions.push(duration.as_nanos());
            self.startups.push(startup.as_nanos());
        }
        true
    }

    /// Notes that the first `segments` segments have been acknowledged; returns true if that ends the object.
    pub(super) fn acknowledged(&mut self, segments: u32) -> bool {
        let ends = self.progress == ObjectProgress::Received && segments >= self.supplied;
        if ends {
            self.progress = ObjectProgress::Idle;
        }
        ends
    }

    /// Starts the measurement: removes the completed pages.
    pub(super) fn begin_measurement(&mut self) {
        self.completions.clear();
        self.startups.clear();
    }

    /// Returns the time to the first data of each of the [completed](Self::completions) pages in nanoseconds.
    pub(super) fn startups(&self) -> &[u64] {
        &self.startups
    }

    /// Returns the durations in nanoseconds of the pages that were completed here since the start of the measurement.
    pub(super) fn completions(&self) -> &[u64] {
        &self.completions
    }
}
