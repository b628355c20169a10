//! One transaction that writes: its store, and what is known while it lasts.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::deferred_queries::DeferredQueries;
use super::following::{Beside, Following};
use super::keeper::Keeper;
use super::limiter::Limiter;
use super::members::counted;
use super::ordered::{GivenOrder, Ordered};
use super::payment_cache::{self, PaymentCache};
use super::subject::Subject;
use super::tallies::{self, Moves};
use super::watched_clock::{Counter, Turn, WatchedClock};
use crate::domain::{
    Actor, BatchId, Country, Epoch, EvidenceId, Money, Msisdn, PayerTransactionId, Payment,
    PaymentId, PhraseId, ServiceCode, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::append::Kind;
use crate::journal::evidence::body_digest::BodyDigest;
use crate::journal::evidence::chain::{Chain, Evidence};
use crate::journal::evidence::salt::Salt;
use crate::journal::relocation::facts::{assert_arrived, assert_not_moved};
use crate::journal::verify::intact::Intact;
use crate::ledger::calendar::{BatchDates, Calendar, Gate};
use crate::ledger::confirmation::Allowance;
use crate::ledger::payer::{AsLoaded, Payer};
use crate::ledger::recovery::Order;
use crate::lifecycle::{State, StepContext};
use crate::store::{self, Append, Clash, Column, Read, Row, Scan, Table, Transact, Value, Write};

/// The store that is written, with the chains that its transaction extends and the sums that it moves.
pub(in crate::journal) struct WriteSession {
    keeper: Keeper,
    chain: RefCell<Chain>,
    tallies: RefCell<Moves>,
    recent: RefCell<PaymentCache>,
    /// Who gave the command that the transaction carries out.
    actor: RefCell<Option<Arc<Actor>>>,
    /// What it orders that people may have to sign for.
    ordered: RefCell<Ordered>,
    /// By their batches.
    waits: RefCell<BTreeMap<BatchId, DeferredQueries>>,
    intact: RefCell<BTreeMap<BatchId, Intact>>,
    allowances: RefCell<BTreeMap<BatchId, Allowance>>,
    /// As they were when the transaction began: what it took is not taken where it comes to nothing.
    allowances_before: RefCell<BTreeMap<BatchId, Allowance>>,
    calendars: RefCell<BTreeMap<BatchId, Arc<Calendar>>>,
    limiters: RefCell<BTreeMap<BatchId, Limiter>>,
    following: Following,
    /// How long the transaction waited for those before it.
    waited: Cell<Duration>,
    /// The clock of the store, as runs of this process count beside it.
    clocks: RefCell<BTreeMap<Epoch, WatchedClock>>,
    counter: Counter,
    /// What was counted when the transaction had its turn, and before.
    turn: Cell<Turn>,
    /// What was counted when the one asked that waits for it.
    asked: Cell<Option<Duration>>,
    /// When the transaction asked the store for the time.
    asked_at: Cell<Option<Timestamp>>,
    /// Since when, by its own clock, the store was there whenever it was asked.
    reached_since: Cell<Option<Timestamp>>,
    /// What is on record of recoveries was compared with the chains, and nobody else has written since.
    knows_recoveries: Cell<bool>,
    /// Where a load keeps what it finds until it has looked at all of its file: nothing of it is part of the journal.
    scratch: OnceCell<Connection>,
}

impl WriteSession {
    pub(in crate::journal) fn new(keeper: impl Into<Keeper>) -> Self {
        Self {
            keeper: keeper.into(),
            chain: RefCell::default(),
            tallies: RefCell::default(),
            recent: RefCell::default(),
            waits: RefCell::default(),
            actor: RefCell::default(),
            ordered: RefCell::default(),
            intact: RefCell::default(),
            allowances: RefCell::default(),
            allowances_before: RefCell::default(),
            calendars: RefCell::default(),
            limiters: RefCell::default(),
            following: Following::default(),
            waited: Cell::default(),
            clocks: RefCell::default(),
            counter: Counter::start(),
            turn: Cell::default(),
            asked: Cell::default(),
            asked_at: Cell::default(),
            reached_since: Cell::default(),
            knows_recoveries: Cell::default(),
            scratch: OnceCell::new(),
        }
    }

    /// Notes that a transaction asks for its turn, if it has not asked yet.
    pub(in crate::journal) fn ask_for_turn(&self) {
        let asked = self.asked.get().unwrap_or_else(|| self.counter.elapsed());
        self.asked.set(Some(asked));
    }

    /// It has not got it.
    pub(in crate::journal) fn wait_no_more(&self) {
        self.asked.take();
    }

    /// Notes how long the transaction that begins waited for those before it.
    pub(in crate::journal) fn note_wait(&self, waited: Duration) {
        self.waited.set(waited);
    }

    /// Notes that the store was not there, or others were in the way for too long.
    pub(in crate::journal) fn note_trouble(&self) {
        self.reached_since.take();
    }

    /// Returns since when the store was there whenever it was asked; it is now.
    pub(in crate::journal) fn reached_since(&self, now: Timestamp) -> Timestamp {
        let since = self.reached_since.get().unwrap_or(now);
        self.reached_since.set(Some(since));
        since
    }

    /// Returns how long the transaction waited for those before it: others may have waited as long.
    pub(in crate::journal) fn waited(&self) -> Duration {
        self.waited.get()
    }

    /// From now on, a mark follows what is written.
    pub(in crate::journal) fn follow(&mut self, mark: Beside) {
        self.following.mark = Some(mark);
    }

    /// From now on, the journal says which copy of it is written, also when a standby takes over, or commits wait for standbys no more.
    pub(in crate::journal) fn follow_copy(&self) {
        self.following.follow_copy();
    }

    /// Lets the mark follow what this transaction appends to a batch. Called before anything is appended.
    pub(in crate::journal) fn mark(&self, batch_id: BatchId) {
        if self.following.mark.is_some() {
            self.chain.borrow_mut().mark(batch_id);
        }
    }

    /// Lets the mark follow a run that begins.
    pub(in crate::journal) fn mark_epoch(&self, epoch: Epoch) {
        self.following.take_epoch(epoch);
    }

    /// Lets the mark say for how long the run that begins takes "not found" for no proof.
    pub(in crate::journal) fn mark_quarantine(&self, quarantine: Duration) {
        self.following.take_quarantine(quarantine);
    }

    /// Lets the mark follow an order of a person that a copy must not forget.
    pub(in crate::journal) fn mark_order(&self, order: Order) {
        self.following.take_order(order);
    }

    /// Lets the mark say from which account a batch is posted.
    pub(in crate::journal) fn mark_payer(
        &self,
        batch: &str,
        payer: &Payer,
        loaded: Option<AsLoaded>,
    ) {
        self.following.take_payer(batch, payer, loaded);
    }

    /// Writes what a commit moved into the mark, before anything that rests on it leaves.
    pub(in crate::journal) fn advance_mark(&mut self) -> Result<(), Error> {
        let positions = self.chain.borrow_mut().take_marked();
        self.following.advance(self.keeper.store(), positions)
    }

    /// Returns the time of what somebody tells: that of the store, where processes of several machines share it.
    // Each of them has a clock of its own, and waits begin and end by whichever told it last. All verbs of a transaction have one time:
    // that at which nobody else could write any more, as each question costs a round trip.
    pub(in crate::journal) fn time(&self, told: Timestamp) -> Result<Timestamp, Error> {
        match self.is_shared() {
            true => self.store_time(),
            false => Ok(told),
        }
    }

    /// Returns the time of a transaction of a store that processes of several machines share.
    pub(in crate::journal) fn store_time(&self) -> Result<Timestamp, Error> {
        let known = self.asked_at.get();
        let asked = match known.or_else(|| self.keeper.store().began_at()) {
            Some(asked) => asked,
            None => Transact::now(&**self)?,
        };
        self.asked_at.set(Some(asked));
        Ok(asked)
    }

    /// The same of a moment.
    pub(in crate::journal) fn moment(&self, told: StepContext) -> Result<StepContext, Error> {
        Ok(StepContext {
            now: self.time(told.now)?,
            ..told
        })
    }

    /// Says who gave the command that is carried out next, and what they may order.
    pub(in crate::journal) fn hand_to(&self, actor: Option<Arc<Actor>>, ordered: Ordered) {
        self.actor.replace(actor);
        self.ordered.replace(ordered);
    }

    /// Takes an order in that people may have to sign for.
    pub(in crate::journal) fn give(&self, order: GivenOrder) {
        self.ordered.borrow_mut().given.push(order);
    }

    /// Takes out what was ordered.
    pub(in crate::journal) fn take_ordered(&self) -> Ordered {
        self.ordered.take()
    }

    /// Returns who gave the command.
    pub(in crate::journal) fn actor(&self) -> Option<Arc<Actor>> {
        self.actor.borrow().clone()
    }

    /// Gives the store back.
    #[cfg(test)]
    pub(in crate::journal) fn into_inner(self) -> Keeper {
        self.keeper
    }

    /// Forgets what an earlier transaction knew: another process may have written since.
    ///
    /// Called inside the transaction that begins.
    pub(in crate::journal) fn begin(&self) -> Result<(), Error> {
        self.asked_at.take();
        let had = self.counter.elapsed();
        let asked = self.asked.take().unwrap_or(had);
        self.turn.set(Turn { asked, had });
        self.clocks
            .borrow_mut()
            .values_mut()
            .for_each(WatchedClock::keep);
        self.following.begin();
        self.chain.borrow_mut().start();
        self.allowances_before
            .borrow_mut()
            .clone_from(&self.allowances.borrow());
        self.tallies.take();
        if self.recent.borrow_mut().begin(self.keeper.store())? {
            // Somebody else has written: the journal may have been moved while this transaction waited for its turn, from here or to here.
            assert_arrived(self.keeper.store())?;
            assert_not_moved(self.keeper.store())?;
            self.following.doubt_copy();
            self.knows_recoveries.take();
            self.chain.borrow_mut().forget_policies();
            let doubt = match self.is_shared() {
                true => Intact::read_on,
                false => Intact::doubt,
            };
            self.intact.borrow_mut().values_mut().for_each(doubt);
        }
        self.following.note_other_copy(self.keeper.store())
    }

    /// Forgets everything: what was learned in a transaction that was rolled back is not there.
    pub(in crate::journal) fn forget(&self) {
        self.chain.take();
        self.clocks
            .borrow_mut()
            .values_mut()
            .for_each(WatchedClock::forget);
        self.allowances.replace(self.allowances_before.take());
        self.following.forget();
        self.tallies.take();
        self.recent.take();
        self.intact.take();
        self.knows_recoveries.take();
    }

    /// Begins to watch the clock of the store for a run.
    pub(in crate::journal) fn watch_clock(&self, run: Epoch, clock: WatchedClock) {
        self.clocks.borrow_mut().insert(run, clock);
    }

    /// Works on the clock that is watched for a run; `None` where it is none of this process.
    pub(in crate::journal) fn watched_clock<T>(
        &self,
        run: Epoch,
        work: impl FnOnce(&mut WatchedClock) -> T,
    ) -> Option<T> {
        self.clocks.borrow_mut().get_mut(&run).map(work)
    }

    /// Returns what this process had counted when it asked for the turn of this transaction, and when it had it.
    pub(in crate::journal) fn turn(&self) -> Turn {
        self.turn.get()
    }

    /// Returns what this process has counted.
    pub(in crate::journal) fn counted(&self) -> Duration {
        self.counter.elapsed()
    }

    /// Returns the client of a store that several processes share, where it is one in memory.
    #[cfg(test)]
    pub(in crate::journal) fn client(&self) -> Option<&crate::store::memory::shared::Client> {
        match &self.keeper {
            Keeper::Shared(client) => Some(client),
            Keeper::Sqlite(_) | Keeper::Server(_) | Keeper::Memory(_) => None,
        }
    }

    /// Returns the connection, for what SQLite alone can do.
    pub(in crate::journal) fn sqlite(&self) -> Option<&Connection> {
        self.keeper.sqlite()
    }

    /// Returns a database of the transaction's own, on disk where it grows, and gone with the session.
    pub(in crate::journal) fn scratch(&self) -> Result<&Connection, Error> {
        if let Some(scratch) = self.scratch.get() {
            return Ok(scratch);
        }
        let scratch = Connection::open("")?;
        Ok(self.scratch.get_or_init(|| scratch))
    }

    pub(in crate::journal) fn knows_recoveries(&self) -> &Cell<bool> {
        &self.knows_recoveries
    }

    /// Notes that a payment stands elsewhere now; the tally is written once for a transaction, or before it is read.
    pub(in crate::journal) fn moved(&self, subject: &Subject, from: State) -> Result<(), Error> {
        let (from, to) = match subject.has_generations {
            false => {
                let minor = subject.moved.money.amount.minor();
                ((from, minor), (subject.moved.life.state, minor))
            }
            true => counted(self.keeper.store(), subject.moved.seq, from)?,
        };
        tallies::move_row(&mut self.tallies.borrow_mut(), subject, from, to);
        Ok(())
    }

    /// Writes the tally: before it is read in the same transaction.
    pub(in crate::journal) fn write_tallies(&self) -> Result<(), Error> {
        tallies::write(self.tallies.take(), self.keeper.store())
    }

    /// Returns where a payment stands, if that is known without reading it.
    pub(in crate::journal) fn recent(&self, seq: PaymentId) -> Option<Subject> {
        self.recent.borrow().get(seq)
    }

    /// Returns what was ordered of a payment, if that is known without reading it, wherever it stands now.
    pub(in crate::journal) fn recent_order(&self, seq: PaymentId) -> Option<payment_cache::Order> {
        self.recent.borrow().order(seq)
    }

    /// Remembers where a payment stands, as it was read or written in this transaction.
    pub(in crate::journal) fn remember(&self, subject: &Subject) {
        self.recent.borrow_mut().put(subject);
    }

    /// The same of a payment by its identifier.
    pub(in crate::journal) fn recent_by(&self, id: PayerTransactionId) -> Option<PaymentId> {
        self.recent.borrow().find(id)
    }

    /// Says who a payment is that was just remembered: its identifier, and to which number it goes.
    pub(in crate::journal) fn remember_payment(&self, seq: PaymentId, payment: &Payment) {
        let of = &payment.instruction;
        let is_wallet = of.account_number == of.msisdn.as_str();
        let wallet = is_wallet.then_some((of.msisdn, of.country));
        self.recent.borrow_mut().name(seq, payment.id, wallet);
    }

    /// Returns to which number a payment goes, where its account is that number and both are remembered.
    pub(in crate::journal) fn recent_wallet(&self, seq: PaymentId) -> Option<(Msisdn, Country)> {
        self.recent.borrow().wallet(seq)
    }

    /// Changes what is remembered of a payment, as it was changed in its table.
    pub(in crate::journal) fn change_recent(
        &self,
        seq: PaymentId,
        change: impl FnOnce(&mut Subject),
    ) {
        self.recent.borrow_mut().change(seq, change);
    }

    /// Forgets where payments stand: their lives were changed without a word of it.
    pub(in crate::journal) fn forget_recent(&self) {
        self.recent.borrow_mut().forget();
    }

    /// Begins to remember what the run of a batch is to ask.
    pub(in crate::journal) fn begin_waits(&self, batch_id: BatchId, waits: DeferredQueries) {
        self.waits.borrow_mut().insert(batch_id, waits);
    }

    /// Begins a run: what is claimed is compared with the chain anew, and no more leaves for the first time than was shown.
    pub(in crate::journal) fn begin_run(
        &self,
        batch_id: BatchId,
        allowance: Option<Allowance>,
        calendar: &Arc<Calendar>,
    ) {
        self.intact.borrow_mut().remove(&batch_id);
        self.calendars
            .borrow_mut()
            .insert(batch_id, Arc::clone(calendar));
        match allowance {
            Some(allowance) => self.allowances.borrow_mut().insert(batch_id, allowance),
            None => self.allowances.borrow_mut().remove(&batch_id),
        };
    }

    /// Judges whether payments of a batch may leave through a service, by the hours that its run came with.
    pub(in crate::journal) fn gate(
        &self,
        (batch_id, dates): (BatchId, BatchDates),
        service: &ServiceCode,
        now: Timestamp,
    ) -> Gate {
        let calendars = self.calendars.borrow();
        let calendar = calendars.get(&batch_id);
        match calendar {
            Some(calendar) => calendar.gate(dates, service, now),
            None => dates.gate(now),
        }
    }

    /// Takes a payment that leaves for the first time out of what was shown; `false` when it is more than that.
    pub(in crate::journal) fn allows(&self, batch_id: BatchId, money: Money) -> bool {
        let mut allowances = self.allowances.borrow_mut();
        allowances
            .get_mut(&batch_id)
            .is_none_or(|allowance| allowance.take(money))
    }

    /// Begins to limit the run of a batch, or leaves it without limits.
    pub(in crate::journal) fn limit(&self, batch_id: BatchId, limiter: Option<Limiter>) {
        match limiter {
            Some(limiter) => self.limiters.borrow_mut().insert(batch_id, limiter),
            None => self.limiters.borrow_mut().remove(&batch_id),
        };
    }

    /// Does something with the limits of the run of a batch; `None` when it has none.
    pub(in crate::journal) fn limiter<T>(
        &self,
        batch_id: BatchId,
        work: impl FnOnce(&mut Limiter) -> T,
    ) -> Option<T> {
        self.limiters.borrow_mut().get_mut(&batch_id).map(work)
    }

    /// Does something with what is known of the chain of a batch.
    pub(in crate::journal) fn intact<T>(
        &self,
        batch_id: BatchId,
        work: impl FnOnce(&mut Intact) -> T,
    ) -> T {
        let written = self.chain.borrow().written_about_rows();
        let mut intact = self.intact.borrow_mut();
        let intact = intact.entry(batch_id).or_default();
        intact.note_written(written);
        work(intact)
    }

    /// Compares instructions with the chain from which runs of this process are likely to claim next: no turn is needed for it, and
    /// whoever has it is not kept waiting.
    pub(in crate::journal) fn compare_ahead(&self) -> Result<(), Error> {
        let mut intact = self.intact.borrow_mut();
        let mut intact = intact.iter_mut();
        intact
            .try_for_each(|(batch_id, intact)| intact.compare_ahead(self.keeper.store(), *batch_id))
    }

    /// Takes out what runs remember.
    #[cfg(test)]
    pub(in crate::journal) fn take_waits(&self) -> BTreeMap<BatchId, DeferredQueries> {
        self.waits.take()
    }

    /// Does something with what the run of a batch remembers; `None` when it is not run by this process.
    // What was remembered in a transaction that was rolled back costs a look for nothing.
    pub(in crate::journal) fn waits<T>(
        &self,
        batch_id: BatchId,
        work: impl FnOnce(&mut DeferredQueries) -> T,
    ) -> Option<T> {
        self.waits.borrow_mut().get_mut(&batch_id).map(work)
    }

    /// Appends one row of evidence.
    pub(in crate::journal) fn append(&self, row: &Evidence<'_>) -> Result<(), Error> {
        self.chain.borrow_mut().append(self.keeper.store(), row)
    }

    /// Returns the number of the row of evidence that was appended last in this transaction.
    pub(in crate::journal) fn newest_evidence(&self) -> Result<EvidenceId, Error> {
        let newest = self.chain.borrow().newest();
        newest.ok_or_else(|| corrupt("a claim without evidence"))
    }

    /// Returns the number of a text that the gateway said.
    pub(in crate::journal) fn phrase(&self, text: &str) -> Result<PhraseId, Error> {
        self.chain.borrow_mut().phrase(self.keeper.store(), text)
    }

    /// Returns kinds and digests of a payment's evidence with a digest that waits to be written.
    pub(in crate::journal) fn waiting_digests(
        &self,
        seq: PaymentId,
    ) -> Vec<(Kind, BodyDigest, Option<Salt>)> {
        self.chain.borrow().waiting_digests(seq)
    }

    /// Writes the evidence that waits: before any of it is read in the same transaction.
    pub(in crate::journal) fn flush(&self) -> Result<(), Error> {
        self.chain.borrow_mut().flush(self.keeper.store())
    }

    /// Writes the evidence that waits and the heads, as the last statements of a transaction.
    pub(in crate::journal) fn save(&self) -> Result<(), Error> {
        self.write_tallies()?;
        self.chain.borrow_mut().save(self.keeper.store())
    }

    /// Does what needs the store and the chains at once.
    pub(in crate::journal) fn with<T>(
        &self,
        work: impl FnOnce(&dyn Write, &mut Chain) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(self.keeper.store(), &mut self.chain.borrow_mut())
    }
}

// What is remembered is not looked at here: the rows as the transaction has them.
impl Read for WriteSession {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), store::Error> {
        self.keeper.store().scan_rows(scan, columns, visit)
    }

    fn expect(&self, wanted: &[Scan<'_>]) -> Result<(), store::Error> {
        self.keeper.store().expect(wanted)
    }

    fn come_to(&self, numbers: &[i64], nth: usize) -> Result<(), store::Error> {
        self.keeper.store().come_to(numbers, nth)
    }

    fn misfits(&self) -> Result<Vec<String>, store::Error> {
        self.keeper.store().misfits()
    }

    fn damage(&self) -> Result<Vec<String>, store::Error> {
        self.keeper.store().damage()
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, store::Error> {
        self.keeper.store().count_rows(scan)
    }
}

impl Write for WriteSession {
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, store::Error> {
        self.keeper.store().insert_rows(table, columns, rows, clash)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, store::Error> {
        self.keeper.store().appender(table, columns)
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, store::Error> {
        self.keeper.store().change_rows(scan, columns, values)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, store::Error> {
        self.keeper.store().remove_rows(scan)
    }

    fn allocate(&self, table: &'static Table, count: u64) -> Result<i64, store::Error> {
        self.keeper.store().allocate(table, count)
    }
}

impl Deref for WriteSession {
    type Target = dyn Transact;

    fn deref(&self) -> &Self::Target {
        self.keeper.store()
    }
}
