//! The walk over the chain, and what its rows hold the digests of.

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::prover::Verifier;
use crate::domain::{EvidenceId, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::catalog::{account, loaded_for, reading, rehearsal};
use crate::journal::sqlite::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, BILLED, CLAIMED_TOGETHER, FILE_LOADED, FORGOTTEN, GATEWAY_MOVED,
    MENDED, MIGRATED, PINNED, READING_ACCEPTED, READING_TAKEN, RECONCILED, REPLACED, ROW_WITHDRAWN,
    ROWS_LOADED, STATEMENT_FINDING, UPLOADED, WATCHED,
};
use crate::journal::sqlite::evidence::digests::{
    EVIDENCE, EVIDENCE_WIDTH, SAID, bill_digest, file_digest, forgotten_digest, pin_digest,
    upload_digest,
};
use crate::journal::sqlite::evidence::encoding::genesis;
use crate::journal::sqlite::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::sqlite::evidence::instruction_blocks::{self, instruction_digest};
use crate::journal::sqlite::evidence::salt::Sealed;
use crate::journal::sqlite::payments::first_claims::ClaimRange;
use crate::journal::sqlite::payments::watched::recorded_pairs;

/// How many rows of other tables the chain covers.
#[derive(Default)]
struct Covered {
    instructions: i64,
    uploads: i64,
    bills: i64,
    loads: i64,
    rejected: i64,
    mended: i64,
    withdrawn: i64,
    watched: i64,
    /// Rows whose persons were forgotten: payments, and rejected rows.
    forgotten: [i64; 2],
    /// Of what was left of them when people were forgotten last.
    left: Option<Digest>,
    /// Findings of a reconciliation that is still to come.
    stated: Sha256,
    pinned: bool,
    /// Of the address that the batch was tied or moved to last.
    gateway: Option<Digest>,
    /// Whether the batch was loaded as a rehearsal; `None`: earlier versions loaded it.
    rehearsal: Option<bool>,
    /// The account that the batch was moved to last.
    account: Option<String>,
    reading: Option<String>,
}

/// Where the words of the gateway stand in a row of evidence, and its salt.
const SAID_AT: usize = EVIDENCE_WIDTH + 2;
const SALT_AT: usize = SAID_AT + 4;

/// The texts of a row that may name a person: anomaly, detail, narration of the receiver.
const PERSONAL: [usize; 3] = [6, 8, SAID_AT + 2];

/// Returns a column as it is hashed: what a leaf covers is null.
fn shown<'r>(row: &'r Row<'_>, at: usize, has_leaf: bool) -> Result<ValueRef<'r>, Error> {
    Ok(match has_leaf && PERSONAL.contains(&at) {
        true => ValueRef::Null,
        false => row.get_ref(at)?,
    })
}

