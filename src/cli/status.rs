//! `status`: counts and amounts per state.

use serde_json::{Map, Value, json};

use super::arguments::StatusArguments;
use super::bills::unpriced_text;
use super::session::{Session, batch_name};
use super::verify::head_json;
use super::{Error, Verdict, output};
use crate::domain::{BatchName, Tally};
use crate::journal::{Reader, Standing};
use crate::lifecycle::State;

/// `disburse status`.
pub(super) fn status(session: &Session, arguments: &StatusArguments) -> Result<Verdict, Error> {
    let reader = Reader::open(session.journal_path())?;
    match &arguments.batch {
        Some(name) => one(session, &reader, &batch_name(name)?),
        None => all(session, &reader),
    }
}

fn one(session: &Session, reader: &Reader, batch: &BatchName) -> Result<Verdict, Error> {
    let standing = reader.snapshot(batch)?.standing()?;
    if session.common.json {
        output::json(&to_json(batch, &standing));
    } else {
        output::print(&table(&standing));
        if standing.unpriced > 0 {
            output::line(&unpriced_text(
                standing.unpriced,
                &format!(
                    "disburse run {batch} --pay-due takes what is due; load --bills fixes it without posting"
                ),
            ));
        }
        for lane in &standing.held {
            output::line(&format!(
                "held for want of float: {} (disburse resume-lane {batch} {})",
                lane.service, lane.service
            ));
        }
    }
    Ok(Verdict::Done)
}

fn all(session: &Session, reader: &Reader) -> Result<Verdict, Error> {
    let mut standings = Vec::new();
    for batch in reader.batches()? {
        let standing = reader.snapshot(&batch)?.standing()?;
        standings.push((batch, standing));
    }
    if session.common.json {
        output::json(
            &standings
                .iter()
                .map(|(batch, standing)| to_json(batch, standing))
                .collect(),
        );
        return Ok(Verdict::Done);
    }
    if standings.is_empty() {
        session.note("the journal holds no batch yet; `disburse load FILE --batch NAME` makes one");
        return Ok(Verdict::Done);
    }
    let rows = standings
        .iter()
        .map(|(batch, standing)| {
            let total = standing.total();
            let finished = if standing.is_finished() {
                "finished"
            } else {
                "open"
            };
            vec![
                batch.to_string(),
                finished.to_owned(),
                output::grouped(&standing.of(State::Paid).count.to_string()),
                output::grouped(&total.count.to_string()),
                output::amounts(&total.amounts),
            ]
        })
        .collect();
    output::print(&output::table(
        &["batch", "", "paid", "count", "amount"],
        rows,
        &[2, 3, 4],
    ));
    Ok(Verdict::Done)
}

/// States with their tallies, rejected rows among them, in the order of a payment's life.
fn states(standing: &Standing) -> Vec<(&'static str, Tally)> {
    let mut states: Vec<(&'static str, Tally)> = State::ALL
        .into_iter()
        .map(|state| (state.name(), standing.of(state)))
        .collect();
    let unpriced = Tally {
        count: standing.unpriced,
        ..Tally::default()
    };
    states.insert(0, ("unpriced", unpriced));
    let after_failed = states
        .iter()
        .position(|(name, _)| *name == "failed")
        .map_or(0, |at| at + 1);
    states.insert(after_failed, ("rejected", standing.rejected.clone()));
    states
}

/// Returns the standing for programs, in the shape that the contract names.
pub(super) fn to_json(batch: &BatchName, standing: &Standing) -> Value {
    let total = standing.total();
    let states: Map<String, Value> = states(standing)
        .into_iter()
        .map(|(name, tally)| {
            (
                name.to_owned(),
                json!({"count": tally.count, "amounts": amounts(&tally)}),
            )
        })
        .collect();
    json!({
        "batch": batch.as_str(),
        "finished": standing.is_finished(),
        "count": total.count,
        "amounts": amounts(&total),
        "states": states,
        "evidence": head_json(&standing.evidence),
        "held_lanes": standing.held.iter().map(|lane| lane.service.as_str()).collect::<Vec<_>>(),
    })
}

fn amounts(tally: &Tally) -> Value {
    json!(tally.amounts.decimals())
}

/// Returns the table of counts and amounts per state, with the total they add up to.
pub(super) fn table(standing: &Standing) -> String {
    let row = |name: &str, tally: &Tally| {
        vec![
            name.to_owned(),
            output::grouped(&tally.count.to_string()),
            output::amounts(&tally.amounts),
        ]
    };
    let mut rows: Vec<Vec<String>> = states(standing)
        .iter()
        .filter(|(_, tally)| tally.count > 0)
        .map(|(name, tally)| row(name, tally))
        .collect();
    rows.push(row("control total", &standing.total()));
    output::table(&["state", "count", "amount"], rows, &[1, 2])
}
