//! What is on record of recoveries, compared with the chains. The rule is in [`crate::ledger::recovery::unlike`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::noticed::{batches_missing, open_recovery};
use crate::domain::{BatchId, EvidenceId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::Journal;
use crate::journal::Reader;
use crate::journal::codec::catalog::{batches, of_batch};
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{ORDERS_GIVEN_AGAIN, RECOVERY_BEGAN, RECOVERY_DONE};
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::encoding::CanonicalHasher;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::ledger::recovery::{OnRecord, unlike};
use crate::store::tables::{batch, evidence, lost_order, payer, recovery};
use crate::store::{self, Column, Read, Reads, Scan, Table, shape};

/// Under this name, the evidence has the digest of what is on record of recoveries once it is written.
const ON_RECORD: &str = "on_record";

/// Tells every batch of a change, once it is made.
pub(in crate::journal) fn tell(
    c: &WriteSession,
    kind: i64,
    detail: Value,
    now: Timestamp,
) -> Result<(), Error> {
    let detail = sealed(c, detail)?;
    for batch_id in batches(c)? {
        c.mark(batch_id);
        say(c, batch_id, kind, &detail, now)?;
    }
    Ok(())
}

/// Tells every batch that others which may be missing are here by now, or that some are not.
pub(in crate::journal) fn tell_moved(c: &WriteSession, now: Timestamp) -> Result<(), Error> {
    let missing = batches_missing(c)?;
    tell(c, RECOVERY_BEGAN, json!({"batches_missing": missing}), now)
}

/// Tells every batch that a person said who posted one of them, if a recovery is on record.
pub(in crate::journal) fn tell_of_payer(c: &WriteSession, now: Timestamp) -> Result<(), Error> {
    match c.any(&Scan::of(&recovery::TABLE))? {
        true => tell(c, RECOVERY_BEGAN, json!({"who_posted": "confirmed"}), now),
        false => Ok(()),
    }
}

/// Tells a batch that is new of the recovery that is open, if one is.
pub(in crate::journal) fn tell_new(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(open) = open_recovery(c)? else {
        return Ok(());
    };
    let began = json!({"cause": open.cause.sentence(), "noticed_at": open.since.as_millis()});
    say(c, batch_id, RECOVERY_BEGAN, &sealed(c, began)?, now)
}

fn say(
    c: &WriteSession,
    batch_id: BatchId,
    kind: i64,
    detail: &str,
    at: Timestamp,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at,
        kind: (kind, None, None),
        detail: Some(detail),
        ..Evidence::default()
    })
}

fn sealed(c: &dyn Read, mut detail: Value) -> Result<String, Error> {
    detail[ON_RECORD] = digest(c)?.into();
    Ok(detail.to_string())
}

/// What tells all that is on record of recoveries, and of the orders that were lost, from anything else.
fn digest(c: &dyn Read) -> Result<String, Error> {
    let mut canon = CanonicalHasher::of("recoveries");
    for table in [&recovery::TABLE, &lost_order::TABLE, &payer::TABLE] {
        take_in(c, &mut canon, table)?;
    }
    Ok(HEXLOWER.encode(&canon.finish()))
}

