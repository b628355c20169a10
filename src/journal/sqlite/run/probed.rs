//! The second post of one identifier, on purpose: its intent, and what the gateway made of it.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pin::{assert_nothing_was_edited, pin};
use crate::domain::{BatchId, BatchName, Payment, PaymentId, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::{PROBE_ANSWERED, PROBE_POSTED};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, stored_of};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::read::reader::Snapshot;
use crate::journal::sqlite::recovery::noticed::open_recovery;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{DuplicateProbe, Error, Home, SecondPost};
use crate::ledger::duplicate_check::{DuplicateCheck, NotProbed, judge};

impl Journal {
    /// Returns the one payment of a batch; `None` where it has others, or the amount of its row is not known.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn only_payment(&self, batch: BatchName) -> Result<Option<Arc<Payment>>, Error> {
        self.ask(CommitMode::Shared, move |c| {
            let batch_id = known_batch(c, &batch)?;
            match only_row(c, batch_id)? {
                (1, seq) => Ok(stored(c, seq)?.map(|(payment, _)| Arc::new(payment))),
                _ => Ok(None),
            }
        })
        .await
    }

    /// Records the intent to post the one payment of a batch a second time, unless that shows nothing or was done before.
    ///
    /// # Errors
    /// As [`Journal::pin`]; [`Error::Altered`].
    pub async fn begin_probe(
        &self,
        batch: BatchName,
        home: Home,
        now: Timestamp,
    ) -> Result<SecondPost, Error> {
        self.ask(CommitMode::Alone, move |c| {
            let (batch_id, _) = pin(c, &batch, &home, now)?;
            assert_nothing_was_edited(c, batch_id, &batch)?;
            let (payments, seq) = only_row(c, batch_id)?;
            let Some((payment, support_document)) = stored(c, seq)? else {
                return Ok(SecondPost::Stays(NotProbed::HasOthers));
            };
            let life = subject(c, seq)?.moved.life;
            let is_recovering = open_recovery(c)?.is_some();
            if let Err(why) = judge(payments, &life, was_posted(c, batch_id)?, is_recovering) {
                return Ok(SecondPost::Stays(why));
            }
            // A copy of before must not post it once more.
            c.mark(batch_id);
            record(
                c,
                batch_id,
                PROBE_POSTED,
                &json!({"home": digest(&home)}),
                now,
            )?;
            // The report and `explain` tell of it as of an order.
            let why = "posted the payment a second time on purpose, to see whether the gateway refuses its identifier";
            c.acted_because(batch_id, now, "probe", why)?;
            Ok(SecondPost::Leaves {
                payment: Arc::new(payment),
                support_document,
            })
        })
        .await
    }

    /// Records what the gateway made of it.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn end_probe(
        &self,
        batch: BatchName,
        home: Home,
        (check, code): (DuplicateCheck, Option<i32>),
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            let detail = json!({"home": digest(&home), "check": check.name(), "code": code});
            record(c, batch_id, PROBE_ANSWERED, &detail, now)?;
            let code = code.map_or_else(|| "no code".to_owned(), |code| code.to_string());
            let came = format!("the second post: {} ({code})", check.sentence());
            c.acted_because(batch_id, now, "probe-answered", &came)
        })
        .await
    }

    /// Returns what the last probe of this gateway has shown, with this account and these requests; `None` where there was none.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn duplicate_probe(&self, home: Home) -> Result<Option<DuplicateProbe>, Error> {
        self.ask(CommitMode::Shared, move |c| last_probe(c, &home))
            .await
    }
}

impl Snapshot<'_> {
    /// Returns when the payment of this batch was posted a second time on purpose, and what that showed; `None` inside where nobody
    /// heard the answer.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn second_post(&self) -> Result<Option<(Timestamp, Option<DuplicateCheck>)>, Error> {
        let mut statement = self.c.prepare_cached(
            "select event, at, detail ->> 'check' from evidence indexed by about_batch
             where seq = 0 and event in (?1, ?2) and batch_id = ?3 order by evidence_id",
        )?;
        let mut rows = statement.query(params![PROBE_POSTED, PROBE_ANSWERED, self.batch_id])?;
        let mut found = None;
        while let Some(row) = rows.next()? {
            let at = Timestamp::from_millis(row.get(1)?);
            let check: Option<String> = row.get(2)?;
            let check = check.as_deref().and_then(DuplicateCheck::from_name);
            found = match (row.get::<_, i64>(0)?, found) {
                (PROBE_POSTED, _) => Some((at, None)),
                (_, Some((posted, _))) => Some((posted, check)),
                (_, None) => Some((at, check)),
            };
        }
        Ok(found)
    }
}

/// Returns what a probe is of: the gateway, the account, and what shapes the requests.
fn digest(home: &Home) -> String {
    let mut digest = Sha256::new();
    for text in [&home.gateway, &home.account, &home.wire] {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    data_encoding::HEXLOWER.encode(&digest.finalize()[..16])
}

fn record(
    c: &WriteSession,
    batch_id: BatchId,
    kind: i64,
    detail: &Value,
    now: Timestamp,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (kind, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

fn was_posted(c: &Connection, batch_id: BatchId) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from evidence indexed by about_batch where seq = 0 and event = ?1 and batch_id = ?2)",
    )?
    .query_row((PROBE_POSTED, batch_id), |row| row.get(0))?)
}

/// Returns how many rows a batch has, its retries among them, and the first of them.
fn only_row(c: &Connection, batch_id: BatchId) -> Result<(i64, PaymentId), Error> {
    Ok(c.prepare_cached(
        "select count(*), coalesce(min(seq), 0) from instruction where batch_id = ?1",
    )?
    .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Returns a payment, and the document that its posts name; `None` where its amount is not known.
fn stored(c: &Connection, seq: PaymentId) -> Result<Option<(Payment, Option<String>)>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, (select u.reference from upload u where u.seq = i.seq)
         from instruction i join service s using (service_id) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let document = row.get(PAYMENT_WIDTH)?;
    let payment = stored_of(row, 0)?.payment();
    Ok(payment.map(|payment| (payment, document)))
}

fn last_probe(c: &Connection, home: &Home) -> Result<Option<DuplicateProbe>, Error> {
    let found = c
        .prepare_cached(
            "select b.name, e.at, e.detail ->> 'check', e.detail ->> 'code'
             from evidence e indexed by about_batch cross join batch b using (batch_id)
             where e.seq = 0 and e.event in (?1, ?2) and e.detail ->> 'home' = ?3
             order by coalesce(e.detail ->> 'check', '') = ?4 desc, e.evidence_id desc limit 1",
        )?
        // A gateway that has taken an identifier twice is no net, whatever it answers another time.
        // A second post whose answer nobody heard is the last that is known of this gateway: it shows nothing.
        .query_row(
            params![
                PROBE_POSTED,
                PROBE_ANSWERED,
                digest(home),
                DuplicateCheck::Accepts.name()
            ],
            |row| {
                let check: Option<String> = row.get(2)?;
                Ok(DuplicateProbe {
                    batch: row.get(0)?,
                    at: Timestamp::from_millis(row.get(1)?),
                    check: check
                        .and_then(|name| DuplicateCheck::from_name(&name))
                        .unwrap_or(DuplicateCheck::Unclear),
                    code: row.get(3)?,
                })
            },
        )
        .optional()?;
    Ok(found)
}
