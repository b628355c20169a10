//! The row behind the payments that holds their sum: it is compared, and never paid.

use super::super::Error;
use super::decimal::{Decimal, Numbers};
use super::definition::marked;

/// Words by which rows with a sum are marked, as [`marked`] has them.
const MARKERS: [&str; 6] = ["total", "totals", "grandtotal", "sum", "subtotal", "jumla"];

/// Returns whether a cell says that its row holds a sum.
pub(in super::super) fn is_marker(cell: &str) -> bool {
    MARKERS.contains(&marked(cell).as_str())
}

/// What the rows of a file add up to so far.
#[derive(Debug)]
pub(in super::super) struct Sum {
    layout: String,
    /// Of all rows, and of those that are not skipped; `None` beyond counting.
    sums: [Option<Decimal>; 2],
    /// The first line whose amount cannot be read.
    unread: Option<u64>,
    /// The first line whose amount is a formula: what is stored with it may be no result.
    calculated: Option<u64>,
    /// The line of the row with the sum, and what it says.
    found: Option<(u64, Decimal)>,
}

const REMEDY: &str = "rows may be missing, doubled or changed in the file: export it again, or ask the person who made it";

impl Sum {
    pub(in super::super) fn new(layout: &str) -> Self {
        Self {
            layout: layout.to_owned(),
            sums: [Some(Decimal::ZERO); 2],
            unread: None,
            calculated: None,
            found: None,
        }
    }

    fn refused<T>(&self, what: String, remedy: &str, line: u64) -> Result<T, Error> {
        Err(Error::Layout {
            what,
            remedy: remedy.to_owned(),
            line: Some(line),
        })
    }

    /// Returns the line of the row with the sum, once it was read.
    pub(in super::super) fn line(&self) -> Option<u64> {
        self.found.map(|(line, _)| line)
    }

    /// Returns why a row behind the one with the sum refuses the file: `stray` is what stands in it, and in which column, where it
    /// says neither whom to pay nor how much.
    pub(in super::super) fn behind(&self, line: u64, stray: Option<(String, String)>) -> Error {
        let total = self.line().unwrap_or_default();
        let mut what = format!(
            "has a row after the one with the sum, which is line {total} and the last one, as layout {} has it",
            self.layout
        );
        let remedy = match stray {
            None => "move the sum to the end, and leave sums of parts out".to_owned(),
            Some((column, text)) => {
                what.push_str("; it says neither whom to pay nor how much");
                format!(
                    "if it is not a payment, such as a signature, say so in a layout of your own: {column} = [{text}] \
                     in its table skip; a * in the text stands for anything. Otherwise move the sum to the end"
                )
            }
        };
        Error::Layout {
            what,
            remedy,
            line: Some(line),
        }
    }

    /// Takes in the amount of a row above the one with the sum, as a plain decimal number.
    ///
    /// # Errors
    /// The row stands behind the one with the sum.
    pub(in super::super) fn add(
        &mut self,
        amount: &str,
        line: u64,
        is_skipped: bool,
    ) -> Result<(), Error> {
        if self.found.is_some() {
            return Err(self.behind(line, None));
        }
        if amount.is_empty() {
            return Ok(());
        }
        let Some(amount) = Decimal::read(amount, Numbers::default()) else {
            self.unread.get_or_insert(line);
            return Ok(());
        };
        let [all, paid] = &mut self.sums;
        *all = all.and_then(|sum| sum.plus(amount));
        if !is_skipped {
            *paid = paid.and_then(|sum| sum.plus(amount));
        }
        Ok(())
    }

    /// Says that the amount of a line is what is stored with a formula.
    pub(in super::super) fn is_calculated(&mut self, line: u64) {
        self.calculated.get_or_insert(line);
    }