impl Verifier<'_> {
    pub(super) fn walk(&mut self, earlier: Option<Digest>) -> Result<(), Error> {
        let mut previous = genesis(self.c, self.batch_id)?;
        let mut covered = Covered::default();
        let mut intact = true;
        // The oldest row that no hash on record covers yet.
        let mut uncovered: Option<EvidenceId> = None;
        let mut statement = self.c.prepare(&format!(
            "select {EVIDENCE}, e.policy_id, e.hash, {SAID}, e.salt from evidence e not indexed where e.batch_id = ?1 order by e.evidence_id"
        ))?;
        let mut rows = statement.query([self.batch_id])?;
        while let Some(row) = rows.next()? {
            self.proof.evidence += 1;
            let computed = self.hash(row, &previous)?;
            let stored: Option<Digest> = row.get(EVIDENCE_WIDTH + 1)?;
            let (evidence_id, seq): (EvidenceId, PaymentId) = (row.get(0)?, row.get(1)?);
            let first = *uncovered.get_or_insert(evidence_id);
            if stored.is_some() {
                uncovered = None;
            }
            if stored.is_some_and(|stored| stored != computed) {
                let which = match (first, seq) {
                    (first, _) if first != evidence_id => {
                        format!("evidence {first} to {evidence_id}: the hash of the last one")
                    }
                    (_, PaymentId::NONE) => {
                        format!("evidence {evidence_id}, about the batch: its hash")
                    }
                    (_, seq) => format!("evidence {evidence_id}, about payment {seq}: its hash"),
                };
                self.find(format!(
                    "{which} does not follow from what stands there and from what stands before"
                ));
                intact = false;
            }
            // From what is stored, so that one change is one finding.
            previous = stored.unwrap_or(computed);
            if intact && earlier == Some(previous) {
                self.proof.earlier_head_at = Some(self.proof.evidence);
            }
            self.cover(row, &mut covered)?;
        }
        self.compare_head(&previous, uncovered)?;
        self.compare_counts(&covered)?;
        if reading(self.c, self.batch_id)? != covered.reading {
            self.find(
                "the way in which replies about the batch are read is not as it was recorded"
                    .to_owned(),
            );
        }
        if covered.left.is_some() && covered.left != Some(forgotten_digest(self.c, self.batch_id)?)
        {
            self.find("what is left of people who were forgotten is not as it was recorded");
        }
        if account(self.c, self.batch_id)? != covered.account {
            self.find("the account that the batch belongs to is not as it was recorded");
        }
        if covered.pinned && pin_digest(self.c, self.batch_id)? != covered.gateway {
            self.find("the gateway that the batch is tied to is not as it was recorded");
        }
        if rehearsal(loaded_for(self.c, self.batch_id)?) != covered.rehearsal {
            self.find("what the batch was loaded for is not as it was recorded");
        }
        if let (Some(earlier), None) = (earlier, self.proof.earlier_head_at) {
            let hex = data_encoding::HEXLOWER.encode(&earlier);
            self.find(format!(
                "the earlier head {hex} is not on the chain: evidence that it covers was changed or removed, or it is of another batch"
            ));
        }
        Ok(())
    }

    fn hash(&mut self, row: &Row<'_>, previous: &Digest) -> Result<Digest, Error> {
        let mut canon = CanonicalHasher::after(previous);
        let leaf = self.leaf_of(row)?;
        if let Some(leaf) = &leaf {
            canon.bytes(leaf);
        }
        for at in 0..EVIDENCE_WIDTH {
            canon.value(shown(row, at, leaf.is_some())?);
        }
        let policy_id: Option<i64> = row.get(EVIDENCE_WIDTH)?;
        let terms = policy_id.and_then(|id| self.policies.get(&id));
        canon.terms(terms.map(|(terms, _)| *terms));
        let mut words = Vec::with_capacity(4);
        for at in SAID_AT..SALT_AT {
            words.push(shown(row, at, leaf.is_some())?);
        }
        if words.iter().any(|word| *word != ValueRef::Null) {
            words.into_iter().for_each(|word| canon.value(word));
        }
        if policy_id.is_some() && terms.is_none() {
            let evidence_id: EvidenceId = row.get(0)?;
            self.find(format!("evidence {evidence_id}: its policy is missing"));
        }
        Ok(canon.finish())
    }

    /// Returns the leaf over the texts of a row that may name a person.
    fn leaf_of(&mut self, row: &Row<'_>) -> Result<Option<Digest>, Error> {
        let sealed = match Sealed::of(row, SALT_AT) {
            Ok(sealed) => sealed,
            // The hash of the row will not fit either.
            Err(error) => {
                self.find(format!("evidence {}: {error}", row.get::<_, i64>(0)?));
                return Ok(None);
            }
        };
        sealed.leaf(&mut self.leaves, |leaf| {
            for at in PERSONAL {
                leaf.value(row.get_ref(at)?);
            }
            Ok(())
        })
    }

    fn compare_head(&mut self, last: &Digest, uncovered: Option<EvidenceId>) -> Result<(), Error> {
        let head = crate::journal::sqlite::evidence::chain::head(self.c, self.batch_id)?;
        if head.length != self.proof.evidence {
            self.find(format!(
                "the chain has {} rows of evidence on record, and {} are there",
                head.length, self.proof.evidence
            ));
        }
        if head.hash != *last {
            let since = match uncovered {
                Some(first) => format!("evidence {first} to the last one"),
                None => "the last row of evidence".to_owned(),
            };
            self.find(format!(
                "{since}: the head on record does not follow from what stands there and from what stands before"
            ));
        }
        self.proof.head = Some(head);
        Ok(())
    }

    /// Compares the rows of other tables with the digest that a row of evidence holds of them.
    /// Adds the findings of a reconciliation up again, and compares them with what it says of them.
    fn stated(&mut self, row: &Row<'_>, event: i64, covered: &mut Covered) -> Result<(), Error> {
        if event == STATEMENT_FINDING {
            let detail: String = row.get(8)?;
            covered.stated.update(detail.as_bytes());
            covered.stated.update([0]);
            return Ok(());
        }
        let found: Digest = std::mem::take(&mut covered.stated).finalize().into();
        if row.get::<_, Option<Digest>>(7)? != Some(found) {
            self.find(
                "the findings of a reconciliation with a statement are not as they were recorded",
            );
        }
        Ok(())
    }

    fn cover(&mut self, row: &Row<'_>, covered: &mut Covered) -> Result<(), Error> {
        let (seq, event): (PaymentId, i64) = (row.get(1)?, row.get(3)?);
        self.about_payments += u64::from(seq != PaymentId::NONE);
        if event == CLAIMED_TOGETHER {
            let detail = row.get_ref(8)?.as_str_or_null().unwrap_or_default();
            for (first, last) in ClaimRange::parse(detail)?.runs()? {
                self.first_claims += (last - first).unsigned_abs() + 1;
            }
        }
        if matches!(event, STATEMENT_FINDING | RECONCILED) {
            return self.stated(row, event, covered);
        }
        if !(REPLACED..=MIGRATED).contains(&event)
            && !matches!(
                event,
                ACCOUNT_TAKEN
                    | ACCOUNT_MOVED
                    | READING_TAKEN
                    | READING_ACCEPTED
                    | GATEWAY_MOVED
                    | MENDED
                    | ROW_WITHDRAWN
                    | WATCHED
                    | FORGOTTEN
            )
        {
            return Ok(());
        }
        let digest: Option<Digest> = row.get(7).unwrap_or(None);
        let detail: Option<String> = row.get(8)?;
        let detail: Value = detail
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        if let Some((what, found)) = self.covered_rows((seq, event), digest, &detail, covered)? {
            if found != digest {
                self.find(format!("{what} is not as it was recorded"));
            }
            return Ok(());
        }
        self.compare_fact((row.get(0)?, seq, event), digest, &detail, covered)
    }

    /// Returns which rows of other tables a row of evidence covers, in words, and their digest as they stand there.
    fn covered_rows(
        &mut self,
        (seq, event): (PaymentId, i64),
        digest: Option<Digest>,
        detail: &Value,
        covered: &mut Covered,
    ) -> Result<Option<(String, Option<Digest>)>, Error> {
        let number = |name: &str| number(detail, name);
        Ok(Some(match event {
            UPLOADED => {
                covered.uploads += 1;
                (
                    format!("upload of payment {seq}"),
                    upload_digest(self.c, seq)?,
                )
            }
            BILLED => {
                covered.bills += 1;
                let bill = number("bill");
                (
                    format!("bill {bill} of row {seq}"),
                    bill_digest(self.c, bill)?,
                )
            }
            FILE_LOADED => {
                covered.loads += 1;
                covered.rehearsal = detail["rehearsal"].as_bool().or(covered.rehearsal);
                covered.rejected = covered.rejected.saturating_add(number("rejected"));
                let load = LoadId::new(number("load"));
                let found = file_digest(self.c, load)?.map(|(digest, _)| digest);
                (format!("load {load}, or a row that it set aside"), found)
            }
            ROWS_LOADED => {
                let (first, last) = (number("first"), number("last"));
                let found = self.instructions(first, last)?;
                covered.instructions = covered.instructions.saturating_add(number("rows"));
                (
                    format!("an instruction among the rows {first} to {last}"),
                    found,
                )
            }
            // Before it was sealed, the instruction of a retry was not covered here.
            REPLACED if digest.is_some() => {
                covered.instructions += 1;
                self.proof.instructions += 1;
                let id = detail["replaced_by"].as_str().unwrap_or_default();
                (format!("the retry {id}"), self.retry(id)?)
            }
            _ => return Ok(None),
        }))
    }

    /// Compares a fact that a row of evidence holds itself, without a digest of other rows, with the tables that repeat it.
    fn compare_fact(
        &mut self,
        (evidence_id, seq, event): (EvidenceId, PaymentId, i64),
        digest: Option<Digest>,
        detail: &Value,
        covered: &mut Covered,
    ) -> Result<(), Error> {
        let place = || ["load", "line", "nth"].map(|name| number(detail, name));
        match event {
            PINNED | GATEWAY_MOVED => {
                covered.pinned = true;
                covered.gateway = digest;
            }
            MENDED => {
                covered.mended += 1;
                let id = detail["payment"].as_str().unwrap_or_default();
                if !self.is_mended_by(place(), id)? {
                    let [_, line, _] = place();
                    self.find(format!(
                        "the rejected row of line {line} is not mended by payment {id}, as was recorded"
                    ));
                }
            }
            WATCHED => {
                for (other, by_word) in recorded_pairs(&detail.to_string())? {
                    covered.watched += 1;
                    if !self.is_watched(seq, PaymentId::new(other), by_word)? {
                        self.find(format!(
                            "payment {seq} is not held against the failed row {other} before it leaves, as was recorded"
                        ));
                    }
                }
            }
            ROW_WITHDRAWN => {
                covered.withdrawn += 1;
                if !self.is_withdrawn_by(place(), evidence_id)? {
                    let [_, line, _] = place();
                    self.find(format!(
                        "the rejected row of line {line} is not withdrawn, as was recorded"
                    ));
                }
            }
            ACCOUNT_TAKEN | ACCOUNT_MOVED => {
                covered.account = detail["account"].as_str().map(str::to_owned);
            }
            READING_TAKEN | READING_ACCEPTED => {
                covered.reading = detail["reading"].as_str().map(str::to_owned);
            }
            FORGOTTEN => {
                for (sum, name) in covered.forgotten.iter_mut().zip(["payments", "rejected"]) {
                    *sum = sum.saturating_add(number(detail, name));
                }
                self.proof.forgotten = covered.forgotten[0].unsigned_abs();
                covered.left = digest;
            }
            MIGRATED => self.proof.sealed = number(detail, "rows").unsigned_abs(),
            _ => {}
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

    fn is_mended_by(&self, [load, line, nth]: [i64; 3], id: &str) -> Result<bool, Error> {
        Ok(self
            .c
            .prepare_cached(
                "select exists (select 1 from rejected r cross join identifier i on i.seq = r.replaced_by
                     where r.load_id = ?1 and r.line = ?2 and r.nth = ?3 and r.batch_id = ?4 and i.identifier = ?5)",
            )?
            .query_row(params![load, line, nth, self.batch_id, id], |row| row.get(0))?)
    }

    fn is_watched(&self, seq: PaymentId, other: PaymentId, by_word: bool) -> Result<bool, Error> {
        Ok(self
            .c
            .prepare_cached("select exists (select 1 from watched where seq = ?1 and other = ?2 and by_word = ?3)")?
            .query_row(params![seq, other, by_word], |row| row.get(0))?)
    }

    fn is_withdrawn_by(
        &self,
        [load, line, nth]: [i64; 3],
        evidence_id: EvidenceId,
    ) -> Result<bool, Error> {
        Ok(self
            .c
            .prepare_cached(
                "select exists (select 1 from rejected
                     where load_id = ?1 and line = ?2 and nth = ?3 and batch_id = ?4 and withdrawn = ?5)",
            )?
            .query_row(params![load, line, nth, self.batch_id, evidence_id], |row| row.get(0))?)
    }

    fn retry(&self, id: &str) -> Result<Option<Digest>, Error> {
        let seq: Option<PaymentId> = self
            .c
            .prepare_cached("select seq from identifier where identifier = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        match seq {
            Some(seq) => instruction_digest(self.c, seq),
            None => Ok(None),
        }
    }

    /// Rows that were added to other tables are on no chain.
    fn compare_counts(&mut self, covered: &Covered) -> Result<(), Error> {
        let counted = [
            (
                "instructions",
                covered.instructions,
                "select count(*) from instruction where batch_id = ?1",
            ),
            (
                "loads",
                covered.loads,
                "select count(*) from load where batch_id = ?1",
            ),
            (
                "rows set aside",
                covered.rejected,
                "select count(*) from rejected where batch_id = ?1",
            ),
            (
                "mended rows",
                covered.mended,
                "select count(*) from rejected where batch_id = ?1 and replaced_by is not null",
            ),
            (
                "withdrawn rows",
                covered.withdrawn,
                "select count(*) from rejected where batch_id = ?1 and withdrawn is not null",
            ),
            (
                "failed rows that payments are held against",
                covered.watched,
                "select count(*) from watched w cross join instruction i using (seq) where i.batch_id = ?1",
            ),
            (
                "payments whose persons were forgotten",
                covered.forgotten[0],
                "select count(*) from instruction where batch_id = ?1 and length(salt) = 32",
            ),
            (
                "rejected rows whose persons were forgotten",
                covered.forgotten[1],
                "select count(*) from rejected where batch_id = ?1 and length(salt) = 32",
            ),
            (
                "uploads",
                covered.uploads,
                "select count(*) from upload cross join instruction i using (seq) where i.batch_id = ?1",
            ),
            (
                "bills",
                covered.bills,
                "select count(*) from bill cross join instruction i using (seq) where i.batch_id = ?1",
            ),
            (
                "gateways",
                i64::from(covered.pinned),
                "select count(*) from batch where batch_id = ?1 and gateway is not null",
            ),
        ];
        for (what, on_chain, sql) in counted {
            let there: i64 = self
                .c
                .query_row(sql, params![self.batch_id], |row| row.get(0))?;
            if there != on_chain {
                self.find(format!(
                    "{what}: {there} are there, the chain covers {on_chain}"
                ));
            }
        }
        Ok(())
    }
}

/// Returns a number of a row's detail; -1, which no row has, where it is missing.
fn number(detail: &Value, name: &str) -> i64 {
    detail[name].as_i64().unwrap_or(-1)
}
