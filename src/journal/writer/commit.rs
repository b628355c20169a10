//! One transaction around a group of verbs.

use std::time::{Duration, Instant};

use crate::domain::PayerTransactionId;
use crate::journal::Error;
use crate::journal::relocation::facts::assert_not_moved;
use crate::journal::session::expected::expect_called;
use crate::journal::session::transaction::WriteSession;
use crate::store::{self, Read, Transact};

/// What a verb does in its transaction.
type Once = Box<dyn FnOnce(&mut WriteSession) -> Result<(), Error> + Send>;
type Again = Box<dyn FnMut(&mut WriteSession) -> Result<(), Error> + Send>;
type Looks = Box<dyn FnMut(&dyn Read) -> Result<(), Error> + Send>;

/// A verb that is carried out in a transaction.
pub(in crate::journal) enum Work {
    /// It takes what it needs with it.
    Once(Option<Once>),
    /// It may be carried out anew, where the transaction came to nothing.
    Again {
        again: Again,
        /// What it is, for as long as the program runs.
        name: &'static str,
        /// The payment that it is about, where it will be looked for by its identifier.
        about: Option<PayerTransactionId>,
    },
    /// It reads alone: whoever writes is not kept waiting by it.
    Reads(Looks),
}

impl Work {
    fn carry_out(&mut self, connection: &mut WriteSession) -> Result<(), Error> {
        match self {
            Self::Once(work) => match work.take() {
                Some(work) => work(connection),
                None => Err(Error::fault(
                    "a verb that cannot be carried out a second time",
                )),
            },
            Self::Again { again, .. } => again(connection),
            Self::Reads(looks) => looks(connection),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Once(_) | Self::Reads(_) => "",
            Self::Again { name, .. } => name,
        }
    }

    fn about(&self) -> Option<PayerTransactionId> {
        match self {
            Self::Once(_) | Self::Reads(_) => None,
            Self::Again { about, .. } => *about,
        }
    }
}

/// How long a group is carried out anew while its store loses its connections, or others are in the way: a failover takes no longer.
pub(in crate::journal) const PATIENCE: Duration = Duration::from_secs(60);
/// The first pause between two of these times; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Carries out a group of verbs, all or none; what they learned is chained before it is committed. Verbs that came while the group
/// waited for its turn join it.
///
/// Where a store says that nothing of it was written and that it may go better next time, the decisions are made again.
pub(in crate::journal) fn commit(
    connection: &mut WriteSession,
    mut works: Vec<Work>,
    mut more: impl FnMut() -> Vec<Work>,
) -> Result<(), Error> {
    let may_repeat = works.iter().all(|work| !matches!(work, Work::Once(_)));
    let began = Instant::now();
    let mut pause = PAUSE;
    loop {
        let outcome = commit_once(connection, &mut works, &mut more);
        let Err(error) = &outcome else { return outcome };
        if !may_repeat || !passes_by(error) || began.elapsed() >= PATIENCE {
            return outcome;
        }
        connection.note_trouble();
        tracing::warn!(%error, "the journal is tried again");
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Returns whether an error may be another one at the next time, and says that nothing was written.
fn passes_by(error: &Error) -> bool {
    use store::Error as E;
    matches!(
        error,
        Error::Storage {
            cause: E::DecideAgain { .. } | E::ConnectionLost { .. } | E::Busy { .. }
        }
    )
}

/// Reads in a transaction that is no turn of a writer.
fn read_once(connection: &WriteSession, looks: &mut Looks) -> Result<(), Error> {
    (**connection).begin_reading()?;
    // What is read of a journal that was moved is what it was.
    let found = match connection.is_shared() {
        true => Ok(()),
        false => assert_not_moved(&**connection),
    };
    let found = found.and_then(|()| looks(&**connection));
    (**connection).rollback()?;
    found
}

fn commit_once(
    connection: &mut WriteSession,
    works: &mut Vec<Work>,
    more: &mut dyn FnMut() -> Vec<Work>,
) -> Result<(), Error> {
    if let [Work::Reads(looks)] = works.as_mut_slice() {
        return read_once(connection, looks);
    }
    // Another writer is waited for here, where nothing has been done yet.
    let waits = Instant::now();
    let names: Vec<&'static str> = works.iter().map(Work::name).collect();
    connection.plan(&names);
    connection.ask_for_turn();
    Transact::begin(&**connection).inspect_err(|_| connection.wait_no_more())?;
    connection.note_wait(waits.elapsed());
    let joining = more();
    let names: Vec<&'static str> = joining.iter().map(Work::name).collect();
    works.extend(joining);
    let done = connection
        .plan_more(&names)
        .map_err(Error::from)
        .and_then(|()| connection.begin())
        .and_then(|()| expect_called(connection, works.iter().filter_map(Work::about)))
        .and_then(|()| {
            works.iter_mut().try_for_each(|work| {
                connection.enter_verb(work.name());
                work.carry_out(connection)
            })
        })
        .and_then(|()| match connection.is_open() {
            true => connection.save(),
            false => Ok(()),
        });
    match done {
        Ok(()) => {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-commit");
            // A job that had nothing to write may have ended the transaction itself.
            let writes = connection.is_open();
            if writes && let Err(error) = end(&**connection) {
                let _ = connection.rollback();
                connection.forget();
                return planted!(journal::failed_commit(Err(error)));
            }
            #[cfg(debug_assertions)]
            crate::failpoints::pass("after-commit");
            match writes {
                true => connection.advance_mark(),
                false => Ok(()),
            }
        }
        Err(error) => {
            connection.forget();
            if connection.is_open() {
                connection.rollback()?;
            }
            Err(error)
        }
    }
}

fn end(connection: &dyn Transact) -> Result<(), Error> {
    #[cfg(test)]
    if let Some(failure) = crate::journal::writer::fuse::failure(connection) {
        return Err(failure.into());
    }
    Ok(connection.commit()?)
}
