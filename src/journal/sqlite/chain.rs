//! The hash chain of a batch's evidence.
//!
//! Every row of evidence has a SHA-256 over itself and the hash of the row before it in its batch; the first rests on who
//! pays, the batch's name and its date. Every 64th hash of a chain is written down, and the last one as its head; those
//! between them can be computed. What stands in other tables is on the chain as well: a row of evidence holds the digest of an upload, of a
//! bill, of a pinned gateway, of a file that was loaded, of a block of instructions.
//!
//! Rows, heads and what they speak of are one transaction: a crash leaves all of it or nothing.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::append::{self, WAITING_MAX, Waiting};
use super::canon::{Canon, Digest, Terms, genesis};
use super::evidence::{Subject, Tallies};
use super::generations;
use super::intact::Intact;
use super::phrases::Phrases;
use super::recent::Recent;
use super::row::corrupt;
use super::waits::Waits;
use crate::domain::{Actor, Money, PayerTransactionId, Said, Timestamp};
use crate::journal::Error;
use crate::journal::mark::Place;
use crate::ledger::confirmation::Allowance;
use crate::ledger::payer::{AsLoaded, Payer, Payers};
use crate::ledger::recovery::{JournalId, Marked, Order, Position};
use crate::lifecycle::{Policy, State};

/// Kind, class and code of a row of evidence.
pub(super) type Kind = (i64, Option<i64>, Option<i32>);

/// A row of evidence, as it is appended.
#[derive(Clone, Copy, Default)]
pub(super) struct Evidence<'a> {
    pub(super) batch_id: i64,
    /// The payment; 0 for what is about the batch.
    pub(super) seq: i64,
    pub(super) at: Timestamp,
    pub(super) kind: Kind,
    pub(super) anomaly: Option<&'a str>,
    pub(super) digest: Option<&'a Digest>,
    pub(super) detail: Option<&'a str>,
    pub(super) words: Words<'a>,
    /// What it is judged by, where waits enter into it.
    pub(super) policy: Option<&'a Policy>,
}

/// What the gateway said of a payment. A text that is empty was not said.
#[derive(Clone, Copy, Default)]
pub(super) struct Words<'a> {
    pub(super) gateway_transaction_id: Option<&'a str>,
    pub(super) receipt_number: Option<&'a str>,
    pub(super) receiver_narration: Option<&'a str>,
    pub(super) description: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn of(said: &'a Said) -> Self {
        fn full(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        Self {
            gateway_transaction_id: said.gateway_transaction_id.as_ref().map(|id| id.as_str()),
            receipt_number: said.receipt_number.as_deref().and_then(full),
            receiver_narration: said.receiver_narration.as_deref().and_then(full),
            description: full(&said.description),
        }
    }

    pub(super) fn are_some(self) -> bool {
        self.all().iter().any(Option::is_some)
    }

    /// In the order in which they are hashed.
    fn all(self) -> [Option<&'a str>; 4] {
        [
            self.gateway_transaction_id,
            self.receipt_number,
            self.receiver_narration,
            self.description,
        ]
    }
}

/// Of so many rows of a chain one has its hash written down: whatever was changed is found within so many rows.
const WRITTEN_DOWN: i64 = 64;
/// How far the chain of a batch reaches.
#[derive(Clone, Copy)]
struct Head {
    length: i64,
    hash: Digest,
    moved: bool,
}

/// The chains that a transaction extends.
#[derive(Default)]
pub(super) struct Chain {
    heads: BTreeMap<i64, Head>,
    /// Number of the newest row of evidence; `None` until it is asked for.
    newest: Option<i64>,
    policies: Vec<(Terms, i64)>,
    waiting: Vec<Waiting>,
    phrases: Phrases,
    /// Batches whose evidence the mark beside the journal is to follow, and how far it had come when it was last written.
    marking: BTreeMap<i64, Option<Position>>,
}

impl Chain {
    /// Begins the chain of a batch.
    pub(super) fn begin(c: &Connection, batch_id: i64) -> Result<(), Error> {
        c.execute(
            "insert into chain (batch_id, length, head) values (?1, 0, ?2)",
            params![batch_id, &genesis(c, batch_id)?[..]],
        )?;
        Ok(())
    }

