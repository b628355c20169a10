//! What a reconciliation found, on the chain of its batch; and what must not be paid again, held.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::lines::lines_said;
use super::said::{finding_said, last_comparison, summary_said};
use crate::domain::{BatchId, BatchName};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::{RECONCILED, STATEMENT_FINDING, STATEMENT_LINES};
use crate::journal::evidence::chain::Evidence;
use crate::journal::forget::facts::has_forgotten;
use crate::journal::operator::orders::{Noted, note_shown};
use crate::journal::recovery::lost_orders::{Touched, is_missing};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Reconciled, ShownPayment, StatementFacts, StatementFinding};
use crate::lifecycle::StepContext;

/// The order that a copy must not forget.
const HELD: &str = "reconcile --held";

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
            note_all(c, &facts, &shown, c.moment(moment)?)
        })
        .await
    }

    /// Records a reconciliation. `kept`: findings to keep one by one, and the lines that name payments; `in_conflict`: so many payments it has brought into conflict;
    /// `shown`: it has shown that the money of payments left which are not known to be paid.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::ComparedMeanwhile`]: compare it again.
    pub async fn record_reconciliation(
        &self,
        batch: BatchName,
        facts: StatementFacts,
        reconciled: Reconciled,
        (kept, lines): (Vec<StatementFinding>, Vec<String>),
        (shown, in_conflict): (bool, u64),
        moment: StepContext,
    ) -> Result<(), Error> {
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            if has_forgotten(c, batch_id)? {
                return Err(Error::Forgotten { batch });
            }
            if last_comparison(c, batch_id)? != reconciled.after {
                return Err(Error::ComparedMeanwhile { batch });
            }
            c.mark(batch_id);
            let moment = c.moment(moment)?;
            let mut digest = Sha256::new();
            let findings = kept
                .iter()
                .map(|finding| (STATEMENT_FINDING, finding_said(finding)));
            let lines = lines
                .iter()
                .map(|lines| (STATEMENT_LINES, lines_said(lines)));
            for (event, said) in findings.chain(lines) {
                let detail = said.to_string();
                digest.update(detail.as_bytes());
                digest.update([0]);
                append(c, batch_id, moment, (event, None), &detail)?;
            }
            let detail = summary_said(&facts, &reconciled, kept.len(), in_conflict).to_string();
            let digest: [u8; 32] = digest.finalize().into();
            append(c, batch_id, moment, (RECONCILED, Some(digest)), &detail)?;
            // A copy of before must not pay them again. It is the file that is given again, whatever it shows then.
            let order = Touched::said(facts.digest.clone());
            let place = (batch_id, moment.now);
            if shown || is_missing(c, &batch, HELD, &order)? {
                c.act_upon(place, HELD, Value::Null, &order, None)?;
            }
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
    facts: &StatementFacts,
    shown: &[ShownPayment],
    moment: StepContext,
) -> Result<u64, Error> {
    let mut held = 0;
    for payment in shown {
        let detail = json!({
            "statement": facts.source, "statement_digest": facts.digest, "line": payment.line,
        });
        let noted = note_shown(c, payment.seq, &detail.to_string(), moment)?;
        held += u64::from(noted == Noted::Held);
    }
    Ok(held)
}
