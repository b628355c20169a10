//! What an operator does with a statement of the account, in the way of `disburse reconcile --settle`. The statement is true: it
//! shows each time that money moved, and what somebody paid by hand beside it.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::domain::{
    Amount, BatchName, Currency, Day, Money, PayerTransactionId, Totals, WireZone,
};
use crate::journal::{Decision, Error, Journal, StatementDesk, StatementFacts, StatementFinding};
use crate::ledger::names::{By, PaymentName};
use crate::ledger::reconciliation::{Flow, Marks, Reference, Settle, Standing, StatementEntry};
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

impl NamedBy {
    /// The same line is called the same in all statements of one layout.
    fn of(account: &Account, layout: u32) -> Self {
        match (account.line + u64::from(layout)) % 4 {
            0 => Self::Number,
            1 => Self::Nothing,
            _ => Self::Identifier,
        }
    }
}

/// A statement, and what is true of it.
#[derive(Default)]
struct Statement {
    entries: Vec<StatementEntry>,
    /// What it shows paid under its identifier, and not returned.
    shown: BTreeSet<PayerTransactionId>,
    /// What came back, and it shows so.
    returned: BTreeSet<PayerTransactionId>,
    /// What it has in common with others of its layout.
    kind: String,
}

impl Statement {
    /// Shows what is booked of one identifier.
    fn show(&mut self, id: PayerTransactionId, account: &Account, by: NamedBy, has_returns: bool) {
        let booked = &account.booked;
        // That it left without that it came back shows only who was told of that before.
        if !has_returns && booked.returned.is_some() && !booked.return_is_known {
            return;
        }
        let reference = match by {
            NamedBy::Identifier => id.to_string(),
            NamedBy::Number if account.number > 0 => account.number.to_string(),
            NamedBy::Number | NamedBy::Nothing => String::new(),
        };
        for day in &booked.days {
            self.add(account, reference.clone(), Flow::Out, *day);
        }
        match booked.returned {
            Some(day) if has_returns => {
                // What came back is named in full.
                self.add(account, id.to_string(), Flow::In, day);
                self.returned.insert(id);
            }
            Some(_) => {}
            None if !booked.days.is_empty() && by == NamedBy::Identifier => {
                self.shown.insert(id);
            }
            None => {}
        }
        if let Some(day) = booked.by_hand {
            self.add(account, String::new(), Flow::Out, day);
        }
    }

    fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for entry in &self.entries {
            hasher.update(format!(
                "{} {} {}",
                entry.day,
                entry.flow == Flow::In,
                Marks::of(entry)
            ));
        }
        HEXLOWER.encode(&hasher.finalize())
    }

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
            references: vec![Reference {
                field: "reference".into(),
                text: reference,
                is_receipt: false,
            }],
            text: String::new(),
            recipient: account.to.clone(),
            fee: None,
            is_charge: false,
            is_batch: false,
        });
    }
}

impl Scene {
    /// Draws a statement of what happened until now: in one of several layouts, and with or without what came back.
    fn statement(&self) -> Statement {
        let open: BTreeSet<PayerTransactionId> = self
            .generations()
            .into_iter()
            .filter(|generation| is_open(generation.state))
            .map(|generation| generation.id)
            .collect();
        let mut shape = self.world.lock();
        let day = Day::of(shape.real_now(), &WireZone::utc());
        let (layout, has_returns) = (shape.rng.u32(0..3), shape.rng.bool());
        let ids: Vec<PayerTransactionId> = shape.ledger.keys().copied().collect();
        let mut statement = Statement {
            kind: format!("layout {layout}, with returns: {has_returns}"),
            ..Statement::default()
        };
        for id in ids {
            let (comes_back, by_hand) = (shape.rng.u32(0..4) == 0, shape.rng.bool());
            let account = shape.account(id);
            let by = NamedBy::of(account, layout);
            let executions = account.executions as usize;
            let booked = &mut account.booked;
            booked.days.resize(executions, day);
            if executions == 1 && comes_back && booked.returned.is_none() {
                booked.returned = Some(day);
            }
            // Somebody has paid the same person as much by hand.
            if executions == 0 && open.contains(&id) && by_hand {
                booked.by_hand.get_or_insert(day);
            }
            let account = account.clone();
            if !account.taken {
                statement.show(id, &account, by, has_returns);
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
        let mut told = self.compare(journal, &batch).await;
        // What a list leaves out, another one has shown before.
        if self.world.lock().rng.bool() {
            told = format!("{told}; {}", self.compare(journal, &batch).await);
        }
        told
    }

    async fn compare(&self, journal: &Journal, batch: &BatchName) -> String {
        let statement = self.statement();
        let mut desk = StatementDesk::new().expect("memory has room");
        for entry in &statement.entries {
            desk.add(entry).expect("memory has room");
        }
        let mut findings: Vec<StatementFinding> = Vec::new();
        let facts = facts(&statement);
        let held = self.disk.reconcile(batch, &mut desk, &facts, &mut findings);
        let Ok(reconciled) = held else {
            return format!("no statement of {batch}: {held:?}");
        };
        self.judge_findings(&findings);
        let shown: Vec<_> = findings
            .iter()
            .filter_map(StatementFinding::shown)
            .collect();
        let is_out = !shown.is_empty();
        let noted = journal.note_shown(batch.clone(), facts.clone(), shown, self.moment());
        let noted = noted.await;
        let Ok(in_conflict) = noted else {
            return format!("a statement of {batch} is not put on record: {noted:?}");
        };
        let Ok(lines) = desk.lines() else {
            return format!("the lines of a statement of {batch} cannot be read again");
        };
        let (kept, now) = ((Vec::new(), lines), self.moment());
        let recorded = journal.record_reconciliation(
            batch.clone(),
            facts,
            reconciled,
            kept,
            (is_out, in_conflict),
            now,
        );
        if let Err(error) = recorded.await {
            return format!("a statement of {batch} is not recorded: {error}");
        }
        self.know_returns(&statement, batch);
        self.judge_held(&statement, batch.as_str());
        let mut settled = 0;
        for finding in &findings {
            let Some(payment) = &finding.payment else {
                continue;
            };
            let id = payment.id;
            let is_paid = self.is_paid_in_truth(id);
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

    /// Returns whether its money left, and did not come back.
    fn is_paid_in_truth(&self, id: PayerTransactionId) -> bool {
        let shape = self.world.lock();
        let account = shape.ledger.get(&id);
        account.is_some_and(|account| account.executions > 0 && account.booked.returned.is_none())
    }

    /// The journal knows from now on what came back.
    fn know_returns(&self, statement: &Statement, batch: &BatchName) {
        for id in &statement.returned {
            let is_of_batch = self.batch_of(*id) == *batch;
            self.world.lock().account(*id).booked.return_is_known |= is_of_batch;
        }
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
        digest: statement.digest(),
        format: "CSV".into(),
        account: None,
        kind: statement.kind.clone(),
        period: None,
        opening: None,
        closing: None,
        balanced: false,
        entries: statement.entries.len() as u64,
        fees: Totals::default(),
    }
}
