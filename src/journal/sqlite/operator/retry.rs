//! Retries: a proven failure gets a payment that stands for its row from now on.

use rusqlite::params;
use serde_json::{Value, json};

use super::chosen::chosen;
use super::recorded::{assert_as_recorded, worth};
use super::unretried;
use crate::domain::{BatchId, BatchName, IdentifierScheme, LaneId, LoadId, PaymentId, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::{id_of, known_batch, scheme_in_use};
use crate::journal::sqlite::codec::events::{PRESUMED_POSTED, REPLACED};
use crate::journal::sqlite::codec::insert::{Insert, Placed};
use crate::journal::sqlite::codec::values::{
    PAYMENT_COLUMNS, PAYMENT_WIDTH, add_to_tally, corrupt, payment_of, state_number,
};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::evidence::instruction_blocks::instruction_digest;
use crate::journal::sqlite::evidence::salt;
use crate::journal::sqlite::load::link::Link;
use crate::journal::sqlite::payments::watched::watch;
use crate::journal::sqlite::recovery::lost_orders::Touched;
use crate::journal::sqlite::recovery::noticed::{open_recovery, was_there_when_noticed};
use crate::journal::sqlite::recovery::on_chain;
use crate::journal::sqlite::repeats::anew::Anew;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Failures, RepeatPlan};
use crate::ledger::recovery::retry_is_presumed;
use crate::lifecycle::State;

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
        self.ask(CommitMode::Alone, move |c| {
            retry(c, &batch, &which, None, now)
        })
        .await
    }
}

/// Makes a new generation of proven failures.
pub(in crate::journal::sqlite) fn retry(
    c: &WriteSession,
    batch: &BatchName,
    which: &Failures,
    repeats: Option<&(RepeatPlan, Timestamp)>,
    now: Timestamp,
) -> Result<u64, Error> {
    let batch_number = known_batch(c, batch)?;
    let anew = Anew::begin(c, batch_number, repeats.map(|(plan, now)| (plan, *now)))?;
    c.mark(batch_number);
    let scheme = scheme_in_use(c, batch_number, batch)?;
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::RetryDoubtful.is_active() {
        c.execute(
            "update life set state = 6, due_at = ?2 where batch_id = ?1 and state = 2",
            params![batch_number, crate::journal::sqlite::codec::values::NEVER],
        )?;
    }
    let (mut retried, mut touched) = (0, Touched::default());
    for seq in chosen(c, batch, which)? {
        let judged = unretried::judged(c, anew.as_ref(), which, seq)?;
        if judged.why.is_none() {
            let lane = c
                .prepare_cached("select service_id from life where seq = ?1")?
                .query_row([seq], |row| row.get(0))?;
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

pub(super) fn replace(
    c: &WriteSession,
    scheme: &IdentifierScheme,
    batch_number: BatchId,
    seq: PaymentId,
    now: Timestamp,
) -> Result<PaymentId, Error> {
    let (old, lane, load_id) = {
        let mut statement = c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS}, i.service_id, i.load_id from instruction i join service s using (service_id) where seq = ?1"
        ))?;
        let mut rows = statement.query([seq])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a payment without its instruction"))?;
        (
            payment_of(row, 0)?,
            row.get::<_, LaneId>(PAYMENT_WIDTH)?,
            row.get::<_, LoadId>(PAYMENT_WIDTH + 1)?,
        )
    };
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
    let mut insert = Insert::new(c)?;
    insert.row(&placed, &id, generation, now.as_millis(), row, Some(minor))?;
    insert.flush()?;
    let new = PaymentId::new(c.last_insert_rowid());
    c.execute(
        "insert into identifier (identifier, seq) values (?1, ?2)",
        params![id.as_str(), new],
    )?;
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
pub(in crate::journal::sqlite) fn succeed(
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
    c.execute(
        "update life set replaced_by = ?2 where seq = ?1",
        params![seq, new],
    )?;
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
    let was_presumed: bool = c
        .prepare_cached("select exists (select 1 from evidence indexed by evidence_by_payment where seq = ?1 and event = ?2)")?
        .query_row(params![seq, PRESUMED_POSTED], |row| row.get(0))?;
    let presumed = retry_is_presumed(
        open_recovery(c)?.is_some(),
        was_there_when_noticed(c, seq)?,
        was_presumed,
    );
    #[cfg(test)]
    let presumed = presumed && !crate::seeded_bugs::SeededBug::PresumptionForgotten.is_active();
    let state = if presumed {
        State::InDoubt
    } else {
        State::Ready
    };
    c.execute(
        "insert into life (seq, batch_id, service_id, state, due_at, exposures, quarantine_from)
         values (?1, ?2, ?3, ?4, 0, ?5, iif(?5 > 0, ?6, null))",
        params![
            new,
            batch_number,
            lane,
            state_number(state),
            i64::from(presumed),
            now.as_millis()
        ],
    )?;
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
