//! `report --pain002`: the answer to the message that a batch was loaded from.

use std::path::Path;

use crate::cli::Error;
use crate::cli::files::own_file::{self, Staged, unwritable};
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::cli::words::rows::{
    origin_in, rejected_origin, scheduled_note, set_aside_name, state_name,
};
use crate::domain::{BatchName, ORIGIN, Origin, Timestamp};
use crate::journal::{self, ListedRow, Reader, ReportRow, Snapshot};
use crate::report::StateName;
use crate::report::pain002::{Answer, Answered, Counts, StatusReport, status_of};

/// Messages that a batch was loaded from are remembered up to so many.
const MESSAGES_MAX: usize = 1_000;
/// Messages that are named when it is open which is meant.
const NAMED_MAX: usize = 5;

/// What was written.
pub(in crate::cli) struct Told {
    file: String,
    answer: Answer,
}

impl Told {
    pub(in crate::cli) fn to_text(&self) -> String {
        format!(
            "{}: {} to message {}, {} of {}",
            self.file,
            self.answer.version(),
            output::name(&self.answer.message),
            self.answer.counts.group(),
            output::counted(self.answer.counts.total(), "transfer")
        )
    }

    pub(in crate::cli) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "pain002": self.file,
            "version": self.answer.version(),
            "message": self.answer.message,
            "group_status": self.answer.counts.group(),
            "transfers": self.answer.counts.total(),
        })
    }
}

/// Writes the answer to one message of a batch.
pub(in crate::cli) fn write(
    session: &Session,
    batch: &BatchName,
    file: &Path,
    message: Option<&str>,
) -> Result<Told, Error> {
    let flag = "--pain002";
    let failed = |error: std::io::Error| unwritable(file, flag, &error);
    let reader = Reader::open(session.location()?)?;
    // One moment of the journal: what is counted is what is told.
    let snapshot = reader.snapshot(batch)?;
    let answer = answer(&snapshot, batch, message)?;
    own_file::write(file, flag, |staged: Staged| {
        let mut report = StatusReport::create(staged, &answer).map_err(failed)?;
        each(&snapshot, |row| {
            match row.origin.message == answer.message && row.origin.kind == answer.kind {
                true => report.add(row).map_err(failed),
                false => Ok(()),
            }
        })?;
        report.finish().map_err(failed)
    })?;
    Ok(Told {
        file: output::name(&file.display().to_string()),
        answer,
    })
}

/// Finds the message that is answered, and counts how its transfers stand.
fn answer(
    snapshot: &Snapshot<'_>,
    batch: &BatchName,
    message: Option<&str>,
) -> Result<Answer, Error> {
    let mut found: Vec<(String, String, Counts)> = Vec::new();
    each(snapshot, |row| {
        let Origin {
            message: name,
            kind,
            ..
        } = row.origin;
        if message.is_some_and(|wanted| wanted != name) {
            return Ok(());
        }
        let known = found
            .iter()
            .position(|known| known.0 == *name && known.1 == *kind);
        let at = match known {
            Some(at) => at,
            None if found.len() < MESSAGES_MAX => {
                found.push((name.clone(), kind.clone(), Counts::default()));
                found.len() - 1
            }
            None => return Ok(()),
        };
        found[at].2.add(status_of(row.state));
        Ok(())
    })?;
    let names: Vec<String> = found
        .iter()
        .take(NAMED_MAX)
        .map(|(name, ..)| output::name(name))
        .collect();
    let mut found = found.into_iter();
    match (found.next(), found.next(), message) {
        (Some((message, kind, counts)), None, _) => {
            let mut name = snapshot.standing()?.evidence.hex();
            name.truncate(32);
            Ok(Answer {
                name,
                at: Timestamp::now(),
                kind,
                message,
                counts,
            })
        }
        (Some(_), Some(_), _) => Err(Error::refused(format!(
            "batch {batch} was loaded from several messages: {}",
            names.join(", ")
        ))
        .hint("say which one is answered: --message ID")),
        (None, _, Some(message)) => Err(Error::refused(format!(
            "batch {batch} has no row of a message {}",
            output::name(message)
        ))
        .hint("disburse explain names the message of a payment")),
        (None, _, None) => Err(Error::refused(format!(
            "batch {batch} was loaded from no pain.001 message, so that there is nothing to answer"
        ))
        .hint("leave --pain002 out; what a batch was loaded from before this was kept cannot be answered either")),
    }
}

