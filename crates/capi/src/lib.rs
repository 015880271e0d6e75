#![doc = include_str!("../README.md")]
#![expect(non_camel_case_types, reason = "types have their names in C")]

#[cfg(feature = "classify")]
mod classify;
mod kinds;
mod packet;
mod queue;
mod status;
mod text;

#[cfg(feature = "classify")]
pub use classify::fl_classify;
pub use kinds::{FL_ABI_VERSION, fl_abi_version, fl_explain, fl_kinds, fl_reason_name};
pub use packet::{FL_REASON_PURGED, FL_UNRESPONSIVE, fl_event, fl_packet};
pub use queue::{
    FL_DEAD, fl_change, fl_dequeue, fl_dequeue_burst, fl_enqueue, fl_enqueue_burst, fl_error, fl_link_rate,
    fl_peek_bytes, fl_purge, fl_queue, fl_queue_free, fl_queue_new, fl_ready_at, fl_transmit, fl_transmit_at,
};
pub use status::{fl_count, fl_counters, fl_get_counters, fl_get_reason, fl_get_status, fl_status};
