//! The order to forget, and where somebody was paid.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::json;

use super::facts::facts;
use super::parties::{LEAF, Paid, Refused, Wanted};
use super::rows::{RejectedPlace, forget_payment, forget_rejected, is_salted};
use crate::domain::{BatchId, Country, PaymentId, Timestamp};
use crate::journal::codec::catalog::{has, known_batch};
use crate::journal::codec::events::FORGOTTEN;
use crate::journal::codec::facts::note_new;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::{Evidence, head};
use crate::journal::evidence::digests::forgotten_digest;
use crate::journal::evidence::salt::Salt;
use crate::journal::read::reader::{Reader, Snapshot};
use crate::journal::recovery::on_chain;
use crate::journal::repeats::fingerprints::Key;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::of_row;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, ForgetOrder, Forgotten};
use crate::ledger::forgetting::{Kept, may_forget};
use crate::store::tables::{evidence, instruction, rejected};
use crate::store::{Read, Reads, Scan, Test, Value};

/// Under this name `meta` says that the file is to be written anew.
pub(in crate::journal) const TO_REWRITE: &str = "rewrite";

/// Payments that are read at once.
const PAGE: usize = 2_000;

impl Journal {
    /// Forgets persons of a finished batch, all of them in one transaction: who is stopped half way has forgotten nobody.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::Kept`] with the reason why its persons are kept.
    pub async fn forget(&self, order: ForgetOrder, now: Timestamp) -> Result<Forgotten, Error> {
        self.ask_again(CommitMode::Alone, move |c| forget(c, &order, now))
            .await
    }
}

fn forget(c: &WriteSession, order: &ForgetOrder, now: Timestamp) -> Result<Forgotten, Error> {
    let batch_id = known_batch(c, &order.batch)?;
    on_chain::assert_as_recorded(c)?;
    let kept = |why| Error::Kept {
        batch: order.batch.clone(),
        why,
    };
    may_forget(&facts(c, batch_id, order.window, now)?).map_err(kept)?;
    if let Some(archive) = &order.archive
        && head(c, batch_id)?.hex() != archive.head
    {
        return Err(kept(Kept::Moved));
    }
    let wanted = Wanted::of(c, order.recipient.as_ref())?;
    let key = Key::of(c)?.ok_or_else(|| corrupt("rows without fingerprints"))?;
    // What gives way is written over with zeros, and not only given free.
    if let Some(file) = c.sqlite() {
        file.execute_batch("pragma secure_delete = on")?;
    }
    c.mark(batch_id);
    let mut found = Forgotten::default();
    let mut after = PaymentId::NONE;
    loop {
        let seqs = next_payments(c, (batch_id, &wanted), after)?;
        let Some(last) = seqs.last() else {
            break;
        };
        after = *last;
        for seq in in_turn(&**c, &seqs) {
            for member in of_row(c, seq?)? {
                found.payments += u64::from(forget_payment(c, key, batch_id, member.seq)?);
            }
        }
    }
    for place in rejected_rows(c, batch_id, &wanted)? {
        forget_rejected(c, place)?;
        found.rejected += 1;
    }
    c.forget_recent();
    if found != Forgotten::default() {
        c.acted_because(batch_id, now, "forget", &order.reason)?;
        record(c, (batch_id, order), found, now)?;
        // Until the file was written anew, what was removed may lie in parts of it that are not in use. A server does that by itself.
        if !c.is_shared() {
            note_new(c, TO_REWRITE, &1_i64)?;
        }
    }
    Ok(found)
}

