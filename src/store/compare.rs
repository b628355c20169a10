//! The same random reads and writes for two stores, which must say the same.

use std::ops::ControlFlow;

use super::tables::{inquiry, service, used};
use super::{Clash, Column, Error, Read, Row, Scan, Table, Test, Transact, Value};

/// Plays the same random reads and writes to two stores, which must say the same.
pub(crate) fn compare<A: Transact, B: Transact>(a: &A, b: &B, seed: u64, steps: usize) {
    let mut chance = Chance(seed | 1);
    for step in 0..steps {
        let whole = format!("seed {seed}, step {step}");
        a.begin().unwrap();
        b.begin().unwrap();
        let mut is_refused = false;
        // What was read beforehand must be as it is after every write.
        let (table, columns) = chance.table();
        let mut expected = Vec::new();
        if chance.below(2) == 0 {
            expected.extend(chance.keys(table, columns));
            expected.extend(chance.scans(table));
            expected.extend(chance.alike(table));
        }
        a.expect(&expected).unwrap();
        b.expect(&expected).unwrap();
        for _ in 0..chance.below(6) {
            let write = chance.write();
            match (write.perform(a), write.perform(b)) {
                (Some(said), Some(other)) => assert_eq!(said, other, "{whole}: {write:?}"),
                (said, other) => {
                    // Who has not said so yet says it with the commit.
                    assert!(said.is_none() || a.commit().is_err(), "{whole}: {write:?}");
                    assert!(other.is_none() || b.commit().is_err(), "{whole}: {write:?}");
                    is_refused = true;
                    break;
                }
            }
            for scan in &expected {
                let (said, other) = (contents(a, scan, columns), contents(b, scan, columns));
                assert_eq!(said, other, "{whole}: {write:?}, {scan:?}");
            }
            if chance.below(3) == 0 {
                look(a, b, &mut chance, &whole);
            }
        }
        match chance.below(3) {
            0 => (a.rollback().unwrap(), b.rollback().unwrap()),
            _ if is_refused => (a.rollback().unwrap(), b.rollback().unwrap()),
            _ => (a.commit().unwrap(), b.commit().unwrap()),
        };
        look(a, b, &mut chance, &whole);
    }
}

/// Reads the same of both.
fn look(a: &impl Read, b: &impl Read, chance: &mut Chance, whole: &str) {
    let (table, columns) = chance.table();
    for scan in chance.scans(table) {
        let (said, other) = (contents(a, &scan, columns), contents(b, &scan, columns));
        assert_eq!(said, other, "{whole}: {scan:?}");
        let (said, other) = (a.count_rows(&scan).unwrap(), b.count_rows(&scan).unwrap());
        assert_eq!(said, other, "{whole}: {scan:?}");
    }
}

/// Something that is written.
#[derive(Debug)]
enum Change {
    Insert(Clash),
    /// Of the rows that have a value in the first column of their key, or of the one that has a key.
    Set {
        is_by_key: bool,
        /// Which of the columns.
        place: usize,
    },
    Remove {
        is_by_key: bool,
    },
}

#[derive(Debug)]
struct RandomWrite {
    table: &'static Table,
    columns: &'static [Column],
    row: Vec<Value<'static>>,
    change: Change,
}

impl RandomWrite {
    /// Writes it; returns how many rows there were, or nothing where it is refused.
    fn perform(&self, store: &impl Transact) -> Option<u64> {
        let (table, columns, row) = (self.table, self.columns, &self.row);
        let said = match self.change {
            Change::Insert(clash) => {
                store.insert_rows(table, columns, std::slice::from_ref(row), clash)
            }
            Change::Set { is_by_key, place } => {
                let (column, value) = (columns[place], &row[place..=place]);
                let mut scan = Scan::of(table);
                match is_by_key {
                    true => scan.at = row[..table.key].to_vec(),
                    false => scan = scan.only(Column::new(0), Test::Is(row[0].clone())),
                }
                store.change_rows(&scan, &[column], value)
            }
            Change::Remove { is_by_key } => {
                let mut scan = Scan::of(table);
                match is_by_key {
                    true => scan.at = row[..table.key].to_vec(),
                    false => scan = scan.only(Column::new(1), Test::AtMost(row[1].clone())),
                }
                store.remove_rows(&scan)
            }
        };
        match said {
            Ok(rows) => Some(rows),
            Err(Error::Refused { .. }) => None,
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Returns these columns of the rows of a scan.
pub(crate) fn contents(
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
        // No two rows have the same code.
        const SERVICE: &[Column] = &[service::service_id, service::code];
        match self.below(3) {
            0 => (&inquiry::TABLE, INQUIRY),
            1 => (&service::TABLE, SERVICE),
            _ => (&used::TABLE, USED),
        }
    }

    fn write(&mut self) -> RandomWrite {
        let (table, columns) = self.table();
        let row = self.row(table, columns);
        let clash = [Clash::Refuse, Clash::Keep, Clash::Replace][self.below(3)];
        let place = table.key + self.below(columns.len() - table.key);
        let change = match self.below(8) {
            0..3 => Change::Insert(clash),
            3..6 => Change::Set {
                is_by_key: self.below(3) > 0,
                place,
            },
            _ => Change::Remove {
                is_by_key: self.below(2) == 0,
            },
        };
        RandomWrite {
            table,
            columns,
            row,
            change,
        }
    }

    /// Few values, so that rows meet; of the columns that are written, or the first ones of an index.
    fn row(&mut self, table: &Table, columns: &[Column]) -> Vec<Value<'static>> {
        let mut row = Vec::new();
        for column in columns {
            let number = self.below(5);
            let is_text = matches!(
                table.columns[usize::from(column.at)],
                "name" | "currency" | "code"
            );
            row.push(match is_text {
                true => Value::Text(number.to_string().into()),
                false => Value::Integer(i64::try_from(number).unwrap()),
            });
        }
        row
    }

    /// Rows by their keys.
    fn keys(
        &mut self,
        table: &'static Table,
        columns: &[Column],
    ) -> impl Iterator<Item = Scan<'static>> + use<> {
        let keys: Vec<_> = (0..4)
            .map(|_| self.row(table, &columns[..table.key]))
            .collect();
        keys.into_iter().map(move |key| {
            let mut scan = Scan::of(table);
            scan.at = key;
            scan
        })
    }

    /// Scans that differ in their first value alone.
    fn alike(&mut self, table: &'static Table) -> Vec<Scan<'static>> {
        let mut scans = Vec::new();
        for index in table.indexes {
            for _ in 0..3 {
                let mut scan = Scan::by(index);
                scan.at = self.row(table, &index.columns[..1]);
                scans.push(scan);
            }
        }
        scans
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
