//! TCP's parameters and their presets.

use std::fmt;

use fairlane_qdisc::{Bytes, Duration};

use crate::application::Application;

/// A TCP sender and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The application that supplies the data.
    pub application: Application,
    /// Congestion control.
    pub congestion: Congestion,
    /// Loss recovery.
    pub recovery: LossRecovery,
    /// The receiver's window in packets.
    pub window: u32,
    /// The initial congestion window in packets.
    pub initial_window: u32,
    /// Size of an acknowledgement on the wire.
    pub ack: Bytes,
    /// Granularity of the retransmission clock (G of RFC 6298): round trips are measured and timeouts kept in whole
    /// ticks.
    pub tick: Duration,
    /// The smallest retransmission timeout.
    pub min_rto: Duration,
    /// `min_rto` is the least margin over the smoothed round trip, as in Linux, rather than the least timeout.
    pub rto_margin: bool,
    /// The largest retransmission timeout, backed off or not.
    pub max_rto: Duration,
    /// The retransmission timeout before the first round trip has been measured.
    pub initial_rto: Duration,
    /// Every segment's round trip is measured, by timestamps (RFC 7323), rather than one a window (Karn).
    pub timestamps: bool,
    /// New segments on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// The window grows by the segments that are acknowledged (RFC 3465), rather than by acknowledgements. Vegas and
    /// BBR are not affected.
    pub byte_counting: bool,
    /// An acknowledgement for every second segment, or after this delay (RFC 1122); `None`: one for every segment.
    pub delayed_ack: Option<Duration>,
    /// Explicit Congestion Notification (RFC 3168).
    pub ecn: bool,
    /// Marks are fed back by the counter of accurate ECN (RFC 9768), the three bits in each acknowledgement; otherwise
    /// segment by segment for DCTCP (RFC 8257) and Prague, and until the sender has reacted for others (RFC 3168).
    pub accurate_ecn: bool,
    /// A mark at a window of one packet makes the sender wait for its retransmission timer (RFC 3168, section 6.1.2);
    /// otherwise it goes on with one packet a round trip.
    pub ecn_timeout: bool,
    /// Packets leave evenly spread over the round trip. BBR's always do.
    pub pacing: bool,
    /// The most packets that a paced sender releases at once, as segmentation offload does; 1: one by one. A burst has
    /// the packets of a millisecond, at least two.
    pub burst: u32,
    /// The window after an idle time.
    pub after_idle: AfterIdle,
    /// The window grows although the sender does not use it, as in ns-2. RFC 9438, section 5.8, and RFC 9002, section
    /// 7.8, forbid that.
    pub grow_unused: bool,
    /// Where Linux differs from the RFCs, the sender and the receiver do as Linux; see `docs/scenario.md`.
    pub as_linux: bool,
    /// The end of slow start. Vegas and BBR have a slow start of their own, and LEDBAT has none.
    pub slow_start: SlowStart,
    /// The parameters of LEDBAT.
    pub ledbat: Ledbat,
    /// Vegas goes by the shortest round trip of a round, as in Linux, rather than by their mean, as in ns-2: what a
    /// pause of the link delays does not count.
    pub vegas_least_rtt: bool,
    /// Connections open with SYN, SYN-ACK and ACK (RFC 9293, section 3.5); otherwise data come at once.
    pub handshake: bool,
}

/// The parameters of LEDBAT (RFC 6817, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledbat {
    /// TARGET: the queueing delay that it seeks.
    pub target: Duration,
    /// GAIN: the segments by which its window grows in a round trip without queueing.
    pub gain: f64,
}

impl Ledbat {
    /// The largest values that RFC 6817 allows.
    pub const DEFAULT: Self = Self { target: Duration::from_millis(100), gain: 1.0 };
}

