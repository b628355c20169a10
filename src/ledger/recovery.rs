//! Whether a journal is what its place has seen last: a mark beside it says how far it had come.
//!
//! The mark is written after a commit and before the first byte that rests on it leaves, and is not synced. So it may be
//! older than the journal, after a crash or a loss of power, and that means nothing. It is never ahead of the journal that
//! it was written for: a mark that is ahead speaks of a journal that is not here any more.

use std::collections::BTreeMap;
use std::time::Duration;

use super::payer::{AsLoaded, Payer, Payers, Posted, unnamed_of_both};
use crate::domain::{BatchId, Epoch, EvidenceId};

mod on_chain;
mod ordered;
mod orders;
mod presumed;
mod ran;
mod server;

pub use on_chain::{OnRecord, Unlike, unlike};
pub use ordered::{Presumption, begins_recovery};
pub use orders::{
    ORDERS_MAX, Order, OrdersLost, given_first, held_back, kept_orders, may_be_declared_given,
    missing_orders, must_not_be_forgotten, not_given, orders_lost, with_orders,
};
pub use presumed::{
    Arrival, Became, NotDone, Since, became, is_presumed, may_be_done, may_be_released,
    retry_is_presumed, waits_until_done,
};
pub use ran::{Ran, ran_since};
pub use server::{OnServer, Origin, ServerPosition, Succession};

/// What tells one journal from another; a copy has the same until it is noticed.
pub type JournalId = [u8; 16];

/// The mark knows no more batches than this: those that moved last. An earlier run of another batch shows by the epoch.
pub const POSITIONS_MAX: usize = 24;

/// A mark is written within this time of the moment that it names; it is written anew where it took longer.
pub const STAMP_SLACK: Duration = Duration::from_millis(50);

/// A write of a mark that was begun has reached its file within this time, or never does.
const REACHES_ITS_FILE: Duration = Duration::from_secs(10);

/// A loss of power takes what was written last, and may leave the time of it.
const LOST_WITH_POWER: Duration = Duration::from_secs(60);

/// How far the evidence of one batch had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The journal's number of the batch.
    pub batch_id: BatchId,
    /// Rows of its evidence.
    pub length: u64,
    /// The number of the last of them.
    pub evidence_id: EvidenceId,
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
    pub epoch: Epoch,
    /// How many orders of people it had on record that a copy must not forget.
    pub orders: u64,
    /// The last of them.
    pub given: Vec<Order>,
    /// How far its batches had come, the one that moved last at the end.
    pub positions: Vec<Position>,
    /// Who posted its batches, and those of the journals before it in its place.
    pub payers: Payers,
    /// Of a journal on a server: how far that was.
    pub server: Option<ServerPosition>,
    /// The longest time, in milliseconds, for which a run of this place, or of the journals before it in its place, took "not found" for no proof.
    pub quarantine: u64,
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
    /// When a write of it began that has not ended: its process was killed, or is at it.
    pub begun: Option<u64>,
}

impl Stamp {
    /// Returns whether the mark is the very one that was written there: nobody has written over it, or moved it, since.
    #[must_use]
    pub fn is_as_written(self) -> bool {
        let apart = Duration::from_nanos(self.named.abs_diff(self.changed));
        let before_the_start = self.started.is_some_and(|started| self.changed < started);
        let is_as_written = apart <= STAMP_SLACK
            || before_the_start && apart <= LOST_WITH_POWER
            || self.was_cut_off();
        planted!(ledger::is_as_written(is_as_written))
    }

    /// Returns whether a write that did not end changed the file: the system tells a file that it is written before it takes the
    /// bytes, and takes none of a process that is killed between the two.
    fn was_cut_off(self) -> bool {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.begun.is_some_and(|begun| {
            let from = begun.saturating_sub(nanos(STAMP_SLACK));
            let until = begun.saturating_add(nanos(REACHES_ITS_FILE));
            (from..=until).contains(&self.changed)
        })
    }
}

