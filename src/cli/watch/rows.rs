//! Rows of a batch, what a search finds, and the history of one payment.

use super::batch::failed_rows;
use super::reading::{Pages, shown, trouble};
use crate::cli::Error;
use crate::cli::commands::explain;
use crate::cli::commands::report::header_for_advice;
use crate::cli::terminal::output;
use crate::cli::words::found;
use crate::cli::words::rows::state_name;
use crate::domain::BatchName;
use crate::journal::{FOUND_MAX, PAGE_ROWS, Reader, Snapshot, StandingPayment, StandingRejected};
use crate::ledger::names::{By, PaymentName};
use crate::lifecycle::State;
use crate::report::{StateName, meaning, remedy};
use crate::watch::{Found, Listed, Payment, Rows, Told, Trouble, Wanted};

/// Which rows are wanted.
#[derive(Clone, Copy)]
enum Kind {
    Payments(State),
    Rejected,
}

fn kind_of(name: &str) -> Option<Kind> {
    if name == StateName::Rejected.as_str() {
        return Some(Kind::Rejected);
    }
    let named = State::ALL.into_iter().find(|state| state.name() == name);
    named.map(Kind::Payments)
}

pub(super) fn view(pages: &Pages, batch: &BatchName, wanted: &Wanted) -> Result<Rows, Trouble> {
    let kind = kind_of(&wanted.state)
        .ok_or_else(|| Trouble::NotThere("There is no state of this name.".to_owned()))?;
    read(pages, batch, kind, wanted).map_err(|error| trouble(&error))
}

fn read(pages: &Pages, batch: &BatchName, kind: Kind, wanted: &Wanted) -> Result<Rows, Error> {
    let reader = pages.reader()?;
    let snapshot = reader.snapshot(batch)?;
    let (rows, next, state) = match kind {
        Kind::Payments(state) => {
            let found = snapshot.standing_in(state, wanted.code, wanted.after)?;
            let next = (found.len() > PAGE_ROWS).then(|| found[PAGE_ROWS - 1].seq.to_string());
            let name = state_name(state);
            let rows = found
                .iter()
                .take(PAGE_ROWS)
                .map(|row| payment_row(batch, name, row));
            (rows.collect::<Vec<_>>(), next, name)
        }
        Kind::Rejected => {
            let after = wanted.after.max(0).unsigned_abs();
            let found = snapshot.standing_rejected(after)?;
            let next = (found.len() > PAGE_ROWS).then(|| (after + PAGE_ROWS as u64).to_string());
            let rows = found
                .iter()
                .take(PAGE_ROWS)
                .map(|row| rejected_row(batch, row));
            (rows.collect(), next, StateName::Rejected)
        }
    };
    let code = wanted
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    let advice = advice(
        pages,
        (&reader, &snapshot),
        batch,
        (state, wanted.code),
        &rows,
    )?;
    let standing = snapshot.standing()?;
    Ok(Rows {
        batch: batch.to_string(),
        at: pages.as_of(&standing),
        heading: format!("Rows: {}{code}", state.in_words()),
        told: advice,
        next: next.map(|after| {
            let code = wanted
                .code
                .map(|code| format!("&code={code}"))
                .unwrap_or_default();
            format!("state={}{code}&after={after}", wanted.state)
        }),
        rows,
    })
}

