//! What `archive` says of what it has made, would make, and leaves where it is.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::status;
use crate::cli::Error;
use crate::cli::archive::names;
use crate::cli::archive::receipt::{self, Receipt};
use crate::cli::session::{Session, sandbox_flag};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Forgotten, Reader, Standing};
use crate::ledger::Purpose;
use crate::ledger::archive::Stays;
use crate::lifecycle::State;

/// A batch that is archived.
pub(super) struct Chosen {
    pub(super) batch: BatchName,
    pub(super) first_load: Timestamp,
    pub(super) newest: Timestamp,
    pub(super) standing: Standing,
}

/// A batch that stays, and why.
pub(super) type Stay = (BatchName, Purpose, Stays);

/// An archive in its place.
pub(super) struct Made {
    pub(super) path: PathBuf,
    pub(super) receipt: Receipt,
    /// It was made by this command; otherwise it was there.
    pub(super) is_new: bool,
}

/// Batches that stay because they are young are only counted.
fn is_young(stay: &&Stay) -> bool {
    matches!(stay.2, Stays::Young { .. })
}

/// Refuses batches that were named and may not be archived.
pub(super) fn refusal(session: &Session, stays: &[Stay]) -> Error {
    let zone = session.zone(false);
    let said: Vec<String> = stays
        .iter()
        .map(|(batch, _, why)| format!("batch {batch} is not archived: {}", why.in_words(&zone)))
        .collect();
    stays.iter().fold(
        Error::refused(format!("{}; nothing was written", said.join("; "))),
        |error, (batch, purpose, why)| error.hint(why.hint(batch.as_str(), sandbox_flag(*purpose))),
    )
}

/// Says what would be archived.
pub(super) fn planned(
    session: &Session,
    reader: &Reader,
    (chosen, stays): (&[Chosen], &[Stay]),
    (out, encrypted): (Option<&Path>, bool),
) -> Result<(), Error> {
    let bytes = chosen
        .iter()
        .map(|one| reader.bytes_of(&one.batch))
        .collect::<Result<Vec<u64>, _>>()?;
    let file = |one: &Chosen| {
        let name = names::of_archive(&one.batch, (one.first_load, one.newest), encrypted);
        out.map_or_else(|| PathBuf::from(&name), |out| out.join(&name))
    };
    if session.common.json {
        let planned = chosen.iter().zip(&bytes).map(|(one, bytes)| {
            let mut value = figures(one);
            value["file"] = json!(file(one));
            value["bytes_in_journal"] = json!(bytes);
            value
        });
        output::json(&json!({
            "dry_run": true, "would_archive": planned.collect::<Vec<_>>(), "stays": stays_json(stays),
        }));
        return Ok(());
    }
    for (one, bytes) in chosen.iter().zip(&bytes) {
        let total = one.standing.total();
        output::line(&format!(
            "batch {}: {}, {}, about {} bytes in the journal, newest evidence of {}: would go to {}",
            one.batch,
            output::counted(total.count, "row"),
            output::amounts(&total.amounts),
            output::grouped(&bytes.to_string()),
            session.zone(false).format_named(one.newest),
            output::name(&file(one).display().to_string())
        ));
    }
    tell_stays(session, chosen.len(), stays);
    Ok(())
}

/// Says what nobody can do any more once the people of these batches are in their archives; `None` where nothing of them is unpaid.
pub(super) fn never_again(chosen: &[Chosen]) -> Option<String> {
    let unpaid: u64 = chosen
        .iter()
        .map(|one| one.standing.of(State::Failed).count + one.standing.rejected.count)
        .sum();
    (unpaid > 0).then(|| {
        format!(
            "{} failed or rejected: once names and numbers are in the archive alone, nobody can retry or mend these. Pay them first, or keep the names with --keep-people",
            match unpaid {
                1 => "1 row is".to_owned(),
                _ => format!("{} are", output::counted(unpaid, "row")),
            }
        )
    })
}

