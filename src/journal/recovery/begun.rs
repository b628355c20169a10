//! How a recovery begins: noticed when the journal is opened, or ordered by a person.

use std::time::Duration;

use serde_json::{Value, json};

use super::given_orders::note_lost;
use super::noticed::open_recovery;
use super::on_chain;
use super::payers;
use super::presume::{Reach, presume};
use super::server_copy;
use super::when_done;
use crate::domain::{BatchId, BatchName, EvidenceId, PaymentId, RecoveryId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::batches;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::catalog::name;
use crate::journal::codec::catalog::purpose;
use crate::journal::codec::events::RECOVERY_BEGAN;
use crate::journal::codec::facts;
use crate::journal::evidence::salt;
use crate::journal::operator::names;
use crate::journal::run::{quarantine, sessions};
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Presuming};
use crate::ledger::Purpose;
use crate::ledger::recovery::{
    Cause, Found, Mark, Order, OrdersLost, Presumption, Ran, Told, Traces, begins_recovery,
    missing_orders, orders_lost, ran_since, told,
};
use crate::store::tables::{evidence, instruction, recovery};
use crate::store::{Read, Reads, Scan, Transact, Write, Writes, shape};

/// What shows when it is noticed that a journal may have missed something.
pub(in crate::journal) struct Missing {
    cause: Cause,
    /// Orders of people that are on record.
    known: u64,
    /// Orders that are not.
    lost: OrdersLost,
    /// Those of them that are kept one by one.
    missing: Vec<Order>,
    told: Told,
    ran: Vec<Ran>,
    /// The longest quarantine, in milliseconds, that a run here had.
    quarantine: u64,
    /// It was just made: whatever it has was loaded after what may be missing.
    is_new: bool,
}

impl Missing {
    pub(in crate::journal) fn of(
        c: &dyn Read,
        cause: Cause,
        traces: &Traces,
        found: &Found,
    ) -> Result<Self, Error> {
        Ok(Self {
            cause,
            known: found.orders,
            lost: orders_lost(traces, found),
            missing: missing_orders(traces, found),
            told: told(traces, found, &payers::on_record(c)?),
            ran: ran_since(traces, found),
            quarantine: match &traces.mark {
                Mark::Read(marked) => marked.quarantine,
                Mark::Missing | Mark::Unreadable => 0,
            },
            is_new: found.is_new(),
        })
    }
}

/// Begins a recovery: the journal gets a new name, and all that is ready is presumed posted.
pub(in crate::journal) fn begin(c: &mut WriteSession, missing: &Missing) -> Result<(), Error> {
    Transact::begin(&**c)?;
    let done = c
        .begin()
        .and_then(|()| noticed(c, missing))
        .and_then(|()| c.save());
    if let Err(error) = done {
        c.forget();
        let _ = c.rollback();
        return Err(error);
    }
    Ok(c.commit()?)
}

/// The same within a transaction.
pub(in crate::journal) fn noticed(c: &WriteSession, missing: &Missing) -> Result<(), Error> {
    let Missing { cause, lost, .. } = missing;
    let lost = &on_any_machine(c, *lost);
    // What is added to an edited record would hide the edit.
    on_chain::assert_as_recorded(c)?;
    let now = clock(c)?;
    if c.is_shared() {
        server_copy::was_called(&**c, name(c)?)?;
        // Runs that are under way began when nothing was known to be missing: whoever goes on takes the batch anew.
        sessions::close_all(c, now)?;
    }
    facts::note(c, "journal", &salt::fresh()?)?;
    facts::remove(c, "backup")?;
    facts::note_new(c, "marked", &1_i64)?;
    if missing.is_new {
        // Ordered while it was made: what was here before is told by the place itself.
        c.remove(&Scan::of(&recovery::TABLE))?;
    }
    let ran = ran_text(c, &missing.ran)?;
    // Another machine may have told of batches that this one has never seen, and an earlier copy of those that this one lacks, too.
    let told = match payers::told_so_far(c)? {
        Some(before) => before.and(missing.told.clone()),
        None => missing.told.clone(),
    };
    let recovery_id = put(c, (*cause, missing.is_new), *lost, ran, now)?;
    note_lost(c, recovery_id, &missing.missing)?;
    payers::told(c, &told)?;
    when_done::judge_anew(c)?;
    quarantine::note_longest(c, Duration::from_millis(missing.quarantine))?;
    if lost.count > 0 {
        // Counted from here on, so that the next copy of now does not miss them once more.
        let both = missing.known.saturating_add(lost.count);
        facts::note(c, "orders", &both)?;
    }
    spread(c, *cause, *lost, now).map(drop)
}

/// Returns which orders are lost. What lies beside a journal on a server is what one machine has seen of it: people who sit at another
/// one may have given orders that only that one knows of.
fn on_any_machine(c: &WriteSession, lost: OrdersLost) -> OrdersLost {
    OrdersLost {
        unknown: lost.unknown || c.is_shared(),
        ..lost
    }
}

/// Returns the time by the store's clock: who opens a journal brings none along.
fn clock(c: &WriteSession) -> Result<Timestamp, Error> {
    #[cfg(test)]
    if let Some(now) = crate::journal::writer::fuse::clock() {
        return Ok(now);
    }
    Ok(c.now()?)
}

