//! What a payment waits for, in words.

use crate::cli::Error;
use crate::cli::session::{Commands, Session};
use crate::cli::terminal::output;
use crate::cli::words::hours::scheduled_text;
use crate::domain::{BatchName, PayerTransactionId, Timestamp, Totals, WireZone};
use crate::journal::{Doubt, Journal, WaitsFor};
use crate::ledger::schedule::Scheduled;

/// What to do about such payments.
pub(in crate::cli) fn until_done_hint(commands: Commands<'_>) -> String {
    format!(
        "Load each such file again, whole and under its batch name, and run it; then: disburse recover --done, then: \
         {}. To cancel what must not be paid any more: disburse cancel {}",
        commands.run(),
        commands.batch
    )
}

/// Says what a payment waits for, and what to do about it.
pub(in crate::cli) fn waits(
    commands: Commands<'_>,
    payment: PayerTransactionId,
    waits: WaitsFor,
) -> String {
    match waits {
        WaitsFor::Decision(id) => format!(
            "waits until it is decided whether {id}, an earlier payment of the same row, was paid: {} --paid, or --failed, with --reason TEXT --evidence TEXT",
            commands.resolve(id)
        ),
        WaitsFor::Answer(id) => format!(
            "waits until the gateway has been asked once more about {id}, an earlier payment of the same row, which an \
             operator recorded as failed: each run asks until the gateway agrees. {}",
            way_out(commands, id)
        ),
        WaitsFor::Again(id) => format!(
            "waits for the gateway's answer about {id}, an earlier payment of the same row: the gateway said failed, \
            and something else since then. Each run asks until the gateway says failed again. {}",
            way_out(commands, id)
        ),
        WaitsFor::Elsewhere(id) => format!(
            "waits for a person's word about {id}, an earlier payment of the same row: it was posted before the batch was moved, and nobody who is asked now can \
             tell what became of it. Ask the people of the gateway or account that it was posted with, then record what they say: {resolve} --paid, or, if it is not \
             paid and never will be, --failed --although-accepted, with --reason TEXT --evidence TEXT",
            resolve = commands.resolve(id)
        ),
        WaitsFor::Recovered => format!(
            "waits until {UNTIL_DONE}: one of them may have paid its row. {}",
            until_done_hint(commands)
        ),
        WaitsFor::Itself {
            withdrawn: true,
            said,
            ..
        } => format!(
            "cancelled, but after that the gateway said something about it: {}. It may have been paid: do not pay it \
            in another way until the gateway says that it does not have it. To ask the gateway: {}",
            doubt(said),
            commands.run()
        ),
        WaitsFor::Itself {
            code,
            withdrawn: false,
            said,
        } => format!(
            "{}: it may have been paid. Do not pay it in another way until the gateway says failed again. To ask the gateway: {}. {}",
            said_since(code, said),
            commands.run(),
            way_out(commands, payment)
        ),
    }
}

/// Says what of a batch is not posted today, as its rows name a later time.
pub(in crate::cli) async fn tell_not_due(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    is_rehearsal: bool,
) -> Result<(), Error> {
    let (scheduled, rows) = journal.not_due(batch.clone(), Timestamp::now()).await?;
    let mut amounts = Totals::default();
    for row in &rows {
        amounts.add_all(&row.tally.amounts);
    }
    if let Some(text) = not_due_text(scheduled, &amounts, &session.zone(is_rehearsal)) {
        session.note(&format!("note: {text}"));
    }
    Ok(())
}

/// Says how much waits for its time; `None` where nothing does.
pub(in crate::cli) fn not_due_text(
    scheduled: Scheduled,
    amounts: &Totals,
    zone: &WireZone,
) -> Option<String> {
    let text = scheduled_text(scheduled, zone)?;
    // Where every amount waits for its bill, there is none to tell.
    let of_it = match amounts.iter().next() {
        None => String::new(),
        Some(_) => format!("{} of it is not paid today: ", output::amounts(amounts)),
    };
    Some(format!("{of_it}{text}; a run after that time pays it"))
}

pub(in crate::cli) fn doubt(said: Doubt) -> String {
    match said {
        Doubt::Code(code) => code.to_string(),
        Doubt::Otherwise(code) => format!("{code} of another amount, currency or number"),
        Doubt::Unreadable => "sent a callback that cannot be read".to_owned(),
        Doubt::Missed => "may have said something that this journal has missed".to_owned(),
    }
}

/// Who said that a payment failed, and what has been said since.
fn said_since(code: Option<i32>, said: Doubt) -> String {
    let later = doubt(said);
    match (code, said) {
        (Some(code), _) => format!("the gateway said failed ({code}), and later {later}"),
        (None, Doubt::Code(_) | Doubt::Otherwise(_)) => {
            format!("a person recorded it as failed, and later the gateway said {later}")
        }
        (None, Doubt::Unreadable | Doubt::Missed) => {
            format!("a person recorded it as failed, and later the gateway {later}")
        }
    }
}

/// What a person can do where the gateway never says what is waited for.
pub(in crate::cli) fn way_out(commands: Commands<'_>, id: PayerTransactionId) -> String {
    format!(
        "If the gateway never says so, or cannot be asked (resolution.status_query), ask its people about {id}, then \
        record what they say: {} --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT",
        commands.resolve(id)
    )
}

/// What a payment waits for whose row a batch may have paid that was lost with a journal.
pub(in crate::cli) const UNTIL_DONE: &str = "you confirm with `disburse recover --done` that all batches loaded after the copy are here again";
