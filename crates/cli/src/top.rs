//! `fairlane top`: a running router, by what it tells at `/state`.

mod change;
mod client;
mod history;
#[cfg(test)]
mod samples;
mod screen;
mod view;
mod words;

use std::io::{self, IsTerminal};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use self::change::Change;
use self::client::Client;
use self::history::History;
use self::view::{Sort, View};
use crate::error::{Failure, dumb};
use crate::state::State;
use crate::{args, output};

/// Flows in the text.
const FLOWS: usize = 20;

/// Looks until something has changed: a router renews what it tells about as often as it may be asked.
const LOOKS: usize = 8;

/// Shows the router until the user ends it, or once.
pub(crate) fn show(args: &args::Top) -> Result<(), Failure> {
    let client = Client::new(&args.address);
    let first = client.ask_first()?;
    let interval = Duration::from_nanos(args.interval.as_nanos());
    if args.once || !io::stdout().is_terminal() || dumb() {
        let (state, change) = look(client, &first, interval)?;
        output::print(&text(&state, change.as_ref(), output::terminal().width))
    } else {
        screen::show(client, first, interval)
    }
}

/// What has changed since `first`, after an interval.
fn look(client: Client, first: &State, interval: Duration) -> Result<(State, Option<Change>), Failure> {
    let mut last = first.clone();
    for answer in client.watch(interval).answers.iter().take(LOOKS) {
        last = answer.map_err(Failure::plain)?;
        let change = Change::between(first, &last);
        if change.is_some() {
            return Ok((last, change));
        }
    }
    Ok((last, None))
}

/// The view as text of `width` columns.
fn text(state: &State, change: Option<&Change>, width: usize) -> String {
    let history = &History::default();
    let view = View { state, change, history, sort: Sort::default(), silent: None, colour: false };
    let area = Rect::new(0, 0, u16::try_from(width).unwrap_or(u16::MAX), view.height(FLOWS));
    let mut buffer = Buffer::empty(area);
    (&view).render(area, &mut buffer);
    lines(&buffer)
}

/// What stands in `buffer`, without what a terminal would make of it.
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
