//! The applications of TCP flows: where the sender's data come from, and what must be told of their arrival.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::IntoIter;

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::{self as scenario, FlowGroup, Tcp};
use fairlane_traffic::OnOffPeriods;

use super::cbr::Cbr;
use super::common::Common;
use super::connection::Connection;
use super::rpc::Rpc;
use super::transfers::Transfers;
use super::video::Video;
use super::web::{Browser, WebConnection};
use crate::application::{Application, Client, Server, Session};
use crate::endpoint::{CallLimit, End, EndpointError, Problem, caught};
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::Packet;
use crate::schedule::event_key::Target;
use crate::schedule::timer::Timer;

/// The source of the sender's data.
#[derive(Debug)]
pub(super) enum DataSource {
    /// Unlimited data; with the settings of each new connection if the flow has several phases.
    Ftp(Option<Box<Tcp>>),
    /// Unlimited data during on periods.
    OnOff(Box<OnOffPeriods>),
    /// Data by what arrives.
    Told(Box<Told>),
}

impl DataSource {
    /// Returns true if the application sends without end, and so needs no notice of arrived data.
    #[inline(always)]
    pub(super) const fn is_bulk(&self) -> bool {
        !matches!(self, Self::Told(_))
    }
}

/// An application that is told what arrives.
#[derive(Debug)]
pub(crate) struct Told {
    /// Nobody locks it: it makes a run `Sync`, which an application need not be.
    application: Mutex<Box<dyn Application>>,
    session: Session,
    /// The packets that the sender has been given.
    given: u32,
    /// The settings of each new connection.
    tcp: Tcp,
    group: Arc<str>,
    /// The flows of the group.
    flows: Range<u32>,
    calls: CallLimit,
    timer_event: Timer,
}

/// Makes the applications of a group, one flow after the other.
pub(crate) struct Applications {
    group: Arc<str>,
    flows: Range<u32>,
    browser: Option<Arc<Mutex<Browser>>>,
    own: IntoIter<Box<dyn Application>>,
}

impl Applications {
    /// Returns those of `group`, whose first flow is `first`. `own` are the ones that the program brings.
    pub(crate) fn new(group: &FlowGroup, first: u32, own: Vec<Box<dyn Application>>) -> Self {
        Self {
            group: group.name.as_str().into(),
            flows: first..first + group.count,
            browser: None,
            own: own.into_iter(),
        }
    }

    /// Returns the application of the next flow; `None` if the program has brought too few.
    pub(super) fn next(&mut self, tcp: &Tcp, common: &Common, seed: Seed) -> Option<DataSource> {
        use scenario::Application as Kind;
        let (bytes, index) = (common.bytes, common.id - self.flows.start);
        let application: Box<dyn Application> = match &tcp.application {
            Kind::Ftp => return Some(DataSource::Ftp(common.has_later_phases().then(|| Box::new(tcp.clone())))),
            Kind::OnOff(config) => return Some(DataSource::OnOff(Box::new(OnOffPeriods::new(config, seed)))),
            Kind::Transfers(config) => Box::new(Transfers::new(config, bytes, seed)),
            Kind::Web(web) => {
                self.browser = self.browser.take().filter(|_| !index.is_multiple_of(web.connections));
                let browser = || Arc::new(Mutex::new(Browser::new(web, index, bytes, seed)));
                Box::new(WebConnection::new(Arc::clone(self.browser.get_or_insert_with(browser)), index))
            }
            Kind::Video(config) => Box::new(Video::new(config)),
            Kind::Rpc(config) => Box::new(Rpc::new(config, bytes, seed)),
            Kind::Cbr(config) => Box::new(Cbr::new(config, bytes)),
            Kind::Own(_) => self.own.next()?,
        };
        let session = Session {
            packet: bytes,
            index,
            completions: (!matches!(tcp.application, Kind::Video(_) | Kind::Cbr(_))).then(Vec::new),
            startups: matches!(tcp.application, Kind::Transfers(_) | Kind::Web(_)).then(Vec::new),
            ..Session::default()
        };
        Some(DataSource::Told(Box::new(Told {
            application: Mutex::new(application),
            session,
            given: 0,
            tcp: tcp.clone(),
            group: Arc::clone(&self.group),
            flows: self.flows.clone(),
            calls: CallLimit::new(),
            timer_event: Timer::off(),
        })))
    }
}

impl Told {
    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Calls the application.
    fn call(&mut self, call: impl FnOnce(&mut dyn Application, &mut Session)) -> Result<(), Problem> {
        let application = self.application.get_mut().unwrap_or_else(PoisonError::into_inner);
        caught(|| call(&mut **application, &mut self.session))
    }

