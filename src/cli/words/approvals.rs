//! Signatures, in words: who has signed, what is missing, and what to type.

use crate::cli::session::{Commands, sandbox_flag};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Money, WireZone};
use crate::journal::{Approvals, NotSigned, OrderWaiting};
use crate::ledger::Purpose;
use crate::ledger::approval::rule::{InForce, Rule};

/// Says what a batch waits for that needs signatures, and what to do.
pub(in crate::cli) fn missing(commands: Commands<'_>, approvals: &Approvals) -> (String, String) {
    let Commands { batch, purpose } = commands;
    let sandbox = sandbox_flag(purpose);
    if approvals.unsigned && !approvals.unfit_loaders.is_empty() {
        return loader_unfit(commands, approvals);
    }
    if approvals.is_out_of_people() {
        return nobody_left(commands, approvals);
    }
    if approvals.unsigned {
        return (
            format!(
                "batch {batch} waits for signatures: {} has not signed yet{}",
                match approvals.loaded_by.is_empty() {
                    true => "its loader",
                    false => "the loader of the newest rows",
                },
                so_far(approvals)
            ),
            format!(
                "the loader, and nobody else, signs: disburse approve {batch} --as-loader{sandbox} --sign-key KEY (this person can then not approve it). Then {} approve{} it: disburse approve {batch}{sandbox} --sign-key KEY",
                others(approvals.required),
                if approvals.required == 1 { "s" } else { "" }
            ),
        );
    }
    // What was approved before goes on meanwhile.
    let covered = match approvals.covers_nothing() {
        true => "",
        false => "; a run still posts what was approved before",
    };
    let have = approvals.approved_by.len();
    let need = usize::from(approvals.required);
    let later = match approvals.approved_before.is_empty() {
        true => String::new(),
        false => format!(
            "; {} approved an earlier state, and rows, retries or amounts came later",
            approvals.approved_before.join(", ")
        ),
    };
    (
        format!(
            "batch {batch} waits for approval: {have} of {need} {}{later}{}{covered}",
            match need {
                1 => "signature",
                _ => "signatures",
            },
            so_far(approvals)
        ),
        format!(
            "{}: disburse approve {batch}{sandbox} --sign-key KEY; then: {}",
            match (need, have) {
                (2, 1) =>
                    "one more, who is neither the loader nor the one who signed, looks at it and signs",
                (2, _) =>
                    "two people who are neither the loader nor one another look at it and sign",
                _ if approvals.loaded_by.len() > 1 =>
                    "somebody who has loaded none of its rows looks at it and signs",
                _ => "somebody other than the loader looks at it and signs",
            },
            commands.run()
        ),
    )
}

/// Says that too few people are left to approve: whoever loaded rows of a batch approves none of it.
fn nobody_left(commands: Commands<'_>, approvals: &Approvals) -> (String, String) {
    let Commands { batch, purpose } = commands;
    let sandbox = sandbox_flag(purpose);
    (
        format!(
            "nobody can approve all of batch {batch}: {} loaded rows of it, and {} who did not must approve{}",
            match approvals.others_left {
                0 => "everybody who may sign".to_owned(),
                left => format!("all but {left} of those who may sign"),
            },
            match approvals.required {
                1 => "one".to_owned(),
                required => required.to_string(),
            },
            so_far(approvals)
        ),
        format!(
            "disburse cancel {batch}, which cancels what was not sent; then let one person load the rows that were not sent, from one file, under \
             another batch name: disburse load FILE --batch OTHER --on-error skip{sandbox} --sign-key KEY, which leaves out what was sent"
        ),
    )
}

/// Says that whoever signed to have loaded a batch did so in vain: the key is no longer theirs, say. Another signer can take its place.
fn loader_unfit(commands: Commands<'_>, approvals: &Approvals) -> (String, String) {
    let Commands { batch, purpose } = commands;
    let sandbox = sandbox_flag(purpose);
    let then = match approvals.approved_by.len() >= usize::from(approvals.required) {
        true => format!("then: {}", commands.run()),
        false => format!(
            "then {} approve{} it: disburse approve {batch}{sandbox} --sign-key KEY",
            others(approvals.required),
            if approvals.required == 1 { "s" } else { "" }
        ),
    };
    (
        format!(
            "batch {batch} waits for signatures: that of {}, who signed that they loaded rows of it, does not count{}",
            approvals.unfit_loaders.join(", "),
            so_far(approvals)
        ),
        format!(
            "somebody else, who may sign now and could when it was loaded, looks at it and signs in the place of the \
             loader (and can then not approve it): disburse approve {batch} --as-loader{sandbox} --sign-key KEY; \
             {then}. If there is nobody who can: disburse cancel {batch}, then load the file under another batch name"
        ),
    )
}

