//! Rows without an amount: how many, and how they end without one; what their files were declared to come to.

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{Amount, BatchId, BatchName, LaneId, LoadId, Money, PaymentId, Totals};
use crate::journal::sqlite::codec::catalog::id_of;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::event_numbers;
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::codec::values::{
    UNPRICED, add_to_tally, corrupt, currency_of, state_number,
};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::ordered::SignedContent;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, TotalDifference};
use crate::lifecycle::{Event, State, StepContext};

impl Journal {
    /// Compares the declared totals of files that had rows without an amount, as far as something of them can be posted.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn declared_totals(&self, batch: BatchName) -> Result<Vec<TotalDifference>, Error> {
        self.ask(CommitMode::Alone, move |c| declared_totals(c, &batch))
            .await
    }
}

/// Adds to (or takes from) the count of rows without an amount.
pub(in crate::journal::sqlite) fn add_unpriced(
    c: &Connection,
    batch_id: BatchId,
    service_id: LaneId,
    currency: &str,
    count: i64,
) -> Result<(), Error> {
    c.prepare_cached(
        "update tally set count = count + ?5
         where batch_id = ?1 and service_id = ?2 and currency = ?3 and state = ?4",
    )?
    .execute(params![batch_id, service_id, currency, UNPRICED, count])?;
    Ok(())
}

/// Where a row without an amount stands; `None` for every other row.
pub(in crate::journal::sqlite) fn without_amount(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<&'static str>, Error> {
    let found: Option<(bool, bool)> = c
        .prepare_cached(
            "select amount is null, exists (select 1 from life where life.seq = instruction.seq)
             from instruction where seq = ?1",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match found {
        Some((true, false)) => Some("unpriced"),
        Some((true, true)) => Some("cancelled"),
        _ => None,
    })
}

/// Withdraws a row that has no amount: it is cancelled as it is, and keeps its identifier, so that no load brings it back.
pub(in crate::journal::sqlite) fn withdraw(
    c: &WriteSession,
    seq: PaymentId,
    moment: StepContext,
) -> Result<(), Error> {
    let (batch, service, currency): (BatchId, LaneId, String) = c
        .prepare_cached("select batch_id, service_id, currency from instruction where seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    c.prepare_cached(
        "insert into life (seq, batch_id, service_id, state, due_at, settled_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        seq,
        batch,
        service,
        state_number(State::Cancelled),
        NEVER,
        moment.now.as_millis(),
    ])?;
    c.append(&Evidence {
        batch_id: batch,
        seq,
        at: moment.now,
        kind: event_numbers(Event::Withdrawn),
        ..Evidence::default()
    })?;
    add_unpriced(c, batch, service, &currency, -1)?;
    add_to_tally(c, batch, service, &currency, State::Cancelled, 1, 0)
}

/// Withdraws every row of a batch that has no amount; returns how many.
pub(in crate::journal::sqlite) fn withdraw_all(
    c: &WriteSession,
    batch_id: BatchId,
    moment: StepContext,
    signed: &mut SignedContent,
) -> Result<u64, Error> {
    let (mut after, mut withdrawn) = (PaymentId::NONE, 0);
    loop {
        let seqs: Vec<PaymentId> = c
            .prepare_cached(
                "select seq from instruction i indexed by unpriced where batch_id = ?1 and amount is null and seq > ?2
                     and not exists (select 1 from life l where l.seq = i.seq) order by seq limit 1000",
            )?
            .query_map(params![batch_id, after], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let Some(last) = seqs.last() else {
            return Ok(withdrawn);
        };
        after = *last;
        for seq in &seqs {
            withdraw(c, *seq, moment)?;
            signed.add(id_of(c, *seq)?.as_str());
            withdrawn += 1;
        }
    }
}

/// Returns how many rows of a batch have no amount yet.
pub(in crate::journal::sqlite) fn unpriced(
    c: &Connection,
    batch_id: BatchId,
) -> Result<u64, Error> {
    Ok(c.prepare_cached(
        "select coalesce(sum(count), 0) from tally where batch_id = ?1 and state = ?2",
    )?
    .query_row(params![batch_id, UNPRICED], |row| row.get::<_, i64>(0))?
    .unsigned_abs())
}

fn declared_totals(c: &Connection, batch: &BatchName) -> Result<Vec<TotalDifference>, Error> {
    let batch_id = known_batch(c, batch)?;
    let loads: Vec<(LoadId, String, i64, String)> = c
        .prepare_cached(
            "select load_id, source, total, total_currency from load where batch_id = ?1 and total is not null order by load_id",
        )?
        .query_map([batch_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    let mut differences = Vec::new();
    for (load_id, source, minor, currency) in loads {
        let currency = currency_of(&currency)?;
        let amount = Amount::from_minor(minor).ok_or_else(|| corrupt("a total of zero"))?;
        let found = total_of(c, batch_id, load_id)?;
        let others = found.iter().any(|(other, _)| other != currency);
        if found.minor(currency) == i128::from(minor) && !others {
            continue;
        }
        // What cannot be posted any more needs no total: the rest of the batch must not wait for it.
        let can_be_posted: bool = c.query_row(
            "select exists (select 1 from instruction i left join life l on l.seq = i.seq
             where i.batch_id = ?1 and i.load_id = ?2 and i.amount is not null
                 and (l.seq is null or l.state = 0 and l.exposures = 0))",
            params![batch_id, load_id],
            |row| row.get(0),
        )?;
        if can_be_posted {
            differences.push(TotalDifference {
                source,
                expected: format!("{currency} {}", Money { amount, currency }),
                found: found.to_string(),
            });
        }
    }
    Ok(differences)
}

/// What the rows of one load add up to, those set aside included.
fn total_of(c: &Connection, batch_id: BatchId, load_id: LoadId) -> Result<Totals, Error> {
    let mut total = Totals::default();
    for sql in [
        "select currency, sum(amount) from instruction
         where batch_id = ?1 and load_id = ?2 and generation = 0 and amount is not null group by currency",
        "select currency, sum(amount) from rejected
         where batch_id = ?1 and load_id = ?2 and amount is not null group by currency",
    ] {
        let mut statement = c.prepare(sql)?;
        let mut rows = statement.query(params![batch_id, load_id])?;
        while let Some(row) = rows.next()? {
            let currency = currency_of(&row.get::<_, String>(0)?)?;
            total.add_minor(currency, i128::from(row.get::<_, i64>(1)?));
        }
    }
    Ok(total)
}