/// What the lock file says of the journal that was in use last, beside the mark: who puts back a journal with its mark may
/// leave the lock file where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The journal.
    pub journal: JournalId,
    /// The epoch of its last run.
    pub epoch: Epoch,
    /// Number of the newest evidence that its mark knew.
    pub evidence: EvidenceId,
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
            evidence: newest.unwrap_or(EvidenceId::NONE),
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
#[allow(clippy::large_enum_variant, reason = "one at a time, and never kept")]
pub enum Mark {
    /// Nothing.
    Missing,
    /// A mark that nobody can read.
    Unreadable,
    /// A mark.
    Read(Marked),
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
    pub epoch: Epoch,
    /// Number of its newest evidence; [`EvidenceId::NONE`]: it has none.
    pub evidence: EvidenceId,
    /// How many orders of people it has on record.
    pub orders: u64,
    /// The last of them.
    pub given: Vec<Order>,
    /// The hash that it has on record where the mark has each of its positions; `None`: no such evidence.
    pub heads: Vec<Option<[u8; 32]>>,
    /// Of a journal on a server: what that tells. Several hosts share it, each with a mark of its own, or none yet.
    pub server: Option<OnServer>,
}

impl Found {
    /// Returns whether it was just made: nothing of it was ever in use anywhere.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !self.was_marked && !self.is_backup && self.epoch == Epoch::NONE
    }
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
    /// A person said so, with `--presume-posted`.
    Ordered,
    /// The server lacks transactions that this host had seen.
    OlderDatabase,
    /// The database is another one than the one that was in use.
    OtherDatabase,
    /// The server was promoted or restored, and nothing shows that it has everything.
    Promoted,
}

impl Cause {
    /// Every cause; its number is what the journal stores.
    pub const ALL: [(i64, Self); 12] = [
        (1, Self::Backup),
        (2, Self::NoMark),
        (3, Self::UnreadableMark),
        (4, Self::OtherJournal),
        (5, Self::OtherFile),
        (6, Self::LaterRun),
        (7, Self::MissingEvidence),
        (8, Self::TouchedMark),
        (9, Self::Ordered),
        (10, Self::OlderDatabase),
        (11, Self::OtherDatabase),
        (12, Self::Promoted),
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
                "the journal was in use, and its mark file is missing: the journal was copied or moved without it"
            }
            Self::UnreadableMark => "its mark file cannot be read",
            Self::OtherJournal => "another journal was in use in this place before",
            Self::OtherFile => {
                "its file is not the one that was in use here: it was copied or restored"
            }
            Self::LaterRun => {
                "a later run was here, which is not in this journal: it is an older copy"
            }
            Self::MissingEvidence => {
                "evidence is missing that was recorded here: it is an older copy, or its newest part was lost (of a file: its -wal)"
            }
            Self::TouchedMark => {
                "its mark was copied over, moved, or given another name, owner or mode since it was written: an older journal \
                 may have been put back together with its mark"
            }
            Self::Ordered => {
                "it was ordered that a batch is presumed posted, by an earlier journal or at a time that this one does not know"
            }
            Self::OlderDatabase => {
                "its server lacks transactions that were written from here: an older database was restored, or a standby that lagged \
                 behind was promoted"
            }
            Self::OtherDatabase => {
                "its database is not the one that was in use: it came out of a dump, or from another server"
            }
            Self::Promoted => {
                "its server was promoted or restored since it was in use, and commits had not waited for a standby: it may lack the \
                 newest of them"
            }
        }
    }
}

/// Judges a journal by what lies beside it.
#[must_use]
pub fn judge(traces: &Traces, found: &Found) -> Verdict {
    planted_instead!(ledger::is_current());
    let verdict = by_what_it_has(traces, found);
    // A mark that was written after the journal got another name has seen more, whatever else it says.
    let is_later = |marked: &Marked| marked.payers.tell_of(found.journal);
    match (&traces.mark, verdict.cause()) {
        (Mark::Read(marked), None) if is_later(marked) => Verdict::Copy(Cause::OtherJournal),
        _ => verdict,
    }
}

