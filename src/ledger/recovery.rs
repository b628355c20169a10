//! Whether a journal is what its place has seen last: a mark beside it says how far it had come.
//!
//! The mark is written after a commit and before the first byte that rests on it leaves, and is not synced. So it may be
//! older than the journal, after a crash or a loss of power, and that means nothing. It is never ahead of the journal that
//! it was written for: a mark that is ahead speaks of a journal that is not here any more.

use std::time::Duration;

use super::confirmation::Bound;
use super::payer::{Payer, Payers, Posted};
use crate::lifecycle::{Life, State};

/// What tells one journal from another; a copy has the same until it is noticed.
pub type JournalId = [u8; 16];

/// The mark knows no more batches than this: those that moved last. An earlier run of another batch shows by the epoch.
pub const POSITIONS_MAX: usize = 24;

/// A mark is written within this time of the moment that it names; it is written anew where it took longer.
pub const STAMP_SLACK: Duration = Duration::from_millis(50);

/// A loss of power takes what was written last, and may leave the time of it.
const LOST_WITH_POWER: Duration = Duration::from_secs(60);

/// How far the evidence of one batch had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The journal's number of the batch.
    pub batch_id: i64,
    /// Rows of its evidence.
    pub length: u64,
    /// The number of the last of them.
    pub evidence_id: i64,
    /// The hash of the last of them.
    pub head: [u8; 32],
}

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The journal it was written for.
    pub journal: JournalId,
    /// When the journal's file was born, in nanoseconds, where the file system tells: a file that was copied or restored is
    /// born anew.
    pub born: Option<u64>,
    /// The epoch of its last run.
    pub epoch: i64,
    /// How many orders of people it had on record that a copy must not forget.
    pub orders: u64,
    /// How far its batches had come, the one that moved last at the end.
    pub positions: Vec<Position>,
    /// Who posted its batches, and those of the journals before it in its place.
    pub payers: Payers,
}

/// When a mark was written. All in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The time that it names.
    pub named: u64,
    /// When its file was changed last, which nobody can set: its bytes, its name, its owner or its mode.
    pub changed: u64,
    /// When the machine was started, where the system tells.
    pub started: Option<u64>,
}

impl Stamp {
    /// Returns whether the mark is the very one that was written there: nobody has written over it, or moved it, since.
    #[must_use]
    pub fn is_as_written(self) -> bool {
        #[cfg(test)]
        if crate::canary::Canary::MarkTimeIgnored.sings() {
            return true;
        }
        let apart = Duration::from_nanos(self.named.abs_diff(self.changed));
        let before_the_start = self.started.is_some_and(|started| self.changed < started);
        apart <= STAMP_SLACK || before_the_start && apart <= LOST_WITH_POWER
    }
}

/// What the lock file says of the journal that was in use last, beside the mark: who puts back a journal with its mark may
/// leave the lock file where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The journal.
    pub journal: JournalId,
    /// The epoch of its last run.
    pub epoch: i64,
    /// Number of the newest evidence that its mark knew.
    pub evidence: i64,
    /// How many orders of people it had on record.
    pub orders: u64,
}

impl Witness {
    /// Returns what goes with a mark.
    #[must_use]
    pub fn of(marked: &Marked) -> Self {
        let newest = marked.positions.iter().map(|at| at.evidence_id).max();
        Self {
            journal: marked.journal,
            epoch: marked.epoch,
            evidence: newest.unwrap_or(0),
            orders: marked.orders,
        }
    }
}

/// What lies beside a journal and says how far it had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// The mark.
    pub mark: Mark,
    /// When it was written; `None` where it names no time.
    pub stamp: Option<Stamp>,
    /// What the lock file says; `None` where it says nothing.
    pub witness: Option<Witness>,
    /// What it says of who posted.
    pub payers: Payers,
}

impl Traces {
    /// Nothing lies there.
    pub const NONE: Self = Self {
        mark: Mark::Missing,
        stamp: None,
        witness: None,
        payers: Payers::NONE,
    };
}