/// Congestion control: how the window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Congestion {
    /// Tahoe: fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// Reno's window (RFC 5681). The presets differ in its loss recovery: that of RFC 5681 in [`Tcp::ns2_1999`], RACK
    /// as in Linux in [`Tcp::modern`].
    Reno,
    /// Reno's window, with NewReno's loss recovery (RFC 6582).
    NewReno,
    /// Reno's window, with SACK-based loss recovery (RFC 2018, RFC 6675).
    Sack,
    /// Vegas (Brakmo, Peterson 1995).
    Vegas,
    /// CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257); it needs ECN.
    Dctcp,
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
    /// BBR, version 3 (draft-ietf-ccwg-bbr).
    Bbr3,
    /// LEDBAT, for background traffic (RFC 6817).
    Ledbat,
    /// Prague, for L4S (draft-briscoe-iccrg-prague-congestion-control; RFC 9331); it needs ECN, sends ECT(1) and is
    /// paced.
    Prague,
    /// One of the program that reads the scenario; see
    /// [`Document::with_congestion`](crate::Document::with_congestion).
    Own(OwnCongestion),
}

/// A congestion control of a program, as a scenario knows it: `"mine".into()` is one that paces only where the scenario
/// asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnCongestion {
    /// The name in a scenario file (`cc`) and in outcomes.
    pub name: &'static str,
    /// The sender always paces, as with BBR.
    pub paces: bool,
}

impl From<&'static str> for OwnCongestion {
    fn from(name: &'static str) -> Self {
        Self { name, paces: false }
    }
}

/// Loss recovery: how losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossRecovery {
    /// Fast retransmit alone (Jacobson 1988).
    Tahoe,
    /// Fast recovery (RFC 5681), which ends with the first new acknowledgement.
    Reno,
    /// Fast recovery until all outstanding segments are acknowledged (RFC 6582).
    NewReno,
    /// Recovery by selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// Recovery by the times at which segments were sent, with probes of the tail (RACK-TLP, RFC 8985) and proportional
    /// rate reduction (RFC 9937).
    Rack,
}

/// The event that ends the first slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlowStart {
    /// None: it ends with a loss, a mark or the receiver's window (RFC 5681).
    Standard,
    /// HyStart (Ha and Rhee 2011), as in Linux's CUBIC: a long train of acknowledgements, or a longer round trip.
    HyStart,
    /// HyStart++ (RFC 9406): a longer round trip, after five rounds of slower growth.
    HyStartPlusPlus,
}

/// The treatment of the window while it is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AfterIdle {
    /// The window stays.
    Keep,
    /// The window is halved for each retransmission timeout without data, down to one segment, and falls towards its
    /// used part if the application leaves it unfilled (RFC 2861). Neither version of BBR is affected.
    Decay,
    /// The same down to the initial window, as in Linux.
    Restart,
    /// The window stays for five minutes, but does not grow unless it is full, and a loss halves what was in use (RFC
    /// 7661). Neither version of BBR is affected.
    Preserve,
}

impl AfterIdle {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Keep, Self::Decay, Self::Restart, Self::Preserve];

    /// The name in a scenario file (`after_idle`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Decay => "rfc2861",
            Self::Restart => "linux",
            Self::Preserve => "rfc7661",
        }
    }
}

impl Congestion {
    /// All congestion controls but those of the program.
    pub const ALL: [Self; 11] = [
        Self::Tahoe,
        Self::Reno,
        Self::NewReno,
        Self::Sack,
        Self::Vegas,
        Self::Cubic,
        Self::Bbr,
        Self::Bbr3,
        Self::Dctcp,
        Self::Ledbat,
        Self::Prague,
    ];

