//! The ledger against the journal: what must hold for every seed.

use std::collections::BTreeMap;

use super::world::Account;
use super::{Scene, batch};
use crate::canary::Canary;
use crate::domain::PayerTransactionId;
use crate::journal::ReportRow;
use crate::lifecycle::State;

/// A second, but for the look into the journal between a repeat's turn and its departure.
const WINDOW_MS: u64 = 1_000 - 50;

/// One generation of a row, as the journal has it.
pub(super) struct Generation {
    pub id: PayerTransactionId,
    pub line: u64,
    pub state: State,
    /// A retry has taken its place.
    replaced: bool,
}

impl Scene {
    /// Every generation of every row.
    pub(super) fn generations(&self) -> Vec<Generation> {
        self.disk.look(|c| {
            let mut statement = c
                .prepare(
                    "select identifier, line, state, replaced_by is not null
                     from instruction join life using (seq) order by seq",
                )
                .expect("the schema has these");
            let rows = statement.query_map([], |row| {
                let id: String = row.get(0)?;
                let (line, state): (i64, i64) = (row.get(1)?, row.get(2)?);
                Ok(Generation {
                    id: PayerTransactionId::parse(&id).expect("we made it"),
                    line: line.unsigned_abs(),
                    state: State::ALL[usize::try_from(state).unwrap_or(0)],
                    replaced: row.get(3)?,
                })
            });
            rows.expect("they can be read")
                .collect::<Result<_, _>>()
                .expect("they can be read")
        })
    }

    /// Compares the books.
    pub(super) fn judge(self, violations: &mut Vec<String>) {
        self.judge_callbacks(violations);
        self.judge_pace(violations);
        let generations = self.generations();
        self.judge_payments(&generations, violations);
        let lines = self.rows.len();
        let reader = self.disk.into_reader();
        let snapshot = reader.snapshot(&batch()).expect("the batch is there");
        // The planted mistakes must be found by the books alone.
        if !Canary::ALL.iter().any(|canary| canary.sings()) {
            violations.extend(snapshot.prove(None).findings);
        }
        let rows = snapshot
            .rows()
            .filter(|row| matches!(row, Ok(ReportRow::Payment(_))))
            .count();
        if rows != lines {
            violations.push(format!("the report has {rows} rows, the file {lines}"));
        }
        let standing = snapshot.standing().expect("it can be read");
        let control = snapshot.control().expect("it can be read").total();
        let total = standing.total();
        if total.count != control.count || total.amounts != control.amounts {
            violations.push(format!(
                "the states add up to {total:?}, not to {control:?}"
            ));
        }
    }

    fn judge_callbacks(&self, violations: &mut Vec<String>) {
        let acknowledged = self.world.lock().acknowledged.clone();
        for (id, code) in acknowledged {
            if !self.is_on_disk(id, code) {
                violations.push(format!(
                    "callback {code} of {id} was acknowledged and is not on disk"
                ));
            }
        }
    }

    fn judge_pace(&self, violations: &mut Vec<String>) {
        let shape = self.world.lock();
        for (index, (from, _, rate)) in shape.sends.iter().enumerate() {
            let within = shape.sends[index..]
                .iter()
                .take_while(|(at, _, _)| *at < from + WINDOW_MS);
            let (mut sum, mut most) = (0, *rate);
            for (_, count, rate) in within {
                sum += count;
                most = most.max(*rate);
            }
            if sum > most {
                violations.push(format!(
                    "{sum} payments left within a second of {from}, at {most}/s"
                ));
                return;
            }
        }
    }

    fn judge_payments(&self, generations: &[Generation], violations: &mut Vec<String>) {
        let shape = self.world.lock();
        let mut by_line: BTreeMap<u64, Vec<&Generation>> = BTreeMap::new();
        for generation in generations {
            by_line.entry(generation.line).or_default().push(generation);
            let id = generation.id;
            let account = shape.ledger.get(&id).cloned().unwrap_or_default();
            if account.executions > 1 {
                violations.push(format!("{id} was executed {} times", account.executions));
            }
            // A reload dates the payments anew: the date of the first load is lost with the journal.
            if account.altered && !self.lost_journal {
                violations.push(format!("{id} was sent with other bytes"));
            }
            // Of two ends that the gateway told, either may have been believed; once both were heard, neither.
            if account.contradicted {
                if matches!(generation.state, State::Paid | State::Failed)
                    && !shape.confirmed
                    && self.heard_both(id)
                {
                    violations.push(format!("{id} heard two ends, and nobody decided"));
                }
                continue;
            }
            let true_to_the_ledger = match generation.state {
                State::Paid => account.executions == 1,
                State::Failed | State::Cancelled => account.executions == 0,
                // Finished, they are looked at elsewhere.
                State::Ready
                | State::Posting
                | State::InDoubt
                | State::Acknowledged
                | State::Delivered => !generation.replaced,
                State::Conflict => false,
            };
            if !true_to_the_ledger {
                violations.push(format!(
                    "{id} is {} and was executed {} times",
                    generation.state.name(),
                    account.executions
                ));
            }
        }
        for row in &self.rows {
            if !by_line.contains_key(&row.line) {
                violations.push(format!("line {} is lost", row.line));
            }
            // Under whatever identifier, known to the journal or lost with an earlier one.
            let of_row = |account: &&Account| account.line == row.line;
            let accounts: Vec<_> = shape.ledger.values().filter(of_row).collect();
            let moved: u32 = accounts.iter().map(|account| account.executions).sum();
            if moved > 1 && !accounts.iter().any(|account| account.contradicted) {
                violations.push(format!("line {} was paid {moved} times", row.line));
            }
        }
        // A retry's identifier is lost with its journal.
        let known = |id| generations.iter().any(|generation| generation.id == id);
        for (id, account) in &shape.ledger {
            if account.executions > 0 && !known(*id) && !self.lost_journal {
                violations.push(format!("{id} was executed, and nobody knows of it"));
            }
        }
    }

    /// Whether two ends were heard of a payment, and no decision has followed.
    fn heard_both(&self, id: PayerTransactionId) -> bool {
        self.disk.look(|c| {
            let heard = |which: &str| -> bool {
                let sql = format!(
                    "select exists (select 1 from evidence join instruction using (seq) where identifier = ?1 and {which})"
                );
                c.query_row(&sql, [id.as_str()], |row| row.get(0))
                    .expect("evidence can be read")
            };
            heard("event in (5, 6, 8) and code in (140, 183)")
                && heard("event in (5, 6, 8) and code in (141, 180)")
                && !heard("event in (9, 10)")
        })
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
