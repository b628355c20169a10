//! Rows of later loads that pay somebody of the name of a failed row the same amount.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::on_record::OnRecord;
use crate::domain::{AmountField, Instruction};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::state_number;
use crate::ledger::likeness::of_name;
use crate::lifecycle::State;

/// A name as it is compared, with currency and minor units.
type Key = (String, String, i64);

/// Of so many rows of one name and amount each is looked at: one that may have paid is enough.
const EACH_MAX: usize = 8;

/// By the names and amounts of the failures of a batch: the place of a load in the list that was given, and the row.
pub(in crate::journal::sqlite) struct Namesakes(FxHashMap<Key, Vec<(usize, i64)>>);

impl Namesakes {
    /// Reads the later loads once: memory grows with the failures alone.
    pub(in crate::journal::sqlite) fn read(
        c: &Connection,
        batch_id: i64,
        loads: &[OnRecord],
    ) -> Result<Self, Error> {
        let mut found: FxHashMap<Key, Vec<(usize, i64)>> = FxHashMap::default();
        let mut failures = c.prepare_cached(
            "select i.customer_names, i.currency, i.amount, min(i.seq) over () from life l join instruction i using (seq)
             where l.batch_id = ?1 and l.state = ?2 and i.customer_names is not null and i.amount is not null",
        )?;
        let mut rows = failures.query([batch_id, state_number(State::Failed)])?;
        let mut first = i64::MAX;
        while let Some(row) = rows.next()? {
            let name = of_name(
                row.get_ref(0)?
                    .as_str_or_null()
                    .unwrap_or_default()
                    .unwrap_or_default(),
            );
            first = row.get(3)?;
            if !name.is_empty() {
                found.entry((name, row.get(1)?, row.get(2)?)).or_default();
            }
        }
        if found.is_empty() {
            return Ok(Self(found));
        }
        let places: FxHashMap<i64, usize> = loads
            .iter()
            .enumerate()
            .map(|(place, load)| (load.load_id, place))
            .collect();
        let mut later = c.prepare_cached(
            "select customer_names, currency, amount, load_id, seq from instruction
             where seq > ?1 and generation = 0 and customer_names is not null and amount is not null",
        )?;
        let mut rows = later.query([first])?;
        while let Some(row) = rows.next()? {
            let Some(place) = places.get(&row.get(3)?) else {
                continue;
            };
            let name = of_name(
                row.get_ref(0)?
                    .as_str_or_null()
                    .unwrap_or_default()
                    .unwrap_or_default(),
            );
            if let Some(rows) = found.get_mut(&(name, row.get(1)?, row.get(2)?))
                && rows.len() < EACH_MAX
            {
                rows.push((*place, row.get(4)?));
            }
        }
        Ok(Self(found))
    }

    /// Returns those of a row.
    pub(in crate::journal::sqlite) fn of<M: AmountField>(
        &self,
        row: &Instruction<M>,
    ) -> &[(usize, i64)] {
        let Some(amount) = row.money.known() else {
            return &[];
        };
        let currency = row.money.currency().code().to_owned();
        let key = (of_name(&row.customer_names), currency, amount.minor());
        self.0.get(&key).map_or(&[], Vec::as_slice)
    }
}
