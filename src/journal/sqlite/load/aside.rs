//! Rows that were set aside, and those of them that a person has withdrawn.

use crate::journal::sqlite::codec::events::ROW_WITHDRAWN;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::codec::values::currency_of;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::transaction::WriteSession;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

use crate::domain::{Actor, BatchId, EvidenceId, LoadId, Timestamp};
use crate::journal::{Error, Standing};
use crate::ledger::set_aside::Withdrawal;

/// Returns the decision that a row of evidence holds.
pub(in crate::journal::sqlite) fn withdrawal(
    c: &Connection,
    evidence_id: Option<EvidenceId>,
) -> Result<Option<Withdrawal>, Error> {
    let Some(evidence_id) = evidence_id else {
        return Ok(None);
    };
    let found: Option<(i64, String)> = c
        .prepare_cached("select at, detail from evidence where evidence_id = ?1 and event = ?2")?
        .query_row((evidence_id, ROW_WITHDRAWN), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let (at, detail) = found.ok_or_else(|| corrupt("a row that nobody withdrew"))?;
    let detail: Value =
        serde_json::from_str(&detail).map_err(|_| corrupt("a detail that is not JSON"))?;
    let text = |name: &str| detail[name].as_str();
    let by = match (text("user"), text("host")) {
        (Some(user), Some(host)) => Some(Actor::new(user, host, text("sudo_of"))),
        _ => None,
    };
    Ok(Some(Withdrawal {
        at: Timestamp::from_millis(at),
        by,
        reason: text("reason").unwrap_or_default().to_owned(),
        by_layout: detail["skipped"] == true,
    }))
}

/// Who says that a row is not paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal::sqlite) enum SaidBy {
    /// A person, of a row with mistakes.
    Person,
    /// The layout of the file: the row is no payment.
    Layout,
}

/// Records that one rejected row is not paid.
pub(in crate::journal::sqlite) fn withdraw(
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
    }
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (ROW_WITHDRAWN, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })?;
    c.flush()?;
    let changed = c
        .prepare_cached(
            "update rejected set withdrawn = (select max(evidence_id) from evidence)
             where load_id = ?1 and line = ?2 and nth = ?3 and replaced_by is null and withdrawn is null",
        )?
        .execute((load, line, nth))?;
    match changed {
        1 => Ok(()),
        _ => Err(corrupt(
            "a rejected row that is not open while it is withdrawn",
        )),
    }
}

/// Counts the rows that were set aside: those that may be mended, those that are withdrawn, and those that are no payments.
pub(in crate::journal::sqlite) fn count_set_aside(
    c: &Connection,
    batch_id: BatchId,
    standing: &mut Standing,
) -> Result<(), Error> {
    let mut statement = c.prepare_cached(
        "select count(*), currency, sum(amount), count(amount), withdrawn is not null from rejected
         where batch_id = ?1 and replaced_by is null group by iif(amount is null, null, currency), withdrawn is not null",
    )?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        let count = row.get::<_, i64>(0)?.unsigned_abs();
        let sum = match row.get(4)? {
            true => &mut standing.withdrawn,
            false => &mut standing.rejected,
        };
        sum.count += count;
        if row.get::<_, i64>(3)? > 0 {
            let currency = currency_of(&row.get::<_, String>(1)?)?;
            sum.amounts
                .add_minor(currency, i128::from(row.get::<_, i64>(2)?));
        }
    }
    if standing.withdrawn.count > 0 {
        // They have no amount.
        let skipped: i64 = c
            .prepare_cached(
                "select count(*) from rejected where batch_id = ?1 and replaced_by is null and withdrawn is not null and exists (
                     select 1 from evidence e where e.evidence_id = withdrawn and e.detail ->> 'skipped')",
            )?
            .query_row([batch_id], |row| row.get(0))?;
        standing.skipped = skipped.unsigned_abs();
        standing.withdrawn.count -= standing.skipped;
    }
    Ok(())
}
