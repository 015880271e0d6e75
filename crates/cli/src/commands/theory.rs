//! `fairlane theory`: the models of `fairlane-theory`, as tables, as JSON and as figures.

#[cfg(feature = "html")]
mod figure;

use std::path::Path;

use fairlane_console::Failure;
use fairlane_console::layout::{columns, paragraph};
#[cfg(feature = "html")]
use fairlane_outcome::Extent;
use fairlane_qdisc::Duration;
#[cfg(feature = "html")]
use fairlane_runner::files;
use fairlane_theory::{
    BackChoke, Candidates, Choke, Comparisons, Error, FrontChoke, GChoke, Question, Sfb, candidates_that_protect,
};
use serde_json::Value;

use crate::args::theory::{
    AnswerForm, BackArgs, ChokeMultiArgs, EchoArgs, EchoStabilityArgs, FrontArgs, GchokeArgs, Model, OneFlowArgs,
    SfbArgs, TcpArgs, TheoryArgs,
};
#[cfg(not(feature = "html"))]
use crate::features;
#[cfg(feature = "html")]
use crate::files::Outputs;
use crate::output;

/// Prints the answer of a model.
pub(crate) fn execute(args: &TheoryArgs) -> Result<(), Failure> {
    let model = &args.model;
    let AnswerForm { form, svg } = form(model);
    if let Some(file) = svg {
        draw(&question(model), file)?;
    }
    if form.json {
        return output::print_json(&question(model).answer().map_err(refused)?);
    }
    let answer = match model {
        Model::Front(args) => front(args),
        Model::Back(args) => back(args),
        Model::Sfb(args) => sfb(args),
        Model::Choke(args) => choke(args),
        Model::ChokeMulti(args) => choke_multi(args),
        Model::Gchoke(args) => gchoke(args),
        Model::Echo(args) => echo(args),
        Model::EchoStability(args) => echo_stability(args),
        Model::Tcp(args) => tcp(args),
    };
    output::print(&answer.map_err(refused)?.text(output::width()))
}

/// Draws the figure of a question's answer.
#[cfg(feature = "html")]
fn draw(question: &Question, file: &Path) -> Result<(), Failure> {
    Outputs::default().file("--svg", Some(file)).check(&[])?;
    let drawn = figure::figure(question).map_err(refused)?.to_svg();
    Ok(files::write(file, drawn, Extent::Whole)?)
}

#[cfg(not(feature = "html"))]
fn draw(_question: &Question, _file: &Path) -> Result<(), Failure> {
    Err(features::missing("figures (--svg)", "html"))
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: Error) -> Failure {
    Failure::plain(format!("--{error}"))
}

fn question(model: &Model) -> Question {
    match model {
        Model::Front(args) => Question::Front { mu: args.mu, rates: args.rates.clone() },
        Model::Back(args) => Question::Back { rates: args.rates.clone(), memory: args.memory },
        Model::Sfb(args) => Question::Sfb { levels: args.levels, bins: args.bins, flows: args.flows },
        Model::Choke(args) => Question::Choke { load: args.load, early_drops: args.early_drops },
        Model::ChokeMulti(args) => {
            Question::ChokeMulti { flows: args.flows, candidates: args.candidates, load: args.load }
        }
        Model::Gchoke(args) => Question::Gchoke { maxcomp: args.maxcomp, load: args.load },
        Model::Echo(args) => echo_question(args),
        Model::EchoStability(args) => stability_question(args),
        Model::Tcp(args) => tcp_question(args),
    }
}

fn echo_question(args: &EchoArgs) -> Question {
    let EchoArgs { tcps, loss, floods, load, tags, .. } = *args;
    Question::Echo { tcps, loss, floods, load, tags }
}

