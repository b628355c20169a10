//! Rows on record that a row may be compared with, and where they stand.

use std::borrow::Cow;

use rusqlite::Connection;

use super::fingerprints::Entry;
use super::fingerprints::Key;
use super::fingerprints::hash_of;
use super::vouched::{Vouched, check_key, replaced_at};
use crate::domain::{Instruction, LoadId, PaymentId, Timestamp};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, Stored, stored_of};
use crate::journal::sqlite::payments::inquiries::{doubt_of, is_taken_back};
use crate::journal::sqlite::run::belongs::assert_rehearsals;
use crate::journal::sqlite::session::members::{Member, of_row, states};
use crate::journal::{Doubt, Error, RepeatPlan};
use crate::ledger::forgetting::forgotten;
use crate::ledger::generations::stands_for;
use crate::ledger::repeats::{Standing, Terms, counts};
use crate::lifecycle::{PaymentState, State};

/// States of which there is something to come, as a tally numbers them: `ready` to `delivered`, `conflict`, without an amount.
pub(in crate::journal::sqlite) const UNFINISHED: &str = "(0, 1, 2, 3, 4, 8, 9)";

/// In the place of a state that the evidence contradicts.
const EDITED: &str = "not where its evidence says";

/// Of what a person decided.
const BY_WORD: &str = "failed by the word of a person, which the gateway has not confirmed";

/// A row on record.
pub(in crate::journal::sqlite) struct Other {
    pub(in crate::journal::sqlite) seq: PaymentId,
    pub(in crate::journal::sqlite) row: Instruction<Stored>,
    pub(in crate::journal::sqlite) standing: Standing,
    /// In the word of a report, or what is to be known beyond it.
    pub(in crate::journal::sqlite) state: &'static str,
    /// It has failed by the word of a person, which the gateway has not confirmed.
    pub(in crate::journal::sqlite) by_word: bool,
    /// When it was loaded, or retried last.
    pub(in crate::journal::sqlite) newest: Timestamp,
    /// Its generations, the oldest first.
    pub(in crate::journal::sqlite) generations: Vec<PaymentId>,
}

impl Other {
    /// Returns its state to a person; what stands in the place of one is in words already.
    pub(in crate::journal::sqlite) fn state_in_words(&self) -> &'static str {
        let state = State::ALL
            .into_iter()
            .find(|state| state.name() == self.state);
        state.map_or(self.state, State::in_words)
    }

    pub(in crate::journal::sqlite) fn reference(&self) -> Option<&str> {
        self.row
            .reference
            .as_ref()
            .map(|reference| reference.as_str())
    }

    /// Returns a row as it is compared with this one: by pseudonyms, where the person of this one was forgotten.
    pub(in crate::journal::sqlite) fn counterpart<'r, M: Clone>(
        &self,
        row: &'r Instruction<M>,
        key: Key,
    ) -> Cow<'r, Instruction<M>> {
        #[cfg(test)]
        if crate::seeded_bugs::SeededBug::ForgottenIsStranger.is_active() {
            return Cow::Borrowed(row);
        }
        match self.row.msisdn.is_forgotten() {
            true => Cow::Owned(forgotten(row, |parts| key.pseudonym(parts))),
            false => Cow::Borrowed(row),
        }
    }

    /// Returns whether it had failed, and was paid anew, or is to be.
    pub(in crate::journal::sqlite) fn is_retried(&self) -> bool {
        self.generations.len() > 1
            && matches!(self.standing, Standing::Unfinished | Standing::Ended)
    }

    pub(in crate::journal::sqlite) fn counts(&self, now: Timestamp, terms: &Terms) -> bool {
        counts(self.standing, now.since(self.newest), terms)
    }
}

