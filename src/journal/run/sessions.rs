//! Runs of several hosts on one journal: each has a session, which is what the lock of a file is to one that has the journal alone.
//!
//! A session is a lease by the clock of the store. A run renews it with its look each second, and stops to post when it could not;
//! any other run closes one whose lease is over, and what that one had claimed without an outcome is in doubt from then on. A number
//! of a session is never given again, and a session that was closed stays closed.

use std::time::Duration;

use super::session_claims::{claimed_by, forget_claims};
use crate::domain::{BatchId, Epoch, ResponseDetails, Timestamp};
use crate::journal::payments::apply::apply;
use crate::journal::payments::generations;
use crate::journal::run::restart::count_anew;
use crate::journal::session::expected::in_turn;
use crate::journal::session::fence::is_open;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::session::watched_clock::{Seen, Turn, is_set_back, may_have_been_set};
use crate::journal::writer::commit::PATIENCE;
use crate::journal::{Error, RunToken, Runner, RunnerRecord};
use crate::lifecycle::{Event, Policy, State, StepContext};
use crate::store::tables::{batch, session};
use crate::store::{Read, Reads, Scan, Test, Transact, Writes, shape};

/// How long a run may post without a word of the store.
pub const LEASE: Duration = Duration::from_secs(10);
/// A run that could not renew its lease for so much longer has ended by itself.
const GONE: Duration = Duration::from_secs(30).saturating_add(PATIENCE);

shape! {
    struct Begun of session {
        session_id: Epoch, batch_id: BatchId, host: String, runner: String, release: String, gateway: String, account: String,
        rate: u32, query_rate: u32, quarantine: u64, began_at: Timestamp, lease_until: Timestamp,
    }
}
shape! {
    struct Beside of session { host: String, runner: String, quarantine: u64 }
}
shape! {
    struct Open of session { session_id: Epoch, lease_until: Timestamp }
}
shape! {
    struct AtWork of session { session_id: Epoch, host: String, runner: String, lease_until: Timestamp }
}
shape! {
    struct Asking of session { host: String, runner: String, query_rate: u32, lease_until: Timestamp }
}
shape! {
    struct Before of session { gateway: String, account: String, query_rate: u32, lease_until: Timestamp }
}
shape! {
    struct Home of batch { gateway: Option<String>, account: Option<String> }
}

