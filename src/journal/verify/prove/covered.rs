//! The rows of other tables, compared with what the chain says of them.

use std::ops::ControlFlow;

use serde_json::Value as Json;

use super::prover::Verifier;
use crate::domain::{BatchId, BillId, EvidenceId, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::{account, loaded_for, reading, rehearsal};
use crate::journal::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, BILLED, FILE_LOADED, FORGOTTEN, GATEWAY_MOVED, MENDED, MIGRATED,
    PINNED, READING_ACCEPTED, READING_TAKEN, REPLACED, ROW_WITHDRAWN, ROWS_LOADED, UPLOADED,
    WATCHED,
};
use crate::journal::evidence::digests::{
    bill_digest, file_digest, forgotten_digest, pin_digest, upload_digest,
};
use crate::journal::evidence::encoding::Digest;
use crate::journal::evidence::instruction_blocks::{self, instruction_digest};
use crate::journal::payments::watched::recorded_pairs;
use crate::ledger::evidence::{AsidePlace, Counts, Covered, Covers};
use crate::store::tables::{batch, bill, identifier, instruction, load, rejected, upload, watched};
use crate::store::{Beside, Column, Read, Reads, Scan, Test, Value};

/// Reads what a row of evidence covers; `None` when it covers nothing.
pub(super) fn covers(
    (seq, event): (PaymentId, i64),
    has_digest: bool,
    detail: Option<&str>,
) -> Result<Option<Covers>, Error> {
    let is_known = matches!(
        event,
        REPLACED
            ..=MIGRATED
                | ACCOUNT_TAKEN
                | ACCOUNT_MOVED
                | READING_TAKEN
                | READING_ACCEPTED
                | GATEWAY_MOVED
                | MENDED
                | ROW_WITHDRAWN
                | WATCHED
                | FORGOTTEN
    );
    if !is_known {
        return Ok(None);
    }
    let detail: Json = detail
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    // No row has -1.
    let number = |name: &str| detail[name].as_i64().unwrap_or(-1);
    let text = |name: &str| detail[name].as_str().map(str::to_owned);
    let place = || ["load", "line", "nth"].map(number);
    Ok(Some(match event {
        UPLOADED => Covers::Upload(seq),
        BILLED => Covers::Bill {
            bill: BillId::new(number("bill")),
            seq,
        },
        FILE_LOADED => Covers::Load {
            load: LoadId::new(number("load")),
            rejected: number("rejected"),
            rehearsal: detail["rehearsal"].as_bool(),
        },
        ROWS_LOADED => Covers::Block {
            first: number("first"),
            last: number("last"),
            rows: number("rows"),
        },
        // Before it was sealed, the instruction of a retry was not covered here.
        REPLACED if has_digest => Covers::Retry {
            id: text("replaced_by").unwrap_or_default(),
        },
        PINNED | GATEWAY_MOVED => Covers::Gateway,
        ACCOUNT_TAKEN | ACCOUNT_MOVED => Covers::Account(text("account")),
        READING_TAKEN | READING_ACCEPTED => Covers::Reading(text("reading")),
        MENDED => Covers::Mended {
            place: place(),
            id: text("payment").unwrap_or_default(),
        },
        ROW_WITHDRAWN => Covers::Withdrawn(place()),
        WATCHED => {
            let pairs = recorded_pairs(&detail.to_string())?.into_iter();
            Covers::Watched {
                seq,
                pairs: pairs
                    .map(|(other, by_word)| (PaymentId::new(other), by_word))
                    .collect(),
            }
        }
        FORGOTTEN => Covers::Forgotten {
            payments: number("payments"),
            rejected: number("rejected"),
        },
        MIGRATED => Covers::Sealed(number("rows")),
        _ => return Ok(None),
    }))
}

