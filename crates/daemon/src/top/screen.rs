//! The view on a terminal, until the user ends it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairlane_console::{Failure, Stopwatch, colour};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, size};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Widget;
use ratatui::{DefaultTerminal, TerminalOptions, Viewport};

use super::change::Change;
use super::client::{Client, States, Watching};
use super::history::History;
use super::view::{Sort, View};
use crate::state::State;

/// The maximum time until a key is read.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The largest part of a terminal that is drawn on, in columns and lines: the memory for a view follows from its size,
/// and a terminal may name any.
const LARGEST: (u16, u16) = (1000, 300);

/// Shows the router on the terminal, which is restored afterwards, also after a panic.
pub(super) fn show(client: Client, first: States, interval: Duration) -> Result<(), Failure> {
    let ended = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&ended);
    ctrlc::set_handler(move || heard.store(true, Ordering::Release))
        .map_err(|error| Failure::plain(format!("cannot listen for signals: {error}")))?;
    let failed = |error: io::Error| {
        Failure::new(format!("cannot show anything on this terminal: {error}"), "fairlane top --once prints text")
    };
    let mut terminal = area().and_then(open).map_err(failed)?;
    let screen = Screen { watching: client.watch(interval), pictures: Pictures::new(first) };
    let result = screen.run(&mut terminal, &ended);
    ratatui::try_restore().and(result).map_err(failed)
}

/// Returns the part of the terminal that is drawn on.
fn area() -> io::Result<Rect> {
    let (width, height) = size()?;
    Ok(Rect::new(0, 0, width.min(LARGEST.0), height.min(LARGEST.1)))
}

fn open(area: Rect) -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init_with_options(TerminalOptions { viewport: Viewport::Fixed(area) })?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    Ok(terminal)
}

struct Screen {
    watching: Watching,
    pictures: Pictures,
}

impl Screen {
    fn run(mut self, terminal: &mut DefaultTerminal, ended: &AtomicBool) -> io::Result<()> {
        let mut drawn = area()?;
        loop {
            let now = area()?;
            if now != drawn {
                terminal.resize(now)?;
                drawn = now;
            }
            terminal.draw(|frame| self.pictures.draw(frame.area(), frame.buffer_mut()))?;
            loop {
                if ended.load(Ordering::Acquire) {
                    return Ok(());
                }
                let mut new = false;
                if event::poll(LOOK_EVERY)? {
                    match key_action(&event::read()?) {
                        KeyAction::End => return Ok(()),
                        KeyAction::Sort => self.pictures.sort(),
                        KeyAction::Nothing => {}
                    }
                    new = true;
                }
                for answer in self.watching.answers.try_iter() {
                    self.pictures.hear(answer);
                    new = true;
                }
                if new {
                    break;
                }
            }
        }
    }
}

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAction {
    Nothing,
    Sort,
    End,
}

fn key_action(event: &Event) -> KeyAction {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else {
        return KeyAction::Nothing;
    };
    match code {
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::End,
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => KeyAction::End,
        KeyCode::Char('s') => KeyAction::Sort,
        _ => KeyAction::Nothing,
    }
}

/// The views of a router's directions, one below the other.
pub(super) struct Pictures(pub(super) Vec<Picture>);

impl Pictures {
    pub(super) fn new(states: States) -> Self {
        Self(states.into_iter().map(Picture::new).collect())
    }

    /// Processes an answer.
    pub(super) fn hear(&mut self, answer: Result<States, String>) {
        let mut answers: Vec<Result<State, String>> = match answer {
            Ok(states) => states.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why); self.0.len()],
        };
        let directions = |answer: &Result<State, String>| answer.as_ref().ok().map(|state| state.direction.clone());
        let known = |at: usize| self.0.get(at).map(|picture| picture.state.direction.clone());
        if answers.len() != self.0.len()
            || answers.iter().enumerate().any(|(at, answer)| directions(answer).is_some_and(|of| Some(of) != known(at)))
        {
            // Another router has started, with other directions.
            self.0 = answers.drain(..).filter_map(Result::ok).map(Picture::new).collect();
        }
        for (picture, answer) in self.0.iter_mut().zip(answers) {
            picture.hear(answer);
        }
    }

    fn sort(&mut self) {
        self.0.iter_mut().for_each(|picture| picture.sort = picture.sort.next());
    }

    pub(super) fn draw(&self, area: Rect, buffer: &mut ratatui::buffer::Buffer) {
        let [above, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
        let areas = Layout::vertical(self.0.iter().map(|_| Constraint::Fill(1))).spacing(1).split(above);
        for (picture, area) in self.0.iter().zip(areas.iter()) {
            picture.draw(*area, buffer);
        }
        let keys = self.0.first().map_or_else(String::new, |picture| picture.sort.keys());
        Line::styled(keys, Style::new().add_modifier(Modifier::DIM)).render(below, buffer);
    }
}

/// The state of the view of one direction.
pub(super) struct Picture {
    state: State,
    change: Option<Change>,
    history: History,
    sort: Sort,
    /// The reason for missing answers, and the time of the first one.
    silent: Option<(String, Stopwatch)>,
    pub(super) colour: bool,
}

impl Picture {
    pub(super) fn new(state: State) -> Self {
        let history = History::default();
        Self { state, change: None, history, sort: Sort::default(), silent: None, colour: colour(&io::stdout()) }
    }

    /// Processes an answer.
    pub(super) fn hear(&mut self, answer: Result<State, String>) {
        let state = match answer {
            Ok(state) => state,
            Err(why) => {
                let since = self.silent.take().map_or_else(Stopwatch::start, |(_, since)| since);
                self.silent = Some((why, since));
                return;
            }
        };
        self.silent = None;
        if state.uptime_s < self.state.uptime_s {
            // Another router has started.
            (self.change, self.history) = (None, History::default());
        }
        if let Some(change) = Change::between(&self.state, &state) {
            self.history.add(&change);
            self.change = Some(change);
        }
        self.state = state;
    }

    pub(super) fn draw(&self, area: Rect, buffer: &mut ratatui::buffer::Buffer) {
        let silent = self.silent.as_ref().map(|(why, since)| format!("{:.0} s ago; {why}", since.elapsed_s()));
        let view = View {
            state: &self.state,
            change: self.change.as_ref(),
            history: &self.history,
            sort: self.sort,
            silent: silent.as_deref(),
            colour: self.colour,
        };
        (&view).render(area, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_the_help_says() {
        let key = |code, modifiers| key_action(&Event::Key(KeyEvent::new(code, modifiers)));
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(key(code, KeyModifiers::NONE), KeyAction::End);
        }
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), KeyAction::End);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), KeyAction::Nothing);
        assert_eq!(key(KeyCode::Char('s'), KeyModifiers::NONE), KeyAction::Sort);
        assert_eq!(key_action(&Event::Resize(1, 1)), KeyAction::Nothing);
    }
}
