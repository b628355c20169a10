//! Which rows of a table are meant, and in which order.

#[cfg(any(test, feature = "postgres"))]
use std::cmp::Ordering;

use super::{Column, Field, Index, Table, Value};

/// Rows of a table along its key or one of its indexes.
///
/// Build one in this order: the first columns of the key or index, each with its value ([`Self::at`]); a range of the next columns
/// ([`Self::from`], [`Self::after`], [`Self::up_to`], [`Self::before`]); conditions on other columns ([`Self::only`]).
/// Rows come in the order of the key or index; rows that are equal in an index come in the order of their keys.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    pub(super) table: &'static Table,
    pub(super) index: Option<&'static Index>,
    pub(super) at: Vec<Value<'a>>,
    pub(super) from: Option<Bound<'a>>,
    pub(super) to: Option<Bound<'a>>,
    pub(super) only: Vec<(Column, Test<'a>)>,
    pub(super) is_descending: bool,
    pub(super) limit: Option<usize>,
}

/// Where a range of rows begins or ends: the values of the columns behind those that are the same for all.
#[derive(Clone, Debug)]
pub(super) struct Bound<'a> {
    pub(super) values: Vec<Value<'a>>,
    pub(super) is_included: bool,
}

/// A condition on one column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test<'a> {
    /// This value. An empty column has none.
    Is(Value<'a>),
    /// Another value, or nothing.
    IsNot(Value<'a>),
    /// One of these values.
    Among(Vec<Value<'a>>),
    /// This value or a greater one.
    AtLeast(Value<'a>),
    /// This value or a lesser one.
    AtMost(Value<'a>),
    /// Nothing.
    Absent,
    /// Any value.
    Present,
}

impl<'a> Test<'a> {
    /// This value.
    pub fn is(value: &'a impl Field) -> Self {
        Self::Is(value.to_value())
    }

    /// Another value, or nothing.
    pub fn is_not(value: &'a impl Field) -> Self {
        Self::IsNot(value.to_value())
    }

    /// One of these values.
    pub fn among<F: Field>(values: &'a [F]) -> Self {
        Self::Among(values.iter().map(Field::to_value).collect())
    }

    /// This value or a greater one.
    pub fn at_least(value: &'a impl Field) -> Self {
        Self::AtLeast(value.to_value())
    }

    /// This value or a lesser one.
    pub fn at_most(value: &'a impl Field) -> Self {
        Self::AtMost(value.to_value())
    }
}

#[cfg(any(test, feature = "postgres"))]
impl Test<'_> {
    /// Returns whether a value of the column passes, for stores that hold rows in memory.
    pub(super) fn passes(&self, found: &Value<'_>) -> bool {
        let is_some = *found != Value::Null;
        let than = |value: &Value<'_>| (is_some && *value != Value::Null).then(|| found.cmp(value));
        match self {
            Self::Is(value) => is_some && found == value,
            Self::IsNot(value) => found != value,
            Self::Among(values) => is_some && values.contains(found),
            Self::AtLeast(value) => than(value).is_some_and(Ordering::is_ge),
            Self::AtMost(value) => than(value).is_some_and(Ordering::is_le),
            Self::Absent => !is_some,
            Self::Present => is_some,
        }
    }
}

impl<'a> Scan<'a> {
    fn new(table: &'static Table, index: Option<&'static Index>) -> Self {
        Self {
            table,
            index,
            at: Vec::new(),
            from: None,
            to: None,
            only: Vec::new(),
            is_descending: false,
            limit: None,
        }
    }

    /// The rows of a table, in the order of its key.
    #[must_use]
    pub fn of(table: &'static Table) -> Self {
        Self::new(table, None)
    }

    /// The rows of an index, in its order.
    #[must_use]
    pub fn by(index: &'static Index) -> Self {
        Self::new((index.table)(), Some(index))
    }

    /// The next column of the order has this value.
    #[must_use]
    pub fn at(mut self, value: &'a impl Field) -> Self {
        self.at.push(value.to_value());
        self
    }

    /// The next column is at least this value.
    #[must_use]
    pub fn from(self, value: &'a impl Field) -> Self {
        self.from_all(vec![value.to_value()])
    }

    /// The next columns are at least these values.
    #[must_use]
    pub fn from_all(mut self, values: Vec<Value<'a>>) -> Self {
        self.from = Some(Bound {
            values,
            is_included: true,
        });
        self
    }

    /// The next column is greater than this value.
    #[must_use]
    pub fn after(self, value: &'a impl Field) -> Self {
        self.after_all(vec![value.to_value()])
    }

    /// The next columns are greater than these values.
    #[must_use]
    pub fn after_all(mut self, values: Vec<Value<'a>>) -> Self {
        self.from = Some(Bound {
            values,
            is_included: false,
        });
        self
    }

    /// The next column is at most this value.
    #[must_use]
    pub fn up_to(mut self, value: &'a impl Field) -> Self {
        self.to = Some(Bound {
            values: vec![value.to_value()],
            is_included: true,
        });
        self
    }

    /// The next column is less than this value.
    #[must_use]
    pub fn before(mut self, value: &'a impl Field) -> Self {
        self.to = Some(Bound {
            values: vec![value.to_value()],
            is_included: false,
        });
        self
    }

    /// Only the rows whose column passes this test.
    #[must_use]
    pub fn only(mut self, column: Column, test: Test<'a>) -> Self {
        self.only.push((column, test));
        self
    }

    /// The last row first.
    #[must_use]
    pub fn descending(mut self) -> Self {
        self.is_descending = true;
        self
    }

    /// So many rows at most.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Returns what tells it from any other scan.
    #[cfg(feature = "postgres")]
    pub(super) fn name(&self) -> String {
        let index = self.index.map(|index| index.name);
        let Self {
            at, from, to, only, ..
        } = self;
        let order = (self.is_descending, self.limit);
        format!(
            "{} {index:?} {at:?} {from:?} {to:?} {only:?} {order:?}",
            self.table.name
        )
    }

    /// Returns whether it has all rows that its first columns are given of.
    #[cfg(feature = "postgres")]
    pub(super) fn has_no_ends(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.limit.is_none()
    }

    /// Returns whether another scan differs in nothing but what its first columns are.
    #[cfg(feature = "postgres")]
    pub(super) fn is_like(&self, other: &Scan<'_>) -> bool {
        let order = |scan: &Scan<'_>| {
            (
                scan.table.name,
                scan.index.map(|index| index.name),
                scan.is_descending,
            )
        };
        order(self) == order(other)
            && self.at.len() == other.at.len()
            && self.has_no_ends()
            && other.has_no_ends()
            && self.only == other.only
    }

    /// Returns its integers, those of its conditions as well, in an order that is the same for scans that differ in integers alone.
    #[cfg(feature = "postgres")]
    pub(super) fn integers(&mut self) -> impl Iterator<Item = &mut i64> {
        let Self {
            at, from, to, only, ..
        } = self;
        let ends = [from, to].into_iter().flatten();
        let ends = ends.flat_map(|bound| &mut bound.values);
        let tests = only.iter_mut().flat_map(|(_, test)| match test {
            Test::Is(value) | Test::IsNot(value) | Test::AtLeast(value) | Test::AtMost(value) => {
                std::slice::from_mut(value)
            }
            Test::Among(values) => &mut values[..],
            Test::Absent | Test::Present => &mut [],
        });
        let values = at.iter_mut().chain(ends).chain(tests);
        values.filter_map(|value| match value {
            Value::Integer(integer) => Some(integer),
            Value::Null | Value::Text(_) | Value::Bytes(_) => None,
        })
    }

    /// Returns it with values of its own.
    #[cfg(feature = "postgres")]
    pub(super) fn into_owned(self) -> Scan<'static> {
        let own = |values: Vec<Value<'a>>| values.into_iter().map(Value::into_owned).collect();
        let end = |bound: Bound<'a>| Bound {
            values: own(bound.values),
            is_included: bound.is_included,
        };
        let test = |test: Test<'a>| match test {
            Test::Is(value) => Test::Is(value.into_owned()),
            Test::IsNot(value) => Test::IsNot(value.into_owned()),
            Test::Among(values) => Test::Among(own(values)),
            Test::AtLeast(value) => Test::AtLeast(value.into_owned()),
            Test::AtMost(value) => Test::AtMost(value.into_owned()),
            Test::Absent => Test::Absent,
            Test::Present => Test::Present,
        };
        let only = self.only.into_iter();
        Scan {
            table: self.table,
            index: self.index,
            at: own(self.at),
            from: self.from.map(end),
            to: self.to.map(end),
            only: only.map(|(column, of)| (column, test(of))).collect(),
            is_descending: self.is_descending,
            limit: self.limit,
        }
    }
}
