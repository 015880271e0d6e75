//! The records of a run in addition to its outcome: timelines, tables, and files for other programs.

#[cfg(feature = "recordings")]
mod flent;
mod link;
#[cfg(feature = "recordings")]
mod mahimahi;
#[cfg(feature = "recordings")]
mod pcap;
#[cfg(feature = "recordings")]
mod recording;
#[cfg(feature = "tables")]
mod series;
mod timeline;
#[cfg(feature = "tables")]
mod trace;

#[cfg(feature = "recordings")]
pub use flent::{FlentFile, write_link};
pub use link::LinkRecorder;
#[cfg(feature = "recordings")]
pub use mahimahi::LinkLog;
#[cfg(feature = "recordings")]
pub use pcap::PacketCapture;
#[cfg(feature = "recordings")]
pub use recording::{RecordedRun, Records, RecordsObserver};
#[cfg(feature = "tables")]
pub use series::Series;
pub use timeline::Recorder;
#[cfg(feature = "tables")]
pub use trace::Trace;