    pub(super) fn append(&mut self, c: &Connection, row: &Evidence<'_>) -> Result<(), Error> {
        if self.waiting.len() >= WAITING_MAX {
            self.flush(c)?;
        }
        let evidence_id = self.next(c)?;
        let (policy_id, terms) = match row.policy {
            Some(policy) => {
                let terms = Terms::of(policy);
                (Some(self.policy(c, terms)?), Some(terms))
            }
            None => (None, None),
        };
        let phrase_id = match row.words.description {
            Some(text) => Some(self.phrases.number(c, text)?),
            None => None,
        };
        let head = self.head(c, row.batch_id)?;
        let (event, class, code) = row.kind;
        let mut canon = Canon::after(&head.hash);
        canon.integer(evidence_id);
        canon.integer(row.seq);
        canon.integer(row.at.as_millis());
        canon.integer(event);
        canon.maybe(class, Canon::integer);
        canon.maybe(code.map(i64::from), Canon::integer);
        canon.maybe(row.anomaly, Canon::text);
        canon.maybe(row.digest.map(|digest| &digest[..]), Canon::bytes);
        canon.maybe(row.detail, Canon::text);
        canon.terms(terms);
        canon.words(row.words.all());
        *head = Head {
            length: head.length + 1,
            hash: canon.finish(),
            moved: true,
        };
        let hash = (head.length % WRITTEN_DOWN == 0).then_some(head.hash);
        let own = |text: Option<&str>| text.map(str::to_owned);
        self.waiting.push(Waiting {
            evidence_id,
            seq: row.seq,
            at: row.at.as_millis(),
            kind: row.kind,
            anomaly: own(row.anomaly),
            digest: row.digest.copied(),
            detail: own(row.detail),
            batch_id: row.batch_id,
            policy_id,
            hash,
            phrase_id,
            gateway_transaction_id: own(row.words.gateway_transaction_id),
            receipt_number: own(row.words.receipt_number),
            receiver_narration: own(row.words.receiver_narration),
        });
        self.newest = Some(evidence_id);
        Ok(())
    }

    /// Writes the rows that wait.
    fn flush(&mut self, c: &Connection) -> Result<(), Error> {
        // What the mark names is looked up by its number: its hash is written down.
        for (batch_id, position) in &mut self.marking {
            let mut newest = self.waiting.iter_mut().rev();
            if let Some(row) = newest.find(|row| row.batch_id == *batch_id)
                && let Some(head) = self.heads.get(batch_id)
            {
                row.hash = Some(head.hash);
                *position = Some(Position {
                    batch_id: *batch_id,
                    length: head.length.unsigned_abs(),
                    evidence_id: row.evidence_id,
                    head: head.hash,
                });
            }
        }
        append::append(c, &self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Takes a row that is there already into the chain, and returns its hash.
    pub(super) fn take_in(
        &mut self,
        c: &Connection,
        batch_id: i64,
        seal: impl FnOnce(&Digest) -> Result<Digest, Error>,
    ) -> Result<Digest, Error> {
        let head = self.head(c, batch_id)?;
        let hash = seal(&head.hash)?;
        *head = Head {
            length: head.length + 1,
            hash,
            moved: true,
        };
        Ok(hash)
    }

    fn next(&mut self, c: &Connection) -> Result<i64, Error> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => c
                .prepare_cached("select coalesce(max(evidence_id), 0) from evidence")?
                .query_row([], |row| row.get(0))?,
        };
        Ok(newest + 1)
    }

