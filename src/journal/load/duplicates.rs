//! Rows of a file that are there already, or twice in it.

use super::ascending::{Ascending, Stands};
use super::corrections::cells_text;
use super::external_sort::{Entry, Order};
use super::job::Load;
use super::nameless::NamelessRows;
use super::prepare::identifier;
use super::sorted::LATE_MAX;
use super::sorted::Sorted;
use crate::domain::{AmountField, Instruction, PayerTransactionId, PaymentId};
use crate::journal::codec::values::Stored;
use crate::journal::{CrossRowError, Error, RejectedRow};
use crate::ledger::forgetting::forgotten;
use crate::ledger::repeats::may_be_same_person;
use crate::lifecycle::State;
use crate::store::tables::{identifier, instruction, life};
use crate::store::{Field, Reads, Scan, Test, Write, Writes, shape};

shape! {
    /// An identifier, and whose it is.
    struct Identified of identifier { identifier: PayerTransactionId, seq: PaymentId }
}

impl Load<'_> {
    /// Goes through the new rows in the order of their identifiers and gives each its place in the index.
    pub(in crate::journal) fn sort_out(&mut self, order: Order) -> Result<Sorted, Error> {
        let mut sorted = Sorted::default();
        let mut entries = order.sorted()?.begin()?;
        let columns = [identifier::identifier, identifier::seq];
        let mut insert = self.c.appender(&identifier::TABLE, &columns)?;
        let mut nameless = NamelessRows::default();
        // The first row with an identifier.
        let mut first: Option<Entry> = None;
        let mut above = 0;
        while let Some(entry) = entries.next()? {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("in-load");
            let placed = |place| PaymentId::new(self.base.saturating_add_unsigned(place) + 1);
            let seq = placed(entry.place);
            // What it was to correct says which payment it is, before its content does.
            if self.existed && nameless.take(self, seq)? {
                continue;
            }
            if let Some(first) = first.filter(|first| first.id == entry.id) {
                self.assert_same_key(seq, placed(first.place))?;
                above += 1;
                self.repeated(first.line, seq, above, &mut sorted)?;
                continue;
            }
            above = 0;
            first = Some(entry);
            if self.existed && self.was_there(seq, entry.id, &mut sorted)? {
                continue;
            }
            insert.value(entry.id.to_value())?;
            insert.value(seq.to_value())?;
        }
        insert.flush()?;
        drop(insert);
        nameless.sort_out(self, &mut sorted)?;
        self.exchange_documents(&mut sorted)?;
        Ok(sorted)
    }

    /// Deals with a row that has the identifier of one above it, on line `other`.
    // Of that one only the line is asked for: when an earlier load brought it, it is gone from this one.
    pub(in crate::journal) fn repeated(
        &mut self,
        other: u64,
        seq: PaymentId,
        above: u32,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let row = self.instruction(seq)?;
        let line = row.line;
        if let Some(reference) = &row.reference {
            let message = format!(
                "{reference:?} is the reference of line {other} too; each row needs its own",
                reference = reference.as_str()
            );
            return self.set_aside(
                seq,
                &row,
                CrossRowError {
                    line,
                    good_row: self.good_row(seq),
                    column: "reference",
                    message,
                    digest: row.content_hash(),
                },
                sorted,
            );
        }
        if !self.plan.allow_equal_rows {
            let message = format!(
                "equal to line {other}: one mistake or two payments? Give each row a reference, or add --allow-equal-rows"
            );
            return self.set_aside(
                seq,
                &row,
                CrossRowError {
                    line,
                    good_row: self.good_row(seq),
                    column: "",
                    message,
                    digest: row.content_hash(),
                },
                sorted,
            );
        }
        let hash = row.content_hash();
        let id = identifier(&self.scheme, self.plan, &row, hash, above);
        self.altered = true;
        self.rename(seq, id)?;
        if self.existed && self.was_there(seq, id, sorted)? {
            return Ok(());
        }
        self.name(seq, id)
    }

    /// Gives a row another identifier.
    pub(in crate::journal) fn rename(
        &self,
        seq: PaymentId,
        id: PayerTransactionId,
    ) -> Result<(), Error> {
        let one = Scan::of(&instruction::TABLE).at(&seq);
        self.c.set(&one, instruction::identifier, &id)?;
        Ok(())
    }

    /// Gives the identifier of a row its place in the index.
    pub(in crate::journal) fn name(
        &self,
        seq: PaymentId,
        identifier: PayerTransactionId,
    ) -> Result<(), Error> {
        Ok(self.c.insert(&Identified { identifier, seq })?)
    }

    /// Returns a row as it is compared with another one: by pseudonyms, where the person of that one was forgotten.
    fn as_comparable_with(
        &self,
        row: Instruction<Stored>,
        other: &Instruction<Stored>,
    ) -> Instruction<Stored> {
        match other.msisdn.is_forgotten() {
            true => forgotten(&row, |parts| self.key.pseudonym(parts)),
            false => row,
        }
    }

    /// Refuses two rows that would be one payment to the gateway although their keys differ: short identifiers can collide.
    fn assert_same_key(&self, seq: PaymentId, other: PaymentId) -> Result<(), Error> {
        let row = self.instruction(seq)?;
        // An earlier load may have brought the other one: it is gone from this one then, and was compared.
        let Some(other) = self.instruction_if_there(other)? else {
            return Ok(());
        };
        let row = self.as_comparable_with(row, &other);
        let is_same = match (&row.reference, &other.reference) {
            (Some(row), Some(other)) => row == other,
            (None, None) => row.content_hash() == other.content_hash(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        match is_same {
            true => Ok(()),
            false => Err(Error::IdentifiersCollide {
                line: row.line,
                other: other.line,
                form: self.scheme.form.to_string(),
            }),
        }
    }

    pub(in crate::journal) fn good_row(&self, seq: PaymentId) -> u64 {
        // Rows are numbered in the order of the file.
        self.corrections.good_row(seq, seq.get() - self.base)
    }

    /// Returns whether an earlier load brought this row; then it is dropped from this one.
    pub(in crate::journal) fn was_there(
        &mut self,
        seq: PaymentId,
        id: PayerTransactionId,
        sorted: &mut Sorted,
    ) -> Result<bool, Error> {
        let earlier = Scan::of(&identifier::TABLE)
            .at(&id)
            .only(identifier::seq, Test::at_most(&self.base));
        let earlier = self.c.value(&earlier, identifier::seq)?;
        match earlier {
            Some(earlier) => {
                self.assert_same_key(seq, earlier)?;
                self.is_there(seq, earlier, sorted)?;
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// An earlier load brought this row as that payment: it is dropped from this one.
    pub(in crate::journal) fn is_there(
        &mut self,
        seq: PaymentId,
        earlier: PaymentId,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let (row, known) = (self.instruction(seq)?, self.instruction(earlier)?);
        let is_forgotten = known.msisdn.is_forgotten();
        let row = self.as_comparable_with(row, &known);
        if row.content_hash() == known.content_hash() {
            // The document of one who was forgotten is gone.
            if !is_forgotten && self.plan.new_documents {
                self.documents.was_there(seq, earlier)?;
            }
            match known.money.money() {
                Some(money) => sorted.unchanged.add(money),
                None => {
                    sorted.unchanged.count += 1;
                    sorted.unpriced += u64::from(!self.has_life(earlier)?);
                }
            }
        } else if let Some(error) = self.has_anothers_reference(seq, &row, (earlier, &known))? {
            sorted.changed += 1;
            if sorted.anothers.len() < LATE_MAX {
                sorted.anothers.push(error);
            }
        } else {
            sorted.changed += 1;
            sorted.changed_person += u64::from(!may_be_same_person(&row, &known));
            if sorted.examples.len() < EXAMPLES_MAX {
                let label = row
                    .reference
                    .as_ref()
                    .map_or("", |reference| reference.as_str());
                sorted.examples.push(format!(
                    "changed: line {}, reference {label}{}",
                    row.line,
                    differing(&known, &row)
                ));
            }
        }
        self.corrections.became(seq, Some(earlier));
        self.kept.insert(earlier);
        self.remove(seq)
    }

    pub(in crate::journal) fn remove(&mut self, seq: PaymentId) -> Result<(), Error> {
        self.altered = true;
        self.c.remove(&Scan::of(&instruction::TABLE).at(&seq))?;
        Ok(())
    }

    /// Returns how many rows of the file are payments of an earlier load that were withdrawn.
    pub(in crate::journal) fn kept_cancelled(&self) -> Result<u64, Error> {
        let mut lives = Ascending::<Stands>::of(self.c);
        let mut count = 0;
        for seq in self.kept.iter() {
            let life = lives.find(seq)?;
            count +=
                u64::from(life.is_some_and(|life| {
                    life.state == State::Cancelled && life.replaced_by.is_none()
                }));
        }
        Ok(count)
    }

    pub(in crate::journal) fn has_life(&self, seq: PaymentId) -> Result<bool, Error> {
        Ok(self.c.any(&Scan::of(&life::TABLE).at(&seq))?)
    }

    pub(in crate::journal) fn set_aside(
        &mut self,
        seq: PaymentId,
        i: &Instruction<Stored>,
        error: CrossRowError,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        if self.corrections.became(seq, None) {
            // What it was to correct stays as it is.
            self.corrections.count_still_bad(i.money.money());
        } else if self.plan.skip_bad_rows {
            let errors = if error.column.is_empty() {
                error.message.clone()
            } else {
                format!("{}: {}", error.column, error.message)
            };
            self.reject(&RejectedRow {
                line: i.line,
                reference: i
                    .reference
                    .as_ref()
                    .map(|r| r.as_str().to_owned())
                    .unwrap_or_default(),
                service_code: i.service.as_str().to_owned(),
                msisdn: i.msisdn.as_str().to_owned(),
                account_number: i.account_number.to_string(),
                amount_text: i.money.digits(),
                currency_code: i.money.currency.code().to_owned(),
                money: i.money.money(),
                errors,
                digest: error.digest,
                cells: cells_text(i.cells()),
            })?;
        }
        self.remove(seq)?;
        if sorted.late.len() < LATE_MAX {
            sorted.late.push(error);
        }
        Ok(())
    }
}

fn differing(known: &Instruction<Stored>, row: &Instruction<Stored>) -> String {
    let amount = |stored: &Stored| match stored.digits() {
        digits if digits.is_empty() => format!("{}, left to the bill", stored.currency),
        digits => format!("{} {digits}", stored.currency),
    };
    let (was, is) = (amount(&known.money), amount(&row.money));
    if was != is {
        return format!(": amount was {was}, is {is}");
    }
    let columns = [
        ("service_code", known.service != row.service),
        ("msisdn", known.msisdn != row.msisdn),
        (
            // Without one of its own it is the number.
            "account_number",
            known.msisdn == row.msisdn && known.account_number != row.account_number,
        ),
        ("country_code", known.country != row.country),
        ("narration", known.narration != row.narration),
        ("customer_names", known.customer_names != row.customer_names),
    ];
    let other: Vec<&str> = columns
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect();
    if other.is_empty() {
        ": other columns differ".to_owned()
    } else {
        format!(": differs in {}", other.join(", "))
    }
}

/// Changed rows that are shown.
const EXAMPLES_MAX: usize = 10;
