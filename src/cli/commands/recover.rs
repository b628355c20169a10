//! `recover`: a journal that may have missed something.

use serde_json::json;

use super::recover_told::{
    lost_json, missed_json, missing_texts, next, nothing_missed, order_json, presumed_table,
    to_json,
};
use crate::cli::Error;
use crate::cli::arguments::{RecoverArguments, SigningArguments};
use crate::cli::exit::ExitStatus;
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::ask::{Typed, ask, is_attended};
use crate::cli::terminal::output;
use crate::cli::words::behind::{
    listed, missed_and_lost_text, missed_text, missing_text, orders_lost_text, warn_moved,
};
use crate::cli::words::next::next_text;
use crate::domain::{BatchName, Timestamp, WireZone};
use crate::journal::{Journal, Location, Missed, Reader, RunLock};
use crate::ledger::Purpose;
use crate::ledger::recovery::{OrdersLost, may_be_declared_given};

/// What is typed to say that nothing has run since.
const WORD: &str = "nothing ran since";
/// What is typed to say that the orders which were lost were given again.
const ORDERS: &str = "orders given again";

/// What is typed to end a recovery although batches are missing that were posted from its place.
const WITHOUT_THEM: &str = "done without them";

/// `disburse recover`.
pub(in crate::cli) async fn recover(
    session: &Session,
    arguments: RecoverArguments,
) -> Result<ExitStatus, Error> {
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
        return done(session, &arguments.signing, arguments.yes).await;
    }
    if arguments.orders_given_again {
        let reason = arguments.reason.unwrap_or_default();
        if reason.trim().is_empty() {
            return Err(Error::refused("--reason is empty")
                .hint("the reason is kept for ever: write how you know which orders were lost"));
        }
        let (without, yes) = (arguments.without, arguments.yes);
        return orders_again(session, &arguments.signing, reason, without, yes).await;
    }
    if arguments.nothing_ran_since {
        let reason = arguments.reason.unwrap_or_default();
        if reason.trim().is_empty() {
            return Err(Error::refused("--reason is empty").hint(
                "the reason is kept for ever: write how you know that nothing has run since",
            ));
        }
        return nothing_ran(session, &arguments.signing, batch, reason).await;
    }
    show(session, batch.as_ref())
}

/// Opens the journal for an order that no run may be in the middle of, and that rests on what is on record of recoveries.
async fn open(session: &Session, purpose: &str) -> Result<(Journal, RunLock), Error> {
    let journal = session.journal()?;
    let lock = RunLock::take(journal.location(), purpose, Timestamp::now())?;
    journal.assert_recoveries().await?;
    Ok((journal, lock))
}

async fn presume(session: &Session, batch: BatchName) -> Result<ExitStatus, Error> {
    let (journal, _lock) = open(session, &format!("recovery of batch {batch}")).await?;
    let found = journal
        .presume_posted(batch.clone(), false, Timestamp::now())
        .await?;
    if session.common.json {
        output::json(&json!({
            "batch": batch.as_str(), "presumed": found.payments, "presumed_of_others": found.others, "recovery_begins": found.begins,
        }));
    } else {
        output::line(&presumed_text(found.payments));
    }
    let is_shared = matches!(session.location()?, Location::Server(_));
    if is_shared {
        session.note(OTHER_MACHINES);
    }
    match found.begins {
        true => say_begun(&batch, found.others),
        // The other machines come first, and `recover` lists what is then to be done.
        false if is_shared => {}
        false => session.note(&next_text(session, &batch)?),
    }
    Ok(ExitStatus::Done)
}

/// What comes before every other step.
const FROM_EVERY_MACHINE: &str = "before everything else, on each machine that has run, listened or given orders: disburse recover BATCH \
    --presume-posted, for one of the batches, even where it finds 0 payments: it puts on record what that machine has seen";

