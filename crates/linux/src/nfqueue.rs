//! The netlink messages of an NFQUEUE (`linux/netfilter/nfnetlink_queue.h`): functions over bytes, without a socket.
//!
//! | message | who sends it | here |
//! |---|---|---|
//! | `NFQNL_MSG_CONFIG` | we | [`Setup`] |
//! | `NFQNL_MSG_PACKET` | the kernel | [`PacketMessage`], out of [`messages`] |
//! | `NFQNL_MSG_VERDICT` | we, one a packet | [`Verdict`] |
//! | `NFQNL_MSG_VERDICT_BATCH` | we, for every packet up to one | [`accept_up_to`] |
//! | `NLMSG_ERROR` | the kernel, as an answer | [`Answer`], out of [`messages`] |
//!
//! Numbers of netlink are in the machine's byte order, those of netfilter in network byte order. Attributes and
//! messages begin at multiples of four bytes.

mod attribute;
mod message;
mod packet;
pub(crate) mod proc;
pub(crate) mod queue_numbers;
mod setup;
pub(crate) mod socket;
mod verdict;
mod verdict_writer;

pub use message::{Answer, Message, Messages, messages};
pub use packet::PacketMessage;
pub use setup::{Copied, Setup};
pub use verdict::{ClassChange, Decision, Verdict, accept_up_to};

/// The length of the headers before the attributes: netlink's and netfilter's.
const HEADERS: usize = NLMSG_HEADER + NFGENMSG;
/// The length of `struct nlmsghdr`.
const NLMSG_HEADER: usize = 16;
/// The length of `struct nfgenmsg`.
const NFGENMSG: usize = 4;

/// `NFNL_SUBSYS_QUEUE` in the upper byte of a message's type.
const SUBSYSTEM: u16 = 3 << 8;
const MSG_PACKET: u16 = SUBSYSTEM;
const MSG_VERDICT: u16 = SUBSYSTEM | 1;
const MSG_CONFIG: u16 = SUBSYSTEM | 2;
const MSG_VERDICT_BATCH: u16 = SUBSYSTEM | 3;
const NLMSG_ERROR: u16 = 2;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
