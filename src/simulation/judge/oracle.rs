//! The ledger against the journal: what must hold for every seed.

use std::collections::BTreeSet;

use crate::domain::{PayerTransactionId, Timestamp};
use crate::lifecycle::{SettleOn, State};
use crate::simulation::disk::rows::{self, FAILED, Heard, PAID, PRESUMED};
use crate::simulation::outside::packet::{Sent, apart};
use crate::simulation::scene::Scene;

/// What ends a retry that the gateway does not have, once an earlier generation is paid; the second one by a dialect's words.
const SUPERSEDED: [i32; 2] = [143, 174];

/// The kind of evidence that an earlier generation proved paid, and the class of a 229.
const SUPERSEDED_BY_EARLIER: i64 = 31;
const REPEATED: i64 = 6;

const SECOND_MS: u64 = 1_000;

/// One generation of a row, as the journal has it.
pub(in crate::simulation) struct Generation {
    pub id: PayerTransactionId,
    pub line: u64,
    /// The name of its batch.
    pub batch: String,
    /// When it was loaded, or ordered.
    pub received_at: Timestamp,
    pub state: State,
    /// It may yet be paid.
    pub is_open: bool,
    code: Option<i32>,
    /// A person decided it.
    decided: bool,
    /// An earlier generation proved paid.
    superseded: bool,
    /// A retry has taken its place.
    pub replaced: bool,
}

impl Generation {
    /// Whether it failed by the word of a person alone.
    pub(in crate::simulation) fn is_decided(&self) -> bool {
        self.state == State::Failed && self.code.is_none()
    }
}

impl Scene {
    /// Every generation of every row.
    pub(in crate::simulation) fn generations(&self) -> Vec<Generation> {
        self.disk.look(|c| {
            let mut generations = Vec::new();
            for row in rows::instructions(c) {
                let life = rows::life(c, row.seq);
                if row.amount.is_none() && life.is_none() {
                    continue;
                }
                let heard = rows::heard(c, row.seq);
                let is_open = life
                    .as_ref()
                    .is_none_or(|life| life.state != State::Paid && rows::is_not_over(c, life));
                generations.push(Generation {
                    id: row.identifier,
                    line: row.line,
                    state: life.as_ref().map_or(State::Ready, |life| life.state),
                    replaced: life.as_ref().is_some_and(|life| life.replaced_by.is_some()),
                    code: life.as_ref().and_then(|life| life.code),
                    decided: heard.iter().any(Heard::is_decision),
                    superseded: heard.iter().any(|row| row.event == SUPERSEDED_BY_EARLIER),
                    batch: rows::batch(c, row.batch_id).name,
                    received_at: row.received_at,
                    is_open,
                });
            }
            generations
        })
    }

    /// Whether nothing waits for a person's decision.
    pub(in crate::simulation) fn is_decided(&self) -> bool {
        let undecided = |generation: &Generation| generation.state == State::Conflict;
        !self.generations().iter().any(undecided)
    }

    /// Compares the books, what weighs most first.
    pub(in crate::simulation) fn judge(&self, violations: &mut Vec<String>) {
        let generations = self.generations();
        self.judge_words(violations);
        self.judge_denials(violations);
        self.judge_proofs(&generations, violations);
        self.judge_payments(&generations, violations);
        let mut shouted = BTreeSet::new();
        self.of_each_batch(|| {
            let lines = self.judge_report(violations);
            shouted.extend(
                lines
                    .into_iter()
                    .map(|line| (self.batch().to_string(), line)),
            );
        });
        self.judge_rows(&generations, &shouted, violations);
        self.judge_callbacks(violations);
        self.judge_pace(violations);
    }

    /// What is on record as the gateway's word, the gateway has said.
    fn judge_words(&self, violations: &mut Vec<String>) {
        let shape = self.world.lock();
        self.disk.look(|c| {
            for row in rows::instructions(c) {
                let heard = rows::heard(c, row.seq);
                let words = heard.iter().filter(|row| row.is_word_at_all());
                let codes: BTreeSet<i32> = words.filter_map(|row| row.code).collect();
                let told = shape.ledger.get(&row.identifier);
                for code in codes {
                    if !told.is_some_and(|account| account.told.contains(&code)) {
                        violations.push(format!(
                            "8: code {code} is on record for {}, which was never told",
                            row.identifier
                        ));
                    }
                }
            }
        });
    }

