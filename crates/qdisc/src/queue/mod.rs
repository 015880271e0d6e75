//! Parts of disciplines: FIFOs, queues per flow, and the order in which queues are served.

pub(crate) mod buffer;
pub(crate) mod fifo;
pub(crate) mod flow_buffer;
pub(crate) mod flow_queues;
pub(crate) mod longest;
pub(crate) mod new_old_lists;
pub(crate) mod queue_numbers;
pub(crate) mod replaceable;
pub(crate) mod ring;
pub(crate) mod room;
pub(crate) mod schedule;
pub(crate) mod signal;
pub(crate) mod tagged;
pub(crate) mod virtual_time;
