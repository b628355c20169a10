//! Whether what a layout says can be carried out.

use super::super::columns::{COLUMNS, extra_name};
use super::super::message_cells::NAMES;
use super::super::names::{plain, same};
use super::super::suggest::nearest;
use super::definition::{
    Factor, FileKind, HeaderAt, Layout, Period, Place, Problem, Source, Taken, marked,
};
use super::pattern;

/// The most columns that a layout names, and values that it maps for each.
const COLUMNS_MAX: usize = 500;
const VALUES_MAX: usize = 10_000;
/// The last row in which a header may stand.
const HEADER_MAX: u32 = 1_000;
/// Columns of ours that no file of another program has.
const LINKS: [&str; 2] = ["rejected_row", "replaces"];

impl Layout {
    /// Says what cannot be carried out.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), Problem> {
        let problem = |key: &str, expected: &str| {
            Err(Problem {
                key: key.to_owned(),
                expected: expected.to_owned(),
            })
        };
        if self.kind == FileKind::Pain001 {
            self.check_message()?;
        }
        if let HeaderAt::Row(row) = self.header
            && !(1..=HEADER_MAX).contains(&row)
        {
            return problem("header", "a row from 1 to 1000, or \"none\"");
        }
        if self.numbers.group.is_some()
            && self.numbers.group == Some(self.numbers.decimal.unwrap_or('.'))
        {
            return problem("group", "another character than for the decimals");
        }
        if self.columns.is_empty() || self.source("amount").is_none() {
            return problem("columns", "at least amount");
        }
        if self.columns.len() > COLUMNS_MAX || self.ignore.len() > COLUMNS_MAX {
            return problem("columns", "at most 500 columns");
        }
        for source in &self.columns {
            self.check_source(source)?;
        }
        if let Factor::Given(factor) = &self.factor
            && !factor.is_positive()
        {
            return problem("amount_factor", "a number of more than 0, such as \"0.01\"");
        }
        let multiplies = self.factor != Factor::None || self.factor_column.is_some();
        if multiplies
            && matches!(
                self.source("amount"),
                Some(Source {
                    taken: Taken::Constant(_),
                    ..
                })
            )
        {
            return problem("amount_factor", "an amount that is taken from a column");
        }
        if self.total.is_some() && self.factor_column.is_some() {
            return problem(
                "total",
                "no amount_factor_column beside it: sums of multiplied amounts cannot be compared",
            );
        }
        if let Some(total) = &self.total
            && marked(&total.marker).is_empty()
        {
            return problem(
                "total.marker",
                "the text that shows the row with the sum, such as \"TOTAL\"",
            );
        }
        for condition in &self.skip {
            if condition.values.is_empty() {
                return problem("skip", "at least one value for each column");
            }
        }
        self.check_period()?;
        self.check_values()?;
        self.check_places()
    }

    /// A period stands behind a reference of the file.
    fn check_period(&self) -> Result<(), Problem> {
        let taken = self.source("reference").map(|source| &source.taken);
        match self.period == Period::None || matches!(taken, Some(Taken::From { .. })) {
            true => Ok(()),
            false => Err(Problem {
                key: "period".to_owned(),
                expected: "a reference among columns, because the period is added behind it"
                    .to_owned(),
            }),
        }
    }

    /// A value that no cell has would make of a rule one that is never applied.
    fn check_values(&self) -> Result<(), Problem> {
        let wrong = |key: String, value: &str| match pattern::problem_of(value) {
            Some(expected) => Err(Problem { key, expected }),
            None => Ok(()),
        };
        for source in &self.columns {
            for (theirs, _) in &source.values {
                wrong(format!("values.{}", source.column), theirs)?;
            }
            for value in source.when.iter().flat_map(|when| &when.values) {
                wrong(format!("columns.{}", source.column), value)?;
            }
        }
        for value in self.skip.iter().flat_map(|skip| &skip.values) {
            wrong("skip".to_owned(), value)?;
        }
        for refuse in &self.refuse {
            wrong("refuse".to_owned(), &refuse.value)?;
        }
        Ok(())
    }

    /// A message has no header and no delimiter, and its numbers are written in one way.
    fn check_message(&self) -> Result<(), Problem> {
        let plain = Self::of_messages(&self.name);
        let others = [
            ("header", self.header == plain.header),
            ("delimiter", self.delimiter.is_none()),
            ("encoding", self.encoding.is_none()),
            ("decimal", self.numbers == plain.numbers),
            ("amount_factor", self.factor == Factor::None),
            ("amount_factor_column", self.factor_column.is_none()),
            ("amount_signs", self.amount_signs.is_empty()),
            ("total", self.total.is_none()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_plain)| !is_plain) {
            return Err(Problem {
                key: key.to_owned(),
                expected: "nothing: a pain.001 file says it itself".to_owned(),
            });
        }
        let is_known = |place: &&Place| match place {
            Place::Name(name) => NAMES.iter().any(|known| same(known, name)),
            Place::At(_) => false,
        };
        match self.places().into_iter().find(|place| !is_known(place)) {
            None => Ok(()),
            Some(place) => Err(Problem {
                key: "columns".to_owned(),
                expected: format!(
                    "names of elements, {}, instead of {}",
                    NAMES.join(", "),
                    place.text()
                ),
            }),
        }
    }

    fn check_source(&self, source: &Source) -> Result<(), Problem> {
        let table = match source.taken {
            Taken::From { .. } => "columns",
            Taken::Constant(_) => "constants",
        };
        let name = &source.column;
        let problem = |key: String, expected: String| Err(Problem { key, expected });
        let key = || format!("{table}.{name}");
        match name.strip_prefix("extra.") {
            Some(extra) => {
                if let Err(reason) = extra_name(extra) {
                    return problem(key(), format!("a member that a file may set ({reason})"));
                }
            }
            None if LINKS.contains(&name.as_str()) => {
                return problem(
                    key(),
                    "a column of a payment: this one is written by disburse alone, and is read under its own name".to_owned(),
                );
            }
            None if !COLUMNS.contains(&name.as_str()) => {
                let near = nearest(name, COLUMNS).map(|near| format!(", such as {near:?}"));
                return problem(
                    key(),
                    format!("a column of ours{}", near.unwrap_or_default()),
                );
            }
            None => {}
        }
        let is_named = |other: &&Source| plain(&other.column) == plain(name);
        if self.columns.iter().filter(is_named).count() > 1 {
            return problem(key(), "one source for each column".to_owned());
        }
        if let Taken::From { columns, .. } = &source.taken
            && (columns.is_empty() && self.kind == FileKind::Table || columns.len() > COLUMNS_MAX)
        {
            return problem(key(), "at least one column".to_owned());
        }
        if source.values.len() > VALUES_MAX {
            return problem(
                format!("values.{name}"),
                format!("at most {VALUES_MAX} values"),
            );
        }
        if let Some(when) = &source.when
            && when.values.is_empty()
        {
            return problem(key(), "at least one value in \"is\"".to_owned());
        }
        Ok(())
    }

    /// Without a header nothing has a name.
    fn check_places(&self) -> Result<(), Problem> {
        for place in self.places().into_iter().chain(&self.ignore) {
            let expected = match place {
                Place::At(0) => "positions from 1 on",
                Place::At(at) if *at > COLUMNS_MAX => "positions up to 500",
                Place::Name(name) if name.trim().is_empty() => "names that are not empty",
                Place::Name(_) if self.header == HeaderAt::Nowhere => {
                    "positions alone, as header is \"none\""
                }
                _ => continue,
            };
            return Err(Problem {
                key: "columns".to_owned(),
                expected: format!("{expected} ({})", place.text()),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::decimal::Decimal;
    use super::super::definition::tests::{from, name, sound};
    use super::super::definition::{Condition, Refusal, Total};
    use super::*;

    #[test]
    fn what_cannot_be_carried_out_is_said_with_its_key() {
        assert_eq!(sound().check(), Ok(()));
        type Case = (&'static str, &'static str, fn(&mut Layout));
        let table: [Case; 18] = [
            ("header", "a row", |l| l.header = HeaderAt::Row(0)),
            ("columns", "amount", |l| drop(l.columns.remove(0))),
            ("columns.amuont", "\"amount\"", |l| {
                l.columns.push(from("amuont", &[name("x")]))
            }),
            ("columns.replaces", "by disburse alone", |l| {
                l.columns.push(from("replaces", &[name("x")]))
            }),
            ("columns.amount", "one source", |l| {
                l.columns.push(from("amount", &[name("x")]))
            }),
            ("columns.extra.callbackUrl", "set by the program", |l| {
                l.columns.push(from("extra.callbackUrl", &[name("x")]))
            }),
            ("columns.narration", "at least one column", |l| {
                l.columns.push(from("narration", &[]))
            }),
            ("group", "another character", |l| {
                l.numbers.group = Some('.')
            }),
            ("amount_factor", "more than 0", |l| {
                l.factor = Factor::Given(Decimal::ZERO)
            }),
            ("total", "no amount_factor_column", |l| {
                l.factor_column = Some(name("Rate"));
                l.total = Some(Total {
                    column: name("First"),
                    marker: "Total".to_owned(),
                });
            }),
            ("total.marker", "the text", |l| {
                l.total = Some(Total {
                    column: name("First"),
                    marker: " : ".to_owned(),
                });
            }),
            ("skip", "at least one value", |l| {
                l.skip.push(Condition {
                    column: name("x"),
                    values: vec![],
                })
            }),
            ("skip", "without spaces", |l| {
                l.skip.push(Condition {
                    column: name("x"),
                    values: vec!["Prepared by: ".to_owned()],
                })
            }),
            ("period", "a reference among columns", |l| {
                l.period = Period::Open
            }),
            ("refuse", "for any text", |l| {
                l.refuse.push(Refusal {
                    column: name("x"),
                    value: "**".to_owned(),
                    reason: "r".to_owned(),
                })
            }),
            ("values.amount", "without spaces", |l| {
                let pair = (" a".to_owned(), "1".to_owned());
                l.columns[0].values.push(pair);
            }),
            ("columns", "positions alone", |l| {
                l.header = HeaderAt::Nowhere
            }),
            ("columns", "from 1 on", |l| {
                l.columns.push(from("narration", &[Place::At(0)]))
            }),
        ];
        for (key, expected, spoil) in table {
            let mut layout = sound();
            spoil(&mut layout);
            let problem = layout.check().expect_err(key);
            assert_eq!(problem.key, key);
            assert!(problem.expected.contains(expected), "{key}: {problem:?}");
        }
    }
}
