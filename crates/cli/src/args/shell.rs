//! The options of `fairlane shell`.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::{Disciplines, GuestChoice, Overrides, PageFile, SeriesFile, TablesFolder, disciplines};

/// Run any program behind a scenario's link
///
/// The command runs in a network namespace whose only way out is the link of the scenario, in both directions: rate,
/// delay, jitter, loss, reordering and queue discipline are those of the simulator. Packets towards the command take
/// the link's forward direction, packets from it the reverse one. Without a command it is a shell.
///
/// This needs Linux with user namespaces, no root, and no other program. The host on which it was started is `gateway`
/// inside; other addresses and names are those of outside. TCP and UDP connections that the command opens are accepted
/// at the far end of the link and made again from outside, so the TCP that meets the link is Linux's at both ends.
/// Ping and traceroute -I reach `gateway` only.
///
/// With `--in guest` the same runs in virtual time, in a guest that has the command, its libraries, and what `--with`
/// names. There the command has the scenario's `duration`, and no standard input.
///
/// At the end it says on standard error what the link did. The exit code is that of the command, or 128 and the number
/// of the signal that ended it; 127 if there is no such command; 2 if the shell could not be started.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input; with one link. The keys
    /// `duration` and `flows` may be left out
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) guest: GuestChoice,

    /// Copy a file or folder into the guest, at the same place; programs bring their libraries, scripts their
    /// interpreters; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) with: Vec<PathBuf>,

    /// Disciplines of both directions, or "all": the command runs once with each, one after the other [default: the
    /// file's]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Run this server where `gateway` leads, as long as the command runs, which starts when the server listens
    #[arg(long, value_name = "COMMAND", value_parser = words, value_hint = ValueHint::CommandString)]
    pub(crate) server: Option<Box<[OsString]>>,

    /// Let a TCP port of this host lead to a port inside, as 8080:80 or 0.0.0.0:8080:80; repeatable [default address:
    /// 127.0.0.1]
    #[arg(long, value_name = "[ADDRESS:]PORT:PORT", value_parser = listen)]
    pub(crate) listen: Vec<(SocketAddr, u16)>,

    /// Let TCP ask for ECN, inside and at the far end
    #[arg(long)]
    pub(crate) ecn: bool,

    /// The congestion control of TCP inside and at the far end, such as cubic [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub(crate) cc: Option<String>,

    /// The MTU of the link in bytes, 1280 to 9000
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = clap::value_parser!(u32).range(1280..=9000))]
    pub(crate) mtu: u32,

    /// Run the scenario's own flows next to the command, from its start on: TCP and UDP as in the lab
    #[arg(long)]
    pub(crate) flows: bool,

    /// Write the outcome as JSON into this file, with each connection by its addresses and ports
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,

    /// Write the packets of both directions into this capture, each at the time at which it leaves the link, marks
    /// included; the first 128 bytes of each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) folder: TablesFolder,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) series: SeriesFile,

    /// Write a data file of flent (.flent.gz), which flent plots: the throughput of TCP and UDP in each direction,
    /// every 200 ms or in the interval of --series
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flent: Option<PathBuf>,

    /// Write the report at the end into this file instead of on standard error, which is the command's too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,

    /// Show the link live to `fairlane top SOCKET`, in both directions and by flow, at a socket of this name, which is
    /// for this user
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub(crate) top: Option<PathBuf>,

    /// Show the seconds and the throughput of both directions while the command runs, in the last line of the terminal:
    /// for commands that print little, as the terminal is the command's too
    #[arg(long)]
    pub(crate) progress: bool,

    /// Say nothing at the end, unless packets were late
    #[arg(long)]
    pub(crate) quiet: bool,

    /// The command and its arguments [default: $SHELL, or /bin/sh]
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Splits a command into words, as a shell does.
fn words(text: &str) -> Result<Box<[OsString]>, String> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words.into_iter().map(OsString::from).collect()),
        Some(_) => Err("there is no command".to_owned()),
        None => Err("a quote is not closed".to_owned()),
    }
}

/// Reads `[ADDRESS:]PORT:PORT`.
fn listen(text: &str) -> Result<(SocketAddr, u16), String> {
    let wrong = || format!("{text:?} is not PORT:PORT or ADDRESS:PORT:PORT, such as 8080:80 or 0.0.0.0:8080:80");
    let (at, inside) = text.rsplit_once(':').ok_or_else(wrong)?;
    let at = match at.rsplit_once(':') {
        None => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), at.parse().map_err(|_| wrong())?),
        Some(_) => at.parse().map_err(|_| wrong())?,
    };
    Ok((at, inside.parse().map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_into_words() {
        let split = |text| words(text).map(|words| words.join("|".as_ref()).into_string().unwrap());
        assert_eq!(split("sh -c 'a  b' c\\ d"), Ok("sh|-c|a  b|c d".to_owned()));
        assert!(split("").is_err() && split("sh 'a").is_err());
    }

    #[test]
    fn a_port_leads_to_a_port() {
        let at = |address: &str| address.parse().unwrap();
        assert_eq!(listen("8080:80"), Ok((at("127.0.0.1:8080"), 80)));
        assert_eq!(listen("0.0.0.0:8080:80"), Ok((at("0.0.0.0:8080"), 80)));
        assert_eq!(listen("[::1]:8080:80"), Ok((at("[::1]:8080"), 80)));
        for wrong in ["", "80", "x:80", "80:x", "80:65536", "::1:80:80", "a:80:80"] {
            assert!(listen(wrong).is_err(), "{wrong}");
        }
    }
}
