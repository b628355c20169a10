//! Rows that were set aside, and those of them that a person has withdrawn.

use serde_json::{Value, json};

use crate::domain::{Actor, BatchId, EvidenceId, LoadId, Timestamp};
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::ROW_WITHDRAWN;
use crate::journal::codec::values::corrupt;
use crate::journal::codec::values::currency_of;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Standing};
use crate::ledger::set_aside::Withdrawal;
use crate::store::tables::{evidence, rejected};
use crate::store::{Read, Reads, Scan, Test, Writes, shape};

shape! {
    /// A decision of a person.
    struct Decided of evidence { at: Timestamp, detail: String }
}
shape! {
    /// A row that was set aside, as it is counted.
    struct Counted of rejected { amount: Option<i64>, currency: Option<String>, withdrawn: Option<EvidenceId> }
}

/// Returns the decision that a row of evidence holds.
pub(in crate::journal) fn withdrawal(
    c: &dyn Read,
    evidence_id: Option<EvidenceId>,
) -> Result<Option<Withdrawal>, Error> {
    let Some(evidence_id) = evidence_id else {
        return Ok(None);
    };
    let one = Scan::of(&evidence::TABLE)
        .at(&evidence_id)
        .only(evidence::event, Test::is(&ROW_WITHDRAWN));
    let found = c.first(&one)?;
    let Decided { at, detail } =
        found.ok_or_else(|| corrupt("a withdrawal that nobody recorded"))?;
    let detail = read(&detail)?;
    let text = |name: &str| detail[name].as_str();
    let by = match (text("user"), text("host")) {
        (Some(user), Some(host)) => {
            Some(Actor::new(user, host, text("sudo_of")).in_role(text("role")))
        }
        _ => None,
    };
    Ok(Some(Withdrawal {
        at,
        by,
        reason: text("reason").unwrap_or_default().to_owned(),
        by_layout: detail["skipped"] == true,
    }))
}

fn read(detail: &str) -> Result<Value, Error> {
    parsed(Some(detail))
}

/// Who says that a row is not paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum SaidBy {
    /// A person, of a row with mistakes.
    Person,
    /// The layout of the file: the row is no payment.
    Layout,
}

/// Records that one rejected row is not paid.
pub(in crate::journal) fn withdraw(
    c: &WriteSession,
    batch_id: BatchId,
    (load, line, nth): (LoadId, i64, i64),
    (said_by, reason): (SaidBy, &str),
    now: Timestamp,
) -> Result<(), Error> {
    let mut detail = json!({"load": load.get(), "line": line, "nth": nth, "reason": reason});
    if said_by == SaidBy::Layout {
        detail["skipped"] = true.into();
    }
    if let Some(actor) = c.actor() {
        detail["user"] = actor.user().into();
        detail["host"] = actor.host().into();
        if let Some(name) = actor.sudo_of() {
            detail["sudo_of"] = name.into();
        }
        if let Some(role) = actor.role() {
            detail["role"] = role.into();
        }
    }
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (ROW_WITHDRAWN, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })?;
    c.flush()?;
    let newest = Scan::of(&evidence::TABLE).descending();
    let newest: Option<EvidenceId> = c.value(&newest, evidence::evidence_id)?;
    let open = Scan::of(&rejected::TABLE)
        .at(&load)
        .at(&line)
        .at(&nth)
        .only(rejected::replaced_by, Test::Absent)
        .only(rejected::withdrawn, Test::Absent);
    let changed = c.set(&open, rejected::withdrawn, &newest)?;
    match changed {
        1 => Ok(()),
        _ => Err(corrupt(
            "a rejected row that is not open while it is withdrawn",
        )),
    }
}

/// Counts the rows that were set aside: those that may be mended, those that are withdrawn, and those that are no payments.
pub(in crate::journal) fn count_set_aside(
    c: &dyn Read,
    batch_id: BatchId,
    standing: &mut Standing,
) -> Result<(), Error> {
    let alone = Scan::by(&rejected::rejected_by_batch)
        .at(&batch_id)
        .only(rejected::replaced_by, Test::Absent);
    let mut skipped = 0;
    c.each(&alone, |row: Counted| {
        let sum = match row.withdrawn {
            None => &mut standing.rejected,
            Some(evidence_id) => {
                skipped += u64::from(is_no_payment(c, evidence_id)?);
                &mut standing.withdrawn
            }
        };
        sum.count += 1;
        if let Some(minor) = row.amount {
            let currency = currency_of(row.currency.as_deref().unwrap_or_default())?;
            sum.amounts.add_minor(currency, i128::from(minor));
        }
        Ok::<_, Error>(())
    })?;
    // They have no amount.
    standing.skipped = skipped;
    standing.withdrawn.count -= skipped;
    Ok(())
}

/// Returns whether a row was withdrawn as no payment, by the layout of its file.
fn is_no_payment(c: &dyn Read, evidence_id: EvidenceId) -> Result<bool, Error> {
    let one = Scan::of(&evidence::TABLE).at(&evidence_id);
    let detail: Option<Option<String>> = c.value(&one, evidence::detail)?;
    match detail.flatten() {
        Some(detail) => Ok(read(&detail)?["skipped"] == true),
        None => Ok(false),
    }
}
