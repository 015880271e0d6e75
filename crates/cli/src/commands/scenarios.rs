//! `fairlane scenarios`: the scenarios that are compiled in.

use fairlane_console::layout::columns;
use fairlane_console::{Failure, output};
use fairlane_scenario::{BUNDLED, Bundled, bundled, nearest_bundled};
use serde_json::{Value, json};

use crate::args::scenarios::ScenariosArgs;

/// Prints the list, or one scenario as a file.
pub(crate) fn execute(args: &ScenariosArgs) -> Result<(), Failure> {
    let known = match &args.name {
        Some(name) => vec![named(name)?],
        None => BUNDLED.iter().collect(),
    };
    match &*known {
        all if args.form.json => output::print_json(&all.iter().map(|one| described(one)).collect::<Vec<_>>()),
        [one] => output::print(one.text),
        all => {
            let rows: Vec<[String; 2]> = all.iter().map(|one| [one.name.to_owned(), one.summary()]).collect();
            output::print(&columns(&rows, output::width()))
        }
    }
}

fn described(scenario: &Bundled) -> Value {
    json!({ "name": scenario.name, "summary": scenario.summary(), "text": scenario.text })
}

/// Returns the scenario called `name`.
pub(crate) fn named(name: &str) -> Result<&'static Bundled, Failure> {
    bundled(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Failure {
    let help = match nearest_bundled(name) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "fairlane scenarios lists them".to_owned(),
    };
    Failure::new(format!("there is no scenario \"{name}\""), help)
}
