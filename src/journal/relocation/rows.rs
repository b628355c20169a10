//! The rows of a journal, as they leave one store and arrive in another.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use super::facts::{ARRIVING, MOVED};
use crate::journal::Error;
use crate::journal::codec::facts::note;
use crate::journal::forget::verbs::TO_REWRITE;
use crate::journal::recovery::server_copy::COPY;
use crate::store::tables::{self, meta};
use crate::store::{Read, Reads, Row, Scan, Table, Transact, Value};

/// Facts about the place that a journal is in: they do not go along.
const OF_THE_PLACE: [&str; 6] = ["marked", "backup", COPY, TO_REWRITE, MOVED, ARRIVING];

/// The rows of one table: how many there are, and a digest over all their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    rows: u64,
    digest: [u8; 32],
}

/// Copies all rows into a store that has none, in one transaction of that store, and reads them again; returns how many there are.
///
/// What arrived is no journal yet: it says so of itself.
pub(in crate::journal) fn copy(source: &dyn Read, target: &dyn Transact) -> Result<u64, Error> {
    target.begin()?;
    let left = match fill(source, target) {
        Ok(left) => left,
        Err(error) => {
            // It may be over already, with what it met.
            let _ = target.rollback();
            return Err(error);
        }
    };
    target.commit()?;
    assert_alike(target, &left)?;
    Ok(left.iter().map(|sum| sum.rows).sum())
}

/// Holds what has arrived before against what would leave now; returns how many rows there are.
pub(in crate::journal) fn arrived(source: &dyn Read, target: &dyn Read) -> Result<u64, Error> {
    let mut rows = 0;
    for table in tables::ALL {
        let left = each(source, table, |_| Ok(()))?;
        if each(target, table, |_| Ok(()))? != left {
            return Err(Error::Arriving);
        }
        rows += left.rows;
    }
    Ok(rows)
}

/// Reads again what arrived, and holds it against what left.
fn assert_alike(target: &dyn Read, left: &[Sum]) -> Result<(), Error> {
    for (table, left) in tables::ALL.into_iter().zip(left) {
        if each(target, table, |_| Ok(()))? != *left {
            return Err(Error::Unlike { table: table.name });
        }
    }
    Ok(())
}

/// Counts the rows of a journal.
pub(in crate::journal) fn count(c: &dyn Read) -> Result<u64, Error> {
    let mut rows = 0;
    for table in tables::ALL {
        rows += c.count(&Scan::of(table))?;
    }
    Ok(rows)
}

/// Returns whether a journal has nothing but its own name.
pub(in crate::journal) fn is_empty(c: &dyn Read) -> Result<bool, Error> {
    for table in tables::ALL {
        if table.name != meta::TABLE.name && c.any(&Scan::of(table))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fill(source: &dyn Read, target: &dyn Transact) -> Result<Vec<Sum>, Error> {
    if !is_empty(target)? {
        return Err(Error::NotEmpty);
    }
    // What it calls itself.
    target.remove_rows(&Scan::of(&meta::TABLE))?;
    let sums = tables::ALL.into_iter().map(|table| {
        let columns = table.every_column();
        let mut append = target.appender(table, &columns)?;
        let sum = each(source, table, |row| {
            for at in 0..row.width() {
                append.value(row.value(at)?)?;
            }
            Ok(())
        })?;
        append.flush()?;
        Ok(sum)
    });
    let sums = sums.collect::<Result<_, Error>>()?;
    note(target, ARRIVING, &1_i64)?;
    Ok(sums)
}

/// Shows the rows of a table that go along, and sums them up.
fn each(
    c: &dyn Read,
    table: &'static Table,
    mut visit: impl FnMut(&dyn Row) -> Result<(), Error>,
) -> Result<Sum, Error> {
    let (mut rows, mut digest) = (0, Sha256::new());
    let mut add = |row: &dyn Row| {
        if table.name == meta::TABLE.name && is_of_the_place(&row.value(0)?) {
            return Ok(ControlFlow::Continue(()));
        }
        rows += 1;
        for at in 0..row.width() {
            hash(&mut digest, &row.value(at)?);
        }
        visit(row)?;
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    c.each_row(&Scan::of(table), &table.every_column(), &mut add)?;
    Ok(Sum {
        rows,
        digest: digest.finalize().into(),
    })
}

fn is_of_the_place(key: &Value<'_>) -> bool {
    matches!(key, Value::Text(key) if OF_THE_PLACE.contains(&&**key))
}

fn hash(digest: &mut Sha256, value: &Value<'_>) {
    let (kind, bytes) = match value {
        Value::Null => (0, &[][..]),
        Value::Integer(number) => {
            digest.update([1]);
            digest.update(number.to_be_bytes());
            return;
        }
        Value::Text(text) => (2, text.as_bytes()),
        Value::Bytes(bytes) => (3, &**bytes),
    };
    digest.update([kind]);
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::codec::facts;
    use crate::store::Writes;
    use crate::store::memory::Memory;
    use crate::store::tables::{lookup, service};

    /// A table, and what is done to it.
    type Change = (&'static str, fn(&Memory));

    #[test]
    fn what_arrives_otherwise_than_it_left_is_noticed() {
        let source = Memory::default();
        facts::note(&source, "journal", &[7_u8; 16]).unwrap();
        facts::note(&source, "marked", &1_i64).unwrap();
        let columns = service::TABLE.every_column();
        let rows = [vec![Value::Integer(1), Value::Text("B2C".into())]];
        let clash = crate::store::Clash::Refuse;
        let table = &service::TABLE;
        crate::store::Write::insert_rows(&source, table, &columns, &rows, clash).unwrap();
        let changes: [Change; 4] = [
            ("service", |there| {
                let all = Scan::of(&service::TABLE);
                there.set(&all, service::code, &"B2B".to_owned()).unwrap();
            }),
            ("service", |there| {
                there.remove(&Scan::of(&service::TABLE)).unwrap();
            }),
            ("meta", |there| {
                facts::note(there, "journal", &"7".to_owned()).unwrap();
            }),
            ("lookup", |there| {
                let values = ["KE", "254", "", "x", "y"].map(|text| Value::Text(text.into()));
                let columns = lookup::TABLE.every_column();
                let rows = [values.to_vec()];
                let clash = crate::store::Clash::Refuse;
                let table = &lookup::TABLE;
                crate::store::Write::insert_rows(there, table, &columns, &rows, clash).unwrap();
            }),
        ];
        for (name, change) in changes {
            let there = Memory::default();
            Transact::begin(&there).unwrap();
            let left = fill(&source, &there).unwrap();
            Transact::commit(&there).unwrap();
            assert_alike(&there, &left).unwrap();
            change(&there);
            let found = assert_alike(&there, &left).unwrap_err();
            assert!(
                matches!(found, Error::Unlike { table } if table == name),
                "{found}"
            );
        }
    }

    #[test]
    fn values_of_two_kinds_are_never_alike() {
        let of = |values: &[Value<'_>]| {
            let mut digest = Sha256::new();
            values.iter().for_each(|value| hash(&mut digest, value));
            digest.finalize()
        };
        let text = |text: &'static str| Value::Text(text.into());
        let all = [
            of(&[]),
            of(&[Value::Null]),
            of(&[Value::Integer(0)]),
            of(&[text("")]),
            of(&[text("a"), text("bc")]),
            of(&[text("ab"), text("c")]),
            of(&[Value::Bytes(b"abc"[..].into())]),
            of(&[text("abc")]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{at}");
        }
    }
}
