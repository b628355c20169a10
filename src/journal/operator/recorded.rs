//! What is recorded of an order, and what has to be so before one is given.

use crate::domain::{BatchId, Currency, LaneId, PaymentId};
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::values::corrupt;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::session::ordered::SignedContent;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::check_generations;
use crate::journal::{Error, Transition};
use crate::lifecycle::{State, StepContext};
use crate::store::tables::{batch, instruction};
use crate::store::{Read, Reads, Scan, Shape, shape};

shape! {
    /// What a payment comes to.
    struct Worth of instruction { amount: Option<i64>, currency: Currency }
}
shape! {
    /// A payment by its name, and its batch.
    struct Named of instruction { batch_id: BatchId, identifier: String }
}

fn row_of<S: Shape>(c: &dyn Read, seq: PaymentId) -> Result<S, Error> {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}

/// Takes in what a payment comes to that is ordered about.
pub(super) fn worth(c: &dyn Read, seq: PaymentId, signed: &mut SignedContent) -> Result<(), Error> {
    let worth: Worth = row_of(c, seq)?;
    if let Some(minor) = worth.amount {
        signed.worth(worth.currency, minor);
    }
    Ok(())
}

/// Says as what a payment stood that is decided: once the gateway has accepted it, or it was posted again, it is another decision.
pub(in crate::journal) fn stood(moved: &Transition) -> String {
    let stood = match moved.from {
        // Asking moves it to and fro.
        State::Ready | State::Posting | State::InDoubt => "outcome unknown",
        other => other.in_words(),
    };
    match moved.life.attempts {
        1 => format!("{stood}, posted once"),
        posts => format!("{stood}, posted {posts} times"),
    }
}

/// Records who gave an order about one payment, and why, where the order says it.
pub(in crate::journal) fn acted_on(
    c: &WriteSession,
    seq: PaymentId,
    (act, what): (&'static str, &str),
    (reason, told): (Option<&str>, String),
    moment: StepContext,
) -> Result<(), Error> {
    let named: Named = row_of(c, seq)?;
    let (batch_id, id) = (named.batch_id, named.identifier);
    let mut touched = Touched::one(&id, what);
    worth(c, seq, touched.signed())?;
    touched.signed().tell(told);
    c.act_upon((batch_id, moment.now), act, id.into(), &touched, reason)
}

/// Refuses a row whose generations are not as the evidence has them: an order would put its seal on an edit.
pub(super) fn assert_as_recorded(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    seq: PaymentId,
) -> Result<(), Error> {
    match check_generations(c, of_lane, seq)? {
        None => Ok(()),
        Some(what) => {
            let batch = of_batch(c, of_lane.0, batch::name)?;
            Err(Error::AlteredRow { batch, what })
        }
    }
}
