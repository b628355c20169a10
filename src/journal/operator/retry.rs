//! Retries: a proven failure gets a payment that stands for its row from now on.

use serde_json::{Value, json};

use super::chosen::chosen;
use super::on_record;
use super::recorded::{assert_as_recorded, worth};
use super::unretried;
use crate::domain::{
    BatchId, BatchName, IdentifierScheme, LaneId, PayerTransactionId, PaymentId, Timestamp,
};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch, scheme_in_use};
use crate::journal::codec::events::{PRESUMED_POSTED, REPLACED};
use crate::journal::codec::insert::{Placed, insert_one};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{add_to_tally, corrupt};
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::instruction_blocks::instruction_digest;
use crate::journal::evidence::salt;
use crate::journal::load::link::Link;
use crate::journal::payments::watched::watch;
use crate::journal::recovery::lost_orders::{Touched, assert_in_order};
use crate::journal::recovery::noticed::{open_recovery, was_there_when_noticed};
use crate::journal::recovery::on_chain;
use crate::journal::repeats::anew::Anew;
use crate::journal::session::expected::in_turn;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Failures, RepeatPlan};
use crate::ledger::recovery::retry_is_presumed;
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{Reads, Scan, Writes, shape};

impl Journal {
    /// Makes a new generation of every proven failure that is meant; returns how many. Those that may have none
    /// are told by [`Journal::unretried`].
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn retry(
        &self,
        batch: BatchName,
        which: impl Into<Failures>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let which = which.into();
        self.ask_again(CommitMode::Alone, move |c| {
            retry(c, &batch, &which, None, c.time(now)?)
        })
        .await
    }
}

/// Makes a new generation of proven failures.
pub(in crate::journal) fn retry(
    c: &WriteSession,
    batch: &BatchName,
    which: &Failures,
    repeats: Option<&(RepeatPlan, Timestamp)>,
    now: Timestamp,
) -> Result<u64, Error> {
    let batch_number = known_batch(c, batch)?;
    assert_in_order(c, batch, "retry")?;
    let anew = Anew::begin(c, batch_number, repeats.map(|(plan, now)| (plan, *now)))?;
    c.mark(batch_number);
    let scheme = scheme_in_use(c, batch_number, batch)?;
    planted_instead!(journal::doubt_fails(c, batch_number));
    let (mut retried, mut touched) = (0, Touched::default());
    for seq in in_turn(&**c, &chosen(&**c, batch, which)?) {
        let seq = seq?;
        let judged = unretried::judged(c, anew.as_ref(), which, seq)?;
        if judged.why.is_none() {
            let own = Scan::of(&life::TABLE).at(&seq);
            let lane: Option<LaneId> = c.value(&own, life::service_id)?;
            let lane = lane.ok_or_else(|| corrupt(format!("payment {seq} has no state")))?;
            assert_as_recorded(c, (batch_number, lane), seq)?;
            let new = replace(c, &scheme, batch_number, seq, now)?;
            watch(c, new, &judged.failed, now)?;
            touched.add(id_of(c, new)?.as_str());
            worth(c, new, touched.signed())?;
            retried += 1;
        }
    }
    if retried > 0 {
        let which = match (which.named.len(), which.code) {
            (0, None) => Value::Null,
            (0, Some(code)) => format!("code {code}").into(),
            _ => format!("{retried} named").into(),
        };
        c.act_upon((batch_number, now), "retry", which, &touched, None)?;
    }
    Ok(retried)
}

shape! {
    /// An identifier that is taken from now on.
    struct Taken of identifier { identifier: PayerTransactionId, seq: PaymentId }
}
shape! {
    /// The life of a retry, as it begins.
    struct Begun of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, exposures: u32,
        quarantine_from: Option<Timestamp>,
    }
}

pub(super) fn replace(
    c: &WriteSession,
    scheme: &IdentifierScheme,
    batch_number: BatchId,
    seq: PaymentId,
    now: Timestamp,
) -> Result<PaymentId, Error> {
    let found = Instructions::of(c).find(seq)?;
    let found = found.ok_or_else(|| corrupt("a payment without its instruction"))?;
    let (lane, load_id) = (found.lane, found.load_id);
    let old = found.payment()?;
    let generation = old.generation + 1;
    let row = &old.instruction;
    let id = scheme.of_retry(old.id, row.reference.as_ref(), old.generation);
    let placed = Placed {
        batch_id: batch_number,
        load_id,
        service_id: lane,
        salt: salt::fresh()?,
    };
    let minor = row.money.amount.minor();
    let new = insert_one(
        c,
        &placed,
        &id,
        generation,
        now.as_millis(),
        row,
        Some(minor),
    )?;
    c.insert(&Taken {
        identifier: id,
        seq: new,
    })?;
    let minors = (minor, minor);
    let link = Link {
        batch_number,
        lane,
        seq,
        new,
        id,
        minors,
        currency: row.money.currency,
    };
    succeed(c, &link, now)?;
    Ok(new)
}

/// Makes a payment whose instruction is there the next generation of one that failed.
pub(in crate::journal) fn succeed(
    c: &WriteSession,
    link: &Link,
    now: Timestamp,
) -> Result<(), Error> {
    let Link {
        batch_number,
        lane,
        seq,
        new,
        id,
        minors,
        currency,
    } = *link;
    on_chain::assert_as_recorded(c)?;
    let state = begin_retry(c, link, now)?;
    c.forget_recent();
    let replaced = Scan::of(&life::TABLE).at(&seq);
    c.set(&replaced, life::replaced_by, &new)?;
    let detail = json!({"replaced_by": id.as_str()}).to_string();
    c.append(&Evidence {
        batch_id: batch_number,
        seq,
        at: now,
        kind: (REPLACED, None, None),
        digest: instruction_digest(c, new)?.as_ref(),
        detail: Some(&detail),
        ..Evidence::default()
    })?;
    let currency = currency.code();
    add_to_tally(
        c,
        batch_number,
        lane,
        currency,
        State::Failed,
        -1,
        -minors.0,
    )?;
    add_to_tally(c, batch_number, lane, currency, state, 1, minors.1)
}

/// Begins the life of a retry. A lost journal may have retried and posted its predecessor too: then it is asked about first, as
/// that one was.
fn begin_retry(c: &WriteSession, link: &Link, now: Timestamp) -> Result<State, Error> {
    let Link {
        batch_number,
        lane,
        seq,
        new,
        ..
    } = *link;
    c.flush()?;
    let presumed = retry_is_presumed(
        open_recovery(c)?.is_some(),
        was_there_when_noticed(c, seq)?,
        on_record::has(c, seq, PRESUMED_POSTED)?,
    );
    let state = if presumed {
        State::InDoubt
    } else {
        State::Ready
    };
    c.insert(&Begun {
        seq: new,
        batch_id: batch_number,
        service_id: lane,
        state,
        due_at: 0,
        exposures: u32::from(presumed),
        quarantine_from: presumed.then_some(now),
    })?;
    if presumed {
        c.append(&Evidence {
            batch_id: batch_number,
            seq: new,
            at: now,
            kind: (PRESUMED_POSTED, None, None),
            ..Evidence::default()
        })?;
    }
    Ok(state)
}
