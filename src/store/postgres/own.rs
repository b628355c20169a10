//! Rows as this writer has left them in transactions that were committed. The server keeps with each row the number of the transaction
//! that wrote it last: by that it tells whether they are still the same, and none of them is read again.
//!
//! Whoever claims payments hears of them in a later transaction, and where several runs write, one of them has written in between.

use rustc_hash::FxHashMap;

use super::known::{Columns, Key, Known};
use crate::store::tables::life;
use crate::store::{Scan, Table, Value};

/// Rows that are remembered at most: twice as many until the older half is forgotten.
const ROWS_MAX: usize = 4_096;

/// So few rows of one transaction are read rather.
const FEW: usize = 16;

/// The number of a transaction as rows have it, in the server's writing.
type Transaction = String;

type Rows = FxHashMap<i64, (Columns, Transaction)>;

/// Rows of lives that this writer has written.
#[derive(Debug, Default)]
pub(super) struct Own {
    young: Rows,
    old: Rows,
    /// What the transaction has written that is under way, and its number.
    written: Vec<i64>,
    under_way: Transaction,
}

/// Rows that one transaction has written.
pub(super) struct Group<'s> {
    pub(super) transaction: Transaction,
    /// Their keys, and they themselves.
    pub(super) keys: Vec<Vec<Value<'static>>>,
    pub(super) rows: Vec<Columns>,
    /// The scans that asked for them.
    pub(super) scans: Vec<&'s Scan<'s>>,
}

impl Own {
    /// The table whose rows are remembered.
    pub(super) const TABLE: &'static Table = &life::TABLE;

    /// A transaction begins.
    pub(super) fn begin(&mut self, transaction: Transaction) {
        self.written.clear();
        self.under_way = transaction;
    }

    /// Notes that the transaction has written a row.
    pub(super) fn note(&mut self, table: &Table, key: &Key) {
        if let Key::Number(number) = key
            && table.name == Self::TABLE.name
        {
            self.written.push(*number);
        }
    }

    /// The transaction is committed: what it has written is as it knows it.
    pub(super) fn keep(&mut self, known: &Known) {
        for number in std::mem::take(&mut self.written) {
            match known.get(Self::TABLE, &Key::Number(number)) {
                Some(Some(row)) => self.put(number, Columns::clone(row)),
                // It was not written row by row.
                Some(None) | None => self.remove(number),
            }
        }
    }

    fn put(&mut self, number: i64, row: Columns) {
        if self.young.len() >= ROWS_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(number, (row, self.under_way.clone()));
    }

    fn remove(&mut self, number: i64) {
        self.young.remove(&number);
        self.old.remove(&number);
    }

    /// Knows nothing any more: on another server, another transaction may have had that number.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns those of scans of single rows that are remembered, by the transactions that wrote them, and the other scans.
    pub(super) fn part<'s>(
        &self,
        wanted: Vec<&'s Scan<'s>>,
    ) -> (Vec<Group<'s>>, Vec<&'s Scan<'s>>) {
        let mut others = Vec::with_capacity(wanted.len());
        let mut groups: Vec<Group<'s>> = Vec::new();
        for scan in wanted {
            let Some((number, (row, transaction))) = self.find(scan) else {
                others.push(scan);
                continue;
            };
            let known = groups
                .iter()
                .position(|group| group.transaction == *transaction);
            let at = known.unwrap_or_else(|| {
                groups.push(Group {
                    transaction: transaction.clone(),
                    keys: Vec::new(),
                    rows: Vec::new(),
                    scans: Vec::new(),
                });
                groups.len() - 1
            });
            let group = &mut groups[at];
            group.keys.push(vec![Value::Integer(number)]);
            group.rows.push(Columns::clone(row));
            group.scans.push(scan);
        }
        groups.retain(|group| {
            let is_few = group.keys.len() < FEW;
            if is_few {
                others.extend(&group.scans);
            }
            !is_few
        });
        (groups, others)
    }

    fn find(&self, scan: &Scan<'_>) -> Option<(i64, &(Columns, Transaction))> {
        if scan.table.name != Self::TABLE.name {
            return None;
        }
        let Key::Number(number) = Key::of_scan(scan)? else {
            return None;
        };
        let row = self.young.get(&number).or_else(|| self.old.get(&number))?;
        Some((number, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables::batch;

    fn row(number: i64) -> Columns {
        [Value::Integer(number)].into()
    }

    /// A transaction writes rows from one number to another; of each tenth nothing is known at its end.
    fn write(own: &mut Own, transaction: &str, numbers: std::ops::Range<i64>) {
        let mut known = Known::default();
        own.begin(transaction.to_owned());
        for number in numbers {
            let key = Key::Number(number);
            own.note(&life::TABLE, &key);
            if number % 10 != 0 {
                known.put(&life::TABLE, key, Some(row(number)));
            }
        }
        own.keep(&known);
    }

    fn lengths(own: &Own, numbers: std::ops::Range<i64>) -> (Vec<(String, usize)>, usize) {
        let numbers: Vec<i64> = numbers.collect();
        let scans: Vec<Scan<'_>> = numbers
            .iter()
            .map(|number| Scan::of(&life::TABLE).at(number))
            .collect();
        let (groups, others) = own.part(scans.iter().collect());
        let of = |group: &Group<'_>| {
            assert_eq!(group.keys.len(), group.rows.len());
            (group.transaction.clone(), group.keys.len())
        };
        (groups.iter().map(of).collect(), others.len())
    }

    #[test]
    fn rows_are_remembered_by_the_transaction_that_wrote_them_last() {
        let mut own = Own::default();
        write(&mut own, "7", 0..100);
        write(&mut own, "8", 60..100);
        assert_eq!(
            lengths(&own, 0..120),
            (vec![("7".to_owned(), 54), ("8".to_owned(), 36)], 30)
        );
        // Few are read, and so is what nobody knows at the end of the transaction that wrote it last.
        assert_eq!(lengths(&own, 0..11), (vec![], 11));
        own.clear();
        assert_eq!(lengths(&own, 0..100), (vec![], 100));
    }

    #[test]
    fn nothing_of_a_transaction_that_came_to_nothing_is_remembered() {
        let mut own = Own::default();
        own.begin("7".to_owned());
        own.note(&life::TABLE, &Key::Number(1));
        write(&mut own, "8", 100..140);
        assert_eq!(own.young.len() + own.old.len(), 36);
        assert!(own.find(&Scan::of(&life::TABLE).at(&1_i64)).is_none());
    }

    #[test]
    fn other_tables_and_scans_of_many_rows_are_read() {
        let mut own = Own::default();
        write(&mut own, "7", 0..100);
        let whole = Scan::of(&life::TABLE);
        let other = Scan::of(&batch::TABLE).at(&1_i64);
        assert_eq!(own.part(vec![&whole, &other]).1.len(), 2);
    }

    #[test]
    fn the_older_half_is_forgotten_when_there_are_many() {
        let mut own = Own::default();
        let most = i64::try_from(ROWS_MAX).unwrap();
        for part in 0..5 {
            write(&mut own, "7", part * most..(part + 1) * most);
            assert!(own.young.len() + own.old.len() <= 2 * ROWS_MAX);
        }
        assert!(own.find(&Scan::of(&life::TABLE).at(&1_i64)).is_none());
        let newest = 5 * most - 1;
        assert!(own.find(&Scan::of(&life::TABLE).at(&newest)).is_some());
    }
}