/// Reads a row on record; `None` when there is none: it was set aside in its load. Where it stands counts against its debt only
/// as far as its evidence says the same.
pub(in crate::journal::sqlite) fn other(
    c: &Connection,
    vouched: &Vouched,
    seq: PaymentId,
) -> Result<Option<Other>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, exists (select 1 from life l where l.seq = i.seq)
         from instruction i join service s using (service_id) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let stored = stored_of(row, 0)?;
    let loaded_at = c
        .prepare_cached(
            "select l.loaded_at from load l join instruction i using (load_id) where i.seq = ?1",
        )?
        .query_row([seq], |row| row.get(0))
        .map(Timestamp::from_millis)?;
    let loaded_at = stored.received_at.max(loaded_at);
    let (standing, state, newest, generations) = match row.get(PAYMENT_WIDTH)? {
        false => {
            let state = match stored.instruction.money.amount {
                None => "unpriced",
                Some(_) => "ready",
            };
            (Standing::Unfinished, state, loaded_at, vec![seq])
        }
        true => {
            let members = of_row(c, seq)?;
            let (standing, state) = standing_of_row(c, vouched, seq, &members)?;
            let newest = newest_of_row(c, &members, loaded_at)?;
            let generations = members.iter().map(|member| member.seq).collect();
            (standing, state, newest, generations)
        }
    };
    Ok(Some(Other {
        seq,
        row: stored.instruction,
        standing,
        state,
        by_word: state == BY_WORD,
        newest,
        generations,
    }))
}

/// What is said of a failure that another reading of replies found.
const READ_OTHERWISE: &str = "not certain to be unpaid: replies about its batch were read by another dialect than the one in force, by which it may be paid";

/// Returns where a row stands by all its generations, and the words for it.
fn standing_of_row(
    c: &Connection,
    vouched: &Vouched,
    seq: PaymentId,
    members: &[Member],
) -> Result<(Standing, &'static str), Error> {
    let mut missed = true;
    let standings: Vec<Standing> = members
        .iter()
        .map(|member| {
            let PaymentState {
                state,
                code,
                attempts,
                ..
            } = member.life;
            let taken_back = is_taken_back(c, member)?;
            missed &= !taken_back || doubt_of(c, member.seq)? == Doubt::Missed;
            #[cfg(test)]
            let taken_back =
                taken_back && !crate::seeded_bugs::SeededBug::TakenBackMayRepeat.is_active();
            Ok(match taken_back {
                true => Standing::Unfinished,
                // It has left, and that it was not paid is the gateway's word, which may change.
                false if state == State::Cancelled && attempts > 0 => Standing::Failed,
                false => Standing::of(state, code.is_some()),
            })
        })
        .collect::<Result<_, Error>>()?;
    let states = states(members);
    let has_failed = members
        .iter()
        .any(|member| member.life.state == State::Failed && member.life.code.is_some());
    let standing = match has_failed && vouched.is_read_otherwise(c, seq)? {
        true => return Ok((Standing::Unfinished, READ_OTHERWISE)),
        false => Standing::of_row(standings),
    };
    let state = states[stands_for(&states)];
    let is_unpaid = matches!(state, State::Failed | State::Cancelled);
    Ok(match standing {
        _ if is_unpaid && !vouched.stands(c, seq)? => (Standing::Unfinished, EDITED),
        Standing::Unfinished if is_unpaid && missed => (
            standing,
            "not certain to be unpaid: this journal may have missed what became of it since it ended",
        ),
        Standing::Unfinished if is_unpaid => (
            standing,
            "not certain to be unpaid: the gateway has spoken of it since it ended",
        ),
        Standing::Ended if is_unpaid => (standing, BY_WORD),
        standing => (standing, state.name()),
    })
}

/// Returns when something of a row was loaded, posted or replaced last.
fn newest_of_row(
    c: &Connection,
    members: &[Member],
    loaded_at: Timestamp,
) -> Result<Timestamp, Error> {
    let mut newest = loaded_at;
    let mut loaded = c.prepare_cached("select received_at from instruction where seq = ?1")?;
    for member in members {
        let at = loaded.query_row([member.seq], |row| row.get(0))?;
        newest = newest.max(Timestamp::from_millis(at));
        // One that waited for float or for approval is as new as its post.
        newest = member.life.posted_at.map_or(newest, |at| newest.max(at));
        if members.len() > 1 {
            newest = replaced_at(c, member.seq)?.map_or(newest, |at| newest.max(at));
        }
    }
    Ok(newest)
}

/// A load that a new row is compared with.
#[derive(Clone, Copy)]
pub(in crate::journal::sqlite) struct OnRecord {
    pub(in crate::journal::sqlite) load_id: LoadId,
    /// It came within the longest window.
    is_recent: bool,
}

