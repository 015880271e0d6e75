//! The options of `fairlane top`.

use clap::Args;
use fairlane_console::values::time;
use fairlane_qdisc::Duration;

use super::address::{USUAL, address};

/// Watch a running router
///
/// Shows the rate, the backlog, drops by reason, and the flows that lose most.
///
/// Example: fairlane top 192.168.1.1:9277
///
/// Reads the state from the router's --metrics address. s sorts the flows by another column; q, Esc and Ctrl-C end. On
/// a pipe, and where TERM is dumb, it prints once.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Where the router serves its metrics: a port of this machine, a host and a port, or the path of a socket
    /// [default: the socket of the router of this machine, or port 9277]
    #[arg(value_name = "ADDR", value_parser = place)]
    pub(crate) address: Option<String>,

    /// Watch the discipline that `fairlane bpf attach` gave to this device, which has no address (root)
    #[arg(long, value_name = "DEV", conflicts_with = "address")]
    pub(crate) bpf: Option<String>,

    /// The time between two updates
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Print the view as text after one interval, and end
    #[arg(long)]
    pub(crate) once: bool,
}

/// Reads a host and a port, or the path of a socket.
fn place(text: &str) -> Result<String, String> {
    if text.starts_with(['/', '.']) {
        return Ok(text.to_owned());
    }
    let named = || {
        let (host, port) = text.rsplit_once(':')?;
        let is_name = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        (is_name && port.parse::<u16>().is_ok()).then(|| text.to_owned())
    };
    let how = || {
        let port = USUAL.port();
        format!(
            "write a port, a host and a port, such as {USUAL} or router.lan:{port}, or a socket, such as ./link.sock"
        )
    };
    address(text).map(|address| address.to_string()).or_else(|_| named().ok_or_else(how))
}

/// Reads an interval. A router renews its counts each quarter of a second.
fn interval(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_millis(250), Duration::from_millis(60_000));
    let interval = time(text)?;
    if (least..=most).contains(&interval) { Ok(interval) } else { Err(format!("write a time from {least} to {most}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_port_an_address_or_a_name() {
        for (text, expected) in [
            ("9278", "127.0.0.1:9278"),
            (":9278", "127.0.0.1:9278"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("[fe80::1]:80", "[fe80::1]:80"),
            ("router.lan:9277", "router.lan:9277"),
            ("/run/fairlane/1-queue-0.sock", "/run/fairlane/1-queue-0.sock"),
        ] {
            assert_eq!(place(text).as_deref(), Ok(expected));
        }
        for text in ["", "router.lan", "router.lan:", "a/b:80", "http://a:80", ":x", "1.2.3.4:70000"] {
            assert!(place(text).is_err(), "{text}");
        }
    }
}
