//! Measures and checks are programs in jq, the common language for queries of JSON.

use std::sync::LazyLock;

use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader, parse};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value;

/// Functions that every program can use.
const PRELUDE: &str = include_str!("prelude.jq");

/// The definitions that every program can use: those of jq, then those of [`PRELUDE`]. To parse them takes longer than
/// to compile a program.
static DEFINITIONS: LazyLock<Option<Vec<Def>>> = LazyLock::new(|| {
    let ours = parse(PRELUDE, |parser| parser.defs())?;
    Some(jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(ours).collect())
});

/// A compiled program.
pub(crate) struct Expression {
    filter: jaq_core::Filter<data::JustLut<Val>>,
}

impl Expression {
    /// Compiles `code`; the error describes the problem.
    pub(crate) fn new(code: &str) -> Result<Self, String> {
        let definitions = DEFINITIONS.as_ref().ok_or("prelude.jq is not jq")?;
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let file = File { code, path: () };
        let modules = Loader::new(definitions.iter().cloned())
            .load(&arena, file)
            .map_err(|_| format!("this is not jq: {code}"))?;
        let filter = Compiler::default().with_funs(funs).compile(modules).map_err(|errors| {
            let names: Vec<&str> = errors.iter().flat_map(|(_, wrong)| wrong.iter().map(|(name, _)| *name)).collect();
            format!("jq does not know {} in: {code}", names.join(", "))
        })?;
        Ok(Self { filter })
    }

    /// The first result for `input`; `None` without any.
    pub(crate) fn apply(&self, input: &Input) -> Result<Option<Value>, String> {
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        match self.filter.id.run((context, input.0.clone())).map(unwrap_valr).next() {
            None => Ok(None),
            // Numbers that JSON cannot express, such as NaN, are dropped.
            Some(Ok(value)) => Ok(Some(serde_json::from_str(&value.to_string()).unwrap_or(Value::Null))),
            Some(Err(error)) => Err(error.to_string()),
        }
    }
}

/// The input of programs.
pub(crate) struct Input(Val);

impl Input {
    /// Takes over `value`.
    pub(crate) fn new(value: &Value) -> Result<Self, String> {
        read::parse_single(value.to_string().as_bytes()).map(Self).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(code: &str, input: &Value) -> Result<Option<Value>, String> {
        Expression::new(code)?.apply(&Input::new(input)?)
    }

    /// Statistics against values calculated by hand: 1, 2, 3, 4 has the mean 2.5 and the variance 5/3.
    #[test]
    fn statistics() {
        let values = json!([1, 2, 3, 4]);
        assert_eq!(of("mean", &values), Ok(Some(json!(2.5))));
        assert_eq!(of("variance * 3", &values), Ok(Some(json!(5.0))));
        assert_eq!(of("cv * cv * 6.25 * 3 | round", &values), Ok(Some(json!(5))));
        // Jain's index by its definition: 10² / (4 · 30).
        assert_eq!(of("jain * 120", &values), Ok(Some(json!(100.0))));
    }

    #[test]
    fn parts_of_an_outcome() {
        let outcome = json!({ "groups": [{ "name": "cbr", "share": 0.25 }],
            "queues": [{ "name": "bottleneck", "dropped": { "limit": 1, "early": 2 }, "groups": [{ "name": "cbr", "marked": 7 }] }] });
        assert_eq!(of(r#"100 * group("cbr").share"#, &outcome), Ok(Some(json!(25.0))));
        assert_eq!(of(r#"at_queue("bottleneck"; "cbr").marked"#, &outcome), Ok(Some(json!(7))));
        assert_eq!(of(r#"total(queue("bottleneck").dropped)"#, &outcome), Ok(Some(json!(3))));
        assert_eq!(of(r#"group("ftp").share"#, &outcome), Ok(None));
    }

    #[test]
    fn rows_are_found_by_their_point() {
        let rows = json!([{ "kind": "red", "m": 1, "udp": 9.0 }, { "kind": "choke", "m": 1, "udp": 2.5 }]);
        assert_eq!(of(r#"row({kind: "choke", m: 1}).udp"#, &rows), Ok(Some(json!(2.5))));
        assert_eq!(of(r#"row({kind: "choke", m: 2}).udp"#, &rows), Ok(None));
    }

    #[test]
    fn quantities_are_numbers() {
        for (text, number) in
            [("100kbit", 1e5), ("2mbit", 2e6), ("17.8ms", 0.0178), ("300p", 300.0), ("100kb", 1e5), ("7", 7.0)]
        {
            let got = of("number", &json!(text)).ok().flatten().and_then(|value| value.as_f64());
            assert!(got.is_some_and(|got| (got - number).abs() < 1e-9 * number), "{text}: {got:?}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        assert!(Expression::new("1 +").err().is_some_and(|why| why.contains("not jq")));
        assert!(Expression::new("gruop(1)").err().is_some_and(|why| why.contains("gruop")));
        assert!(of("1 + {}", &json!(null)).is_err());
        assert_eq!(of("0 / 0", &json!(null)).ok().flatten().and_then(|value| value.as_f64()), None);
    }
}
