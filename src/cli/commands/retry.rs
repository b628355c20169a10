//! `retry`: proven failures are paid anew, as rows of a new generation.

use std::collections::BTreeMap;

use serde_json::json;

use crate::cli::Error;
use crate::cli::arguments::RetryArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::ask::confirmed;
use crate::cli::terminal::output;
use crate::cli::words::next::next_text;
use crate::cli::words::repeats;
use crate::cli::words::told::{states, tell};
use crate::domain::{BatchName, Tally, Timestamp};
use crate::journal::{
    FAILURES_SHOWN, Failure, Failures, Journal, PaidSince, Reader, ToRetry, Unretried, WhyUnretried,
};
use crate::ledger::Purpose;
use crate::ledger::decisions::ByCode;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::recovery::OrdersLost;
use crate::lifecycle::{CodeTable, State};

/// `disburse retry`.
pub(in crate::cli) async fn retry(
    session: &Session,
    arguments: RetryArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let journal = session.journal()?;
    if arguments.sandbox && journal.standing(batch.clone()).await?.purpose == Purpose::Gateway {
        return Err(Error::refused(format!(
            "batch {batch} is not a rehearsal; nothing was ordered"
        ))
        .hint("leave --sandbox out"));
    }
    // The rows of a failure may have been loaded anew, and paid. What is a repeat is configured; without a configuration it is
    // what it is by default.
    let repeats = repeats::of_retry(session);
    let now = Timestamp::now();
    let judged = || Some((repeats.clone(), now));
    let which = which_failures(&arguments);
    let shown = journal
        .to_retry(batch.clone(), which.clone(), judged())
        .await?;
    let nothing = match shown.by_code.is_empty() && which.named.is_empty() {
        true => nothing_to_retry(&journal, &batch, arguments.code).await?,
        false => "nothing is to be paid again".to_owned(),
    };
    refuse_read_otherwise(session, &batch, &shown.by_code)?;
    if !shown.by_code.is_empty() {
        warn_of_statements(session, &batch)?;
        confirm_retry(
            session,
            &batch,
            &shown,
            arguments.yes || arguments.signing.print,
        )
        .await?;
    }
    // Before: those that are paid anew by then are no failures any more.
    let unretried = journal
        .unretried(batch.clone(), which.clone(), judged())
        .await?;
    let purpose = journal.standing(batch.clone()).await?.purpose;
    let signing = OrderSigning::of(session, &journal, purpose, &arguments.signing)?;
    let given = signing.give(async |journal| {
        let (batch, which) = (batch.clone(), which.clone());
        let (by_code, repeats) = (shown.by_code.clone(), Some(repeats.clone()));
        let now = Timestamp::now();
        journal
            .retry_shown(batch, which, by_code, repeats, now)
            .await
    });
    let count = match given.await? {
        Given::Done(count) => count,
        Given::Not(status) => return Ok(status),
    };
    let anew_hint = anew_hint(journal.orders_lost().await?);
    if count == 0
        && let Some(error) = none_retried(&batch, &unretried, anew_hint)
    {
        return Err(error);
    }
    tell(
        session,
        json!({"retried": count, "not_retried": unretried.iter().map(unretried_json).collect::<Vec<_>>()}),
        &retried_text(count, nothing),
    );
    tell_unretried(&batch, &unretried, anew_hint);
    if count > 0 {
        session.note(&next_text(session, &batch)?);
    }
    Ok(ExitStatus::Done)
}

/// Warns of failures that a statement has shown in another way than as not paid.
fn warn_of_statements(session: &Session, batch: &BatchName) -> Result<(), Error> {
    let reader = Reader::open(session.location()?)?;
    let snapshot = reader.snapshot(batch)?;
    let mut failed = Vec::new();
    for id in snapshot.stated_otherwise()? {
        let name = PaymentName {
            text: id.to_string(),
            by: By::Identifier,
        };
        let records = snapshot.find(name)?;
        let own = records.iter().find(|record| record.payment.id == id);
        failed.extend(
            own.filter(|record| record.life.state == State::Failed)
                .map(|_| id),
        );
    }
    let Some(first) = failed.first() else {
        return Ok(());
    };
    output::complain(
        "warning",
        &format!(
            "statements have shown something of {} of batch {batch}: disburse explain {batch} --id {first} tells what of {}. Make sure that \
             no money left before you pay {} again",
            output::counted(failed.len() as u64, "failed payment"),
            if failed.len() == 1 { "it" } else { "the first" },
            if failed.len() == 1 { "it" } else { "them" },
        ),
    );
    Ok(())
}

