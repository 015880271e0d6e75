//! Pages of objects over parallel connections.

use std::sync::{Arc, Mutex, PoisonError};

use fairlane_qdisc::{Duration, Seed, Size, Time};
use fairlane_scenario::{Transfers, Web};
use fairlane_traffic::TransferSequence;

use crate::application::{Application, Client, Server};

/// The pages of one browser, which its connections share.
#[derive(Debug)]
pub(super) struct Browser {
    /// The number in the group of the flow that begins each page; the other connections have the numbers after it.
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
    /// Returns the browser whose first connection is flow `leader` of its group, with segments of `bytes` bytes.
    pub(super) fn new(web: &Web, leader: u32, bytes: u32, seed: Seed) -> Self {
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

    /// Begins a page if `flow` is the one to do so and the page before is complete; returns the other connections,
    /// which are to load.
    fn begin(&mut self, flow: u32, now: Time) -> std::ops::Range<u32> {
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
    fn received(&mut self, now: Time) -> Option<(Duration, Duration)> {
        self.missing -= 1;
        (self.missing == 0).then(|| (now - self.began, self.startup.unwrap_or_default()))
    }

    /// Notes that an object has been acknowledged; returns the pause before the next page if that was the last one.
    fn acknowledged(&mut self) -> Option<Duration> {
        self.unacknowledged -= 1;
        if self.unacknowledged == 0 { self.sequence.next_pause() } else { None }
    }
}

/// One connection of a browser.
#[derive(Debug)]
pub(super) struct WebConnection {
    /// All connections of a browser are in the same part of a divided run, so nobody waits for the lock.
    browser: Arc<Mutex<Browser>>,
    /// Its number in the group.
    index: u32,
    /// The page that the connection belongs to.
    page: u32,
    /// The segments of this page's objects on this connection.
    supplied: u32,
    progress: ObjectProgress,
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

impl WebConnection {
    /// Returns the connection of `browser` that is flow `index` of its group.
    pub(super) fn new(browser: Arc<Mutex<Browser>>, index: u32) -> Self {
        Self { browser, index, page: 0, supplied: 0, progress: ObjectProgress::Idle }
    }
}

impl Application for WebConnection {
    /// Loads the next object of the page. The leading connection begins a page if the one before is complete.
    fn on_start(&mut self, server: &mut Server<'_>) {
        let mut browser = self.browser.lock().unwrap_or_else(PoisonError::into_inner);
        for other in browser.begin(self.index, server.now()) {
            server.wake(other, server.now());
        }
        if self.progress != ObjectProgress::Idle {
            return;
        }
        let Some(size) = browser.next_object() else { return };
        self.progress = ObjectProgress::InProgress;
        if self.page != browser.page {
            if self.page > 0 {
                server.reconnect();
            }
            self.page = browser.page;
        }
        self.supplied = server.send(size);
    }

    fn on_wake(&mut self, server: &mut Server<'_>) {
        self.on_start(server);
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if self.progress != ObjectProgress::InProgress {
            return;
        }
        let mut browser = self.browser.lock().unwrap_or_else(PoisonError::into_inner);
        let began = browser.began;
        browser.startup.get_or_insert(client.now() - began);
        if received < self.supplied {
            return;
        }
        self.progress = ObjectProgress::Received;
        if let Some((duration, startup)) = browser.received(client.now()) {
            client.completed(duration, Some(startup));
        }
        // The next request carries the acknowledgement.
        client.acknowledge();
    }

    fn on_acknowledged(&mut self, acknowledged: u32, server: &mut Server<'_>) {
        if self.progress != ObjectProgress::Received || acknowledged < self.supplied {
            return;
        }
        self.progress = ObjectProgress::Idle;
        let mut browser = self.browser.lock().unwrap_or_else(PoisonError::into_inner);
        match browser.acknowledged() {
            Some(pause) => server.wake(browser.leader, server.now() + pause),
            None => server.wake(self.index, server.now()),
        }
    }
}
