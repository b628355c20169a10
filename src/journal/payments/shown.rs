//! Payments that prove unpaid here, by the gateway's word, after a statement has shown that their money left.
//!
//! Two words disagree then, as they do where the gateway's comes first: a person weighs them, and nobody is paid again meanwhile.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::event::write_event;
use crate::domain::{BatchId, EvidenceId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::events::{MONEY_LEFT, RECONCILED, SHOWN_PAID, STATEMENT_FINDING};
use crate::journal::codec::values::corrupt;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::reconciliation::{FindingKind, stands_unpaid};
use crate::lifecycle::{Event, Policy, StepContext, step};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test};

/// Brings into conflict what has just failed, or is to be posted again or to be withdrawn as the gateway does not know it, where a
/// statement showed before that its money left.
pub(in crate::journal) fn hold_unpaid(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
) -> Result<(), Error> {
    let seq = subject.moved.seq;
    if !stands_unpaid(subject.moved.life.state) {
        return Ok(());
    }
    let Some(detail) = shown_paid(c, subject.batch_id, seq)? else {
        return Ok(());
    };
    // The statement's word alone counts: no wait of the policy enters into it.
    let life = step(
        &subject.moved.life,
        Event::ShownPaid,
        moment,
        &Policy::default(),
    )
    .life;
    write_event(
        c,
        subject,
        life,
        Event::ShownPaid,
        Some(&detail),
        moment.now,
    )
}

/// Returns whether a statement has shown that the money of a payment left, as far as its last line about it says.
pub(in crate::journal) fn is_shown_paid(
    c: &WriteSession,
    subject: &Subject,
) -> Result<bool, Error> {
    let seq = subject.moved.seq;
    let held = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&SHOWN_PAID));
    c.flush()?;
    Ok(c.any(&held)? || shown_paid(c, subject.batch_id, seq)?.is_some())
}

/// Returns the line of the statement that showed a payment paid last, and nothing else since, as its evidence has it.
fn shown_paid(
    c: &WriteSession,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<String>, Error> {
    let of_kind = |kind: &'static i64| Scan::by(&evidence::about_batch).at(kind);
    // Most batches have been held against no statement.
    if !c.any(&of_kind(&STATEMENT_FINDING).at(&batch_id))? {
        return Ok(None);
    }
    let id = id_of(c, seq)?;
    let mut shown: Option<(EvidenceId, Value)> = None;
    c.each_row(
        &of_kind(&STATEMENT_FINDING).at(&batch_id),
        &[evidence::evidence_id, evidence::detail],
        |row| {
            let (number, detail): (EvidenceId, String) = (row.get(0)?, row.get(1)?);
            let found = read(&detail)?;
            if found["payer_transaction_id"] == id.as_str() {
                // An earlier release did not keep whether money has left.
                let is_out = found[MONEY_LEFT] == true
                    || found["finding"] == FindingKind::OpenPaidThere.name();
                shown = is_out.then_some((number, found));
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        },
    )?;
    let Some((number, found)) = shown else {
        return Ok(None);
    };
    // What was found comes before what it all came to.
    let summary = of_kind(&RECONCILED).at(&batch_id).after(&number).limit(1);
    let summary: Option<Option<String>> = c.value(&summary, evidence::detail)?;
    let summary = summary.flatten().map(|text| read(&text)).transpose()?;
    let summary = summary.unwrap_or_default();
    let detail = json!({
        "statement": summary["statement"], "statement_digest": summary["digest"], "line": found["statement_line"],
    });
    Ok(Some(detail.to_string()))
}

fn read(detail: &str) -> Result<Value, Error> {
    serde_json::from_str(detail).map_err(|_| corrupt("a detail that is not JSON"))
}
