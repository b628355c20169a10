//! The evidence of every payment, folded again: the state must be what it adds up to, and the same each time it is read.

use std::collections::BTreeSet;

use crate::journal::{HistoryEntry, ReportRow, Snapshot};
use crate::lifecycle::{PaymentState, Policy, State, StepContext, step};
use crate::seeded_bugs::SeededBug;
use crate::simulation::life::policy;
use crate::simulation::scene::Scene;

/// What a trail of evidence adds up to.
fn fold(trail: &[HistoryEntry], policy: &Policy) -> PaymentState {
    trail.iter().fold(PaymentState::NEW, |life, entry| {
        let moment = StepContext {
            now: entry.at,
            jitter: 0,
        };
        match entry.event {
            Some(event) => step(&life, event, moment, policy).life,
            None if entry.kind == "presumed to have been posted before" => PaymentState {
                state: State::InDoubt,
                code: None,
                attempts: match (life.state, life.exposures) {
                    (State::Ready | State::Cancelled, 0) => 0,
                    _ => life.attempts,
                },
                exposures: life.exposures.max(1),
                not_found: 0,
                quarantine_from: Some(entry.at),
                taken: false,
                ..life
            },
            None => life,
        }
    })
}

/// The life without what evidence does not tell: when something is done next.
fn proven(life: PaymentState) -> PaymentState {
    PaymentState {
        due_at: None,
        queries: 0,
        ..life
    }
}

/// All that a report is made of.
struct Page {
    /// Control totals, states, rows and trails, as text.
    text: String,
    rows: usize,
    adds_up: bool,
    /// Lines of which an earlier generation is perhaps paid, too.
    shouted: BTreeSet<u64>,
}

impl Scene {
    /// Reads the batch twice, as a report does, and folds the evidence of every generation; returns the lines that it
    /// calls paid twice, perhaps.
    pub(in crate::simulation) fn judge_report(
        &self,
        violations: &mut Vec<String>,
    ) -> BTreeSet<u64> {
        let policy = policy(true, self.settle_on);
        let mut read = || {
            self.disk.read(|reader| {
                let snapshot = reader.snapshot(&self.batch()).expect("the batch is there");
                page(&snapshot, &policy, violations)
            })
        };
        let (first, second) = (read(), read());
        // The planted mistakes must be found by the books alone.
        if !SeededBug::ALL.iter().any(|canary| canary.is_active()) {
            let found = self.disk.read(|reader| {
                let snapshot = reader.snapshot(&self.batch()).expect("the batch is there");
                let proof = snapshot.prove(None);
                proof.expect("the journal can be read").findings
            });
            // The guards against removal are gone: this journal is emptied for its next use.
            let counts = |finding: &&String| !finding.ends_with("_is_never_removed is missing");
            let found = found.iter().filter(counts);
            violations.extend(found.map(|finding| format!("15: {finding}")));
        }
        let lines = self.rows_of_batch();
        if first.rows != lines {
            violations.push(format!(
                "12: the report has {} rows, the file {lines}",
                first.rows
            ));
        }
        if !first.adds_up {
            violations.push(format!("12: the states do not add up: {}", first.text));
        }
        if first.text != second.text {
            violations.push("20: a second report of the batch differs from the first".into());
        }
        first.shouted
    }
}

fn page(snapshot: &Snapshot<'_>, policy: &Policy, violations: &mut Vec<String>) -> Page {
    let standing = snapshot.standing().expect("it can be read");
    let mut control = snapshot.control().expect("it can be read").total();
    // Rows that were set aside are in no control total.
    control.add_all(&standing.rejected);
    let total = standing.total();
    let mut counted = std::collections::BTreeMap::<State, u64>::new();
    let mut shouted = BTreeSet::new();
    let (mut text, mut rows) = (format!("{control:?} {standing:?}\n"), 0);
    for row in snapshot.rows() {
        let Ok(ReportRow::Payment(newest)) = row else {
            continue;
        };
        rows += 1;
        *counted.entry(newest.life.state).or_default() += 1;
        let id = newest.payment.id;
        if newest.earlier_conflict {
            shouted.insert(newest.payment.instruction.line);
        }
        let key = newest.payment.instruction.reference.as_ref();
        let key = key.map_or(id.as_str(), |reference| reference.as_str());
        for record in snapshot.find(key).expect("it was read before") {
            let trail = snapshot.trail(record.seq).expect("it can be read");
            let (is, folded) = (proven(record.life), proven(fold(&trail, policy)));
            if is != folded {
                let id = record.payment.id;
                violations.push(format!("15: {id} is {is:?}, its evidence says {folded:?}"));
            }
            text.push_str(&format!("{record:?} {trail:?}\n"));
        }
    }
    let by_state = State::ALL
        .into_iter()
        .all(|state| standing.of(state).count == counted.get(&state).copied().unwrap_or(0));
    Page {
        text,
        rows,
        shouted,
        adds_up: by_state && total.count == control.count && total.amounts == control.amounts,
    }
}
