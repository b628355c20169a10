//! What an operator does with a statement of the account, in the way of `disburse reconcile --settle`. The statement is true: it
//! shows each time that money moved, and what somebody paid by hand beside it.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Amount, Currency, Day, Money, PayerTransactionId, Totals, WireZone};
use crate::journal::{Decision, Error, Journal, StatementDesk, StatementFacts, StatementFinding};
use crate::ledger::names::{By, PaymentName};
use crate::ledger::reconciliation::{Flow, Settle, Standing, StatementEntry};
use crate::lifecycle::State;
use crate::simulation::outside::world::Account;
use crate::simulation::scene::Scene;

/// How a line names its payment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedBy {
    Identifier,
    Number,
    /// Amount and recipient alone.
    Nothing,
}

/// A statement, and what is true of it.
#[derive(Default)]
struct Statement {
    entries: Vec<StatementEntry>,
    /// What it shows paid under its identifier, and not returned.
    shown: BTreeSet<PayerTransactionId>,
    /// What came back.
    returned: BTreeSet<PayerTransactionId>,
}

impl Statement {
    fn add(&mut self, account: &Account, reference: String, flow: Flow, day: Day) {
        let currency = Currency::from_code("KES").expect("known");
        let Some(amount) = Amount::from_minor(account.minor) else {
            return;
        };
        self.entries.push(StatementEntry {
            place: format!("line {}", self.entries.len() + 2),
            day,
            flow,
            reversal: flow == Flow::In,
            money: Money { amount, currency },
            standing: Standing::Booked,
            references: [reference].into_iter().filter(|r| !r.is_empty()).collect(),
            text: String::new(),
            recipient: account.to.clone(),
            fee: None,
            is_charge: false,
            is_batch: false,
        });
    }
}

impl Scene {
    /// Draws a statement of what happened until now.
    fn statement(&self) -> Statement {
        let open: BTreeSet<PayerTransactionId> = self
            .generations()
            .into_iter()
            .filter(|generation| is_open(generation.state))
            .map(|generation| generation.id)
            .collect();
        let mut shape = self.world.lock();
        let day = Day::of(shape.real_now(), &WireZone::utc());
        let accounts: Vec<_> = shape
            .ledger
            .iter()
            .map(|(id, account)| (*id, account.clone()))
            .collect();
        let mut statement = Statement::default();
        for (id, account) in accounts {
            if account.taken {
                continue;
            }
            let by = match shape.rng.u32(0..4) {
                0 => NamedBy::Number,
                1 => NamedBy::Nothing,
                _ => NamedBy::Identifier,
            };
            let reference = match by {
                NamedBy::Identifier => id.to_string(),
                NamedBy::Number if account.number > 0 => account.number.to_string(),
                NamedBy::Number | NamedBy::Nothing => String::new(),
            };
            for _ in 0..account.executions {
                statement.add(&account, reference.clone(), Flow::Out, day);
            }
            let is_named = by == NamedBy::Identifier;
            if account.executions == 1 && is_named && shape.rng.u32(0..4) == 0 {
                statement.add(&account, reference, Flow::In, day);
                statement.returned.insert(id);
            } else if account.executions > 0 && is_named {
                statement.shown.insert(id);
            }
            // Somebody has paid the same person as much by hand.
            if account.executions == 0 && open.contains(&id) && shape.rng.bool() {
                statement.add(&account, String::new(), Flow::Out, day);
            }
        }
        statement
    }

