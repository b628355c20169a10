//! A journal that may have missed something: noticed when it is opened, presumed posted, asked, and declared done.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::given_orders::lost_orders;
use super::lost_orders::Touched;
use super::noticed::{open_ones, open_recovery};
use super::on_chain;
use super::presume::{each, move_by};
use super::presumed::presumptions;
use super::when_done;
use crate::domain::{BatchId, BatchName, PaymentId, RecoveryId, Timestamp};
use crate::journal::Journal;
use crate::journal::Reader;
use crate::journal::codec::catalog::batches;
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::{
    MONEY_LEFT, NOTED_CALLBACK, OTHER_REPLY, RECOVERY_DONE, RELEASED, class_number,
};
use crate::journal::operator::pages::Pages;
use crate::journal::operator::withdrawal;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Missed, Recovery};
use crate::ledger::recovery::{NotDone, may_be_done, may_be_released};
use crate::lifecycle::{Class, Policy, RecordedEvent, State, StepContext, fold};
use crate::store::tables::{evidence, recovery};
use crate::store::{Read, Reads, Scan, Test, Writes, shape};

impl Journal {
    /// Returns the recovery under way; `None`: the journal is what its place has seen last.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn recovery(&self) -> Result<Option<Recovery>, Error> {
        self.ask_again(CommitMode::Shared, |c| open_recovery(c))
            .await
    }

    /// Declares the recovery done: from now on, what is loaded is posted first.
    ///
    /// # Errors
    /// [`Error::NoRecovery`], [`Error::Unasked`].
    pub async fn recovered(&self, now: Timestamp) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            assert_done(c)?;
            end_recovery(c, None, now)
        })
        .await
    }

    /// Checks that the recovery may be declared done, so that nobody is asked about it in vain.
    ///
    /// # Errors
    /// As [`Self::recovered`].
    pub async fn assert_recovery_done(&self) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, |c| assert_done(c)).await
    }

    /// Returns what speaks against it that nothing has run since a copy was made; `None`: nothing does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn ran_since(&self) -> Result<Option<String>, Error> {
        self.ask_again(CommitMode::Shared, |c| ran_since(c)).await
    }

    /// Takes a person's word that nothing has run since the copy was made: what only the presumption made doubtful is ready
    /// again, of one batch or of all; for all, the recovery is done. Returns how many payments.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::NoRecovery`]; [`Error::SomethingRan`] where mark or lock file say otherwise.
    pub async fn nothing_ran_since(
        &self,
        batch: Option<BatchName>,
        reason: String,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.ask(move |c| {
            on_chain::assert_as_recorded(c)?;
            assert_nothing_ran(c)?;
            if let Some(batch) = batch {
                return release(c, known_batch(c, &batch)?, &reason, now);
            }
            if open_recovery(c)?.is_none() {
                return Err(Error::NoRecovery);
            }
            let mut released = 0;
            for batch_id in batches(c)? {
                released += release(c, batch_id, &reason, now)?;
            }
            end_recovery(c, Some(&reason), now)?;
            Ok(released)
        })
        .await
    }
}

impl Reader {
    /// Returns what speaks against it that nothing has run since a copy was made; `None`: nothing does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn ran_since(&self) -> Result<Option<String>, Error> {
        ran_since(self.store())
    }

    /// Returns what the journal may have missed; `None`: it is what its place has seen last.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn missed(&self) -> Result<Option<Missed>, Error> {
        let open = open_recovery(self.store())?;
        // What nobody has opened for writing yet is noticed by whoever does.
        let noticed = self.judged()?.and_then(|(_, verdict, _)| verdict.cause());
        let noticed = noticed.map(|cause| Missed { cause, since: None });
        Ok(noticed.or(open.map(|recovery| Missed {
            cause: recovery.cause,
            since: Some(recovery.since),
        })))
    }
}

fn assert_done(c: &WriteSession) -> Result<(), Error> {
    on_chain::assert_as_recorded(c)?;
    let mut unasked = 0;
    for batch in presumptions(c)? {
        unasked += batch.left_to_ask();
    }
    may_be_done(open_recovery(c)?.is_some(), unasked, lost_orders(c)?).map_err(|why| match why {
        NotDone::NotOpen => Error::NoRecovery,
        NotDone::Unasked(payments) => Error::Unasked { payments },
        NotDone::OrdersLost(lost) => Error::OrdersLost { lost },
    })
}