/// Begins the session of a run that has taken its batch.
pub(in crate::journal) fn begin(
    c: &WriteSession,
    (batch_id, session_id): (BatchId, Epoch),
    runner: &Runner,
    policy: &Policy,
) -> Result<(), Error> {
    let now = c.store_time()?;
    let quarantine = millis(policy.not_found_quarantine);
    assert_one_quarantine(c, batch_id, quarantine)?;
    let home: Option<Home> = c.first(&Scan::of(&batch::TABLE).at(&batch_id))?;
    let (gateway, account) = home.map_or((None, None), |home| (home.gateway, home.account));
    let (gateway, account) = (gateway.unwrap_or_default(), account.unwrap_or_default());
    assert_one_sharing(c, (&gateway, &account), runner.query_rate, now)?;
    c.insert(&Begun {
        session_id,
        batch_id,
        host: runner.host.clone(),
        runner: runner.name.clone(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        gateway,
        account,
        rate: runner.rate,
        query_rate: runner.query_rate,
        quarantine,
        began_at: now,
        lease_until: now.after(LEASE),
    })?;
    Ok(())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses a run beside others that wait longer, or less long, until "not found" counts: any of them may hear it of a payment of any other.
fn assert_one_quarantine(c: &WriteSession, batch_id: BatchId, ours: u64) -> Result<(), Error> {
    let others = Scan::by(&session::session_open)
        .at(&batch_id)
        .only(session::quarantine, Test::is_not(&ours));
    match c.first::<Beside>(&others)? {
        None => Ok(()),
        Some(other) => Err(Error::OtherQuarantine {
            runner: other.runner,
            host: other.host,
            theirs: Duration::from_millis(other.quarantine),
            ours: Duration::from_millis(ours),
        }),
    }
}

/// Refuses a run beside others of its account that ask within the limit of posts where it does not, or the other way round.
fn assert_one_sharing(
    c: &WriteSession,
    (gateway, account): (&String, &String),
    ours: u32,
    now: Timestamp,
) -> Result<(), Error> {
    let asks_within_posts = |query_rate: u32| query_rate == 0;
    let open = Scan::by(&session::session_of_account)
        .at(gateway)
        .at(account);
    let other = c.list::<Asking>(&open)?.into_iter().find(|other| {
        now.since(other.lease_until) < LEASE
            && asks_within_posts(other.query_rate) != asks_within_posts(ours)
    });
    match other {
        None => Ok(()),
        Some(other) => Err(Error::OtherSharing {
            runner: other.runner,
            host: other.host,
            is_shared_there: asks_within_posts(other.query_rate),
        }),
    }
}

/// Refuses to change where a batch is posted, or how replies about it are read, while another run of it may be at work: it would go on
/// as before, and each run would take the other's "not found" for its own. A run that has not been heard from for two leases is over.
pub(in crate::journal) fn assert_alone(c: &WriteSession, batch_id: BatchId) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let now = c.store_time()?;
    let open: Vec<AtWork> = c.list(&Scan::by(&session::session_open).at(&batch_id))?;
    for other in open {
        if now.since(other.lease_until) < LEASE {
            return Err(Error::Held {
                holder: format!("the run {} on {}", other.runner, other.host),
            });
        }
        // What it had claimed is in doubt once a run takes the batch.
        let own = Scan::of(&session::TABLE).at(&other.session_id);
        c.set(&own, session::closed_at, &now)?;
    }
    Ok(())
}

/// Returns whether the clock of the store was set since a run of this process began. Then the doubts of its batch wait from the start
/// again, as no quarantine is over because somebody set a clock, and its session ends: it counts from another time than a run that begins
/// now, and would take the other's posts for older, or younger, than they are.
pub(in crate::journal) fn clock_was_set(
    c: &WriteSession,
    token: RunToken,
    turn: Turn,
) -> Result<bool, Error> {
    if !c.is_shared() {
        return Ok(false);
    }
    let now = c.store_time()?;
    let policy = match c.watched_clock(token.epoch, |clock| clock.look(now, turn)) {
        Some(Seen::Set(policy)) => policy,
        Some(Seen::WasSet) => return Ok(true),
        Some(Seen::Right) | None => return Ok(false),
    };
    tracing::warn!(
        "the clock of the journal's server was set; payments in doubt wait from the start again, and the run ends"
    );
    if is_open(c, token)? {
        close(c, (token.batch_id, token.epoch), now, &policy)?;
    }
    c.flush()?;
    count_anew(c, token.batch_id, now, &policy)?;
    Ok(true)
}

/// Returns whether a run of any batch is at work on a store that several machines share.
pub(in crate::journal) fn is_any_at_work(c: &dyn Transact) -> Result<bool, Error> {
    if !c.is_shared() {
        return Ok(false);
    }
    let now = c.now()?;
    let open = Scan::by(&session::session_open);
    Ok(c.any(&open.only(session::lease_until, Test::at_least(&now)))?)
}

/// Returns whether the lease of another run of a batch shows that the clock may have been set, and nobody has looked yet; or that run is gone.
pub(in crate::journal) fn may_clock_have_been_set(
    c: &dyn Read,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<bool, Error> {
    let open: Vec<Open> = c.list(&Scan::by(&session::session_open).at(&batch_id))?;
    let mut leases = open.iter().map(|open| open.lease_until);
    Ok(leases.any(|until| may_have_been_set(until, LEASE, now)))
}

fn own(token: &RunToken) -> Scan<'_> {
    Scan::of(&session::TABLE).at(&token.epoch)
}

/// Gives a session that is open another lease. One that stood still for longer than its lease may have been passed over meanwhile by others
/// that must not be at work beside it.
pub(in crate::journal) fn renew(c: &WriteSession, token: RunToken) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let now = c.store_time()?;
    if let Some(before) = c.first::<Before>(&own(&token))?
        && before.lease_until < now
    {
        let of = (&before.gateway, &before.account);
        assert_one_sharing(c, of, before.query_rate, now)?;
    }
    c.set(&own(&token), session::lease_until, &now.after(LEASE))?;
    Ok(())
}

/// Returns whether another run has an open session of the batch.
pub(in crate::journal) fn are_others(c: &dyn Read, token: RunToken) -> Result<bool, Error> {
    let others = Scan::by(&session::session_open)
        .at(&token.batch_id)
        .only(session::session_id, Test::is_not(&token.epoch));
    Ok(c.any(&others)?)
}

