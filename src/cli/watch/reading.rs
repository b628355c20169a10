//! What all pages are read by.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::cli::Error;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::cli::terminal::progress::Pace;
use crate::domain::{BatchName, Timestamp};
use crate::engine::Progress;
use crate::journal::{Reader, Standing};
use crate::ledger::Purpose;
use crate::watch::Trouble;

/// Batches whose speed is remembered.
const PACES_MAX: usize = 64;

/// A run of this process, as it sees itself.
type Live = (BatchName, watch::Receiver<Progress>);

/// What the page is made of.
pub(super) struct Pages {
    pub(super) session: Session,
    /// The speed of each batch that is looked at.
    paces: Mutex<BTreeMap<BatchName, Pace>>,
    /// The run that the page belongs to, once it posts.
    live: Mutex<Option<Live>>,
}

impl Pages {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            session: session.clone(),
            paces: Mutex::default(),
            live: Mutex::default(),
        }
    }

    pub(super) fn reader(&self) -> Result<Reader, Error> {
        Ok(Reader::open(self.session.location()?)?)
    }

    /// Returns the time of now, as the pages of a batch tell times.
    pub(super) fn as_of(&self, standing: &Standing) -> String {
        let zone = self.session.zone(is_rehearsal(standing.purpose));
        zone.format_named(Timestamp::now())
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the run of this process says of itself, where it is about this batch.
    pub(super) fn progress(&self, batch: &BatchName) -> Option<Progress> {
        let live = self.live();
        let (_, progress) = live.as_ref().filter(|(name, _)| name == batch)?;
        let now = progress.borrow().clone();
        // Nothing was told of it yet.
        (now.at.as_millis() > 0).then_some(now)
    }

    pub(super) fn with_pace<T>(&self, batch: &BatchName, with: impl FnOnce(&mut Pace) -> T) -> T {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if !paces.contains_key(batch) && paces.len() >= PACES_MAX {
            paces.clear();
        }
        with(paces.entry(batch.clone()).or_default())
    }
}

/// What is wrong, as a page says it: what happened, and what to do.
pub(super) fn trouble(error: &Error) -> Trouble {
    let hint = error.first_hint().map(|hint| format!(". {hint}"));
    let text = format!("{}{}", error.message(), hint.unwrap_or_default());
    let text = output::shown(&text);
    // What is refused is not there; anything else may be there the next time.
    match error.code() {
        2 => Trouble::NotThere(text),
        _ => Trouble::Failed(text),
    }
}

pub(super) fn batch_name(text: &str) -> Result<BatchName, Trouble> {
    BatchName::parse(text).map_err(|_| Trouble::NotThere("There is no batch of this name.".into()))
}

pub(super) fn is_rehearsal(purpose: Purpose) -> bool {
    purpose == Purpose::Rehearsal
}

pub(super) fn shown(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts
        .into_iter()
        .map(|text| output::shown(&text).trim().to_owned())
        .collect()
}
