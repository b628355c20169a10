//! What statements showed of payments, as it is told later.

use serde_json::{Map, Value, json};

use crate::cli::terminal::output;
use crate::domain::{BatchName, WireZone};
use crate::journal::{Discrepancies, StatedAbout};
use crate::ledger::reconciliation::FindingKind;

/// Statements that are told, the last ones.
const STATEMENTS_TOLD_MAX: usize = 6;

/// Tells what statements showed of payments otherwise than they stand here: money to ask for, or to pay in another way.
pub(in crate::cli) fn statement_texts(
    all: &[Discrepancies],
    batch: &BatchName,
    zone: &WireZone,
) -> Vec<String> {
    let told = all.iter().rev().take(STATEMENTS_TOLD_MAX).map(|one| {
        let found: Vec<String> = one
            .found
            .iter()
            .map(|(kind, count)| {
                let count = output::grouped(&count.to_string());
                format!("{} ({count})", kind.in_words())
            })
            .collect();
        format!(
            "the statement {}, compared at {}: {}. Ask the gateway's people: disburse report {batch} --out reports/{batch} lists them",
            output::name(&one.statement),
            zone.format_named(one.at),
            found.join(", ")
        )
    });
    let mut texts: Vec<String> = told.collect();
    if let Some(more @ 1..) = all.len().checked_sub(STATEMENTS_TOLD_MAX) {
        let more = output::counted(more as u64, "statement");
        texts.push(format!(
            "{more} compared before those showed something of payments as well: the report lists them"
        ));
    }
    texts
}

/// Returns the same for programs.
pub(in crate::cli) fn statements_json(all: &[Discrepancies]) -> Value {
    let told = all.iter().map(|one| {
        let found: Map<String, Value> = one
            .found
            .iter()
            .map(|(kind, count)| (kind.name().to_owned(), (*count).into()))
            .collect();
        json!({"statement": one.statement, "at": one.at.to_string(), "found": found})
    });
    told.collect()
}

/// Tells what statements showed of one payment.
pub(in crate::cli) fn about_payment(all: &[StatedAbout], zone: &WireZone) -> Vec<String> {
    let told = all.iter().flat_map(|one| {
        let said = |name: &str| one.finding[name].as_str().unwrap_or_default();
        let kind = FindingKind::from_name(said("finding"));
        let is = |name: &str| one.finding[name].as_bool().unwrap_or_default();
        let is_twice = is("twice") && kind != Some(FindingKind::TwiceThere);
        let mut text = format!(
            "  the statement {}, compared at {}: {}",
            output::name(&one.statement),
            zone.format_named(one.at),
            kind.map_or("a finding", FindingKind::in_words)
        );
        if !said("statement_line").is_empty() {
            text.push_str(&format!(
                "; {}, {}, {} {}",
                output::name(said("statement_line")),
                said("statement_date"),
                said("statement_currency_code"),
                output::grouped(said("statement_amount"))
            ));
        }
        let others = one.finding["other_statement_lines"].as_array();
        let others = others.into_iter().flatten().filter_map(Value::as_str);
        let others: Vec<&str> = others.collect();
        if !others.is_empty() {
            text.push_str(&format!("; also {}", output::name(&others.join(", "))));
        }
        if is_twice {
            text.push_str("; paid twice in the statement");
        }
        if is("earlier_statements") {
            text.push_str("; counted with the lines of statements before it");
        }
        let also = is_twice.then_some(FindingKind::TwiceThere);
        let kinds = kind.filter(|kind| kind.is_discrepancy()).into_iter();
        let advice = kinds.chain(also).filter_map(FindingKind::advice);
        let advice = advice.map(|advice| format!("    to do: {advice}"));
        [text].into_iter().chain(advice).collect::<Vec<String>>()
    });
    told.collect()
}

/// Returns the same for programs.
pub(in crate::cli) fn about_payment_json(all: &[StatedAbout]) -> Value {
    let told = all.iter().map(|one| {
        let mut value = one.finding.clone();
        value["statement"] = one.statement.as_str().into();
        value["at"] = one.at.to_string().into();
        value
    });
    told.collect()
}
