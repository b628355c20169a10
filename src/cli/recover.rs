//! `recover`: a journal that may have missed something.

use serde_json::{Value, json};

use super::arguments::RecoverArguments;
use super::ask::{Typed, ask, is_attended};
use super::session::{Session, batch_name};
use super::{Error, Verdict, output};
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Journal, Missed, Presumed, Reader, RunLock};
use crate::ledger::recovery::OrdersLost;

/// What is typed to say that nothing has run since.
const WORD: &str = "nothing ran since";
/// What is typed to say that the orders which were lost were given again.
const ORDERS: &str = "orders given again";

/// What is typed to end a recovery although batches are missing that were posted from its place.
const WITHOUT_THEM: &str = "done without them";

/// What to do about orders that are lost.
pub(super) const ORDERS_LOST_HINT: &str = "run first, so that the gateway is asked; then give them again (earlier reports, and whoever gave \
     them, know which: disburse cancel, resolve, retry, load --amend of a corrected file), then, or where there were none: disburse recover \
     --orders-given-again --reason TEXT; then run again";

/// `disburse recover`.
pub(super) async fn recover(
    session: &Session,
    arguments: RecoverArguments,
) -> Result<Verdict, Error> {
    let batch = arguments.batch.as_deref().map(batch_name).transpose()?;
    let takes_reason = arguments.nothing_ran_since || arguments.orders_given_again;
    if arguments.reason.is_some() && !takes_reason {
        return Err(Error::refused(
            "--reason goes with --nothing-ran-since and --orders-given-again",
        )
        .hint("leave it out here"));
    }
    if arguments.presume_posted {
        let batch = batch.ok_or_else(|| {
            Error::refused("--presume-posted: name the batch that is to be asked about").hint(
                "disburse recover BATCH --presume-posted; `disburse status` lists the batches",
            )
        })?;
        return presume(session, batch).await;
    }
    if arguments.done {
        return done(session, arguments.yes).await;
    }
    if arguments.orders_given_again {
        let reason = arguments.reason.unwrap_or_default();
        if reason.trim().is_empty() {
            return Err(Error::refused("--reason is empty")
                .hint("the word is kept for ever: say how it is known which orders there were"));
        }
        return orders_again(session, reason, arguments.yes).await;
    }
    if arguments.nothing_ran_since {
        let reason = arguments.reason.unwrap_or_default();
        if reason.trim().is_empty() {
            return Err(Error::refused("--reason is empty").hint(
                "the decision is kept for ever: say how it is known that nothing has run since",
            ));
        }
        return nothing_ran(session, batch, reason, arguments.yes).await;
    }
    show(session, batch.as_ref())
}

/// Opens the journal for an order that no run may be in the middle of.
fn open(session: &Session, purpose: &str) -> Result<(Journal, RunLock), Error> {
    let journal = session.journal()?;
    let lock = RunLock::take(journal.path(), purpose, Timestamp::now())?;
    Ok((journal, lock))
}

async fn presume(session: &Session, batch: BatchName) -> Result<Verdict, Error> {
    let (journal, _lock) = open(session, &format!("recovery of batch {batch}"))?;
    let count = journal
        .presume_posted(batch.clone(), false, Timestamp::now())
        .await?;
    if session.common.json {
        output::json(&json!({"batch": batch.as_str(), "presumed": count}));
    } else {
        output::line(&presumed_text(count));
        session.note(&format!("next: disburse run {batch}"));
    }
    Ok(Verdict::Done)
}

/// Says how many payments are asked about first.
pub(super) fn presumed_text(count: u64) -> String {
    format!(
        "{} presumed posted: the gateway is asked before anything of it is posted",
        output::counted(count, "payment")
    )
}

async fn done(session: &Session, yes: bool) -> Result<Verdict, Error> {
    let (journal, _lock) = open(session, "recovery")?;
    let lost = journal.batches_lost().await?;
    if !lost.is_none() {
        // Said by a job, it would free retries of what these batches have paid.
        confirm(
            false,
            &format!(
                "This journal does not have {}, posted from its place, or not all of it. What failed here may have been paid by them: once \
                 the recovery is done, a retry pays it again.",
                lost.text()
            ),
            WITHOUT_THEM,
            "load the files of these batches again, each under its batch name, and run them; --yes is not enough while they are missing. Where a \
             file is gone for good, say this at a terminal",
        )
        .await?;
    }
    confirm(
        yes,
        "Has every file been loaded again that was loaded since the copy was made? From now on new files are paid without asking the gateway first.",
        "yes",
        "say --yes to do it without being asked",
    )
    .await?;
    journal.recovered(Timestamp::now()).await?;
    output::line_unless(
        session.common.json,
        "the recovery is done: from now on new files are paid without asking the gateway first",
    );
    if session.common.json {
        output::json(&json!({"done": true}));
    }
    Ok(Verdict::Done)
}

