//! What follows a transaction: the mark beside the journal, with what its commit moved; and the note in the journal which copy of it is
//! written.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::domain::Epoch;
use crate::journal::Error;
use crate::journal::mark::Place;
use crate::journal::recovery::server_copy::{note_copy, noted_copy};
use crate::ledger::payer::{AsLoaded, Payer, Payers};
use crate::ledger::recovery::{JournalId, Marked, Order, Origin, Position, Succession};
use crate::store::{self, Transact};

/// The mark of a journal, and what never changes of it.
pub(in crate::journal) struct Beside {
    pub(in crate::journal) place: Place,
    pub(in crate::journal) journal: JournalId,
    pub(in crate::journal) born: Option<u64>,
    pub(in crate::journal) epoch: Epoch,
    pub(in crate::journal) orders: u64,
}

/// What is to follow, and what this transaction adds to it.
#[derive(Default)]
pub(super) struct Following {
    /// Where the mark of the journal is, and what it says of the journal itself; a journal that is made aside has none yet.
    pub(super) mark: Option<Beside>,
    /// The journal is to say which copy of it is written.
    follows_copy: Cell<bool>,
    /// Which one it says; `None` where somebody else may have noted another one.
    copy: Cell<Option<Origin>>,
    /// A run began in this transaction.
    new_epoch: Cell<Option<Epoch>>,
    /// The quarantine of a run that begins, in milliseconds.
    new_quarantine: Cell<u64>,
    /// A person gave an order in this transaction: so many are on record now.
    new_orders: Cell<Option<u64>>,
    /// And these were given.
    new_given: RefCell<Vec<Order>>,
    /// Batches that were taken for an account in this transaction.
    new_payers: RefCell<Payers>,
}

impl Following {
    /// From now on, the journal says which copy of it is written.
    pub(super) fn follow_copy(&self) {
        self.follows_copy.set(true);
    }

    /// Begins a transaction.
    pub(super) fn begin(&self) {
        self.new_epoch.take();
        self.new_quarantine.take();
        self.new_orders.take();
        self.new_given.take();
    }

    /// Somebody else may have noted another copy.
    pub(super) fn doubt_copy(&self) {
        self.copy.take();
    }

    /// Forgets what a transaction added that was rolled back.
    pub(super) fn forget(&self) {
        self.copy.take();
        self.new_payers.take();
    }

    /// Notes which copy is written where the journal says something else: before anything rests on this transaction. Refuses to go on where
    /// the journal says that this copy may lack something: whoever opens it anew begins a recovery.
    pub(super) fn note_other_copy(&self, store: &dyn Transact) -> Result<(), Error> {
        let (true, Some(position)) = (self.follows_copy.get(), store.server_position()) else {
            return Ok(());
        };
        let now = position.origin;
        if let Some(known) = self.copy.get()
            && !now.is_news_after(&known)
        {
            return Ok(());
        }
        // Whoever has written last may know better than this process whether commits had waited: what it noted came along with the rest.
        let noted = noted_copy(store)?;
        match noted.map(|noted| now.after(&noted)) {
            None | Some(Succession::Same | Succession::Waited) => {}
            Some(Succession::Promoted | Succession::Overtaken) => {
                return Err(store::Error::replaced("commits had not waited for a standby").into());
            }
            Some(Succession::Other) => {
                return Err(store::Error::replaced("it is another database").into());
            }
        }
        let says = match noted {
            Some(noted) if !now.is_news_after(&noted) => noted,
            _ => {
                note_copy(store, now)?;
                now
            }
        };
        self.copy.set(Some(says));
        Ok(())
    }

    pub(super) fn take_epoch(&self, epoch: Epoch) {
        self.new_epoch.set(Some(epoch));
    }

    pub(super) fn take_quarantine(&self, quarantine: Duration) {
        let millis = u64::try_from(quarantine.as_millis()).unwrap_or(u64::MAX);
        self.new_quarantine.set(millis);
    }

    pub(super) fn take_order(&self, order: Order) {
        self.new_orders.set(Some(order.number));
        self.new_given.borrow_mut().push(order);
    }

    pub(super) fn take_payer(&self, batch: &str, payer: &Payer, loaded: Option<AsLoaded>) {
        self.new_payers.borrow_mut().take_as(batch, payer, loaded);
    }

    /// Writes what a commit moved into the mark; `positions` are those of the chains that it extended.
    pub(super) fn advance(
        &mut self,
        store: &dyn Transact,
        positions: Vec<Position>,
    ) -> Result<(), Error> {
        let (epoch, orders) = (self.new_epoch.take(), self.new_orders.take());
        let (payers, given) = (self.new_payers.take(), self.new_given.take());
        let Some(mark) = &mut self.mark else {
            return Ok(());
        };
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
            server: store.server_position(),
            quarantine: self.new_quarantine.take(),
        })
    }
}
