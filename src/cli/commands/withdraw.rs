//! `cancel BATCH --rejected`: rejected rows that shall not be paid.

use serde_json::json;

use crate::cli::Error;
use crate::cli::exit::ExitStatus;
use crate::cli::order_signing::{Given, OrderSigning, nothing_to_order};
use crate::cli::session::Session;
use crate::cli::terminal::ask::confirmed;
use crate::cli::terminal::output;
use crate::cli::words::found::without_numbers;
use crate::cli::words::told::{states, tell};
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Journal, RejectedFound};

/// The order: which rows, and why.
pub(in crate::cli) struct Order {
    pub(in crate::cli) names: Vec<String>,
    pub(in crate::cli) reason: String,
    pub(in crate::cli) yes: bool,
}

/// Returns the reason of an order, if it has one.
///
/// # Errors
/// A reason that says nothing.
pub(in crate::cli) fn reason_of(reason: Option<String>) -> Result<Option<String>, Error> {
    match reason {
        Some(reason) if reason.trim().is_empty() => Err(Error::refused("--reason is empty")
            .hint("the decision is kept for ever: say what it rests on")),
        reason => Ok(reason),
    }
}

/// Shows what is withdrawn, asks, and records it.
pub(in crate::cli) async fn rejected(
    session: &Session,
    (journal, signing): (&Journal, &OrderSigning<'_>),
    batch: BatchName,
    order: Order,
) -> Result<ExitStatus, Error> {
    let Order { names, reason, yes } = order;
    let reason = reason_of(Some(reason))?.unwrap_or_default();
    let shown = journal.to_withdraw(batch.clone(), names.clone()).await?;
    if shown.tally.count == 0 && signing.only_prints() {
        return Err(nothing_to_order());
    }
    if shown.tally.count == 0 {
        let standing = journal.standing(batch.clone()).await?;
        tell(
            session,
            json!({"withdrawn": 0}),
            "0 rejected rows withdrawn",
        );
        session.note(&format!(
            "no rejected row of batch {batch} waits to be mended; its payments are: {}",
            states(&standing)
        ));
        return Ok(ExitStatus::Done);
    }
    let mut lines: Vec<String> = shown.rows.iter().map(row_text).collect();
    match shown.tally.count - shown.rows.len() as u64 {
        0 => {}
        more => lines.push(format!(
            "  and {more} more; `disburse report` lists them all"
        )),
    }
    for line in &lines {
        match yes {
            true => session.note(line),
            false => output::note(line),
        }
    }
    let amounts = match shown.tally.amounts.iter().next() {
        Some(_) => format!(
            ", {} as far as their amounts could be read",
            output::amounts(&shown.tally.amounts)
        ),
        None => String::new(),
    };
    let what = format!(
        "withdraw {} of batch {batch}{amounts}: under this batch name they can never be mended or paid",
        output::counted(shown.tally.count, "rejected row")
    );
    confirmed(yes, &what).await?;
    let given = signing.give(async |journal| {
        let (batch, names, reason) = (batch.clone(), names.clone(), reason.clone());
        journal
            .withdraw_rejected(batch, names, shown.tally.clone(), reason, Timestamp::now())
            .await
    });
    let count = match given.await? {
        Given::Done(count) => count,
        Given::Not(status) => return Ok(status),
    };
    let standing = journal.standing(batch.clone()).await?;
    tell(
        session,
        json!({"withdrawn": count}),
        &format!(
            "{} withdrawn; the rows of batch {batch} are now: {}",
            output::counted(count, "rejected row"),
            states(&standing)
        ),
    );
    Ok(ExitStatus::Done)
}

fn row_text(row: &RejectedFound) -> String {
    let reference = match row.reference.as_str() {
        "" => String::new(),
        reference => format!(", {}", output::name(reference)),
    };
    let amount = format!("{} {}", row.currency_code, row.amount);
    format!(
        "  line {} of {}{reference}: {} to {}, {}",
        row.line,
        output::name(&row.file.name),
        amount.trim(),
        without_numbers(&row.msisdn),
        without_numbers(&row.errors)
    )
}
