//! Whoever can write the journal's file edits it between two runs, and takes it back after the next one.

use tokio_util::sync::CancellationToken;

use crate::domain::{PayerTransactionId, PaymentId};
use crate::lifecycle::State;
use crate::simulation::disk::rows::{self, Life};
use crate::simulation::scene::Scene;
use crate::store::tables::{instruction, life};
use crate::store::{Column, Field, Read, Scan, Table, Test, Value};

/// What was edited, and what takes it back.
pub(in crate::simulation) struct Edited {
    /// Of instructions only whoever drops their guard can change one.
    guarded: bool,
    undo: Edit,
}

/// A change of one row.
struct Edit {
    table: &'static Table,
    seq: PaymentId,
    /// Only where the row has these values.
    only: Vec<(Column, Test<'static>)>,
    to: Vec<(Column, Value<'static>)>,
}

impl Edit {
    fn of(table: &'static Table, seq: PaymentId, to: Vec<(Column, Value<'static>)>) -> Self {
        Self {
            table,
            seq,
            only: Vec::new(),
            to,
        }
    }

    fn only(mut self, column: Column, test: Test<'static>) -> Self {
        self.only.push((column, test));
        self
    }
}

impl std::fmt::Display for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.table.name, self.seq)?;
        for (column, value) in &self.to {
            write!(f, ", {} = {value:?}", self.table.name_of(*column))?;
        }
        Ok(())
    }
}

impl Scene {
    /// Edits an amount, a number or a state, now and then.
    pub(in crate::simulation) fn tamper(&self) -> Option<Edited> {
        let is_limited = self.limited.is_on();
        if self.together.is_on && is_limited {
            return None;
        }
        let which = {
            let mut shape = self.world.lock();
            shape.chance(|f| f.tampered).then(|| shape.rng.u32(0..4))?
        };
        // What is counted towards ceilings while a state is edited stays counted so, and the next run counts what the last one learned
        // at its end: `verify` names it for ever.
        let which = if is_limited { which % 2 } else { which };
        let found = self.disk.look(|c| match which {
            0 => instruction(c, |minor, _| {
                (instruction::amount, Value::Integer(minor + 1))
            }),
            1 => instruction(c, |_, to| {
                let last = if to.ends_with('9') { 0 } else { 9 };
                let other = format!("{}{last}", &to[..to.len() - 1]);
                (instruction::msisdn, Value::Text(other.into()))
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

    fn edit(&self, guarded: bool, edit: &Edit) {
        self.disk.write_past(guarded, |c| {
            let mut row = Scan::of(edit.table).at(&edit.seq);
            for (column, test) in &edit.only {
                row = row.only(*column, test.clone());
            }
            let (columns, values): (Vec<_>, Vec<_>) = edit.to.iter().cloned().unzip();
            c.change_rows(&row, &columns, &values)
                .expect("whoever owns the file may write it");
        });
    }
}

type Found = Option<(PayerTransactionId, Edit, Edited)>;

/// A payment that may still be posted.
fn instruction(c: &dyn Read, change: impl FnOnce(i64, &str) -> (Column, Value<'static>)) -> Found {
    let open = rows::instructions(c).into_iter().rev().find(|row| {
        let life = rows::life(c, row.seq);
        row.amount.is_some() && life.is_none_or(|life| life.state == State::Ready)
    });
    let row = open?;
    let (minor, to) = (row.amount?, row.msisdn);
    let set = |to| Edit::of(&instruction::TABLE, row.seq, to);
    let changed = set(vec![change(minor, &to)]);
    let undo = set(vec![
        (instruction::amount, Value::Integer(minor)),
        (instruction::msisdn, Value::Text(to.into())),
    ]);
    let guarded = true;
    Some((row.identifier, changed, Edited { guarded, undo }))
}

/// What has left, or ended, and stands for its row, stands as ready.
fn state(c: &dyn Read) -> Found {
    let closed = rows::lives(c).into_iter().find(|life| {
        !matches!(life.state, State::Ready | State::Posting) && life.replaced_by.is_none()
    });
    let life = closed?;
    let set = |to| Edit::of(&life::TABLE, life.seq, to);
    // Unless it has moved meanwhile, by what was heard of it. The run may have held it.
    let undo = set(vec![
        (life::state, life.state.to_value().into_owned()),
        (life::due_at, Value::Integer(life.due_at)),
        (life::queued, Value::Integer(life.queued.into())),
        (life::exposures, Value::Integer(life.exposures.into())),
    ])
    .only(life::state, Test::Is(State::Ready.to_value().into_owned()))
    .only(life::exposures, Test::Is(Value::Integer(0)));
    // Not as one that has been on the wire: of that one the gateway would be asked first.
    let what = set(vec![
        (life::state, State::Ready.to_value().into_owned()),
        (life::due_at, Value::Integer(0)),
        (life::queued, Value::Integer(1)),
        (life::exposures, Value::Integer(0)),
    ]);
    let (id, guarded) = (rows::instruction(c, life.seq).identifier, false);
    Some((id, what, Edited { guarded, undo }))
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
    let set = |to| Edit::of(&life::TABLE, life.seq, to);
    let code = life
        .code
        .map_or(Value::Null, |code| Value::Integer(code.into()));
    let mut undo = set(vec![
        (life::state, life.state.to_value().into_owned()),
        (life::code, code),
        (life::due_at, Value::Integer(life.due_at)),
        (life::queued, Value::Integer(life.queued.into())),
    ])
    .only(life::state, Test::Is(State::Failed.to_value().into_owned()));
    if life.state != State::Conflict {
        undo = undo.only(life::replaced_by, Test::Absent);
    }
    let what = set(vec![
        (life::state, State::Failed.to_value().into_owned()),
        (life::code, Value::Integer(141)),
        (life::due_at, Value::Integer(i64::MAX)),
        (life::queued, Value::Integer(1)),
    ]);
    let (id, guarded) = (rows::instruction(c, life.seq).identifier, false);
    Some((id, what, Edited { guarded, undo }))
}