async fn nothing_ran(
    session: &Session,
    batch: Option<BatchName>,
    reason: String,
    yes: bool,
) -> Result<Verdict, Error> {
    let (journal, _lock) = open(session, "recovery")?;
    let run = match &batch {
        Some(batch) => format!("`disburse run {batch}` asks the gateway first"),
        None => {
            "a run of each batch, which `disburse recover` lists, asks the gateway first".to_owned()
        }
    };
    confirm(
        yes,
        "What was paid since the copy was made, or from a journal that is gone, would be paid a second time, and whoever was \
         withdrawn since would be paid: whatever is presumed posted is posted without asking the gateway.",
        WORD,
        &format!("where that is not certain, leave it: {run}. Where it is, say this at a terminal"),
    )
    .await?;
    let ends = batch.is_none();
    let count = journal
        .nothing_ran_since(batch, reason, Timestamp::now())
        .await?;
    if session.common.json {
        output::json(&json!({"ready": count, "done": ends}));
    } else {
        let done = if ends { "; the recovery is done" } else { "" };
        output::line(&format!(
            "{} ready to be posted without a question{done}",
            output::counted(count, "payment")
        ));
    }
    Ok(Verdict::Done)
}

async fn orders_again(session: &Session, reason: String, yes: bool) -> Result<Verdict, Error> {
    let (journal, _lock) = open(session, "recovery")?;
    let lost = journal.orders_lost().await?;
    if lost.is_none() {
        return Err(crate::journal::Error::NoOrdersLost.into());
    }
    confirm(
        yes,
        &format!(
            "{}. Whoever they kept from being paid is paid by the next run, unless they were given again to this journal.",
            orders_lost_text(lost)
        ),
        ORDERS,
        "where that is not certain, leave it: a run of each batch, which `disburse recover` lists, asks the gateway, and posts nothing. Where it \
         is, say this at a terminal",
    )
    .await?;
    let lost = journal.orders_given_again(reason, Timestamp::now()).await?;
    if session.common.json {
        output::json(&json!({"orders_given_again": lost.count}));
    } else {
        let what = match lost.count {
            0 => "every order that was given, if there were any, is".to_owned(),
            count => format!("{} given again", output::counted(count, "lost order")),
        };
        output::line(&format!("on record: {what}; runs post again"));
    }
    Ok(Verdict::Done)
}

/// Says that orders of people are lost.
pub(super) fn orders_lost_text(lost: OrdersLost) -> String {
    match lost.count {
        0 => "this journal is an older copy or a new one, and nothing beside it tells which orders people gave since (cancel, retry, resolve \
              and the like); nothing but a rehearsal (--sandbox) is posted until somebody says that they were given again, or that there were none"
            .to_owned(),
        count => format!(
            "{} by people (cancel, retry, a corrected file and the like) {} on record here that this journal, an older copy or a new one, does not \
             know; nothing but a rehearsal (--sandbox) is posted until they were given again",
            output::counted(count, "order"),
            if count == 1 { "was" } else { "were" },
        ),
    }
}

/// Asks a person to type a word; without a person, `--yes` is the answer.
async fn confirm(yes: bool, what: &str, word: &'static str, alone: &str) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    if !is_attended() {
        return Err(Error::refused(format!(
            "{what} Nobody is there to ask; nothing was changed"
        ))
        .hint(alone));
    }
    ask(what, Typed::Words(word), "nothing was changed").await
}

