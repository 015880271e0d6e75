//! Everything that the exports act on: two players, a batch, and the buffers between them and the page.

use crate::batch::Batch;
use crate::error::PageError;
use crate::info;
use crate::player::{Change, Player};
use crate::request::Request;

/// The state of a page's worker.
#[derive(Debug, Default)]
pub struct Machine {
    players: [Option<Player>; 2],
    batch: Option<Batch>,
    input: Vec<u8>,
    output: String,
    numbers: Vec<f64>,
    error_line: usize,
}

impl Machine {
    /// Returns a buffer of `bytes` bytes, which the page fills with the text that the next call reads.
    pub fn input(&mut self, bytes: usize) -> &mut [u8] {
        self.input.clear();
        self.input.resize(bytes, 0);
        &mut self.input
    }

    /// Returns the text of the last call: what it was asked for, or its error.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Returns the numbers of the last call.
    #[must_use]
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Returns the line of the scenario that the last error was about, counted from 1; 0 if it was about none.
    #[must_use]
    pub const fn error_line(&self) -> usize {
        self.error_line
    }

    /// Writes disciplines, reasons and scenarios as JSON.
    pub fn constants(&mut self) {
        self.output = info::constants().to_string();
    }

    /// Starts player `side` with the request in the input; see [`Request::read`]. Writes the description of the
    /// scenario as JSON, or returns false and writes the error; the player before goes on then.
    pub fn create(&mut self, side: usize, run: u32) -> bool {
        let player = self.request().and_then(|request| Player::new(request, run));
        self.finish(player, |machine, player| {
            machine.output = player.info().to_string();
            if let Some(place) = machine.players.get_mut(side) {
                *place = Some(player);
            }
        })
    }

    /// Removes player `side`.
    pub fn remove(&mut self, side: usize) {
        if let Some(player) = self.players.get_mut(side) {
            *player = None;
        }
    }

    /// Advances player `side`; see [`Player::advance`].
    pub fn advance(&mut self, side: usize, until_ns: f64) -> bool {
        self.player(side).is_none_or(|player| player.advance(until_ns))
    }

    /// Sets the time between two rows of the series of player `side`.
    pub fn set_interval(&mut self, side: usize, interval_ns: f64) {
        if let Some(player) = self.player(side) {
            player.set_interval(interval_ns);
        }
    }

    /// Goes on in player `side` with the request in the input, and writes the description of the scenario as JSON.
    /// Returns 0 after a change that holds from now on, 1 if the scenario has to begin again for it, and 2 after an
    /// error, which it writes.
    pub fn update(&mut self, side: usize) -> u32 {
        let request = self.request();
        let Some(player) = self.player(side) else { return 1 };
        let changed = request.and_then(|request| player.update(request));
        let info = player.info();
        let mut answer = 2;
        self.finish(changed, |machine, change| {
            machine.output = info.to_string();
            answer = u32::from(change == Change::NeedsRestart);
        });
        answer
    }

    /// Writes a frame of player `side` to the numbers; see [`Player::frame`].
    pub fn frame(&mut self, side: usize) {
        let mut numbers = std::mem::take(&mut self.numbers);
        match self.player(side) {
            Some(player) => player.frame(&mut numbers),
            None => numbers.clear(),
        }
        self.numbers = numbers;
    }

    /// Writes the new rows of the series of player `side` to the numbers, and returns the length of a row; see
    /// [`Player::take_rows`].
    pub fn series(&mut self, side: usize) -> usize {
        let mut numbers = std::mem::take(&mut self.numbers);
        let width = self.player(side).map_or(0, |player| player.take_rows(&mut numbers));
        self.numbers = numbers;
        width
    }

    /// Writes the scenario of the request in the input as a file: the text as it was, if no value is set. Returns false
    /// and writes the error if it cannot be read.
    pub fn toml(&mut self) -> bool {
        let request = self.request();
        self.finish(request, |machine, request| machine.output = request.document().to_toml())
    }

    /// Prepares runs of the request in the input. Returns false and writes the error if it is not valid.
    pub fn prepare(&mut self) -> bool {
        let scenario = self.request().and_then(|request| request.scenario());
        self.finish(scenario, |machine, scenario| machine.batch = Some(Batch::new(scenario)))
    }

    /// Does the next run. Returns false and writes the error if it cannot be done.
    pub fn run(&mut self) -> bool {
        let Some(batch) = &mut self.batch else { return false };
        let done = batch.advance();
        self.finish(done, |_, _| ())
    }

    /// Writes the outcome of the runs as JSON, without their cost.
    pub fn outcome(&mut self) {
        let outcome = self.batch.as_ref().and_then(Batch::outcome);
        self.output = outcome.map_or_else(String::new, |outcome| outcome.to_json_without_cost());
    }

    fn player(&mut self, side: usize) -> Option<&mut Player> {
        self.players.get_mut(side)?.as_mut()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.input).into_owned()
    }

    fn request(&self) -> Result<Request, PageError> {
        Request::read(&self.text())
    }

    /// Passes a result on, or writes the error and returns false.
    fn finish<T>(&mut self, result: Result<T, PageError>, then: impl FnOnce(&mut Self, T)) -> bool {
        self.error_line = 0;
        match result {
            Ok(value) => {
                then(self, value);
                true
            }
            Err(error) => {
                self.error_line = error.line.unwrap_or(0);
                self.output = error.text;
                false
            }
        }
    }
}