impl OnRecord {
    /// Reads a row of the load, unless it says nothing any more.
    // Of an old load that something is left of, most rows ended long ago.
    pub(in crate::journal::sqlite) fn other(
        self,
        c: &Connection,
        vouched: &Vouched,
        seq: PaymentId,
    ) -> Result<Option<Other>, Error> {
        if !self.is_recent {
            let is_over: bool = c
                .prepare_cached(
                    "select exists (select 1 from life where seq = ?1 and state = 5 and replaced_by is null)
                         and not exists (select 1 from inquiry where seq = ?1)",
                )?
                .query_row([seq], |row| row.get(0))?;
            if is_over {
                return Ok(None);
            }
        }
        match other(c, vouched, seq)? {
            Some(other) => Ok(Some(other)),
            None => Err(Error::AlteredLoad {
                what: format!("load {}: a row of it is gone", self.load_id),
            }),
        }
    }
}

/// Which loads a row is compared with, beyond what is unfinished or recent.
#[derive(Clone, Copy)]
pub(in crate::journal::sqlite) enum Which {
    /// All but this one.
    Not(LoadId),
    All,
    /// With whatever came, or was retried, after this one.
    After(LoadId),
}

/// Loads that a new row is compared with: what may be unfinished, and what came, was posted or was retried within the longest window. A
/// rehearsal is none.
pub(in crate::journal::sqlite) fn loads_on_record(
    c: &Connection,
    plan: &RepeatPlan,
    (key, which): (Key, Which),
    now: Timestamp,
) -> Result<Vec<OnRecord>, Error> {
    assert_rehearsals(c)?;
    let window = i64::try_from(plan.terms.longest().as_millis()).unwrap_or(i64::MAX);
    let since = now.as_millis().saturating_sub(window);
    let none = LoadId::AFTER_ALL;
    let mut statement = c.prepare_cached(&format!(
        "select l.load_id, l.loaded_at > ?1 or l.load_id > ?2 or coalesce(b.last_claim_at, 0) > ?1
         from load l cross join batch b on b.batch_id = l.batch_id
         where l.accepted > 0 and coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0 and (
             l.loaded_at > ?1 or l.load_id > ?2 or coalesce(b.last_claim_at, 0) > ?1
             or exists (select 1 from inquiry q where q.batch_id = l.batch_id)
             or exists (select 1 from tally t where t.batch_id = l.batch_id and t.count > 0 and t.state in {UNFINISHED})
             or exists (select 1 from life r indexed by replaced cross join instruction i on i.seq = r.replaced_by
                 where r.batch_id = l.batch_id and r.replaced_by is not null and (i.received_at > ?1 or ?2 < {none})))
         order by l.load_id desc"
    ))?;
    let (own, after) = match which {
        Which::Not(own) => (Some(own), none),
        Which::All => (None, none),
        Which::After(load) => (None, load),
    };
    let loads = statement.query_map((since, after), |row| {
        Ok(OnRecord {
            load_id: row.get(0)?,
            is_recent: row.get(1)?,
        })
    })?;
    let mut loads: Vec<OnRecord> = loads.collect::<Result<_, _>>()?;
    loads.retain(|load| Some(load.load_id) != own);
    for load in &loads {
        check_key(c, key, load.load_id)?;
    }
    Ok(loads)
}

/// Refuses a row on record that is not the one that was loaded.
pub(in crate::journal::sqlite) fn check_row(
    key: Key,
    entry: Entry,
    other: &Other,
) -> Result<(), Error> {
    // Of a row whose person was forgotten the fingerprint alone is left.
    if other.row.msisdn.is_forgotten() {
        return Ok(());
    }
    let hashes = key.hashes(&other.row, other.row.money.written());
    match hashes.contains(&hash_of(entry)) {
        true => Ok(()),
        false => Err(Error::AlteredLoad {
            what: format!(
                "line {}, reference {:?}: it is not as it was loaded",
                other.row.line,
                other.reference().unwrap_or_default()
            ),
        }),
    }
}

/// The day of a load, as a person compares it with a calendar.
pub(in crate::journal::sqlite) fn day(at: Timestamp) -> String {
    let text = at.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