/// What stands beside a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    Missing,
    /// A mark that nobody can read.
    Unreadable,
    /// A mark.
    Written(Marked),
}

/// What the journal says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name for itself.
    pub journal: JournalId,
    /// When its file was born.
    pub born: Option<u64>,
    /// A mark was written for it once.
    pub was_marked: bool,
    /// It says that it was made as a copy.
    pub is_backup: bool,
    /// The epoch of its last run; 0: it never ran.
    pub epoch: i64,
    /// Number of its newest evidence; 0: it has none.
    pub evidence: i64,
    /// How many orders of people it has on record.
    pub orders: u64,
    /// The hash that it has on record where the mark has each of its positions; `None`: no such evidence.
    pub heads: Vec<Option<[u8; 32]>>,
}

/// What the two come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was ever marked here: it gets its first mark.
    Fresh,
    /// It is what its place has seen last.
    Current,
    /// Its place has seen more of it.
    Behind(Cause),
    /// It is a copy, or stands in the place of another one.
    Copy(Cause),
}

impl Verdict {
    /// Why the journal may have missed something; `None` when it has not.
    #[must_use]
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Fresh | Self::Current => None,
            Self::Behind(cause) | Self::Copy(cause) => Some(cause),
        }
    }
}

/// How it showed that a journal may have missed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was made by `disburse backup`.
    Backup,
    /// It was marked once, and there is no mark beside it.
    NoMark,
    /// The mark beside it cannot be read.
    UnreadableMark,
    /// The mark beside it is that of another journal.
    OtherJournal,
    /// Its file is another one than the one that was marked.
    OtherFile,
    /// A later run has been here.
    LaterRun,
    /// The mark names evidence that it does not have.
    MissingEvidence,
    /// Its mark was written over, moved or changed since it was written.
    TouchedMark,
}

impl Cause {
    /// Every cause; its number is what the journal stores.
    pub const ALL: [(i64, Self); 8] = [
        (1, Self::Backup),
        (2, Self::NoMark),
        (3, Self::UnreadableMark),
        (4, Self::OtherJournal),
        (5, Self::OtherFile),
        (6, Self::LaterRun),
        (7, Self::MissingEvidence),
        (8, Self::TouchedMark),
    ];

    /// Returns the number that stands for it in a journal.
    #[must_use]
    pub fn number(self) -> i64 {
        let found = Self::ALL.iter().find(|(_, cause)| *cause == self);
        found.map_or(0, |(number, _)| *number)
    }

    /// Says it to a person.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Backup => "it is a copy that `disburse backup` made",
            Self::NoMark => {
                "it has been in use, and its mark is not beside it: it was copied or moved without it"
            }
            Self::UnreadableMark => "the mark beside it cannot be read",
            Self::OtherJournal => "another journal was in use in this place before",
            Self::OtherFile => {
                "its file is not the one that was in use here: it was copied or restored"
            }
            Self::LaterRun => {
                "a later run has been here, of which it knows nothing: it is an older copy"
            }
            Self::MissingEvidence => {
                "evidence is missing that was recorded here: it is an older copy, or its log (-wal) was lost"
            }
            Self::TouchedMark => {
                "its mark was copied over, moved, or given another name, owner or mode since it was written: an older journal \
                 may have been put back together with its mark"
            }
        }
    }
}

