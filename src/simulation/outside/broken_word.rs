//! A gateway that breaks its word, and what the journal has heard of it.

use super::gateway::entry;
use super::world::{Shape, SimEvent};
use crate::domain::PayerTransactionId;
use crate::journal::simulated::Disk;
use crate::lifecycle::State;
use crate::simulation::disk::rows::{self, FAILED, PAID};
use crate::simulation::faults::Faults;
use crate::simulation::operator::accounts::owner;

/// What the journal has of a payment.
pub(in crate::simulation) struct Heard {
    pub state: State,
    /// Whether a definite no of the gateway is on record.
    pub no: bool,
}

/// Reads it; `None` when the journal does not know the payment.
pub(in crate::simulation) fn heard(disk: &Disk, id: PayerTransactionId) -> Option<Heard> {
    disk.look(|c| {
        let life = rows::life(c, rows::seq_of(c, id)?)?;
        let no = rows::heard(c, life.seq)
            .iter()
            .any(|row| row.is_word(&FAILED));
        Some(Heard {
            state: life.state,
            no,
        })
    })
}

impl Shape {
    fn heard(&self, id: PayerTransactionId) -> Option<Heard> {
        heard(self.disk.as_ref()?, id)
    }

    /// Perhaps the gateway will break its word about this payment, which has just come to its end.
    pub(in crate::simulation) fn may_recant(
        &mut self,
        id: PayerTransactionId,
        chance: fn(&Faults) -> u32,
    ) {
        if self.chance(chance) {
            let delay = self.delay(|f| f.settle_ms) * self.rng.u64(1..=4);
            self.plan(delay, SimEvent::Recant(id));
        }
    }

    /// Breaks the gateway's word where it was heard: nobody can say otherwise which of two words came first.
    pub(in crate::simulation) fn recant(&mut self, id: PayerTransactionId) {
        let Some(heard) = self.heard(id) else { return };
        let now = self.now();
        let account = self.account(id);
        let told = FAILED.iter().any(|code| account.told.contains(code));
        if account.executions > 0 {
            self.note(|| format!("{id} is called failed after all"));
            return self.call_back(id, 141);
        }
        if !(heard.state == State::Failed && heard.no && told) {
            return;
        }
        account.accepted_at.get_or_insert(now);
        account.executions += 1;
        account.broken += 1;
        account.refused = None;
        account.end = Some(140);
        self.note(|| format!("executed {id} after all"));
        self.call_back(id, 140);
    }

    /// Perhaps the gateway will speak otherwise of this payment, which has just failed.
    pub(in crate::simulation) fn may_waver(&mut self, id: PayerTransactionId) {
        if self.chance(|f| f.late_word) {
            let delay = self.delay(|f| f.settle_ms) * self.rng.u64(1..=4);
            self.plan(delay, SimEvent::Waver(id));
        }
    }

    /// Speaks otherwise of it, where its failure was heard; now and then it is executed then.
    pub(in crate::simulation) fn waver(&mut self, id: PayerTransactionId) {
        let fails = |heard: Heard| heard.state == State::Failed && heard.no;
        if !self.heard(id).is_some_and(fails) || self.account(id).executions > 0 {
            return;
        }
        self.note(|| format!("{id} is spoken of otherwise"));
        match self.rng.u32(0..4) {
            0 => self.call_back(id, 139),
            1 => self.call_back(id, 148),
            2 => self.plan(0, SimEvent::Stray(id)),
            _ => self.plan(0, SimEvent::Junk(id, 1)),
        }
        self.may_recant(id, |f| f.broken_no);
    }

    /// Words about another payment, for an address of ours.
    pub(in crate::simulation) fn stray(&mut self, id: PayerTransactionId) -> String {
        let number = self.account(id).number;
        self.about_another(id, number)
    }

    /// Whether this callback would say "failed" of an executed payment to somebody who has heard no end of it yet.
    pub(in crate::simulation) fn misleads(&self, id: PayerTransactionId, code: i32) -> bool {
        let executed = self
            .ledger
            .get(&id)
            .is_some_and(|account| account.executions > 0);
        executed
            && !PAID.contains(&code)
            && !self
                .heard(id)
                .is_some_and(|heard| heard.state.is_finished())
    }

    /// Hears of an identifier for the first time: somebody else may have paid under it, whose journal uses our names.
    pub(in crate::simulation) fn meet(&mut self, user: &'static str, id: PayerTransactionId) {
        if std::mem::replace(&mut self.account(id).met, true) || !self.faults.duplicate_check {
            return;
        }
        if self.account(id).accepted_at.is_some() || !self.chance(|f| f.stranger) {
            return;
        }
        let names_itself = self.rng.bool();
        self.note(|| format!("{id} is somebody else's, and names itself: {names_itself}"));
        let account = self.account(id);
        account.taken = true;
        account.names_itself = names_itself;
        account.owner = Some(owner(user));
        // Like one of ours that was executed.
        (account.accepted_at, account.end) = (Some(0), Some(140));
    }

    /// A word of a status reply about another payment that has the same identifier.
    pub(in crate::simulation) fn other_word(&mut self, id: PayerTransactionId) -> String {
        let code = [140, 141, 139, 183][self.rng.usize(0..4)];
        let named = if self.rng.bool() {
            r#""amount":"0.07""#
        } else {
            r#""currencyCode":"UGX""#
        };
        self.note(|| format!("status {id} {code}, of another payment: {named}"));
        self.other(id, code, named)
    }

    /// An entry about another payment that has the same identifier, and names something else.
    pub(in crate::simulation) fn other(
        &mut self,
        id: PayerTransactionId,
        code: i32,
        named: &str,
    ) -> String {
        let text = entry(id.as_str(), code, self.rng.u64(1..1 << 60));
        format!("{},{named}}}", text.trim_end_matches('}'))
    }
}
