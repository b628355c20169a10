//! Accounts of the gateway: an operator comes with another user name at the same address, by mistake, or because the account
//! has another name now.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::{BatchName, PayerTransactionId, Pulse};
use crate::gateway::{Gateway, Inquiry, Signal};
use crate::journal::{AccountMove, Error, Journal};
use crate::ledger::moves::{Move, Testimony};
use crate::simulation::disk::rows;
use crate::simulation::outside::packet::Packet;
use crate::simulation::outside::world::Shape;
use crate::simulation::scene::Scene;

/// The user name that the batch is meant for.
pub(in crate::simulation) const OURS: &str = "acme";
/// Another name of the same account.
const RENAMED: &str = "acme-kenya";
/// Another account.
pub(super) const OTHER: &str = "globex";
const NAMES: [&str; 3] = [OURS, RENAMED, OTHER];

/// Payments that a new name is asked about at most.
const ASKED_MAX: usize = 20;

/// The account that a user name belongs to.
pub(in crate::simulation) fn owner(user: &str) -> u8 {
    u8::from(user == OTHER)
}

impl Scene {
    /// The user name that the operator has for a batch.
    pub(in crate::simulation) fn account_of(&self, batch: &BatchName) -> &'static str {
        self.accounts.borrow().get(batch).copied().unwrap_or(OURS)
    }

    fn set_account(&self, name: &'static str) {
        self.accounts.borrow_mut().insert(self.batch(), name);
    }

    /// Whether the account that the operator has for the batch has nothing of it.
    fn is_nothing_there(&self) -> bool {
        let batch = self.batch();
        let ours = owner(self.account_of(&batch));
        let known = self
            .generations()
            .into_iter()
            .filter(|g| g.batch == batch.as_str());
        let shape = self.world.lock();
        let is_there = |id| {
            shape
                .ledger
                .get(&id)
                .is_some_and(|account| account.owner == Some(ours))
        };
        !known.map(|g| g.id).any(is_there)
    }

    /// The user name of the next run.
    ///
    /// Where a lost journal is loaded anew as if nothing had been posted, only the person knows which account it had: nobody makes a
    /// mistake then.
    pub(in crate::simulation) fn configured(&self) -> &'static str {
        let mut shape = self.world.lock();
        if self.lost_journal && self.unasked || !shape.chance(|f| f.other_account) {
            return self.account_of(&self.batch());
        }
        NAMES[shape.rng.usize(0..NAMES.len())]
    }

    /// After a run, the operator has the name in the configuration that is on record.
    pub(in crate::simulation) fn know_the_account(&self) {
        if self.lost_journal {
            return;
        }
        let on_record: Option<String> = self.disk.look(|c| {
            let name = self.batch();
            let mut batches = rows::batches(c).into_iter();
            let own = batches.find(|batch| batch.name == name.as_str());
            own.expect("the batch is there").account
        });
        let known = on_record.and_then(|account| NAMES.into_iter().find(|name| *name == account));
        if let Some(name) = known {
            self.set_account(name);
        }
    }

    /// Told which name is on record: whoever is sure of the account takes that one, or knows that the other has nothing.
    pub(in crate::simulation) fn is_told(&self, pinned: &str) -> bool {
        let known = NAMES.into_iter().find(|name| *name == pinned);
        let ours = owner(self.account_of(&self.batch()));
        if let Some(name) = known
            && (owner(name) == ours || self.is_nothing_there())
        {
            self.set_account(name);
        }
        known.is_some()
    }

    /// Says which account a lost journal had, where that is the one that is configured; as `disburse run --asked-as` does.
    pub(in crate::simulation) async fn confirm_payer(
        &self,
        journal: &Journal,
        batch: &BatchName,
        user: &'static str,
    ) -> Result<(), Error> {
        let home = Self::home(user);
        let unknown = journal.payer_unknown(batch.clone(), home.clone()).await?;
        // What lies beside the journal is not contradicted.
        if !matches!(unknown, Some(Error::PayerUnknown { .. })) {
            return Ok(());
        }
        // Whoever is asked looks into the accounts before saying so.
        if let Some(name) = self.who_has(batch)
            && owner(name) != owner(self.account_of(batch))
        {
            self.accounts.borrow_mut().insert(batch.clone(), name);
        }
        if owner(user) != owner(self.account_of(batch)) {
            return Ok(());
        }
        let now = self.world.lock().wall_now();
        let said = format!("it was posted as {user}");
        self.world.lock().note(|| said);
        journal.confirm_payer(batch.clone(), home, now).await
    }

    /// The user name of the account that has payments of a batch.
    fn who_has(&self, batch: &BatchName) -> Option<&'static str> {
        let known = self.generations();
        let shape = self.world.lock();
        let mut ours = known.iter().filter(|g| g.batch == batch.as_str());
        let has_it = ours.find_map(|g| shape.ledger.get(&g.id)?.owner)?;
        NAMES.into_iter().find(|name| owner(name) == has_it)
    }

    /// Orders that the batch belongs to the account that is configured, if it knows a payment of the batch; as
    /// `disburse run --account-moved` does. Whoever has the wrong account orders it, too.
    pub(in crate::simulation) async fn move_account(
        &self,
        journal: &Journal,
        user: &'static str,
        dead: &CancellationToken,
    ) -> Result<(), Error> {
        if user == self.account_of(&self.batch()) || self.world.lock().rng.bool() {
            return Ok(());
        }
        let now = self.world.lock().wall_now();
        let (from, needs) = journal.account_move(self.batch(), Self::home(user)).await?;
        // What may move without a proof is sent elsewhere.
        if !matches!(needs, Move::Proof | Move::Impossible) {
            return Ok(());
        }
        journal.pin(self.batch(), Self::home(&from), now).await?;
        let line = self.line(
            (usize::MAX, user),
            1,
            dead,
            Default::default(),
            &Arc::new(Pulse::steady()),
        );
        for payment in journal.witnesses(self.batch(), ASKED_MAX).await? {
            let inquiry = Inquiry {
                id: payment.id,
                gateway_transaction_id: None,
                country: None,
            };
            let asked = line.query(&[inquiry]).await;
            if asked.signal != Signal::Healthy {
                return Ok(());
            }
            let Some(told) = asked.outcomes.into_iter().next() else {
                continue;
            };
            let testimony = journal.testimony(payment.seq, told.event, told.said);
            if testimony.await? == Testimony::Bears {
                let order = AccountMove {
                    from,
                    to: user.into(),
                    witness: payment.id,
                    profile: Self::home(user).profile,
                    reason: "renamed".into(),
                };
                let moved = journal.move_account(self.batch(), order, now).await;
                let said = format!("the account is called {user} now: {moved:?}");
                self.world.lock().note(|| said);
                return moved;
            }
        }
        Ok(())
    }
}

impl Shape {
    /// Whether another account than this user's has the payment.
    pub(in crate::simulation) fn is_elsewhere(
        &mut self,
        user: &str,
        id: PayerTransactionId,
    ) -> bool {
        let has_it = self.account(id).owner;
        has_it.is_some_and(|has_it| has_it != owner(user))
    }

    /// What one account has, another one takes as new, and pays.
    pub(in crate::simulation) fn pay_elsewhere(&mut self, packet: &Packet) -> i32 {
        self.account(packet.id).executions += 1;
        let (id, user) = (packet.id, packet.user);
        self.violation(format!(
            "24: {id} is paid by the account of {user}, and another one has it already"
        ));
        140
    }
}