/// Judges a journal by what lies beside it.
#[must_use]
pub fn judge(traces: &Traces, found: &Found) -> Verdict {
    #[cfg(test)]
    if crate::canary::Canary::MarkIgnored.sings() {
        return Verdict::Current;
    }
    if found.is_backup {
        return Verdict::Copy(Cause::Backup);
    }
    let witness = traces.witness.as_ref();
    let other_was_here = witness.is_some_and(|witness| witness.journal != found.journal);
    let ours = witness.filter(|_| !other_was_here);
    let marked = match &traces.mark {
        Mark::Missing if found.was_marked => return Verdict::Copy(Cause::NoMark),
        Mark::Missing if other_was_here => return Verdict::Copy(Cause::OtherJournal),
        Mark::Missing => None,
        Mark::Unreadable => return Verdict::Copy(Cause::UnreadableMark),
        Mark::Written(marked) if marked.journal != found.journal => {
            return Verdict::Copy(Cause::OtherJournal);
        }
        Mark::Written(marked) => Some(marked),
    };
    // What it has missed says more than that its file is another one.
    let epoch = marked.map(|marked| marked.epoch);
    let seen = epoch.into_iter().chain(ours.map(|ours| ours.epoch)).max();
    if seen.is_some_and(|epoch| epoch > found.epoch) {
        return Verdict::Behind(Cause::LaterRun);
    }
    let has_all = marked.is_none_or(|marked| {
        marked.orders <= found.orders
            && marked.positions.len() == found.heads.len()
            && marked
                .positions
                .iter()
                .zip(&found.heads)
                .all(|(position, head)| *head == Some(position.head))
    });
    let missing = |ours: &Witness| ours.evidence > found.evidence || ours.orders > found.orders;
    if !has_all || ours.is_some_and(missing) {
        return Verdict::Behind(Cause::MissingEvidence);
    }
    let Some(marked) = marked else {
        return Verdict::Fresh;
    };
    if other_was_here {
        return Verdict::Copy(Cause::OtherJournal);
    }
    match (marked.born, found.born) {
        (Some(then), Some(now)) if then != now => return Verdict::Copy(Cause::OtherFile),
        _ => {}
    }
    match traces.stamp {
        Some(stamp) if !stamp.is_as_written() => Verdict::Copy(Cause::TouchedMark),
        _ => Verdict::Current,
    }
}

/// Orders of people that a journal does not know of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrdersLost {
    /// So many were on record in its place.
    pub count: u64,
    /// Nothing tells whether there were more: what lies beside it may be as old as it is, or is gone.
    pub unknown: bool,
}

impl OrdersLost {
    /// Returns whether none is lost, as far as anybody can know.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Returns who posted, as that tells which has seen the newest of a journal's past; `None`: whatever lies beside the journal may
/// have been put back with it, speaks of another journal, or is gone.
fn newest<'a>(traces: &'a Traces, found: &Found) -> Option<&'a Payers> {
    let Mark::Written(marked) = &traces.mark else {
        return None;
    };
    // One that was just made has no past elsewhere.
    let is_new = !found.was_marked && !found.is_backup && found.epoch == 0;
    let speaks_of_it = |journal: JournalId| is_new || journal == found.journal;
    if traces.stamp.is_some_and(Stamp::is_as_written) {
        return speaks_of_it(marked.journal).then_some(&marked.payers);
    }
    // Who puts back a journal with its mark leaves the lock file, which has seen more.
    let beside = Witness::of(marked);
    let is_ahead = |seen: &Witness| {
        seen.journal != beside.journal
            || seen.epoch > beside.epoch
            || seen.evidence > beside.evidence
            || seen.orders > beside.orders
    };
    let witness = traces.witness.filter(is_ahead)?;
    speaks_of_it(witness.journal).then_some(&traces.payers)
}

/// Returns what people ordered in this place that the journal knows nothing of.
///
/// Of another journal it may know none: each may have withdrawn a payment that would be paid now.
#[must_use]
pub fn orders_lost(traces: &Traces, found: &Found) -> OrdersLost {
    #[cfg(test)]
    if crate::canary::Canary::LostOrdersForgotten.sings() {
        return OrdersLost::default();
    }
    let lost = |(journal, orders): (JournalId, u64)| match journal == found.journal {
        true => orders.saturating_sub(found.orders),
        false => orders,
    };
    let marked = match &traces.mark {
        Mark::Written(marked) => Some((marked.journal, marked.orders)),
        Mark::Missing | Mark::Unreadable => None,
    };
    let witness = traces.witness.map(|seen| (seen.journal, seen.orders));
    let all = marked.into_iter().chain(witness);
    OrdersLost {
        count: all.map(lost).max().unwrap_or(0),
        unknown: judge(traces, found).cause().is_some() && newest(traces, found).is_none(),
    }
}

