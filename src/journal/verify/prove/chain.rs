//! The walk over the chain, and what its rows hold the digests of.

use std::ops::ControlFlow;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::prover::Verifier;
use crate::domain::{BatchId, BillId, EvidenceId, LoadId, PaymentId, PhraseId, PolicyId};
use crate::journal::Error;
use crate::journal::codec::catalog::{account, loaded_for, reading, rehearsal};
use crate::journal::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, BILLED, CLAIMED_TOGETHER, FILE_LOADED, FORGOTTEN, GATEWAY_MOVED,
    MENDED, MIGRATED, PINNED, READING_ACCEPTED, READING_TAKEN, RECONCILED, REPLACED, ROW_WITHDRAWN,
    ROWS_LOADED, STATEMENT_FINDING, UPLOADED, WATCHED,
};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::digests::{
    bill_digest, file_digest, forgotten_digest, pin_digest, upload_digest,
};
use crate::journal::evidence::encoding::genesis;
use crate::journal::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::evidence::instruction_blocks::{self, instruction_digest};
use crate::journal::evidence::salt::Sealed;
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::payments::watched::recorded_pairs;
use crate::journal::read::phrases::Phrases;
use crate::journal::verify::intact::text_of;
use crate::store::tables::{
    batch, bill, evidence, identifier, instruction, load, rejected, upload, watched,
};
use crate::store::{self, Beside, Column, Field, Read, Reads, Scan, Test, Value};

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

/// What is read of a row of evidence: what its hash is taken over in its order, what it was judged by, its hash, the words of the
/// gateway and its salt.
const EVIDENCE: [Column; 16] = [
    evidence::evidence_id,
    evidence::seq,
    evidence::at,
    evidence::event,
    evidence::class,
    evidence::code,
    evidence::anomaly,
    evidence::digest,
    evidence::detail,
    evidence::policy_id,
    evidence::hash,
    evidence::gateway_transaction_id,
    evidence::receipt_number,
    evidence::receiver_narration,
    evidence::phrase_id,
    evidence::salt,
];

/// A row of evidence, in which the text of the phrase stands in the place of its number.
type Cells<'r> = [Value<'r>; EVIDENCE.len()];

/// Where its parts stand.
const POLICY_AT: usize = 9;
const HASH_AT: usize = 10;
const SAID_AT: usize = 11;
const PHRASE_AT: usize = 14;
const SALT_AT: usize = 15;

/// The texts of a row that may name a person: anomaly, detail, narration of the receiver.
const PERSONAL: [usize; 3] = [6, 8, SAID_AT + 2];

fn get<F: Field>(row: &Cells<'_>, at: usize) -> Result<F, store::Error> {
    F::from_value(row[at].as_ref())
}

/// Returns a column as it is hashed: what a leaf covers is null.
fn shown<'v>(row: &'v Cells<'_>, at: usize, has_leaf: bool) -> Value<'v> {
    match has_leaf && PERSONAL.contains(&at) {
        true => Value::Null,
        false => row[at].as_ref(),
    }
}

fn take_in(canon: &mut CanonicalHasher, value: &Value<'_>) {
    match value {
        Value::Null => canon.null(),
        Value::Integer(number) => canon.integer(*number),
        Value::Text(text) => canon.text(text),
        Value::Bytes(bytes) => canon.bytes(bytes),
    }
}

/// Reads the salt of a row.
fn sealed(value: &Value<'_>) -> Result<Sealed, Error> {
    let odd = || corrupt("a salt that is none");
    match value {
        Value::Null => Ok(Sealed::Plain),
        Value::Bytes(bytes) => match (bytes[..].try_into(), bytes[..].try_into()) {
            (Ok(salt), _) => Ok(Sealed::Salted(salt)),
            (_, Ok(leaf)) => Ok(Sealed::Forgotten(leaf)),
            _ => Err(odd()),
        },
        Value::Integer(_) | Value::Text(_) => Err(odd()),
    }
}

