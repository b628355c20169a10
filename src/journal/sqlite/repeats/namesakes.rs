//! Rows of later loads that pay somebody of the name of a failed row the same amount.

use rusqlite::{Connection, Row};
use rustc_hash::FxHashMap;

use super::fingerprints;
use super::on_record::OnRecord;
use crate::domain::{AmountField, BatchId, Instruction, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{corrupt, state_number};
use crate::ledger::forgetting::hidden_name;
use crate::ledger::likeness::of_name;
use crate::ledger::repeats::{named, names};
use crate::lifecycle::State;

/// A name as it is compared, with currency and minor units.
type Key = (String, String, i64);

/// Of so many rows of one name and amount each is looked at: one that may have paid is enough.
const EACH_MAX: usize = 8;

/// By the names and amounts of the failures of a batch: the place of a load in the list that was given, and the row.
pub(in crate::journal::sqlite) struct Namesakes(
    FxHashMap<Key, Vec<(usize, PaymentId)>>,
    fingerprints::Key,
);

impl Namesakes {
    /// Reads the later loads once: memory grows with the failures alone.
    pub(in crate::journal::sqlite) fn read(
        c: &Connection,
        batch_id: BatchId,
        (loads, key): (&[OnRecord], fingerprints::Key),
    ) -> Result<Self, Error> {
        let mut found: FxHashMap<Key, Vec<(usize, PaymentId)>> = FxHashMap::default();
        let mut failures = c.prepare_cached(
            "select i.customer_names, i.extra, i.currency, i.amount, min(i.seq) over () from life l join instruction i using (seq)
             where l.batch_id = ?1 and l.state = ?2 and (i.customer_names is not null or i.extra is not null) and i.amount is not null",
        )?;
        let mut rows = failures.query((batch_id, state_number(State::Failed)))?;
        let mut first = PaymentId::new(i64::MAX);
        while let Some(row) = rows.next()? {
            first = row.get(4)?;
            for name in names_in(row, 0)? {
                // A later row whose person was forgotten has a pseudonym.
                for name in [hidden(key, &name), name] {
                    found.entry((name, row.get(2)?, row.get(3)?)).or_default();
                }
            }
        }
        if found.is_empty() {
            return Ok(Self(found, key));
        }
        let places: FxHashMap<LoadId, usize> = loads
            .iter()
            .enumerate()
            .map(|(place, load)| (load.load_id, place))
            .collect();
        let mut later = c.prepare_cached(
            "select customer_names, extra, currency, amount, load_id, seq from instruction
             where seq > ?1 and generation = 0 and (customer_names is not null or extra is not null) and amount is not null",
        )?;
        let mut rows = later.query([first])?;
        while let Some(row) = rows.next()? {
            let Some(place) = places.get(&row.get(4)?) else {
                continue;
            };
            for name in names_in(row, 0)? {
                if let Some(rows) = found.get_mut(&(name, row.get(2)?, row.get(3)?))
                    && rows.len() < EACH_MAX
                {
                    rows.push((*place, row.get(5)?));
                }
            }
        }
        Ok(Self(found, key))
    }

    /// Returns those of a row.
    pub(in crate::journal::sqlite) fn of<M: AmountField>(
        &self,
        row: &Instruction<M>,
    ) -> Vec<(usize, PaymentId)> {
        let Some(amount) = row.money.known() else {
            return Vec::new();
        };
        let currency = row.money.currency().code();
        let all = names(row).flat_map(|name| [hidden(self.1, &name), name]);
        let keys = all.map(|name| (name, currency.to_owned(), amount.minor()));
        let rows = keys.filter_map(|key| self.0.get(&key)).flatten();
        rows.copied().collect()
    }
}

/// Returns a name, as it is compared, as it stands in a row whose person was forgotten.
fn hidden(key: fingerprints::Key, name: &str) -> String {
    of_name(&hidden_name(name, |parts| key.pseudonym(parts)))
}

/// Reads the names of a row, as they are compared: the columns `customer_names` and `extra`, the first of them at `at`.
fn names_in(row: &Row<'_>, at: usize) -> Result<Vec<String>, Error> {
    let text = |at: usize| -> Result<&str, Error> {
        let text = row.get_ref(at)?.as_str_or_null();
        Ok(text
            .map_err(|_| corrupt("a text that is not one"))?
            .unwrap_or_default())
    };
    let (customer, extra) = (text(at)?, text(at + 1)?);
    let extra: Vec<(String, String)> = match extra {
        "" => Vec::new(),
        json => serde_json::from_str(json).map_err(|_| corrupt("members of extraData"))?,
    };
    let extra = extra
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    Ok(named(customer, extra).collect())
}