    fn head(&mut self, c: &Connection, batch_id: i64) -> Result<&mut Head, Error> {
        use std::collections::btree_map::Entry;
        match self.heads.entry(batch_id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let found: Option<(i64, Digest)> = c
                    .prepare_cached("select length, head from chain where batch_id = ?1")?
                    .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let (length, hash) = found
                    .ok_or_else(|| corrupt(format!("batch {batch_id} has no chain of evidence")))?;
                Ok(entry.insert(Head {
                    length,
                    hash,
                    moved: false,
                }))
            }
        }
    }

    fn policy(&mut self, c: &Connection, terms: Terms) -> Result<i64, Error> {
        if let Some((_, id)) = self.policies.iter().find(|(known, _)| *known == terms) {
            return Ok(*id);
        }
        let [quarantine, exposures, settle, query] = terms.0;
        let found: Option<i64> = c
            .prepare_cached(
                "select policy_id from policy where not_found_quarantine = ?1 and exposures_max = ?2 and settle_on = ?3
                     and status_query = ?4",
            )?
            .query_row(params![quarantine, exposures, settle, query], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                c.execute(
                    "insert into policy (not_found_quarantine, exposures_max, settle_on, status_query) values (?1, ?2, ?3, ?4)",
                    params![quarantine, exposures, settle, query],
                )?;
                c.last_insert_rowid()
            }
        };
        self.policies.push((terms, id));
        Ok(id)
    }

    /// Forgets what an earlier transaction knew: another process may have written since. Phrases never change.
    fn start(&mut self) {
        self.heads.clear();
        self.newest = None;
        self.policies.clear();
        self.waiting.clear();
        self.marking.clear();
    }

    /// Writes what waits, and the heads that moved. Without it nothing that was appended may be committed.
    pub(super) fn save(&mut self, c: &Connection) -> Result<(), Error> {
        self.flush(c)?;
        for (batch_id, head) in self.heads.iter_mut().filter(|(_, head)| head.moved) {
            c.prepare_cached("update chain set length = ?2, head = ?3 where batch_id = ?1")?
                .execute(params![batch_id, head.length, &head.hash[..]])?;
            head.moved = false;
        }
        Ok(())
    }
}

/// The connection that writes, with the chains that its transaction extends and the sums that it moves.
pub(super) struct Chained {
    connection: Connection,
    chain: RefCell<Chain>,
    tallies: RefCell<Tallies>,
    recent: RefCell<Recent>,
    /// Who gave the command that the transaction carries out.
    actor: RefCell<Option<Arc<Actor>>>,
    /// By their batches.
    waits: RefCell<BTreeMap<i64, Waits>>,
    intact: RefCell<BTreeMap<i64, Intact>>,
    allowances: RefCell<BTreeMap<i64, Allowance>>,
    /// Where the mark of the journal is, and what it says of the journal itself; a journal that is made aside has none yet.
    mark: Option<Beside>,
    /// A run began in this transaction.
    new_epoch: Cell<Option<i64>>,
    /// A person gave an order in this transaction: so many are on record now.
    new_orders: Cell<Option<u64>>,
    /// And these were given.
    new_given: RefCell<Vec<Order>>,
    /// Batches that were taken for an account in this transaction.
    new_payers: RefCell<Payers>,
    /// What is on record of recoveries was compared with the chains, and nobody else has written since.
    knows_recoveries: Cell<bool>,
}

/// The mark of a journal, and what never changes of it.
pub(super) struct Beside {
    pub(super) place: Place,
    pub(super) journal: JournalId,
    pub(super) born: Option<u64>,
    pub(super) epoch: i64,
    pub(super) orders: u64,
}