fn show(session: &Session, batch: Option<&BatchName>) -> Result<Verdict, Error> {
    let reader = Reader::open(session.journal_path())?;
    let missed = reader.missed()?;
    let orders_lost = reader.orders_lost()?;
    if let Some(batch) = batch {
        // A name that is not there is told.
        reader.snapshot(batch)?;
    }
    let mut batches = reader.presumed()?;
    batches.retain(|presumed| batch.is_none_or(|batch| *batch == presumed.batch));
    if session.common.json {
        output::json(&json!({
            "recovery": missed_json(missed.as_ref()),
            "orders_lost": orders_lost.count,
            "orders_unknown": orders_lost.unknown,
            "batches": batches.iter().map(to_json).collect::<Vec<_>>(),
        }));
        return Ok(Verdict::Done);
    }
    match &missed {
        Some(missed) => output::line(&missed_text(missed)),
        None => output::line("nothing is missing: the journal is as it was left in this place"),
    }
    if !orders_lost.is_none() {
        output::line(&orders_lost_text(orders_lost));
        session.note(ORDERS_LOST_HINT);
    }
    if !batches.is_empty() {
        output::print(&output::table(
            &[
                "batch",
                "presumed",
                "not asked yet",
                "unknown there",
                "known there",
                "posted since",
                "decided",
            ],
            batches.iter().map(row).collect(),
            &[1, 2, 3, 4, 5, 6],
        ));
    }
    for text in next(missed.as_ref(), &batches) {
        session.note(&text);
    }
    Ok(Verdict::Done)
}

fn row(presumed: &Presumed) -> Vec<String> {
    let counts = [
        presumed.payments,
        presumed.unasked,
        presumed.not_found,
        presumed.known,
        presumed.posted,
        presumed.decided,
    ];
    let counts = counts.map(|count| output::grouped(&count.to_string()));
    std::iter::once(presumed.batch.to_string())
        .chain(counts)
        .collect()
}

fn to_json(presumed: &Presumed) -> Value {
    json!({
        "batch": presumed.batch.as_str(), "presumed": presumed.payments, "unasked": presumed.unasked,
        "not_found": presumed.not_found, "known": presumed.known,
        "posted": presumed.posted, "decided": presumed.decided,
    })
}

/// Returns for programs why the journal may have missed something.
pub(super) fn missed_json(missed: Option<&Missed>) -> Value {
    missed.map_or(Value::Null, |missed| {
        json!({
            "cause": missed.cause.sentence(),
            "since": missed.since.map(|since| since.to_string()),
        })
    })
}

/// Says why the journal may have missed something.
pub(super) fn missed_text(missed: &Missed) -> String {
    let since = match missed.since {
        Some(since) => format!(", noticed at {since}"),
        None => String::new(),
    };
    format!(
        "the journal may have missed payments: {}{since}. What is unfinished, and what is loaded until the recovery is declared \
         done, is asked about before it is posted",
        missed.cause.sentence()
    )
}

/// What is to be done, in its order.
fn next(missed: Option<&Missed>, batches: &[Presumed]) -> Vec<String> {
    let open = batches.iter().filter(|presumed| presumed.unasked > 0);
    let mut next: Vec<String> = open
        .map(|presumed| format!("to ask: disburse run {}", presumed.batch))
        .collect();
    if missed.is_some() {
        next.push(
            "give the orders again that were given since (disburse cancel, resolve, retry, load --amend of a corrected file): whoever they kept from being paid would be \
             paid. Where orders are lost, then say that they are there again: disburse recover --orders-given-again --reason TEXT"
                .to_owned(),
        );
        next.push("load every file again that was loaded since the copy was made, each under its batch name".to_owned());
        next.push("when nothing is unasked: disburse recover --done".to_owned());
    }
    if batches.iter().any(|presumed| presumed.unasked > 0) {
        next.push(
            "where the asking takes too long, and it is certain that nothing ran since: disburse recover --nothing-ran-since \
             --reason TEXT. Where that is wrong, people are paid twice"
                .to_owned(),
        );
    }
    next
}

/// Says so before a command goes on with a journal that may have missed something.
pub(super) async fn warn(journal: &Journal) -> Result<(), Error> {
    if let Some(recovery) = journal.recovery().await? {
        let missed = Missed {
            cause: recovery.cause,
            since: Some(recovery.since),
        };
        output::complain("warning", &missed_text(&missed));
        output::complain(
            "hint",
            "`disburse recover` shows what is known, and ends it",
        );
    }
    let lost = journal.orders_lost().await?;
    if !lost.is_none() {
        output::complain("warning", &orders_lost_text(lost));
        output::complain("hint", ORDERS_LOST_HINT);
    }
    Ok(())
}