impl Verifier<'_> {
    pub(super) fn walk(&mut self, earlier: Option<Digest>) -> Result<(), Error> {
        let mut previous = genesis(self.c, self.batch_id)?;
        let mut covered = Covered::default();
        let mut intact = true;
        // The oldest row that no hash on record covers yet.
        let mut uncovered: Option<EvidenceId> = None;
        let (c, batch_id) = (self.c, self.batch_id);
        let mut phrases = Phrases::of(c);
        let rows = Scan::of(&evidence::TABLE).only(evidence::batch_id, Test::is(&batch_id));
        c.each_row(&rows, &EVIDENCE, |row| {
            let mut row: Cells<'_> = row.values()?;
            if let Value::Integer(number) = row[PHRASE_AT] {
                row[PHRASE_AT] = match phrases.find(PhraseId::new(number))? {
                    Some(text) => Value::Text(text.into()),
                    None => Value::Bytes(b"".as_slice().into()),
                };
            }
            let row = &row;
            self.proof.evidence += 1;
            let computed = self.hash(row, &previous)?;
            let stored: Option<Digest> = get(row, HASH_AT)?;
            let (evidence_id, seq): (EvidenceId, PaymentId) = (get(row, 0)?, get(row, 1)?);
            let first = *uncovered.get_or_insert(evidence_id);
            if stored.is_some() {
                uncovered = None;
            }
            if stored.is_some_and(|stored| stored != computed) {
                let which = which((first, evidence_id), seq);
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
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
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

    fn hash(&mut self, row: &Cells<'_>, previous: &Digest) -> Result<Digest, Error> {
        let mut canon = CanonicalHasher::after(previous);
        let leaf = self.leaf_of(row)?;
        if let Some(leaf) = &leaf {
            canon.bytes(leaf);
        }
        for at in 0..POLICY_AT {
            take_in(&mut canon, &shown(row, at, leaf.is_some()));
        }
        let policy_id: Option<PolicyId> = get(row, POLICY_AT)?;
        let terms = policy_id.and_then(|id| self.policies.get(&id));
        canon.terms(terms.map(|(terms, _)| *terms));
        let words = [0, 1, 2, 3].map(|at| shown(row, SAID_AT + at, leaf.is_some()));
        if words.iter().any(|word| *word != Value::Null) {
            words.iter().for_each(|word| take_in(&mut canon, word));
        }
        if policy_id.is_some() && terms.is_none() {
            let evidence_id: EvidenceId = get(row, 0)?;
            self.find(format!("evidence {evidence_id}: its policy is missing"));
        }
        Ok(canon.finish())
    }

    /// Returns the leaf over the texts of a row that may name a person.
    fn leaf_of(&mut self, row: &Cells<'_>) -> Result<Option<Digest>, Error> {
        let sealed = match sealed(&row[SALT_AT]) {
            Ok(sealed) => sealed,
            // The hash of the row will not fit either.
            Err(error) => {
                self.find(format!("evidence {}: {error}", get::<EvidenceId>(row, 0)?));
                return Ok(None);
            }
        };
        sealed.leaf(&mut self.leaves, |leaf| {
            PERSONAL.iter().for_each(|at| take_in(leaf, &row[*at]));
            Ok(())
        })
    }

    fn compare_head(&mut self, last: &Digest, uncovered: Option<EvidenceId>) -> Result<(), Error> {
        let head = crate::journal::evidence::chain::head(self.c, self.batch_id)?;
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

    /// Adds the findings of a reconciliation up again, and compares them with what it says of them.
    fn stated(&mut self, row: &Cells<'_>, event: i64, covered: &mut Covered) -> Result<(), Error> {
        if event == STATEMENT_FINDING {
            let detail: String = get(row, 8)?;
            covered.stated.update(detail.as_bytes());
            covered.stated.update([0]);
            return Ok(());
        }
        let found: Digest = std::mem::take(&mut covered.stated).finalize().into();
        if get::<Option<Digest>>(row, 7)? != Some(found) {
            self.find(
                "the findings of a reconciliation with a statement are not as they were recorded",
            );
        }
        Ok(())
    }

    /// Compares the rows of other tables with the digest that a row of evidence holds of them.
    fn cover(&mut self, row: &Cells<'_>, covered: &mut Covered) -> Result<(), Error> {
        let (seq, event): (PaymentId, i64) = (get(row, 1)?, get(row, 3)?);
        self.about_payments += u64::from(seq != PaymentId::NONE);
        if event == CLAIMED_TOGETHER {
            for (first, last) in ClaimRange::parse(text_of(&row[8]))?.runs()? {
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
        let digest: Option<Digest> = get(row, 7).unwrap_or(None);
        let detail: Json = text_of(&row[8])
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        if let Some((what, found)) = self.covered_rows((seq, event), digest, &detail, covered)? {
            if found != digest {
                self.find(format!("{what} is not as it was recorded"));
            }
            return Ok(());
        }
        self.compare_fact((get(row, 0)?, seq, event), digest, &detail, covered)
    }

    /// Returns which rows of other tables a row of evidence covers, in words, and their digest as they stand there.
    fn covered_rows(
        &mut self,
        (seq, event): (PaymentId, i64),
        digest: Option<Digest>,
        detail: &Json,
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
                let bill = BillId::new(number("bill"));
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
        detail: &Json,
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

    fn is_mended_by(&self, place: [i64; 3], id: &str) -> Result<bool, Error> {
        let own = self.rejected_at(&place);
        let by: Option<Option<PaymentId>> = self.c.value(&own, rejected::replaced_by)?;
        let Some(by) = by.flatten() else {
            return Ok(false);
        };
        let named = Scan::of(&identifier::TABLE)
            .at(&id)
            .only(identifier::seq, Test::is(&by));
        Ok(self.c.any(&named)?)
    }

    fn rejected_at<'s>(&'s self, [load, line, nth]: &'s [i64; 3]) -> Scan<'s> {
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

    fn is_withdrawn_by(&self, place: [i64; 3], evidence_id: EvidenceId) -> Result<bool, Error> {
        let own = self
            .rejected_at(&place)
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

    /// Rows that were added to other tables are on no chain.
    fn compare_counts(&mut self, covered: &Covered) -> Result<(), Error> {
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
        let forgotten = [
            forgotten(c, instructions(), instruction::salt)?,
            forgotten(c, rejected(), rejected::salt)?,
        ];
        let of_batch = |scan: Scan<'_>, seq: Column| of_batch(c, batch_id, &scan, seq);
        let counted = [
            (
                "instructions",
                covered.instructions,
                count(&instructions())?,
            ),
            ("loads", covered.loads, count(&loads)?),
            ("rows set aside", covered.rejected, count(&rejected())?),
            ("mended rows", covered.mended, count(&mended)?),
            ("withdrawn rows", covered.withdrawn, count(&withdrawn)?),
            (
                "failed rows that payments are held against",
                covered.watched,
                of_batch(Scan::of(&watched::TABLE), watched::seq)?,
            ),
            (
                "payments whose persons were forgotten",
                covered.forgotten[0],
                forgotten[0],
            ),
            (
                "rejected rows whose persons were forgotten",
                covered.forgotten[1],
                forgotten[1],
            ),
            (
                "uploads",
                covered.uploads,
                of_batch(Scan::of(&upload::TABLE), upload::seq)?,
            ),
            (
                "bills",
                covered.bills,
                of_batch(Scan::by(&bill::bill_by_payment), bill::seq)?,
            ),
            ("gateways", i64::from(covered.pinned), count(&pinned)?),
        ];
        for (what, on_chain, there) in counted {
            if there != on_chain {
                self.find(format!(
                    "{what}: {there} are there, the chain covers {on_chain}"
                ));
            }
        }
        Ok(())
    }
}

/// Names the rows of evidence, and the hash that is wrong: that of the last of them.
fn which((first, last): (EvidenceId, EvidenceId), seq: PaymentId) -> String {
    match (first, seq) {
        (first, _) if first != last => {
            format!("evidence {first} to {last}: the hash of the last one")
        }
        (_, PaymentId::NONE) => format!("evidence {last}, about the batch: its hash"),
        (_, seq) => format!("evidence {last}, about payment {seq}: its hash"),
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

/// Returns a number of a row's detail; -1, which no row has, where it is missing.
fn number(detail: &Json, name: &str) -> i64 {
    detail[name].as_i64().unwrap_or(-1)
}