    /// Calls the application for its server.
    fn serve(&mut self, now: Time, call: impl FnOnce(&mut dyn Application, &mut Server<'_>)) -> Result<(), Problem> {
        self.call(|application, session| call(application, &mut Server { now, session }))
    }

    /// Handles an event of the source after the first one: a request comes, the timer expires, or another flow calls.
    fn wake(&mut self, now: Time) -> Result<(), Problem> {
        self.calls.count(now, Problem::Stuck)?;
        if let Some(due) = self.session.requests.iter().position(|at| *at <= now) {
            self.session.requests.swap_remove(due);
            return self.serve(now, |application, server| application.on_request(server));
        }
        if self.timer_event.fires(now) {
            return match self.session.timer.take_if(|at| *at <= now) {
                Some(_) => self.serve(now, |application, server| application.on_timer(server)),
                None => Ok(()),
            };
        }
        if let Some(stale) = self.session.stale.iter().position(|at| *at == now) {
            self.session.stale.swap_remove(stale);
            return Ok(());
        }
        self.serve(now, |application, server| application.on_wake(server))
    }

    /// Tells the server of an acknowledgement. It brings the requests up to number `request`, which come after their
    /// pauses.
    fn acknowledge(&mut self, now: Time, acknowledged: u32, request: u32) -> Result<(), Problem> {
        let Session { index, asked, requests, wakes, .. } = &mut self.session;
        for (_, pause) in asked.extract_if(.., |(number, _)| *number <= request) {
            requests.push(now + pause);
            wakes.push((*index, now + pause));
        }
        self.serve(now, |application, server| application.on_acknowledged(acknowledged, server))
    }

    /// Tells the client of data. Returns true if an acknowledgement leaves at once, and the bytes of the requests in
    /// it.
    fn receive(&mut self, now: Time, received: u32) -> Result<(bool, u32), Problem> {
        self.call(|application, session| application.on_data(received, &mut Client { now, session }))?;
        let Session { packet, asking, made, asked, request_bytes, acknowledges, .. } = &mut self.session;
        for pause in asking.drain(..) {
            *made += 1;
            asked.push((*made, pause));
        }
        let (acknowledges, bytes) = (std::mem::take(acknowledges), std::mem::take(request_bytes));
        if bytes > *packet {
            return Err(Problem::Request { bytes, packet: *packet });
        }
        Ok((acknowledges, bytes))
    }

    /// Starts the measurement.
    pub(super) fn begin_measurement(&mut self, now: Time) -> Result<(), Box<EndpointError>> {
        let counts = [&mut self.session.completions, &mut self.session.startups];
        counts.into_iter().flatten().for_each(Vec::clear);
        self.call(|application, _| application.begin_measurement(now))
            .map_err(|problem| self.error(End::Source, now, problem))
    }

    /// Ends the run.
    pub(super) fn end(&mut self, now: Time) -> Result<(), Box<EndpointError>> {
        let ended = self.call(|application, session| session.video = application.video(now).map(Box::new));
        ended.map_err(|problem| self.error(End::Sink, now, problem))
    }

    /// Schedules an event for the timer, and for each flow that the application wakes.
    fn wake_others<O: Observer>(&mut self, network: &mut Network<O>) -> Result<(), Problem> {
        if let Some(at) = self.session.timer {
            let (pending, target) = (self.timer_event.pending(), Target::Source(self.flows.start + self.session.index));
            self.timer_event.set(Some(at), target, &mut network.events);
            self.session.stale.extend(pending.filter(|pending| *pending > at));
        }
        for (index, at) in self.session.wakes.drain(..) {
            let flow = self.flows.clone().nth(index as usize).ok_or(Problem::NoFlow(index))?;
            network.events.push(at, Target::Source(flow));
        }
        Ok(())
    }

    /// Returns the error that ends the run.
    #[cold]
    fn error(&self, end: End, at: Time, problem: Problem) -> Box<EndpointError> {
        Box::new(EndpointError { group: self.group.to_string(), index: self.session.index, end, at, problem })
    }
}

impl Connection {
    /// Begins the application, or tells it of a later event of the source.
    pub(super) fn tell_of_event<O: Observer>(
        &mut self,
        now: Time,
        again: bool,
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        self.serve(now, common, network, &mut |told| {
            if again { told.wake(now) } else { told.serve(now, |application, server| application.on_start(server)) }
        });
    }

    /// Tells the application that data have been acknowledged.
    #[inline(never)]
    pub(super) fn tell_of_ack<O: Observer>(
        &mut self,
        now: Time,
        request: u32,
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        let acknowledged = self.peers.sender.acknowledged();
        self.serve(now, common, network, &mut |told| told.acknowledge(now, acknowledged, request));
    }

    /// Tells the application, once, that the flow has stopped.
    pub(super) fn tell_of_stop<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        self.serve(now, common, network, &mut |told| {
            if std::mem::replace(&mut told.session.stopped, true) {
                return Ok(());
            }
            told.call(|application, _| application.on_stop(now))
        });
    }

    /// Calls the application, then does what it asks for. A mistake of it ends the run.
    #[inline(never)]
    fn serve<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        network: &mut Network<O>,
        call: &mut dyn FnMut(&mut Told) -> Result<(), Problem>,
    ) {
        let DataSource::Told(told) = &mut self.application else { return };
        if network.failure.is_some() {
            return;
        }
        if let Err(problem) = call(told).and_then(|()| told.wake_others(network)) {
            network.failure = Some(told.error(End::Source, now, problem));
            return;
        }
        if std::mem::take(&mut told.session.reconnects) {
            let sent = self.peers.sender.sent();
            // If the sequence numbers are used up, nothing is sent any more.
            told.given = if self.peers.reconnect(now, &told.tcp, sent) { 0 } else { u32::MAX };
        }
        let supply = told.session.supplied;
        if supply > told.given && !told.session.stopped {
            told.given = supply;
            self.with_sender(now, common, network, |sender, output| sender.supply(now, supply, output));
        }
    }

    /// Handles a segment whose application must be told.
    #[inline(never)]
    pub(super) fn on_told_segment<O: Observer>(
        &mut self,
        now: Time,
        (seq, packet): (u32, &Packet),
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        let mut received = self.receive(now, (seq, packet), common);
        let DataSource::Told(told) = &mut self.application else { return };
        let (mut acknowledges, mut bytes) = (false, 0);
        if network.failure.is_none() {
            match told.receive(now, self.peers.receiver.next()) {
                Ok(asked) => (acknowledges, bytes) = asked,
                Err(problem) => network.failure = Some(told.error(End::Sink, now, problem)),
            }
        }
        if acknowledges {
            received.ack = received.ack.or_else(|| self.peers.receiver.flush());
        }
        let request = told.session.request();
        self.answer_apart(now, (received.ack.as_ref(), bytes, request), common, network);
    }
}
