//! Where a batch belongs: its gateway, the settings that shape its posts, its account.

use serde_json::{Value, json};

use super::belongs::assert_as_recorded;
use super::destination::{self, meant_for};
use super::pinned::{left_behind, may_be_there};
use super::reread;
use super::sessions;
use super::witnesses::witnesses;
use crate::domain::{
    BatchId, BatchName, GatewayTransactionId, PayerTransactionId, PaymentId, ResponseDetails,
    Timestamp,
};
use crate::journal::Journal;
use crate::journal::codec::catalog::{account, find, known_batch, of_batch, purpose, reading};
use crate::journal::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, READING_ACCEPTED, READING_TAKEN,
};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::digests;
use crate::journal::payments::agreed::judged;
use crate::journal::payments::answered::{ReadBy, is_any_unexecuted_by_an_answer};
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::recovery::payers;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::check_batch;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{AccountMove, Error, Home, Question};
use crate::ledger::Purpose;
use crate::ledger::moves::{self, Move, Testimony};
use crate::ledger::payer::Payer;
use crate::ledger::pin::{self, Destination, Pin};
use crate::lifecycle::Event;
use crate::store::tables::{batch, instruction, life};
use crate::store::{Read, Reads, Scan, Writes, shape};

shape! {
    /// Where a batch is tied to, and when it was claimed from last.
    struct Pinned of batch {
        batch_id: BatchId, gateway: Option<String>, wire: Option<String>, last_claim_at: Option<i64>,
    }
}
shape! {
    /// What a batch is tied to.
    struct Tie of batch { gateway: String, wire: String }
}

impl Journal {
    /// Pins a batch to its gateway and its account before anything of it is sent there.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::OtherGateway`], [`Error::OtherWire`], [`Error::OtherAccount`], [`Error::OtherReading`],
    /// [`Error::PayerUnknown`].
    pub async fn pin(&self, batch: BatchName, home: Home, now: Timestamp) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            pin(c, &batch, &home, now).map(|_| ())
        })
        .await
    }

    /// Returns the account that a batch belongs to, and what it takes to move the batch to the one that is configured.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn account_move(
        &self,
        batch: BatchName,
        home: Home,
    ) -> Result<(String, Move), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            account_move(c, (batch_id, &batch), &home)
        })
        .await
    }

    /// Returns up to `limit` payments that the gateway has shown to have, the newest first: one of them can show that a new
    /// name is the same account.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn witnesses(&self, batch: BatchName, limit: usize) -> Result<Vec<Question>, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            witnesses(c, known_batch(c, &batch)?, limit)
        })
        .await
    }

    /// Returns what an answer about a payment, which the gateway has shown to have, says of whoever has answered.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn testimony(
        &self,
        seq: PaymentId,
        event: Event,
        said: ResponseDetails,
    ) -> Result<Testimony, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let subject = subject(c, seq)?;
            let own = Scan::of(&life::TABLE).at(&seq);
            let on_record: Option<Option<String>> = c.value(&own, life::gateway_transaction_id)?;
            let on_record = on_record.flatten();
            let told = said.gateway_transaction_id.as_ref();
            let named = (on_record.as_deref(), told.map(GatewayTransactionId::as_str));
            let is_ours = judged(c, &subject, &said)?.differs.is_none();
            Ok(moves::testimony(&subject.moved.life, named, event, is_ours))
        })
        .await
    }

    /// Moves a batch to another account, by order.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::OtherAccount`] when it belongs elsewhere by now.
    pub async fn move_account(
        &self,
        batch: BatchName,
        order: AccountMove,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            move_account(c, &batch, &order, now)
        })
        .await
    }
}

/// Refuses a batch that was loaded for something else than what it is to be used for.
pub(in crate::journal) fn assert_purpose(
    c: &dyn Read,
    batch: &BatchName,
    comes_as: Purpose,
) -> Result<(), Error> {
    let purpose = purpose(c, known_batch(c, batch)?)?;
    if purpose.agrees(comes_as) {
        return Ok(());
    }
    let batch = batch.clone();
    Err(match purpose {
        Purpose::Rehearsal => Error::OnlyARehearsal { batch },
        Purpose::Gateway | Purpose::Unknown => Error::NotARehearsal { batch },
    })
}