/// Says what a batch waits for, and why the first signature does not count that does not.
pub(in crate::cli) fn missing_and_why(
    commands: Commands<'_>,
    approvals: &Approvals,
) -> (String, String) {
    let (what, next) = missing(commands, approvals);
    match approvals.unfit.first() {
        Some(why) => (format!("{what}; {why}"), next),
        None => (what, next),
    }
}

/// Says what a batch waits for that needs signatures, and the one step that is next: nobody signs for rows without an amount. `None`
/// where it waits for nobody.
pub(in crate::cli) fn next(
    commands: Commands<'_>,
    approvals: &Approvals,
    unpriced: u64,
) -> Option<(String, String)> {
    if !approvals.waits() {
        return None;
    }
    let Commands { batch, purpose } = commands;
    Some(match unpriced {
        0 => missing_and_why(commands, approvals),
        rows => (
            format!(
                "batch {batch} waits for approval{}, and {} no amount yet: nobody can say what would be paid",
                so_far(approvals),
                match rows {
                    1 => "1 row has".to_owned(),
                    rows => format!("{rows} rows have"),
                }
            ),
            bills_first(batch, purpose),
        ),
    })
}

/// What to do before anybody signs for rows without an amount.
fn bills_first(batch: &BatchName, purpose: Purpose) -> String {
    let sandbox = sandbox_flag(purpose);
    format!(
        "ask for the bills first, with the file that it was loaded from: disburse load FILE --batch {batch} --bills{sandbox}"
    )
}

