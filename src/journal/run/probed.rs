//! The second post of one identifier, on purpose: its intent, and what the gateway made of it.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pin::{assert_nothing_was_edited, pin};
use crate::domain::{BatchId, BatchName, EvidenceId, Payment, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::{PROBE_ANSWERED, PROBE_POSTED};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::read::reader::Snapshot;
use crate::journal::recovery::noticed::open_recovery;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{DuplicateProbe, Error, Home, SecondPost};
use crate::ledger::duplicate_check::{DuplicateCheck, NotProbed, judge};
use crate::store::tables::{batch, evidence, instruction, upload};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Journal {
    /// Returns the one payment of a batch; `None` where it has others, or the amount of its row is not known.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn only_payment(&self, batch: BatchName) -> Result<Option<Arc<Payment>>, Error> {
        self.ask_again(CommitMode::Shared, move |c| {
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
        self.ask_again(CommitMode::Alone, move |c| {
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
        self.ask_again(CommitMode::Alone, move |c| {
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
        self.ask_again(CommitMode::Shared, move |c| last_probe(c, &home))
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
        let mut told: Vec<Told> = Vec::new();
        for kind in [PROBE_POSTED, PROBE_ANSWERED] {
            let of_kind = Scan::by(&evidence::about_batch)
                .at(&kind)
                .at(&self.batch_id);
            told.extend(self.c.list(&of_kind)?);
        }
        told.sort_unstable_by_key(|told| told.evidence_id);
        let mut found = None;
        for one in told {
            let check = one.check()?;
            let check = check.as_deref().and_then(DuplicateCheck::from_name);
            found = match (one.event, found) {
                (PROBE_POSTED, _) => Some((one.at, None)),
                (_, Some((posted, _))) => Some((posted, check)),
                (_, None) => Some((one.at, check)),
            };
        }
        Ok(found)
    }
}

shape! {
    /// What is on record of a probe.
    struct Told of evidence {
        evidence_id: EvidenceId, event: i64, at: Timestamp, batch_id: Option<BatchId>, detail: Option<String>,
    }
}

impl Told {
    fn detail(&self) -> Result<Value, Error> {
        match &self.detail {
            None => Ok(Value::Null),
            Some(detail) => serde_json::from_str(detail).map_err(|_| odd()),
        }
    }

    /// Returns what the probe showed, by its name.
    fn check(&self) -> Result<Option<String>, Error> {
        match &self.detail()?["check"] {
            Value::Null => Ok(None),
            Value::String(name) => Ok(Some(name.clone())),
            _ => Err(odd()),
        }
    }

    /// Returns the code of the answer.
    fn code(&self) -> Result<Option<i32>, Error> {
        match &self.detail()?["code"] {
            Value::Null => Ok(None),
            code => {
                let code = code.as_i64().and_then(|code| code.try_into().ok());
                code.map(Some).ok_or_else(odd)
            }
        }
    }
}

fn odd() -> Error {
    corrupt("an unreadable record of a probe")
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

fn was_posted(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let posted = Scan::by(&evidence::about_batch)
        .at(&PROBE_POSTED)
        .at(&batch_id);
    Ok(c.any(&posted)?)
}

/// Returns how many rows a batch has, its retries among them, and the first of them.
fn only_row(c: &dyn Read, batch_id: BatchId) -> Result<(i64, PaymentId), Error> {
    let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
    let first: Option<PaymentId> = c.value(&rows, instruction::seq)?;
    let count = i64::try_from(c.count(&rows)?).unwrap_or(i64::MAX);
    Ok((count, first.unwrap_or(PaymentId::NONE)))
}

/// Returns a payment, and the document that its posts name; `None` where its amount is not known.
fn stored(c: &dyn Read, seq: PaymentId) -> Result<Option<(Payment, Option<String>)>, Error> {
    let Some(found) = Instructions::of(c).find(seq)? else {
        return Ok(None);
    };
    let uploaded = Scan::of(&upload::TABLE).at(&seq);
    let document = c.value(&uploaded, upload::reference)?;
    let payment = found.row.payment();
    Ok(payment.map(|payment| (payment, document)))
}

fn last_probe(c: &dyn Read, home: &Home) -> Result<Option<DuplicateProbe>, Error> {
    let digest = digest(home);
    let mut last: Option<((bool, EvidenceId), DuplicateProbe)> = None;
    for kind in [PROBE_POSTED, PROBE_ANSWERED] {
        c.each(&Scan::by(&evidence::about_batch).at(&kind), |told: Told| {
            if told.detail()?["home"] != digest.as_str() {
                return Ok(());
            }
            let check = told.check()?;
            // A gateway that has taken an identifier twice is no net, whatever it answers another time.
            // A second post whose answer nobody heard is the last that is known of this gateway: it shows nothing.
            let is_net_gone = check.as_deref() == Some(DuplicateCheck::Accepts.name());
            let weight = (is_net_gone, told.evidence_id);
            if last.as_ref().is_some_and(|(known, _)| *known > weight) {
                return Ok(());
            }
            if let Some(batch) = named(c, told.batch_id)? {
                let probe = DuplicateProbe {
                    batch,
                    at: told.at,
                    check: check
                        .and_then(|name| DuplicateCheck::from_name(&name))
                        .unwrap_or(DuplicateCheck::Unclear),
                    code: told.code()?,
                };
                last = Some((weight, probe));
            }
            Ok::<_, Error>(())
        })?;
    }
    Ok(last.map(|(_, probe)| probe))
}

/// Returns the name of the batch that evidence is about.
fn named(c: &dyn Read, batch_id: Option<BatchId>) -> Result<Option<String>, Error> {
    let Some(batch_id) = batch_id else {
        return Ok(None);
    };
    let own = Scan::of(&batch::TABLE).at(&batch_id);
    Ok(c.value(&own, batch::name)?)
}
