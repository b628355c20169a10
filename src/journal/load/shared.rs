//! What rows have in common with other rows, in bounded memory: digests of it are sorted on both sides, and walked side by side.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use super::sorter::Sorter;
use crate::journal::Error;
use crate::store::Value;

/// What is kept of a digest: no two values are found that share it.
const DIGEST: usize = 16;
const BYTES: usize = DIGEST + 8;

/// Rows by digests of some values.
#[derive(Default)]
pub(in crate::journal) struct ByValues(Sorter<BYTES>);

impl ByValues {
    /// Takes in a row by its number.
    pub(in crate::journal) fn push(
        &mut self,
        values: &[Value<'_>],
        number: i64,
    ) -> Result<(), Error> {
        let mut entry = [0; BYTES];
        entry[..DIGEST].copy_from_slice(&digest(values));
        entry[DIGEST..].copy_from_slice(&number.to_be_bytes());
        self.0.push(entry)
    }

    /// Shows the number of each row, and whether others have one with the same values.
    pub(in crate::journal) fn beside(
        self,
        others: Self,
        mut visit: impl FnMut(i64, bool) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let (mut ours, mut theirs) = (self.0.sorted()?, others.0.sorted()?);
        let mut other = theirs.next()?;
        while let Some(entry) = ours.next()? {
            let (digest, number) = entry.split_at(DIGEST);
            while other.is_some_and(|other| other[..DIGEST] < *digest) {
                other = theirs.next()?;
            }
            let has = other.is_some_and(|other| other[..DIGEST] == *digest);
            let number = number
                .iter()
                .fold(0, |so_far, byte| so_far << 8 | i64::from(*byte));
            if visit(number, has).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn digest(values: &[Value<'_>]) -> [u8; DIGEST] {
    let mut hash = Sha256::new();
    for value in values {
        let mut take = |kind: u8, bytes: &[u8]| {
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        match value {
            Value::Null => take(0, &[]),
            Value::Integer(number) => take(1, &number.to_be_bytes()),
            Value::Text(text) => take(2, text.as_bytes()),
            Value::Bytes(bytes) => take(3, bytes),
        }
    }
    let mut first = [0; DIGEST];
    first.copy_from_slice(&hash.finalize()[..DIGEST]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(values: &[(&'static str, i64)]) -> ByValues {
        let mut rows = ByValues::default();
        for (text, number) in values {
            let values = [Value::Text((*text).into()), Value::Null];
            rows.push(&values, *number).unwrap();
        }
        rows
    }

    #[test]
    fn rows_are_found_whose_values_others_have() {
        let ours = [("a", 1), ("b", 2), ("a", i64::MAX), ("", -3), ("c", 0)];
        let theirs = by(&[("c", 7), ("a", 8), ("a", 9), ("d", 10)]);
        let mut found = Vec::new();
        let all = by(&ours).beside(theirs, |number, has| {
            found.push((number, has));
            ControlFlow::Continue(())
        });
        all.unwrap();
        found.sort_unstable();
        let expected = [
            (-3, false),
            (0, true),
            (1, true),
            (2, false),
            (i64::MAX, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn values_do_not_run_into_one_another() {
        let text = |text: &'static str| Value::Text(text.into());
        let kinds = [
            vec![text("ab"), text("c")],
            vec![text("a"), text("bc")],
            vec![text("abc")],
            vec![text(""), Value::Null],
            vec![Value::Null, text("")],
            vec![Value::Integer(0)],
            vec![Value::Bytes((&[0_u8; 8][..]).into())],
        ];
        for (at, one) in kinds.iter().enumerate() {
            for (place, other) in kinds.iter().enumerate() {
                assert_eq!(digest(one) == digest(other), at == place);
            }
        }
    }
}
