//! What `recover` says of a journal that may have missed something: what is presumed, what is lost, and what is to be done.

use serde_json::{Value, json};

use crate::cli::session::run_command;
use crate::cli::terminal::output;
use crate::journal::{Location, Missed, OrderedPayment, Presumed};
use crate::ledger::payer::Lost;
use crate::ledger::recovery::{Cause, Order, OrdersLost};

/// Says that nothing is known to be missing, and how far that goes.
pub(super) fn nothing_missed(journal: &Location) -> &'static str {
    match journal {
        Location::File(_) => {
            "nothing is known to be missing: the journal is as it was left in this place"
        }
        Location::Server(_) => {
            "no recovery is under way: as far as this machine has seen the journal, nothing is missing. A machine that never used it, or \
             not lately, cannot notice an older copy of the database. If an older copy was put back: before any run, on every \
             machine that has run, listened or given orders: disburse recover BATCH --presume-posted, for one of the batches; then for each \
             other batch, on one of them. The gateway is then asked about everything first"
        }
    }
}

/// What of each batch is presumed posted, and what was asked about it.
pub(super) fn presumed_table(batches: &[Presumed]) -> String {
    output::table(
        &[
            "batch",
            "presumed posted",
            "not asked yet",
            "not at the gateway",
            "at the gateway",
            "posted since",
            "decided",
        ],
        batches.iter().map(row).collect(),
        &[1, 2, 3, 4, 5, 6],
    )
}

/// Lost orders are listed as far as this.
const LISTED: usize = 40;

/// Says which orders are lost, as far as they are known one by one.
pub(super) fn missing_texts(
    missing: &[Order],
    payments: &[Option<OrderedPayment>],
    lost: OrdersLost,
    given: u64,
) -> Vec<String> {
    let counted = (given > 0).then(|| {
        let left = lost.count.saturating_sub(given);
        format!("  given again so far: {given}; left: {left}")
    });
    let listed = missing
        .iter()
        .zip(payments)
        .take(LISTED)
        .map(|(order, payment)| {
            let payment = payment.as_ref().map_or_else(String::new, |payment| {
                let decided = match payment.decided {
                    "" => String::new(),
                    decided => format!(", decided {decided}"),
                };
                let name = output::name(&payment.name);
                format!(": {name}, line {}{decided}", payment.line)
            });
            format!("  not given again: {}{payment}", order.sentence())
        });
    let mut texts: Vec<String> = counted.into_iter().chain(listed).collect();
    if missing.len() > LISTED {
        texts.push(format!("  … and {} more", missing.len() - LISTED));
    }
    if missing.is_empty() && lost.count > given {
        let known = match given {
            0 => "of these only the number is known",
            _ => {
                "all that are known one by one are given again; of the others only the number is known"
            }
        };
        texts.push(format!(
            "  {known}: the people who gave them must say which they were (a move to another account or gateway is one, too)"
        ));
    }
    texts
}

