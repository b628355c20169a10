//! What a reconciliation found, on the chain of its batch; and what must not be paid again, held.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::said::{finding_said, summary_said};
use crate::domain::{BatchId, BatchName};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch};
use crate::journal::codec::events::{RECONCILED, STATEMENT_FINDING};
use crate::journal::evidence::chain::Evidence;
use crate::journal::forget::facts::has_forgotten;
use crate::journal::operator::orders::{Noted, note_shown};
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Reconciled, ShownPayment, StatementFacts, StatementFinding};
use crate::lifecycle::StepContext;

impl Journal {
    /// Puts on record what a statement shows of payments that are not known to be paid, by where they stand now: what is not paid here is
    /// in conflict from then on, and what is open here as soon as the gateway says that it is not paid. Returns how many are in conflict now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn note_shown(
        &self,
        batch: BatchName,
        facts: StatementFacts,
        shown: Vec<ShownPayment>,
        moment: StepContext,
    ) -> Result<u64, Error> {
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            if has_forgotten(c, batch_id)? {
                return Err(Error::Forgotten { batch });
            }
            c.mark(batch_id);
            note_all(c, batch_id, &facts, &shown, c.moment(moment)?)
        })
        .await
    }

    /// Records a reconciliation. `kept`: findings to keep one by one; `in_conflict`: so many payments it has brought into conflict.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn record_reconciliation(
        &self,
        batch: BatchName,
        facts: StatementFacts,
        reconciled: Reconciled,
        kept: Vec<StatementFinding>,
        in_conflict: u64,
        moment: StepContext,
    ) -> Result<(), Error> {
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            if has_forgotten(c, batch_id)? {
                return Err(Error::Forgotten { batch });
            }
            c.mark(batch_id);
            let moment = c.moment(moment)?;
            let mut digest = Sha256::new();
            for finding in &kept {
                let detail = finding_said(finding).to_string();
                digest.update(detail.as_bytes());
                digest.update([0]);
                append(c, batch_id, moment, (STATEMENT_FINDING, None), &detail)?;
            }
            let detail = summary_said(&facts, &reconciled, kept.len(), in_conflict).to_string();
            let digest: [u8; 32] = digest.finalize().into();
            append(c, batch_id, moment, (RECONCILED, Some(digest)), &detail)?;
            c.acted(
                batch_id,
                moment.now,
                "reconcile",
                facts.source.as_str().into(),
            )
        })
        .await
    }
}

fn append(
    c: &WriteSession,
    batch_id: BatchId,
    moment: StepContext,
    (kind, digest): (i64, Option<[u8; 32]>),
    detail: &str,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at: moment.now,
        kind: (kind, None, None),
        digest: digest.as_ref(),
        detail: Some(detail),
        ..Evidence::default()
    })
}

fn note_all(
    c: &WriteSession,
    batch_id: BatchId,
    facts: &StatementFacts,
    shown: &[ShownPayment],
    moment: StepContext,
) -> Result<u64, Error> {
    let mut touched = Touched::default();
    let mut held = 0;
    for payment in shown {
        let detail = json!({
            "statement": facts.source, "statement_digest": facts.digest, "line": payment.line,
        });
        let word = (payment.is_out, &*detail.to_string());
        let noted = note_shown(c, payment.seq, word, moment)?;
        held += u64::from(noted == Noted::Held);
        if payment.is_out && noted != Noted::Nothing {
            touched.add(id_of(c, payment.seq)?.as_str());
        }
    }
    if touched.payments() > 0 {
        // A copy of before must not pay them again.
        c.act_upon(
            (batch_id, moment.now),
            "reconcile --held",
            Value::Null,
            &touched,
            None,
        )?;
    }
    Ok(held)
}
