//! A host of a call.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use fairlane_qdisc::{Duration, Rate, Seed, Time};
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing};
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, MediaTime, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, DATAGRAM_MTU_TARGET, Event, IceConnectionState, Input, Output, Rtc, RtcError};

use crate::encoder::{Encoder, captured};
use crate::report::{Ended, Frame, Report};
use crate::{Video, dtls};

/// The headers of IPv4 and UDP, in bytes.
const HEADERS: u32 = 28;

/// The addresses of the hosts (RFC 5737).
const SOURCE: ([u8; 4], u16) = ([192, 0, 2, 1], 5004);
const SINK: ([u8; 4], u16) = ([198, 51, 100, 1], 5004);

/// The first bytes of datagrams of DTLS (RFC 7983, section 7).
const DTLS: std::ops::RangeInclusive<u8> = 20..=63;

/// A session of str0m with the state of its random numbers.
pub(crate) struct Session {
    rtc: Rtc,
    mid: Mid,
    /// The payload type of VP8.
    vp8: Pt,
    local: SocketAddr,
    remote: SocketAddr,
    random: u64,
}

/// Returns the sessions of source and sink, which have exchanged offer and answer.
pub(crate) fn connect(
    video: &Video,
    start: Instant,
    seed: Seed,
) -> Result<(Session, Session), Box<dyn Error + Send + Sync>> {
    let first = Bitrate::bps(video.first.bits_per_second());
    let mut random = seed.stream("session");
    let crypto = Arc::new(dtls::provider());
    let ((mut source, offer, pending, mid), of_source) = seeded(random.bits(), || {
        let config = Rtc::builder().set_crypto_provider(Arc::clone(&crypto)).enable_bwe(Some(first));
        let mut rtc = config.clear_codecs().enable_vp8(true).build(start);
        rtc.add_local_candidate(Candidate::host(SOURCE.into(), "udp")?);
        rtc.bwe().set_desired_bitrate(Bitrate::bps(video.most.bits_per_second()));
        let mut changes = rtc.sdp_api();
        let mid = changes.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
        let (offer, pending) = changes.apply().ok_or("str0m makes no offer")?;
        Ok::<_, Box<dyn Error + Send + Sync>>((rtc, offer, pending, mid))
    })?;
    let ((sink, answer), of_sink) = seeded(random.bits(), || {
        let config = Rtc::builder().set_crypto_provider(crypto).clear_codecs().enable_vp8(true);
        let mut rtc = config.build(start);
        rtc.add_local_candidate(Candidate::host(SINK.into(), "udp")?);
        let answer = rtc.sdp_api().accept_offer(offer)?;
        Ok::<_, Box<dyn Error + Send + Sync>>((rtc, answer))
    })?;
    let ((), of_source) = seeded(of_source, || source.sdp_api().accept_answer(pending, answer))?;
    let writer = source.writer(mid).ok_or("str0m sends no video")?;
    let vp8 = writer.payload_params().find(|params| params.spec().codec == Codec::Vp8).map(|params| params.pt());
    let vp8 = vp8.ok_or("str0m sends no VP8")?;
    let session = |rtc, local: ([u8; 4], u16), remote: ([u8; 4], u16), random| Session {
        rtc,
        mid,
        vp8,
        local: local.into(),
        remote: remote.into(),
        random,
    };
    Ok((session(source, SOURCE, SINK, of_source), session(sink, SINK, SOURCE, of_sink)))
}

/// Calls str0m, whose random numbers are those of `fastrand` in this thread, with this state of them, and returns the
/// next state.
fn seeded<T, E>(random: u64, call: impl FnOnce() -> Result<T, E>) -> Result<(T, u64), E> {
    let of_others = fastrand::get_seed();
    fastrand::seed(random);
    let result = call();
    let random = fastrand::get_seed();
    fastrand::seed(of_others);
    result.map(|value| (value, random))
}

/// The application.
#[derive(Debug)]
pub(crate) enum Media {
    /// Sends frames.
    Encoder(Encoder),
    /// Takes frames.
    Player,
}

/// A session with its application.
pub(crate) struct Host {
    /// The instant of the time at which the host starts.
    start: Instant,
    started: Time,
    session: Session,
    media: Media,
    report: Report,
    sent: VecDeque<Vec<u8>>,
    timer: Option<Time>,
    delivered: u64,
    ended: bool,
}