fn stability_question(args: &EchoStabilityArgs) -> Question {
    Question::EchoStability {
        rate: args.rate.bits_per_second() as f64 / (8.0 * args.packet.get() as f64),
        rtt: args.rtt.iter().map(|rtt| rtt.as_secs()).collect(),
        tcps: args.tcps.clone(),
        floods: args.floods,
        load: args.load,
        tags: args.tags,
        target: args.target.as_secs(),
    }
}

fn tcp_question(args: &TcpArgs) -> Question {
    Question::Tcp {
        loss: args.loss,
        rtt: args.rtt.as_secs(),
        timeout: args.timeout.map(Duration::as_secs),
        acked: args.acked,
        window: args.window,
    }
}

fn form(model: &Model) -> &AnswerForm {
    match model {
        Model::Front(args) => &args.form,
        Model::Back(args) => &args.form,
        Model::Sfb(args) => &args.form,
        Model::Choke(args) => &args.form,
        Model::ChokeMulti(args) => &args.form,
        Model::Gchoke(args) => &args.form,
        Model::Echo(args) => &args.form,
        Model::EchoStability(args) => &args.form,
        Model::Tcp(args) => &args.form,
    }
}

/// The answer of a model, for people.
struct Answer {
    title: String,
    /// The flows one by one, under their titles.
    flows: Vec<[String; 5]>,
    /// Numbers with their meanings.
    facts: Vec<[String; 2]>,
}

impl Answer {
    fn text(&self, width: usize) -> String {
        let mut text = paragraph(&self.title, "", "  ", width);
        for table in [columns(&self.flows, width), columns(&self.facts, width)] {
            if !table.is_empty() {
                text += "\n";
                text += &table;
            }
        }
        text
    }
}

fn front(args: &FrontArgs) -> Result<Answer, Error> {
    let model = FrontChoke::new(args.mu, &args.rates)?;
    let titles = ["flow", "rate", "at the head", "goodput", "loss"];
    let rows = model
        .flows()
        .iter()
        .map(|flow| [flow.rate.to_string(), digits(flow.head), digits(flow.goodput), digits(flow.loss)]);
    Ok(Answer {
        title: format!("Front CHOKe with Poisson arrivals, served at a rate of {}", args.mu),
        flows: numbered(titles, rows),
        facts: vec![[digits(model.empty()), "of the time the queue is empty".to_owned()]],
    })
}

fn back(args: &BackArgs) -> Result<Answer, Error> {
    let model = BackChoke::new(&args.rates, args.memory)?;
    let titles = ["flow", "rate", "admitted", "share", "loss"];
    let rows = model
        .flows()
        .iter()
        .map(|flow| [flow.rate.to_string(), digits(flow.admitted), digits(flow.share), digits(flow.loss)]);
    let stable = "is admitted in all: the queue is stable with a server of a higher rate".to_owned();
    Ok(Answer {
        title: format!("Back CHOKe with a memory of {} and Poisson arrivals", flows_of(args.memory as u64)),
        flows: numbered(titles, rows),
        facts: vec![[digits(model.admitted()), stable]],
    })
}

fn sfb(args: &SfbArgs) -> Result<Answer, Error> {
    let model = Sfb::new(args.levels, args.bins, args.flows)?;
    let best = Sfb::best(args.levels.saturating_mul(args.bins), args.flows)?;
    let facts = vec![
        [percent(model.misclassified()), "of the responsive flows are classified as unresponsive".to_owned()],
        [percent(model.polluted()), format!("of the bins are polluted: {:.2} of a level", model.polluted_bins())],
        [
            percent(best.misclassified()),
            format!("would be with the best division of these bins, {} x {}", best.levels(), best.bins()),
        ],
    ];
    let title = format!(
        "SFB of {} x {} bins with {} that do not respond",
        args.levels,
        args.bins,
        flows_of(u64::from(args.flows))
    );
    Ok(Answer { title, flows: Vec::new(), facts })
}

