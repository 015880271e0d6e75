//! The view of a router: rows of text, each with a bar or a sparkline, and the flows below them.

use fairlane_qdisc::{Rate, Size};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{RenderDirection, Row, Sparkline, Table, Widget};

use super::change::{ByReason, Change, FlowChange, Pace};
use super::history::{History, Series};
use super::units::{bits, bytes, pace, percent, span, time};
use crate::state::{AutorateState, Count, State};

/// The columns of a row's name.
const NAME: u16 = 10;
/// The columns of a row's text, if there is a drawing to its right.
const WORDS: u16 = 46;
/// The minimum width for drawings next to the text.
const WIDE: u16 = 72;
/// The most reasons shown, of drops and of marks.
const REASONS: usize = 4;
/// The number of flows for which reasons and empty lines are left out.
const FEW: usize = 3;
/// The minimum lines for flows: the heading and one flow. The rows of [`GIVE_WAY`] are left out for them.
const FLOWS: usize = 2;
/// The rows that are left out first where there are few lines.
const GIVE_WAY: [&str; 5] = ["marked", "target", "average", "link", "kernel"];

/// The order of the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// By matches, then by losses.
    #[default]
    Matched,
    /// By losses.
    Lost,
    /// By their share of the link.
    Share,
}

impl Sort {
    /// Returns the next order.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Matched => Self::Lost,
            Self::Lost => Self::Share,
            Self::Share => Self::Matched,
        }
    }

    /// Returns the help on the keys.
    pub(super) fn keys(self) -> String {
        format!("q quit   s sorted by {}", self.name())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Lost => "lost",
            Self::Share => "link",
        }
    }

    fn key(self, flow: &FlowChange) -> [f64; 3] {
        match self {
            Self::Matched => [flow.matched, flow.lost, flow.lost_in_all as f64],
            Self::Lost => [flow.lost, flow.matched, flow.lost_in_all as f64],
            Self::Share => [flow.share, flow.lost, flow.lost_in_all as f64],
        }
    }
}

/// The data of the view.
pub(super) struct View<'a> {
    pub(super) state: &'a State,
    /// `None` before the second sample.
    pub(super) change: Option<&'a Change>,
    pub(super) history: &'a History,
    pub(super) sort: Sort,
    /// The reason why the router does not answer.
    pub(super) silent: Option<&'a str>,
    pub(super) colour: bool,
}

/// The drawing to the right of a row's text.
enum Beside {
    Nothing,
    /// A bar filled to a fraction, with ticks.
    Bar {
        filled: f64,
        ticks: Vec<f64>,
        colour: Color,
    },
    /// The past values.
    Past(Series, Color),
}

/// A row.
struct Part<'a> {
    name: &'static str,
    words: Line<'a>,
    beside: Beside,
}

impl Widget for &View<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut rest = area;
        self.heading(area.width).render(take_line(&mut rest), buffer);
        fit(self.second_line(), area.width).render(take_line(&mut rest), buffer);
        let tall = area.height >= self.height(FEW);
        if tall {
            take_line(&mut rest);
        }
        let parts = if tall { self.parts(REASONS) } else { self.few_parts(usize::from(rest.height)) };
        for part in parts {
            self.part(part, take_line(&mut rest), buffer);
        }
        if tall {
            take_line(&mut rest);
        }
        self.flows(rest, buffer);
    }
}

/// Takes the first line of `area`.
fn take_line(area: &mut Rect) -> Rect {
    let line = Rect { height: area.height.min(1), ..*area };
    area.y += line.height;
    area.height -= line.height;
    line
}