    /// Holds a statement against a batch, brings into conflict what must not be paid again, and records what is proven; of the rest
    /// a person decides by the truth.
    pub(in crate::simulation) async fn reconcile(&self, journal: &Journal) -> String {
        // The orders that a copy does not know are given again by others.
        if self.copies || self.world.lock().tampered.is_some() {
            return "no statement comes".into();
        }
        let batch = self.some_batch();
        let statement = self.statement();
        let mut desk = StatementDesk::new().expect("memory has room");
        for entry in &statement.entries {
            desk.add(entry).expect("memory has room");
        }
        let mut findings: Vec<StatementFinding> = Vec::new();
        let held = self.disk.reconcile(&batch, &mut desk, &mut findings);
        let Ok(reconciled) = held else {
            return format!("no statement of {batch}: {held:?}");
        };
        self.judge_findings(&findings);
        let shown: Vec<_> = findings
            .iter()
            .filter_map(StatementFinding::shown)
            .collect();
        let facts = facts(&statement);
        let is_out = !shown.is_empty();
        let noted = journal.note_shown(batch.clone(), facts.clone(), shown, self.moment());
        let noted = noted.await;
        let Ok(in_conflict) = noted else {
            return format!("a statement of {batch} is not put on record: {noted:?}");
        };
        let (none, now) = (Vec::new(), self.moment());
        let recorded = journal.record_reconciliation(
            batch.clone(),
            facts,
            reconciled,
            none,
            (is_out, in_conflict),
            now,
        );
        if let Err(error) = recorded.await {
            return format!("a statement of {batch} is not recorded: {error}");
        }
        self.judge_held(&statement, batch.as_str());
        let mut settled = 0;
        for finding in &findings {
            let Some(payment) = &finding.payment else {
                continue;
            };
            let id = payment.id;
            let is_paid = self.is_paid_in_truth(id) && !statement.returned.contains(&id);
            match finding.settle {
                Settle::No => continue,
                Settle::Proven if !is_paid => {
                    let text = format!("40: a statement settles {id}, which it does not show paid");
                    self.world.lock().violation(text);
                }
                Settle::Ask if !is_paid => continue,
                Settle::Proven | Settle::Ask => {}
            }
            let recorded = self.settle(journal, id).await;
            settled += u32::from(recorded.unwrap_or(false));
        }
        format!(
            "a statement of {} lines for {batch}: {in_conflict} in conflict, {settled} settled",
            statement.entries.len()
        )
    }

    fn is_paid_in_truth(&self, id: PayerTransactionId) -> bool {
        let shape = self.world.lock();
        shape
            .ledger
            .get(&id)
            .is_some_and(|account| account.executions > 0)
    }

    /// One line is about one payment.
    fn judge_findings(&self, findings: &[StatementFinding]) {
        let mut about: BTreeMap<&str, PayerTransactionId> = BTreeMap::new();
        for finding in findings {
            let (Some(payment), Some(entry)) = (&finding.payment, &finding.entry) else {
                continue;
            };
            let first = *about.entry(&entry.place).or_insert(payment.id);
            if first != payment.id {
                let text = format!(
                    "40: {} of a statement is about {first} and about {}",
                    entry.place, payment.id
                );
                self.world.lock().violation(text);
            }
        }
    }

    /// What a statement shows paid is not left as something that may be paid again.
    fn judge_held(&self, statement: &Statement, batch: &str) {
        for generation in self.generations() {
            let may_be_paid = matches!(
                generation.state,
                State::Failed | State::Cancelled | State::Ready
            );
            if generation.batch == batch && may_be_paid && statement.shown.contains(&generation.id)
            {
                let (id, state) = (generation.id, generation.state.name());
                let text = format!("40: {id} is {state}, and a statement shows it paid");
                self.world.lock().violation(text);
            }
        }
    }

    async fn settle(&self, journal: &Journal, id: PayerTransactionId) -> Result<bool, Error> {
        let name = PaymentName {
            text: id.to_string(),
            by: By::Identifier,
        };
        let looked = journal.look(self.batch_of(id), name).await?;
        if !is_open(looked.life.state) {
            return Ok(false);
        }
        let decision = Decision {
            paid: true,
            reason: "a statement shows it paid".into(),
            evidence: "its line".into(),
        };
        let decided = self.ordered(journal, true, Result::is_ok, async |journal| {
            let (seq, seen, decision) = (looked.seq, looked.seen, decision.clone());
            journal
                .decide_paid(seq, seen, decision, self.moment())
                .await
        });
        Ok(decided.await?.is_ok())
    }
}

fn is_open(state: State) -> bool {
    matches!(
        state,
        State::InDoubt | State::Acknowledged | State::Delivered
    )
}

fn facts(statement: &Statement) -> StatementFacts {
    StatementFacts {
        source: "statement.csv".into(),
        digest: String::new(),
        format: "CSV".into(),
        account: None,
        period: None,
        opening: None,
        closing: None,
        balanced: false,
        entries: statement.entries.len() as u64,
        fees: Totals::default(),
    }
}
