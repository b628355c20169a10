//! What statements of gateway and bank showed.

use std::io;

use askama::Template;
use serde_json::Value;

use crate::ledger::reconciliation::FindingKind;
use crate::lifecycle::State;
use crate::report::rows::entry::{BatchHeader, Stated};
use crate::report::words::text;

/// Findings of one statement that the page shows; it counts all.
const SHOWN_MAX: usize = 2_000;

pub(super) fn write(out: &mut impl io::Write, header: &BatchHeader) -> io::Result<()> {
    if header.statements.is_empty() {
        return Ok(());
    }
    let statements = header
        .last_comparisons()
        .into_iter()
        .map(|(stated, times)| Statement::of(header, stated, times));
    Statements {
        statements: statements.collect(),
    }
    .write_into(out)
}

/// Returns how many findings a person has to look at; of a statement that was compared several times, those of the last one. A payment
/// that was open then, and is paid by now, needs nobody any more.
pub(super) fn to_look_at(header: &BatchHeader) -> u64 {
    let last = header.last_comparisons();
    last.into_iter().map(|(stated, _)| of_one(stated)).sum()
}

fn of_one(stated: &Stated) -> u64 {
    let found = &stated.summary["found"];
    let kinds = FindingKind::ALL.into_iter();
    let counts = kinds
        .filter(|kind| kind.needs_a_person())
        .filter_map(|kind| found[kind.name()]["count"].as_u64());
    let done = stated.findings.iter().filter(|said| is_done(said)).count();
    counts.sum::<u64>().saturating_sub(done as u64)
}

/// Returns whether a payment was not paid here when it was compared, and is by now: there is nothing more to it.
fn is_done(said: &Value) -> bool {
    let kind = FindingKind::from_name(word(said, "finding"));
    let was_open = matches!(
        kind,
        Some(FindingKind::OpenPaidThere | FindingKind::PaidThereOnly | FindingKind::PendingThere)
    );
    was_open && said["twice"] != true && word(said, "state_now") == State::Paid.name()
}

/// Returns whether statements show something of payments that no state here tells: they left twice, came back or moved otherwise.
pub(super) fn show_otherwise(header: &BatchHeader) -> bool {
    let last = header.last_comparisons();
    last.iter().any(|(stated, _)| {
        let count = |kind: FindingKind| stated.summary["found"][kind.name()]["count"].as_u64();
        let kinds = FindingKind::ALL.into_iter();
        let also = stated.summary["also_twice"].as_u64();
        also.unwrap_or(0) > 0
            || kinds
                .filter(|kind| kind.is_discrepancy())
                .any(|kind| count(kind).unwrap_or(0) > 0)
    })
}

