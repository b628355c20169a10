//! The order to forget, and where somebody was paid.

use rusqlite::{Connection, params};
use serde_json::json;

use super::facts::facts;
use super::parties::{
    INSTRUCTION_PARTY, OF_RECIPIENT, REJECTED_OF_RECIPIENT, REJECTED_PARTY, compared, know_parties,
};
use super::rows::{RejectedPlace, forget_payment, forget_rejected};
use crate::domain::{BatchId, BatchName, Country, PaymentId, Timestamp};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::FORGOTTEN;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::chain::{Evidence, head};
use crate::journal::sqlite::evidence::digests::forgotten_digest;
use crate::journal::sqlite::read::reader::{Reader, Snapshot};
use crate::journal::sqlite::recovery::on_chain;
use crate::journal::sqlite::repeats::fingerprints::Key;
use crate::journal::sqlite::session::members::of_row;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, ForgetOrder, Forgotten, PaidIn};
use crate::ledger::forgetting::{Kept, Recipient, may_forget};

/// Under this name `meta` says that the file is to be written anew.
pub(in crate::journal::sqlite) const TO_REWRITE: &str = "rewrite";

/// Payments that are read at once.
const PAGE: usize = 2_000;

/// Payments `i` of which something personal is left.
const PERSONAL: &str = "(length(i.salt) = 16 or exists (
    select 1 from evidence e indexed by evidence_by_payment where e.seq = i.seq and length(e.salt) = 16))";

impl Journal {
    /// Forgets persons of a finished batch, all of them in one transaction: who is stopped half way has forgotten nobody.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::Kept`] with the reason why its persons are kept.
    pub async fn forget(&self, order: ForgetOrder, now: Timestamp) -> Result<Forgotten, Error> {
        self.ask(CommitMode::Alone, move |c| forget(c, &order, now))
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
    know_parties(c)?;
    let key = Key::of(c)?.ok_or_else(|| corrupt("rows without fingerprints"))?;
    // What gives way is written over with zeros, and not only given free.
    c.execute_batch("pragma secure_delete = on")?;
    let recipient = order.recipient.as_ref().map(compared);
    c.mark(batch_id);
    let mut found = Forgotten::default();
    let mut after = PaymentId::NONE;
    loop {
        let seqs = next_payments(c, (batch_id, recipient.as_deref()), after)?;
        let Some(last) = seqs.last() else {
            break;
        };
        after = *last;
        for seq in seqs {
            for member in of_row(c, seq)? {
                found.payments += u64::from(forget_payment(c, key, batch_id, member.seq)?);
            }
        }
    }
    for place in rejected(c, (batch_id, recipient.as_deref()))? {
        forget_rejected(c, place)?;
        found.rejected += 1;
    }
    c.forget_recent();
    if found != Forgotten::default() {
        c.acted_because(batch_id, now, "forget", &order.reason)?;
        record(c, (batch_id, order), found, now)?;
        // Until the file was written anew, what was removed may lie in parts of it that are not in use.
        c.prepare_cached("insert into meta (key, value) values (?1, 1) on conflict do nothing")?
            .execute([TO_REWRITE])?;
    }
    Ok(found)
}

/// Returns the condition that a row is one of the word of the recipient ?1, if that has one.
fn only(party: &str) -> String {
    format!("(?1 ->> '$.only' is null or {party} = ?1 ->> '$.only')")
}

fn next_payments(
    c: &Connection,
    (batch_id, recipient): (BatchId, Option<&str>),
    after: PaymentId,
) -> Result<Vec<PaymentId>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select i.seq from instruction i not indexed
         where i.seq > ?3 and i.batch_id = ?2 and {OF_RECIPIENT} and {} and {PERSONAL} order by i.seq limit {PAGE}",
        only(INSTRUCTION_PARTY)
    ))?;
    let rows = statement.query_map(params![recipient, batch_id, after], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn rejected(
    c: &Connection,
    (batch_id, recipient): (BatchId, Option<&str>),
) -> Result<Vec<RejectedPlace>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select r.load_id, r.line, r.nth from rejected r
         where r.batch_id = ?2 and length(r.salt) = 16 and {REJECTED_OF_RECIPIENT} and {}",
        only(REJECTED_PARTY)
    ))?;
    let rows = statement.query_map(params![recipient, batch_id], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
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
        Ok(self.c.query_row(
            "select exists (select 1 from instruction where batch_id = ?1)
                 and not exists (select 1 from instruction where batch_id = ?1 and length(salt) is not 32)
                 and (select event from evidence where batch_id = ?1 order by evidence_id desc limit 1) = ?2",
            (self.batch_id, FORGOTTEN),
            |row| row.get(0),
        )?)
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
        Ok(self.connection.query_row(
            "select exists (select 1 from meta where key = ?1)",
            [TO_REWRITE],
            |row| row.get(0),
        )?)
    }

    /// Returns the countries of all rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn countries(&self) -> Result<Vec<Country>, Error> {
        let mut statement = self
            .connection
            .prepare("select distinct country from instruction order by country")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        rows.map(|code| Country::from_code(&code?).ok_or_else(|| corrupt("the country of a row")))
            .collect()
    }

    /// Returns the batches that have rows of a recipient, whose persons are not forgotten.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn paid_in(&self, recipient: &Recipient) -> Result<Vec<PaidIn>, Error> {
        let c = &self.connection;
        know_parties(c)?;
        let recipient = compared(recipient);
        let mut statement = c.prepare(&format!(
            "with found (batch_id, payments, rejected) as (
                 select i.batch_id, count(*), 0 from instruction i where length(i.salt) is not 32 and {OF_RECIPIENT} and {} group by i.batch_id
                 union all
                 select r.batch_id, 0, count(*) from rejected r where length(r.salt) is not 32 and {REJECTED_OF_RECIPIENT} and {} group by r.batch_id)
             select b.name, sum(payments), sum(rejected) from found join batch b using (batch_id) group by batch_id order by batch_id",
            only(INSTRUCTION_PARTY),
            only(REJECTED_PARTY)
        ))?;
        let rows = statement.query_map([recipient], |row| {
            let name: String = row.get(0)?;
            let (payments, rejected): (i64, i64) = (row.get(1)?, row.get(2)?);
            Ok((name, payments.unsigned_abs(), rejected.unsigned_abs()))
        })?;
        let mut found = Vec::new();
        for row in rows {
            let (name, payments, rejected) = row?;
            found.push(PaidIn {
                batch: BatchName::parse(&name).map_err(|_| corrupt("the name of a batch"))?,
                rows: Forgotten { payments, rejected },
            });
        }
        Ok(found)
    }
}
