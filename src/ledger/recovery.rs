//! Whether a journal is what its place has seen last: a mark beside it says how far it had come.
//!
//! The mark is written after a commit and before the first byte that rests on it leaves, and is not synced. So it may be
//! older than the journal, after a crash or a loss of power, and that means nothing. It is never ahead of the journal that
//! it was written for: a mark that is ahead speaks of a journal that is not here any more.

use crate::lifecycle::{Life, State};

/// What tells one journal from another; a copy has the same until it is noticed.
pub type JournalId = [u8; 16];

/// The mark knows no more batches than this: those that moved last. An earlier run of another batch shows by the epoch.
pub const POSITIONS_MAX: usize = 24;

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
    /// How far its batches had come, the one that moved last at the end.
    pub positions: Vec<Position>,
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
}

impl Cause {
    /// Every cause; its number is what the journal stores.
    pub const ALL: [(i64, Self); 7] = [
        (1, Self::Backup),
        (2, Self::NoMark),
        (3, Self::UnreadableMark),
        (4, Self::OtherJournal),
        (5, Self::OtherFile),
        (6, Self::LaterRun),
        (7, Self::MissingEvidence),
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
        }
    }
}

/// Judges a journal by the mark beside it.
#[must_use]
pub fn judge(mark: &Mark, found: &Found) -> Verdict {
    #[cfg(test)]
    if crate::canary::Canary::MarkIgnored.sings() {
        return Verdict::Current;
    }
    if found.is_backup {
        return Verdict::Copy(Cause::Backup);
    }
    let marked = match mark {
        Mark::Missing if found.was_marked => return Verdict::Copy(Cause::NoMark),
        Mark::Missing => return Verdict::Fresh,
        Mark::Unreadable => return Verdict::Copy(Cause::UnreadableMark),
        Mark::Written(marked) => marked,
    };
    if marked.journal != found.journal {
        return Verdict::Copy(Cause::OtherJournal);
    }
    // What it has missed says more than that its file is another one.
    if marked.epoch > found.epoch {
        return Verdict::Behind(Cause::LaterRun);
    }
    let has_all = marked.positions.len() == found.heads.len()
        && marked
            .positions
            .iter()
            .zip(&found.heads)
            .all(|(position, head)| *head == Some(position.head));
    if !has_all {
        return Verdict::Behind(Cause::MissingEvidence);
    }
    match (marked.born, found.born) {
        (Some(then), Some(now)) if then != now => Verdict::Copy(Cause::OtherFile),
        _ => Verdict::Current,
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
        positions,
    })
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
}

/// Judges whether a recovery may be declared done: from then on, what is loaded is posted first.
///
/// # Errors
/// Why not.
pub fn may_be_done(is_open: bool, unasked: u64) -> Result<(), NotDone> {
    match (is_open, unasked) {
        (false, _) => Err(NotDone::NotOpen),
        (true, 0) => Ok(()),
        // The answers about them show how much was missed.
        (true, unasked) => Err(NotDone::Unasked(unasked)),
    }
}

#[cfg(test)]
mod tests;