struct Statement {
    title: String,
    facts: String,
    digest: String,
    counts: Vec<(&'static str, String, String)>,
    findings: Vec<Finding>,
    missing: u64,
}

struct Finding {
    what: &'static str,
    reference: String,
    id: String,
    line: String,
    amount: String,
    shown: String,
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Writes an amount with its currency, as people read it.
fn money(currency: &str, decimal: &str) -> String {
    format!("{currency} {}", text::grouped(decimal))
}

/// Writes a balance, which has its currency before it.
fn balance(text: &str) -> String {
    text.split_once(' ')
        .map_or_else(|| text.to_owned(), |(currency, told)| money(currency, told))
}

/// Writes amounts by currency.
fn amounts(by_currency: &Value) -> String {
    let amounts = by_currency.as_object().into_iter().flatten();
    let told = |(code, amount): (&String, &Value)| money(code, amount.as_str().unwrap_or_default());
    amounts.map(told).collect::<Vec<_>>().join(" · ")
}

impl Statement {
    fn of(header: &BatchHeader, stated: &Stated, times: usize) -> Self {
        let summary = &stated.summary;
        let mut facts = vec![
            header.zone.format_named(stated.at),
            word(summary, "format").to_owned(),
        ];
        if times > 1 {
            facts.push(format!("compared {times} times, this is the last"));
        }
        for (label, name) in [("account", "account"), ("from", "from"), ("to", "to")] {
            if let Some(value) = summary[name].as_str() {
                facts.push(format!("{label} {value}"));
            }
        }
        facts.push(match summary["balanced"] == true {
            true => format!(
                "{} to {}: its lines add up",
                balance(word(summary, "opening")),
                balance(word(summary, "closing"))
            ),
            false => "no balances, so that a missing line would not be seen".to_owned(),
        });
        let fees = amounts(&summary["fees"]);
        if !fees.is_empty() {
            facts.push(format!("charges {fees}"));
        }
        let (mut counts, mut to_look_at) = (Vec::new(), 0);
        for kind in FindingKind::ALL {
            let found = &summary["found"][kind.name()];
            let Some(count) = found["count"].as_u64() else {
                continue;
            };
            if kind.needs_a_person() {
                to_look_at += count;
            }
            let amounts = amounts(&found["amounts"]);
            counts.push((kind.in_words(), text::count(count), amounts));
        }
        let findings: Vec<Finding> = stated
            .findings
            .iter()
            .take(SHOWN_MAX)
            .map(Finding::of)
            .collect();
        Self {
            title: word(summary, "statement").to_owned(),
            facts: facts.join(" · "),
            digest: word(summary, "digest").to_owned(),
            counts,
            missing: to_look_at.saturating_sub(findings.len() as u64),
            findings,
        }
    }
}

/// Returns where other lines about the payment stand.
fn other_lines(said: &Value) -> Option<String> {
    let lines = said["other_statement_lines"].as_array()?.iter();
    let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
    Some(lines.join(", "))
}

/// Returns where a payment stands by now, if that is something else than when it was compared.
fn now(said: &Value) -> String {
    let name = word(said, "state_now");
    let now = State::ALL.into_iter().find(|state| state.name() == name);
    now.map_or_else(String::new, |now| {
        let done = if is_done(said) {
            ", nothing more to do"
        } else {
            ""
        };
        format!("now {}{done}", now.in_words())
    })
}

impl Finding {
    fn of(said: &Value) -> Self {
        let amount = |amount: &str, currency: &str| match word(said, amount) {
            "" => String::new(),
            told => money(word(said, currency), told),
        };
        let shown = [
            word(said, "statement_line").to_owned(),
            other_lines(said).map_or_else(String::new, |lines| format!("also {lines}")),
            word(said, "statement_date").to_owned(),
            amount("statement_amount", "statement_currency_code"),
            word(said, "statement_reference").to_owned(),
            word(said, "matched").to_owned(),
            now(said),
        ];
        let shown: Vec<String> = shown.into_iter().filter(|part| !part.is_empty()).collect();
        Self {
            what: FindingKind::from_name(word(said, "finding")).map_or("", FindingKind::in_words),
            reference: word(said, "reference").to_owned(),
            id: word(said, "payer_transaction_id").to_owned(),
            line: said["line"]
                .as_u64()
                .map_or_else(String::new, |line| line.to_string()),
            amount: amount("amount", "currency_code"),
            shown: shown.join(" · "),
        }
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section id="statements">
<h2>Statements</h2>
{%- for statement in statements %}
<div class="group">
<h3>{{ statement.title }}</h3>
<p class="meaning">{{ statement.facts }} <small class="id">SHA-256 {{ statement.digest }}</small></p>
<table class="totals">
<thead><tr><th>Found</th><th class="n">Count</th><th class="n">Amount</th></tr></thead>
<tbody>
{%- for (what, count, amounts) in statement.counts %}
<tr><th scope="row">{{ what }}</th><td class="n">{{ count }}</td><td class="n">{{ amounts }}</td></tr>
{%- endfor %}
</tbody>
</table>
{%- if !statement.findings.is_empty() %}
<details><summary>Findings that a person must look at</summary>
<table class="rows excepted">
<thead><tr><th>Line</th><th>Payment</th><th>Found</th><th class="n">Amount</th><th>In the statement</th></tr></thead>
<tbody>
{%- for row in statement.findings %}
<tr><td>{{ row.line }}</td><td>{{ row.reference }} <small class="id">{{ row.id }}</small></td><td>{{ row.what }}</td><td class="n">{{ row.amount }}</td><td>{{ row.shown }}</td></tr>
{%- endfor %}
</tbody>
</table>
{%- if statement.missing > 0 %}
<p class="quiet">{{ text::count(*statement.missing) }} more were found, and counted above.</p>
{%- endif %}
</details>
{%- endif %}
</div>
{%- endfor %}
</section>
"#
)]
struct Statements {
    statements: Vec<Statement>,
}