    /// The name in a scenario file (`cc`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Vegas => "vegas",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Ledbat => "ledbat",
            Self::Prague => "prague",
            Self::Dctcp => "dctcp",
            Self::Own(own) => own.name,
        }
    }

    /// Returns the loss recoveries that it can have, its usual one first if not all are possible. BBR estimates the
    /// rate from selective acknowledgements, and version 3 needs to know each loss.
    #[must_use]
    pub const fn recoveries(self) -> &'static [LossRecovery] {
        match self {
            Self::Tahoe => &[LossRecovery::Tahoe],
            Self::NewReno => &[LossRecovery::NewReno],
            Self::Sack => &[LossRecovery::Sack],
            Self::Bbr => &[LossRecovery::Sack, LossRecovery::Rack],
            Self::Bbr3 => &[LossRecovery::Rack],
            Self::Reno | Self::Vegas | Self::Cubic | Self::Dctcp | Self::Ledbat | Self::Prague | Self::Own(_) => {
                &LossRecovery::CHOICES
            }
        }
    }

    /// Returns RACK where that is possible, else its usual one.
    const fn rack_or_own(self) -> LossRecovery {
        match self {
            Self::Tahoe | Self::NewReno | Self::Sack => self.sack_or_own(),
            Self::Reno
            | Self::Vegas
            | Self::Cubic
            | Self::Dctcp
            | Self::Bbr
            | Self::Bbr3
            | Self::Ledbat
            | Self::Prague
            | Self::Own(_) => LossRecovery::Rack,
        }
    }

    /// Returns SACK where that is possible, else its usual one.
    const fn sack_or_own(self) -> LossRecovery {
        match self {
            Self::Tahoe => LossRecovery::Tahoe,
            Self::NewReno => LossRecovery::NewReno,
            Self::Bbr3 => LossRecovery::Rack,
            Self::Reno
            | Self::Sack
            | Self::Vegas
            | Self::Cubic
            | Self::Dctcp
            | Self::Bbr
            | Self::Ledbat
            | Self::Prague
            | Self::Own(_) => LossRecovery::Sack,
        }
    }

    /// Returns `wished` if it can have this loss recovery, else its usual one.
    #[must_use]
    pub fn recovery_or_own(self, wished: LossRecovery) -> LossRecovery {
        let all = self.recoveries();
        if all.contains(&wished) { wished } else { all[0] }
    }

    /// Returns true if the congestion control has its own slow start, or none.
    #[must_use]
    pub const fn has_own_slow_start(self) -> bool {
        matches!(self, Self::Vegas | Self::Bbr | Self::Bbr3 | Self::Ledbat)
    }

    /// Returns true if it needs Explicit Congestion Notification.
    #[must_use]
    pub const fn needs_ecn(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }

    /// Returns true if it always paces.
    #[must_use]
    pub const fn always_paces(self) -> bool {
        match self {
            Self::Own(own) => own.paces,
            _ => matches!(self, Self::Bbr | Self::Bbr3 | Self::Prague),
        }
    }
}

impl LossRecovery {
    /// The loss recoveries that a scenario file can ask for (`recovery`). Tahoe's belongs to Tahoe.
    pub const CHOICES: [Self; 4] = [Self::Reno, Self::NewReno, Self::Sack, Self::Rack];

    /// The name in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Rack => "rack",
        }
    }
}

impl SlowStart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Standard, Self::HyStart, Self::HyStartPlusPlus];

    /// The name in a scenario file (`slow_start`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::HyStart => "hystart",
            Self::HyStartPlusPlus => "hystart++",
        }
    }
}

impl Tcp {
    /// TCP as ns-2 had it when the CHOKe papers were written (1999): a clock of 0.1 s, a round trip timed once a
    /// window, timeouts of two ticks and more, an initial window of one packet, an acknowledgement for each packet, and
    /// for Reno the loss recovery of RFC 5681.
    #[must_use]
    pub const fn ns2_1999(congestion: Congestion, window: u32) -> Self {
        Self {
            application: Application::Ftp,
            congestion,
            recovery: match congestion {
                Congestion::Reno => LossRecovery::Reno,
                other => other.sack_or_own(),
            },
            window,
            initial_window: 1,
            ack: Bytes::new(40),
            tick: Duration::from_millis(100),
            min_rto: Duration::from_millis(200),
            rto_margin: false,
            max_rto: Duration::from_millis(64_000),
            initial_rto: Duration::from_millis(6_000),
            timestamps: false,
            limited_transmit: false,
            byte_counting: false,
            delayed_ack: None,
            ecn: congestion.needs_ecn(),
            accurate_ecn: false,
            ecn_timeout: false,
            pacing: false,
            burst: 1,
            after_idle: AfterIdle::Keep,
            grow_unused: true,
            as_linux: false,
            slow_start: SlowStart::Standard,
            ledbat: Ledbat::DEFAULT,
            vegas_least_rtt: false,
            handshake: false,
        }
    }