/// Returns the mark that a journal is to have which knows of more orders than its mark; `None`: it knows of them all. Whoever
/// gave the last one ended between its commit and the mark: a copy from before would be taken for whole.
#[must_use]
pub fn with_orders(traces: &Traces, found: &Found) -> Option<Marked> {
    let Mark::Written(marked) = &traces.mark else {
        return None;
    };
    let lacks_some = marked.journal == found.journal && marked.orders < found.orders;
    lacks_some.then(|| Marked {
        orders: found.orders,
        ..marked.clone()
    })
}

/// Returns what is kept of who posted once a journal has taken its place. What is not certain is not kept: the next
/// one who looks would take it for certain.
#[must_use]
pub fn payers_kept(traces: &Traces, found: &Found) -> Payers {
    match judge(traces, found) {
        Verdict::Fresh if found.epoch == 0 => Payers::NONE,
        Verdict::Fresh => Payers::unknown(),
        Verdict::Current | Verdict::Behind(_) | Verdict::Copy(_) => newest(traces, found)
            .cloned()
            .unwrap_or_else(Payers::unknown),
    }
}

/// Who posted the batches of a journal that may have missed something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// By the name of each batch, where it is told.
    pub batches: Vec<(String, Payer)>,
    /// All others.
    pub others: Option<Posted>,
    /// Batches that ran before those, as [`super::payer::lost`] reads them.
    pub unnamed: Vec<String>,
}

/// Returns who posted, as the place of a journal tells it; `on_record`: the accounts that the journal itself knows.
#[must_use]
pub fn told(traces: &Traces, found: &Found, on_record: &[Payer]) -> Told {
    let Some(payers) = newest(traces, found) else {
        return Told::default();
    };
    let only = payers.only();
    let others = match only {
        Some(only) => Some(Posted::By(only.clone())),
        None if payers.is_blank() => Some(Posted::ByNobody),
        None => None,
    };
    Told {
        batches: payers
            .batches()
            .map(|(batch, payer)| (batch.to_owned(), payer.clone()))
            .collect(),
        others: others.filter(|_| on_record.iter().all(|known| Some(known) == only)),
        unnamed: payers.unnamed().collect(),
    }
}

/// Returns whether a copy that does not know of an order would pay somebody whom it kept from being paid.
#[must_use]
pub fn must_not_be_forgotten(act: &str) -> bool {
    matches!(
        act,
        "cancel"
            | "resolve"
            | "retry"
            | "correct"
            | "load --allow-repeats"
            | "account-moved"
            | "gateway-moved"
            | "recover --nothing-ran-since"
    )
}

/// Returns how far a run may post that was confirmed up to `bound`: nothing, while orders of people are lost.
///
/// It may ask. What was withdrawn, or decided, is not known to this journal.
#[must_use]
pub fn held_back(bound: Bound, orders_lost: OrdersLost) -> Bound {
    match orders_lost.is_none() {
        true => bound,
        false => Bound::NOTHING,
    }
}

/// Returns the mark after a commit: what the mark had said, with what moved in it.
///
/// `None`: the mark is that of another journal. Another one has taken this place meanwhile, and nothing more may leave from
/// this one.
#[must_use]
pub fn advance(before: &Mark, moved: &Marked) -> Option<Marked> {
    let before = match before {
        Mark::Written(before) if before.journal != moved.journal => return None,
        Mark::Written(before) => before,
        Mark::Missing | Mark::Unreadable => return Some(moved.clone()),
    };
    let payers = before.payers.clone().and(&moved.payers);
    let mut positions: Vec<Position> = before.positions.clone();
    for position in &moved.positions {
        // Processes write one after the other, and not in the order of their commits.
        let known = positions
            .iter()
            .position(|known| known.batch_id == position.batch_id);
        let newest = match known.map(|at| positions.remove(at)) {
            Some(known) if known.evidence_id > position.evidence_id => known,
            _ => *position,
        };
        positions.push(newest);
    }
    let surplus = positions.len().saturating_sub(POSITIONS_MAX);
    positions.drain(..surplus);
    Some(Marked {
        journal: moved.journal,
        born: moved.born,
        epoch: before.epoch.max(moved.epoch),
        orders: before.orders.max(moved.orders),
        positions,
        payers,
    })
}

