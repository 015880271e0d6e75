//! The experiments of the CHOKe papers, held to what the papers say.
//!
//! Bands come from the papers' numbers, from the models behind them, and from a paper-faithful CHOKe in ns-2; each assertion
//! says which. A number meets its band when its 95 % interval reaches into it. The short form runs each scenario as it stands,
//! five times; `FAIRLANE_FULL=1` (`make papers`) runs 500 s of each, twenty times.

mod congested_links;
mod infocom;
mod overload;
mod report;
mod setup;
