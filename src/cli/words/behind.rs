//! What is said where a journal may know less than what became of its payments: a copy, or one that lacks orders of people.

use crate::cli::Error;
use crate::cli::terminal::output;
use crate::domain::{Timestamp, WireZone};
use crate::journal::{Missed, Presumed, Reader};
use crate::ledger::payer::Lost;
use crate::ledger::recovery::OrdersLost;
use crate::report::RECOVER_FIRST;

/// Says why the journal may know less than what became of its payments; `None`: nothing says that it does.
pub(in crate::cli) fn behind(reader: &Reader, zone: &WireZone) -> Result<Option<String>, Error> {
    if let Some(missed) = reader.missed()? {
        return Ok(Some(missed_text(&missed, zone)));
    }
    let lost = reader.orders_lost()?;
    Ok((!lost.is_none()).then(|| orders_lost_text(lost)))
}

/// Says that what is read is of the past, where the journal is used elsewhere by now.
pub(in crate::cli) fn warn_moved(reader: &Reader) -> Result<(), Error> {
    if let Some(to) = reader.moved_to()? {
        let text = format!(
            "this journal was moved to {to}: what is shown here is its state when it was moved"
        );
        output::complain("warning", &text);
    }
    Ok(())
}

/// What comes before anything else with a row that is not paid, as the report says it: what pays again is not told before.
pub(in crate::cli) fn recover_first() -> String {
    RECOVER_FIRST.replace(['“', '”'], "`")
}

/// Says when that was noticed.
fn noticed(since: Option<Timestamp>, zone: &WireZone) -> String {
    since.map_or_else(String::new, |since| {
        format!(", noticed at {}", zone.format_named(since))
    })
}

/// Says in one line that a recovery is under way, and what is left of it; `None`: there is none.
pub(in crate::cli) fn countdown(reader: &Reader, zone: &WireZone) -> Result<Option<String>, Error> {
    let (missed, lost) = (reader.missed()?, reader.orders_lost()?);
    if missed.is_none() && lost.is_none() {
        return Ok(None);
    }
    let why = match &missed {
        Some(Missed { cause, since }) => {
            let since = noticed(*since, zone);
            format!(
                "the journal may have missed payments: {}{since}",
                cause.sentence()
            )
        }
        None => "orders of people may be lost".to_owned(),
    };
    let unasked = reader.presumed()?.iter().map(Presumed::left_to_ask).sum();
    let batches = reader.batches_lost()?;
    let to_give = lost.count.saturating_sub(reader.orders_given()?);
    let left = [
        (unasked, ["payment", "payments"], "to be asked about"),
        (batches.count(), ["batch", "batches"], "to be loaded again"),
        (to_give, ["order", "orders"], "to be given again"),
    ];
    let mut left: Vec<String> = left
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, [one, several], todo)| {
            let what = if count == 1 { one } else { several };
            format!("{} {what} {todo}", output::grouped(&count.to_string()))
        })
        .collect();
    if !lost.is_none() && to_give == 0 {
        left.push(
            match lost.count {
                0 => "nobody has confirmed which orders were given since",
                _ => "nobody has confirmed that all lost orders were given again",
            }
            .to_owned(),
        );
    }
    if left.is_empty() && missed.as_ref().is_some_and(|missed| missed.since.is_some()) {
        left.push("all that is left is to declare it done".to_owned());
    }
    left.push("disburse recover shows all of it".to_owned());
    Ok(Some(format!("{why}; {}", left.join(", "))))
}

/// Says of each batch that is missing what is to be done, a line each behind a sentence.
pub(in crate::cli) fn listed(lost: &Lost) -> String {
    let lines = lost.sentences().into_iter();
    lines.map(|text| format!("\n  {text}")).collect()
}

/// Names the batches that are missing, while whatever was loaded since waits for them.
pub(in crate::cli) fn missing_text(lost: &Lost) -> Option<String> {
    lost.holds().then(|| {
        format!(
            "batches that were posted from this place are missing here, or differ from what was posted. A batch that \
             was loaded since may be one of them under another name, so \"not found\" proves nothing about its \
             payments: the gateway is asked about them, and none is posted until the missing batches are here, or \
             until somebody gives `disburse recover --done` at a terminal:{}",
            listed(lost)
        )
    })
}

/// Says why the journal may have missed something.
pub(in crate::cli) fn missed_text(missed: &Missed, zone: &WireZone) -> String {
    let since = noticed(missed.since, zone);
    format!(
        "the journal may have missed payments: {}{since}. The gateway is asked about everything that is unfinished, \
         and about everything that is loaded until the recovery is declared done, before it is posted",
        missed.cause.sentence()
    )
}

/// Says both in one: that the journal may have missed payments, and that orders of people are lost.
pub(in crate::cli) fn missed_and_lost_text(
    missed: &Missed,
    lost: OrdersLost,
    zone: &WireZone,
) -> String {
    let since = noticed(missed.since, zone);
    let orders = match lost.count {
        0 => "which orders (such as cancel, retry, resolve, a move to another account or gateway) were given since, or that there were none".to_owned(),
        count => format!(
            "that {} by people (such as cancel, retry, a corrected file, a move to another account or gateway), which this journal does not have, {} given again",
            output::counted(count, "order"),
            if count == 1 { "was" } else { "were" },
        ),
    };
    format!(
        "the journal may have missed payments: {}{since}. Only rehearsals (--sandbox) are posted until the gateway has \
         been asked, and somebody has confirmed {orders}",
        missed.cause.sentence()
    )
}

/// Says that orders of people are lost.
pub(in crate::cli) fn orders_lost_text(lost: OrdersLost) -> String {
    match lost.count {
        0 => "this journal may be an older copy or a new one, and it cannot know which orders (such as cancel, retry, \
              resolve, a move to another account or gateway) people gave since. Only rehearsals (--sandbox) are posted until somebody confirms that these \
              orders were given again, or that there were none"
            .to_owned(),
        count => format!(
            "this journal, an older copy or a new one, does not have {} by people (such as cancel, retry, a corrected file, a move to another account or gateway). Only rehearsals \
             (--sandbox) are posted until somebody confirms that {} given again",
            output::counted(count, "order"),
            if count == 1 { "it was" } else { "they were" },
        ),
    }
}