fn retried_text(count: u64, nothing: String) -> String {
    match count {
        0 => nothing,
        1 => "1 failed payment is to be paid again, under a new identifier".to_owned(),
        _ => format!(
            "{} are to be paid again, each under a new identifier",
            output::counted(count, "failed payment")
        ),
    }
}

/// Refuses a retry of what failed by a code that the tables in force do not call a failure, until a run has asked about it: it may have been
/// paid.
fn refuse_read_otherwise(
    session: &Session,
    batch: &BatchName,
    failed: &ByCode,
) -> Result<(), Error> {
    let settings = session.settings(false, Vec::new()).ok();
    // Without a configuration the codes mean what they mean by default.
    let codes = settings
        .as_ref()
        .map_or_else(CodeTable::default, gateway::codes);
    let otherwise = failed.iter().find_map(|(code, tally)| {
        code.filter(|code| !gateway::is_failure(&codes, *code))
            .map(|code| (code, tally))
    });
    let Some((code, tally)) = otherwise else {
        return Ok(());
    };
    if let Some(settings) = settings {
        let reader = Reader::open(session.journal()?.location())?;
        if reader.snapshot(batch)?.reading()? == gateway::reading(&settings) {
            return Ok(());
        }
    }
    Err(Error::refused(format!(
        "{} of batch {batch} failed with code {code}, which the present [status_codes] and [post_codes] do not call a \
         failure: they may have been paid, and nothing is retried",
        output::counted(tally.count, "payment"),
    ))
    .hint(format!(
        "disburse run {batch} asks the gateway about them by the present meaning; then repeat this command. If {code} is a failure after all, \
         say so in [status_codes] or [post_codes]"
    )))
}

/// Returns why not one failure is retried, where that is so.
fn none_retried(
    batch: &BatchName,
    unretried: &[Unretried],
    anew_hint: &'static str,
) -> Option<Error> {
    let documents = not_retried(unretried);
    let anew = loaded_anew(unretried);
    if documents == 0 && !anew.is_empty() {
        return Some(
            Error::refused(format!(
                "no failure of batch {batch} can be retried: {}",
                anew_text(&anew)
            ))
            .hint(anew_hint),
        );
    }
    let since = not_in_view(unretried);
    if documents == 0 && !since.is_empty() {
        return Some(
            Error::refused(format!(
                "no failure of batch {batch} is retried: {} may have been paid since then by another row{}",
                output::counted(since.len() as u64, "failure"),
                listed(&since)
            ))
            .hint(paid_since_hint(batch)),
        );
    }
    if documents > 0 {
        return Some(
            Error::refused(format!(
                "{} of batch {batch} can be retried: {DOCUMENT}",
                if documents == unretried.len() {
                    "no failure"
                } else {
                    "no other failure"
                }
            ))
            .hint(DOCUMENT_HINT),
        );
    }
    None
}

/// Says which failures are not retried, and what to do about them.
fn tell_unretried(batch: &BatchName, unretried: &[Unretried], anew_hint: &str) {
    let documents = not_retried(unretried);
    let anew = loaded_anew(unretried);
    let since = not_in_view(unretried);
    if documents > 0 {
        let rows = output::counted(documents as u64, "failure");
        output::complain("warning", &format!("{rows} not retried: {DOCUMENT}"));
        output::complain("hint", DOCUMENT_HINT);
    }
    let earlier = |row: &&Unretried| matches!(row.why, WhyUnretried::EarlierMayBePaid);
    match unretried.iter().filter(earlier).count() {
        0 => {}
        rows => output::complain(
            "warning",
            &format!(
                "{} not retried: {EARLIER}; `disburse explain` shows it",
                output::counted(rows as u64, "failure")
            ),
        ),
    }
    let forgotten = |row: &&Unretried| matches!(row.why, WhyUnretried::Forgotten);
    match unretried.iter().filter(forgotten).count() {
        0 => {}
        rows => {
            let rows = output::counted(rows as u64, "failure");
            output::complain("warning", &format!("{rows} not retried: {FORGOTTEN}"));
            output::complain("hint", FORGOTTEN_HINT);
        }
    }
    if !anew.is_empty() {
        output::complain("warning", &format!("not retried: {}", anew_text(&anew)));
        output::complain("hint", anew_hint);
    }
    if !since.is_empty() {
        output::complain(
            "warning",
            &format!(
                "{} not retried: another row may have paid since then:{}",
                output::counted(since.len() as u64, "failure"),
                listed(&since)
            ),
        );
        output::complain("hint", &paid_since_hint(batch));
    }
}

