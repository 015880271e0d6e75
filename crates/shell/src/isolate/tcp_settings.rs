//! The parameters of TCP inside and at the far end.

use std::fs;
use std::io;

use crate::error::{ShellError, setup};

/// The congestion controls that a network namespace may choose.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// The parameters of TCP in a namespace.
#[derive(Clone, Debug)]
pub(crate) struct TcpSettings {
    /// TCP asks for ECN.
    pub(crate) ecn: bool,
    /// The congestion control; `None`: the system's.
    pub(crate) congestion: Option<String>,
}

impl TcpSettings {
    /// Checks that the system allows the congestion control.
    pub(crate) fn check(&self) -> Result<(), ShellError> {
        let Some(wanted) = &self.congestion else { return Ok(()) };
        let known = fs::read_to_string(ALLOWED).map_err(setup(ALLOWED))?;
        if known.split_whitespace().any(|name| name == wanted) {
            return Ok(());
        }
        let known = known.split_whitespace().collect::<Vec<_>>().join(", ");
        Err(ShellError::NoCongestion(wanted.clone(), known))
    }

    /// Sets the parameters in this thread's namespace.
    pub(crate) fn apply(&self) -> io::Result<()> {
        // By default a host agrees to ECN and does not ask. Where /proc/sys is read-only its value stays.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_ecn", if self.ecn { "1" } else { "2" });
        let Some(congestion) = &self.congestion else { return Ok(()) };
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", congestion)
    }
}
