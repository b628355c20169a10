//! Payments as a transaction reads them.

use super::members::Replaced;
use super::payment_cache::Order;
use super::subject::Subject;
use super::transaction::WriteSession;
use crate::domain::{Amount, BatchId, Currency, LaneId, Money, PaymentId};
use crate::journal::codec::values::corrupt;
use crate::journal::payments::unstarted::begin_life;
use crate::journal::{Error, Heard, Transition};
use crate::lifecycle::PaymentState;
use crate::store::tables::{instruction, life};
use crate::store::{Reads, Scan, shape};

/// Reads where a payment stands; a life that has not begun begins.
pub(in crate::journal) fn subject(c: &WriteSession, seq: PaymentId) -> Result<Subject, Error> {
    payment(c, seq)?.ok_or_else(|| corrupt("a payment without an amount"))
}

/// The same of a row that may have no amount, and is no payment then: `None`.
pub(in crate::journal) fn payment(
    c: &WriteSession,
    seq: PaymentId,
) -> Result<Option<Subject>, Error> {
    if let Some(mut known) = c.recent(seq) {
        known.moved.from = known.moved.life.state;
        return Ok(Some(known));
    }
    let ordered = match c.recent_order(seq) {
        Some(known) => known.into(),
        None => {
            let own = Scan::of(&instruction::TABLE).at(&seq);
            let ordered: Option<Ordered> = c.first(&own)?;
            ordered.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?
        }
    };
    let Some(amount) = ordered.amount else {
        return Ok(None);
    };
    let stands: Option<Replaced> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    let (batch_id, lane) = (ordered.batch_id, ordered.service_id);
    let (state, is_replaced) = match stands {
        Some(Replaced { life, later }) => (life, later.is_some()),
        None => {
            begin_life(c, batch_id, lane, seq)?;
            (PaymentState::NEW, false)
        }
    };
    let currency = ordered.currency;
    Ok(Some(Subject {
        batch_id,
        has_generations: is_replaced || ordered.generation > 0,
        callbacks: None,
        moved: Transition {
            seq,
            lane,
            from: state.state,
            life: state,
            money: Money { amount, currency },
            heard: Heard::Nothing,
        },
    }))
}

shape! {
    /// What of an instruction its payment needs to move.
    struct Ordered of instruction {
        batch_id: BatchId, service_id: LaneId, amount: Option<Amount>, currency: Currency, generation: u32,
    }
}

impl From<Order> for Ordered {
    fn from(order: Order) -> Self {
        Self {
            batch_id: order.batch_id,
            service_id: order.lane,
            amount: Some(order.money.amount),
            currency: order.money.currency,
            generation: 0,
        }
    }
}
