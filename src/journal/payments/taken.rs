//! Identifiers that the gateway had before our first post: what it says of them is about ours only if it names ours.

use crate::journal::Error;
use crate::journal::codec::events::event_numbers;
use crate::journal::codec::lives::save_life;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::lifecycle::{Anomaly, Class, Event, Policy, State, Step, StepContext, step};
use crate::store::tables::life;
use crate::store::{Scan, Writes};

/// Notes, before words are applied, that they name our amount and our number.
pub(in crate::journal) fn recognise(
    c: &WriteSession,
    subject: &mut Subject,
    is_ours: bool,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let life = &subject.moved.life;
    if is_ours && life.taken && life.state == State::InDoubt {
        note(c, subject, Event::Recognised, moment, policy)?;
    }
    Ok(())
}

/// Leaves a payment to a person when nothing more is to be heard of it.
pub(in crate::journal) fn conclude_taken(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
    let life = &subject.moved.life;
    if life.taken && life.state == State::InDoubt && life.due_at.is_none() {
        return note(c, subject, Event::NotOurs, moment, policy);
    }
    Ok(None)
}

/// The same after words that name another amount or number: where they tell an end, it is somebody else's.
pub(in crate::journal) fn conclude_other(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    moment: StepContext,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
    let tells_an_end = match event {
        Event::Answer(verdict) => {
            matches!(verdict.class, Class::Paid | Class::Failed | Class::Refused)
        }
        _ => false,
    };
    let life = &subject.moved.life;
    if tells_an_end && life.taken && life.state == State::InDoubt {
        return note(c, subject, Event::NotOurs, moment, policy);
    }
    conclude_taken(c, subject, moment, policy)
}

fn note(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    moment: StepContext,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
    let Step {
        life: stands,
        anomaly,
    } = step(&subject.moved.life, event, moment, policy);
    let ended = stands.state.is_finished();
    save_life(c, subject.moved.seq, &stands, true)?;
    if ended {
        let own = Scan::of(&life::TABLE).at(&subject.moved.seq);
        c.set(&own, life::settled_at, &moment.now)?;
    }
    subject.moved.life = stands;
    c.remember(subject);
    let note = anomaly.map(|anomaly| anomaly.to_string());
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at: moment.now,
        kind: event_numbers(event),
        anomaly: note.as_deref(),
        policy: Some(policy),
        ..Evidence::default()
    })?;
    Ok(anomaly)
}