fn choke(args: &OneFlowArgs) -> Result<Answer, Error> {
    let model = Choke::at_load(args.load, args.early_drops)?;
    let profile = model.profile();
    let peak = Choke::peak();
    let mut facts = one_flow(model.share(), model.buffer_share(), model.loss());
    for (position, words) in
        [(0.0, "of the packets at the queue's tail are the flow's"), (1.0, "of the packets at its head are the flow's")]
    {
        facts.push([percent(profile.density(position)?), words.to_owned()]);
    }
    facts.push(largest(peak.share(), peak.load()));
    let title = format!("CHOKe with an unresponsive flow of {} times the link's rate among many TCP flows", args.load);
    Ok(Answer { title, flows: Vec::new(), facts })
}

fn choke_multi(args: &ChokeMultiArgs) -> Result<Answer, Error> {
    let model = Candidates::at_load(args.flows, args.candidates, args.load)?;
    let protect = candidates_that_protect(args.flows)?;
    let starvation = model.starvation_load();
    let starves = match starvation {
        Some(load) => [digits(load), "the load of each from which on nothing is left for TCP".to_owned()],
        None => ["no load".to_owned(), "leaves nothing for TCP with so many candidates".to_owned()],
    };
    let facts = vec![
        [percent(model.tcp_share()), "of the link is left for TCP".to_owned()],
        [percent(model.share()), "of the link is each flow's".to_owned()],
        [percent(model.buffer_share()), "of the queue is each flow's".to_owned()],
        [percent(model.loss()), "of their packets are dropped".to_owned()],
        starves,
        [protect.to_string(), "candidates protect TCP from so many flows at any load".to_owned()],
    ];
    let title = format!(
        "CHOKe that draws {}, with unresponsive flows, {} of {} times the link's rate each, among many TCP flows",
        if args.candidates == 1 { "1 candidate".to_owned() } else { format!("{} candidates", args.candidates) },
        args.flows,
        args.load
    );
    Ok(Answer { title, flows: Vec::new(), facts })
}

fn gchoke(args: &GchokeArgs) -> Result<Answer, Error> {
    let model = GChoke::at_load(args.maxcomp, args.load)?;
    let (peak, bound) = (GChoke::peak(args.maxcomp), GChoke::buffer_bound(args.maxcomp));
    let words = match args.maxcomp {
        Comparisons::AtMost(most) => most.to_string(),
        Comparisons::Unlimited => "infinite".to_owned(),
    };
    let mut facts = one_flow(model.share(), model.buffer_share(), model.loss());
    facts.push(largest(peak.share(), peak.load()));
    facts.push([percent(bound), "of the queue is the most that any load gives it".to_owned()]);
    let title = format!(
        "gCHOKe with maxcomp {words} and an unresponsive flow of {} times the link's rate among many TCP flows",
        args.load
    );
    Ok(Answer { title, flows: Vec::new(), facts })
}

fn echo(args: &EchoArgs) -> Result<Answer, Error> {
    let answer = echo_question(args).answer()?;
    let number = |key: &str| answer.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let tags = args.tags.map_or_else(|| "any number of tags".to_owned(), |tags| format!("{tags} tags"));
    let facts = vec![
        [percent(number("tcp_share")), "of the link is left for TCP".to_owned()],
        [percent(number("share")), "of the link is each unresponsive flow's".to_owned()],
        [digits(number("of_fair_share")), "of its max-min fair share is that".to_owned()],
        [percent(number("loss")), "of its packets are dropped".to_owned()],
    ];
    let title = format!(
        "ECHO with {tags}, and unresponsive flows, {} of {} times the link's rate each, among {} of TCP at a loss of {}",
        args.floods,
        args.load,
        flows_of(u64::from(args.tcps)),
        percent(args.loss)
    );
    Ok(Answer { title, flows: Vec::new(), facts })
}