pub(super) fn order_json(order: &Order) -> Value {
    json!({
        "act": order.act, "batch": order.batch, "payments": order.payments, "at": order.at.to_string(), "user": order.user,
    })
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

pub(super) fn to_json(presumed: &Presumed) -> Value {
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

pub(super) fn lost_json(lost: &Lost) -> Value {
    let names: Vec<&String> = lost.names.iter().chain(&lost.in_part).collect();
    let unlike: Vec<Value> = lost
        .unlike
        .iter()
        .map(|unlike| {
            let ((rows, posted_rows), (originator, posted_originator)) =
                (unlike.rows, &unlike.originators);
            json!({
                "batch": unlike.batch, "rows": rows, "posted_rows": posted_rows,
                "originator": originator, "posted_originator": posted_originator,
            })
        })
        .collect();
    json!({"names": names, "unnamed": lost.unnamed, "unlike": unlike})
}

/// Said of a run that asks: away from a terminal it wants the word of a person about the account. What a batch paid where a lost order had
/// moved it is not known in the place before.
const AS_WHOM: &str = " (if the batch was moved to another account or gateway since, give that order with this run, with the profile of the new place: --account-moved or --gateway-moved; \
the old place does not know what the new one paid. If it says that nobody knows which account posted the batch: add --asked-as USER, the user name of that account at the gateway, \
and --asked-at URL where the configuration has several gateways)";

/// What is to be done, numbered in its order, and what may be done instead.
pub(super) fn next(
    missed: Option<&Missed>,
    batches: &[Presumed],
    (batches_lost, orders_lost): (&Lost, OrdersLost),
    may_release: bool,
) -> Vec<String> {
    let mut next: Vec<String> = Vec::new();
    let lacks = missed.is_some() || !orders_lost.is_none();
    if lacks {
        let since = match missed.map(|missed| missed.cause) {
            Some(Cause::Promoted) => {
                "since the time to which the server was restored, or shortly before it was promoted"
            }
            _ => "since the copy was made",
        };
        let which = match batches_lost.is_none() {
            true => format!("every file that was loaded {since}"),
            false => format!(
                "the files of the batches that are missing, and every other one that was loaded {since}"
            ),
        };
        next.push(format!("load {which}, each under its batch name"));
    }
    let open = batches.iter().filter(|presumed| presumed.unasked > 0);
    let open: Vec<String> = open
        .map(|presumed| run_command(&presumed.batch, presumed.purpose))
        .collect();
    // Files that are loaded now are asked about as well: the step stands here even if nothing is left to ask of what is here.
    match (open.as_slice(), orders_lost.is_none()) {
        ([], true) => {}
        ([], false) => next.push(
            "run each batch that you load, which asks the gateway, and posts nothing: disburse run BATCH".to_owned() + AS_WHOM,
        ),
        (open, _) => next.extend(open.iter().map(|command| format!("to ask: {command}{AS_WHOM}"))),
    }
    if !orders_lost.is_none() {
        next.push(
            "give the lost orders again, in their order (disburse cancel, resolve, retry, reconcile, schedule, load --amend of a corrected file; earlier reports, and the people who \
             gave them, know which): otherwise a payment is posted that such an order had stopped. Give a retry again as a retry, and do not mend or load its row instead: \
             only then is the gateway asked about what the lost retry paid. Of a resolve --paid there is nothing left to decide where the gateway has said paid by now: it counts with --without"
                .to_owned(),
        );
        next.push(
            "confirm that they were given again, or that there were none: disburse recover --orders-given-again --reason TEXT"
                .to_owned(),
        );
    }
    if lacks {
        let posts =
            "run each batch, which then posts what was not posted before: disburse run BATCH";
        next.push(posts.to_owned());
    }
    if missed.is_some() {
        next.push(
            "when every file is here, and its run has ended: disburse recover --done".to_owned(),
        );
    }
    let count = next.len();
    for (at, step) in next.iter_mut().enumerate().filter(|_| count > 1) {
        *step = format!("{}. {step}", at + 1);
    }
    if may_release && batches.iter().any(|presumed| presumed.unasked > 0) {
        next.push(
            "instead, if asking takes too long, and it is certain that nothing ran since: disburse recover --nothing-ran-since \
             --reason TEXT. If that is wrong, people are paid twice"
                .to_owned(),
        );
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::words::hints::ORDERS_LOST_HINT;
    use crate::domain::BatchName;
    use crate::ledger::Purpose;

    /// Asserts that the words stand in a text, in this order.
    fn assert_in_order(text: &str, words: &[&str]) {
        let mut rest = text;
        for word in words {
            let (_, behind) = rest
                .split_once(word)
                .unwrap_or_else(|| panic!("{word:?} is missing, or too early: {text}"));
            rest = behind;
        }
    }

    #[test]
    fn lost_orders_are_given_again_after_the_gateway_was_asked_and_before_a_run_posts() {
        let missed = Missed {
            cause: Cause::NoMark,
            since: None,
        };
        let presumed = |unasked| Presumed {
            batch: BatchName::parse("b").unwrap(),
            purpose: Purpose::Gateway,
            payments: 3,
            unasked,
            not_found: 0,
            known: 0,
            posted: 0,
            decided: 0,
        };
        let lost = OrdersLost {
            count: 0,
            unknown: true,
        };
        assert_in_order(
            ORDERS_LOST_HINT,
            &[
                "load the files",
                "run each batch, which asks the gateway, and posts nothing",
                "give the lost orders again",
                "--orders-given-again",
                "run again, which posts",
            ],
        );
        for (batches, asks) in [
            (
                vec![],
                "run each batch that you load, which asks the gateway",
            ),
            (vec![presumed(3)], "to ask: disburse run b"),
        ] {
            for missed in [Some(&missed), None] {
                let text = next(missed, &batches, (&Lost::default(), lost), false).join("\n");
                assert_in_order(
                    &text,
                    &[
                        "1. load every file",
                        asks,
                        "give the lost orders again",
                        "--orders-given-again",
                        "which then posts",
                    ],
                );
            }
        }
    }
}