/// Closes the sessions of a batch whose lease is over, and puts what they had claimed in doubt; returns how many payments that is.
///
/// Whoever is alive may have waited for its turn as long as this transaction did, or may not have reached the store for as long as this
/// process did not: it has a lease's time to be heard of again.
pub(in crate::journal) fn close_expired(
    c: &WriteSession,
    batch_id: BatchId,
    policy: &Policy,
) -> Result<u64, Error> {
    let now = planted!(journal::time_of_leases(c.store_time()?));
    let open: Vec<Open> = c.list(&Scan::by(&session::session_open).at(&batch_id))?;
    let mut abandoned = 0;
    let reached = now.since(c.reached_since(now));
    // No lease lasts longer: the clock was set back since, and nobody would be heard of before it is there again.
    for ahead in open
        .iter()
        .filter(|open| is_set_back(open.lease_until, LEASE, now))
    {
        let own = Scan::of(&session::TABLE).at(&ahead.session_id);
        c.set(&own, session::lease_until, &now.after(LEASE))?;
    }
    let is_over = |open: &Open| {
        let expired = now.since(open.lease_until);
        let may_be_heard_of = c.waited().max(LEASE.saturating_sub(reached));
        open.lease_until < now && (expired > may_be_heard_of || expired >= GONE)
    };
    for Open { session_id, .. } in open.into_iter().filter(is_over) {
        tracing::warn!(
            session = session_id.get(),
            "another run of the batch is no longer heard from; the gateway is asked about what it had under way"
        );
        abandoned += close(c, (batch_id, session_id), now, policy)?;
    }
    Ok(abandoned)
}

/// Closes all sessions, of whatever batch. What they had claimed is in doubt once a batch is taken anew: then nobody else has it.
pub(in crate::journal) fn close_all(c: &WriteSession, now: Timestamp) -> Result<(), Error> {
    let open = Scan::of(&session::TABLE).only(session::closed_at, Test::Absent);
    c.set(&open, session::closed_at, &now)?;
    Ok(())
}

/// Closes the session of a run that has ended.
pub(in crate::journal) fn leave(
    c: &WriteSession,
    token: RunToken,
    policy: &Policy,
) -> Result<u64, Error> {
    if !c.is_shared() || !is_open(c, token)? {
        return Ok(0);
    }
    let now = c.store_time()?;
    close(c, (token.batch_id, token.epoch), now, policy)
}

/// Puts what a run has claimed without an outcome in doubt, and leaves its session open.
pub(in crate::journal) fn abandon(
    c: &WriteSession,
    token: RunToken,
    policy: &Policy,
) -> Result<u64, Error> {
    let now = c.store_time()?;
    doubt(c, (token.batch_id, token.epoch), now, policy)
}

fn close(
    c: &WriteSession,
    of: (BatchId, Epoch),
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    c.set(
        &Scan::of(&session::TABLE).at(&of.1),
        session::closed_at,
        &now,
    )?;
    doubt(c, of, now, policy)
}

fn doubt(
    c: &WriteSession,
    (batch_id, session_id): (BatchId, Epoch),
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    c.mark(batch_id);
    let seqs = claimed_by(c, session_id)?;
    for seq in in_turn(&**c, &seqs) {
        let seq = seq?;
        let mut subject = subject(c, seq)?;
        let now = planted!(journal::doubted_at(now, subject.moved.life.posted_at));
        let moment = StepContext { now, jitter: 0 };
        let nothing = ResponseDetails::default();
        apply(c, &mut subject, Event::Abandoned, &nothing, moment, policy)?;
        c.moved(&subject, State::Posting)?;
        generations::settle(c, &mut subject, moment, Some(policy))?;
    }
    forget_claims(c, session_id)?;
    Ok(seqs.len() as u64)
}

shape! {
    struct Shown of session {
        session_id: Epoch, host: String, runner: String, release: String, rate: u32, query_rate: u32, began_at: Timestamp,
        lease_until: Timestamp,
    }
}

/// Returns the runs of a batch that are under way.
pub(in crate::journal) fn runners(
    c: &dyn Transact,
    batch_id: BatchId,
) -> Result<Vec<RunnerRecord>, Error> {
    if !c.is_shared() {
        return Ok(Vec::new());
    }
    let now = c.now()?;
    let open: Vec<Shown> = c.list(&Scan::by(&session::session_open).at(&batch_id))?;
    let record = |shown: Shown| {
        let under_way = claimed_by(c, shown.session_id)?.len() as u64;
        Ok(RunnerRecord {
            runner: Runner {
                host: shown.host,
                name: shown.runner,
                rate: shown.rate,
                query_rate: shown.query_rate,
            },
            release: shown.release,
            began_at: shown.began_at,
            lease_until: shown.lease_until,
            is_expired: shown.lease_until < now,
            under_way,
        })
    };
    open.into_iter().map(record).collect()
}

#[cfg(test)]
mod tests;