/// Says of one archive that it is there.
pub(super) fn made(made: &Made) {
    let Receipt {
        batch,
        bytes,
        sha256,
        plain_sha256,
        evidence,
        count,
        ..
    } = &made.receipt;
    let name = output::name(&made.path.display().to_string());
    let how = match (made.is_new, plain_sha256) {
        (true, None) => "read back, and its evidence verified",
        (true, Some(_)) => "read back, its evidence verified, and encrypted",
        (false, _) => "was there already, and is of the batch as it stands",
    };
    output::line(&format!(
        "{name}: batch {batch}, {}, {} bytes: {how}",
        output::counted(*count, "row"),
        output::grouped(&bytes.to_string())
    ));
    output::line(&format!(
        "evidence: {}, head {}",
        output::counted(evidence.rows, "row"),
        evidence.head
    ));
    output::line(&format!("sha256: {sha256}"));
    if let Some(plain) = plain_sha256 {
        output::line(&format!("sha256 before it was encrypted: {plain}"));
    }
}

/// Says what became of the people of a batch in the journal.
pub(super) fn people(session: &Session, receipt: &Receipt, forgotten: Option<Forgotten>) {
    let batch = &receipt.batch;
    session.note(&match forgotten {
        None => format!("the journal still has the names and numbers of batch {batch}"),
        Some(forgotten) => removed(batch, receipt.count, forgotten),
    });
}

/// Says what was removed by rows, as everywhere; a payment that was retried has several, and each has lost its person.
fn removed(batch: &str, rows: u64, forgotten: Forgotten) -> String {
    let retries = match forgotten.payments + forgotten.rejected > rows {
        true => ", retries included",
        false => "",
    };
    format!(
        "names, numbers and references of batch {batch} ({}{retries}) are removed from the journal; `disburse verify {batch}` still proves the batch",
        output::counted(rows, "row")
    )
}

/// Says what else there is to say at the end.
pub(super) fn end(session: &Session, made: &[(Made, Option<Forgotten>)], stays: &[Stay]) {
    if session.common.json {
        let archived = made.iter().map(|(made, forgotten)| {
            let mut value = serde_json::to_value(&made.receipt).unwrap_or_default();
            value["file"] = json!(made.path);
            value["receipt"] = json!(receipt::beside(&made.path));
            value["made"] = json!(made.is_new);
            value["people_forgotten"] = json!(forgotten.map(|rows| rows.payments + rows.rejected));
            value
        });
        output::json(&json!({
            "archived": archived.collect::<Vec<_>>(), "stays": stays_json(stays),
        }));
        return;
    }
    tell_stays(session, made.len(), stays);
}

fn tell_stays(session: &Session, chosen: usize, stays: &[Stay]) {
    for (batch, purpose, why) in stays.iter().filter(|stay| !is_young(stay)) {
        let why_told = why.in_words(&session.zone(false));
        session.note(&format!("batch {batch} stays: {why_told}"));
        session.note(&format!(
            "  {}",
            why.hint(batch.as_str(), sandbox_flag(*purpose))
        ));
    }
    match stays.iter().filter(is_young).count() {
        0 => {}
        1 => session.note("1 batch is younger, and stays"),
        many => session.note(&format!("{many} batches are younger, and stay")),
    }
    if chosen == 0 {
        session.note("no batch is to be archived");
    }
}

fn figures(one: &Chosen) -> Value {
    let told = status::to_json(&one.batch, &one.standing);
    json!({
        "batch": told["batch"], "count": told["count"], "amounts": told["amounts"], "states": told["states"],
        "evidence": told["evidence"], "newest_evidence": one.newest.to_string(),
    })
}

fn stays_json(stays: &[Stay]) -> Value {
    let told = stays.iter().map(|(batch, purpose, why)| {
        json!({
            "batch": batch.as_str(), "why": why.to_string(), "hint": why.hint(batch.as_str(), sandbox_flag(*purpose)),
        })
    });
    told.collect()
}

/// `1 batch`, or `3 batches`; `how`: what they are, with a blank behind it.
pub(super) fn batches(count: usize, how: &str) -> String {
    let noun = if count == 1 { "batch" } else { "batches" };
    format!("{} {how}{noun}", output::grouped(&count.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_figure_stands_for_a_batch_however_often_its_payments_were_retried() {
        for (payments, rejected, expected) in
            [(35, 4, "(39 rows)"), (37, 4, "(39 rows, retries included)")]
        {
            let told = removed("p", 39, Forgotten { payments, rejected });
            assert!(
                told.contains(&format!("of batch p {expected} are removed")),
                "{told}"
            );
        }
    }
}
