//! One notice after another is handed out, and comes back delivered, or with what it met.

use std::time::Duration;

use crate::domain::{NoticeId, Timestamp};
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, NextNotice};
use crate::ledger::notices::LONGEST_PAUSE;
use crate::store::tables::notice;
use crate::store::{Reads, Scan, Test, Write, Writes, shape};

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
        self.ask_again(CommitMode::Shared, move |c| {
            next(c, at_once, now, now.after(lease))
        })
        .await
    }

    /// Notes that a notice was delivered.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn notice_delivered(&self, id: String) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            shape! {
                struct Delivered of notice { body: Option<String>, trouble: Option<String> }
            }
            let own = Scan::by(&notice::by_id).at(&id);
            let (body, trouble) = (None, None);
            c.change(&own, &Delivered { body, trouble })?;
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
        shape! {
            struct Failed of notice { trouble: String, due_at: Timestamp }
        }
        let failed = Failed {
            trouble,
            due_at: due,
        };
        self.ask_again(CommitMode::Shared, move |c| {
            let own = Scan::by(&notice::by_id)
                .at(&id)
                .only(notice::body, Test::Present);
            c.change(&own, &failed)?;
            Ok(())
        })
        .await
    }
}

shape! {
    /// A notice that waits.
    struct Waiting of notice {
        notice_id: NoticeId, id: String, body: String, attempts: u32, due_at: Timestamp, trouble: Option<String>,
    }
}
shape! {
    /// An attempt that is under way.
    struct Leased of notice { attempts: u32, due_at: Timestamp, trouble: Option<String> }
}

fn next(
    c: &dyn Write,
    at_once: bool,
    now: Timestamp,
    leased_until: Timestamp,
) -> Result<NextNotice, Error> {
    let first: Option<Waiting> = c.first(&Scan::by(&notice::notice_waiting))?;
    let Some(first) = first else {
        return Ok(NextNotice::Nothing);
    };
    // No pause is longer: a later time was set by a clock that was wrong.
    let due = match first.due_at {
        due if due > now.after(LONGEST_PAUSE) => now,
        due => due,
    };
    // A person does not wait for the pause after an attempt that failed, but for one that is under way.
    if due > now && !(at_once && first.trouble.is_some()) {
        return Ok(NextNotice::NotBefore(due));
    }
    let attempts = first.attempts.saturating_add(1);
    let own = Scan::of(&notice::TABLE).at(&first.notice_id);
    let leased = Leased {
        attempts,
        due_at: leased_until,
        trouble: None,
    };
    c.change(&own, &leased)?;
    Ok(NextNotice::Deliver {
        id: first.id,
        body: first.body,
        attempts,
    })
}
