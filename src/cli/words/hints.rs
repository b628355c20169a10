//! What to do about a refusal of the journal that knows which batch or payment it is about: commands that can be typed as they stand.

use crate::journal::{DebtElsewhere, Error};

/// Returns what to do, where the error names what the command is about.
pub(in crate::cli) fn named(error: &Error) -> Option<String> {
    Some(match error {
        Error::NotAllowed { batch, id, .. } => {
            format!("`disburse explain {batch} --id {id}` shows how it came to that")
        }
        Error::Moved { to } => format!(
            "name the journal that is there: --journal {}, DISBURSE_JOURNAL, or the key journal of the configuration. Here, everything is as it was when the journal was moved",
            crate::cli::terminal::output::quoted(to)
        ),
        Error::NotSound { batch } => {
            format!("see what `disburse verify {batch}` finds; no copy was left behind")
        }
        Error::OtherReading {
            batch, configured, ..
        } => format!(
            "set the dialect back to the one that the batch was begun with. If that dialect reads replies wrongly, look at the difference with disburse dialect show, then accept the new one, which is \
             recorded: disburse run {batch} --accept-dialect {configured}"
        ),
        Error::Altered { batch, .. } | Error::AlteredRow { batch, .. } => {
            altered(&format!("`disburse verify {batch}` lists what was changed"))
        }
        Error::AlteredLoad { .. } => altered(
            "`disburse status` lists the batches, and `disburse verify BATCH` says what was changed in each",
        ),
        Error::PayerUnknown {
            batch,
            account,
            gateway,
            ..
        } => format!(
            "find out which account of which gateway posted it last. If it was {account} at {gateway}, confirm that: disburse run {batch} --asked-as USER, with that name (and --asked-at URL, where the configuration has several gateways). If it was another account, or another gateway, choose its profile first: {account} at {gateway} would say \
             \"not found\" about everything. As long as orders of people (cancel, resolve, retry) may be lost, that run only asks: give them again after it, as `disburse recover` lists"
        ),
        Error::PayerElsewhere {
            batch,
            told_account,
            told_gateway,
            ..
        } => format!(
            "choose the profile with the user name {told_account} at {told_gateway}: --asked-as takes no other name here. If the gateway no longer accepts that name, ask its people what became of each \
             payment, and record it with that profile all the same: resolve {batch} ID --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT (payments.csv of disburse report lists the IDs). After disburse recover --done has ended the recovery, you can load what \
             failed under another batch name"
        ),
        Error::BatchesLost { lost } => {
            let unnamed = match lost.unnamed {
                0 => "",
                _ => {
                    " Not every old batch is known by its name: earlier reports and the files have the names. Of the batches before the last 80 only the number is kept, and it stays the same when you load \
                    them. Once every file that may have paid what failed here is loaded and run, confirm that at a terminal: disburse recover --done."
                }
            };
            format!(
                "load the files of these batches again, each under its batch name, and run them: the gateway is asked, and nothing is paid twice.{unnamed} If a row of these files repeats one that failed here, \
                 the load is refused, and prints the list and `--allow-repeats DIGEST`, which loads exactly those rows; the gateway is asked about them before any is posted. Then repeat this command"
            )
        }
        error => return of_debt(error),
    })
}

/// The same where the debt of a payment may be paid by another one.
fn of_debt(error: &Error) -> Option<String> {
    Some(match error {
        Error::PaidElsewhere { batch, found } => format!(
            "{}. If that one fails, repeat this command, which then pays this payment. If that one is paid, cancel \
            this payment: disburse cancel {batch} --id {}; then run {batch} again, which posts the rest. If both are \
            owed, still cancel this payment, and load it into a new batch; that load asks you to confirm",
            finish_other(found),
            found.id
        ),
        Error::GivenFirst { order, .. } if order.act == "correct" => format!(
            "give that order again first ({}): load the corrected file as it was then, with `disburse load FILE --batch {} --amend`, and retry \
             nothing of the batch before, as a retry of the row as it was goes by another identifier. `disburse recover` shows each step",
            order.sentence(),
            order.batch
        ),
        Error::GivenFirst { order, .. } => format!(
            "give that order again first ({}; with `disburse retry` or `disburse resolve`), for the same payments as \
             then, and do not mend their rows instead: only then is the gateway asked about the payments of that \
             order, and a paid one recognised. Load the other rows after that. `disburse recover` shows each step",
            order.sentence()
        ),
        other => return elsewhere(other),
    })
}

