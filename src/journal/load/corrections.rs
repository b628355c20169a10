//! Rows of a load that correct what the journal has. The rules are in [`crate::ledger::correction`].

use std::collections::{BTreeMap, BTreeSet};

use super::link::Link;
use crate::domain::{Instruction, LoadId, Money, PaymentId, Tally};
use crate::journal::CrossRowError;
use crate::ledger::correction::{Corrects, RejectedName};

/// Rows of one file that may correct something: they are held in memory.
pub(in crate::journal) const CORRECTIONS_MAX: usize = 100_000;
/// A row of the file that is no payment has no number.
pub(in crate::journal) const STILL_BAD: PaymentId = PaymentId::new(-1);
/// The rows of a file that say what they correct, in their order.
#[derive(Default)]
pub(in crate::journal) struct Corrections {
    pub(in crate::journal) next: Option<Corrects>,
    pub(in crate::journal) rows: Vec<Row>,
    /// Places of those without errors, by their numbers as they were read.
    pub(in crate::journal) by_number: BTreeMap<PaymentId, usize>,
    /// Rows that have errors again: what they were to correct stays as it is.
    pub(in crate::journal) still_bad: Tally,
    /// Rejected rows, and the places of their mended rows among the rows.
    pub(in crate::journal) mended: Vec<(Place, usize)>,
    /// Of each row that replaces a failed payment, how many rows before it do not.
    pub(in crate::journal) others_before: Vec<i64>,
    /// Rows that replace failed payments, by their places among the rows.
    pub(in crate::journal) links: Vec<(usize, Link)>,
    /// Payments that are replaced, and the earlier generations of their rows.
    pub(in crate::journal) replaced: BTreeSet<PaymentId>,
    /// Rows that are equal to others of the batch, and are payments of their own.
    pub(in crate::journal) beside: BTreeSet<PaymentId>,
}

/// A row that corrects something.
pub(in crate::journal) struct Row {
    pub(in crate::journal) corrects: Corrects,
    /// It has no errors, and replaces a failed payment.
    pub(in crate::journal) is_replacement: bool,
    /// The row, where it has an amount.
    pub(in crate::journal) replacement: Option<Box<Instruction>>,
    pub(in crate::journal) line: u64,
    /// The payment that it is; none while it has errors.
    pub(in crate::journal) payment: Option<PaymentId>,
    /// An earlier load brought that one.
    pub(in crate::journal) was_there: bool,
}

/// The place of a rejected row: its load, its line, and which row of that line.
pub(in crate::journal) type Place = (LoadId, i64, i64);

/// A rejected row, as it is compared.
pub(in crate::journal) struct Rejected {
    pub(in crate::journal) place: Place,
    pub(in crate::journal) errors: String,
    pub(in crate::journal) cells: BTreeMap<String, String>,
}

impl Corrections {
    /// The next row corrects this.
    pub(in crate::journal) fn announce(&mut self, corrects: &Corrects) {
        self.next = Some(corrects.clone());
    }

    /// Takes in the next row of the file; returns whether it corrects something.
    pub(in crate::journal) fn take(&mut self, line: u64, seq: Option<PaymentId>) -> bool {
        let Some(corrects) = self.next.take() else {
            return false;
        };
        if let Some(seq) = seq {
            self.by_number.insert(seq, self.rows.len());
        }
        self.rows.push(Row {
            corrects,
            is_replacement: false,
            replacement: None,
            line,
            payment: seq,
            was_there: false,
        });
        true
    }

    /// Returns whether the next row replaces a failed payment.
    pub(in crate::journal) fn is_replacement_next(&self) -> bool {
        matches!(self.next, Some(Corrects::Failed(_)))
    }

    /// Takes in such a row; `others` rows before it are none.
    pub(in crate::journal) fn take_replacement(
        &mut self,
        line: u64,
        row: Option<&Instruction>,
        others: i64,
    ) {
        if self.take(line, None)
            && let Some(last) = self.rows.last_mut()
        {
            last.is_replacement = true;
            // Beyond that the file is refused, and nothing more is kept of it.
            if self.others_before.len() < CORRECTIONS_MAX {
                last.replacement = row.cloned().map(Box::new);
            }
            self.others_before.push(others);
        }
    }

    /// A row replaces a failed payment.
    pub(in crate::journal) fn replace(
        &mut self,
        place: usize,
        link: Link,
        members: Vec<PaymentId>,
    ) {
        self.by_number.insert(link.new, place);
        self.rows[place].payment = Some(link.new);
        self.links.push((place, link));
        self.replaced.extend(members);
    }

    /// An earlier load brought the row at this place.
    pub(in crate::journal) fn is_there(&mut self, place: usize, payment: PaymentId) {
        (self.rows[place].payment, self.rows[place].was_there) = (Some(payment), true);
    }

    /// Returns the failed payments that are replaced, with their successors.
    pub(in crate::journal) fn links(&self) -> impl Iterator<Item = &Link> {
        let is_good = |(place, _): &&(usize, Link)| self.rows[*place].payment.is_some();
        self.links.iter().filter(is_good).map(|(_, link)| link)
    }

