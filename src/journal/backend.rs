//! What is asked of a journal that is open for writing.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::domain::{BatchName, BootTime, LaneId, PayerTransactionId, PaymentId, Timestamp};
use crate::journal::codec::catalog::knows;
use crate::journal::load::already_loaded;
use crate::journal::load::loading;
use crate::journal::payments::callbacks;
use crate::journal::payments::record;
use crate::journal::recovery::opened::opened;
use crate::journal::run::lanes;
use crate::journal::run::sessions;
use crate::journal::run::{due, due_questions, verbs};
use crate::journal::schema::open::Missing;
use crate::journal::session::fence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::session::watched_clock::Counter;
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{
    Acquired, Claim, Clearance, Closed, Due, Error, Finding, Halt, IncomingCallback, LoadPlan,
    LoadRow, Loaded, Location, Question, ReadBy, Received, RunTerms, RunToken, Standing,
    Transition,
};
use crate::ledger::HeldFor;
use crate::ledger::slots::{Granted, RunnerTime, SlotRequest};
use crate::lifecycle::{Policy, StepContext};
use crate::store::tables::batch;
use crate::store::{Reads, Scan, Test, Transact};

impl Journal {
    /// Opens a journal, making it when it is not there: a file, that is.
    ///
    /// # Errors
    /// Refuses files that are not ours, links, newer schemas.
    pub fn open(at: &Location) -> Result<Self, Error> {
        Self::start(at, Missing::Create)
    }

    /// Opens a journal that must be there.
    ///
    /// # Errors
    /// As [`Self::open`], and [`Error::Missing`].
    pub fn open_existing(at: &Location) -> Result<Self, Error> {
        Self::start(at, Missing::Refuse)
    }

    /// Makes a journal under a name that nobody else knows.
    ///
    /// What it holds is on disk only once its last handle is dropped and the file is synced: whoever gives it its name
    /// does that first. Until then a crash leaves a file that is worth nothing.
    ///
    /// # Errors
    /// As [`Self::open`], and when there is such a file.
    pub fn aside(path: &Path) -> Result<Self, Error> {
        Self::start(&Location::from(path), Missing::Aside)
    }

    fn start(at: &Location, missing: Missing) -> Result<Self, Error> {
        Self::over(at, opened(at, missing)?, missing)
    }

    /// Opens a journal in memory, for simulated time.
    #[cfg(test)]
    pub(crate) fn simulated(
        disk: crate::journal::writer::simulated::Disk,
        process: crate::journal::writer::simulated::Process,
    ) -> Self {
        disk.take_place();
        Self::inline(crate::journal::writer::simulated::Inline::new(
            disk, process,
        ))
    }

    /// Loads a file, all or nothing. The rows arrive in blocks, until the sender hangs up.
    ///
    /// # Errors
    /// Any failure leaves the journal as it was.
    pub async fn load(
        &self,
        mut plan: LoadPlan,
        rows: Receiver<Vec<LoadRow>>,
    ) -> Result<Loaded, Error> {
        self.ask(move |connection| {
            plan.now = connection.time(plan.now)?;
            loading::load(connection, &plan, rows)
        })
        .await
    }

