//! `fairlane bpf`: disciplines in the kernel.

use fairlane_bpf::{Count, Instance, Program};
use fairlane_console::explain::config;
use fairlane_console::layout::columns;
use fairlane_console::{Failure, output};
use fairlane_qdisc::Rate;

use crate::args::bpf::{BpfArgs, BpfAttachArgs, BpfVerb};

pub(crate) fn execute(args: BpfArgs) -> Result<(), Failure> {
    match args.verb {
        BpfVerb::Attach(args) => attach(&args),
        BpfVerb::Detach { device } => fairlane_bpf::detach(&device).map_err(Failure::plain),
        BpfVerb::Metrics { device } => metrics(&device),
        BpfVerb::Status(form) => {
            let instances = fairlane_bpf::status().map_err(Failure::plain)?;
            if form.json { output::print_json(&instances) } else { output::print(&text(&instances, output::width())) }
        }
    }
}

#[cfg(feature = "router")]
fn metrics(device: &str) -> Result<(), Failure> {
    output::print(&fairlane_daemon::router::attached_metrics(device)?)
}

#[cfg(not(feature = "router"))]
fn metrics(_device: &str) -> Result<(), Failure> {
    Err(crate::features::missing("metrics", "router"))
}

fn attach(args: &BpfAttachArgs) -> Result<(), Failure> {
    let rate = args.rate.unwrap_or(Rate::from_bits_per_second(0));
    let config = config(args.kind, &args.parameters)
        .and_then(|parameters| parameters.resolve(rate))
        .map_err(|error| Failure::plain(format!("{} {error}", args.kind)))?;
    for warning in &config.explanation().warnings {
        output::tell(&format!("warning: {warning}"));
    }
    let program = Program::new(&config, rate).map_err(Failure::plain)?;
    let program = if args.arriving { program.for_arriving() } else { program };
    let attached = fairlane_bpf::attach(&args.device, &program).map_err(Failure::plain)?;
    let whose = if args.arriving { " for arriving packets" } else { "" };
    output::print(&format!("{} has {}{whose}\n", args.device, attached.kind()))
}

fn text(instances: &[Instance], width: usize) -> String {
    if instances.is_empty() {
        return "no discipline is attached: fairlane bpf attach\n".to_owned();
    }
    let blocks = instances.iter().map(|Instance { device, arriving, kind, state }| {
        let device = match device {
            Some(device) => device,
            None if state.in_use => "a device of another network namespace",
            None => "no device any more (the next attach or detach removes it)",
        };
        let row = |name: &str, count: Count| {
            [name.to_owned(), format!("{} packets", count.packets), format!("{} bytes", count.bytes)]
        };
        let mut rows = vec![row("arrived", state.arrived), row("departed", state.departed)];
        rows.extend(state.dropped.iter().map(|drops| row(&format!("dropped {}", drops.reason), drops.count)));
        let marks = state.marked.iter().filter(|marks| marks.count.packets > 0);
        rows.extend(marks.map(|marks| row(&format!("marked {}", marks.reason), marks.count)));
        rows.extend([row("flushed", state.flushed), row("queued", state.queued)]);
        rows.push(["average".to_owned(), format!("{:.2}", state.average), String::new()]);
        let whose = if *arriving { ", arriving packets" } else { "" };
        format!("{device}{whose}: {kind}\n{}", columns(&rows, width))
    });
    blocks.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_says_what_to_do() {
        assert!(text(&[], 80).contains("attach"));
    }
}
