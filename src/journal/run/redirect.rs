//! A batch of which nothing can be anywhere, sent elsewhere by order.

use serde_json::json;

use super::belongs::assert_as_recorded;
use super::destination::{place, record};
use super::gateway_moved::tie_anew;
use super::pin::{assert_nothing_was_edited, assert_purpose, take};
use super::pinned::{documents_there, lives, may_be_there};
use super::sessions;
use super::witnesses::is_told_of;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::codec::catalog::{account, known_batch, of_batch};
use crate::journal::codec::events::ACCOUNT_TAKEN;
use crate::journal::recovery::payers;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, GatewayMoved, Journal, Redirection};
use crate::ledger::Purpose;
use crate::ledger::pin::Destination;
use crate::lifecycle::{PaymentState, State};
use crate::store::Read;
use crate::store::tables::batch;

impl Journal {
    /// Sends a batch elsewhere of which nothing can be anywhere. Returns where it was to go, and how many payments of it were posted there
    /// and ended by people: nobody can be asked about them any more.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::OtherDestination`] when something of it may be there, or the order does not name all that is
    /// another one; [`Error::DocumentsElsewhere`], [`Error::AwaitedElsewhere`]; [`Error::PayerElsewhere`] and [`Error::PayerUnknown`] as in [`Journal::pin`].
    pub async fn redirect(
        &self,
        batch: BatchName,
        order: Redirection,
        now: Timestamp,
    ) -> Result<(Option<Destination>, u64), Error> {
        self.ask_again(CommitMode::Alone, move |c| redirect(c, &batch, &order, now))
            .await
    }
}

pub(super) fn redirect(
    c: &WriteSession,
    batch: &BatchName,
    order: &Redirection,
    now: Timestamp,
) -> Result<(Option<Destination>, u64), Error> {
    let (batch_id, home) = (known_batch(c, batch)?, &order.home);
    assert_as_recorded(c, batch_id, batch)?;
    assert_purpose(c, batch, Purpose::of_gateway(&home.gateway))?;
    sessions::assert_alone(c, batch_id)?;
    let Some(from) = place(c, batch_id)? else {
        return Ok((None, 0));
    };
    let to = Destination {
        gateway: match order.gateway {
            true => home.gateway.clone(),
            false => from.gateway.clone(),
        },
        user: match order.account {
            true => home.destination().user,
            false => from.user.clone(),
        },
        profile: home.profile.clone(),
    };
    if may_be_there(c, batch_id)? || !to.is(&home.destination()) {
        return Err(Error::OtherDestination {
            batch: batch.clone(),
            meant: Box::new(from),
            configured: Box::new(home.destination()),
        });
    }
    assert_nothing_was_edited(c, batch_id, batch)?;
    assert_no_documents(c, (batch_id, batch), &from)?;
    assert_none_waits(c, (batch_id, batch), &from)?;
    payers::assert_known(c, batch_id, batch, home)?;
    let why = Some(order.reason.as_str());
    if to.gateway != from.gateway {
        c.act(
            batch_id,
            now,
            "gateway-moved",
            to.gateway.as_str().into(),
            why,
        )?;
        let tied: Option<String> = of_batch(c, batch_id, batch::gateway)?;
        if let Some(tied) = tied {
            let order = GatewayMoved {
                from: tied,
                to: to.gateway.clone(),
                witness: None,
                profile: home.profile.clone(),
                reason: order.reason.clone(),
            };
            tie_anew(c, batch_id, &order, now)?;
        }
    }
    if to.user != from.user {
        c.act(batch_id, now, "account-moved", to.user.as_str().into(), why)?;
    }
    if let Some(before) = account(c, batch_id)?.filter(|on_record| *on_record != to.user) {
        let detail = json!({"account": to.user, "before": before});
        take(c, batch_id, &to.user, ACCOUNT_TAKEN, &detail, now)?;
    }
    record(c, batch_id, (&to, why), true, now)?;
    let was_posted = |life: &PaymentState| life.attempts > 0 && life.is_exposed();
    let decided = lives(c, batch_id, usize::MAX, was_posted)?.len();
    Ok((Some(from), decided as u64))
}

/// Refuses a batch of which the place that it was to go to has payments that it had no float for: it may pay them yet, by their
/// identifiers, which it would share with the other place. So it may tell of its own as if of that one's.
fn assert_none_waits(
    c: &dyn Read,
    (batch_id, batch): (BatchId, &BatchName),
    from: &Destination,
) -> Result<(), Error> {
    let is_ready = |life: &PaymentState| life.state == State::Ready;
    let mut count = 0;
    for seq in lives(c, batch_id, usize::MAX, is_ready)? {
        count += u64::from(is_told_of(c, seq, None)?);
    }
    match count {
        0 => Ok(()),
        count => Err(Error::AwaitedElsewhere {
            batch: batch.clone(),
            count,
            at: Box::new(from.clone()),
        }),
    }
}

/// Refuses a batch whose documents the place has that it was to go to: their references mean nothing elsewhere, or another document.
fn assert_no_documents(
    c: &dyn Read,
    (batch_id, batch): (BatchId, &BatchName),
    from: &Destination,
) -> Result<(), Error> {
    match documents_there(c, batch_id)? {
        0 => Ok(()),
        count => Err(Error::DocumentsElsewhere {
            batch: batch.clone(),
            count,
            at: Box::new(from.clone()),
        }),
    }
}