    /// Compares what the row with the sum says.
    ///
    /// # Errors
    /// The rows above add up to something else, or cannot be added up.
    pub(in super::super) fn compare(&mut self, text: &str, line: u64) -> Result<(), Error> {
        if let Some((first, _)) = self.found {
            let what = format!("has two rows with the sum, in lines {first} and {line}");
            return self.refused(what, "keep the last one, which is that of all rows", line);
        }
        let Some(said) = Decimal::read(text, Numbers::default()) else {
            let what = format!("has a row with the sum whose amount is not a number: \"{text}\"");
            let remedy = match Numbers::group_of(text) {
                Some((group, said)) => format!(
                    "it has {} between its digits: where the file writes all amounts so, say group = \"{group}\" in the layout, under another name; \
                     otherwise write {said}",
                    Numbers::name_of(group)
                ),
                None => "write the sum of all rows; where the file writes amounts in another way, say so in the layout (decimal, group), under \
                         another name"
                    .to_owned(),
            };
            return self.refused(what, &remedy, line);
        };
        if let Some(unread) = self.unread {
            let what = format!(
                "has a row with the sum that cannot be compared, because the amount of line {unread} cannot be read: \
                it is not a number, or it is a formula whose result is not in the file"
            );
            return self.refused(
                what,
                "mend that amount first; where the file writes amounts in another way, say so in the layout (decimal, group), under another name; \
                 if it is a workbook that another program has made, open it in a spreadsheet program and save it: then it has the results of its \
                 formulas",
                line,
            );
        }
        if !self.sums.iter().flatten().any(|sum| sum.equals(said)) {
            let [_, paid] = self.sums;
            let found = paid.map_or_else(
                || "more than can be counted".to_owned(),
                |sum| sum.to_string(),
            );
            let what = format!("says that its rows add up to {said}, but they add up to {found}");
            if let Some(line) = self.calculated {
                let remedy = "open it in a spreadsheet program and save it, so that each formula has its result; or paste amounts as values";
                let what = format!(
                    "{what}; the amount of line {line} is a formula, and the value that is stored with it may be out \
                    of date"
                );
                return self.refused(what, remedy, line);
            }
            return self.refused(what, REMEDY, line);
        }
        self.found = Some((line, said));
        Ok(())
    }

    /// Says at the end of the file whether its sum was there.
    ///
    /// # Errors
    /// It was not.
    pub(in super::super) fn end(&self) -> Result<(), Error> {
        match self.found {
            Some(_) => Ok(()),
            None => Err(Error::Layout {
                what: format!(
                    "has no row with the sum, which layout {} has at the end: it may be cut off",
                    self.layout
                ),
                remedy: REMEDY.to_owned(),
                line: None,
            }),
        }
    }

    /// Says that the sum was compared.
    pub(in super::super) fn note(&self) -> Option<String> {
        let (line, said) = self.found?;
        Some(format!(
            "line {line} is the sum, {said}: the rows above add up to it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, bool);

    fn of(rows: &[Row], total: Option<&str>, behind: &[Row]) -> Result<Option<String>, String> {
        let mut sum = Sum::new("a");
        let mut line = 1;
        let mut add = |sum: &mut Sum, (amount, skipped): &Row| {
            line += 1;
            sum.add(amount, line, *skipped)
        };
        let outcome = rows
            .iter()
            .try_for_each(|row| add(&mut sum, row))
            .and_then(|()| total.map_or(Ok(()), |total| sum.compare(total, 90)))
            .and_then(|()| behind.iter().try_for_each(|row| add(&mut sum, row)))
            .and_then(|()| sum.end());
        outcome
            .map(|()| sum.note())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_sum_is_that_of_all_rows_or_of_those_that_are_payments() {
        let rows: &[Row] = &[("10.50", false), ("", false), ("4", true)];
        let ok = |line: &str| Ok(Some(line.to_owned()));
        assert_eq!(
            of(rows, Some("14.50"), &[]),
            ok("line 90 is the sum, 14.50: the rows above add up to it")
        );
        assert_eq!(
            of(rows, Some("10.5"), &[]),
            ok("line 90 is the sum, 10.5: the rows above add up to it")
        );
    }

    #[test]
    fn another_sum_or_none_refuses_the_file() {
        let rows: &[Row] = &[("10.50", false)];
        for (rows, total, behind, expected) in [
            (
                rows,
                Some("10.51"),
                &[][..],
                "says that its rows add up to 10.51, but they add up to 10.50",
            ),
            (rows, Some("x"), &[], "whose amount is not a number"),
            (rows, None, &[], "has no row with the sum"),
            (
                rows,
                Some("10.50"),
                rows,
                "has a row after the one with the sum, which is line 90",
            ),
            (
                &[("x", false)],
                Some("10.50"),
                &[],
                "because the amount of line 2 cannot be read: it is not a number",
            ),
        ] {
            let found = of(rows, total, behind).unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
    }
}