fn which_failures(arguments: &RetryArguments) -> Failures {
    let by = |by| {
        move |text: &String| PaymentName {
            text: text.clone(),
            by,
        }
    };
    let either = arguments.payments.iter().map(by(By::Either));
    let references = arguments.references.iter().map(by(By::Reference));
    let ids = arguments.ids.iter().map(by(By::Identifier));
    let named: Vec<PaymentName> = either.chain(references).chain(ids).collect();
    Failures {
        code: arguments.code,
        // A person who is asked has them in view; without one, each is named.
        paid_since: !arguments.yes || !named.is_empty(),
        named,
    }
}

/// Shows what is paid anew, the first rows one by one, and asks.
async fn confirm_retry(
    session: &Session,
    batch: &BatchName,
    shown: &ToRetry,
    yes: bool,
) -> Result<(), Error> {
    let mut total = Tally::default();
    for (_, tally) in &shown.by_code {
        total.add_all(tally);
    }
    for (row, since) in &shown.paid_since {
        output::complain("warning", &paid_since_text(row, since));
    }
    let mut lines: Vec<String> = shown.rows.iter().map(failure_text).collect();
    match total.count - shown.rows.len() as u64 {
        0 => {}
        more => lines.push(format!(
            "  and {more} more; `disburse report {batch} --out reports/{batch}` lists them all"
        )),
    }
    let what = format!(
        "pay {} of batch {batch} again, {}, each under a new identifier: {}",
        output::counted(total.count, "failed payment"),
        output::amounts(&total.amounts),
        by_code(&shown.by_code)
    );
    for line in &lines {
        match yes {
            true => session.note(line),
            false => output::note(line),
        }
    }
    if yes {
        session.note(&what);
    }
    confirmed(yes, &what).await
}

fn failure_text(row: &Failure) -> String {
    let reference = row.reference.as_ref();
    let reference = reference.map_or(String::new(), |reference| {
        format!(", {}", output::name(reference.as_str()))
    });
    let code = match row.code {
        Some(code) => format!("failed with {code}"),
        None => "recorded as failed by an operator".to_owned(),
    };
    format!(
        "  line {}{reference}: {} {} to {}, {code}",
        row.line,
        row.money.currency,
        output::grouped(&row.money.to_string()),
        row.msisdn.masked()
    )
}

/// Says by what a failure may be paid since.
fn paid_since_text(row: &Failure, since: &PaidSince) -> String {
    format!(
        "{}: perhaps paid since then by {}",
        failure_text(row).trim_start(),
        since_text(since)
    )
}

fn since_text(since: &PaidSince) -> String {
    let row = match since.reference.as_str() {
        "" => format!("line {}", since.line),
        reference => output::name(reference).to_string(),
    };
    format!(
        "{row} of batch {}, which pays the same amount to the same recipient or name",
        output::name(&since.batch)
    )
}

/// Lists the failures that may be paid since, and are left alone.
fn not_in_view(unretried: &[Unretried]) -> Vec<String> {
    let texts = unretried.iter().filter_map(|row| match &row.why {
        WhyUnretried::PaidSince(failure, since) => Some(paid_since_text(failure, since)),
        _ => None,
    });
    texts.collect()
}

/// Returns the first of them, one a line.
fn listed(texts: &[String]) -> String {
    let mut lines: Vec<String> = texts
        .iter()
        .take(FAILURES_SHOWN)
        .map(|text| format!("\n  {text}"))
        .collect();
    let more = texts.len() - lines.len();
    if more > 0 {
        lines.push(format!("\n  and {more} more"));
    }
    lines.concat()
}

fn paid_since_hint(batch: &BatchName) -> String {
    format!(
        "`disburse explain REFERENCE` shows both rows. If the later row is the same debt, nobody is left unpaid, and \
        you need to do nothing. If it is another debt, name the row that failed: disburse retry {batch} REFERENCE"
    )
}

/// Returns how many failures were loaded anew into which batch.
fn loaded_anew(unretried: &[Unretried]) -> BTreeMap<&str, u64> {
    let mut batches = BTreeMap::new();
    for row in unretried {
        if let WhyUnretried::LoadedAnew(batch) = &row.why {
            *batches.entry(batch.as_str()).or_default() += 1;
        }
    }
    batches
}