impl View<'_> {
    /// Returns the number of lines of the whole view with `flows` flows.
    pub(super) fn height(&self, flows: usize) -> u16 {
        let flows = self.state.top_flows.len().clamp(1, flows);
        u16::try_from(3 + self.parts(REASONS).len() + 2 + flows).unwrap_or(u16::MAX)
    }

    fn style(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// The discipline and its queue, and on the right its uptime.
    fn heading(&self, width: u16) -> Line<'_> {
        let State { discipline, direction, path, interfaces, uptime_s, .. } = self.state;
        let interfaces = if interfaces.is_empty() { String::new() } else { format!(" on {}", interfaces.join(", ")) };
        let direction = direction.as_ref().map_or(String::new(), |direction| format!("{direction}: "));
        let left = format!("{direction}{}, {path}{interfaces}", discipline.kind);
        let right = format!("up {}", span(*uptime_s));
        let width = usize::from(width);
        let left = cut(&left, width.saturating_sub(right.chars().count() + 2));
        let gap = width.saturating_sub(left.chars().count() + right.chars().count()).max(2);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Line::from(vec![Span::styled(left, bold), Span::raw(" ".repeat(gap)), Span::raw(right)])
    }

    /// The link, or the reason why there are no new counts.
    fn second_line(&self) -> Line<'_> {
        match self.silent {
            Some(why) => Line::styled(why, self.style(Color::Red).add_modifier(Modifier::REVERSED)),
            None => {
                let link = &self.state.link;
                let rate = Rate::from_bits_per_second(link.rate_bps);
                let adjusted = self.state.autorate.as_ref().map_or_else(String::new, adjusted);
                Line::raw(format!("{rate}{adjusted}, {}", link.layer))
            }
        }
    }

    /// The rows, with at most this many reasons for drops and for marks.
    fn parts(&self, reasons: usize) -> Vec<Part<'_>> {
        let mut parts = vec![
            self.link(),
            self.stream("arrived", self.change.map(|change| change.arrived), Series::Arrived),
            self.stream("departed", self.change.map(|change| change.departed), Series::Departed),
        ];
        let now = self.change.map(|change| (change.dropped, &*change.drops));
        parts.extend(self.losses("dropped", now, Beside::Past(Series::Dropped, Color::Red), reasons));
        if self.state.marked.values().any(|count| count.packets > 0) {
            let now = self.change.map(|change| (change.marked, &*change.marks));
            parts.extend(self.losses("marked", now, Beside::Past(Series::Marked, Color::Yellow), reasons));
        }
        parts.push(self.backlog());
        parts.extend(self.average());
        parts.push(self.sojourn());
        parts.extend(self.target());
        parts.push(self.kernel());
        parts
    }

    /// The rows without reasons, and without those that are left out for flows on this many lines.
    fn few_parts(&self, lines: usize) -> Vec<Part<'_>> {
        let mut parts = self.parts(0);
        let lost = self.state.lost_elsewhere() != Some(0);
        for name in GIVE_WAY {
            if parts.len() + FLOWS > lines && !(lost && name == "kernel") {
                parts.retain(|part| part.name != name);
            }
        }
        parts
    }

    fn link(&self) -> Part<'_> {
        let used = self.change.map(|change| change.departed.bits / self.state.link.rate_bps.max(1) as f64);
        let words = used.map_or_else(dash, |used| format!("{} used", percent(used)));
        let beside = Beside::Bar { filled: used.unwrap_or(0.0), ticks: Vec::new(), colour: Color::Green };
        Part { name: "link", words: words.into(), beside }
    }

    fn stream(&self, name: &'static str, now: Option<Pace>, past: Series) -> Part<'_> {
        let words = now.map_or_else(dash, |now| format!("{:>11} {:>7} packets/s", bits(now.bits), pace(now.packets)));
        Part { name, words: words.into(), beside: Beside::Past(past, Color::Cyan) }
    }

    /// Drops or marks, and the reasons below them.
    fn losses(
        &self,
        name: &'static str,
        now: Option<(Pace, &[ByReason])>,
        past: Beside,
        reasons: usize,
    ) -> Vec<Part<'_>> {
        let arrived = self.change.map_or(0.0, |change| change.arrived.packets);
        let Some((all, by_reason)) = now else {
            return vec![Part { name, words: dash().into(), beside: Beside::Nothing }];
        };
        let part = if arrived > 0.0 { all.packets / arrived } else { 0.0 };
        let words = format!("{:>11} {:>7} packets/s", percent(part), pace(all.packets));
        let mut parts = vec![Part { name, words: words.into(), beside: past }];
        for ByReason { reason, packets, since_start } in by_reason.iter().take(reasons) {
            let words = format!("{reason:>13} {:>5}/s, {since_start} in all", pace(*packets));
            parts.push(Part { name: "", words: words.into(), beside: Beside::Nothing });
        }
        parts
    }

    fn backlog(&self) -> Part<'_> {
        let Count { packets, bytes: size } = self.state.backlog;
        let mut words = format!("{packets} packets, {}", bytes(size as f64));
        let mut beside = Beside::Nothing;
        if let Some(limit) = self.threshold("limit") {
            words += &format!(", limit {limit}");
            let now = match limit {
                Size::Packets(_) => packets,
                Size::Bytes(_) => size,
            };
            beside = Beside::Bar { filled: now as f64 / number(limit), ticks: Vec::new(), colour: Color::Blue };
        }
        Part { name: "backlog", words: words.into(), beside }
    }

    /// The ticks on the scale of the backlog, if both have the same unit.
    fn average(&self) -> Option<Part<'_>> {
        let average = self.state.average?;
        let [min, max, limit] = ["min", "max", "limit"].map(|key| self.threshold(key));
        let mut words = format!("{average:.1}");
        for (name, threshold) in [("min", min), ("max", max)] {
            words += &threshold.map_or_else(String::new, |threshold| format!(", {name} {threshold}"));
        }
        let full = match (max, limit) {
            (Some(max), Some(limit)) if matches!(max, Size::Packets(_)) == matches!(limit, Size::Packets(_)) => {
                number(limit).max(number(max))
            }
            (Some(max), _) => 2.0 * number(max),
            _ => return Some(Part { name: "average", words: words.into(), beside: Beside::Nothing }),
        };
        let ticks = [min, max].into_iter().flatten().map(|threshold| number(threshold) / full).collect();
        let beside = Beside::Bar { filled: average / full, ticks, colour: Color::Blue };
        Some(Part { name: "average", words: words.into(), beside })
    }

    fn sojourn(&self) -> Part<'_> {
        let [p50, p95, p99] = self.change.map_or([None; 3], |change| change.sojourn).map(time);
        let words = format!("p50 {p50}, p95 {p95}, p99 {p99}");
        Part { name: "sojourn", words: words.into(), beside: Beside::Past(Series::Sojourn, Color::Magenta) }
    }

    /// The target of a discipline that controls delay.
    fn target(&self) -> Option<Part<'_>> {
        let parameter = |key: &str| self.state.discipline.parameters.get(key);
        let mut words = parameter("target")?.clone();
        if let Some(interval) = parameter("interval") {
            words += &format!(", interval {interval}");
        }
        Some(Part { name: "target", words: words.into(), beside: Beside::Nothing })
    }

    /// Packets lost before the discipline or behind it: by the kernel or, of a bridge, also for their size.
    fn kernel(&self) -> Part<'_> {
        let Some(lost) = self.state.lost_elsewhere() else {
            return Part { name: "kernel", words: "drops unknown".into(), beside: Beside::Nothing };
        };
        let unfit = self.state.unfit();
        let of_which = if unfit > 0 { format!(", {unfit} too long for the other interface") } else { String::new() };
        let now = self.change.map_or(0.0, |change| change.lost_elsewhere);
        let style = if lost > 0 { self.style(Color::Red) } else { Style::new() };
        let words = Line::styled(format!("{} dropped/s, {lost} in all{of_which}", pace(now)), style);
        Part { name: "kernel", words, beside: Beside::Nothing }
    }

    /// A parameter that is a size.
    fn threshold(&self, key: &str) -> Option<Size> {
        self.state.discipline.parameters.get(key)?.parse().ok().filter(|size| number(*size) > 0.0)
    }

    fn part(&self, part: Part<'_>, area: Rect, buffer: &mut Buffer) {
        let wide = area.width >= WIDE;
        let name = Rect { width: NAME.min(area.width), ..area };
        Line::styled(part.name, Style::new().add_modifier(Modifier::BOLD)).render(name, buffer);
        let after_name = Rect { x: area.x + name.width, width: area.width - name.width, ..area };
        let drawn = wide && !matches!(part.beside, Beside::Nothing);
        let words = Rect { width: if drawn { WORDS } else { after_name.width }, ..after_name };
        fit(part.words, words.width).render(words, buffer);
        if drawn {
            let x = after_name.x + WORDS + 1;
            self.beside(part.beside, Rect { x, width: area.right().saturating_sub(x), ..area }, buffer);
        }
    }

    fn beside(&self, beside: Beside, area: Rect, buffer: &mut Buffer) {
        match beside {
            Beside::Nothing => {}
            Beside::Bar { filled, ticks, colour } => {
                Line::styled(bar(area.width, filled, &ticks), self.style(colour)).render(area, buffer);
            }
            Beside::Past(series, colour) => Sparkline::default()
                .data(self.history.newest_first(series))
                .direction(RenderDirection::RightToLeft)
                .style(self.style(colour))
                .render(area, buffer),
        }
    }

    fn flows(&self, area: Rect, buffer: &mut Buffer) {
        let Some(change) = self.change.filter(|change| !change.flows.is_empty()) else {
            let words = match self.state {
                state if state.is_in_kernel() => "A discipline in the kernel does not count flows.",
                state if state.top_flows.is_empty() => "No flow has lost a packet yet.",
                _ => "",
            };
            return Line::raw(words).render(area, buffer);
        };
        let mut flows: Vec<&FlowChange> = change.flows.iter().collect();
        flows.sort_by(|a, b| self.sort.key(b).partial_cmp(&self.sort.key(a)).unwrap_or(std::cmp::Ordering::Equal));
        let numbers: &[Column] =
            if area.width < WIDE { &[MATCHED, LOST, SHARE] } else { &[MATCHED, LOST, IN_ALL, SHARE] };
        let name = area.width.saturating_sub(numbers.iter().map(|column| column.width + 1).sum());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let heading = numbers.iter().map(|column| {
            let sorted = if column.sort == Some(self.sort) { Modifier::UNDERLINED } else { Modifier::empty() };
            Line::styled(column.name, bold.add_modifier(sorted)).right_aligned()
        });
        let heading = Row::new([Line::styled("flow that lost", bold)].into_iter().chain(heading));
        let rows = flows.into_iter().take(usize::from(area.height)).map(|flow| {
            let numbers = numbers.iter().map(|column| Line::from((column.shown)(flow)).right_aligned());
            Row::new([Line::from(cut(&flow.flow, name.into()))].into_iter().chain(numbers))
        });
        let widths = [name].into_iter().chain(numbers.iter().map(|column| column.width)).map(Constraint::Length);
        Widget::render(Table::new(rows, widths).header(heading).column_spacing(1), area, buffer);
    }
}