    /// Tells what [`Self::load`] would say of a file that its batch has already, without the work of a load; `None` when
    /// that is not so, and the file is to be loaded.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn recall(
        &self,
        plan: LoadPlan,
        rows: Receiver<Vec<LoadRow>>,
    ) -> Result<Option<Loaded>, Error> {
        self.ask(move |c| already_loaded::recall(c, &plan, rows))
            .await
    }

    /// Returns whether the journal has a batch of this name.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn has_batch(&self, name: BatchName) -> Result<bool, Error> {
        self.read(move |c| Ok(crate::journal::codec::values::batch_id(c, name.as_str())?.is_some()))
            .await
    }

    /// Returns whether the journal has any batch that is no rehearsal: one that has none knows of no payment.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn has_payments(&self) -> Result<bool, Error> {
        let payments = || Scan::of(&batch::TABLE).only(batch::rehearsal, Test::is_not(&true));
        self.read(move |c| Ok(c.any(&payments())?)).await
    }

    /// Takes a batch for a run: pins its gateway, begins a new epoch, and turns intents without an outcome into doubts.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::OtherGateway`], [`Error::OtherWire`], [`Error::OtherAccount`]; [`Error::SessionClosed`] where the
    /// clock of the store was set since that of the run began.
    pub async fn acquire(
        &self,
        batch: BatchName,
        terms: RunTerms,
        policy: Arc<Policy>,
    ) -> Result<Acquired, Error> {
        // What the run's clock shows by the time that the transaction has its turn.
        let since = Counter::start();
        self.ask_again(CommitMode::Alone, move |c| {
            let shows = terms.shows.map(|shows| shows.after(since.elapsed()));
            let terms = RunTerms {
                shows: planted!(journal::clock_of_run(shows)),
                ..terms.clone()
            };
            verbs::acquire(c, &batch, &terms, &policy)
        })
        .await
    }

    /// Carries out a verb of a run, unless the clock of the store was set since it began: its session ends then, with what that changes.
    async fn ask_of_run<T: Send + 'static, W>(
        &self,
        token: RunToken,
        mut work: W,
    ) -> Result<T, Error>
    where
        W: FnMut(&mut WriteSession) -> Result<T, Error> + Send + 'static,
    {
        let of_verb = (std::any::type_name::<W>(), None);
        self.ask_named(CommitMode::Shared, of_verb, move |c| {
            Ok(match sessions::clock_was_set(c, token, c.turn())? {
                true => Err(Error::SessionClosed {
                    why: Closed::ClockSet,
                }),
                false => Ok(work(c)?),
            })
        })
        .await?
    }

    /// Records the intent to post up to `limit` due payments of lanes that are not held; says what is due after them, and
    /// why the run must end, where a payment is met that must not be claimed.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn claim(
        &self,
        token: RunToken,
        limit: usize,
        now: Timestamp,
        policy: Arc<Policy>,
    ) -> Result<(Vec<Claim>, Due, Option<Halt>), Error> {
        self.ask_of_run(token, move |c| {
            let (claims, halt) = verbs::claim(c, token, limit, now, &policy)?;
            Ok((claims, due::due(c, token, now)?, halt))
        })
        .await
    }

    /// Turns intents without an outcome into doubts; returns how many. Only for a run that has nothing under way.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn abandon(
        &self,
        token: RunToken,
        now: Timestamp,
        policy: Arc<Policy>,
    ) -> Result<u64, Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            verbs::abandon_own(c, token, now, &policy)
        })
        .await
    }

    /// Holds every lane of a batch, so that neither this run nor a later one posts more.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn hold_all(
        &self,
        token: RunToken,
        why: HeldFor,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            lanes::hold_all(c, token, why, now)
        })
        .await
    }

    /// Says of claims, just before they leave, whether they still may.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn clearances(
        &self,
        token: RunToken,
        seqs: Vec<PaymentId>,
        now: Timestamp,
        policy: Arc<Policy>,
    ) -> Result<Vec<(PaymentId, Clearance)>, Error> {
        self.ask_of_run(token, move |c| {
            verbs::clearances(c, token, &seqs, now, &policy)
        })
        .await
    }

    /// Returns up to `limit` payments that are due to be asked about, and puts them off to the end of their lease.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn questions(
        &self,
        token: RunToken,
        limit: usize,
        now: Timestamp,
        lease: Timestamp,
    ) -> Result<(Vec<Question>, Due), Error> {
        self.ask_of_run(token, move |c| {
            let questions = due_questions::questions(c, token, limit, now, lease)?;
            Ok((questions, due::due(c, token, now)?))
        })
        .await
    }

    /// Records evidence and returns how the payments moved, in the same order.
    ///
    /// A run names itself: what is left of one that was taken over must not make a payment of the next one ready again.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn record(
        &self,
        by: Option<RunToken>,
        findings: Vec<Finding>,
        moment: StepContext,
        policy: Arc<Policy>,
    ) -> Result<Vec<Transition>, Error> {
        let Some(token) = by else {
            return self
                .ask_again(CommitMode::Shared, move |c| {
                    record::record(c, &findings, moment, &policy)
                })
                .await;
        };
        self.ask_of_run(token, move |c| {
            fence::assert_current(c, token)?;
            record::record(c, &findings, moment, &policy)
        })
        .await
    }

    /// Returns when the next post and the next question are due.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over: a run that looks every second learns of it within that time.
    pub async fn due(&self, token: RunToken, now: Timestamp) -> Result<Due, Error> {
        self.ask_of_run(token, move |c| {
            fence::assert_current(c, token)?;
            sessions::renew(c, token)?;
            due::due(c, token, now)
        })
        .await
    }

    /// Ends the session of a run that shares the journal with others: what it has claimed without an outcome is in doubt.
    ///
    /// # Errors
    /// Faults of the journal: the session ends with its lease then.
    pub async fn leave(&self, token: RunToken, policy: Arc<Policy>) -> Result<u64, Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            sessions::leave(c, token, &policy)
        })
        .await
    }

    /// Returns the time by the clock of the store.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        self.ask_again(CommitMode::Shared, |c| Ok(Transact::now(&**c)?))
            .await
    }

    /// Notes since when no post and no question has left, at the end of a run.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn rest(
        &self,
        token: RunToken,
        posts: BootTime,
        questions: BootTime,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            crate::journal::run::rest::rest(c, token, posts, questions)
        })
        .await
    }

    /// Grants slots to leave in to a run that shares its account with others: `clock` reads the clock of the run, which they are
    /// mapped to. They are the run's once this returns, and nobody else's.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn slots(
        &self,
        token: RunToken,
        request: SlotRequest,
        clock: impl Fn() -> RunnerTime + Send + 'static,
    ) -> Result<Granted, Error> {
        self.ask_of_run(token, move |c| {
            crate::journal::run::slots::slots(c, token, &request, &clock)
        })
        .await
    }

    /// Returns counts and amounts per state.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn standing(&self, batch: BatchName) -> Result<Standing, Error> {
        self.read(move |c| crate::journal::read::batch_status::standing(c, &batch))
            .await
    }

    /// Holds a lane for want of float, or opens it again.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn hold_lane(
        &self,
        token: RunToken,
        lane: LaneId,
        reason: String,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            lanes::hold_lane(c, token, lane, &reason, now)
        })
        .await
    }

    /// Opens a held lane.
    ///
    /// # Errors
    /// [`Error::Fenced`] when another run has taken over.
    pub async fn reopen_lane(&self, token: RunToken, lane: LaneId) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            lanes::reopen_lane(c, token, lane)
        })
        .await
    }

    /// Stores a callback and applies it.
    ///
    /// # Errors
    /// Faults of the journal: the callback must not be acknowledged then.
    pub async fn callback(
        &self,
        note: IncomingCallback,
        moment: StepContext,
        policy: Arc<Policy>,
    ) -> Result<Received, Error> {
        self.callback_read_by(note, moment, policy, None).await
    }

    /// As [`Self::callback`], of a listener that reads for one gateway and in one way: what it hears of a batch that belongs to another
    /// gateway, or whose replies are read in another way, is kept unread, and the gateway is asked.
    ///
    /// # Errors
    /// As there.
    pub async fn callback_read_by(
        &self,
        note: IncomingCallback,
        moment: StepContext,
        policy: Arc<Policy>,
        by: Option<Arc<ReadBy>>,
    ) -> Result<Received, Error> {
        self.ask_about(CommitMode::Patient, Some(note.id), move |c| {
            let moment = c.moment(moment)?;
            callbacks::callback(c, &note, moment, &policy, by.as_deref())
        })
        .await
    }

    /// Returns the key of the callback addresses, making it when there is none: 32 bytes.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn callback_key(&self) -> Result<Vec<u8>, Error> {
        self.ask_again(CommitMode::Alone, |c| verbs::callback_key(c))
            .await
    }

    /// Looks up a payment by its identifier in any batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn knows(&self, id: PayerTransactionId) -> Result<bool, Error> {
        // Whoever asks goes on to write: of a journal that was moved it is told that.
        self.ask_again(CommitMode::Shared, move |c| knows(c, id))
            .await
    }
}