fn by_what_it_has(traces: &Traces, found: &Found) -> Verdict {
    if found.is_backup {
        return Verdict::Copy(Cause::Backup);
    }
    let witness = traces.witness.as_ref();
    let other_was_here = witness.is_some_and(|witness| witness.journal != found.journal);
    let ours = witness.filter(|_| !other_was_here);
    let marked = match &traces.mark {
        Mark::Missing if found.was_marked && found.server.is_none() => {
            return Verdict::Copy(Cause::NoMark);
        }
        Mark::Missing if other_was_here => return Verdict::Copy(Cause::OtherJournal),
        Mark::Missing => None,
        Mark::Unreadable => return Verdict::Copy(Cause::UnreadableMark),
        Mark::Read(marked) if marked.journal != found.journal => {
            return Verdict::Copy(Cause::OtherJournal);
        }
        Mark::Read(marked) => Some(marked),
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
    let on_server = found.server.as_ref();
    let seen = marked.and_then(|marked| marked.server);
    if let Some(verdict) = on_server.and_then(|server| server.verdict(seen)) {
        return verdict;
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
        // A server knows itself which copy it is.
        Some(stamp) if on_server.is_none() && !stamp.is_as_written() => {
            Verdict::Copy(Cause::TouchedMark)
        }
        _ => Verdict::Current,
    }
}

impl Traces {
    /// Takes them for traces of a journal that was called otherwise before: it has a new name since it was noticed, from another host,
    /// that it may have missed something. Or was called otherwise later: a copy from before that does not know the new name.
    #[must_use]
    pub fn renamed(mut self, names: &[JournalId], name: JournalId) -> Self {
        let is_later = self.is_of_a_later_name(names, name);
        if let Mark::Read(marked) = &mut self.mark
            && (is_later || names.contains(&marked.journal))
        {
            marked.payers.was_called(marked.journal);
            marked.journal = name;
            if is_later {
                // So it is known for one.
                marked.payers.was_called(name);
            }
        }
        if let Some(witness) = &mut self.witness
            && names.contains(&witness.journal)
        {
            witness.journal = name;
        }
        self
    }

    /// Returns whether the mark speaks of a journal by a name that this one does not know, and that had one of the names of this one before.
    fn is_of_a_later_name(&self, names: &[JournalId], name: JournalId) -> bool {
        let Mark::Read(marked) = &self.mark else {
            return false;
        };
        let is_known = marked.journal == name || names.contains(&marked.journal);
        let mut all = names.iter().chain([&name]);
        !is_known && all.any(|name| marked.payers.tell_of(*name))
    }
}

/// Returns who posted, as that tells which has seen the newest of a journal's past; `None`: whatever lies beside the journal may
/// have been put back with it, speaks of another journal, or is gone.
fn newest<'a>(traces: &'a Traces, found: &Found) -> Option<&'a Payers> {
    let Mark::Read(marked) = &traces.mark else {
        return None;
    };
    // One that was just made has no past elsewhere.
    let is_new = found.is_new();
    // A copy from before it was noticed that something was missed has the name of then.
    let speaks_of_it = |journal: JournalId, payers: &Payers| {
        is_new || journal == found.journal || payers.tell_of(found.journal)
    };
    if traces.stamp.is_some_and(Stamp::is_as_written) {
        return speaks_of_it(marked.journal, &marked.payers).then_some(&marked.payers);
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
    speaks_of_it(witness.journal, &traces.payers).then_some(&traces.payers)
}

/// Returns who posted, as the lock file alone tells it where the mark is gone: it has seen more than the journal, and nobody knows whether
/// all. That speaks against another account; which orders are lost, and who posts from now on, it does not tell.
fn without_mark<'a>(traces: &'a Traces, found: &Found) -> Option<&'a Payers> {
    let (Mark::Missing | Mark::Unreadable) = &traces.mark else {
        return None;
    };
    let witness = traces.witness.filter(|seen| {
        seen.epoch > found.epoch || seen.evidence > found.evidence || seen.orders > found.orders
    })?;
    let speaks_of_it =
        found.is_new() || witness.journal == found.journal || traces.payers.tell_of(found.journal);
    speaks_of_it.then_some(&traces.payers)
}