fn echo_stability(args: &EchoStabilityArgs) -> Result<Answer, Error> {
    let answer = stability_question(args).answer()?;
    let points = answer["points"].as_array().map_or(&[][..], Vec::as_slice);
    let number = |point: &Value, key: &str, unit: &str| match point[key].as_f64() {
        Some(value) => format!("{value:.1}{unit}"),
        None => "-".to_owned(),
    };
    let mut flows = vec![["round trip", "TCPs", "window", "phase margin", "gain margin"].map(str::to_owned)];
    for point in points.iter().filter(|point| !point["window"].is_null()) {
        let round_trip = Duration::from_secs(point["rtt"].as_f64().unwrap_or(0.0));
        flows.push([
            round_trip.to_string(),
            point["tcps"].to_string(),
            number(point, "window", ""),
            number(point, "phase_margin_degrees", "°"),
            number(point, "gain_margin_db", " dB"),
        ]);
    }
    let unstable = points.iter().filter(|point| point["stable"] == false).count();
    let facts = vec![
        [unstable.to_string(), "of these loops are unstable".to_owned()],
        [
            (points.len() + 1 - flows.len()).to_string(),
            "have windows below two packets, where the model does not hold".to_owned(),
        ],
    ];
    let tags = args.tags.map_or_else(|| "any number of tags".to_owned(), |tags| format!("{tags} tags"));
    let title = format!("The loop of ECHO with {tags} at {}, against {}", args.rate, floods_of(args.floods, args.load));
    Ok(Answer { title, flows, facts })
}

fn floods_of(floods: u32, load: f64) -> String {
    match floods {
        0 => "no unresponsive flow".to_owned(),
        1 => format!("an unresponsive flow of {load} times the link's rate"),
        _ => format!("{floods} unresponsive flows of {load} times the link's rate each"),
    }
}

fn tcp(args: &TcpArgs) -> Result<Answer, Error> {
    let answer = tcp_question(args).answer()?;
    let number = |key: &str| answer.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let row = |key, words: &str| {
        let rate = number(key);
        let mbits = 8e-6 * rate * args.packet.get() as f64;
        [format!("{rate:.2}"), format!("packets/s, {mbits:.3} Mbit/s: {words}")]
    };
    let facts = vec![
        row("full", "full model (Padhye and others 1998, section 2.3)"),
        row("approximate", "approximate model (Padhye and others 1998, equation 30)"),
        row("square_root", "square root law, without timeouts (Mathis and others 1997)"),
        row("tfrc", "TFRC's equation (RFC 5348)"),
        [format!("{:.2}", number("full_window")), "packets in a round trip, by the full model".to_owned()],
    ];
    let (loss, rtt) = (percent(args.loss), args.rtt);
    let title = format!("Reno at a loss of {loss}, with a round trip of {rtt} and packets of {}", args.packet);
    Ok(Answer { title, flows: Vec::new(), facts })
}

/// Returns the facts that every model of one unresponsive flow gives.
fn one_flow(share: f64, buffer: f64, loss: f64) -> Vec<[String; 2]> {
    vec![
        [percent(share), "of the link is the flow's".to_owned()],
        [percent(1.0 - share), "of the link is left for TCP".to_owned()],
        [percent(buffer), "of the queue is the flow's".to_owned()],
        [percent(loss), "of its packets are dropped".to_owned()],
    ]
}

fn largest(share: f64, load: f64) -> [String; 2] {
    [percent(share), format!("of the link is the most that any load gives it, at a load of {load:.3}")]
}

/// Returns the flows under their titles, each with its number.
fn numbered(titles: [&str; 5], rows: impl Iterator<Item = [String; 4]>) -> Vec<[String; 5]> {
    let row = |(index, [a, b, c, d]): (usize, [String; 4])| [(index + 1).to_string(), a, b, c, d];
    std::iter::once(titles.map(str::to_owned)).chain(rows.enumerate().map(row)).collect()
}

fn flows_of(number: u64) -> String {
    if number == 1 { "1 flow".to_owned() } else { format!("{number} flows") }
}

/// Formats a number with as many digits as the papers' tables.
fn digits(value: f64) -> String {
    format!("{value:.4}")
}

fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}
