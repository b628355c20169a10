//! The same random reads and writes for two stores, which must say the same.

use std::ops::ControlFlow;

use super::tables::{inquiry, used};
use super::{Clash, Column, Read, Row, Scan, Table, Test, Transact, Value};

/// Plays the same random reads and writes to two stores, which must say the same.
pub(crate) fn compare<A: Transact, B: Transact>(a: &A, b: &B, seed: u64, steps: usize) {
    let mut chance = Chance(seed | 1);
    for step in 0..steps {
        let whole = format!("seed {seed}, step {step}");
        a.begin().unwrap();
        b.begin().unwrap();
        for _ in 0..chance.below(6) {
            let (table, columns) = chance.table();
            let row = chance.row(table, columns);
            let clash = [Clash::Refuse, Clash::Keep, Clash::Replace][chance.below(3)];
            match chance.below(4) {
                0 | 1 => {
                    let rows = [row];
                    let said = a.insert_rows(table, columns, &rows, clash).ok();
                    assert_eq!(
                        said,
                        b.insert_rows(table, columns, &rows, clash).ok(),
                        "{whole}"
                    );
                }
                2 => {
                    let key = Column::new(0);
                    let scan = Scan::of(table).only(key, Test::Is(row[0].clone()));
                    let (last, value) = (columns[columns.len() - 1], &row[columns.len() - 1..]);
                    let said = a.change_rows(&scan, &[last], value).ok();
                    assert_eq!(said, b.change_rows(&scan, &[last], value).ok(), "{whole}");
                }
                _ => {
                    let scan = Scan::of(table).only(Column::new(1), Test::AtMost(row[1].clone()));
                    let said = a.remove_rows(&scan).ok();
                    assert_eq!(said, b.remove_rows(&scan).ok(), "{whole}");
                }
            }
        }
        match chance.below(3) {
            0 => (a.rollback().unwrap(), b.rollback().unwrap()),
            _ => (a.commit().unwrap(), b.commit().unwrap()),
        };
        let (table, columns) = chance.table();
        for scan in chance.scans(table) {
            assert_eq!(
                contents(a, &scan, columns),
                contents(b, &scan, columns),
                "{whole}: {scan:?}"
            );
            assert_eq!(
                a.count_rows(&scan).unwrap(),
                b.count_rows(&scan).unwrap(),
                "{whole}"
            );
        }
    }
}

/// Returns these columns of the rows of a scan.
pub(super) fn contents(
    store: &impl Read,
    scan: &Scan<'_>,
    columns: &[Column],
) -> Vec<Vec<Value<'static>>> {
    let mut found = Vec::new();
    let show = &mut |row: &dyn Row| {
        let values = (0..columns.len()).map(|at| row.value(at).unwrap().into_owned());
        found.push(values.collect());
        ControlFlow::Continue(())
    };
    store.scan_rows(scan, columns, show).unwrap();
    found
}

/// Numbers that are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn table(&mut self) -> (&'static Table, &'static [Column]) {
        const INQUIRY: &[Column] = &[
            inquiry::seq,
            inquiry::batch_id,
            inquiry::since,
            inquiry::alone,
            inquiry::due_at,
        ];
        const USED: &[Column] = &[
            used::realm,
            used::name,
            used::currency,
            used::day,
            used::amount,
        ];
        match self.below(2) {
            0 => (&inquiry::TABLE, INQUIRY),
            _ => (&used::TABLE, USED),
        }
    }

    /// Few values, so that rows meet; of the columns that are written, or the first ones of an index.
    fn row(&mut self, table: &Table, columns: &[Column]) -> Vec<Value<'static>> {
        let mut row = Vec::new();
        for column in columns {
            let number = self.below(5);
            let is_text = matches!(table.columns[usize::from(column.at)], "name" | "currency");
            row.push(match is_text {
                true => Value::Text(number.to_string().into()),
                false => Value::Integer(i64::try_from(number).unwrap()),
            });
        }
        row
    }

    fn scans(&mut self, table: &'static Table) -> Vec<Scan<'static>> {
        let mut scans = vec![Scan::of(table), Scan::of(table).descending()];
        for index in table.indexes {
            let mut scan = Scan::by(index);
            let named = 1 + self.below(2);
            let named = named.min(index.columns.len());
            scan.at = self.row(table, &index.columns[..named]);
            if named < index.columns.len() {
                scan.to = Some(super::scan::Bound {
                    values: self.row(table, &index.columns[named..=named]),
                    is_included: self.below(2) == 0,
                });
            }
            scan.is_descending = self.below(2) == 0;
            scan.limit = Some(1 + self.below(4)).filter(|limit| *limit < 4);
            scans.push(scan);
        }
        scans
    }
}