impl Verifier<'_> {
    /// Compares the rows that a row of evidence covers with it.
    pub(super) fn compare_rows(
        &mut self,
        evidence_id: EvidenceId,
        covers: &Covers,
        digest: Option<Digest>,
    ) -> Result<(), Error> {
        let (what, found) = match covers {
            Covers::Upload(seq) => (
                format!("upload of payment {seq}"),
                upload_digest(self.c, *seq)?,
            ),
            Covers::Bill { bill, seq } => (
                format!("bill {bill} of row {seq}"),
                bill_digest(self.c, *bill)?,
            ),
            Covers::Load { load, .. } => {
                let found = file_digest(self.c, *load)?.map(|(digest, _)| digest);
                (format!("load {load}, or a row that it set aside"), found)
            }
            Covers::Block { first, last, .. } => (
                format!("an instruction among the rows {first} to {last}"),
                self.instructions(*first, *last)?,
            ),
            Covers::Retry { id } => {
                self.proof.instructions += 1;
                (format!("the retry {id}"), self.retry(id)?)
            }
            covers => return self.compare_fact(evidence_id, covers),
        };
        if found != digest {
            self.find(format!("{what} is not as it was recorded"));
        }
        Ok(())
    }

    /// Compares a fact that a row of evidence holds itself, without a digest, with the table that repeats it.
    fn compare_fact(&mut self, evidence_id: EvidenceId, covers: &Covers) -> Result<(), Error> {
        match covers {
            Covers::Mended { place, id } if !self.is_mended_by(place, id)? => {
                let [_, line, _] = place;
                self.find(format!(
                    "the rejected row of line {line} is not mended by payment {id}, as was recorded"
                ));
            }
            Covers::Withdrawn(place) if !self.is_withdrawn_by(place, evidence_id)? => {
                let [_, line, _] = place;
                self.find(format!(
                    "the rejected row of line {line} is not withdrawn, as was recorded"
                ));
            }
            Covers::Watched { seq, pairs } => {
                for (other, by_word) in pairs {
                    if !self.is_watched(*seq, *other, *by_word)? {
                        self.find(format!(
                            "payment {seq} is not held against the failed row {other} before it leaves, as was recorded"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Compares what the whole chain says with the tables that repeat it.
    pub(super) fn compare_covered(&mut self, covered: &Covered) -> Result<(), Error> {
        let (c, batch_id) = (self.c, self.batch_id);
        self.proof.sealed = covered.sealed.unsigned_abs();
        self.proof.forgotten = covered.counts.forgotten.unsigned_abs();
        let misfits = covered.counts.misfits(&self.counts()?);
        misfits.into_iter().for_each(|what| self.find(what));
        let left = match covered.left {
            Some(_) => Some(forgotten_digest(c, batch_id)?),
            None => None,
        };
        let is_pinned = covered.counts.gateways > 0;
        let facts = [
            (
                "the way in which replies about the batch are read",
                reading(c, batch_id)? == covered.reading,
            ),
            (
                "what is left of people who were forgotten",
                left == covered.left,
            ),
            (
                "the account that the batch belongs to",
                account(c, batch_id)? == covered.account,
            ),
            (
                "the gateway that the batch is tied to",
                !is_pinned || pin_digest(c, batch_id)? == covered.gateway,
            ),
            (
                "what the batch was loaded for",
                rehearsal(loaded_for(c, batch_id)?) == covered.rehearsal,
            ),
        ];
        for (what, _) in facts.into_iter().filter(|(_, is_same)| !is_same) {
            self.find(format!("{what} is not as it was recorded"));
        }
        Ok(())
    }

    fn instructions(&mut self, first: i64, last: i64) -> Result<Option<Digest>, Error> {
        let mut digest = None;
        let mut count = 0;
        instruction_blocks::stored(self.c, self.batch_id, (first, last), usize::MAX, |block| {
            digest = Some(block.digest);
            count = block.rows;
            Ok(())
        })?;
        self.proof.instructions += count as u64;
        Ok(digest)
    }

    fn is_mended_by(&self, place: &AsidePlace, id: &str) -> Result<bool, Error> {
        let own = self.rejected_at(place);
        let by: Option<Option<PaymentId>> = self.c.value(&own, rejected::replaced_by)?;
        let Some(by) = by.flatten() else {
            return Ok(false);
        };
        let named = Scan::of(&identifier::TABLE)
            .at(&id)
            .only(identifier::seq, Test::is(&by));
        Ok(self.c.any(&named)?)
    }

    fn rejected_at<'s>(&'s self, [load, line, nth]: &'s AsidePlace) -> Scan<'s> {
        Scan::of(&rejected::TABLE)
            .at(load)
            .at(line)
            .at(nth)
            .only(rejected::batch_id, Test::is(&self.batch_id))
    }

    fn is_watched(&self, seq: PaymentId, other: PaymentId, by_word: bool) -> Result<bool, Error> {
        let pair = Scan::of(&watched::TABLE)
            .at(&seq)
            .at(&other)
            .only(watched::by_word, Test::is(&by_word));
        Ok(self.c.any(&pair)?)
    }

    fn is_withdrawn_by(&self, place: &AsidePlace, evidence_id: EvidenceId) -> Result<bool, Error> {
        let own = self
            .rejected_at(place)
            .only(rejected::withdrawn, Test::is(&evidence_id));
        Ok(self.c.any(&own)?)
    }

    fn retry(&self, id: &str) -> Result<Option<Digest>, Error> {
        let named = Scan::of(&identifier::TABLE).at(&id);
        let seq: Option<PaymentId> = self.c.value(&named, identifier::seq)?;
        match seq {
            Some(seq) => instruction_digest(self.c, seq),
            None => Ok(None),
        }
    }

    /// Counts the rows of the batch that evidence covers.
    fn counts(&self) -> Result<Counts, Error> {
        let (c, batch_id) = (self.c, self.batch_id);
        let instructions =
            || Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
        let loads = Scan::by(&load::load_by_batch).at(&batch_id);
        let rejected = || Scan::by(&rejected::rejected_by_batch).at(&batch_id);
        let mended = rejected().only(rejected::replaced_by, Test::Present);
        let withdrawn = rejected().only(rejected::withdrawn, Test::Present);
        let pinned = Scan::of(&batch::TABLE)
            .at(&batch_id)
            .only(batch::gateway, Test::Present);
        let count =
            |scan: &Scan<'_>| Ok::<_, Error>(i64::try_from(c.count(scan)?).unwrap_or(i64::MAX));
        let of_batch = |scan: Scan<'_>, seq: Column| of_batch(c, batch_id, &scan, seq);
        Ok(Counts {
            instructions: count(&instructions())?,
            uploads: of_batch(Scan::of(&upload::TABLE), upload::seq)?,
            bills: of_batch(Scan::by(&bill::bill_by_payment), bill::seq)?,
            loads: count(&loads)?,
            rejected: count(&rejected())?,
            mended: count(&mended)?,
            withdrawn: count(&withdrawn)?,
            watched: of_batch(Scan::of(&watched::TABLE), watched::seq)?,
            forgotten: forgotten(c, instructions(), instruction::salt)?,
            forgotten_aside: forgotten(c, rejected(), rejected::salt)?,
            gateways: count(&pinned)?,
        })
    }
}

/// Counts the rows whose persons were forgotten: a leaf stands in the place of the salt.
fn forgotten(c: &dyn Read, rows: Scan<'_>, salt: Column) -> Result<i64, Error> {
    let mut count = 0;
    c.each_row(&rows.only(salt, Test::Present), &[salt], |row| {
        let salt = row.value(0)?;
        count +=
            i64::from(matches!(&salt, Value::Bytes(leaf) if leaf.len() == size_of::<Digest>()));
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// Counts the rows that are of payments of a batch.
fn of_batch(c: &dyn Read, batch_id: BatchId, rows: &Scan<'_>, seq: Column) -> Result<i64, Error> {
    let mut payments = Beside::of(c, &instruction::TABLE, &[instruction::batch_id]);
    let mut count = 0;
    c.each_row(rows, &[seq], |row| {
        if let Some(payment) = payments.find(row.get(0)?)? {
            count += i64::from(payment.get::<BatchId>(0)? == batch_id);
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(count)
}
