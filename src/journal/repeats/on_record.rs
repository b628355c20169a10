//! Rows on record that a row may be compared with, and where they stand.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::fingerprints::Entry;
use super::fingerprints::Key;
use super::fingerprints::hash_of;
use super::vouched::{Vouched, check_key, replaced_at};
use crate::domain::{BatchId, Instruction, LoadId, PaymentId, Timestamp};
use crate::journal::codec::catalog::of_payment;
use crate::journal::codec::events::{is_heard, is_of_nothing};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{Stored, corrupt};
use crate::journal::payments::answered::{ReadBy, was_answered};
use crate::journal::payments::inquiries::{doubt_of, is_taken_back};
use crate::journal::run::belongs::assert_rehearsals;
use crate::journal::session::members::{Member, of_row};
use crate::journal::{Doubt, Error, RepeatPlan};
use crate::ledger::Purpose;
use crate::ledger::forgetting::forgotten;
use crate::ledger::repeats::{Generation, History, Standing, TakenBack, Terms, Told, counts};
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, inquiry, instruction, life, load, tally};
use crate::store::{Read, Reads, Scan, Test, shape};

/// States of which there is something to come, as a tally numbers them: `ready` to `delivered`, `conflict`, without an amount.
const UNFINISHED: [i64; 7] = [0, 1, 2, 3, 4, 8, 9];

/// Returns whether something is to come of rows of a batch.
pub(in crate::journal) fn has_unfinished(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let tallies = Scan::of(&tally::TABLE).at(&batch_id);
    let tallies = tallies.only(tally::state, Test::among(&UNFINISHED));
    Ok(c.any(&tallies.only(tally::count, Test::at_least(&1_i64)))?)
}

/// A row on record.
pub(in crate::journal) struct Other {
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) row: Instruction<Stored>,
    pub(in crate::journal) standing: Standing,
    /// In the word of a report, or what is to be known beyond it.
    pub(in crate::journal) state: &'static str,
    /// A person has withdrawn its newest payment.
    pub(in crate::journal) is_withdrawn: bool,
    /// It has failed by the word of a person, which the gateway has not confirmed.
    pub(in crate::journal) by_word: bool,
    /// It has failed, and the journal may have missed what became of it: the gateway is asked again before anything leaves for its debt.
    pub(in crate::journal) missed: bool,
    /// When it was loaded, or retried last.
    pub(in crate::journal) newest: Timestamp,
    /// Its generations, the oldest first.
    pub(in crate::journal) generations: Vec<PaymentId>,
}

impl Other {
    /// Returns its state to a person; what stands in the place of one is in words already.
    pub(in crate::journal) fn state_in_words(&self) -> &'static str {
        let state = State::ALL
            .into_iter()
            .find(|state| state.name() == self.state);
        state.map_or(self.state, State::in_words)
    }

    pub(in crate::journal) fn reference(&self) -> Option<&str> {
        self.row
            .reference
            .as_ref()
            .map(|reference| reference.as_str())
    }

    /// Returns a row as it is compared with this one: by pseudonyms, where the person of this one was forgotten.
    pub(in crate::journal) fn counterpart<'r, M: Clone>(
        &self,
        row: &'r Instruction<M>,
        key: Key,
    ) -> Cow<'r, Instruction<M>> {
        match planted!(journal::is_forgotten(self.row.msisdn.is_forgotten())) {
            true => Cow::Owned(forgotten(row, |parts| key.pseudonym(parts))),
            false => Cow::Borrowed(row),
        }
    }

    /// Returns whether it had failed, and was paid anew, or is to be.
    pub(in crate::journal) fn is_retried(&self) -> bool {
        self.generations.len() > 1
            && matches!(self.standing, Standing::Unfinished | Standing::Ended)
    }

    pub(in crate::journal) fn counts(&self, now: Timestamp, terms: &Terms) -> bool {
        counts(self.standing, now.since(self.newest), terms)
    }
}

/// The journal that rows are compared with, and what was read of it already.
pub(in crate::journal) struct Record<'c> {
    pub(in crate::journal) c: &'c dyn Read,
    pub(in crate::journal) rows: Instructions<'c>,
    vouched: Vouched,
}

impl<'c> Record<'c> {
    pub(in crate::journal) fn of(c: &'c dyn Read, vouched: Vouched) -> Self {
        Self {
            c,
            rows: Instructions::of(c),
            vouched,
        }
    }

    /// Reads a row, as [`other`] does.
    pub(in crate::journal) fn other(&self, seq: PaymentId) -> Result<Option<Other>, Error> {
        read_other((self.c, &self.rows), &self.vouched, seq)
    }
}

/// Reads a row on record; `None` when there is none: it was set aside in its load. Where it stands counts against its debt only
/// as far as its evidence says the same.
pub(in crate::journal) fn other(
    c: &dyn Read,
    vouched: &Vouched,
    seq: PaymentId,
) -> Result<Option<Other>, Error> {
    read_other((c, &Instructions::of(c)), vouched, seq)
}

