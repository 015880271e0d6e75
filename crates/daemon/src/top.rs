//! `fairlane top`: a live view of a router, from its `/state`.

mod change;
mod client;
mod history;
#[cfg(test)]
mod samples;
mod screen;
mod socket;
mod units;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use fairlane_console::{Failure, dumb, output};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use self::change::Change;
use self::client::{Client, States};
use self::history::History;
use self::view::{Sort, View};
use crate::TopArgs;
use crate::state::State;

/// The most flows in the text.
const FLOWS: usize = 20;

/// The maximum number of requests until the counts change: a router renews them about as often as the shortest
/// interval.
const LOOKS: usize = 8;

/// Shows the router until the user ends it, or once.
///
/// # Errors
/// No router answers, or the terminal cannot be used.
pub fn show(args: &TopArgs) -> Result<(), Failure> {
    let client = match &args.bpf {
        Some(device) => Client::of_device(device)?,
        None => Client::new(args.address.as_deref())?,
    };
    let first = client.ask_first()?;
    let interval = Duration::from_nanos(args.interval.as_nanos());
    if args.once || !io::stdout().is_terminal() || dumb() {
        let last = look(client, &first, interval)?;
        let views = first
            .iter()
            .zip(&last)
            .map(|(first, last)| text(last, Change::between(first, last).as_ref(), output::width()));
        output::print(&views.collect::<Vec<_>>().join("\n"))
    } else {
        screen::show(client, first, interval)
    }
}

/// Returns the states after an interval, or some more until all have changed.
fn look(client: Client, first: &States, interval: Duration) -> Result<States, Failure> {
    let mut last = first.clone();
    for answer in client.watch(interval).answers.iter().take(LOOKS) {
        last = answer.map_err(Failure::plain)?;
        if first.iter().zip(&last).all(|(first, last)| Change::between(first, last).is_some()) {
            break;
        }
    }
    Ok(last)
}

/// Returns the view as text of `width` columns.
fn text(state: &State, change: Option<&Change>, width: usize) -> String {
    let history = &History::default();
    let view = View { state, change, history, sort: Sort::default(), silent: None, colour: false };
    let area = Rect::new(0, 0, u16::try_from(width).unwrap_or(u16::MAX), view.height(FLOWS));
    let mut buffer = Buffer::empty(area);
    (&view).render(area, &mut buffer);
    lines(&buffer)
}

/// Returns the text of `buffer`, without its styles.
fn lines(buffer: &Buffer) -> String {
    let columns = usize::from(buffer.area.width).max(1);
    let row = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    };
    buffer.content.chunks(columns).map(row).collect()
}

#[cfg(test)]
mod tests;