/// Returns the next payments of a recipient beyond one of which something personal is left.
fn next_payments(
    c: &dyn Read,
    (batch_id, wanted): (BatchId, &Wanted<'_>),
    after: PaymentId,
) -> Result<Vec<PaymentId>, Error> {
    let rows = Scan::of(&instruction::TABLE).after(&after);
    let rows = rows.only(instruction::batch_id, Test::is(&batch_id));
    let mut found = Vec::new();
    c.each_until(&rows, |row: Paid| {
        if wanted.has_paid(&row)? && is_personal(c, &row)? {
            found.push(row.seq);
        }
        Ok::<_, Error>(match found.len() < PAGE {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(found)
}

/// Returns whether something personal is left of a payment.
fn is_personal(c: &dyn Read, row: &Paid) -> Result<bool, Error> {
    let mut found = has_salt(row.salt.as_ref());
    if !found {
        let own = Scan::by(&evidence::evidence_by_payment).at(&row.seq);
        c.each_row(&own, &[evidence::salt], |row| {
            found = is_salted(row, 0)?;
            Ok::<_, Error>(match found {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
    }
    Ok(found)
}

fn has_salt(salt: Option<&Vec<u8>>) -> bool {
    salt.is_some_and(|salt| salt.len() == size_of::<Salt>())
}

fn rejected_rows(
    c: &dyn Read,
    batch_id: BatchId,
    wanted: &Wanted<'_>,
) -> Result<Vec<RejectedPlace>, Error> {
    let mut found = Vec::new();
    let rows = Scan::by(&rejected::rejected_by_batch).at(&batch_id);
    c.each(&rows, |row: Refused| {
        if has_salt(row.salt.as_ref()) && wanted.has_refused(&row)? {
            found.push((row.load_id, row.line, row.nth));
        }
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

fn record(
    c: &WriteSession,
    (batch_id, order): (BatchId, &ForgetOrder),
    found: Forgotten,
    now: Timestamp,
) -> Result<(), Error> {
    let mut detail = json!({"payments": found.payments, "rejected": found.rejected});
    if let Some(archive) = &order.archive {
        detail["archive"] = json!({"file": archive.name, "sha256": archive.digest});
    }
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (FORGOTTEN, None, None),
        digest: Some(&forgotten_digest(c, batch_id)?),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

impl Snapshot<'_> {
    /// Returns whether no payment of the batch is left whose person is not forgotten, and nothing was recorded of it since.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn is_forgotten(&self) -> Result<bool, Error> {
        let of_batch = Test::is(&self.batch_id);
        let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, of_batch.clone());
        let mut all_forgotten: Option<bool> = None;
        self.c.each_row(&rows, &[instruction::salt], |row| {
            let is_forgotten = matches!(row.value(0)?, Value::Bytes(salt) if salt.len() == LEAF);
            all_forgotten = Some(is_forgotten);
            Ok::<_, Error>(match is_forgotten {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        if all_forgotten != Some(true) {
            return Ok(false);
        }
        let newest = Scan::of(&evidence::TABLE).only(evidence::batch_id, of_batch);
        let event: Option<i64> = self.c.value(&newest.descending(), evidence::event)?;
        Ok(event == Some(FORGOTTEN))
    }

    /// Returns why the persons of the batch may not be forgotten yet; `window`: for so long rows are compared with those of the
    /// batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn kept(&self, window: std::time::Duration, now: Timestamp) -> Result<Option<Kept>, Error> {
        Ok(may_forget(&facts(self.c, self.batch_id, window, now)?).err())
    }
}

impl Reader {
    /// Returns whether people were forgotten, and the file was not written anew since.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn is_to_be_rewritten(&self) -> Result<bool, Error> {
        has(self.store(), TO_REWRITE)
    }

    /// Returns the countries of all rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn countries(&self) -> Result<Vec<Country>, Error> {
        let all = Scan::of(&instruction::TABLE);
        let mut codes: BTreeSet<String> = BTreeSet::new();
        self.store()
            .each_row(&all, &[instruction::country], |row| {
                if let Value::Text(code) = row.value(0)?
                    && !codes.contains(&*code)
                {
                    codes.insert(code.into_owned());
                }
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        let countries = codes.iter().map(|code| Country::from_code(code));
        let countries: Option<Vec<Country>> = countries.collect();
        countries.ok_or_else(|| corrupt("an unknown country of a row"))
    }
}
