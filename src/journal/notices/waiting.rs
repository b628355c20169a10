//! The notices that wait, for a person.

use crate::domain::{BatchId, Timestamp};
use crate::journal::codec::catalog::of_batch;
use crate::journal::read::reader::Reader;
use crate::journal::{Error, NoticeWaiting, NoticesWaiting};
use crate::store::tables::{batch, notice};
use crate::store::{Read, Reads, Scan, shape};

shape! {
    struct Waiting of notice {
        id: String, batch_id: BatchId, kind: String, subject: String, made_at: Timestamp, attempts: u32, trouble: Option<String>,
    }
}

impl Reader {
    /// Returns how many notices wait, and the first of them, so many at most.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn notices_waiting(&self, most: u32) -> Result<NoticesWaiting, Error> {
        let c = self.store();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let oldest = Scan::by(&notice::notice_waiting).limit(most);
        let mut first = Vec::new();
        c.each(&oldest, |waiting: Waiting| {
            first.push(NoticeWaiting {
                id: waiting.id,
                batch: of_batch(c, waiting.batch_id, batch::name)?,
                kind: waiting.kind,
                subject: waiting.subject,
                made_at: waiting.made_at,
                attempts: waiting.attempts,
                trouble: waiting.trouble,
            });
            Ok::<_, Error>(())
        })?;
        let count = count_waiting(c)?;
        Ok(NoticesWaiting { count, first })
    }
}

pub(in crate::journal) fn count_waiting(c: &dyn Read) -> Result<u64, Error> {
    Ok(c.count(&Scan::by(&notice::notice_waiting))?)
}
