//! `aqmrun` on Linux.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use fairlane_linux::{DataPath, FlowsBy, Link, LinkLayer, Marking, QueueConfig, Report, Router, RouterConfig};
use fairlane_qdisc::{Duration, Explanation, Kind, ParameterError, QdiscConfig, QdiscParameters, Reason};

use crate::args::{AqmrunArgs, Variant};

/// The exit code when the input is wrong or the machine cannot do it.
const REFUSED: u8 = 2;

/// The longest time at the end in which queued packets are still sent at the link's rate.
const DRAIN: Duration = Duration::from_millis(2000);

/// The bit of the firewall mark for packets to be marked; no packet is marked here.
const UNUSED: Marking = Marking::ByRule(1 << 30);

/// Returns the discipline that the options name, with all of its parameters.
fn config(options: &AqmrunArgs) -> Result<QdiscConfig, ParameterError> {
    let kind = match options.variant {
        Variant::R => Kind::Choke,
        Variant::F => Kind::FrontChoke,
        Variant::B => Kind::BackChoke,
        Variant::G => Kind::Gchoke,
        Variant::X => Kind::Xchoke,
    };
    let mut config = QdiscParameters::new(kind)
        .with("limit", &*format!("{}p", options.buffer))?
        .with("min", &*format!("{}p", options.min.unwrap_or(options.max / 3)))?
        .with("max", &*format!("{}p", options.max))?
        .with("weight", options.weight)?;
    if options.variant == Variant::G {
        config.set("maxcomp", i64::from(options.maxcomp.unwrap_or(1)).into())?;
    }
    config.resolve(options.rate)
}

/// Reads the options and works until Ctrl-C or SIGTERM.
pub fn main() -> ExitCode {
    let options = AqmrunArgs::parse();
    if options.maxcomp.is_some() && options.variant != Variant::G {
        return refused("-c is for Geometric CHOKe: write g too");
    }
    match run(&options) {
        Ok(report) => match io::stdout().write_all(totals(&report).as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refused(&format!("cannot print: {error}")),
        },
        Err(message) => refused(&message),
    }
}

fn refused(message: &str) -> ExitCode {
    let _ignored = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(REFUSED)
}

/// Runs the router until Ctrl-C or SIGTERM.
fn run(options: &AqmrunArgs) -> Result<Report, String> {
    let discipline = config(options).map_err(|error| error.to_string())?;
    let introduction = resolved(options, discipline.explanation());
    let config = RouterConfig {
        path: DataPath::Queue(QueueConfig {
            queues: options.queue.into(),
            marking: UNUSED,
            repeat: None,
            fail_open: false,
            gso: false,
            mtu: None,
        }),
        link: Link { rate: options.rate, layer: LinkLayer::default() },
        discipline,
        flows: FlowsBy::FiveTuple,
    };
    let router = Router::new(&config).map_err(|error| error.to_string())?;
    let handle = router.handle();
    ctrlc::set_handler(move || handle.stop(DRAIN)).map_err(|error| format!("cannot listen for Ctrl-C: {error}"))?;
    let _ignored = io::stderr().write_all(introduction.as_bytes());
    router.run().map_err(|error| format!("the queue's socket failed: {error}"))
}

/// Returns all parameters in use, a line for each, and the warnings.
fn resolved(options: &AqmrunArgs, explanation: &Explanation) -> String {
    let Explanation { kind, parameters, warnings, .. } = explanation;
    let mut text = format!("{kind} on queue {} at {}\n", options.queue, options.rate);
    let width = parameters.iter().map(|parameter| parameter.key.len()).max().unwrap_or(0);
    for parameter in parameters {
        text += &format!("  {:width$}  {}\n", parameter.key, parameter.value);
    }
    warnings.iter().fold(text, |text, warning| text + &format!("warning: {warning}\n"))
}

/// Returns the counts, a line for each.
fn totals(report: &Report) -> String {
    let counters = &report.counters;
    let mut text = format!("arrived {}\nforwarded {}\n", counters.arrived.packets, counters.departed.packets);
    for reason in Reason::ALL {
        let dropped = counters.dropped(reason).packets;
        if dropped > 0 {
            text += &format!("dropped {reason} {dropped}\n");
        }
    }
    let kernel = report.kernel.unwrap_or_default();
    let mean = report.sojourn.sum_s() / report.sojourn.count().max(1) as f64;
    text += &format!("released {}\n", report.released);
    text += &format!("dropped by the kernel {}\n", kernel.dropped_full + kernel.dropped_unread);
    text + &format!("mean wait {mean:.6} s\n")
}
