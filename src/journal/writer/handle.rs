//! The one writer: a thread that owns the connection and commits in groups.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::{oneshot, watch};

use super::commit::Work;
use super::file_id::FileId;
use super::queue::{Asker, CommitMode, Job, serve};
use crate::domain::{Actor, PayerTransactionId, WorkMeter};
use crate::journal::approval::orders::assert_signed;
use crate::journal::schema::open::Missing;
use crate::journal::session::ordered::Ordered;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Location};
use crate::ledger::approval::rule::Rule;
use crate::store::Read;

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
    at: Location,
    file: FileId,
    is_shared: bool,
    commits: Arc<WorkMeter>,
    /// Why nothing more is carried out.
    failed: watch::Receiver<Option<Error>>,
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
        at: &Location,
        connection: WriteSession,
        missing: Missing,
    ) -> Result<Self, Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let commits = Arc::new(WorkMeter::default());
        let counted = Arc::clone(&commits);
        let file = at.file().map(FileId::of).unwrap_or_default();
        let opened = file.clone();
        let is_shared = connection.is_shared();
        let (tell, failed) = watch::channel(None);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || serve(connection, &jobs, missing, (&counted, &opened), &tell))
            .map_err(|cause| Error::Open {
                path: at.to_string().into(),
                cause: cause.to_string(),
            })?;
        Ok(Self {
            shared: Arc::new(Shared {
                at: at.clone(),
                file,
                is_shared,
                commits,
                failed,
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
                at: Location::from(""),
                file: FileId::default(),
                is_shared: inline.is_shared(),
                commits: Arc::default(),
                failed: watch::channel(None).1,
                queue: Mutex::new(None),
                thread: Mutex::new(None),
                inline: Some(inline),
            }),
            actor: None,
            rule: None,
            is_proposed: false,
        }
    }

    /// Returns whether the file that was opened still has its name: what is recorded in another one nobody finds again. A server is
    /// always in its place.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.shared.file.is_in_place()
    }

    /// Returns, once it is so, why it carries out nothing more: whoever goes on has to open it anew.
    pub async fn failure(&self) -> Error {
        let mut failed = self.shared.failed.clone();
        match failed.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(error)) => error.clone(),
            // The writer has ended in good order.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Returns whether several runs use it at once: each has a session then, and the store tells the time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared.is_shared
    }

    /// Returns where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.shared.at
    }

    /// Returns what is counted of its commits: how long each took, and the verbs that they carried.
    #[must_use]
    pub fn commits(&self) -> Arc<WorkMeter> {
        Arc::clone(&self.shared.commits)
    }

    /// Has the writer carry out a verb, which takes what it needs with it, in a transaction of its own: those that share one with a verb
    /// that cannot be carried out anew could not be, either.
    pub(in crate::journal) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let value = Arc::new(Mutex::new(None));
        let (slot, hand) = (Arc::clone(&value), self.hand());
        let work = Work::Once(Some(Box::new(move |connection| {
            let found = hand.carry_out(connection, work)?;
            put(&slot, found);
            Ok(())
        })));
        Box::pin(self.perform(CommitMode::Alone, work)).await?;
        take(&value).ok_or_else(stopped)
    }

    /// Has the writer carry out a verb that reads alone.
    pub(in crate::journal) async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&dyn Read) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let work = Work::Reads(Box::new(move |c: &dyn Read| {
            put(&slot, work(c)?);
            Ok(())
        }));
        Box::pin(self.perform(CommitMode::Alone, work)).await?;
        take(&value).ok_or_else(stopped)
    }

    /// The same of a verb that may be carried out anew, where the transaction came to nothing: a store that several processes share
    /// loses a connection now and then.
    pub(in crate::journal) async fn ask_again<T: Send + 'static>(
        &self,
        manner: CommitMode,
        work: impl FnMut(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.ask_about(manner, None, work).await
    }

    /// The same of a verb that looks for a payment by its identifier: a store that is far away reads those of a whole group at once.
    pub(in crate::journal) async fn ask_about<T: Send + 'static, W>(
        &self,
        manner: CommitMode,
        about: Option<PayerTransactionId>,
        work: W,
    ) -> Result<T, Error>
    where
        W: FnMut(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    {
        let name = std::any::type_name::<W>();
        self.ask_named(manner, (name, about), work).await
    }

    /// The same of a verb by its name.
    pub(in crate::journal) async fn ask_named<T: Send + 'static>(
        &self,
        manner: CommitMode,
        (name, about): (&'static str, Option<PayerTransactionId>),
        mut work: impl FnMut(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let value = Arc::new(Mutex::new(None));
        let (slot, hand) = (Arc::clone(&value), self.hand());
        let again = Box::new(move |connection: &mut WriteSession| {
            let found = hand.carry_out(connection, &mut work)?;
            put(&slot, found);
            Ok(())
        });
        let work = Work::Again { again, name, about };
        Box::pin(self.perform(manner, work)).await?;
        take(&value).ok_or_else(stopped)
    }

    /// In whose hands a verb is carried out.
    fn hand(&self) -> Hand {
        Hand {
            actor: self.actor.clone(),
            rule: self.rule.clone(),
            is_proposed: self.is_proposed,
        }
    }

    async fn perform(&self, manner: CommitMode, work: Work) -> Result<(), Error> {
        #[cfg(test)]
        if let Some(inline) = &self.shared.inline {
            return inline.perform(work).await;
        }
        let (reply, answer) = oneshot::channel();
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
        answered.map_err(|error| error.naming_holder(self.location()))
    }
}

/// Who gave a command, and under which rule.
struct Hand {
    actor: Option<Arc<Actor>>,
    rule: Option<Arc<Rule>>,
    is_proposed: bool,
}

impl Hand {
    fn carry_out<T>(
        &self,
        connection: &mut WriteSession,
        work: impl FnOnce(&mut WriteSession) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let ordered = Ordered {
            configured: self.rule.clone(),
            is_proposed: self.is_proposed,
            given: Vec::new(),
        };
        connection.hand_to(self.actor.clone(), ordered);
        let found = work(connection)?;
        assert_signed(connection)?;
        Ok(found)
    }
}

/// Where the value of a verb waits for the commit.
type Slot<T> = Mutex<Option<T>>;

fn put<T>(slot: &Slot<T>, value: T) {
    *slot
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(value);
}

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take()
}

fn stopped() -> Error {
    Error::Poisoned {
        cause: Box::new(Error::fault("the writer has stopped")),
    }
}