    /// Of what was not found while several asked at once, one answer counts.
    fn judge_denials(&self, violations: &mut Vec<String>) {
        let shape = self.world.lock();
        if !shape.is_shared {
            return;
        }
        self.disk.look(|c| {
            for row in rows::instructions(c) {
                let heard = rows::heard(c, row.seq);
                let counted = heard.iter().filter(|row| row.is_denial()).count();
                let told = shape.ledger.get(&row.identifier);
                let most = told.map_or(0, |account| apart(account.denied_all.iter()));
                if counted > most {
                    violations.push(format!(
                        "9: {} is on record as not found {counted} times, and was asked about {most} times, one after the other",
                        row.identifier
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
                superseded,
                ..
            } = generation;
            if *superseded && code.is_some_and(|code| SUPERSEDED.contains(&code)) {
                continue;
            }
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

    /// What a copy says has ended, has ended so: it is asked while what it posted may still be under way.
    pub(in crate::simulation) fn judge_copy(&self) {
        for generation in self.generations() {
            let mut shape = self.world.lock();
            let account = shape.account(generation.id).clone();
            let is_true = match generation.state {
                State::Paid => account.executions > 0,
                State::Failed => account.executions == account.broken,
                _ => true,
            };
            if !(is_true || account.taken || generation.decided) {
                let (id, state) = (generation.id, generation.state.name());
                shape.violation(format!("22: {id} is {state} in a copy, and was not"));
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
        // Each account has its own: two of them may post at once. Runs that share a store hold it together.
        let is_together = |one: &Sent, other: &Sent| one.account == other.account;
        for (index, first) in shape.sends.iter().enumerate() {
            let within = shape.sends[index..]
                .iter()
                .take_while(|sent| sent.at < first.at + SECOND_MS)
                .filter(|sent| is_together(first, sent));
            let (mut sum, mut most) = (0, first.rate);
            for sent in within {
                sum += sent.count;
                most = most.max(sent.rate);
            }
            if sum > most {
                violations.push(format!(
                    "19: {sum} payments left within a second of {}, at {most}/s",
                    first.at
                ));
                return;
            }
        }
    }

    fn judge_payments(&self, generations: &[Generation], violations: &mut Vec<String>) {
        let shape = self.world.lock();
        for generation in generations {
            let id = generation.id;
            let account = shape.ledger.get(&id).cloned().unwrap_or_default();
            if account.executions > 1 {
                violations.push(format!("9: {id} was executed {} times", account.executions));
            }
            // Whose it is nobody can tell unless the reply to the first post shows it.
            if account.taken {
                if matches!(generation.state, State::Paid | State::Failed)
                    && !generation.decided
                    && self.was_taken(id)
                {
                    violations.push(format!(
                        "26: {id} is {} by what somebody else paid",
                        generation.state.name()
                    ));
                }
                continue;
            }
            // Of two ends that the gateway told, either may have been believed; once both were heard, neither.
            let ended = matches!(generation.state, State::Paid | State::Failed);
            if ended && self.settle_on == SettleOn::Callback && self.heard_both(id) {
                violations.push(format!("10: {id} heard two ends, and nobody decided"));
            }
            let true_to_the_ledger = match generation.state {
                State::Paid => account.executions == 1,
                // What was executed after it had been called failed, and never told again, nobody can know.
                State::Failed => account.executions == account.broken,
                // What a gateway never shows that has it, nobody can know.
                State::Cancelled => account.executions == 0 || account.hidden,
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
        // A retry's identifier is lost with its journal.
        let known = |id| generations.iter().any(|generation| generation.id == id);
        for (id, account) in &shape.ledger {
            if account.executions > 0 && !known(*id) && !self.lost_journal {
                violations.push(format!("6: {id} was executed, and nobody knows of it"));
            }
        }
    }

    /// A row is paid once, over all its generations, whatever journal knew them, but for what the gateway executed after
    /// it had said no; and then the report says so of the row.
    fn judge_rows(
        &self,
        generations: &[Generation],
        shouted: &BTreeSet<(String, u64)>,
        violations: &mut Vec<String>,
    ) {
        let shape = self.world.lock();
        for line in self.lines().iter().map(|row| row.line) {
            let of_row: Vec<_> = generations.iter().filter(|g| g.line == line).collect();
            if of_row.is_empty() {
                violations.push(format!("12: line {line} is lost"));
            }
            let accounts = || shape.ledger.values().filter(|account| account.line == line);
            let executions: u32 = accounts().map(|account| account.executions).sum();
            let broken: u32 = accounts().map(|account| account.broken).sum();
            let ordered = 1 + shape.ordered.get(&line).copied().unwrap_or(0);
            if executions > ordered && executions - broken > ordered {
                violations.push(format!(
                    "1: line {line} was paid {executions} times, {broken} of them after a no"
                ));
            }
            let batches: BTreeSet<_> = of_row.iter().map(|g| g.batch.as_str()).collect();
            for batch in batches {
                let is_paid = |g: &&&Generation| g.batch == batch && g.state == State::Paid;
                let paid = of_row.iter().filter(is_paid).count();
                if paid > 1 && !shouted.contains(&(batch.to_owned(), line)) {
                    violations.push(format!(
                        "21: line {line} was paid {paid} times, and the report does not say so"
                    ));
                }
            }
        }
    }

    /// How many rows the batch has.
    pub(in crate::simulation) fn rows_of_batch(&self) -> usize {
        let batch = self.batch();
        if batch == crate::simulation::scene::batch() {
            return self.lines().len();
        }
        let of_batch = |generation: &Generation| generation.batch == batch.as_str();
        let lines = self
            .generations()
            .into_iter()
            .filter(of_batch)
            .map(|g| g.line);
        lines.collect::<BTreeSet<_>>().len()
    }

    /// Whether two ends were heard of a payment, and no decision has followed.
    fn heard_both(&self, id: PayerTransactionId) -> bool {
        self.disk.look(|c| {
            let Some(seq) = rows::seq_of(c, id) else {
                return false;
            };
            let heard = rows::heard(c, seq);
            let attempts = rows::life(c, seq).map_or(0, |life| life.attempts);
            let was_presumed = heard.iter().any(|row| row.event == PRESUMED);
            // The reply to a repeat says nothing of the post before it, which a lost journal may have made.
            let is_of_the_post = |row: &Heard| !row.is_reply() || attempts == 1 && !was_presumed;
            heard.iter().any(|row| row.is_word(&PAID))
                && heard
                    .iter()
                    .any(|row| row.is_word(&[141, 180]) && is_of_the_post(row))
                && !heard.iter().any(Heard::is_decision)
        })
    }

    /// Whether 229 was the first that was heard of a payment that could not have arrived before, and nobody presumes that an
    /// earlier journal posted it.
    fn was_taken(&self, id: PayerTransactionId) -> bool {
        self.disk.look(|c| {
            let heard = rows::seq_of(c, id).map_or_else(Vec::new, |seq| rows::heard(c, seq));
            let first = |is_meant: &dyn Fn(&Heard) -> bool| {
                let found = heard.iter().find(|row| is_meant(row));
                found.map(|row| row.evidence_id)
            };
            let repeated = first(&|row| row.is_reply() && row.class == Some(REPEATED));
            let other = first(&|row| matches!(row.event, 3 | 4 | 6 | 8 | 70));
            repeated.is_some_and(|at| other.is_none_or(|other| at < other))
                && first(&|row| row.event == PRESUMED).is_none()
        })
    }

    fn is_on_disk(&self, id: PayerTransactionId, code: i32) -> bool {
        self.disk.look(|c| {
            let heard = rows::seq_of(c, id).map_or_else(Vec::new, |seq| rows::heard(c, seq));
            heard
                .iter()
                .any(|row| row.code == Some(code) && row.digest.is_some())
        })
    }
}