shape! {
    /// A recovery as it begins.
    struct Noticed of recovery {
        begun_at: Timestamp, cause: i64, newest_seq: PaymentId, newest_evidence: EvidenceId, orders_lost: u64,
        orders_unknown: bool, ran_since: Option<String>,
    }
}

/// Puts a recovery on record; returns its number.
fn put(
    c: &dyn Write,
    (cause, is_new): (Cause, bool),
    lost: OrdersLost,
    ran: Option<String>,
    now: Timestamp,
) -> Result<RecoveryId, Error> {
    let last_row = Scan::of(&instruction::TABLE).descending();
    let last_row: Option<PaymentId> = c.value(&last_row, instruction::seq)?;
    let last_word = Scan::of(&evidence::TABLE).descending();
    let last_word: Option<EvidenceId> = c.value(&last_word, evidence::evidence_id)?;
    Ok(RecoveryId::new(c.append(&Noticed {
        begun_at: now,
        cause: cause.number(),
        newest_seq: last_row.filter(|_| !is_new).unwrap_or(PaymentId::NONE),
        newest_evidence: last_word.unwrap_or(EvidenceId::NONE),
        orders_lost: lost.count,
        orders_unknown: lost.unknown,
        ran_since: ran,
    })?))
}

/// Tells every batch of a recovery that was put on record, and presumes posted whatever is ready; returns how many payments.
fn spread(c: &WriteSession, cause: Cause, lost: OrdersLost, now: Timestamp) -> Result<u64, Error> {
    let mut detail = json!({"cause": cause.sentence()});
    if lost.count > 0 {
        detail["orders_lost"] = lost.count.into();
    }
    // Where nothing tells which orders are lost, another journal may have been here.
    let reach = match lost.unknown {
        true => Reach::Cancelled,
        false => Reach::Ready,
    };
    on_chain::tell(c, RECOVERY_BEGAN, detail, now)?;
    let mut presumed = 0;
    for batch_id in batches(c)? {
        presumed += presume(c, batch_id, reach, now)?;
    }
    Ok(presumed)
}

/// Says what was done here that the journal does not know.
fn ran_text(c: &dyn Read, ran: &[Ran]) -> Result<Option<String>, Error> {
    let mut said = Vec::new();
    for what in ran {
        let name = match what {
            Ran::Evidence { batch_id, .. } => names::of(c, *batch_id)?,
            _ => None,
        };
        said.push(what.sentence(name.as_deref()));
    }
    Ok((!said.is_empty()).then(|| said.join("; ")))
}

/// Puts a recovery on record that a person orders.
///
/// What was in this place, or in another one, nobody knows: neither who posted, nor which orders are lost. A run that is at work on another
/// host began when nothing was known to be missing.
pub(in crate::journal) fn order(c: &WriteSession, now: Timestamp) -> Result<(), Error> {
    if c.is_shared() {
        sessions::close_all(c, now)?;
    }
    put(c, (Cause::Ordered, false), NOBODY_KNOWS, None, now)?;
    payers::told(c, &Told::default())
}

/// Carries such an order out, once what comes with it is there; returns how many payments are presumed posted.
pub(in crate::journal) fn carry_out(c: &WriteSession, now: Timestamp) -> Result<u64, Error> {
    spread(c, Cause::Ordered, NOBODY_KNOWS, now)
}

/// Which orders are lost where a person begins a recovery.
const NOBODY_KNOWS: OrdersLost = OrdersLost {
    count: 0,
    unknown: true,
};

/// Returns whether an order that a batch is presumed posted begins a recovery; `None`: the batch is new.
pub(in crate::journal) fn begins(
    c: &dyn Read,
    batch_id: Option<BatchId>,
    planned: Purpose,
    is_repeated: bool,
) -> Result<bool, Error> {
    let (was_recovered, purpose) = match batch_id {
        None => (false, planned),
        Some(batch_id) => {
            let mut was_recovered = false;
            for kind in on_chain::TELLING {
                let told = Scan::by(&evidence::about_batch).at(&kind).at(&batch_id);
                was_recovered |= c.any(&told)?;
            }
            (was_recovered, purpose(c, batch_id)?)
        }
    };
    Ok(begins_recovery(Presumption {
        is_open: open_recovery(c)?.is_some(),
        is_rehearsal: purpose == Purpose::Rehearsal,
        is_repeated,
        was_recovered,
    }))
}

impl Journal {
    /// Gives what is ready of a batch back to asking, as if an earlier journal had posted it, and begins a recovery where none is
    /// open.
    ///
    /// With `once`, payments that were presumed before are left alone: they have been asked about.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn presume_posted(
        &self,
        batch: BatchName,
        once: bool,
        now: Timestamp,
    ) -> Result<Presuming, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            let now = c.time(now)?;
            on_chain::assert_as_recorded(c)?;
            let begins = begins(c, Some(batch_id), Purpose::Unknown, once)?;
            c.mark(batch_id);
            c.acted(batch_id, now, "recover --presume-posted", Value::Null)?;
            let reach = if once { Reach::Unasked } else { Reach::Taken };
            if begins {
                order(c, now)?;
            }
            let payments = presume(c, batch_id, reach, now)?;
            let others = match begins {
                true => carry_out(c, now)?,
                false => 0,
            };
            Ok(Presuming {
                payments,
                others,
                begins,
            })
        })
        .await
    }
}
