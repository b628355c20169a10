//! The one writer: a thread that owns the connection and commits in groups.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::commit::Work;
use super::file_id::FileId;
use super::queue::{Asker, CommitMode, Job, serve};
use crate::domain::{Actor, WorkMeter};
use crate::journal::Error;
use crate::journal::approval::orders::assert_signed;
use crate::journal::schema::open::Missing;
use crate::journal::session::ordered::Ordered;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::approval::rule::Rule;

/// Verbs that wait for the writer; a sender waits when there are more.
const QUEUE: usize = 1024;
/// The journal, open for writing. Clones share the one writer.
#[derive(Clone, Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    /// Whose hands it is in.
    pub(in crate::journal) actor: Option<Arc<Actor>>,
    /// The rule of now that they order under.
    pub(in crate::journal) rule: Option<Arc<Rule>>,
    /// They only want to know what would be signed.
    pub(in crate::journal) is_proposed: bool,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    file: FileId,
    is_shared: bool,
    commits: Arc<WorkMeter>,
    queue: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    #[cfg(test)]
    inline: Option<crate::journal::writer::simulated::Inline>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Closing the queue ends the thread; waiting for it leaves no transaction behind.
        if let Ok(queue) = self.queue.get_mut() {
            queue.take();
        }
        if let Some(thread) = self.thread.get_mut().ok().and_then(Option::take) {
            let _ = thread.join();
        }
    }
}

impl Journal {
    /// Starts the writer of a journal that was opened.
    pub(in crate::journal) fn over(
        path: &Path,
        connection: WriteSession,
        missing: Missing,
    ) -> Result<Self, Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let commits = Arc::new(WorkMeter::default());
        let counted = Arc::clone(&commits);
        let file = FileId::of(path);
        let opened = file.clone();
        let is_shared = connection.is_shared();
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || serve(connection, &jobs, missing, (&counted, &opened)))
            .map_err(|cause| Error::Open {
                path: path.into(),
                cause: cause.to_string(),
            })?;
        Ok(Self {
            shared: Arc::new(Shared {
                path: path.into(),
                file,
                is_shared,
                commits,
                queue: Mutex::new(Some(queue)),
                thread: Mutex::new(Some(thread)),
                #[cfg(test)]
                inline: None,
            }),
            actor: None,
            rule: None,
            is_proposed: false,
        })
    }

    /// A journal whose verbs are carried out where they are asked for.
    #[cfg(test)]
    pub(in crate::journal) fn inline(inline: crate::journal::writer::simulated::Inline) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: PathBuf::new(),
                file: FileId::default(),
                is_shared: inline.is_shared(),
                commits: Arc::default(),
                queue: Mutex::new(None),
                thread: Mutex::new(None),
                inline: Some(inline),
            }),
            actor: None,
            rule: None,
            is_proposed: false,
        }
    }

    /// Returns whether the file that was opened still has its name: what is recorded in another one nobody finds again.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.shared.file.is_in_place()
    }

    /// Returns whether several runs use it at once: each has a session then, and the store tells the time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared.is_shared
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Returns what is counted of its commits: how long each took, and the verbs that they carried.
    #[must_use]
    pub fn commits(&self) -> Arc<WorkMeter> {
        Arc::clone(&self.shared.commits)
    }

    pub(in crate::journal) async fn ask<T: Send + 'static>(
        &self,
        manner: CommitMode,
        work: impl FnOnce(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let actor = self.actor.clone();
        let ordered = Ordered {
            configured: self.rule.clone(),
            is_proposed: self.is_proposed,
            given: Vec::new(),
        };
        let work: Work = Box::new(move |connection| {
            connection.hand_to(actor, ordered);
            let found = work(connection)?;
            assert_signed(connection)?;
            *slot
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(found);
            Ok(())
        });
        #[cfg(test)]
        if let Some(inline) = &self.shared.inline {
            inline.perform(work).await?;
            return value
                .lock()
                .ok()
                .and_then(|mut v| v.take())
                .ok_or_else(stopped);
        }
        let job = Job {
            manner,
            work,
            // The value is handed over only after the commit.
            asker: Asker {
                reply,
                runtime: tokio::runtime::Handle::current(),
            },
        };
        let queue = self
            .shared
            .queue
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
            .ok_or_else(stopped)?;
        // A full queue must not block an async worker, so the waiting is done elsewhere.
        if let Err(std::sync::mpsc::TrySendError::Full(job)) = queue.try_send(job) {
            let sent = tokio::task::spawn_blocking(move || queue.send(job)).await;
            if !matches!(sent, Ok(Ok(()))) {
                return Err(stopped());
            }
        }
        let answered = answer.await.map_err(|_| stopped())?;
        answered.map_err(|error| error.naming_holder(&self.shared.path))?;
        let found = value
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        found.ok_or_else(stopped)
    }
}

fn stopped() -> Error {
    Error::Poisoned {
        cause: "the writer has stopped".into(),
    }
}
