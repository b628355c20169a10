//! Mended rows whose rejected ones were set aside as repeats: repeats they stay, whatever was mended of them. The rule is in
//! [`crate::ledger::was_repeat`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::job::Load;
use crate::domain::{LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::{batch_id, corrupt};
use crate::journal::repeats::on_record::other;
use crate::journal::repeats::sides::{Found, Table};
use crate::journal::repeats::vouched::Vouched;
use crate::ledger::repeats::{Standing, Terms, counts};
use crate::ledger::was_repeat::was_repeat;
use crate::store::tables::{instruction, load, rejected};
use crate::store::{Read, Reads, Scan, Test};

/// Rows of the file by the places of the rows on record that their rejected ones repeated: the load, and the line.
type Repeats = BTreeMap<(LoadId, i64), BTreeSet<PaymentId>>;

impl Load<'_> {
    /// Finds the rows of the file that take the place of repeats, beside those that are found by what stands in them.
    pub(in crate::journal) fn find_set_aside_repeats(
        &self,
        record: &dyn Read,
    ) -> Result<(), Error> {
        let mut repeats = Repeats::new();
        for ((load_id, line, nth), seq) in self.corrections.mended_rows() {
            // An earlier load brought it, and judged it.
            if seq.get() <= self.base {
                continue;
            }
            let one = Scan::of(&rejected::TABLE).at(&load_id).at(&line).at(&nth);
            let errors: Option<String> = self.c.value(&one, rejected::errors)?;
            let errors = errors.ok_or_else(|| corrupt("a rejected row that is missing"))?;
            let Some(was) = was_repeat(&errors) else {
                continue;
            };
            let Some(batch_id) = batch_id(self.c, &was.batch)? else {
                continue;
            };
            for (line, source) in was.places {
                let loads = Scan::by(&load::load_by_batch)
                    .at(&batch_id)
                    .only(load::source, Test::is(&source))
                    .only(load::load_id, Test::is_not(&self.load_id));
                for load_id in self.c.values(&loads, load::load_id)? {
                    let of_place = repeats.entry((load_id, line.cast_signed())).or_default();
                    of_place.insert(seq);
                }
            }
        }
        match repeats.is_empty() {
            true => Ok(()),
            false => self.judge_set_aside_repeats(record, &repeats),
        }
    }

    fn judge_set_aside_repeats(&self, record: &dyn Read, repeats: &Repeats) -> Result<(), Error> {
        // All of them are found in one pass: rows are not to be had by their lines.
        let earlier = Scan::of(&instruction::TABLE).up_to(&self.base);
        let columns = [instruction::load_id, instruction::line, instruction::seq];
        let vouched = Vouched::default();
        self.c.each_row(&earlier, &columns, |row| {
            let load_id = row.get(0)?;
            for seq in repeats.get(&(load_id, row.get(1)?)).into_iter().flatten() {
                self.judge_set_aside_repeat(record, &vouched, *seq, (load_id, row.get(2)?))?;
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
    }

    fn judge_set_aside_repeat(
        &self,
        record: &dyn Read,
        vouched: &Vouched,
        seq: PaymentId,
        (load_id, of_other): (LoadId, PaymentId),
    ) -> Result<(), Error> {
        let found = Found::kept(self.c.scratch()?);
        // What a person changed of it, and time, make no other debt of it.
        let terms = Terms::default().for_row(true);
        let Some(other) = other(record, vouched, of_other)? else {
            return Ok(());
        };
        if counts(other.standing, self.plan.now.since(other.newest), &terms) {
            if other.by_word {
                found.add(Table::ByWord, seq, load_id, other.seq)?;
            }
            found.add(Table::Repeat, seq, load_id, other.seq)?;
        } else if other.standing == Standing::Failed {
            found.add(Table::Watched, seq, load_id, other.seq)?;
        }
        Ok(())
    }
}
