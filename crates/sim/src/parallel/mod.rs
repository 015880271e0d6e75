//! One run on several threads.

pub(crate) mod divided;
pub(crate) mod epoch;
pub(crate) mod lookahead;
pub(crate) mod mailbox;
pub(crate) mod partition;