/// Returns what is kept of who posted once a journal has taken its place. What is not certain is not kept: the next
/// one who looks would take it for certain.
#[must_use]
pub fn payers_kept(traces: &Traces, found: &Found) -> Payers {
    match judge(traces, found) {
        // Of what other hosts post on a server, this one knows nothing.
        Verdict::Fresh if found.epoch == Epoch::NONE && found.server.is_none() => Payers::NONE,
        Verdict::Fresh => Payers::unknown(),
        Verdict::Current => newest(traces, found)
            .cloned()
            .unwrap_or_else(Payers::unknown),
        Verdict::Behind(_) | Verdict::Copy(_) => match (newest(traces, found), &traces.mark) {
            (Some(newest), Mark::Read(marked)) => {
                let mut kept = newest.clone();
                kept.was_called(marked.journal);
                kept
            }
            _ => Payers::unknown(),
        },
    }
}

/// Who posted the batches of a journal that may have missed something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// By the name of each batch, where it is told.
    pub batches: Vec<(String, Payer)>,
    /// How they were loaded, where that is told.
    pub loaded: BTreeMap<String, AsLoaded>,
    /// All others.
    pub others: Option<Posted>,
    /// Batches that ran before those, as [`super::payer::lost`] reads them.
    pub unnamed: Vec<String>,
}

impl Told {
    /// Returns what two places tell of one journal, such as two machines that share it: each may have seen what the other has not.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (batch, payer) in other.batches {
            self.batches.retain(|(known, _)| *known != batch);
            self.batches.push((batch, payer));
        }
        for (batch, loaded) in other.loaded {
            let known = self.loaded.get(&batch);
            // Rows may have been added to it since one of them saw it.
            if known.is_none_or(|known| known.identifiers.count <= loaded.identifiers.count) {
                self.loaded.insert(batch, loaded);
            }
        }
        let names = self.batches.iter().map(|(batch, _)| batch.as_str());
        self.unnamed = unnamed_of_both(&self.unnamed, &other.unnamed, names);
        self.others = match (self.others, other.others) {
            (Some(Posted::ByNobody), one) | (one, Some(Posted::ByNobody)) => one,
            (one, other) => one.filter(|one| Some(one) == other.as_ref()),
        };
        self
    }
}

/// Returns who posted, as the place of a journal tells it; `on_record`: the accounts that the journal itself knows.
#[must_use]
pub fn told(traces: &Traces, found: &Found, on_record: &[Payer]) -> Told {
    let (payers, is_all) = match (newest(traces, found), without_mark(traces, found)) {
        (Some(payers), _) => (payers, true),
        (None, Some(payers)) => (payers, false),
        (None, None) => return Told::default(),
    };
    let only = payers.only();
    let others = match only {
        // Of a journal that machines share, one of them has not seen what the others posted, nor from where.
        _ if found.server.is_some() || !is_all => None,
        Some(only) => Some(Posted::By(only.clone())),
        None if payers.is_blank() => Some(Posted::ByNobody),
        None => None,
    };
    Told {
        batches: payers
            .batches()
            .map(|(batch, payer)| (batch.to_owned(), payer.clone()))
            .collect(),
        loaded: payers.loaded().clone(),
        others: others.filter(|_| on_record.iter().all(|known| Some(known) == only)),
        unnamed: payers.unnamed().collect(),
    }
}

/// Returns the mark after a commit: what the mark had said, with what moved in it.
///
/// `None`: the mark is that of another journal. Another one has taken this place meanwhile, and nothing more may leave from
/// this one.
#[must_use]
pub fn advance(before: &Mark, moved: &Marked) -> Option<Marked> {
    let before = match before {
        Mark::Read(before) if before.journal != moved.journal => return None,
        Mark::Read(before) => before,
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
        given: kept_orders(&before.given, &moved.given),
        positions,
        payers,
        server: match (before.server, moved.server) {
            (Some(before), Some(moved)) => Some(before.latest(moved)),
            (before, moved) => before.or(moved),
        },
        quarantine: before.quarantine.max(moved.quarantine),
    })
}

#[cfg(test)]
mod tests;
