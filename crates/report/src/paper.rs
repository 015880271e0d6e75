//! Numbers of a paper, compared with our results.

/// One number of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperNumber {
    /// The discipline that it is about, such as `choke`.
    pub queue: String,
    /// The group of flows that it is about, such as `cbr`.
    pub group: String,
    /// The number with its unit, as short as possible: `25 %`.
    pub text: String,
}

/// The numbers of one figure or table of a paper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaperNumbers {
    /// The paper and the figure or table.
    pub source: String,
    /// The numbers.
    pub numbers: Vec<PaperNumber>,
}

impl PaperNumbers {
    /// Figure 3 of the paper that introduced CHOKe: 32 TCP flows (`ftp`) and one UDP flow of 2 Mb/s (`cbr`) over a
    /// link of 1 Mb/s.
    #[must_use]
    pub fn choke_figure_3() -> Self {
        let number = |queue: &str, group: &str, text: &str| PaperNumber {
            queue: queue.to_owned(),
            group: group.to_owned(),
            text: text.to_owned(),
        };
        Self {
            source: "Pan, Prabhakar, Psounis: CHOKe (INFOCOM 2000), Figure 3".to_owned(),
            numbers: vec![
                number("droptail", "ftp", "≈ 5 %"),
                number("droptail", "cbr", "> 95 %"),
                number("red", "ftp", "≈ 5 %"),
                number("red", "cbr", "> 95 %"),
                number("choke", "ftp", "75 %"),
                number("choke", "cbr", "25 %"),
            ],
        }
    }

    /// Returns the paper's number for `group` under `queue`.
    #[must_use]
    pub fn of(&self, queue: &str, group: &str) -> Option<&str> {
        let number = self.numbers.iter().find(|number| number.queue == queue && number.group == group)?;
        Some(&number.text)
    }
}