/// What a journal on a server cannot know by itself.
const OTHER_MACHINES: &str = "what this machine has seen of the journal is on record now. Before any run, give the same command on every other \
    machine that has run, listened or given orders: each has seen something else. After that, disburse recover lists each step";

/// Says how many payments are asked about first.
pub(in crate::cli) fn presumed_text(count: u64) -> String {
    match count {
        0 => "0 payments presumed posted now: those that are not finished, if there are any, already were".to_owned(),
        _ => format!(
            "{} presumed posted: the gateway is asked about each before it is posted",
            output::counted(count, "payment")
        ),
    }
}

/// Says what a recovery that begins by order means, and what is to be done in which order.
pub(in crate::cli) fn say_begun(batch: &BatchName, others: u64) {
    let others = match others {
        0 => String::new(),
        count => format!(
            " ({} of other batches, too)",
            output::counted(count, "payment")
        ),
    };
    output::complain(
        "warning",
        &format!(
            "this begins a recovery: before any payment is posted that is unfinished in this journal{others}, or that \
             is loaded before the recovery ends, the gateway is asked about it. The journal cannot know which orders \
             (such as cancel, retry, resolve, a corrected file, a move to another account or gateway) it lacks. Only rehearsals (--sandbox) are posted until \
             somebody confirms that these orders were given again, or that there were none"
        ),
    );
    output::complain(
        "hint",
        &format!(
            "in this order: (1) load every other file that this journal may lack, each under its batch name; (2) run \
             each batch with the gateway and the user name that may have posted it, which asks there, and posts nothing: \
             disburse run {batch} --asked-as USER (where it was moved since, also with that order, --account-moved or --gateway-moved); (3) give every such order again; (4) confirm that: disburse recover \
             --orders-given-again --reason TEXT; (5) run each batch again, which posts what was not posted before: \
             disburse run {batch}; (6) end the recovery: disburse recover --done. Payments that replace a failed one \
             are paid after that"
        ),
    );
}

async fn done(
    session: &Session,
    arguments: &SigningArguments,
    yes: bool,
) -> Result<ExitStatus, Error> {
    let (journal, _lock) = open(session, "recovery").await?;
    journal.assert_recovery_done().await?;
    let lost = journal.batches_lost().await?;
    if !lost.is_none() {
        // Said by a job, it would free retries of what these batches have paid.
        confirm(
            arguments.print,
            &format!(
                "This journal does not have {}, posted from its place, or not all of it{}. These batches may have paid \
                what failed here or was loaded since. Once the recovery is done, such a payment is paid again if the \
                gateway does not know its identifier from this journal.",
                lost.text(),
                listed(&lost)
            ),
            WITHOUT_THEM,
            "load the files of these batches again, each under its batch name, and run them; --yes is not enough while they are missing. If a \
             file is gone for good, confirm this at a terminal",
        )
        .await?;
    }
    confirm(
        yes || arguments.print,
        "Has every file been loaded again that was loaded since the copy was made? From now on new files are paid without asking the gateway first.",
        "yes",
        "add --yes to do it without a question",
    )
    .await?;
    let signing = OrderSigning::of(session, &journal, Purpose::Gateway, arguments)?;
    let given = signing.give(async |journal| journal.recovered(Timestamp::now()).await);
    if let Given::Not(status) = given.await? {
        return Ok(status);
    }
    output::line_unless(
        session.common.json,
        "the recovery is done: from now on new files are paid without asking the gateway first\nnext: run each batch once more that disburse \
        status shows as not finished: payments that waited for this are posted now",
    );
    if session.common.json {
        output::json(&json!({"done": true}));
    }
    Ok(ExitStatus::Done)
}

