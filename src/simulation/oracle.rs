//! The ledger against the journal: what must hold for every seed.

use std::collections::BTreeMap;

use super::{Scene, batch};
use crate::domain::PayerTransactionId;
use crate::journal::{PaymentRecord, ReportRow};
use crate::lifecycle::State;

impl Scene {
    /// Identifier and state of every payment.
    pub(super) fn payments(&self) -> Vec<(PayerTransactionId, State)> {
        self.disk.look(|c| {
            let mut statement = c
                .prepare(
                    "select identifier, state from instruction join life using (seq) order by seq",
                )
                .expect("the schema has these");
            let rows = statement.query_map([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
            rows.expect("they can be read")
                .filter_map(|row| {
                    let (id, state) = row.ok()?;
                    let state = State::ALL[usize::try_from(state).ok()?];
                    Some((PayerTransactionId::parse(&id)?, state))
                })
                .collect()
        })
    }

    /// Compares the books.
    pub(super) fn judge(self, violations: &mut Vec<String>) {
        let acknowledged = self.world.lock().acknowledged.clone();
        for (id, code) in acknowledged {
            if !self.is_on_disk(id, code) {
                violations.push(format!(
                    "callback {code} of {id} was acknowledged and is not on disk"
                ));
            }
        }
        let Scene {
            world,
            disk,
            rows,
            lost_journal,
        } = self;
        let reader = disk.into_reader();
        let snapshot = reader.snapshot(&batch()).expect("the batch is there");
        let mut records: Vec<PaymentRecord> = Vec::new();
        for row in snapshot.rows() {
            match row {
                Ok(ReportRow::Payment(record)) => records.push(*record),
                other => violations.push(format!("a row that is no payment: {other:?}")),
            }
        }
        let shape = world.lock();
        let mut by_line: BTreeMap<u64, Vec<&PaymentRecord>> = BTreeMap::new();
        for record in &records {
            by_line
                .entry(record.payment.instruction.line)
                .or_default()
                .push(record);
        }
        for row in &rows {
            let Some(generations) = by_line.get(&row.line) else {
                violations.push(format!("line {} is lost", row.line));
                continue;
            };
            let accounts: Vec<_> = generations
                .iter()
                .filter_map(|record| shape.ledger.get(&record.payment.id))
                .collect();
            let lied = accounts.iter().any(|account| account.contradicted);
            let moved: u32 = accounts.iter().map(|account| account.executions).sum();
            if moved > 1 && !lied {
                violations.push(format!("line {} was paid {moved} times", row.line));
            }
        }
        for record in &records {
            let id = record.payment.id;
            let account = shape.ledger.get(&id).cloned().unwrap_or_default();
            let state = record.life.state;
            if account.executions > 1 {
                violations.push(format!("{id} was executed {} times", account.executions));
            }
            // A reload dates the payments anew: the date of the first load is lost with the journal.
            if account.altered && !lost_journal {
                violations.push(format!("{id} was sent with other bytes"));
            }
            if account.contradicted {
                continue;
            }
            let true_to_the_ledger = match state {
                State::Paid => account.executions == 1,
                State::Failed | State::Cancelled => account.executions == 0,
                State::Ready
                | State::Posting
                | State::InDoubt
                | State::Acknowledged
                | State::Delivered => true,
                State::Conflict => false,
            };
            if !true_to_the_ledger {
                violations.push(format!(
                    "{id} is {} and was executed {} times",
                    state.name(),
                    account.executions
                ));
            }
        }
        // What the ledger executed, the journal knows: unless a retry's journal was lost with it.
        let known: Vec<_> = records.iter().map(|record| record.payment.id).collect();
        for (id, account) in &shape.ledger {
            if account.executions > 0 && !known.contains(id) && !lost_journal {
                violations.push(format!("{id} was executed, and nobody knows of it"));
            }
        }
        drop(shape);
        let standing = snapshot.standing().expect("it can be read");
        let control = snapshot.control().expect("it can be read").total();
        let total = standing.total();
        if total.count != control.count || total.amounts != control.amounts {
            violations.push(format!(
                "the states add up to {total:?}, not to {control:?}"
            ));
        }
    }

    fn is_on_disk(&self, id: PayerTransactionId, code: i32) -> bool {
        self.disk.look(|c| {
            c.query_row(
                "select exists (select 1 from evidence join instruction using (seq)
                 where identifier = ?1 and code = ?2 and digest is not null)",
                rusqlite::params![id.as_str(), code],
                |row| row.get(0),
            )
            .unwrap_or(false)
        })
    }
}