impl Chained {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            chain: RefCell::default(),
            tallies: RefCell::default(),
            recent: RefCell::default(),
            waits: RefCell::default(),
            actor: RefCell::default(),
            intact: RefCell::default(),
            allowances: RefCell::default(),
            mark: None,
            new_epoch: Cell::default(),
            new_orders: Cell::default(),
            new_given: RefCell::default(),
            new_payers: RefCell::default(),
            knows_recoveries: Cell::default(),
        }
    }

    /// From now on, a mark follows what is written.
    pub(super) fn follow(&mut self, mark: Beside) {
        self.mark = Some(mark);
    }

    /// Lets the mark follow what this transaction appends to a batch. Called before anything is appended.
    pub(super) fn mark(&self, batch_id: i64) {
        if self.mark.is_some() {
            self.chain.borrow_mut().marking.entry(batch_id).or_default();
        }
    }

    /// Lets the mark follow a run that begins.
    pub(super) fn mark_epoch(&self, epoch: i64) {
        self.new_epoch.set(Some(epoch));
    }

    /// Lets the mark follow an order of a person that a copy must not forget.
    pub(super) fn mark_order(&self, order: Order) {
        self.new_orders.set(Some(order.number));
        self.new_given.borrow_mut().push(order);
    }

    /// Lets the mark say from which account a batch is posted.
    pub(super) fn mark_payer(&self, batch: &str, payer: &Payer, loaded: Option<AsLoaded>) {
        self.new_payers.borrow_mut().take_as(batch, payer, loaded);
    }

    /// Writes what a commit moved into the mark, before anything that rests on it leaves.
    pub(super) fn advance_mark(&mut self) -> Result<(), Error> {
        let marking = std::mem::take(&mut self.chain.borrow_mut().marking);
        let (epoch, orders) = (self.new_epoch.take(), self.new_orders.take());
        let (payers, given) = (self.new_payers.take(), self.new_given.take());
        let Some(mark) = &mut self.mark else {
            return Ok(());
        };
        let positions: Vec<Position> = marking.into_values().flatten().collect();
        if positions.is_empty() && epoch.is_none() && orders.is_none() && payers.is_empty() {
            return Ok(());
        }
        mark.epoch = epoch.unwrap_or(mark.epoch).max(mark.epoch);
        mark.orders = orders.unwrap_or(mark.orders).max(mark.orders);
        mark.place.advance(&Marked {
            journal: mark.journal,
            born: mark.born,
            epoch: mark.epoch,
            orders: mark.orders,
            given,
            positions,
            payers,
        })
    }

    /// Says who gave the command that is carried out next.
    pub(super) fn hand_to(&self, actor: Option<Arc<Actor>>) {
        self.actor.replace(actor);
    }

    /// Returns who gave the command.
    pub(super) fn actor(&self) -> Option<Arc<Actor>> {
        self.actor.borrow().clone()
    }

    /// Gives the connection back.
    #[cfg(test)]
    pub(super) fn into_inner(self) -> Connection {
        self.connection
    }

    /// Forgets what an earlier transaction knew: another process may have written since.
    ///
    /// Called inside the transaction that begins.
    pub(super) fn begin(&self) -> Result<(), Error> {
        self.new_epoch.take();
        self.new_orders.take();
        self.new_given.take();
        self.chain.borrow_mut().start();
        self.tallies.take();
        if self.recent.borrow_mut().begin(&self.connection)? {
            self.knows_recoveries.take();
            self.intact
                .borrow_mut()
                .values_mut()
                .for_each(Intact::doubt);
        }
        Ok(())
    }

    /// Forgets everything: what was learned in a transaction that was rolled back is not there.
    pub(super) fn forget(&self) {
        self.chain.take();
        self.tallies.take();
        self.recent.take();
        self.intact.take();
        self.new_payers.take();
        self.knows_recoveries.take();
    }

    pub(super) fn knows_recoveries(&self) -> &Cell<bool> {
        &self.knows_recoveries
    }

    /// Notes that a payment stands elsewhere now; the tally is written once for a transaction, or before it is read.
    pub(super) fn moved(&self, subject: &Subject, from: State) -> Result<(), Error> {
        let (from, to) = match subject.has_generations {
            false => {
                let minor = subject.moved.money.amount.minor();
                ((from, minor), (subject.moved.life.state, minor))
            }
            true => generations::counted(&self.connection, subject.moved.seq, from)?,
        };
        self.tallies.borrow_mut().moved(subject, from, to);
        Ok(())
    }

    /// Writes the tally: before it is read in the same transaction.
    pub(super) fn write_tallies(&self) -> Result<(), Error> {
        self.tallies.take().write(&self.connection)
    }

    /// Returns where a payment stands, if that is known without reading it.
    pub(super) fn recent(&self, seq: i64) -> Option<Subject> {
        self.recent.borrow().get(seq)
    }

    /// Remembers where a payment stands, as it was read or written in this transaction.
    pub(super) fn remember(&self, subject: &Subject) {
        self.recent.borrow_mut().put(subject);
    }

    /// The same of a payment by its identifier.
    pub(super) fn recent_by(&self, id: PayerTransactionId) -> Option<i64> {
        self.recent.borrow().find(id)
    }

    /// Says by which identifier a payment that was just remembered is known.
    pub(super) fn remember_id(&self, seq: i64, id: PayerTransactionId) {
        self.recent.borrow_mut().name(seq, id);
    }

    /// Changes what is remembered of a payment, as it was changed in its table.
    pub(super) fn change_recent(&self, seq: i64, change: impl FnOnce(&mut Subject)) {
        self.recent.borrow_mut().change(seq, change);
    }

    /// Forgets where payments stand: their lives were changed without a word of it.
    pub(super) fn forget_recent(&self) {
        self.recent.borrow_mut().forget();
    }

    /// Begins to remember what the run of a batch is to ask.
    pub(super) fn begin_waits(&self, batch_id: i64, waits: Waits) {
        self.waits.borrow_mut().insert(batch_id, waits);
    }

    /// Begins a run: what is claimed is compared with the chain anew, and no more leaves for the first time than was shown.
    pub(super) fn begin_run(&self, batch_id: i64, allowance: Option<Allowance>) {
        self.intact.borrow_mut().remove(&batch_id);
        match allowance {
            Some(allowance) => self.allowances.borrow_mut().insert(batch_id, allowance),
            None => self.allowances.borrow_mut().remove(&batch_id),
        };
    }

    /// Takes a payment that leaves for the first time out of what was shown; `false` when it is more than that.
    pub(super) fn allows(&self, batch_id: i64, money: Money) -> bool {
        let mut allowances = self.allowances.borrow_mut();
        allowances
            .get_mut(&batch_id)
            .is_none_or(|allowance| allowance.take(money))
    }

    /// Does something with what is known of the chain of a batch.
    pub(super) fn intact<T>(&self, batch_id: i64, work: impl FnOnce(&mut Intact) -> T) -> T {
        work(self.intact.borrow_mut().entry(batch_id).or_default())
    }

    /// Takes out what runs remember.
    #[cfg(test)]
    pub(super) fn take_waits(&self) -> BTreeMap<i64, Waits> {
        self.waits.take()
    }

    /// Does something with what the run of a batch remembers; `None` when it is not run by this process.
    // What was remembered in a transaction that was rolled back costs a look for nothing.
    pub(super) fn waits<T>(&self, batch_id: i64, work: impl FnOnce(&mut Waits) -> T) -> Option<T> {
        self.waits.borrow_mut().get_mut(&batch_id).map(work)
    }

    /// Appends one row of evidence.
    pub(super) fn append(&self, row: &Evidence<'_>) -> Result<(), Error> {
        self.chain.borrow_mut().append(&self.connection, row)
    }

    /// Returns the number of a text that the gateway said.
    pub(super) fn phrase(&self, text: &str) -> Result<i64, Error> {
        self.chain
            .borrow_mut()
            .phrases
            .number(&self.connection, text)
    }

    /// Returns kinds and digests of a payment's evidence with a digest that waits to be written.
    pub(super) fn waiting_digests(&self, seq: i64) -> Vec<(Kind, Digest)> {
        let chain = self.chain.borrow();
        let of_payment = chain.waiting.iter().filter(|row| row.seq == seq);
        of_payment
            .filter_map(|row| Some((row.kind, row.digest?)))
            .collect()
    }

    /// Writes the evidence that waits: before any of it is read in the same transaction.
    pub(super) fn flush(&self) -> Result<(), Error> {
        self.chain.borrow_mut().flush(&self.connection)
    }

    /// Writes the evidence that waits and the heads, as the last statements of a transaction.
    pub(super) fn save(&self) -> Result<(), Error> {
        self.write_tallies()?;
        self.chain.borrow_mut().save(&self.connection)
    }

    /// Does what needs the connection and the chains at once.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&Connection, &mut Chain) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(&self.connection, &mut self.chain.borrow_mut())
    }
}

impl Deref for Chained {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Chained {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
