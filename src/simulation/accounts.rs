//! Accounts of the gateway: an operator comes with another user name at the same address, by mistake, or because the account
//! has another name now.

use tokio_util::sync::CancellationToken;

use super::wire::Packet;
use super::world::Shape;
use super::{Scene, batch};
use crate::domain::PayerTransactionId;
use crate::gateway::{Gateway, Inquiry, Signal};
use crate::journal::{AccountMove, Error, Journal};
use crate::ledger::pin;

/// The user name that the batch is meant for.
pub(super) const OURS: &str = "acme";
/// Another name of the same account.
const RENAMED: &str = "acme-kenya";
/// Another account.
const OTHER: &str = "globex";
const NAMES: [&str; 3] = [OURS, RENAMED, OTHER];

/// Payments that a new name is asked about at most.
const ASKED_MAX: usize = 20;

/// The account that a user name belongs to.
pub(super) fn owner(user: &str) -> u8 {
    u8::from(user == OTHER)
}

impl Scene {
    /// The user name of the next run.
    ///
    /// Which account a lost journal had, only the person knows: nobody makes a mistake then.
    pub(super) fn configured(&self) -> &'static str {
        let mut shape = self.world.lock();
        if self.lost_journal || !shape.chance(|f| f.other_account) {
            return self.account.get();
        }
        NAMES[shape.rng.usize(0..NAMES.len())]
    }

    /// After a run, the operator has the name in the configuration that is on record.
    pub(super) fn know_the_account(&self) {
        if self.lost_journal {
            return;
        }
        let on_record: Option<String> = self.disk.look(|c| {
            c.query_row("select account from batch", [], |row| row.get(0))
                .expect("the batch is there")
        });
        let known = on_record.and_then(|account| NAMES.into_iter().find(|name| *name == account));
        if let Some(name) = known {
            self.account.set(name);
        }
    }

    /// Told which name is on record: whoever is sure of the account takes that one.
    pub(super) fn is_told(&self, pinned: &str) -> bool {
        let known = NAMES.into_iter().find(|name| *name == pinned);
        if let Some(name) = known.filter(|name| owner(name) == owner(self.account.get())) {
            self.account.set(name);
        }
        known.is_some()
    }

    /// Orders that the batch belongs to the account that is configured, if it knows a payment of the batch; as
    /// `disburse run --account-moved` does. Whoever has the wrong account orders it, too.
    pub(super) async fn move_account(
        &self,
        journal: &Journal,
        user: &'static str,
        dead: &CancellationToken,
    ) -> Result<(), Error> {
        if user == self.account.get() || self.world.lock().rng.bool() {
            return Ok(());
        }
        let now = self.world.lock().wall_now();
        let Some(from) = journal.other_account(batch(), user.into()).await? else {
            return Ok(());
        };
        journal.pin(batch(), Self::home(&from), now).await?;
        let line = self.line((usize::MAX, user), 1, dead, Default::default());
        for payment in journal.witnesses(batch(), ASKED_MAX).await? {
            let inquiry = Inquiry {
                id: payment.id,
                gateway_transaction_id: None,
            };
            let asked = line.query(&[inquiry]).await;
            if asked.signal != Signal::Healthy {
                return Ok(());
            }
            let Some(told) = asked.outcomes.into_iter().next() else {
                continue;
            };
            if pin::shows(told.event) && journal.may_be(payment.seq, told.said).await? {
                let order = AccountMove {
                    from,
                    to: user.into(),
                    witness: payment.id,
                    reason: "renamed".into(),
                };
                let moved = journal.move_account(batch(), order, now).await;
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
    pub(super) fn is_elsewhere(&mut self, user: &str, id: PayerTransactionId) -> bool {
        let has_it = self.account(id).owner;
        has_it.is_some_and(|has_it| has_it != owner(user))
    }

    /// What one account has, another one takes as new, and pays.
    pub(super) fn pay_elsewhere(&mut self, packet: &Packet) -> i32 {
        self.account(packet.id).executions += 1;
        let (id, user) = (packet.id, packet.user);
        self.violation(format!(
            "24: {id} is paid by the account of {user}, and another one has it already"
        ));
        140
    }
}