fn read_other(
    (c, rows): (&dyn Read, &Instructions<'_>),
    vouched: &Vouched,
    seq: PaymentId,
) -> Result<Option<Other>, Error> {
    let Some(found) = rows.find(seq)? else {
        return Ok(None);
    };
    let (load_id, stored) = (found.load_id, found.row);
    let loaded_at: Option<Timestamp> =
        c.value(&Scan::of(&load::TABLE).at(&load_id), load::loaded_at)?;
    let loaded_at = loaded_at.ok_or_else(|| corrupt("a row without its load"))?;
    let loaded_at = stored.received_at.max(loaded_at);
    let has_begun = c.any(&Scan::of(&life::TABLE).at(&seq))?;
    let (standing, told, is_withdrawn, newest, generations) = match has_begun {
        false => {
            let told = stored
                .instruction
                .money
                .amount
                .map(|_| Told::State(State::Ready));
            (Standing::Unfinished, told, false, loaded_at, vec![seq])
        }
        true => {
            let members = of_row(c, seq)?;
            let (standing, told, is_withdrawn) = standing_of_row(c, vouched, seq, &members)?;
            let newest = newest_of_row(c, &members, loaded_at)?;
            let generations = members.iter().map(|member| member.seq).collect();
            (standing, Some(told), is_withdrawn, newest, generations)
        }
    };
    Ok(Some(Other {
        seq,
        row: stored.instruction,
        standing,
        is_withdrawn,
        state: told.map_or("unpriced", Told::text),
        by_word: told == Some(Told::ByWord),
        missed: told == Some(Told::Missed),
        newest,
        generations,
    }))
}

/// Returns where a row stands by all its generations, the words for it, and whether a person has withdrawn it.
fn standing_of_row(
    c: &dyn Read,
    vouched: &Vouched,
    seq: PaymentId,
    members: &[Member],
) -> Result<(Standing, Told, bool), Error> {
    let is_unpaid = |member: &Member| matches!(member.life.state, State::Failed | State::Cancelled);
    let read = match members.iter().any(is_unpaid) {
        true => vouched.read_otherwise(c, seq)?,
        false => None,
    };
    // Who is let in does not matter where nothing is read otherwise.
    let by = read.unwrap_or(ReadBy::OtherCodes);
    let generations: Vec<Generation> = members
        .iter()
        .map(|member| generation(c, member, by))
        .collect::<Result<_, Error>>()?;
    let history = History(&generations);
    let read_otherwise = read.is_some() && history.rests_on_a_reply();
    let is_vouched = read_otherwise || !history.is_unpaid() || vouched.stands(c, seq)?;
    let (standing, told) = history.standing(read_otherwise, is_vouched);
    Ok((standing, told, history.is_withdrawn()))
}

fn generation(c: &dyn Read, member: &Member, by: ReadBy) -> Result<Generation, Error> {
    let is_cancelled = member.life.state == State::Cancelled;
    let was_posted = member.life.attempts > 0;
    let is_taken_back = is_taken_back(c, member)?;
    let is_missed = is_taken_back && doubt_of(c, member.seq)? == Doubt::Missed;
    Ok(Generation {
        state: member.life.state,
        has_code: member.life.code.is_some(),
        has_left: was_posted && (!is_cancelled || was_heard_of(c, member.seq)?),
        was_answered: is_cancelled
            && (member.life.exposures > 0 || was_answered(c, member.seq, by)?),
        taken_back: planted!(journal::is_taken_back(is_taken_back)).then_some(match is_missed {
            true => TakenBack::Missed,
            false => TakenBack::Spoken,
        }),
    })
}

/// Returns whether somebody has heard of a payment that was handed out for sending: one that was withheld then never left.
fn was_heard_of(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let of_payment = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let mut heard = false;
    c.each_row(&of_payment, &[evidence::event], |row| {
        let event: i64 = row.get(0)?;
        heard = is_heard(event) && !is_of_nothing(event);
        Ok::<_, Error>(match heard {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(heard)
}

/// Returns when something of a row was loaded, posted or replaced last.
fn newest_of_row(
    c: &dyn Read,
    members: &[Member],
    loaded_at: Timestamp,
) -> Result<Timestamp, Error> {
    let mut newest = loaded_at;
    for member in members {
        newest = newest.max(of_payment(c, member.seq, instruction::received_at)?);
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
pub(in crate::journal) struct OnRecord {
    pub(in crate::journal) load_id: LoadId,
    /// It came within the longest window.
    is_recent: bool,
    /// It is compared for its references alone, which name a period.
    pub(in crate::journal) by_reference_alone: bool,
}

impl OnRecord {
    /// Reads a row of the load, unless it says nothing any more.
    // Of an old load that something is left of, most rows ended long ago.
    pub(in crate::journal) fn other(
        self,
        record: &Record<'_>,
        seq: PaymentId,
    ) -> Result<Option<Other>, Error> {
        if !self.is_recent && !self.by_reference_alone && is_over(record.c, seq)? {
            return Ok(None);
        }
        match record.other(seq)? {
            Some(other) => Ok(Some(other)),
            None => Err(Error::AlteredLoad {
                what: format!("load {}: a row of it is gone", self.load_id),
            }),
        }
    }
}

/// Returns whether a row is paid, and nothing asks about it any more.
fn is_over(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let paid = State::Paid;
    let own = Scan::of(&life::TABLE).at(&seq);
    let paid = own.only(life::state, Test::is(&paid));
    Ok(c.any(&paid.only(life::replaced_by, Test::Absent))?
        && !c.any(&Scan::of(&inquiry::TABLE).at(&seq))?)
}

/// Which loads a row is compared with, beyond what is unfinished or recent.
#[derive(Clone, Copy)]
pub(in crate::journal) enum Which {
    /// All but this one.
    Not(LoadId),
    All,
    /// With whatever came, or was retried, after this one.
    After(LoadId),
}

/// Returns whether a batch is a rehearsal; `None` where it is not here.
pub(in crate::journal) fn is_rehearsal(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<bool>, Error> {
    shape! {
        struct Purposed of batch { rehearsal: Option<bool>, gateway: Option<String> }
    }
    let found: Option<Purposed> = c.first(&Scan::of(&batch::TABLE).at(&batch_id))?;
    Ok(found.map(|batch| {
        let loaded_for = batch
            .rehearsal
            .map_or(Purpose::Unknown, Purpose::of_command);
        Purpose::of_batch(loaded_for, batch.gateway.as_deref()) == Purpose::Rehearsal
    }))
}

/// Loads that a new row is compared with: what may be unfinished, and what came, was posted or was retried within the longest window; where
/// references name a period, all the others for these. A rehearsal is none.
pub(in crate::journal) fn loads_on_record(
    c: &dyn Read,
    plan: &RepeatPlan,
    (key, which): (Key, Which),
    now: Timestamp,
) -> Result<Vec<OnRecord>, Error> {
    assert_rehearsals(c)?;
    let window = i64::try_from(plan.terms.longest().as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp::from_millis(now.as_millis().saturating_sub(window));
    let (own, after) = match which {
        Which::Not(own) => (Some(own), None),
        Which::All => (None, None),
        Which::After(load) => (None, Some(load)),
    };
    // However old, a retry that came after the load may pay what of it has failed.
    let retried_since = after.is_none().then_some(since);
    let mut open: BTreeMap<BatchId, bool> = BTreeMap::new();
    let mut loads = Vec::new();
    let all = Scan::of(&load::TABLE).only(load::accepted, Test::at_least(&1_i64));
    c.each(&all.descending(), |load: Loaded| {
        let batch = Scan::of(&batch::TABLE).at(&load.batch_id);
        let Some(claimed_at) = c.value::<Option<Timestamp>>(&batch, batch::last_claim_at)? else {
            return Ok(());
        };
        if Some(load.load_id) == own || is_rehearsal(c, load.batch_id)? != Some(false) {
            return Ok(());
        }
        let is_recent = load.loaded_at > since
            || after.is_some_and(|after| load.load_id > after)
            || claimed_at.unwrap_or(Timestamp::from_millis(0)) > since;
        let is_on_record = match (is_recent, open.get(&load.batch_id)) {
            (true, _) => true,
            (false, Some(known)) => *known,
            (false, None) => {
                let found = is_open(c, load.batch_id, retried_since)?;
                open.insert(load.batch_id, found);
                found
            }
        };
        let by_reference_alone = !is_on_record && plan.terms.references_name_a_period;
        if is_on_record || by_reference_alone {
            loads.push(OnRecord {
                load_id: load.load_id,
                is_recent,
                by_reference_alone,
            });
        }
        Ok::<_, Error>(())
    })?;
    for load in &loads {
        check_key(c, key, load.load_id)?;
    }
    Ok(loads)
}

shape! {
    /// A load, as far as its age and its batch go.
    struct Loaded of load { load_id: LoadId, batch_id: BatchId, loaded_at: Timestamp }
}

/// Returns whether something of a batch may still be paid, or was retried since a time, or ever where there is none.
fn is_open(
    c: &dyn Read,
    batch_id: BatchId,
    retried_since: Option<Timestamp>,
) -> Result<bool, Error> {
    if c.any(&Scan::by(&inquiry::inquiry_queue).at(&batch_id))? || has_unfinished(c, batch_id)? {
        return Ok(true);
    }
    let replaced = Scan::by(&life::replaced).at(&batch_id);
    let mut is_retried = false;
    c.each_row(&replaced, &[life::replaced_by], |row| {
        let later: PaymentId = row.get(0)?;
        let retry = Scan::of(&instruction::TABLE).at(&later);
        let ordered_at: Option<Timestamp> = c.value(&retry, instruction::received_at)?;
        is_retried = ordered_at.is_some_and(|at| retried_since.is_none_or(|since| at > since));
        Ok::<_, Error>(match is_retried {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(is_retried)
}

/// Refuses a row on record that is not the one that was loaded.
pub(in crate::journal) fn check_row(key: Key, entry: Entry, other: &Other) -> Result<(), Error> {
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
pub(in crate::journal) fn day(at: Timestamp) -> String {
    let text = at.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
