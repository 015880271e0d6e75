//! `aqmrun`: the program of a paper on variants of CHOKe, with its options, on the same router as `fairlane router`.
//!
//! **Source.** A study of CHOKe's variants in OMNeT++ and on a Linux router: CHOKe, Front, Back, Geometric CHOKe and xCHOKe, the router before
//! an access point of 11 Mbit/s. Its text lists the options without `x`, and no rate, since the access point was the bottleneck.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("error: aqmrun works on the packet queues of Linux, and this is another system");
    std::process::ExitCode::from(2)
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
#[path = "../args/aqmrun.rs"]
mod options;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, Write};
    use std::process::ExitCode;

    use clap::Parser;
    use fairlane_linux::{DataPath, FlowsBy, Link, LinkLayer, Marking, QueueConfig, Report, Router, RouterConfig};
    use fairlane_qdisc::{Duration, Explanation, Kind, ParameterError, QdiscConfig, Reason};

    use crate::options::{Options, Variant};

    /// The input or the machine will not do.
    const REFUSED: u8 = 2;

    /// How long what waits may take to leave at the end.
    const DRAIN: Duration = Duration::from_millis(2000);

    /// Nothing is marked, so no rule has to know this bit.
    const UNUSED: Marking = Marking::ByRule(1 << 30);

    /// The discipline that is asked for, and every parameter of it.
    fn config(options: &Options) -> Result<(QdiscConfig, Explanation), ParameterError> {
        let kind = match options.variant {
            Variant::R => Kind::Choke,
            Variant::F => Kind::FrontChoke,
            Variant::B => Kind::BackChoke,
            Variant::G => Kind::Gchoke,
            Variant::X => Kind::Xchoke,
        };
        let mut config = QdiscConfig::new(kind)
            .with("limit", &*format!("{}p", options.buffer))?
            .with("min", &*format!("{}p", options.min.unwrap_or(options.max / 3)))?
            .with("max", &*format!("{}p", options.max))?
            .with("weight", options.weight)?;
        if options.variant == Variant::G {
            config.set("maxcomp", i64::from(options.maxcomp.unwrap_or(1)).into())?;
        }
        // What contradicts itself is found before the queue is bound.
        let explanation = config.explain(options.rate)?;
        Ok((config, explanation))
    }

    pub(super) fn main() -> ExitCode {
        let options = Options::parse();
        if options.maxcomp.is_some() && options.variant != Variant::G {
            return refused("-c is for Geometric CHOKe: write g too");
        }
        match run(&options) {
            Ok(report) => match io::stdout().write_all(told(&report).as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => refused(&format!("cannot print: {error}")),
            },
            Err(message) => refused(&message),
        }
    }

    fn refused(message: &str) -> ExitCode {
        let _nobody_there = writeln!(io::stderr(), "error: {message}");
        ExitCode::from(REFUSED)
    }

    /// Works until Ctrl-C or SIGTERM.
    fn run(options: &Options) -> Result<Report, String> {
        let (discipline, explanation) = config(options).map_err(|error| error.to_string())?;
        let config = RouterConfig {
            path: DataPath::Queue(QueueConfig {
                queues: options.queue.into(),
                marking: UNUSED,
                fail_open: false,
                gso: None,
            }),
            link: Link { rate: options.rate, layer: LinkLayer::default() },
            discipline,
            flows: FlowsBy::FiveTuple,
        };
        let router = Router::new(&config).map_err(|error| error.to_string())?;
        let remote = router.remote();
        ctrlc::set_handler(move || remote.stop(DRAIN)).map_err(|error| format!("cannot listen for Ctrl-C: {error}"))?;
        let _nobody_there = io::stderr().write_all(resolved(options, &explanation).as_bytes());
        router.run().map_err(|error| format!("the queue's socket failed: {error}"))
    }

    /// What it works with, a line each: what was asked for, and what was not.
    fn resolved(options: &Options, explanation: &Explanation) -> String {
        let Explanation { kind, parameters, warnings, .. } = explanation;
        let mut text = format!("{kind} on queue {} at {}\n", options.queue, options.rate);
        let width = parameters.iter().map(|parameter| parameter.key.len()).max().unwrap_or(0);
        for parameter in parameters {
            text += &format!("  {:width$}  {}\n", parameter.key, parameter.value);
        }
        warnings.iter().fold(text, |text, warning| text + &format!("warning: {warning}\n"))
    }

    /// What has happened, a line each.
    fn told(report: &Report) -> String {
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
}
