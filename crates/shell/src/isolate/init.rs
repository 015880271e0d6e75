//! The first process of the command's namespaces: it sets them up, starts the command, and ends with it.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio, exit};

use fairlane_linux::rtnetlink::{Route, RouteSocket};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getegid, setpgid};

use super::files::{arrange, mount_processes};
use super::{INTERFACE, Interior, Message, Network};
use crate::address::PREFIXES;
use crate::sys::die_with_parent;

/// The signals that are for the command if they come to this process.
const FOR_COMMAND: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

/// Runs until the command has ended.
pub(super) fn run(mut channel: UnixStream, interior: &Interior) -> ! {
    let code = match work(&mut channel, interior) {
        Ok(code) => code,
        Err(message) => {
            // Without a parent there is nobody to tell.
            let _ = message.write(&mut channel);
            1
        }
    };
    exit(code.into())
}

fn work(channel: &mut UnixStream, interior: &Interior) -> Result<u8, Message> {
    let failed = |step: &'static str| move |error: io::Error| Message::Failed(format!("{step}: {error}"));
    die_with_parent().map_err(io::Error::from).map_err(failed("a signal of the parent's end"))?;
    if interior.network.is_none() {
        // A server is no part of the terminal's job: Ctrl-C is for the command.
        setpgid(Pid::from_raw(0), Pid::from_raw(0)).map_err(io::Error::from).map_err(failed("a process group"))?;
    }
    // If the parent has ended already, or gives up, the channel is closed.
    channel.read_exact(&mut [0]).map_err(|_| Message::Failed("the parent has ended".to_owned()))?;
    mount_processes().map_err(failed("the processes inside"))?;
    if let Some(network) = &interior.network {
        set_up(network).map_err(failed("the network inside"))?;
        arrange(network.addresses).map_err(failed("the files inside"))?;
    }
    Message::Ready.write(channel).map_err(failed("a message"))?;
    channel.read_exact(&mut [0]).map_err(|_| Message::Failed("the parent has ended".to_owned()))?;
    let child = start(interior)?;
    // The command inherits the mask, so that signals are blocked after its start. The parent sends none before.
    let signals: SigSet = FOR_COMMAND.into_iter().chain([Signal::SIGCHLD]).collect();
    signals.thread_block().map_err(io::Error::from).map_err(failed("signals"))?;
    Message::Started.write(channel).map_err(failed("a message"))?;
    let code = wait(child, &signals).map_err(failed("waiting for the command"))?;
    Message::Ended(code).write(channel).map_err(failed("a message"))?;
    Ok(code)
}

/// Sets up the interfaces, the routes and the kernel's parameters.
fn set_up(network: &Network) -> io::Result<()> {
    let route = RouteSocket::open()?;
    route.set_up("lo", true)?;
    for (name, value) in [
        // Everyone may send echo requests and serve any port, as there are no set-user-ID programs inside.
        ("net/ipv4/ping_group_range".to_owned(), format!("{0} {0}", getegid())),
        ("net/ipv4/ip_unprivileged_port_start".to_owned(), "0".to_owned()),
        (format!("net/ipv6/conf/{INTERFACE}/addr_gen_mode"), "1".to_owned()),
        (format!("net/ipv6/conf/{INTERFACE}/router_solicitations"), "0".to_owned()),
        (format!("net/ipv6/conf/{INTERFACE}/disable_ipv6"), "0".to_owned()),
    ] {
        // A kernel without IPv6 has no such parameter, and where /proc/sys is read-only its values stay.
        let _ = fs::write(format!("/proc/sys/{name}"), value);
    }
    network.tcp.apply()?;
    route.set_up(INTERFACE, false)?;
    let ([inside4, inside6], [gateway4, gateway6]) = (network.addresses.inside(), network.addresses.gateway());
    let default = |to: IpAddr, via| Route { to: (to, 0), via: Some(via), interface: INTERFACE, local: false };
    route.add_address(INTERFACE, inside4, PREFIXES[0])?;
    route.add_route(&default(Ipv4Addr::UNSPECIFIED.into(), gateway4))?;
    // Without IPv6 in the kernel there is none inside.
    if route.add_address(INTERFACE, inside6, PREFIXES[1]).is_ok() && network.has_ipv6 {
        route.add_route(&default(Ipv6Addr::UNSPECIFIED.into(), gateway6))?;
    }
    Ok(())
}

/// Starts the command, with all signals as they are by default.
fn start(interior: &Interior) -> Result<Pid, Message> {
    let [program, arguments @ ..] = &interior.command[..] else {
        return Err(Message::NoCommand("no command".to_owned(), 127));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if interior.network.is_none() {
        // Standard input and output are those of the command behind the link.
        command.stdin(Stdio::null()).stdout(io::stderr());
    }
    let child = command.spawn().map_err(|error| {
        let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
        Message::NoCommand(error.to_string(), code)
    })?;
    Ok(Pid::from_raw(child.id() as i32))
}

/// Waits for the command, buries all processes that end before it, and passes signals on.
fn wait(command: Pid, signals: &SigSet) -> io::Result<u8> {
    loop {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == command => return Ok(code as u8),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => return Ok(128 + signal as u8),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match signals.wait()? {
            Signal::SIGCHLD => {}
            // The command may have ended just now.
            signal => drop(kill(command, signal)),
        }
    }
}