/// Ties a batch to where it belongs; returns its number and its last claim.
pub(in crate::journal) fn pin(
    c: &WriteSession,
    batch: &BatchName,
    home: &Home,
    now: Timestamp,
) -> Result<(BatchId, Option<i64>), Error> {
    assert_as_recorded(c, known_batch(c, batch)?, batch)?;
    assert_purpose(c, batch, Purpose::of_gateway(&home.gateway))?;
    let found = c.first(&Scan::by(&batch::by_name).at(batch))?;
    let Some(Pinned {
        batch_id,
        gateway,
        wire,
        last_claim_at,
    }) = found
    else {
        return Err(Error::UnknownBatch {
            name: batch.to_string(),
        });
    };
    let is_pinned = gateway.is_some() && wire.as_deref() == Some(&home.wire);
    if let Some(pinned) = gateway.filter(|pinned| *pinned != home.gateway) {
        return Err(Error::OtherGateway {
            batch: batch.clone(),
            pinned,
            configured: home.gateway.clone(),
        });
    }
    let is_read_anew = is_read_anew(c, batch_id, home)?;
    if let Some(pinned) = wire.filter(|pinned| *pinned != home.wire) {
        // Only what may have left is repeated, and a repeat needs the same bytes.
        if is_read_anew || may_be_there(c, batch_id)? {
            return Err(Error::OtherWire {
                batch: batch.clone(),
                pinned,
                configured: home.wire.clone(),
            });
        }
        assert_nothing_was_edited(c, batch_id, batch)?;
    }
    let on_record = account(c, batch_id)?;
    let belongs = (on_record.as_deref(), home.account.as_str());
    let judged = judge(c, (batch_id, batch), belongs, is_read_anew)?;
    if judged == Pin::Refused {
        return Err(other_account(batch, on_record, &home.account));
    }
    let read = judge_reading(c, (batch_id, batch), home, is_read_anew)?;
    if !is_pinned || judged == Pin::Taken || read.is_some() {
        assert_alone(c, batch_id, read.is_some())?;
    }
    payers::assert_known(c, batch_id, batch, home)?;
    destination::assert_meant(c, (batch_id, batch), home)?;
    mark_payer(c, batch, &home.gateway, &home.account)?;
    c.change(
        &Scan::of(&batch::TABLE).at(&batch_id),
        &Tie {
            gateway: home.gateway.clone(),
            wire: home.wire.clone(),
        },
    )?;
    if !is_pinned {
        c.with(|c, chain| digests::pin(c, chain, batch_id, now))?;
    }
    if judged == Pin::Taken {
        let detail = json!({"account": home.account, "before": on_record});
        take(c, batch_id, &home.account, ACCOUNT_TAKEN, &detail, now)?;
    }
    destination::taken(c, batch_id, home, now)?;
    if let Some((kind, before)) = read {
        take_reading(c, batch_id, (kind, before), &home.reading, now)?;
    }
    Ok((batch_id, last_claim_at))
}

/// Returns whether posts of a batch were called not executed by another dialect than that of a command: they may have been executed where
/// the batch was. What codes mean is found out as time goes by, and tells nothing of where a batch is.
fn is_read_anew(c: &WriteSession, batch_id: BatchId, home: &Home) -> Result<bool, Error> {
    let on_record = reading(c, batch_id)?;
    let was_read = on_record.as_deref().unwrap_or(pin::READ_AS_DOCUMENT);
    let differs = pin::dialect_of(was_read) != pin::dialect_of(&home.reading);
    Ok(differs && is_any_unexecuted_by_an_answer(c, batch_id)?)
}

