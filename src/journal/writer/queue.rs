//! The thread that writes: verbs that wait take turns, and share transactions.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::commit::Work;
use super::commit::commit;
use super::file_id::FileId;
use crate::domain::WorkMeter;
use crate::journal::schema::open::Missing;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Kind};

/// Verbs that share one transaction at most: of a file, and of a store whose turns others wait for.
const GROUP: [usize; 2] = [256, 1024];
/// How long verbs that are patient wait for others at most: a commit costs the same for one and for many.
const GATHER: Duration = Duration::from_millis(2);
/// So many of them wait for no more.
const GATHERED: usize = 32;
/// They wait no longer than this while no other one comes.
const PAUSE: Duration = Duration::from_micros(500);

pub(in crate::journal) struct Job {
    pub(in crate::journal) work: Work,
    pub(in crate::journal) manner: CommitMode,
    /// Hears of the commit.
    pub(in crate::journal) asker: Asker,
}

/// Who waits for a commit, and where.
pub(in crate::journal) struct Asker {
    pub(in crate::journal) reply: oneshot::Sender<Result<(), Error>>,
    pub(in crate::journal) runtime: Handle,
}

/// How a verb shares its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum CommitMode {
    /// It has one of its own, which its refusal rolls back.
    Alone,
    /// With what waits already.
    Shared,
    /// With what comes within [`GATHER`]: who asks for it sends the next one before this one is answered.
    Patient,
}

/// Carries out verbs until nobody can ask for any. Once one has met a fault, which is told to whoever watches, none is carried out any more.
pub(in crate::journal) fn serve(
    mut connection: WriteSession,
    jobs: &Receiver<Job>,
    missing: Missing,
    (counted, file): (&WorkMeter, &FileId),
    failed: &watch::Sender<Option<Error>>,
) {
    let is_shared = connection.is_shared();
    let most = GROUP[usize::from(is_shared)];
    let mut waiting: Option<Job> = None;
    while let Some(first) = waiting.take().or_else(|| jobs.recv().ok()) {
        let mut group;
        (group, waiting) = gather(first, jobs, most);
        let may_join = is_shared && group[0].manner != CommitMode::Alone;
        let (works, mut askers): (Vec<_>, Vec<_>) =
            group.drain(..).map(|job| (job.work, job.asker)).unzip();
        let latch = failed.borrow().clone();
        let outcome = match &latch {
            Some(error) => Err(Error::Poisoned {
                cause: Box::new(error.clone()),
            }),
            // Nothing is recorded, or acknowledged, in a file that nobody will open again.
            None if missing != Missing::Aside && !file.is_in_place() => Err(Error::Displaced),
            None => {
                let began = Instant::now();
                let outcome = commit(&mut connection, works, || {
                    if may_join && waiting.is_none() {
                        waiting = take_waiting(&mut group, jobs, most - askers.len());
                    }
                    let more = group.drain(..).map(|job| (job.work, job.asker));
                    let (works, theirs): (Vec<_>, Vec<_>) = more.unzip();
                    askers.extend(theirs);
                    works
                });
                counted.add(began.elapsed(), askers.len());
                outcome
            }
        };
        if let Err(error) = &outcome
            && error.kind() == Kind::Fault
            && latch.is_none()
        {
            failed.send_replace(Some(error.clone()));
        }
        let is_done = outcome.is_ok();
        tell(askers, outcome);
        if is_shared && is_done {
            // What cannot be read now is read when it is claimed.
            let _ = connection.compare_ahead();
        }
    }
    // Best effort: the WAL is complete without it, and nobody who reads it is waited for.
    let Some(file) = connection.sqlite() else {
        return;
    };
    let _ = file.busy_timeout(Duration::ZERO);
    if missing == Missing::Aside {
        // Whoever opens it under its name finds it as every journal is.
        let _ = file.execute_batch("pragma journal_mode = wal");
    }
    let _ = file.execute_batch("pragma optimize; pragma wal_checkpoint(truncate)");
}

/// Tells those who share a transaction how it ended.
fn tell(askers: Vec<Asker>, outcome: Result<(), Error>) {
    let tell_each = move |askers: Vec<Asker>| {
        for asker in askers {
            // Whoever went away does not want to know.
            let _ = asker.reply.send(outcome.clone());
        }
    };
    // Each that is woken from outside its runtime costs a call of the kernel: one task is, and wakes the others.
    match askers.as_slice() {
        [first, others @ ..]
            if !others.is_empty()
                && others
                    .iter()
                    .all(|other| other.runtime.id() == first.runtime.id()) =>
        {
            let runtime = first.runtime.clone();
            runtime.spawn(async move { tell_each(askers) });
        }
        _ => tell_each(askers),
    }
}

/// Takes verbs that wait already and share their transaction, so many at most; returns one that came after them and shares none.
fn take_waiting(group: &mut Vec<Job>, jobs: &Receiver<Job>, most: usize) -> Option<Job> {
    while group.len() < most {
        match jobs.try_recv() {
            Ok(job) if job.manner == CommitMode::Alone => return Some(job),
            Ok(job) => group.push(job),
            Err(_) => break,
        }
    }
    None
}

/// Returns the verbs that share a transaction with the first one, so many at most, and one that came after them and shares none.
fn gather(first: Job, jobs: &Receiver<Job>, most: usize) -> (Vec<Job>, Option<Job>) {
    let mut group = vec![first];
    let mut until: Option<Instant> = None;
    while group[0].manner != CommitMode::Alone {
        let before = group.len();
        // Verbs that came while the last group was being committed share the next one.
        if let Some(alone) = take_waiting(&mut group, jobs, most) {
            return (group, Some(alone));
        }
        let is_patient = |job: &Job| job.manner == CommitMode::Patient;
        let paused = until.is_some();
        let until = *until.get_or_insert_with(|| Instant::now() + GATHER);
        let nobody_came = paused && group.len() == before;
        if nobody_came
            || group.len() >= GATHERED
            || Instant::now() >= until
            || !group.iter().all(is_patient)
        {
            break;
        }
        // Not woken for each that comes: that costs more than the verb itself.
        std::thread::sleep(PAUSE);
    }
    (group, None)
}
