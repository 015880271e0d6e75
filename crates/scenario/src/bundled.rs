//! The scenarios that are compiled in.

use crate::suggest;

/// A scenario that is compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// Its name, that of its file in `scenarios` without the ending.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! bundled {
    ($($name:literal,)*) => {
        /// The scenarios that are compiled in, by name.
        pub const BUNDLED: &[Bundled] =
            &[$(Bundled { name: $name, text: include_str!(concat!("../data/", $name, ".toml")) },)*];
    };
}

bundled! {
    "autorate",
    "bare-fig1",
    "bare-fig11",
    "bare-fig12",
    "bare-fig5",
    "bare-fig8",
    "bare-links",
    "bbr",
    "bbr-steps",
    "blue-fig13",
    "blue-fig5",
    "blue-fig6",
    "cellular",
    "choke-fig10",
    "choke-fig3",
    "choke-fig5",
    "choke-fig8",
    "choke-fig9",
    "choke-report-fig10",
    "choke-report-fig18",
    "choke-report-fig4",
    "choke-table1",
    "congestion-controls",
    "echo-mixed",
    "flood",
    "hash-guess",
    "lab-fig3",
    "leo",
    "modern",
    "overload",
    "parking-lot",
    "peers-100mbit",
    "peers-1gbit",
    "policer",
    "sfb-table3",
    "sources",
    "two-way",
    "unequal-rtt",
    "variants-fig13",
    "variants-table1",
    "varying-rate",
    "web",
}

/// The other files that these scenarios read.
const FILES: [(&str, &str); 3] = [
    ("autorate.csv", include_str!("../data/autorate.csv")),
    ("cellular.trace", include_str!("../data/cellular.trace")),
    ("leo.csv", include_str!("../data/leo.csv")),
];

/// The begin of a line for editors.
const DIRECTIVE: &str = "#:";

impl Bundled {
    /// Returns the other files that it reads, by name.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, &'static str)> {
        FILES.into_iter().filter(|(name, _)| self.text.contains(&format!("\"{name}\""))).collect()
    }

    /// Returns what it shows: the first paragraph of its comment.
    #[must_use]
    pub fn summary(&self) -> String {
        let lines = self.text.lines().skip_while(|line| line.starts_with(DIRECTIVE));
        let lines = lines.map(|line| line.trim_start_matches('#').trim());
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the scenario called `name`.
#[must_use]
pub fn bundled(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name)
}

/// Returns the nearest name to `written`, if it is near enough to be a slip.
#[must_use]
pub fn nearest_bundled(written: &str) -> Option<&'static str> {
    suggest::nearest(written, BUNDLED.iter().map(|bundled| bundled.name))
}

/// Returns a file that a scenario which is compiled in reads.
pub(crate) fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find_map(|(known, text)| (*known == name).then_some(*text))
}
