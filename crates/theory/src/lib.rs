//! Closed forms and Markov chains for the equilibrium of disciplines and TCP.
//!
//! Each model has its own file and states its assumptions; `docs/theory.md` explains when they hold. Loads and shares
//! are parts of the link's rate; rates and times may have any unit as long as all of one model have the same. Nothing
//! here simulates, so a simulation can be held against it.
//!
//! ```
//! use fairlane_theory::Choke;
//!
//! // An unresponsive flow of twice the link's rate under CHOKe, among many TCP flows: a quarter of the link is all it gets.
//! let choke = Choke::at_load(2.0, 0.0)?;
//! assert_eq!(format!("{:.4}", choke.share()), "0.2507");
//! # Ok::<(), fairlane_theory::Error>(())
//! ```
#![forbid(unsafe_code)]

mod back;
mod candidates;
mod check;
mod choke;
mod echo;
mod echo_loop;
mod front;
mod gchoke;
mod margins;
mod profile;
#[cfg(feature = "json")]
mod question;
mod sfb;
mod solve;
mod tcp;

pub use back::{BackChoke, BackFlow};
pub use candidates::{Candidates, candidates_that_protect};
pub use check::Error;
pub use choke::Choke;
pub use echo::Echo;
pub use echo_loop::{EchoLoop, EchoPath};
pub use front::{FrontChoke, FrontFlow};
pub use gchoke::{Comparisons, GChoke};
pub use margins::Margins;
pub use profile::Profile;
#[cfg(feature = "json")]
pub use question::Question;
pub use sfb::Sfb;
pub use tcp::{TcpPath, square_root_law};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
