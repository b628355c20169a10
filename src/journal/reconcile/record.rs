//! What a reconciliation found, on the chain of its batch; and what must not be paid again, held.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::said::{finding_said, summary_said};
use crate::domain::{BatchId, BatchName, PaymentId};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch};
use crate::journal::codec::events::{RECONCILED, STATEMENT_FINDING};
use crate::journal::evidence::chain::Evidence;
use crate::journal::forget::facts::has_forgotten;
use crate::journal::operator::orders::hold;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Reconciled, StatementFacts, StatementFinding};
use crate::lifecycle::StepContext;

impl Journal {
    /// Records a reconciliation. `kept`: findings to keep one by one; `held`: payments that are not paid here and are paid there, each
    /// with the line. Returns how many of these are in conflict from now on.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn record_reconciliation(
        &self,
        batch: BatchName,
        facts: StatementFacts,
        reconciled: Reconciled,
        kept: Vec<StatementFinding>,
        held: Vec<(PaymentId, String)>,
        moment: StepContext,
    ) -> Result<u64, Error> {
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            if has_forgotten(c, batch_id)? {
                return Err(Error::Forgotten { batch });
            }
            c.mark(batch_id);
            let moment = c.moment(moment)?;
            let count = hold_all(c, batch_id, &facts, &held, moment)?;
            let mut digest = Sha256::new();
            for finding in &kept {
                let detail = finding_said(finding).to_string();
                digest.update(detail.as_bytes());
                digest.update([0]);
                append(c, batch_id, moment, (STATEMENT_FINDING, None), &detail)?;
            }
            let detail = summary_said(&facts, &reconciled, kept.len(), count).to_string();
            let digest: [u8; 32] = digest.finalize().into();
            append(c, batch_id, moment, (RECONCILED, Some(digest)), &detail)?;
            c.acted(
                batch_id,
                moment.now,
                "reconcile",
                facts.source.as_str().into(),
            )?;
            Ok(count)
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

/// Brings into conflict what is not paid here and is paid there: no retry and no run pays it again.
fn hold_all(
    c: &WriteSession,
    batch_id: BatchId,
    facts: &StatementFacts,
    held: &[(PaymentId, String)],
    moment: StepContext,
) -> Result<u64, Error> {
    let mut touched = Touched::default();
    let mut count = 0;
    for (seq, line) in held {
        let detail =
            json!({"statement": facts.source, "statement_digest": facts.digest, "line": line});
        if hold(c, *seq, &detail.to_string(), moment)? {
            touched.add(id_of(c, *seq)?.as_str());
            count += 1;
        }
    }
    if count > 0 {
        // A copy of before must not pay them again.
        c.act_upon(
            (batch_id, moment.now),
            "reconcile --held",
            Value::Null,
            &touched,
            None,
        )?;
    }
    Ok(count)
}