async fn nothing_ran(
    session: &Session,
    arguments: &SigningArguments,
    batch: Option<BatchName>,
    reason: String,
) -> Result<ExitStatus, Error> {
    let (journal, _lock) = open(session, "recovery").await?;
    if let Some(what) = journal.ran_since().await? {
        return Err(crate::journal::Error::SomethingRan { what }.into());
    }
    let run = match &batch {
        Some(batch) => format!("`disburse run {batch}` asks the gateway first"),
        None => {
            "run each batch that `disburse recover` lists, which asks the gateway first".to_owned()
        }
    };
    // Said by a job, it would pay people twice whenever the job is wrong.
    confirm(
        arguments.print,
        "All payments that are presumed posted will be sent without asking the gateway. Anyone who was paid since the \
        copy was made, or from a journal that is gone, will be paid twice; anyone whose payment was cancelled since \
        will be paid.",
        WORD,
        &format!("if that is not certain, do not confirm it: {run}. If it is certain, confirm it at a terminal; --yes is not enough"),
    )
    .await?;
    let ends = batch.is_none();
    let signing = OrderSigning::of(session, &journal, Purpose::Gateway, arguments)?;
    let signing = signing.because(Some(&reason));
    let given = signing.give(async |journal| {
        let (batch, reason) = (batch.clone(), reason.clone());
        journal
            .nothing_ran_since(batch, reason, Timestamp::now())
            .await
    });
    let count = match given.await? {
        Given::Done(count) => count,
        Given::Not(status) => return Ok(status),
    };
    if session.common.json {
        output::json(&json!({"ready": count, "done": ends}));
    } else {
        let done = if ends { "; the recovery is done" } else { "" };
        output::line(&format!(
            "{} ready to be posted without a question{done}",
            output::counted(count, "payment")
        ));
    }
    Ok(ExitStatus::Done)
}

async fn orders_again(
    session: &Session,
    arguments: &SigningArguments,
    reason: String,
    without: Option<u64>,
    yes: bool,
) -> Result<ExitStatus, Error> {
    let (journal, _lock) = open(session, "recovery").await?;
    let lost = journal.orders_lost().await?;
    if lost.is_none() {
        return Err(crate::journal::Error::NoOrdersLost.into());
    }
    let missing = journal.orders_missing().await?;
    if !may_be_declared_given(missing.len() as u64, without) {
        return Err(crate::journal::Error::OrdersMissing { missing }.into());
    }
    confirm(
        yes || arguments.print,
        &format!(
            "{}. The next run pays anyone whom these orders had kept from being paid, unless they were given again to this journal.",
            orders_lost_text(lost)
        ),
        ORDERS,
        "if that is not certain, do not confirm it, but run each batch that `disburse recover` lists, which asks the \
         gateway, and posts nothing. If it is certain, confirm it at a terminal, or add --yes",
    )
    .await?;
    let signing = OrderSigning::of(session, &journal, Purpose::Gateway, arguments)?;
    let signing = signing.because(Some(&reason));
    let given = signing.give(async |journal| {
        journal
            .orders_given_again(reason.clone(), without, Timestamp::now())
            .await
    });
    let lost = match given.await? {
        Given::Done(lost) => lost,
        Given::Not(status) => return Ok(status),
    };
    let not_given = without.unwrap_or(0);
    if session.common.json {
        output::json(&json!({
            "orders_given_again": lost.count.saturating_sub(not_given), "orders_not_given": not_given,
        }));
    } else {
        output::line(&again_text(lost, not_given));
    }
    Ok(ExitStatus::Done)
}

/// Says what is on record once lost orders are declared given again, but for so many.
fn again_text(lost: OrdersLost, not_given: u64) -> String {
    let known = output::counted(lost.count, "lost order");
    let what = match (lost.count, not_given) {
        (0, _) => "all lost orders, if any, were given again".to_owned(),
        (_, 0) => format!("{known} given again"),
        (_, 1) => format!("{known}; by your word, 1 of them was not given again as it was"),
        (_, not_given) => {
            format!("{known}; by your word, {not_given} of them were not given again as they were")
        }
    };
    format!("recorded: {what}; runs post again")
}

