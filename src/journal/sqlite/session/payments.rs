//! Payments as a transaction reads them.

use super::subject::Subject;
use super::transaction::WriteSession;
use crate::domain::{Money, PaymentId};
use crate::journal::sqlite::codec::values::{
    LIFE_COLUMNS, amount_of, corrupt, currency_of, life_of,
};
use crate::journal::sqlite::payments::unstarted::begin_life;
use crate::journal::{Error, Heard, Transition};

/// Reads where a payment stands; a life that has not begun begins.
pub(in crate::journal::sqlite) fn subject(
    c: &WriteSession,
    seq: PaymentId,
) -> Result<Subject, Error> {
    payment(c, seq)?.ok_or_else(|| corrupt("a payment without an amount"))
}

/// The same of a row that may have no amount, and is no payment then: `None`.
pub(in crate::journal::sqlite) fn payment(
    c: &WriteSession,
    seq: PaymentId,
) -> Result<Option<Subject>, Error> {
    if let Some(mut known) = c.recent(seq) {
        known.moved.from = known.moved.life.state;
        return Ok(Some(known));
    }
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS}, i.batch_id, i.service_id, i.amount, i.currency, l.replaced_by is not null or i.generation > 0, l.seq is null
         from instruction i left join life l on l.seq = i.seq where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    let life = life_of(row, 0)?;
    let currency = currency_of(
        row.get_ref(13)?
            .as_str()
            .map_err(|_| corrupt("a currency"))?,
    )?;
    let Some(minor) = row.get(12)? else {
        return Ok(None);
    };
    let amount = amount_of(minor)?;
    let (batch_id, lane) = (row.get(10)?, row.get(11)?);
    if row.get(15)? {
        begin_life(c, batch_id, lane, seq)?;
    }
    Ok(Some(Subject {
        batch_id,
        has_generations: row.get(14)?,
        callbacks: None,
        moved: Transition {
            seq,
            lane,
            from: life.state,
            life,
            money: Money { amount, currency },
            heard: Heard::Nothing,
        },
    }))
}