fn anew_text(batches: &BTreeMap<&str, u64>) -> String {
    let texts = batches.iter().map(|(batch, count)| {
        let rows = output::counted(*count, "failure");
        let (was, is) = if *count == 1 {
            ("was", "is")
        } else {
            ("were", "are")
        };
        format!(
            "{rows} {was} loaded again into batch {batch}: a later row there has the same reference, or without one the same recipient and \
             amount, and {is} paid, or may be"
        )
    });
    texts.collect::<Vec<_>>().join("; ")
}

const ANEW_HINT: &str = "`disburse explain REFERENCE` shows both rows. If the later row is the same debt, nobody is \
     left unpaid, and you need to do nothing. If it is another debt, such as the next month's wages under the same \
     reference, load the failed row into a new batch, with the month in its reference (EMP-00001-2026-10), and with \
     the same recipient and amount, by which a later `retry` recognises it";

/// The same while orders are lost: one of them may have paid the row, so it is loaded nowhere else.
const ANEW_HINT_OF_LOST: &str = "`disburse explain REFERENCE` shows both rows. Orders are lost (`disburse recover` lists them), and one of \
     them may have paid this row: load it nowhere else. Run the batch of the later row, which asks the gateway about it. If you are giving a \
     lost retry again, and the later row waits to be posted, cancel it first (disburse cancel BATCH REFERENCE). Once it is cancelled or has \
     failed, repeat this retry";

fn anew_hint(lost: OrdersLost) -> &'static str {
    match lost.is_none() {
        true => ANEW_HINT,
        false => ANEW_HINT_OF_LOST,
    }
}

/// Says why there is nothing to retry: what has failed with other codes, and where the batch stands.
async fn nothing_to_retry(
    journal: &Journal,
    batch: &BatchName,
    code: Option<i32>,
) -> Result<String, Error> {
    let with = code.map_or(String::new(), |code| format!(" with code {code}"));
    let others = match code {
        Some(_) => journal.to_retry(batch.clone(), None, None).await?.by_code,
        None => Vec::new(),
    };
    let what = if others.is_empty() {
        let standing = journal.standing(batch.clone()).await?;
        states(&standing)
    } else {
        by_code(&others)
    };
    Ok(format!(
        "batch {batch} has no failed payment to retry{with}: {what}"
    ))
}

const EARLIER: &str = "an earlier payment of the same row is paid, or may be";
const FORGOTTEN: &str = "its recipient was forgotten in this journal";
const FORGOTTEN_HINT: &str = "to pay this person after all, load a row into a new batch; the archive of this batch, if there is one, has the name and number";
const DOCUMENT: &str = "extra.supportDocument names a document that was uploaded for the failed payment's identifier, \
    and a retry has another identifier";
const DOCUMENT_HINT: &str = "load the rows again under another batch name, with the document's file in the column \
     document: it is then uploaded for the new identifier";

/// Returns how many failures were left alone because of their documents.
fn not_retried(unretried: &[Unretried]) -> usize {
    let names = |row: &&Unretried| matches!(row.why, WhyUnretried::NamesADocument);
    unretried.iter().filter(names).count()
}

fn unretried_json(row: &Unretried) -> serde_json::Value {
    let why = match &row.why {
        WhyUnretried::NamesADocument => DOCUMENT.to_owned(),
        WhyUnretried::Forgotten => FORGOTTEN.to_owned(),
        WhyUnretried::EarlierMayBePaid => EARLIER.to_owned(),
        WhyUnretried::PaidSince(_, since) => {
            format!("it may have been paid since then by {}", since_text(since))
        }
        WhyUnretried::LoadedAnew(batch) => {
            format!("its row was loaded again into batch {batch}, and is paid there, or may be")
        }
    };
    json!({"line": row.line, "payer_transaction_id": row.id.as_str(), "why": why})
}

/// Returns `5 with code 110, KES 900.00; 1 by an operator's decision, KES 100.00`.
fn by_code(shown: &ByCode) -> String {
    let parts = shown.iter().map(|(code, tally)| {
        let code = match code {
            Some(code) => format!("with code {code}"),
            None => "by an operator's decision".to_owned(),
        };
        let count = output::grouped(&tally.count.to_string());
        format!("{count} {code}, {}", output::amounts(&tally.amounts))
    });
    parts.collect::<Vec<_>>().join("; ")
}
