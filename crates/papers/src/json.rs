//! Claims and verdicts as JSON.

use serde_json::{Value, json};

use crate::{Book, Check, Claim, Cross, Finding, Judgement, Verdict};

/// A claim as `fairlane paper list --json` prints it.
#[must_use]
pub fn claim(book: &Book, claim: &Claim) -> Value {
    let bound = |value: f64| value.is_finite().then_some(value);
    let check = |check: &Check| {
        json!({
            "what": check.what,
            "unit": check.unit,
            "at": check.at,
            "value": check.value,
            "paper": check.paper,
            "model": check.model,
            "ns2": check.ns2,
            "demand": [bound(check.demand.0), bound(check.demand.1)],
        })
    };
    json!({
        "id": claim.id,
        "paper": book.paper.id,
        "where": claim.place,
        "says": claim.says,
        "status": claim.status,
        "remark": claim.remark,
        "experiments": claim.experiments,
        "vectors": claim.vectors,
        "checks": claim.checks.iter().map(check).collect::<Vec<_>>(),
    })
}

/// The verdicts as `fairlane paper run --json` prints them, with the tables of their experiments; `partial` if runs are
/// missing.
#[must_use]
pub fn verdicts(verdicts: &[Verdict<'_>], tables: &[Cross], partial: bool) -> Value {
    let bound = |value: f64| value.is_finite().then_some(value);
    let finding = |finding: &Finding<'_>| {
        json!({
            "what": finding.what,
            "unit": finding.unit,
            "value": finding.ours.map(|ours| ours.mean),
            "value_ci95": finding.ours.and_then(|ours| ours.ci95()),
            "lacking": finding.lacking,
            "demand": [bound(finding.demand.0), bound(finding.demand.1)],
            "paper": finding.paper,
            "model": finding.model,
            "ns2": finding.ns2,
            "met": finding.judgement.and_then(Judgement::met),
            "verdict": finding.judgement,
        })
    };
    let claim = |verdict: &Verdict<'_>| {
        json!({
            "id": verdict.claim.id,
            "paper": verdict.book.paper.id,
            "where": verdict.claim.place,
            "says": verdict.claim.says,
            "status": verdict.status(),
            "basis": verdict.basis,
            "recorded": verdict.claim.status,
            "remark": verdict.claim.remark,
            "checks": verdict.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    let mut value = json!({ "claims": verdicts.iter().map(claim).collect::<Vec<_>>() });
    if !tables.is_empty()
        && let Some(keys) = value.as_object_mut()
    {
        let table =
            |table: &Cross| json!({ "id": table.id, "title": table.title, "head": table.head, "lines": table.lines });
        keys.insert("tables".to_owned(), tables.iter().map(table).collect());
    }
    if partial && let Some(keys) = value.as_object_mut() {
        keys.insert("partial".to_owned(), true.into());
    }
    value
}