/// Returns how the rate is adjusted, behind the rate.
fn adjusted(autorate: &AutorateState) -> String {
    let AutorateState { reason, blocker, probes_sent, probes_answered, .. } = autorate;
    let blocker = blocker.as_ref().map_or_else(String::new, |blocker| format!(", {blocker}"));
    let dry = if autorate.dry_run {
        format!(", dry run at {}", Rate::from_bits_per_second(autorate.rate_bps))
    } else {
        String::new()
    };
    format!(" (autorate {reason}{blocker}{dry}; {probes_answered} of {probes_sent} probes answered)")
}

/// A number of each flow.
struct Column {
    name: &'static str,
    width: u16,
    sort: Option<Sort>,
    shown: fn(&FlowChange) -> String,
}

const MATCHED: Column =
    Column { name: "matched/s", width: 9, sort: Some(Sort::Matched), shown: |flow| pace(flow.matched) };
const LOST: Column = Column { name: "lost/s", width: 7, sort: Some(Sort::Lost), shown: |flow| pace(flow.lost) };
const IN_ALL: Column = Column { name: "in all", width: 9, sort: None, shown: |flow| flow.lost_in_all.to_string() };
const SHARE: Column = Column { name: "link", width: 6, sort: Some(Sort::Share), shown: |flow| percent(flow.share) };

/// Returns `name` in `width` columns. A shortened name ends with an ellipsis, so that it is not taken for another
/// address.
fn cut(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Returns `line` in `width` columns. Numbers are not cut: they would lose digits and their unit.
fn fit(line: Line<'_>, width: u16) -> Line<'_> {
    if line.width() <= usize::from(width) {
        return line;
    }
    Line::styled(cut(&line.to_string(), width.into()), line.style)
}

fn dash() -> String {
    "–".to_owned()
}

/// The number of packets or of bytes.
fn number(size: Size) -> f64 {
    match size {
        Size::Packets(packets) => f64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() as f64,
    }
}

/// Returns a bar of `width` columns, filled to the fraction `filled`, with ticks at these fractions.
fn bar(width: u16, filled: f64, ticks: &[f64]) -> String {
    let columns = f64::from(width);
    let column = |fraction: f64| (fraction.clamp(0.0, 1.0) * columns).round() as u16;
    let end = column(filled);
    let of = |at: u16| match (ticks.iter().any(|tick| column(*tick) == at), at < end) {
        (true, _) => '│',
        (false, true) => '█',
        (false, false) => '░',
    };
    (0..width).map(of).collect()
}
