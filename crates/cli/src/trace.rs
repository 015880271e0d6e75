//! Every packet's fate at every queue, as a table.

use std::path::Path;

use fairlane_outcome::{TraceRow, TraceWriter};
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;
use fairlane_sim::{Happening, Observer, PacketEvent, PacketKind, link_name};

use crate::error::Failure;