/// Says what the state means, and what to do; nothing where nothing is to be done.
fn advice(
    pages: &Pages,
    (reader, snapshot): (&Reader, &Snapshot<'_>),
    batch: &BatchName,
    (state, code): (StateName, Option<i32>),
    rows: &[Listed],
) -> Result<Vec<String>, Error> {
    if rows.is_empty() || state == StateName::Paid {
        return Ok(Vec::new());
    }
    let standing = snapshot.standing()?;
    let header = header_for_advice(
        &pages.session,
        (reader, snapshot),
        &standing,
        failed_rows(batch),
    )?;
    let code = code.map(i64::from);
    // Failures of several kinds have no remedy in common.
    if state == StateName::Failed && code.is_none() {
        return Ok(Vec::new());
    }
    let example = rows.first().map(|row| row.id.as_str());
    let text = format!(
        "{} {}",
        meaning(state, code, false, header.behind.is_some()),
        remedy(state, code, &header, example)
    );
    Ok(shown([text]))
}

fn whose(reference: &str, names: &str) -> String {
    let parts = [reference, names].map(output::name);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn payment_row(batch: &BatchName, state: StateName, row: &StandingPayment) -> Listed {
    let amount = row.money.map(|money| {
        let digits = output::grouped(&money.to_string());
        format!("{} {digits}", money.currency)
    });
    let said = match row.code {
        Some(code) => format!("{code} {}", row.description),
        None => row.description.clone(),
    };
    Listed {
        batch: batch.to_string(),
        id: row.id.to_string(),
        state: state.as_str(),
        words: state.in_words().to_owned(),
        place: format!("line {} of {}", row.line, output::name(&row.file)),
        whose: whose(&row.reference, &row.names),
        to: row.msisdn.masked(),
        amount: amount.unwrap_or_else(|| "as its bill says".to_owned()),
        said: output::name(said.trim()),
    }
}

fn rejected_row(batch: &BatchName, row: &StandingRejected) -> Listed {
    let amount = format!("{} {}", row.currency_code, row.amount);
    Listed {
        batch: batch.to_string(),
        id: row
            .name
            .as_ref()
            .map_or_else(|| row.reference.clone(), ToString::to_string),
        state: StateName::Rejected.as_str(),
        words: StateName::Rejected.in_words().to_owned(),
        place: format!("line {} of {}", row.line, output::name(&row.file)),
        whose: whose(&row.reference, &row.names),
        to: output::name(&found::without_numbers(&row.msisdn)),
        amount: output::name(amount.trim()),
        said: output::name(&found::without_numbers(&row.errors)),
    }
}

pub(super) fn found(pages: &Pages, text: &str) -> Result<Found, Error> {
    if text.is_empty() {
        return Ok(Found {
            told: "Type a reference, a payerTransactionID, a phone number with its country code, or a part of a name.".to_owned(),
            ..Found::default()
        });
    }
    let found = found::search(&pages.session, &pages.reader()?, text)?;
    let told = match found.len() {
        0 => format!(
            "No row of this journal has “{}” as its reference, its identifier or its number, or in its name. A part of a name has three \
             letters or more.",
            output::name(text)
        ),
        count if count > FOUND_MAX => {
            format!("These are the first {FOUND_MAX} rows that were found; there are more.")
        }
        count => format!("{} found.", output::counted(count as u64, "row")),
    };
    let rows = found
        .into_iter()
        .take(FOUND_MAX)
        .map(|(batch, name, row)| Listed {
            batch: batch.to_string(),
            id: name.text,
            state: row.state.as_str(),
            words: row.state.in_words().to_owned(),
            place: format!("line {} of {}", row.line, output::name(&row.file)),
            whose: output::name(row.whose.trim_start_matches(", ")),
            to: output::name(&row.to),
            amount: output::name(&row.amount),
            said: String::new(),
        });
    Ok(Found {
        text: text.to_owned(),
        told,
        rows: rows.collect(),
    })
}

pub(super) fn payment(pages: &Pages, batch: &BatchName, id: &str) -> Result<Payment, Error> {
    let name = PaymentName {
        text: id.to_owned(),
        by: By::Either,
    };
    let reader = pages.reader()?;
    // Tokens are money to whoever reads them: the page never shows one whole.
    let told = explain::told(&pages.session, &reader, batch, &name, false)?;
    let told = told.into_iter().map(|one| Told {
        heading: output::name(&one.heading),
        standing: shown(one.standing),
        history: shown(one.history),
    });
    let standing = reader.snapshot(batch)?.standing()?;
    Ok(Payment {
        batch: batch.to_string(),
        at: pages.as_of(&standing),
        title: format!("Payment {}", output::name(id)),
        told: told.collect(),
    })
}
