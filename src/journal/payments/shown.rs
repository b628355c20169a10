//! Failures of payments that a statement had shown paid, while their outcome was open here.
//!
//! Two words disagree then, as they do where the failure comes first: a person weighs them, and nobody is paid again meanwhile.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::domain::{BatchId, EvidenceId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::events::{RECONCILED, STATEMENT_FINDING, event_numbers};
use crate::journal::codec::lives::save_life;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::reconciliation::FindingKind;
use crate::lifecycle::{Event, Policy, State, StepContext, step};
use crate::store::tables::{evidence, life};
use crate::store::{Reads, Scan, Writes};

/// Brings a payment that has just failed into conflict, where a statement showed it paid before.
pub(in crate::journal) fn hold_failure(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
) -> Result<(), Error> {
    let seq = subject.moved.seq;
    if subject.moved.life.state != State::Failed {
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
    save_life(c, seq, &life, true)?;
    let own = Scan::of(&life::TABLE).at(&seq);
    c.set(&own, life::settled_at, &moment.now)?;
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq,
        at: moment.now,
        kind: event_numbers(Event::ShownPaid),
        detail: Some(&detail),
        ..Evidence::default()
    })?;
    subject.moved.life = life;
    c.remember(subject);
    Ok(())
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
                let is_paid = found["finding"] == FindingKind::OpenPaidThere.name();
                shown = is_paid.then_some((number, found));
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
