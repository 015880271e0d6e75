//! The applications of TCP flows: where the sender's data come from, and what must be told of their arrival.

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{self as scenario, Tcp};
use fairlane_traffic::OnOffPeriods;

use super::common::Common;
use super::connection::Connection;
use super::numbered::Numbered;
use super::rpc::Rpc;
use super::transfers::Transfers;
use super::video::Video;
use super::web::{Browser, NextObject, WebConnection};
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::Packet;
use crate::schedule::event_key::Target;

/// The source of the sender's data.
#[derive(Debug)]
pub(super) enum Application {
    /// Unlimited data; with the settings of each new connection if the flow has several phases.
    Ftp(Option<Box<Tcp>>),
    /// Pages of objects.
    Web(Box<WebConnection>),
    /// Transfers of limited size, one after the other.
    Transfers(Box<Transfers>),
    /// Adaptive video.
    Video(Box<Video>),
    /// Requests and responses.
    Rpc(Box<Rpc>),
    /// Unlimited data during on periods.
    OnOff(Box<OnOffPeriods>),
}

impl Application {
    /// Returns true if the application sends without end, and so needs no notice of arrived data.
    #[inline(always)]
    pub(super) const fn is_bulk(&self) -> bool {
        matches!(self, Self::Ftp(_) | Self::OnOff(_))
    }

    pub(super) fn new(tcp: &Tcp, common: &Common, seed: Seed, browser: Option<u32>) -> Self {
        match &tcp.application {
            scenario::Application::Ftp => Self::Ftp(common.has_later_phases().then(|| Box::new(tcp.clone()))),
            scenario::Application::Transfers(config) => {
                Self::Transfers(Box::new(Transfers::new(tcp, config, common.bytes, seed)))
            }
            scenario::Application::Web(_) => Self::Web(Box::new(WebConnection::new(browser.unwrap_or_default(), tcp))),
            scenario::Application::Video(config) => Self::Video(Box::new(Video::new(config, common.bytes))),
            scenario::Application::Rpc(config) => Self::Rpc(Box::new(Rpc::new(config, common.bytes))),
            scenario::Application::OnOff(config) => Self::OnOff(Box::new(OnOffPeriods::new(config, seed))),
        }
    }
}

impl Connection {
    /// Loads the next object of the browser's page. The leading connection begins a page if the one before is complete.
    pub(super) fn load<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        network: &mut Network<O>,
        browsers: &mut Numbered<Browser>,
    ) {
        let Application::Web(web) = &mut self.application else { return };
        let Some(browser) = browsers.get_mut(web.browser) else { return };
        for other in browser.begin(common.id, now) {
            network.events.push(now, Target::Source(other));
        }
        let Some(NextObject { supply, after }) = web.next_object(browser) else { return };
        if let Some(segments) = after
            && !self.peers.reconnect(now, &web.tcp, segments)
        {
            return;
        }
        self.with_sender(now, common, network, |sender, output| sender.supply(now, supply, output));
    }

    /// Tells an application with an end that its data have been acknowledged.
    #[inline(never)]
    pub(super) fn tell_sender<O: Observer>(
        &mut self,
        now: Time,
        id: u32,
        network: &mut Network<O>,
        browsers: &mut Numbered<Browser>,
    ) {
        let acknowledged = self.peers.sender.acknowledged();
        match &mut self.application {
            Application::Transfers(transfers) => {
                if let Some(pause) = transfers.acknowledged(acknowledged) {
                    network.events.push(now + pause, Target::Source(id));
                }
            }
            Application::Web(web) => {
                let Some(browser) = browsers.get_mut(web.browser) else { return };
                if !web.acknowledged(acknowledged) {
                    return;
                }
                let (flow, pause) = match browser.acknowledged() {
                    Some(pause) => (browser.leader(), pause),
                    None => (id, Duration::ZERO),
                };
                network.events.push(now + pause, Target::Source(flow));
            }
            Application::Video(video) => {
                if let Some(pause) = video.acknowledged(acknowledged) {
                    network.events.push(now + pause, Target::Source(id));
                }
            }
            Application::Rpc(rpc) => {
                if rpc.acknowledged(acknowledged) {
                    network.events.push(now, Target::Source(id));
                }
            }
            Application::Ftp(_) | Application::OnOff(_) => {}
        }
    }

    /// Handles a segment where an application with an end must be told.
    #[inline(never)]
    pub(super) fn on_application_segment<O: Observer>(
        &mut self,
        now: Time,
        (seq, packet): (u32, &Packet),
        common: &mut Common,
        network: &mut Network<O>,
        browsers: &mut Numbered<Browser>,
    ) {
        let mut received = self.receive(now, (seq, packet), common);
        let (ack, next, mut request) = (&mut received.ack, self.peers.receiver.next(), 0);
        match &mut self.application {
            Application::Transfers(transfers) => transfers.received(now, next),
            // The next request carries the acknowledgement.
            Application::Web(web) => {
                let browser = browsers.get_mut(web.browser);
                if browser.is_some_and(|browser| web.received(now, next, browser)) {
                    *ack = ack.or_else(|| self.peers.receiver.flush());
                }
            }
            Application::Video(video) => {
                if video.received(now, next) {
                    *ack = ack.or_else(|| self.peers.receiver.flush());
                }
            }
            Application::Rpc(rpc) => {
                if let Some(bytes) = rpc.received(now, next) {
                    *ack = ack.or_else(|| self.peers.receiver.flush());
                    request = bytes;
                }
            }
            Application::Ftp(_) | Application::OnOff(_) => {}
        }
        self.answer_apart(now, (ack.as_ref(), request), common, network);
    }
}
