//! The basis of a verdict: not every claim runs a discipline.

use serde::Serialize;

use crate::book::{Claim, Experiment, Status};

/// The basis of a claim's verdict; of several, the strongest, which comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A discipline ran on simulated traffic.
    Traffic,
    /// A discipline decided as this project's own slow implementation does (`conformance/`).
    Vectors,
    /// A model's formula was evaluated, without a discipline.
    Model,
    /// The paper's own numbers were added up, without a discipline.
    Arithmetic,
}

impl Basis {
    /// All of them, the strongest first.
    pub const ALL: [Self; 4] = [Self::Traffic, Self::Vectors, Self::Model, Self::Arithmetic];

    /// A phrase for it, as in "claims that rest on …".
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Traffic => "a discipline on traffic",
            Self::Vectors => "our own conformance vectors",
            Self::Model => "a model's formula",
            Self::Arithmetic => "arithmetic alone",
        }
    }

    fn of_experiment(experiment: &Experiment) -> Self {
        match (experiment.arithmetic, &experiment.theory) {
            (true, _) => Self::Arithmetic,
            (false, Some(_)) => Self::Model,
            (false, None) => Self::Traffic,
        }
    }

    /// The basis of `claim`, among whose experiments are `experiments`; `None` for a claim that is not testable.
    pub(crate) fn of<'e>(claim: &Claim, experiments: impl Iterator<Item = &'e Experiment>) -> Option<Self> {
        if claim.status == Some(Status::Out) {
            return None;
        }
        let run = experiments.filter(|experiment| claim.experiments.contains(&experiment.id)).map(Self::of_experiment);
        run.chain((!claim.vectors.is_empty()).then_some(Self::Vectors)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basis(experiments: &[&str], vectors: &str, status: &str) -> Option<Basis> {
        let all = [
            ("scenario", "scenario = 'choke-fig3'"),
            ("station", "station = { mu = 1.0 }"),
            ("theory", "theory = { model = 'choke' }"),
            ("sums", "arithmetic = true"),
        ]
        .map(|(id, kind)| toml::from_str(&format!("id = '{id}'\nabout = '.'\n{kind}")).expect("it is one"));
        let claim = format!(
            "id = 'c'\nwhere = '.'\nsays = '.'\nstatus = '{status}'\nexperiments = {experiments:?}\nvectors = {vectors}"
        );
        Basis::of(&toml::from_str(&claim).expect("it is one"), all.iter())
    }

    #[test]
    fn the_strongest_counts() {
        assert_eq!(basis(&["sums"], "[]", "met"), Some(Basis::Arithmetic));
        assert_eq!(basis(&["sums", "theory"], "[]", "met"), Some(Basis::Model));
        assert_eq!(basis(&["sums"], "['choke']", "met"), Some(Basis::Vectors));
        assert_eq!(basis(&[], "['choke']", "met"), Some(Basis::Vectors));
        assert_eq!(basis(&["station"], "[]", "short"), Some(Basis::Traffic));
        assert_eq!(basis(&["sums", "scenario"], "['choke']", "met"), Some(Basis::Traffic));
        assert_eq!(basis(&["scenario"], "[]", "out"), None);
    }
}
