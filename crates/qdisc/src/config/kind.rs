//! The disciplines by name.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use super::{ParameterError, names, nearest};

/// Every discipline that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A FIFO that drops when it is full.
    DropTail,
    /// Random Early Detection.
    Red,
    /// Self-configuring RED (Feng) and Adaptive RED (Floyd).
    Ared,
    /// CHOKe.
    Choke,
    /// CHOKe with a number of candidates that grows with the average.
    ChokeAdaptive,
    /// CHOKe whose candidate is the head.
    FrontChoke,
    /// CHOKe whose candidate is the tail.
    BackChoke,
    /// Back CHOKe that remembers the flows of the last packets admitted.
    MlocChoke,
    /// CHOKe with a table of hits.
    Xchoke,
    /// CHOKe that goes on drawing while it matches.
    Gchoke,
}

/// What is known of a kind.
struct About {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    year: Option<u16>,
    needs: &'static str,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::DropTail,
        Self::Red,
        Self::Ared,
        Self::Choke,
        Self::ChokeAdaptive,
        Self::FrontChoke,
        Self::BackChoke,
        Self::MlocChoke,
        Self::Xchoke,
        Self::Gchoke,
    ];

    const fn about(self) -> About {
        match self {
            Self::DropTail => About {
                name: "droptail",
                summary: "drops what comes while the queue is full",
                source: "the default of every router",
                year: None,
                needs: "nothing",
            },
            Self::Red => About {
                name: "red",
                summary: "signals at random, the more the longer the average queue",
                source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4)",
                year: Some(1993),
                needs: "the average",
            },
            Self::Ared => About {
                name: "ared",
                summary: "RED that adapts its probability to the traffic",
                source: "Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; \
                         Floyd, Gummadi, Shenker: Adaptive RED, 2001",
                year: Some(2001),
                needs: "the average",
            },
            Self::Choke => About {
                name: "choke",
                summary: "drops an arrival together with a queued packet of its flow that it happens to draw",
                source: CHOKE,
                year: Some(2000),
                needs: "the average and a random look into the queue",
            },
            Self::ChokeAdaptive => About {
                name: "choke-adaptive",
                summary: "CHOKe that draws more packets the longer the average queue",
                source: CHOKE,
                year: Some(2000),
                needs: "the average and random looks into the queue",
            },
            Self::FrontChoke => About {
                name: "front-choke",
                summary: "CHOKe that compares with the packet that leaves next",
                source: CHOKE,
                year: Some(2000),
                needs: "the average and the head's flow",
            },
            Self::BackChoke => About {
                name: "back-choke",
                summary: "CHOKe that compares with the packet that came last",
                source: CHOKE,
                year: Some(2000),
                needs: "the average and the tail's flow",
            },
            Self::MlocChoke => About {
                name: "mloc-choke",
                summary: "drops an arrival of one of the last flows admitted",
                source: CHOKE,
                year: Some(2000),
                needs: "the last `memory` flows",
            },
            Self::Xchoke => About {
                name: "xchoke",
                summary: "CHOKe that punishes flows harder the more often they matched",
                source: "Chhabra, Chuig, Goel, John, Kumar, Saran, Shorey: xCHOKe, ICNP 2002",
                year: Some(2002),
                needs: "the average, a random look into the queue and a table of `table_size` flows",
            },
            Self::Gchoke => About {
                name: "gchoke",
                summary: "CHOKe that goes on drawing while it matches",
                source: "Eshete, Jiang: Generalizing the CHOKe Flow Protection, arXiv 1202.0789",
                year: Some(2012),
                needs: "the average and random looks into the queue",
            },
        }
    }

    /// The name that a scenario and the command line use, such as `front-choke`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// What it does, in one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.about().summary
    }

    /// Where it was published.
    #[must_use]
    pub const fn source(self) -> &'static str {
        self.about().source
    }

    /// The year of its publication, if there was one.
    #[must_use]
    pub const fn year(self) -> Option<u16> {
        self.about().year
    }

    /// What it has to know beyond the packets themselves.
    #[must_use]
    pub const fn needs(self) -> &'static str {
        self.about().needs
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = ParameterError;
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let all = || Self::ALL.into_iter().map(Self::name);
            let hint =
                nearest(text, all()).map_or(alloc::string::String::new(), |near| format!("did you mean \"{near}\"? "));
            let message = format!("there is no queue discipline \"{text}\": {hint}there are {}", names(all()));
            ParameterError::new("kind", message)
        })
    }
}

/// The source of CHOKe and of its variants by the same authors.
const CHOKE: &str = "Pan, Prabhakar, Psounis: CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair \
                     Bandwidth Allocation, INFOCOM 2000";