/// What to do about a batch that belongs elsewhere than where a command would take it.
fn elsewhere(error: &Error) -> Option<String> {
    Some(match error {
        Error::OtherGateway {
            pinned, configured, ..
        } if pinned.starts_with("sandbox ") && configured.starts_with("sandbox ") => {
            "this rehearsal needs the sandbox that remembers what it paid: copy the file whose name ends in .sandbox from beside the old journal to the same place beside this one; or rehearse the file again \
             under another batch name"
                .to_owned()
        }
        Error::OtherGateway { pinned, .. } if pinned.starts_with("sandbox ") => return None,
        Error::OtherGateway { batch, .. } => format!(
            "a batch stays with its gateway: another one does not know what was paid. Choose the right profile. If the same gateway has another address now: disburse run {batch} --gateway-moved --reason TEXT, \
             which asks there about a payment of the batch first. If it has given the account another name as well: both, --account-moved --gateway-moved"
        ),
        Error::OtherDestination {
            batch,
            meant,
            configured,
        } => {
            let flags = match (meant.gateway == configured.gateway, meant.names(configured)) {
                (true, _) => "--account-moved",
                (false, true) => "--gateway-moved",
                (false, false) => "--gateway-moved --account-moved",
            };
            let first = match meant.profile.as_str() {
                "" => "choose the profile with that account and address".to_owned(),
                profile if profile == configured.profile => {
                    "this profile, or a variable beside it, says something else than when the batch was loaded: if that is a mistake, mend it (disburse config show says where each value stands)".to_owned()
                }
                profile => format!(
                    "choose the profile that it was loaded with: --profile {}",
                    crate::cli::terminal::output::quoted(profile)
                ),
            };
            format!(
                "{first}. If the configured one shall pay it after all: disburse run {batch} {flags} --reason TEXT, which is recorded; where something of it was posted, the new place has to know one of its payments"
            )
        }
        Error::DocumentsElsewhere { batch, .. } => format!(
            "disburse cancel {batch}, then load its file with this profile under another batch name: the documents are uploaded there anew. What was posted, and people called failed, is named then as a repeat: ask \
             the people of that gateway or account about it before you allow it"
        ),
        Error::AwaitedElsewhere { batch, .. } => format!(
            "cancel these (payments.csv of disburse report has their code, 230): disburse cancel {batch} ID, or all that is not posted: disburse cancel {batch}. Then repeat this command for what is left. The \
             gateway of the old place may pay what it answered 230 to yet: load these rows with this profile under another batch name only when its people have confirmed that it does not"
        ),
        Error::OtherAccount { batch, .. } => format!(
            "choose the profile with the user name it was started with. If the gateway has given that account another name: disburse run {batch} --account-moved --reason TEXT, which asks the gateway about a \
             payment of the batch first. If it has another address as well: both, --account-moved --gateway-moved. If the batch was loaded for the wrong account: disburse cancel {batch} withdraws what was not \
             sent; let a run with that account end what was; then load the file with the right profile under another batch name, with --on-error skip, which leaves out what was sent"
        ),
        _ => return None,
    })
}

/// Says how the other payment of a debt comes to its end.
fn finish_other(found: &DebtElsewhere) -> String {
    let (batch, id) = (&found.other, found.other_id);
    match found.needs_decision {
        true => format!(
            "first decide about the other payment, as answers about it disagree: see them with disburse explain {batch} --id {id}, ask the gateway's people, \
             then disburse resolve {batch} --id {id} --paid, or --failed, with --reason TEXT --evidence TEXT"
        ),
        false => format!("first finish the other payment: disburse run {batch}"),
    }
}

fn altered(look: &str) -> String {
    format!(
        "keep the journal as it is and send nothing more from it: {look}. Go on with a copy of the journal from before \
         the change: a run of it asks the gateway first about what was posted since"
    )
}

/// What to do about orders that are lost.
pub(in crate::cli) const ORDERS_LOST_HINT: &str = "`disburse recover` lists each step with its commands (of a journal on a \
    server, first the one that each machine gives which has used it): (1) load the files that this journal lacks; (2) run each batch, which asks the gateway, and posts nothing; where it was moved since, with that order (--account-moved, --gateway-moved) and the profile of the new place; (3) give the lost \
    orders again as they were, and in their order (disburse cancel, resolve, retry, reconcile, schedule, load --amend). Give a retry again as a \
    retry: a row that you mend instead may be paid a second time; (4) confirm that they were given again, or that \
    there were none: disburse recover --orders-given-again --reason TEXT; (5) run again, which posts";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BatchName, PayerTransactionId};

    #[test]
    fn the_other_payment_of_a_debt_comes_to_its_end_by_what_fits_its_state() {
        let found = |needs_decision| DebtElsewhere {
            what: String::new(),
            id: PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQR1").unwrap(),
            other: BatchName::parse("w").unwrap(),
            other_id: PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQR2").unwrap(),
            needs_decision,
        };
        for (needs_decision, named, unnamed) in [
            (
                true,
                "disburse resolve w --id 0123456789ABCDEFGHJKMNPQR2 --paid, or --failed",
                "disburse run w",
            ),
            (
                false,
                "first finish the other payment: disburse run w",
                "disburse resolve",
            ),
        ] {
            let batch = BatchName::parse("b").unwrap();
            let found = Box::new(found(needs_decision));
            let hint = named_hint(&Error::PaidElsewhere { batch, found });
            assert!(hint.contains(named), "{hint}");
            assert!(!hint.contains(unnamed), "{hint}");
        }
    }

    fn named_hint(error: &Error) -> String {
        named(error).unwrap()
    }
}
