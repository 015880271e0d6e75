//! The JSON form, as text.

use serde::Serialize;
use serde_json::Value;

use crate::{Outcome, Outcomes};

impl Outcome {
    /// The JSON form, indented. The same runs in the same order give the same bytes, but for the cost.
    #[must_use]
    pub fn to_json(&self) -> String {
        text(self)
    }

    /// The JSON form without the `cost`, which is never the same twice: for comparing outcomes byte by byte.
    #[must_use]
    pub fn to_json_without_cost(&self) -> String {
        text(&without_cost(tree(self)))
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    ///
    /// When `json` is not the JSON form of an outcome; the error names the key or the place.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }
}

impl Outcomes {
    /// The JSON form, `{"outcomes": […]}`, indented.
    #[must_use]
    pub fn to_json(&self) -> String {
        text(self)
    }

    /// The JSON form without any `cost`; see [`Outcome::to_json_without_cost`].
    #[must_use]
    pub fn to_json_without_cost(&self) -> String {
        let outcomes: Vec<Value> = self.outcomes.iter().map(|outcome| without_cost(tree(outcome))).collect();
        text(&serde_json::json!({ "outcomes": outcomes }))
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    ///
    /// When `json` is not the JSON form of outcomes; the error names the key or the place.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }
}

/// Every key here is a string, so there is always a tree; `null` could only come of a mistake in this crate.
fn tree(form: &impl Serialize) -> Value {
    serde_json::to_value(form).unwrap_or_default()
}

fn without_cost(mut tree: Value) -> Value {
    if let Some(keys) = tree.as_object_mut() {
        keys.shift_remove("cost");
    }
    tree
}

/// The text of `form`; see [`tree`] for why there always is one.
fn text(form: &impl Serialize) -> String {
    serde_json::to_string_pretty(form).unwrap_or_default()
}
