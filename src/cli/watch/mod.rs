//! The page for a browser: what it says, read from the journal beside whoever writes. `serve` and `run --page` begin it.

mod batch;
mod batches;
mod rows;
mod saved;
mod start;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Error;
use super::session::Session;
use super::terminal::output;
use super::terminal::progress::Pace;
use crate::domain::BatchName;
use crate::engine::Progress;
use crate::journal::Reader;
use crate::ledger::Purpose;
use crate::watch::{Batch, Batches, File, Found, Payment, Rows, Source, Trouble, Wanted};

pub(in crate::cli) use start::{Watched, start};

/// Batches whose speed is remembered.
const PACES_MAX: usize = 64;

/// A run of this process, as it sees itself.
type Live = (BatchName, watch::Receiver<Progress>);

/// What the page is made of.
pub(super) struct Pages {
    session: Session,
    /// The speed of each batch that is looked at.
    paces: Mutex<BTreeMap<BatchName, Pace>>,
    /// The run that the page belongs to, once it posts.
    live: Mutex<Option<Live>>,
}

impl Pages {
    fn new(session: &Session) -> Self {
        Self {
            session: Session::new(session.common.clone()),
            paces: Mutex::default(),
            live: Mutex::default(),
        }
    }

    fn reader(&self) -> Result<Reader, Error> {
        Ok(Reader::open(self.session.journal_path())?)
    }

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the run of this process says of itself, where it is about this batch.
    fn progress(&self, batch: &BatchName) -> Option<Progress> {
        let live = self.live();
        let (_, progress) = live.as_ref().filter(|(name, _)| name == batch)?;
        let now = progress.borrow().clone();
        // Nothing was told of it yet.
        (now.at.as_millis() > 0).then_some(now)
    }

    fn with_pace<T>(&self, batch: &BatchName, with: impl FnOnce(&mut Pace) -> T) -> T {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if !paces.contains_key(batch) && paces.len() >= PACES_MAX {
            paces.clear();
        }
        with(paces.entry(batch.clone()).or_default())
    }
}

/// What is wrong, as a page says it: what happened, and what to do.
fn trouble(error: &Error) -> Trouble {
    let hint = error.first_hint().map(|hint| format!(". {hint}"));
    let text = format!("{}{}", error.message(), hint.unwrap_or_default());
    let text = output::shown(&text);
    // What is refused is not there; anything else may be there the next time.
    match error.code() {
        2 => Trouble::NotThere(text),
        _ => Trouble::Failed(text),
    }
}

fn batch_name(text: &str) -> Result<BatchName, Trouble> {
    BatchName::parse(text).map_err(|_| Trouble::NotThere("There is no batch of this name.".into()))
}

fn is_rehearsal(purpose: Purpose) -> bool {
    purpose == Purpose::Rehearsal
}

fn shown(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts
        .into_iter()
        .map(|text| output::shown(&text).trim().to_owned())
        .collect()
}

impl Source for Pages {
    fn batches(&self) -> Result<Batches, Trouble> {
        batches::view(self).map_err(|error| trouble(&error))
    }

    fn batch(&self, name: &str) -> Result<Batch, Trouble> {
        batch::view(self, &batch_name(name)?).map_err(|error| trouble(&error))
    }

    fn rows(&self, wanted: &Wanted) -> Result<Rows, Trouble> {
        rows::view(self, &batch_name(&wanted.batch)?, wanted)
    }

    fn payment(&self, batch: &str, id: &str) -> Result<Payment, Trouble> {
        rows::payment(self, &batch_name(batch)?, id).map_err(|error| trouble(&error))
    }

    fn search(&self, text: &str) -> Result<Found, Trouble> {
        rows::found(self, text).map_err(|error| trouble(&error))
    }

    fn report(&self, batch: &str, file: File) -> Result<std::fs::File, Trouble> {
        saved::report(self, &batch_name(batch)?, file)
    }
}