impl Host {
    pub(crate) fn new(start: Instant, session: Session, media: Media, report: Report) -> Self {
        Self {
            start,
            started: Time::ZERO,
            session,
            media,
            report,
            sent: VecDeque::new(),
            timer: None,
            delivered: 0,
            ended: false,
        }
    }

    fn instant(&self, now: Time) -> Instant {
        self.start + std::time::Duration::from_nanos(now.since(self.started).as_nanos())
    }

    /// Gives str0m the time and what has come, lets the application react, and takes what it sends.
    fn settle(&mut self, now: Time, datagram: Option<&[u8]>) {
        if self.ended {
            return;
        }
        let result = seeded(self.session.random, || self.drive(now, datagram));
        match result {
            Ok(((), random)) => self.session.random = random,
            Err(error) => self.end(now, error.to_string()),
        }
    }

    fn drive(&mut self, now: Time, datagram: Option<&[u8]>) -> Result<(), RtcError> {
        let at = self.instant(now);
        if let Some(datagram) = datagram {
            let (source, destination) = (self.session.remote, self.session.local);
            let received = Receive::new(Protocol::Udp, source, destination, datagram)?;
            self.session.rtc.handle_input(Input::Receive(at, received))?;
        } else {
            self.session.rtc.handle_input(Input::Timeout(at))?;
        }
        self.poll(now)?;
        if let Media::Encoder(encoder) = &mut self.media
            && let Some(frame) = encoder.encode(now)
            && let Some(writer) = self.session.rtc.writer(self.session.mid)
        {
            let time = MediaTime::from_90khz(now.as_nanos() / 1000 * 9 / 100);
            writer.write(self.session.vp8, at, time, frame)?;
            self.report.lock().encoded += 1;
            self.session.rtc.handle_input(Input::Timeout(at))?;
            self.poll(now)?;
        }
        Ok(())
    }

    /// Takes the datagrams and events of str0m until it waits.
    fn poll(&mut self, now: Time) -> Result<(), RtcError> {
        loop {
            match self.session.rtc.poll_output()? {
                Output::Timeout(at) => {
                    let since = at.saturating_duration_since(self.start).as_nanos();
                    let since = Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX / 2));
                    // Everything that was due has been done.
                    self.timer = Some((self.started + since).max(now + Duration::from_nanos(1000)));
                    return Ok(());
                }
                Output::Transmit(transmit) => self.sent.push_back(transmit.contents.to_vec()),
                Output::Event(event) => self.handle(now, event),
            }
        }
    }

    fn handle(&mut self, now: Time, event: Event) {
        match (event, &mut self.media) {
            (Event::Connected, Media::Encoder(encoder)) => {
                encoder.begin(now);
                self.report.lock().connected = Some(now);
            }
            (Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }), Media::Encoder(encoder)) => {
                encoder.follow(estimate.as_u64());
                self.report.lock().estimates.push((now, Rate::from_bits_per_second(estimate.as_u64())));
            }
            (Event::MediaData(data), Media::Player) => {
                let bytes = data.data.len() as u64;
                self.delivered += bytes;
                let frame = captured(&data.data).map(|captured| Frame { captured, delivered: now, bytes });
                self.report.lock().frames.extend(frame);
            }
            (Event::IceConnectionStateChange(IceConnectionState::Disconnected), _) => {
                self.end(now, "ICE has lost the other host".to_owned());
            }
            _ => {}
        }
    }

    fn end(&mut self, at: Time, reason: String) {
        self.ended = true;
        self.report.lock().ended.get_or_insert(Ended { at, reason });
    }
}

impl Endpoint for Host {
    fn start(&mut self, now: Time) {
        self.started = now;
        self.settle(now, None);
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        self.settle(now, Some(datagram));
    }

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        *datagram = self.sent.pop_front()?;
        let is_dtls = datagram.first().is_some_and(|first| DTLS.contains(first));
        let bytes = if is_dtls { datagram.len().max(DATAGRAM_MTU_TARGET) } else { datagram.len() };
        Some(Outgoing::new(bytes as u32 + HEADERS))
    }

    fn deadline(&mut self) -> Option<Time> {
        let frame = match &self.media {
            Media::Encoder(encoder) => encoder.next(),
            Media::Player => None,
        };
        self.timer.into_iter().chain(frame).min().filter(|_| !self.ended)
    }

    fn on_timer(&mut self, now: Time) {
        self.settle(now, None);
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("media", &self.media).field("delivered", &self.delivered).finish_non_exhaustive()
    }
}