/// Makes ready again what only the presumption made doubtful; returns how many payments.
fn release(
    c: &WriteSession,
    batch_id: BatchId,
    reason: &str,
    now: Timestamp,
) -> Result<u64, Error> {
    c.mark(batch_id);
    let mut touched = Touched::default();
    let detail = json!({"reason": reason}).to_string();
    c.flush()?;
    let pages = Pages::of(c, batch_id, &[State::InDoubt])?;
    let doubtful = |after| pages.behind(c, after, |life| Ok(life.attempts == 0));
    let released = each(c, doubtful, |c, seq| {
        let mut doubtful = subject(c, seq)?;
        let from = doubtful.moved.from;
        if !may_be_released(&doubtful.moved.life, is_spoken_of(c, seq)?) {
            return Ok(false);
        }
        doubtful.moved.life = fold(
            &doubtful.moved.life,
            RecordedEvent::Released,
            now,
            &Policy::default(),
        );
        move_by(c, seq, doubtful, from, RELEASED, Some(&detail), now)?;
        c.flush()?;
        withdrawal::carry_out(c, &mut subject(c, seq)?, StepContext { now, jitter: 0 })?;
        touched.signed().add(id_of(c, seq)?.as_str());
        Ok(true)
    })?;
    let place = (batch_id, now);
    let act = "recover --nothing-ran-since";
    c.act_upon(place, act, Value::Null, &touched, Some(reason))?;
    Ok(released)
}

shape! {
    /// What was said of a payment.
    struct Said of evidence { event: i64, class: Option<i64> }
}

/// Kinds of evidence: the reply to a post, a status reply, a callback.
const REPLIED: i64 = 5;
const ANSWERED: i64 = 6;
const CALLED: i64 = 8;
/// The last of the kinds that are kept for words about another payment.
const OTHERS_LAST: i64 = OTHER_REPLY + 9;

/// Returns whether the gateway has ever spoken of a payment, by a reply, a callback, or any status reply but "not found"; or a statement,
/// which shows that its money left.
fn is_spoken_of(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let not_found = class_number(Class::NotFound);
    let mut is_spoken_of = false;
    let all = Scan::by(&evidence::evidence_by_payment).at(&seq);
    c.each_until(&all, |said: Said| {
        is_spoken_of = match said.event {
            REPLIED | CALLED | NOTED_CALLBACK | MONEY_LEFT | OTHER_REPLY..=OTHERS_LAST => true,
            ANSWERED => said.class.is_some_and(|class| class != not_found),
            _ => false,
        };
        Ok::<_, Error>(match is_spoken_of {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(is_spoken_of)
}

shape! {
    /// How a recovery ends.
    struct Done of recovery { done_at: Timestamp, reason: Option<String> }
}

fn end_recovery(c: &WriteSession, reason: Option<&str>, now: Timestamp) -> Result<(), Error> {
    for batch_id in batches(c)? {
        c.mark(batch_id);
        c.acted(batch_id, now, "recover --done", Value::Null)?;
    }
    let done = Done {
        done_at: now,
        reason: reason.map(str::to_owned),
    };
    c.change(&open_ones(), &done)?;
    when_done::let_go(c)?;
    c.forget_recent();
    if let Some(reason) = reason {
        // Nobody gave an order either, but for those that are known of.
        let none_known = Scan::of(&recovery::TABLE)
            .only(recovery::orders_lost, Test::is(&0_i64))
            .only(recovery::orders_unknown, Test::is(&true))
            .only(recovery::orders_reason, Test::Absent);
        c.set(&none_known, recovery::orders_reason, &reason)?;
    }
    let detail = match reason {
        Some(reason) => json!({"nothing ran since": reason}),
        None => json!({}),
    };
    on_chain::tell(c, RECOVERY_DONE, detail, now)
}

/// Refuses a person's word that nothing has run, where what lay beside the journal said otherwise when its recovery began.
fn assert_nothing_ran(c: &dyn Read) -> Result<(), Error> {
    match ran_since(c)? {
        Some(what) => Err(Error::SomethingRan { what }),
        None => Ok(()),
    }
}

shape! {
    /// What lay beside the journal when a recovery began.
    struct Ran of recovery { recovery_id: RecoveryId, done_at: Option<Timestamp>, ran_since: String }
}

/// Returns what lay beside the journal when its recovery began, and speaks of more than the journal knows.
fn ran_since(c: &dyn Read) -> Result<Option<String>, Error> {
    let newest = Scan::of(&recovery::TABLE).descending();
    let newest: Option<RecoveryId> = c.value(&newest, recovery::recovery_id)?;
    let told = Scan::of(&recovery::TABLE).only(recovery::ran_since, Test::Present);
    let mut said = Vec::new();
    c.each(&told, |told: Ran| {
        if told.done_at.is_none() || Some(told.recovery_id) == newest {
            said.push(told.ran_since);
        }
        Ok::<_, Error>(())
    })?;
    Ok((!said.is_empty()).then(|| said.join("; ")))
}
