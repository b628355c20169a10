//! Where a payment stands, as columns.

use super::values::{NEVER, TAKEN, assert_changed, due_number, known_number};
use crate::domain::{PaymentId, Timestamp};
use crate::lifecycle::{PaymentState, State};
use crate::store::tables::life;
use crate::store::{Column, Error, Field, Row, Scan, Shape, Table, Value, Write, Writes};

/// The columns of [`PaymentState`].
const COLUMNS: [Column; 10] = [
    life::state,
    life::code,
    life::attempts,
    life::posted_at,
    life::exposures,
    life::known,
    life::not_found,
    life::quarantine_from,
    life::queries,
    life::due_at,
];

impl Shape for PaymentState {
    const TABLE: &'static Table = &life::TABLE;
    const COLUMNS: &'static [Column] = &COLUMNS;

    fn read(row: &dyn Row) -> Result<Self, Error> {
        let state = row.get(0)?;
        // A ready payment is due at once with 0; for the others the largest integer means never.
        let due_at = match (state, row.get(9)?) {
            (State::Ready, 0) | (_, NEVER) => None,
            (_, due_at) => Some(Timestamp::from_millis(due_at)),
        };
        // 0: it has not shown that it has the identifier; 1: it has; 2: it had it before our first post.
        let known: i64 = row.get(5)?;
        Ok(Self {
            state,
            code: row.get(1)?,
            attempts: row.get(2)?,
            posted_at: row.get(3)?,
            exposures: row.get(4)?,
            known: known != 0,
            taken: known == TAKEN,
            not_found: row.get(6)?,
            quarantine_from: row.get(7)?,
            queries: row.get(8)?,
            due_at,
        })
    }

    fn values(&self) -> Vec<Value<'_>> {
        let mut values = Vec::with_capacity(COLUMNS.len() + 1);
        values.extend([
            self.state.to_value(),
            self.code.to_value(),
            self.attempts.to_value(),
            self.posted_at.to_value(),
            self.exposures.to_value(),
            Value::Integer(known_number(self)),
            self.not_found.to_value(),
            self.quarantine_from.to_value(),
            self.queries.to_value(),
            Value::Integer(due_number(self)),
        ]);
        values
    }
}

/// Returns the columns of [`PaymentState`], and another one behind them.
pub(in crate::journal) const fn with(another: Column) -> [Column; COLUMNS.len() + 1] {
    let mut columns = [another; COLUMNS.len() + 1];
    let mut at = 0;
    while at < COLUMNS.len() {
        columns[at] = COLUMNS[at];
        at += 1;
    }
    columns
}

/// The same, and whether it stands in the queue of what is to be asked about.
pub(in crate::journal) struct SavedLife {
    pub(in crate::journal) life: PaymentState,
    pub(in crate::journal) queued: bool,
}

impl Shape for SavedLife {
    const TABLE: &'static Table = &life::TABLE;
    const COLUMNS: &'static [Column] = &with(life::queued);

    fn read(row: &dyn Row) -> Result<Self, Error> {
        Ok(Self {
            life: PaymentState::read(row)?,
            queued: row.get(COLUMNS.len())?,
        })
    }

    fn values(&self) -> Vec<Value<'_>> {
        let mut values = self.life.values();
        values.push(Value::Integer(self.queued.into()));
        values
    }
}

/// Stores where a payment stands.
pub(in crate::journal) fn save_life(
    c: &dyn Write,
    seq: PaymentId,
    life: &PaymentState,
    queued: bool,
) -> Result<(), crate::journal::Error> {
    let own = Scan::of(&life::TABLE).at(&seq);
    let changed = c.change(
        &own,
        &SavedLife {
            life: *life,
            queued,
        },
    )?;
    assert_changed(seq, changed)
}
