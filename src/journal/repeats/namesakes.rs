//! Rows of later loads that pay somebody of the name of a failed row the same amount.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::fingerprints;
use super::on_record::OnRecord;
use crate::domain::{AmountField, BatchId, Instruction, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::ledger::forgetting::hidden_name;
use crate::ledger::likeness::of_name;
use crate::ledger::repeats::{named, names};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Column, Read, Reads, Row, Scan, Test, Value};

/// A name as it is compared, with currency and minor units.
type Key = (String, String, i64);

/// Of so many rows of one name and amount each is looked at: one that may have paid is enough.
const EACH_MAX: usize = 8;

/// By the names and amounts of the failures of a batch: the place of a load in the list that was given, and the row.
pub(in crate::journal) struct Namesakes(FxHashMap<Key, Vec<(usize, PaymentId)>>, fingerprints::Key);

impl Namesakes {
    /// Reads the later loads once: memory grows with the failures alone.
    pub(in crate::journal) fn read(
        c: &dyn Read,
        batch_id: BatchId,
        (loads, key): (&[OnRecord], fingerprints::Key),
    ) -> Result<Self, Error> {
        let mut found: FxHashMap<Key, Vec<(usize, PaymentId)>> = FxHashMap::default();
        let failed = State::Failed;
        let of_batch = Scan::of(&life::TABLE).only(life::batch_id, Test::is(&batch_id));
        let failures = of_batch.only(life::state, Test::is(&failed));
        let mut first = PaymentId::new(i64::MAX);
        let priced = Scan::of(&instruction::TABLE).only(instruction::amount, Test::Present);
        let mut rows = Beside::along(c, priced, instruction::seq, &COLUMNS);
        c.each_row(&failures, &[life::seq], |row| {
            let seq: PaymentId = row.get(0)?;
            let Some(row) = rows.find(seq.get())? else {
                return Ok(ControlFlow::Continue(()));
            };
            if !has_names(&row)? {
                return Ok(ControlFlow::Continue(()));
            }
            first = first.min(seq);
            for name in names_in(&row)? {
                // A later row whose person was forgotten has a pseudonym.
                for name in [hidden(key, &name), name] {
                    found.entry((name, row.get(2)?, row.get(3)?)).or_default();
                }
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if found.is_empty() {
            return Ok(Self(found, key));
        }
        let places: FxHashMap<LoadId, usize> = loads
            .iter()
            .enumerate()
            .map(|(place, load)| (load.load_id, place))
            .collect();
        let later = Scan::of(&instruction::TABLE).after(&first);
        let later = later.only(instruction::generation, Test::is(&0_i64));
        let later = later.only(instruction::amount, Test::Present);
        c.each_row(&later, &COLUMNS, |row| {
            let place = match has_names(row)? {
                true => places.get(&row.get(4)?),
                false => None,
            };
            let Some(place) = place else {
                return Ok(ControlFlow::Continue(()));
            };
            for name in names_in(row)? {
                if let Some(rows) = found.get_mut(&(name, row.get(2)?, row.get(3)?))
                    && rows.len() < EACH_MAX
                {
                    rows.push((*place, row.get(5)?));
                }
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(Self(found, key))
    }

    /// Returns those of a row.
    pub(in crate::journal) fn of<M: AmountField>(
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

/// What is read of a row: its names stand in the first two.
const COLUMNS: [Column; 6] = [
    instruction::customer_names,
    instruction::extra,
    instruction::currency,
    instruction::amount,
    instruction::load_id,
    instruction::seq,
];

fn has_names(row: &dyn Row) -> Result<bool, Error> {
    Ok(row.value(0)? != Value::Null || row.value(1)? != Value::Null)
}

/// Reads the names of a row, as they are compared.
fn names_in(row: &dyn Row) -> Result<Vec<String>, Error> {
    let text = |at: usize| -> Result<Cow<'_, str>, Error> {
        match row.value(at)? {
            Value::Null => Ok(Cow::from("")),
            Value::Text(text) => Ok(text),
            Value::Integer(_) | Value::Bytes(_) => Err(corrupt("a value that is not text")),
        }
    };
    let (customer, extra) = (text(0)?, text(1)?);
    let extra: Vec<(String, String)> = match &*extra {
        "" => Vec::new(),
        json => {
            serde_json::from_str(json).map_err(|_| corrupt("unreadable members of extraData"))?
        }
    };
    let extra = extra
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    Ok(named(&customer, extra).collect())
}