/// Asks a person to type a word; without a person, `--yes` is the answer.
async fn confirm(yes: bool, what: &str, word: &'static str, alone: &str) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    if !is_attended() {
        return Err(Error::refused(format!(
            "{what} There is no terminal to ask at; nothing was changed"
        ))
        .hint(alone));
    }
    ask(what, Typed::Words(word), "nothing was changed").await
}

fn show(session: &Session, batch: Option<&BatchName>) -> Result<ExitStatus, Error> {
    let reader = Reader::open(session.location()?)?;
    warn_moved(&reader)?;
    reader.assert_recoveries()?;
    let missed = reader.missed()?;
    let ran = reader.ran_since()?;
    let orders_lost = reader.orders_lost()?;
    let missing = reader.orders_missing()?;
    let batches_lost = reader.batches_lost()?;
    if let Some(batch) = batch {
        // A name that is not there is told.
        reader.snapshot(batch)?;
    }
    let mut batches = reader.presumed()?;
    batches.retain(|presumed| batch.is_none_or(|batch| *batch == presumed.batch));
    if session.common.json {
        output::json(&json!({
            "recovery": missed_json(missed.as_ref()),
            "ran_since": ran,
            "orders_lost": orders_lost.count,
            "orders_unknown": orders_lost.unknown,
            "orders_given": reader.orders_given()?,
            "orders_missing": missing.iter().map(order_json).collect::<Vec<_>>(),
            "batches_lost": lost_json(&batches_lost),
            "batches": batches.iter().map(to_json).collect::<Vec<_>>(),
        }));
        return Ok(ExitStatus::Done);
    }
    match &missed {
        Some(missed) => output::line(&missed_text(missed, &session.zone(false))),
        None => output::line(nothing_missed(session.location()?)),
    }
    if missed.is_some() && matches!(session.location()?, Location::Server(_)) {
        output::line(FROM_EVERY_MACHINE);
    }
    if let Some(ran) = &ran {
        output::line(&format!(
            "what the mark and the lock file showed then: {ran}"
        ));
    }
    if !orders_lost.is_none() {
        output::line(&orders_lost_text(orders_lost));
        let payments = reader.payments_ordered(&missing)?;
        let given = reader.orders_given()?;
        for text in missing_texts(&missing, &payments, orders_lost, given) {
            output::line(&text);
        }
    }
    if !batches_lost.is_none() {
        output::line(&format!(
            "not loaded again yet, or not whole: {}{}",
            batches_lost.text(),
            listed(&batches_lost)
        ));
    }
    if !batches.is_empty() {
        output::print(&presumed_table(&batches));
    }
    for text in next(
        missed.as_ref(),
        &batches,
        (&batches_lost, orders_lost),
        ran.is_none(),
    ) {
        session.note(&text);
    }
    Ok(ExitStatus::Done)
}

/// Warns of them.
pub(in crate::cli) async fn warn_missing(journal: &Journal) -> Result<(), Error> {
    if let Some(text) = missing_text(&journal.batches_lost().await?) {
        output::complain("warning", &text);
    }
    Ok(())
}

/// Says so before a command goes on with a journal that may have missed something.
pub(in crate::cli) async fn warn(journal: &Journal, zone: &WireZone) -> Result<(), Error> {
    let missed = journal.recovery().await?.map(|recovery| Missed {
        cause: recovery.cause,
        since: Some(recovery.since),
    });
    let lost = journal.orders_lost().await?;
    let text = match (&missed, lost.is_none()) {
        (None, true) => return Ok(()),
        (None, false) => orders_lost_text(lost),
        (Some(missed), true) => missed_text(missed, zone),
        (Some(missed), false) => missed_and_lost_text(missed, lost, zone),
    };
    output::complain("warning", &text);
    let given = match lost.is_none() {
        true => 0,
        false => journal.orders_given().await?,
    };
    let so_far = match given {
        0 => String::new(),
        given => format!("of these orders, {given} were given again so far; "),
    };
    output::complain(
        "hint",
        &format!("{so_far}`disburse recover` lists each step"),
    );
    Ok(())
}
