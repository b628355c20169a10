//! What was told of a batch, and what is told now.

use super::waiting::count_waiting;
use crate::domain::{BatchId, BatchName, NoticeId, Timestamp};
use crate::journal::codec::catalog::{batches, known_batch, name, of_batch};
use crate::journal::codec::values::{corrupt, state_number};
use crate::journal::read::reader::Reader;
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, NewNotice, NoticeBatch};
use crate::ledger::notices::{Condition, NoticeKind, Told, body, changes, notice_id};
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, notice, seen_open, tally};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// While so many wait no further ones are made: what they would tell stands, and is told once there is room.
const WAITING_MAX: u64 = 1000;

impl Reader {
    /// Returns what is on record of the notices of a batch.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub fn notices_of(&self, batch: &BatchName) -> Result<NoticeBatch, Error> {
        let batch_id = known_batch(self.store(), batch)?;
        Ok(on_record(self.store(), batch_id)?.0)
    }

    /// Returns when anything was learned last, of whichever batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn last_evidence_at(&self) -> Result<Option<Timestamp>, Error> {
        let newest = Scan::of(&evidence::TABLE).descending();
        Ok(self.store().value(&newest, evidence::at)?)
    }

    /// Returns the batches of which something may be to be told, oldest first: those that are unfinished or in conflict, and those of
    /// which something stands that was told.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches_to_watch(&self) -> Result<Vec<BatchName>, Error> {
        let c = self.store();
        let mut watched = Vec::new();
        for batch_id in batches(c)? {
            if is_unfinished(c, batch_id)? || was_open(c, batch_id)? || stands(c, batch_id)? {
                watched.push(of_batch(c, batch_id, batch::name)?);
            }
        }
        Ok(watched)
    }
}

/// Returns whether payments of a batch have not ended, or are in conflict.
fn is_unfinished(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    shape! {
        struct Counted of tally { count: i64, state: i64 }
    }
    let ended = [State::Paid, State::Failed, State::Cancelled].map(state_number);
    let mut is_unfinished = false;
    let of_batch = Scan::of(&tally::TABLE).at(&batch_id);
    c.each(&of_batch, |Counted { count, state }| {
        is_unfinished |= count > 0 && !ended.contains(&state);
        Ok::<_, Error>(())
    })?;
    Ok(is_unfinished)
}

/// Returns whether a batch was seen unfinished, and its end was not told since.
fn was_open(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    Ok(c.any(&Scan::of(&seen_open::TABLE).at(&batch_id))?)
}

/// Returns whether something was told of a batch that may cease to be so, and was so when somebody looked last.
fn stands(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let for_good = [NoticeKind::Finished, NoticeKind::FailuresAbove].map(NoticeKind::name);
    let stands = Scan::by(&notice::notice_standing)
        .at(&batch_id)
        .only(notice::kind, Test::is_not(&for_good[0]))
        .only(notice::kind, Test::is_not(&for_good[1]));
    Ok(c.any(&stands)?)
}

impl Journal {
    /// Notes that a batch is unfinished, where it is, so that its end is told; nothing else is.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub async fn note_open(&self, batch: BatchName) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| note_open(c, &batch))
            .await
    }

    /// Makes the notices of what is so, where it was not told, and notes what is no longer so; returns how many were made.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub async fn make_notices(
        &self,
        batch: BatchName,
        is_open: bool,
        so: Vec<NewNotice>,
        now: Timestamp,
    ) -> Result<usize, Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-notices-are-made");
            make(c, &batch, is_open, &so, now)
        })
        .await
    }
}

shape! {
    struct SeenOpen of seen_open { batch_id: BatchId }
}

fn note_open(c: &dyn Write, batch: &BatchName) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    if is_unfinished(c, batch_id)? {
        c.insert_new(&SeenOpen { batch_id })?;
    }
    Ok(())
}