/// Names the threshold: ` (approval.above KES 1,000.00)`; nothing where there is none.
fn above_text(above: &[Money]) -> String {
    let amounts = above
        .iter()
        .map(|money| format!("{} {}", money.currency, output::grouped(&money.to_string())));
    match above {
        [] => String::new(),
        _ => format!(
            " (approval.above {})",
            amounts.collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Says that a batch like this one would need signatures.
pub(in crate::cli) fn needed(rule: &Rule) -> String {
    let required = rule.required;
    let above = InForce::of(Vec::new(), Some(rule.clone())).above();
    format!(
        "a batch of this total{} waits for approval once it is loaded: {} sign{} for it (disburse approve)",
        above_text(&above),
        others(required),
        if required == 1 { "s" } else { "" }
    )
}

fn others(required: u8) -> &'static str {
    match required {
        1 => "somebody other than the loader",
        _ => "two people who are neither the loader nor one another",
    }
}

/// Says who has signed so far.
fn so_far(approvals: &Approvals) -> String {
    let mut parts = Vec::new();
    if !approvals.loaded_by.is_empty() {
        parts.push(format!("loaded by {}", approvals.loaded_by.join(", ")));
    }
    if !approvals.approved_by.is_empty() {
        parts.push(format!("approved by {}", approvals.approved_by.join(", ")));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join("; ")),
    }
}

/// Tells a program where a batch stands with its signatures.
pub(in crate::cli) fn to_json(approvals: &Approvals) -> serde_json::Value {
    serde_json::json!({
        "needed": approvals.needed,
        "required": approvals.required,
        "loaded_by": approvals.loaded_by,
        "approved_by": approvals.approved_by,
        "approved_before": approvals.approved_before,
        "waits": approvals.waits(),
        "unfit": approvals.unfit,
    })
}

/// Says where a batch stands with its signatures, for a list; nothing where no rule is in force.
pub(in crate::cli) fn lines(
    commands: Commands<'_>,
    approvals: &Approvals,
    (unpriced, is_over): (u64, bool),
) -> Vec<String> {
    if !approvals.in_force {
        return Vec::new();
    }
    if !approvals.needed {
        return vec![format!(
            "its total is not above what may be paid without approval{}",
            above_text(&approvals.above)
        )];
    }
    let mut lines = match approvals.whole {
        true => vec![format!("signed{}", so_far(approvals))],
        // What is over waits for nobody, whoever signs no longer.
        false if is_over => Vec::new(),
        false => {
            let (why, next) = match unpriced {
                0 => missing(commands, approvals),
                _ => next(commands, approvals, unpriced).unwrap_or_default(),
            };
            vec![why, format!("next: {next}")]
        }
    };
    lines.extend(approvals.unfit.iter().cloned());
    lines
}

/// Says why a signature is not taken, and what to do.
pub(in crate::cli) fn not_signed(commands: Commands<'_>, why: &NotSigned) -> (String, String) {
    let Commands { batch, purpose } = commands;
    let sandbox = sandbox_flag(purpose);
    let print = format!("disburse approve {batch}{sandbox} --as NAME --print");
    match why {
        NotSigned::NoRule => (
            format!("nothing asks for signatures of batch {batch}: no [approval] was configured when it was loaded, and none is now"),
            "run it as it is, or add [approval] to the configuration first".to_owned(),
        ),
        NotSigned::NoText => (
            "the text is not one that `disburse approve --print` wrote".to_owned(),
            format!("write it anew, sign it as it is, and give both: {print} > TEXT"),
        ),
        NotSigned::Differs { is, should_be } => (
            format!("batch {batch} has changed since the text was written: the text has \"{is}\", and should have \
                \"{should_be}\""),
            format!("look at what has changed, then sign the new text: {print}"),
        ),
        NotSigned::Ssh(error) => (
            format!("{error}"),
            format!("sign the text as it was printed, to the last byte: ssh-keygen -Y sign -n disburse -f KEY TEXT; the text: {print}"),
        ),
        NotSigned::Unfit(why) => (
            why.clone(),
            "approval.allowed_signers says who signs with which key, and from when to when; for this batch, as it was when it was loaded, too"
                .to_owned(),
        ),
        NotSigned::Loader(by) => (
            format!("{by}, or the same key, signed that they loaded rows of batch {batch}: the loader does not approve"),
            format!("let somebody else sign, who has loaded none of its rows: disburse approve {batch}{sandbox} --sign-key KEY; disburse status {batch} says whether anybody is left"),
        ),
        NotSigned::AmountsPending(rows) => (
            format!("{rows} rows of batch {batch} have no amount yet: nobody can say what would be paid"),
            bills_first(batch, purpose),
        ),
        NotSigned::Unloaded => (
            format!("nobody has signed that they loaded all of batch {batch}"),
            format!(
                "the person who loaded it signs that first, and can then not approve it: disburse approve {batch} \
                 --as-loader{sandbox} --sign-key KEY. If that signature no longer counts, `disburse status {batch}` \
                 says who can sign instead"
            ),
        ),
        NotSigned::Time(at) => (
            format!("the text says that it was signed at {at}, which is in the future"),
            "set the clock of the machine where it was written".to_owned(),
        ),
        NotSigned::Stale(_) | NotSigned::Spent => (
            "the signature is for an order, and not for a batch".to_owned(),
            format!("sign the text of the batch: {print}"),
        ),
        NotSigned::TooMany => (
            format!("batch {batch} has reached the most signatures that a batch can have"),
            "nothing more can be signed for it; see disburse status".to_owned(),
        ),
    }
}

/// Says that an order waits for signatures.
pub(in crate::cli) fn order_waiting_text(order: &OrderWaiting, zone: &WireZone) -> String {
    let next = match order.is_enough {
        true => "which is enough: the same command carries it out",
        false => "others give the same order with --sign-key KEY",
    };
    format!(
        "an order waits for signatures: {}; signed by {}, valid until {}; {next}",
        order.what,
        order.signed_by.join(", "),
        zone.format_named(order.until)
    )
}

/// Tells a program that an order waits for signatures.
pub(in crate::cli) fn order_waiting_json(order: &OrderWaiting) -> serde_json::Value {
    serde_json::json!({
        "order": order.what,
        "signed_by": order.signed_by,
        "until": order.until.to_string(),
        "enough": order.is_enough,
    })
}

/// Says why a signature for an order is not taken, and what to do.
pub(in crate::cli) fn order_not_signed(why: &NotSigned) -> (String, String) {
    let anew = "write the text anew, sign it as it is, and give both: the same command with --as NAME --print > TEXT".to_owned();
    match why {
        NotSigned::NoText => (
            "the text is not one that --print wrote for an order".to_owned(),
            anew,
        ),
        NotSigned::Differs { is, should_be } => (
            format!("the text is of another order, or the order has changed: the text has \"{is}\", and should have \
                \"{should_be}\""),
            format!("look at the order again. {anew}"),
        ),
        NotSigned::Ssh(error) => (format!("{error}"), anew),
        NotSigned::Unfit(why) => (
            why.clone(),
            "approval.allowed_signers says who signs with which key, and from when to when; as it was when the batch was loaded, too"
                .to_owned(),
        ),
        NotSigned::Time(at) => (
            format!("the text says that it was signed at {at}, which is in the future"),
            "set the clock of the machine where it was written".to_owned(),
        ),
        NotSigned::TooMany => (
            "the batch has reached the most signatures for orders that a batch can have".to_owned(),
            "nothing more can be signed for it; see disburse verify".to_owned(),
        ),
        NotSigned::Stale(at) => (
            format!("the text was signed at {at}, more than a day ago: the signature no longer counts"),
            anew,
        ),
        NotSigned::Spent => (
            "the signature was used already: its order was carried out".to_owned(),
            anew,
        ),
        NotSigned::NoRule
        | NotSigned::Loader(_)
        | NotSigned::AmountsPending(_)
        | NotSigned::Unloaded => (
            "this order needs no signatures".to_owned(),
            "approval.orders says which orders are signed for".to_owned(),
        ),
    }
}

/// What is never signed, in the words of a refusal.
pub(in crate::cli) const NOTHING: &str = "nothing was signed, and nothing was sent";

/// Returns what a rehearsal is called in a question.
pub(in crate::cli) fn rehearsed(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Rehearsal => " (a rehearsal)",
        Purpose::Gateway | Purpose::Unknown => "",
    }
}
