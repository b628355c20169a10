//! What the journal says, read when somebody asks for it, and not again at once.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::BatchName;
use crate::journal::{Error, Figures, Location, Reader, holder};

/// So old may figures be.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// Of the time no more than the reading of one in so many is spent on it, however large the journal is.
const SHARE: u32 = 20;

/// Where the journal is, and what was read there last.
#[derive(Debug)]
pub(super) struct JournalFigures {
    at: Location,
    last: Mutex<Option<Read>>,
}

/// What is told of the journal.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// `None`: it cannot be read.
    pub(super) figures: Option<Figures>,
    /// Whether somebody runs a batch of it.
    pub(super) runs: bool,
}

#[derive(Debug)]
struct Read {
    batch: Option<BatchName>,
    told: Told,
    until: Instant,
}

impl JournalFigures {
    pub(super) fn of(at: Location) -> Self {
        let last = Mutex::new(None);
        Self { at, last }
    }

    /// Returns the figures of a batch, or of all; those of a moment ago where they are fresh enough. It blocks.
    // Under the lock: of several that ask at once, one reads.
    pub(super) fn read(&self, batch: Option<&BatchName>) -> Told {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        if let Some(read) = &*last
            && began < read.until
            && read.batch.as_ref() == batch
        {
            return read.told.clone();
        }
        let figures = Reader::open(&self.at).and_then(|reader| reader.figures(batch));
        let figures = match figures {
            // It is being loaded.
            Err(Error::Missing { .. } | Error::UnknownBatch { .. }) => Ok(Figures::default()),
            figures => figures,
        };
        if let Err(error) = &figures {
            tracing::warn!(%error, "metrics: the journal cannot be read");
        }
        let figures = figures.ok();
        let is_at_work = figures.as_ref().is_some_and(|figures| figures.runs);
        let told = Told {
            runs: is_at_work || holder(&self.at).is_some(),
            figures,
        };
        let now = Instant::now();
        let pause = (now - began).saturating_mul(SHARE).max(FRESH_FOR);
        *last = Some(Read {
            batch: batch.cloned(),
            told: told.clone(),
            until: now + pause,
        });
        told
    }
}
