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
mod linux {
    use std::io::{self, Write};
    use std::process::ExitCode;

    use clap::{Parser, ValueEnum, value_parser};
    use fairlane_linux::{DataPath, FlowsBy, Link, LinkLayer, Marking, QueueConfig, Report, Router, RouterConfig};
    use fairlane_qdisc::{Duration, Kind, ParameterError, QdiscConfig, Rate, Reason, UnitError};

    /// The input or the machine will not do.
    const REFUSED: u8 = 2;

    /// How long what waits may take to leave at the end.
    const DRAIN: Duration = Duration::from_millis(2000);

    /// Nothing is marked, so no rule has to know this bit.
    const UNUSED: Marking = Marking::ByRule(1 << 30);

    /// CHOKe and its variants on packets of an NFQUEUE: the program of the paper (Linux, root)
    ///
    /// First send packets to the queue, as the paper does: iptables -I FORWARD 1 -j NFQUEUE --queue-num 0 --queue-bypass. Then for
    /// example: aqmrun -m 5 -M 15 -b 2000 f. Ctrl-C ends it and prints what has happened. `fairlane router` does the same with any
    /// discipline, and with rules of its own.
    #[derive(Debug, Parser)]
    #[command(name = "aqmrun", version, max_term_width = 100)]
    struct Options {
        /// min_th: average below which nothing is compared or dropped, in packets [default: a third of -M]
        #[arg(short = 'm', value_name = "MIN")]
        min: Option<u32>,

        /// max_th: average from which everything is dropped, in packets; 15 is the paper's
        #[arg(short = 'M', value_name = "MAX", default_value = "15")]
        max: u32,

        /// Netfilter queue number
        #[arg(short = 'Q', value_name = "NUM", default_value = "0")]
        queue: u16,

        /// Weight of a sample in the average
        #[arg(short = 'w', value_name = "WEIGHT", default_value = "0.002")]
        weight: f64,

        /// Buffer size in packets
        #[arg(short = 'b', value_name = "SIZE", default_value = "2000", value_parser = value_parser!(u32).range(1..))]
        buffer: u32,

        /// Geometric CHOKe's maxcomp: candidates that may match one arrival [default: 1]
        #[arg(short = 'c', value_name = "MAXCOMP")]
        maxcomp: Option<u32>,

        /// Rate of the link behind the queue; 11mbit is that of the paper's access point
        #[arg(long, value_name = "RATE", default_value = "11mbit", value_parser = rate)]
        rate: Rate,

        /// Variant
        #[arg(value_name = "VARIANT", default_value = "r", hide_default_value = true)]
        variant: Variant,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    enum Variant {
        /// Standard CHOKe, the default
        R,
        /// Front CHOKe
        F,
        /// Back CHOKe
        B,
        /// Geometric CHOKe
        G,
        /// xCHOKe
        X,
    }

    fn rate(text: &str) -> Result<Rate, String> {
        let rate: Rate = text.parse().map_err(|error: UnitError| error.to_string())?;
        if rate.bits_per_second() == 0 { Err("a link needs a rate above zero".to_owned()) } else { Ok(rate) }
    }

    impl Options {
        fn config(&self) -> Result<QdiscConfig, ParameterError> {
            let kind = match self.variant {
                Variant::R => Kind::Choke,
                Variant::F => Kind::FrontChoke,
                Variant::B => Kind::BackChoke,
                Variant::G => Kind::Gchoke,
                Variant::X => Kind::Xchoke,
            };
            let mut config = QdiscConfig::new(kind)
                .with("limit", &*format!("{}p", self.buffer))?
                .with("min", &*format!("{}p", self.min.unwrap_or(self.max / 3)))?
                .with("max", &*format!("{}p", self.max))?
                .with("weight", self.weight)?;
            if self.variant == Variant::G {
                config.set("maxcomp", i64::from(self.maxcomp.unwrap_or(1)).into())?;
            }
            // What contradicts itself is found before the queue is bound.
            config.explain(self.rate).map(|_| config)
        }
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
        let config = RouterConfig {
            path: DataPath::Queue(QueueConfig {
                queues: options.queue.into(),
                marking: UNUSED,
                fail_open: false,
                gso: None,
            }),
            link: Link { rate: options.rate, layer: LinkLayer::default() },
            discipline: options.config().map_err(|error| error.to_string())?,
            flows: FlowsBy::FiveTuple,
        };
        let router = Router::new(&config).map_err(|error| error.to_string())?;
        let remote = router.remote();
        ctrlc::set_handler(move || remote.stop(DRAIN)).map_err(|error| format!("cannot listen for Ctrl-C: {error}"))?;
        let _nobody_there =
            writeln!(io::stderr(), "{} on queue {} at {}", config.discipline.kind(), options.queue, options.rate);
        router.run().map_err(|error| format!("the queue's socket failed: {error}"))
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
