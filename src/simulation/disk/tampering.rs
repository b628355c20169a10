//! Whoever can write the journal's file edits it between two runs, and takes it back after the next one.

use rusqlite::OptionalExtension;
use tokio_util::sync::CancellationToken;

use crate::domain::PayerTransactionId;
use crate::lifecycle::State;
use crate::simulation::disk::rows::{self, Life};
use crate::simulation::scene::Scene;
use crate::store::{Field, Read, Value};

/// What was edited, and what takes it back.
pub(in crate::simulation) struct Edited {
    /// Of instructions only whoever drops their guard can change one.
    guarded: bool,
    undo: String,
}

impl Scene {
    /// Edits an amount, a number or a state, now and then.
    pub(in crate::simulation) fn tamper(&self) -> Option<Edited> {
        let which = {
            let mut shape = self.world.lock();
            shape.chance(|f| f.tampered).then(|| shape.rng.u32(0..4))?
        };
        let found = self.disk.look(|c| match which {
            0 => instruction(c, |minor, _| format!("amount = {}", minor + 1)),
            1 => instruction(c, |_, to| {
                let last = if to.ends_with('9') { 0 } else { 9 };
                format!("msisdn = '{}{last}'", &to[..to.len() - 1])
            }),
            2 => state(c),
            _ => failure(c),
        });
        let (id, what, edited) = found?;
        self.edit(edited.guarded, &what);
        if which == 3 {
            // Whoever sees a failure orders a retry.
            let now = self.world.lock().wall_now();
            let done = self.on_a_runtime(async {
                let journal = self.open(None, &CancellationToken::new());
                self.retry_of(&journal, self.batch_of(id), None, now).await
            });
            self.world.lock().note(|| format!("retry: {done:?}"));
        }
        let mut shape = self.world.lock();
        shape.tampered = Some(id);
        shape.deaf = true;
        shape.note(|| format!("{id} is edited: {what}"));
        Some(edited)
    }

    /// Takes the edit back.
    pub(in crate::simulation) fn take_back(&self, edited: Option<Edited>) {
        if let Some(edited) = edited {
            self.edit(edited.guarded, &edited.undo);
            let mut shape = self.world.lock();
            (shape.tampered, shape.deaf) = (None, false);
        }
    }

    fn edit(&self, guarded: bool, what: &str) {
        self.disk.write_past(|c| {
            let guard: Option<String> = c
                .query_row(
                    "select sql from sqlite_schema where ?1 and name = 'instruction_is_never_changed'",
                    [guarded],
                    |row| row.get(0),
                )
                .optional()
                .expect("the schema can be read");
            let drop = guard.as_ref().map_or("", |_| "drop trigger instruction_is_never_changed;");
            c.execute_batch(&format!("{drop} {what}; {}", guard.unwrap_or_default()))
                .expect("whoever owns the file may write it");
        });
    }
}

type Found = Option<(PayerTransactionId, String, Edited)>;

/// A payment that may still be posted.
fn instruction(c: &dyn Read, change: impl FnOnce(i64, &str) -> String) -> Found {
    let open = rows::instructions(c).into_iter().rev().find(|row| {
        let life = rows::life(c, row.seq);
        row.amount.is_some() && life.is_none_or(|life| life.state == State::Ready)
    });
    let row = open?;
    let (seq, minor, to) = (row.seq, row.amount?, row.msisdn);
    let set = |change: &str| format!("update instruction set {change} where seq = {seq}");
    let edited = Edited {
        guarded: true,
        undo: set(&format!("amount = {minor}, msisdn = '{to}'")),
    };
    Some((row.identifier, set(&change(minor, &to)), edited))
}

/// What has left, or ended, and stands for its row, stands as ready.
fn state(c: &dyn Read) -> Found {
    let closed = rows::lives(c).into_iter().find(|life| {
        !matches!(life.state, State::Ready | State::Posting) && life.replaced_by.is_none()
    });
    let life = closed?;
    let (seq, state, due_at) = (life.seq, number(life.state), life.due_at);
    let (queued, exposures) = (i64::from(life.queued), life.exposures);
    let edited = Edited {
        guarded: false,
        // Unless it has moved meanwhile, by what was heard of it. The run may have held it.
        undo: format!(
            "update life set state = {state}, due_at = {due_at}, queued = {queued}, exposures = {exposures} where seq = {seq} and state = 0 and exposures = 0"
        ),
    };
    // Not as one that has been on the wire: of that one the gateway would be asked first.
    let what = format!(
        "update life set state = 0, due_at = 0, queued = 1, exposures = 0 where seq = {seq}"
    );
    Some((rows::instruction(c, seq).identifier, what, edited))
}

/// What is under way stands as failed: its row would be paid anew. First one that a retry has replaced already.
fn failure(c: &dyn Read) -> Found {
    let unpaid = |life: &Life| match life.state {
        State::InDoubt | State::Acknowledged | State::Delivered => true,
        State::Conflict => life.replaced_by.is_some(),
        _ => false,
    };
    let found = rows::lives(c).into_iter().filter(unpaid);
    let life = found.min_by_key(|life| (life.replaced_by.is_none(), life.seq))?;
    let (seq, state, due_at) = (life.seq, number(life.state), life.due_at);
    let queued = i64::from(life.queued);
    let code = life.code.map_or("null".to_owned(), |code| code.to_string());
    let edited = Edited {
        guarded: false,
        undo: format!(
            "update life set state = {state}, code = {code}, due_at = {due_at}, queued = {queued} where seq = {seq} and state = 6
                 and (replaced_by is null or {state} = 8)"
        ),
    };
    let what = format!(
        "update life set state = 6, code = 141, due_at = 9223372036854775807, queued = 1 where seq = {seq}"
    );
    Some((rows::instruction(c, seq).identifier, what, edited))
}

/// The number that a state is stored as.
fn number(state: State) -> i64 {
    match state.to_value() {
        Value::Integer(number) => number,
        other => panic!("a state is a number, and not {}", other.kind()),
    }
}
