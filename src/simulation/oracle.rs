//! The ledger against the journal: what must hold for every seed.

use std::collections::BTreeMap;

use super::Scene;
use super::world::Account;
use crate::domain::PayerTransactionId;
use crate::lifecycle::State;

/// Codes that prove an end, as the interface has them.
const PAID: [i32; 2] = [140, 183];
const FAILED: [i32; 6] = [141, 180, 106, 110, 120, 231];

const SECOND_MS: u64 = 1_000;

/// One generation of a row, as the journal has it.
pub(super) struct Generation {
    pub id: PayerTransactionId,
    pub line: u64,
    pub state: State,
    code: Option<i32>,
    /// A person decided it.
    decided: bool,
    /// A retry has taken its place.
    replaced: bool,
}

impl Scene {
    /// Every generation of every row.
    pub(super) fn generations(&self) -> Vec<Generation> {
        self.disk.look(|c| {
            let mut statement = c
                .prepare_cached(
                    "select identifier, line, coalesce(state, 0), replaced_by is not null, code,
                         exists (select 1 from evidence e where e.seq = i.seq and event in (9, 10))
                     from instruction i left join life l on l.seq = i.seq
                     where amount is not null or state is not null order by i.seq",
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
                    code: row.get(4)?,
                    decided: row.get(5)?,
                })
            });
            rows.expect("they can be read")
                .collect::<Result<_, _>>()
                .expect("they can be read")
        })
    }

    /// Compares the books, what weighs most first.
    pub(super) fn judge(&self, violations: &mut Vec<String>) {
        let generations = self.generations();
        self.judge_words(violations);
        self.judge_proofs(&generations, violations);
        self.judge_payments(&generations, violations);
        self.judge_report(violations);
        self.judge_callbacks(violations);
        self.judge_pace(violations);
    }

    /// What is on record as the gateway's word, the gateway has said.
    fn judge_words(&self, violations: &mut Vec<String>) {
        let shape = self.world.lock();
        self.disk.look(|c| {
            let mut statement = c
                .prepare_cached(
                    "select distinct identifier, code from evidence join instruction using (seq)
                     where event in (5, 6, 8) and code is not null order by seq, code",
                )
                .expect("the schema has these");
            let mut rows = statement.query([]).expect("they can be read");
            while let Some(row) = rows.next().expect("they can be read") {
                let id: String = row.get(0).expect("a text");
                let code: i32 = row.get(1).expect("a code");
                let id = PayerTransactionId::parse(&id).expect("we made it");
                let told = shape
                    .ledger
                    .get(&id)
                    .is_some_and(|account| account.told.contains(&code));
                if !told {
                    violations.push(format!(
                        "8: code {code} is on record for {id}, which was never told"
                    ));
                }
            }
        });
    }

    /// An end rests on a code that proves it, or on a person.
    fn judge_proofs(&self, generations: &[Generation], violations: &mut Vec<String>) {
        for generation in generations {
            let Generation {
                id,
                state,
                code,
                decided,
                ..
            } = generation;
            let (proofs, rule): (&[i32], _) = match state {
                State::Paid => (&PAID, 11),
                State::Failed => (&FAILED, if *code == Some(229) { 11 } else { 8 }),
                _ => continue,
            };
            if !decided && !code.is_some_and(|code| proofs.contains(&code)) {
                violations.push(format!("{rule}: {id} is {} by code {code:?}", state.name()));
            }
        }
    }

    fn judge_callbacks(&self, violations: &mut Vec<String>) {
        let acknowledged = self.world.lock().acknowledged.clone();
        for (id, code) in acknowledged {
            if !self.is_on_disk(id, code) {
                violations.push(format!(
                    "14: callback {code} of {id} was acknowledged and is not on disk"
                ));
            }
        }
    }

    fn judge_pace(&self, violations: &mut Vec<String>) {
        let shape = self.world.lock();
        for (index, (from, _, rate)) in shape.sends.iter().enumerate() {
            let within = shape.sends[index..]
                .iter()
                .take_while(|(at, _, _)| *at < from + SECOND_MS);
            let (mut sum, mut most) = (0, *rate);
            for (_, count, rate) in within {
                sum += count;
                most = most.max(*rate);
            }
            if sum > most {
                violations.push(format!(
                    "19: {sum} payments left within a second of {from}, at {most}/s"
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
                violations.push(format!("9: {id} was executed {} times", account.executions));
            }
            // Of two ends that the gateway told, either may have been believed; once both were heard, neither.
            if account.contradicted {
                if matches!(generation.state, State::Paid | State::Failed)
                    && self.settle_on == crate::lifecycle::SettleOn::Callback
                    && self.heard_both(id)
                {
                    violations.push(format!("10: {id} heard two ends, and nobody decided"));
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
                let rule = match generation.state {
                    State::Paid | State::Failed => 7,
                    State::Cancelled | State::Conflict => 10,
                    _ => 6,
                };
                violations.push(format!(
                    "{rule}: {id} is {} and was executed {} times",
                    generation.state.name(),
                    account.executions
                ));
            }
        }
        for row in &self.lines() {
            if !by_line.contains_key(&row.line) {
                violations.push(format!("12: line {} is lost", row.line));
            }
            // Under whatever identifier, known to the journal or lost with an earlier one.
            let of_row = |account: &&Account| account.line == row.line;
            let accounts: Vec<_> = shape.ledger.values().filter(of_row).collect();
            let moved: u32 = accounts.iter().map(|account| account.executions).sum();
            if moved > 1 && !accounts.iter().any(|account| account.contradicted) {
                violations.push(format!("1: line {} was paid {moved} times", row.line));
            }
        }
        // A retry's identifier is lost with its journal.
        let known = |id| generations.iter().any(|generation| generation.id == id);
        for (id, account) in &shape.ledger {
            if account.executions > 0 && !known(*id) && !self.lost_journal {
                violations.push(format!("6: {id} was executed, and nobody knows of it"));
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