    /// TCP after today's RFCs: timestamps in milliseconds (RFC 7323), a timeout 200 ms or more above the round trip, an
    /// initial window of ten packets (RFC 6928), limited transmit (RFC 3042), delayed acknowledgements (RFC 1122), a
    /// window that grows by the acknowledged data (RFC 3465) if it is used (RFC 9438), RACK-TLP (RFC 8985) with
    /// proportional rate reduction (RFC 9937), undo of needless reductions (RFC 4015, RFC 5682), and HyStart++ (RFC
    /// 9406) for CUBIC. Tahoe, NewReno and SACK, the names of loss recoveries, keep theirs.
    ///
    /// [`linux`](Self::linux) has what Linux does otherwise.
    #[must_use]
    pub const fn modern(congestion: Congestion, window: u32) -> Self {
        Self {
            application: Application::Ftp,
            congestion,
            recovery: congestion.rack_or_own(),
            window,
            initial_window: 10,
            ack: Bytes::new(40),
            tick: Duration::from_millis(1),
            min_rto: Duration::from_millis(200),
            rto_margin: true,
            max_rto: Duration::from_millis(60_000),
            initial_rto: Duration::from_millis(1_000),
            timestamps: true,
            limited_transmit: true,
            byte_counting: true,
            delayed_ack: Some(Duration::from_millis(40)),
            ecn: congestion.needs_ecn(),
            accurate_ecn: false,
            ecn_timeout: false,
            pacing: false,
            burst: 1,
            after_idle: AfterIdle::Keep,
            grow_unused: false,
            as_linux: false,
            slow_start: match congestion {
                Congestion::Cubic => SlowStart::HyStartPlusPlus,
                _ => SlowStart::Standard,
            },
            ledbat: Ledbat::DEFAULT,
            vegas_least_rtt: true,
            handshake: false,
        }
    }

    /// TCP of Linux 6.18: [`modern`](Self::modern), and Linux's way wherever that differs from the RFCs. CUBIC has
    /// HyStart, a window that is not used falls to the initial one, and slow start grows it by all that an
    /// acknowledgement covers.
    #[must_use]
    pub fn linux(congestion: Congestion, window: u32) -> Self {
        Self {
            as_linux: true,
            after_idle: AfterIdle::Restart,
            max_rto: Duration::from_millis(120_000),
            slow_start: match congestion {
                Congestion::Cubic => SlowStart::HyStart,
                _ => SlowStart::Standard,
            },
            ..Self::modern(congestion, window)
        }
    }

    /// Returns true if losses are found by selective acknowledgements (RFC 2018).
    #[must_use]
    pub const fn uses_sack(&self) -> bool {
        matches!(self.recovery, LossRecovery::Sack | LossRecovery::Rack)
    }

    /// Returns true if segments that arrive once more are reported (DSACK, RFC 2883): RACK learns from them.
    #[must_use]
    pub const fn reports_duplicates(&self) -> bool {
        matches!(self.recovery, LossRecovery::Rack)
    }
}

impl fmt::Display for Tcp {
    /// Writes the congestion control, and loss recovery and slow start where its name does not tell them:
    /// `cubic, recovery rack, slow start hystart++`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.congestion.name())?;
        if self.congestion.name() != self.recovery.name() {
            write!(f, ", recovery {}", self.recovery.name())?;
        }
        if self.slow_start != SlowStart::Standard {
            write!(f, ", slow start {}", self.slow_start.name())?;
        }
        Ok(())
    }
}
