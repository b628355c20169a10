//! One notice after another is handed out, and comes back delivered, or with what it met.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::domain::Timestamp;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, NextNotice};
use crate::ledger::notices::LONGEST_PAUSE;

impl Journal {
    /// Hands out the oldest notice that waits. Nobody else is given it before the lease is over; those behind it wait for it.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn next_notice(
        &self,
        at_once: bool,
        now: Timestamp,
        lease: Duration,
    ) -> Result<NextNotice, Error> {
        self.ask(CommitMode::Shared, move |c| {
            next(c, at_once, now, now.after(lease))
        })
        .await
    }

    /// Notes that a notice was delivered.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn notice_delivered(&self, id: String) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| {
            c.execute(
                "update notice set body = null, trouble = null where id = ?1",
                [id],
            )?;
            Ok(())
        })
        .await
    }

    /// Notes what the delivery of a notice met, and when it is tried again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn notice_failed(
        &self,
        id: String,
        trouble: String,
        due: Timestamp,
    ) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| {
            c.execute(
                "update notice set trouble = ?2, due_at = ?3 where id = ?1 and body is not null",
                (id, trouble, due.as_millis()),
            )?;
            Ok(())
        })
        .await
    }
}

fn next(
    c: &Connection,
    at_once: bool,
    now: Timestamp,
    leased_until: Timestamp,
) -> Result<NextNotice, Error> {
    type Waiting = (i64, String, String, u32, i64, Option<String>);
    let first: Option<Waiting> = c
        .prepare_cached(
            "select notice_id, id, body, attempts, due_at, trouble from notice where body is not null order by notice_id limit 1",
        )?
        .query_row([], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        })
        .optional()?;
    let Some((number, id, body, attempts, due_at, trouble)) = first else {
        return Ok(NextNotice::Nothing);
    };
    // No pause is longer: a later time was set by a clock that was wrong.
    let due = match Timestamp::from_millis(due_at) {
        due if due > now.after(LONGEST_PAUSE) => now,
        due => due,
    };
    // A person does not wait for the pause after an attempt that failed, but for one that is under way.
    if due > now && !(at_once && trouble.is_some()) {
        return Ok(NextNotice::NotBefore(due));
    }
    let attempts = attempts.saturating_add(1);
    c.prepare_cached(
        "update notice set attempts = ?2, due_at = ?3, trouble = null where notice_id = ?1",
    )?
    .execute((number, attempts, leased_until.as_millis()))?;
    Ok(NextNotice::Deliver { id, body, attempts })
}
