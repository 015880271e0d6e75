//! The guidelines of RFC 7928 for characterizing an AQM: the checklist as data, and the code that runs and measures it.
//!
//! A [`Plan`] has the scenarios of the chosen sections for each [`Subject`], and for DropTail. It makes a [`Report`].
//! The RFC knows no pass and no fail, so a section is [characterised, discussed or not applicable](Verdict).
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod cdf;
mod checklist;
mod discussion;
mod ellipse;
mod losses;
mod observe;
#[cfg(feature = "html")]
mod page;
mod plan;
mod report;
mod scenarios;
mod sensitivity;
mod settings;
mod template;

pub use cdf::Cdf;
pub use checklist::{Case, Checklist, Entry, PhaseEnd};
pub use ellipse::Ellipse;
pub use losses::{GapStatistics, LossEvents};
pub use observe::TimePoint;
#[cfg(feature = "html")]
pub use page::page;
pub use plan::{Plan, PlannedCase, PlannedSection};
pub use report::{
    CaseReport, Curve, CurveLine, GroupReport, Number, PhaseReport, QueueReport, Report, Section, SubjectReport,
    Verdict, VideoReport,
};
pub use sensitivity::{Sensitivity, SweptValue};
pub use settings::{Buffer, Settings, Subject};
