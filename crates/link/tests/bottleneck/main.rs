//! The bottleneck, called as a test harness would.

mod against_simulator;
mod caller;
mod closed_forms;
mod disciplines;
mod stubborn;
