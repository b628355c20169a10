//! Who did what, on the chain of the batch: one row of evidence for each command that changed something.

use serde_json::{Value, json};

use super::chain::Evidence;
use crate::domain::{Actor, BatchId, EvidenceId, PaymentId, Timestamp};
use crate::journal::codec::catalog::{batch_of, id_of, of_batch};
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::ACTED;
use crate::journal::codec::facts::{fact, note};
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::recovery::lost_orders::{Touched, keep_order};
use crate::journal::session::ordered::GivenOrder;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{ActRecord, Error};
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::payer::key;
use crate::ledger::recovery::{Order, must_not_be_forgotten};
use crate::store::tables::{batch, evidence};
use crate::store::{Reads, Scan, shape};

impl Journal {
    /// Returns this journal in the hands of somebody: what is done through it is recorded as theirs.
    #[must_use]
    pub fn acting_as(mut self, actor: Actor) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// Records who gave an order about a payment that changed nothing itself: the gateway, asked for it, said how it ended.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn record_order(
        &self,
        seq: PaymentId,
        act: &'static str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let (batch_id, id) = (batch_of(c, seq)?, id_of(c, seq)?);
            c.mark(batch_id);
            c.acted(batch_id, now, act, id.as_str().into())
        })
        .await
    }
}

impl WriteSession {
    /// Records who does this. `about`: what it is done to, where that is not the whole batch.
    ///
    /// Nothing is recorded where nobody is named: the parts of the program have no hands of their own.
    pub(in crate::journal) fn acted(
        &self,
        batch_id: BatchId,
        at: Timestamp,
        act: &'static str,
        about: Value,
    ) -> Result<(), Error> {
        self.act(batch_id, at, act, about, None)
    }

    /// Records who does this to a whole batch, and why.
    pub(in crate::journal) fn acted_because(
        &self,
        batch_id: BatchId,
        at: Timestamp,
        act: &'static str,
        reason: &str,
    ) -> Result<(), Error> {
        self.act(batch_id, at, act, Value::Null, Some(reason))
    }

    /// Counts an order that a copy must not forget, and keeps what it was about.
    pub(in crate::journal) fn count_order(
        &self,
        batch_id: BatchId,
        at: Timestamp,
        act: &str,
        touched: &Touched,
    ) -> Result<(), Error> {
        // The mark says how many there were: a copy that knows of fewer posts nothing.
        let orders = fact::<i64>(self, "orders")?.unwrap_or(0) + 1;
        note(self, "orders", &orders)?;
        let batch: String = of_batch(self, batch_id, batch::name)?;
        let actor = self.actor();
        let order = Order {
            number: orders.unsigned_abs(),
            at,
            act: act.to_owned(),
            batch: key(&batch),
            payments: touched.payments(),
            digest: touched.digest(),
            user: key(actor.as_ref().map_or("nobody", |actor| actor.user())),
        };
        keep_order(self, &order)?;
        self.mark_order(order);
        Ok(())
    }

    pub(in crate::journal) fn act(
        &self,
        batch_id: BatchId,
        at: Timestamp,
        act: &'static str,
        about: Value,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let touched = Touched::about(&about);
        self.act_upon((batch_id, at), act, about, &touched, reason)
    }

    /// The same of an order about these payments.
    pub(in crate::journal) fn act_upon(
        &self,
        (batch_id, at): (BatchId, Timestamp),
        act: &'static str,
        about: Value,
        touched: &Touched,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        if let Some(kind) = OrderKind::of_act(act) {
            self.give(GivenOrder {
                batch_id,
                at,
                kind,
                act,
                about: touched.said_beside(&about),
                content: touched.to_sign().clone(),
            });
        }
        if must_not_be_forgotten(act) {
            self.count_order(batch_id, at, act, touched)?;
        }
        let Some(actor) = self.actor() else {
            return Ok(());
        };
        let mut detail = json!({"act": act, "user": actor.user(), "host": actor.host()});
        if let Some(name) = actor.sudo_of() {
            detail["sudo_of"] = name.into();
        }
        if let Some(role) = actor.role() {
            detail["role"] = role.into();
        }
        if about != Value::Null {
            detail["about"] = about;
        }
        if let Some(reason) = reason {
            detail["reason"] = reason.into();
        }
        self.append(&Evidence {
            batch_id,
            at,
            kind: (ACTED, None, None),
            detail: Some(&detail.to_string()),
            ..Evidence::default()
        })
    }
}

impl Snapshot<'_> {
    /// Returns who did what to the batch, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn acts(&self) -> Result<Vec<ActRecord>, Error> {
        let acts: Vec<Act> = self.c.list(&acts_of(&self.batch_id))?;
        acts.iter().map(record).collect()
    }
}

impl Snapshot<'_> {
    /// Returns the first act upon the batch after a row of evidence: who gave the order that the row carries out.
    pub(in crate::journal) fn first_act_after(
        &self,
        evidence_id: EvidenceId,
    ) -> Result<Option<ActRecord>, Error> {
        let next = acts_of(&self.batch_id).after(&evidence_id);
        let found: Option<Act> = self.c.first(&next)?;
        found.as_ref().map(record).transpose()
    }
}

shape! {
    struct Act of evidence { at: Timestamp, detail: String }
}

/// What people did to a batch, oldest first.
fn acts_of(batch_id: &BatchId) -> Scan<'_> {
    Scan::by(&evidence::about_batch).at(&ACTED).at(batch_id)
}

fn record(act: &Act) -> Result<ActRecord, Error> {
    let at = act.at;
    let detail = parsed(Some(&act.detail))?;
    let text = |name: &str| detail[name].as_str();
    let (Some(act), Some(user), Some(host)) = (text("act"), text("user"), text("host")) else {
        return Err(corrupt("an act that does not say who did it"));
    };
    Ok(ActRecord {
        at,
        act: act.to_owned(),
        about: text("about").map(str::to_owned),
        reason: text("reason").map(str::to_owned),
        by: Actor::new(user, host, text("sudo_of")).in_role(text("role")),
    })
}