/// Tells every row that came in a message.
fn each(
    snapshot: &Snapshot<'_>,
    mut take: impl FnMut(&Answered<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    snapshot.list(|row| match row {
        ListedRow::Plain(row) => {
            let Some(origin) = Origin::parse(row.origin) else {
                return Ok(());
            };
            let note = scheduled_note(row.state, Some(row.not_before)).unwrap_or_default();
            take(&Answered {
                origin: &origin,
                id: row.id,
                state: state_name(row.state),
                code: row.code.map(i64::from),
                text: &note,
                money: Some(row.money),
                receipt: row.receipt_number,
            })
        }
        ListedRow::Other(row) => other(&row, &mut take),
    })?;
    snapshot.each_mended(|cells, errors, extra| {
        let Some(origin) = origin_in(cells) else {
            return Ok(());
        };
        let mended: Vec<(String, String)> = serde_json::from_str(extra).unwrap_or_default();
        let mended = mended.iter().find(|(name, _)| name == ORIGIN);
        let of = mended.and_then(|(_, text)| Origin::parse(text));
        // The mended row answers for it in the same message; in another one it was rejected, and stays so.
        if of.is_some_and(|of| (&of.message, &of.kind) == (&origin.message, &origin.kind)) {
            return Ok(());
        }
        take(&Answered {
            origin: &origin,
            id: "",
            state: StateName::Rejected,
            code: None,
            text: errors,
            money: None,
            receipt: "",
        })
    })
}

fn other(
    row: &ReportRow,
    take: &mut impl FnMut(&Answered<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match row {
        ReportRow::Payment(record) => {
            let row = &record.payment.instruction;
            let Some(origin) = row.origin().and_then(Origin::parse) else {
                return Ok(());
            };
            let note = scheduled_note(record.life.state, row.not_before_text());
            // What the gateway said of what is not rejected may be a token, which is money to whoever has it.
            let said = match record.life.state {
                crate::lifecycle::State::Failed => record.status_description.clone(),
                _ => None,
            };
            take(&Answered {
                origin: &origin,
                id: record.payment.id.as_str(),
                state: state_name(record.life.state),
                code: record.life.code.map(i64::from),
                text: &note.or(said).unwrap_or_default(),
                money: Some(row.money),
                receipt: record.receipt_number.as_deref().unwrap_or_default(),
            })
        }
        ReportRow::Unpriced(record) => {
            let Some(origin) = record.row.origin().and_then(Origin::parse) else {
                return Ok(());
            };
            take(&Answered {
                origin: &origin,
                id: record.id.as_str(),
                state: match record.withdrawn_at {
                    Some(_) => StateName::Cancelled,
                    None => StateName::Unpriced,
                },
                code: None,
                text: "",
                money: None,
                receipt: "",
            })
        }
        ReportRow::Rejected(row) => rejected(row, StateName::Rejected, take),
        ReportRow::Withdrawn(row, withdrawal) => {
            rejected(row, set_aside_name(Some(withdrawal)), take)
        }
    }
}

fn rejected(
    row: &journal::RejectedRow,
    state: StateName,
    take: &mut impl FnMut(&Answered<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(origin) = rejected_origin(row) else {
        return Ok(());
    };
    take(&Answered {
        origin: &origin,
        id: "",
        state,
        code: None,
        text: &row.errors,
        money: row.money,
        receipt: "",
    })
}