/// What happened to a payment after it was presumed posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// The gateway has spoken of it.
    pub answered: bool,
    /// This journal has posted it.
    pub posted: bool,
    /// A person decided its end.
    pub decided: bool,
    /// By a person's word it is ready again.
    pub released: bool,
}

/// What is known of a payment that was presumed posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Nothing was heard of it yet.
    Unasked,
    /// The gateway does not know it, or not yet beyond doubt.
    NotFound,
    /// The gateway knows it: an earlier journal had posted it.
    Known,
    /// This journal has posted it since.
    Posted,
    /// A person decided.
    Decided,
}

/// Returns what is known of a payment that was presumed posted.
#[must_use]
pub fn became(life: &Life, since: Since) -> Became {
    let ended = matches!(life.state, State::Paid | State::Failed | State::Conflict);
    let decided = since.decided && life.state.is_finished() && life.state != State::Conflict;
    match since {
        _ if since.posted => Became::Posted,
        _ if decided => Became::Decided,
        _ if life.known || ended => Became::Known,
        _ if since.released && life.state == State::Ready => Became::Decided,
        _ if life.state == State::InDoubt && !since.answered => Became::Unasked,
        _ => Became::NotFound,
    }
}

/// Returns whether a payment is presumed posted where an earlier journal may have posted it: nothing else would be posted
/// unasked.
#[must_use]
pub fn is_presumed(life: &Life) -> bool {
    // What the gateway had before our first post was the earlier journal's, then.
    let taken = life.taken && matches!(life.state, State::InDoubt | State::Conflict);
    life.state == State::Ready || taken
}

/// Returns whether a person's word that nothing has run since makes a payment ready again.
///
/// Only the presumption makes it doubtful: this journal never posted it, and the gateway has never spoken of it but to say
/// that it does not know it.
#[must_use]
pub fn may_be_released(life: &Life, spoken_of: bool) -> bool {
    let unknown = !life.known && life.code.is_none() && !spoken_of;
    life.state == State::InDoubt && life.attempts == 0 && unknown
}

/// Returns whether the retry of a payment is presumed posted.
///
/// A journal that has missed something may have missed a retry that bore this very identifier: of every payment that was
/// there when it was noticed, and of every payment that was presumed itself.
#[must_use]
pub fn retry_is_presumed(is_open: bool, there_when_noticed: bool, was_presumed: bool) -> bool {
    is_open || there_when_noticed || was_presumed
}

/// Why a recovery cannot be declared done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// Nothing was noticed, or it is done already.
    NotOpen,
    /// So many presumed payments are not asked about yet.
    Unasked(u64),
    /// Orders of people are lost, or may be, and nobody has said that they were given again.
    OrdersLost(OrdersLost),
}

/// Judges whether a recovery may be declared done: from then on, what is loaded is posted first.
///
/// # Errors
/// Why not.
pub fn may_be_done(is_open: bool, unasked: u64, orders_lost: OrdersLost) -> Result<(), NotDone> {
    match (is_open, unasked) {
        (false, _) => Err(NotDone::NotOpen),
        // The answers about them show how much was missed.
        (true, 1..) => Err(NotDone::Unasked(unasked)),
        (true, 0) if orders_lost.is_none() => Ok(()),
        (true, 0) => Err(NotDone::OrdersLost(orders_lost)),
    }
}

#[cfg(test)]
mod tests;