/// Takes in every column of every row of a table, and how many rows there are.
fn take_in(c: &dyn Read, canon: &mut CanonicalHasher, table: &'static Table) -> Result<(), Error> {
    let places = (0_u8..).zip(table.columns);
    let columns: Vec<Column> = places.map(|(at, _)| Column::new(at)).collect();
    let mut count = 0;
    c.each_row(&Scan::of(table), &columns, |row| {
        for at in 0..columns.len() {
            match row.value(at)? {
                store::Value::Null => canon.null(),
                store::Value::Integer(number) => canon.integer(number),
                store::Value::Text(text) => canon.text(&text),
                store::Value::Bytes(bytes) => canon.bytes(&bytes),
            }
        }
        canon.flush();
        count += 1;
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    canon.integer(count);
    Ok(())
}

shape! {
    /// How far the journal had come when a recovery began, and whether it is open.
    struct Met of recovery { newest_seq: PaymentId, newest_evidence: EvidenceId, done_at: Option<Timestamp> }
}
shape! {
    /// What a batch was told of recoveries.
    struct Word of evidence { batch_id: Option<BatchId>, evidence_id: EvidenceId, detail: Option<String> }
}

/// Returns what is wrong with what is on record of recoveries; `None`: nothing is.
pub(in crate::journal) fn altered(c: &dyn Read) -> Result<Option<&'static str>, Error> {
    let last_words = last_words(c)?;
    let digest = digest(c)?;
    let mut on_record = OnRecord {
        digest: &digest,
        is_empty: !c.any(&Scan::of(&lost_order::TABLE))?,
        met_batches: false,
        is_open: false,
    };
    c.each(&Scan::of(&recovery::TABLE), |met: Met| {
        let had_come_to = (met.newest_seq, met.newest_evidence);
        on_record.is_empty = false;
        on_record.met_batches |= had_come_to != (PaymentId::NONE, EvidenceId::NONE);
        on_record.is_open |= met.done_at.is_none();
        Ok::<_, Error>(())
    })?;
    let batches = c.any(&Scan::of(&batch::TABLE))?;
    Ok(unlike(on_record, &last_words, batches).map(|unlike| unlike.sentence()))
}

/// Returns the last word on the chain of each batch that has one.
fn last_words(c: &dyn Read) -> Result<Vec<String>, Error> {
    let mut last: BTreeMap<Option<BatchId>, Word> = BTreeMap::new();
    for kind in TELLING {
        c.each(&Scan::by(&evidence::about_batch).at(&kind), |word: Word| {
            let is_newer = |known: &Word| known.evidence_id < word.evidence_id;
            if last.get(&word.batch_id).is_none_or(is_newer) {
                last.insert(word.batch_id, word);
            }
            Ok::<_, Error>(())
        })?;
    }
    last.values().map(said_of_record).collect()
}

/// The kinds of evidence that tell a batch of recoveries.
pub(super) const TELLING: [i64; 3] = [RECOVERY_BEGAN, RECOVERY_DONE, ORDERS_GIVEN_AGAIN];

/// Returns the digest that a word has; empty where it has none.
fn said_of_record(word: &Word) -> Result<String, Error> {
    Ok(match &parsed(word.detail.as_deref())?[ON_RECORD] {
        Value::Null => String::new(),
        Value::String(digest) => digest.clone(),
        other => other.to_string(),
    })
}

/// Refuses a journal in which what is on record of recoveries is not what its evidence says; looked at once, until somebody else
/// writes.
///
/// # Errors
/// [`Error::AlteredLoad`].
pub(in crate::journal) fn assert_as_recorded(c: &WriteSession) -> Result<(), Error> {
    if c.knows_recoveries().get() {
        return Ok(());
    }
    match altered(c)? {
        Some(what) => Err(Error::AlteredLoad { what: what.into() }),
        None => {
            c.knows_recoveries().set(true);
            Ok(())
        }
    }
}

/// The same before anything of a batch leaves.
///
/// # Errors
/// [`Error::Altered`].
pub(in crate::journal) fn assert_may_leave(
    c: &WriteSession,
    batch_id: BatchId,
) -> Result<(), Error> {
    match assert_as_recorded(c) {
        Err(Error::AlteredLoad { what }) => {
            let batch = of_batch(c, batch_id, batch::name)?;
            Err(Error::Altered { batch, what })
        }
        judged => judged,
    }
}

impl Journal {
    /// Refuses a journal in which what is on record of recoveries is not what its evidence says.
    ///
    /// # Errors
    /// [`Error::AlteredLoad`].
    pub async fn assert_recoveries(&self) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, |c| assert_as_recorded(c))
            .await
    }
}

impl Reader {
    /// Refuses a journal in which what is on record of recoveries is not what its evidence says.
    ///
    /// # Errors
    /// [`Error::AlteredLoad`].
    pub fn assert_recoveries(&self) -> Result<(), Error> {
        match altered(self.store())? {
            Some(what) => Err(Error::AlteredLoad { what: what.into() }),
            None => Ok(()),
        }
    }
}
