//! An event that stands for itself, written: an order of a person, or the word of a statement.

use crate::domain::Timestamp;
use crate::journal::Error;
use crate::journal::codec::events::event_numbers;
use crate::journal::codec::lives::save_life;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::lifecycle::{Event, PaymentState};
use crate::store::tables::life;
use crate::store::{Scan, Writes};

/// Writes an event, and what it makes of a payment. The tally is the caller's.
pub(in crate::journal) fn write_event(
    c: &WriteSession,
    subject: &mut Subject,
    after: PaymentState,
    event: Event,
    detail: Option<&str>,
    at: Timestamp,
) -> Result<(), Error> {
    let seq = subject.moved.seq;
    if after.state != subject.moved.life.state {
        save_life(c, seq, &after, true)?;
        let own = Scan::of(&life::TABLE).at(&seq);
        c.set(&own, life::settled_at, &at)?;
    }
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq,
        at,
        kind: event_numbers(event),
        detail,
        ..Evidence::default()
    })?;
    subject.moved.life = after;
    c.remember(subject);
    Ok(())
}