fn make(
    c: &dyn Write,
    batch: &BatchName,
    is_open: bool,
    so: &[NewNotice],
    now: Timestamp,
) -> Result<usize, Error> {
    let batch_id = known_batch(c, batch)?;
    let (record, rows) = on_record(c, batch_id)?;
    let conditions: Vec<Condition> = so.iter().map(|new| new.condition.clone()).collect();
    let found = changes(&conditions, &record.told, record.was_open, now);
    let journal = name(c)?;
    let mut room = WAITING_MAX.saturating_sub(count_waiting(c)?);
    let mut made = 0;
    for place in &found.make {
        if room == 0 {
            break;
        }
        room -= 1;
        made += 1;
        insert(c, journal, (batch, batch_id), &so[*place], now)?;
    }
    for place in &found.fallen {
        let own = Scan::of(&notice::TABLE).at(&rows[*place]);
        c.set(&own, notice::stands, &false)?;
    }
    if is_open && !record.was_open {
        c.insert(&SeenOpen { batch_id })?;
    } else if !is_open && made == found.make.len() {
        c.remove(&Scan::of(&seen_open::TABLE).at(&batch_id))?;
    }
    forget(c, batch_id)?;
    Ok(made)
}

shape! {
    struct Made of notice {
        id: String, batch_id: BatchId, kind: String, subject: String, nth: i64, figure: u64, made_at: Timestamp, stands: bool,
        body: String,
    }
}

fn insert(
    c: &dyn Write,
    journal: [u8; 16],
    (batch, batch_id): (&BatchName, BatchId),
    new: &NewNotice,
    now: Timestamp,
) -> Result<(), Error> {
    let Condition {
        kind,
        subject,
        figure,
    } = &new.condition;
    let name = kind.name();
    let like = Scan::by(&notice::notice_of_batch)
        .at(&batch_id)
        .at(&name)
        .at(subject);
    let earlier: Vec<i64> = c.values(&like, notice::nth)?;
    let nth = earlier.into_iter().max().unwrap_or(0) + 1;
    let id = notice_id(
        journal,
        batch.as_str(),
        &new.condition,
        nth.unsigned_abs(),
        &new.data,
    );
    // One stands of each subject: the newest.
    let standing = like.only(notice::stands, Test::is(&true));
    c.set(&standing, notice::stands, &false)?;
    c.append(&Made {
        id,
        batch_id,
        kind: name.to_owned(),
        subject: subject.clone(),
        nth,
        figure: *figure,
        made_at: now,
        stands: true,
        body: body(name, now, &new.data),
    })?;
    Ok(())
}

/// Forgets what was delivered, is no longer so, and is not the newest of its subject.
fn forget(c: &dyn Write, batch_id: BatchId) -> Result<(), Error> {
    shape! {
        struct Kept of notice { notice_id: NoticeId, kind: String, subject: String, stands: bool, body: Option<String> }
    }
    // Those of one subject stand together, the newest first.
    let newest_first = Scan::by(&notice::notice_of_batch)
        .at(&batch_id)
        .descending();
    let (mut newest, mut old) = (None, Vec::new());
    c.each(&newest_first, |kept: Kept| {
        let about = Some((kept.kind, kept.subject));
        if newest != about {
            newest = about;
        } else if kept.body.is_none() && !kept.stands {
            old.push(kept.notice_id);
        }
        Ok::<_, Error>(())
    })?;
    for number in old {
        c.remove(&Scan::of(&notice::TABLE).at(&number))?;
    }
    Ok(())
}

/// Returns what was told of a batch, and the rows in which that stands.
fn on_record(c: &dyn Read, batch_id: BatchId) -> Result<(NoticeBatch, Vec<NoticeId>), Error> {
    shape! {
        struct Row of notice {
            notice_id: NoticeId, kind: String, subject: String, figure: i64, made_at: Timestamp, stands: bool,
        }
    }
    let of_batch = Scan::by(&notice::notice_of_batch).at(&batch_id);
    let mut rows: Vec<Row> = c.list(&of_batch)?;
    rows.sort_unstable_by_key(|row| row.notice_id);
    let (mut told, mut numbers) = (Vec::new(), Vec::new());
    for row in rows {
        numbers.push(row.notice_id);
        told.push(Told {
            kind: NoticeKind::of(&row.kind).ok_or_else(|| corrupt("an unknown kind of notice"))?,
            subject: row.subject,
            figure: row.figure.unsigned_abs(),
            made_at: row.made_at,
            stands: row.stands,
        });
    }
    let was_open = was_open(c, batch_id)?;
    Ok((NoticeBatch { told, was_open }, numbers))
}