/// Refuses what all runs of a batch go by to be changed while another one is at work; `reads_anew`: it is how replies are read.
fn assert_alone(c: &WriteSession, batch_id: BatchId, reads_anew: bool) -> Result<(), Error> {
    sessions::assert_alone(c, batch_id).map_err(|error| match error {
        Error::Held { holder } if reads_anew => Error::Held {
            holder: format!(
                "{holder}, which reads replies in another way: its dialect, [status_codes] or [post_codes] are not those of this configuration"
            ),
        },
        other => other,
    })
}

fn other_account(batch: &BatchName, pinned: Option<String>, configured: &str) -> Error {
    Error::OtherAccount {
        batch: batch.clone(),
        pinned: pinned.unwrap_or_default(),
        configured: configured.to_owned(),
    }
}

fn judge(
    c: &WriteSession,
    (batch_id, batch): (BatchId, &BatchName),
    (on_record, configured): (Option<&str>, &str),
    is_read_anew: bool,
) -> Result<Pin, Error> {
    // Looked for only where it decides: every life may have to be read.
    let differs = on_record.is_some_and(|account| account != configured);
    let bound = differs && (is_read_anew || may_be_there(c, batch_id)?);
    if differs && !bound {
        assert_nothing_was_edited(c, batch_id, batch)?;
    }
    Ok(pin::judge(on_record, configured, bound))
}

/// Judges the way in which replies are read; returns what is recorded of it, and the way before. What was posted may be answered
/// at any time, and read in another way an answer may end it otherwise.
fn judge_reading(
    c: &WriteSession,
    (batch_id, batch): (BatchId, &BatchName),
    home: &Home,
    is_read_anew: bool,
) -> Result<Option<(i64, Option<String>)>, Error> {
    let on_record = reading(c, batch_id)?;
    let stands = on_record.as_deref().unwrap_or(pin::READ_AS_DOCUMENT);
    let differs = pin::dialect_of(stands) != pin::dialect_of(&home.reading);
    let bound = differs && (is_read_anew || may_be_there(c, batch_id)?);
    if differs && !bound {
        assert_nothing_was_edited(c, batch_id, batch)?;
    }
    match pin::judge_reading(stands, &home.reading, bound) {
        Pin::Stands => Ok(None),
        Pin::Taken => Ok(Some((READING_TAKEN, on_record))),
        Pin::Refused if home.accepts_reading => Ok(Some((READING_ACCEPTED, on_record))),
        Pin::Refused => Err(Error::OtherReading {
            batch: batch.clone(),
            pinned: pin::dialect_of(stands).to_owned(),
            configured: pin::dialect_of(&home.reading).to_owned(),
        }),
    }
}

fn take_reading(
    c: &WriteSession,
    batch_id: BatchId,
    (kind, before): (i64, Option<String>),
    reading: &str,
    now: Timestamp,
) -> Result<(), Error> {
    if kind == READING_ACCEPTED {
        let before = before.as_deref().unwrap_or(pin::READ_AS_DOCUMENT);
        let why = format!(
            "replies are read as {reading} from now on, and were read as {before}; what failed, was not found, or was not executed, is asked about again"
        );
        c.acted_because(batch_id, now, "accept-dialect", &why)?;
    }
    let own = Scan::of(&batch::TABLE).at(&batch_id);
    c.set(&own, batch::reading, &reading)?;
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (kind, None, None),
        detail: Some(&json!({"reading": reading, "before": before}).to_string()),
        ..Evidence::default()
    })?;
    let was_read = before.as_deref().unwrap_or(pin::READ_AS_DOCUMENT);
    let by = match pin::dialect_of(was_read) == pin::dialect_of(reading) {
        true => ReadBy::OtherCodes,
        false => ReadBy::OtherDialect,
    };
    // Of a batch that nobody has posted or asked about yet, nothing was read.
    let last_claim: Option<Option<Timestamp>> = of_batch(c, batch_id, batch::last_claim_at)?;
    match before.is_some() || last_claim.flatten().is_some() {
        true => reread::ask_again(c, batch_id, by, now),
        false => Ok(()),
    }
}