    /// The same, each with the place of its row.
    pub(in crate::journal) fn placed_links(&self) -> impl Iterator<Item = (usize, &Link)> {
        self.links.iter().map(|(place, link)| (*place, link))
    }

    /// Returns whether a payment is replaced by this file, or is an earlier generation of one that is.
    pub(in crate::journal) fn replaces(&self, seq: PaymentId) -> bool {
        self.replaced.contains(&seq)
    }

    /// Returns the number of the first row that replaces a failed payment.
    pub(in crate::journal) fn first_replacement(&self) -> Option<PaymentId> {
        self.links.first().map(|(_, link)| link.new)
    }

    /// Returns what the rows that replace failed payments come to.
    pub(in crate::journal) fn replacing(&self) -> impl Iterator<Item = Money> {
        let of = |row: &Row| row.replacement.as_ref().map(|row| row.money);
        self.rows.iter().filter_map(of)
    }

    /// Returns the number of a row among those without errors; `number`: among those of them that replace no payment.
    pub(in crate::journal) fn good_row(&self, seq: PaymentId, number: i64) -> u64 {
        let place = self.by_number.get(&seq).copied();
        let Some(place) = place.filter(|place| self.rows[*place].is_replacement) else {
            return (number + self.before(number)).unsigned_abs();
        };
        let rows = self.rows[..place].iter();
        let before = rows.filter(|row| row.is_replacement).count();
        self.others_before[before].unsigned_abs() + before as u64 + 1
    }

    fn before(&self, number: i64) -> i64 {
        let before = self
            .others_before
            .partition_point(|others| *others < number);
        i64::try_from(before).unwrap_or(i64::MAX)
    }

    /// Returns whether no row corrects anything.
    pub(in crate::journal) fn are_none(&self) -> bool {
        self.rows.is_empty()
    }

    /// Counts a row that has errors again.
    pub(in crate::journal) fn count_still_bad(&mut self, money: Option<Money>) {
        self.still_bad.count += 1;
        if let Some(money) = money {
            self.still_bad.amounts.add(money);
        }
    }

    /// The row with this number is the payment of an earlier load, or none at all; returns whether it corrects something.
    pub(in crate::journal) fn became(
        &mut self,
        seq: PaymentId,
        payment: Option<PaymentId>,
    ) -> bool {
        let Some(row) = self.by_number.get(&seq).map(|at| &mut self.rows[*at]) else {
            return false;
        };
        (row.payment, row.was_there) = (payment, payment.is_some());
        true
    }

    /// Returns whether the row with this number corrects something.
    pub(in crate::journal) fn corrects(&self, seq: PaymentId) -> bool {
        self.by_number.contains_key(&seq)
    }

    /// Returns what the row with this number corrects.
    pub(in crate::journal) fn named_by(&self, seq: PaymentId) -> Option<&Corrects> {
        let at = self.by_number.get(&seq)?;
        Some(&self.rows[*at].corrects)
    }

    /// The row with this number is equal to another one of the batch, and a payment of its own.
    pub(in crate::journal) fn is_beside_its_equal(&mut self, seq: PaymentId) {
        self.beside.insert(seq);
    }

    /// Returns whether it is such a row.
    pub(in crate::journal) fn stands_beside_its_equal(&self, seq: PaymentId) -> bool {
        self.beside.contains(&seq)
    }

    /// Returns the rejected rows that rows of the file name, and how many name each.
    pub(in crate::journal) fn rejected_names(&self) -> BTreeMap<RejectedName, u64> {
        let mut names = BTreeMap::new();
        for row in &self.rows {
            if let Corrects::Rejected(written) = &row.corrects
                && let Some(name) = RejectedName::parse(written)
            {
                *names.entry(name).or_default() += 1;
            }
        }
        names
    }

    /// Rejected rows with the payments that their mended rows became; a row may have been set aside since it was judged.
    pub(in crate::journal) fn mended_rows(&self) -> impl Iterator<Item = (Place, PaymentId)> {
        let payment = |(place, at): &(Place, usize)| Some((*place, self.rows[*at].payment?));
        self.mended.iter().filter_map(payment)
    }

    /// Returns how many rejected rows have their mended row by this file.
    pub(in crate::journal) fn mended(&self) -> u64 {
        self.mended_rows().count() as u64
    }
}

pub(in crate::journal) fn late(line: u64, column: &'static str, message: String) -> CrossRowError {
    CrossRowError {
        line,
        good_row: 0,
        column,
        message,
        digest: [0; 32],
    }
}

/// Returns cells by the names of their columns, as they are stored.
pub(in crate::journal) fn cells_text(cells: Vec<(String, String)>) -> String {
    let cells: serde_json::Map<String, serde_json::Value> = cells
        .into_iter()
        .map(|(name, cell)| (name, cell.into()))
        .collect();
    serde_json::Value::Object(cells).to_string()
}
