//! What is recorded of an order, and what has to be so before one is given.

use rusqlite::Connection;

use crate::domain::{BatchId, BatchName, Currency, LaneId, PaymentId};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::recovery::lost_orders::Touched;
use crate::journal::sqlite::session::ordered::SignedContent;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::verify::checks::check_generations;
use crate::journal::{Error, Transition};
use crate::lifecycle::{State, StepContext};

/// Takes in what a payment comes to that is ordered about.
pub(super) fn worth(
    c: &Connection,
    seq: PaymentId,
    signed: &mut SignedContent,
) -> Result<(), Error> {
    let (minor, code): (Option<i64>, String) = c
        .prepare_cached("select amount, currency from instruction where seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let currency = Currency::from_code(&code).ok_or_else(|| corrupt("a currency"))?;
    if let Some(minor) = minor {
        signed.worth(currency, minor);
    }
    Ok(())
}

/// Says as what a payment stood that is decided: once the gateway has accepted it, or it was posted again, it is another decision.
pub(in crate::journal::sqlite) fn stood(moved: &Transition) -> String {
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
pub(in crate::journal::sqlite) fn acted_on(
    c: &WriteSession,
    seq: PaymentId,
    (act, what): (&'static str, &str),
    (reason, told): (Option<&str>, String),
    moment: StepContext,
) -> Result<(), Error> {
    let (batch_id, id): (BatchId, String) = c
        .prepare_cached("select batch_id, identifier from instruction where seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
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
            let name: String = c
                .prepare_cached("select name from batch where batch_id = ?1")?
                .query_row([of_lane.0], |row| row.get(0))?;
            let batch = BatchName::parse(&name).map_err(|_| corrupt("the name of a batch"))?;
            Err(Error::AlteredRow { batch, what })
        }
    }
}