/// Refuses to let a batch go elsewhere where what is said of its payments is not what their evidence comes to: who can write
/// the file could hide what was posted.
pub(in crate::journal) fn assert_nothing_was_edited(
    c: &WriteSession,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<(), Error> {
    match check_batch(c, batch_id)? {
        Some(what) => Err(Error::Altered {
            batch: batch.clone(),
            what,
        }),
        None => Ok(()),
    }
}

/// Lets the mark say who posts a batch.
pub(in crate::journal) fn mark_payer(
    c: &WriteSession,
    batch: &BatchName,
    gateway: &str,
    account: &str,
) -> Result<(), Error> {
    match Purpose::of_gateway(gateway) {
        Purpose::Rehearsal => Ok(()),
        Purpose::Gateway | Purpose::Unknown => {
            payers::mark_payer(c, batch, &Payer::of(gateway, account))
        }
    }
}

pub(super) fn take(
    c: &WriteSession,
    batch_id: BatchId,
    account: &str,
    kind: i64,
    detail: &serde_json::Value,
    now: Timestamp,
) -> Result<(), Error> {
    let own = Scan::of(&batch::TABLE).at(&batch_id);
    c.set(&own, batch::account, &account)?;
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (kind, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

/// Judges a move to another account: from the one on record where something of the batch may be there, and else from the one that
/// it was loaded for.
fn account_move(
    c: &WriteSession,
    (batch_id, batch): (BatchId, &BatchName),
    home: &Home,
) -> Result<(String, Move), Error> {
    let configured = &home.account;
    let on_record = account(c, batch_id)?;
    let belongs = (on_record.as_deref(), configured.as_str());
    let is_read_anew = is_read_anew(c, batch_id, home)?;
    if judge(c, (batch_id, batch), belongs, is_read_anew)? == Pin::Refused {
        let needs = match witnesses(c, batch_id, 1)?.is_empty() {
            true => Move::Impossible,
            false => Move::Proof,
        };
        return Ok((on_record.unwrap_or_default(), needs));
    }
    Ok(match meant_for(c, batch_id)? {
        Some(meant)
            if !destination::names(c, batch_id, &meant, &home.destination())?
                && !destination::is_meant(c, batch_id, &meant, home)? =>
        {
            (meant.user, Move::Free)
        }
        _ => (configured.clone(), Move::Needless),
    })
}

fn move_account(
    c: &WriteSession,
    batch: &BatchName,
    order: &AccountMove,
    now: Timestamp,
) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    let on_record = account(c, batch_id)?;
    if on_record.as_deref() != Some(&order.from) {
        return Err(other_account(batch, on_record, &order.to));
    }
    sessions::assert_alone(c, batch_id)?;
    assert_belongs(c, batch_id, order.witness)?;
    let detail = json!({
        "account": order.to,
        "before": order.from,
        "witness": order.witness.as_str(),
        "reason": order.reason,
    });
    let to = |meant| Destination {
        user: order.to.clone(),
        profile: order.profile.clone(),
        ..meant
    };
    destination::moved(c, batch_id, (to, &order.reason), false, now)?;
    let about = Value::from(order.to.as_str());
    let touched = Touched::about(&about).leaving(left_behind(c, batch_id)?);
    let why = Some(order.reason.as_str());
    c.act_upon((batch_id, now), "account-moved", about, &touched, why)?;
    let gateway: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    mark_payer(c, batch, &gateway.unwrap_or_default(), &order.to)?;
    take(c, batch_id, &order.to, ACCOUNT_MOVED, &detail, now)?;
    payers::ask_in_the_new_place(c, batch_id, now)
}

pub(in crate::journal) fn assert_belongs(
    c: &dyn Read,
    batch_id: BatchId,
    id: PayerTransactionId,
) -> Result<(), Error> {
    let of = match find(c, id)? {
        Some(seq) => {
            let own = Scan::of(&instruction::TABLE).at(&seq);
            c.value(&own, instruction::batch_id)?
        }
        None => None,
    };
    if of == Some(batch_id) {
        Ok(())
    } else {
        Err(corrupt(format!("a witness {id} of another batch")))
    }
}
