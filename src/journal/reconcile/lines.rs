//! Lines about payments, as the chain keeps them: later statements are held against them as well.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::desk::StatementDesk;
use super::matching::{FACTS, FACTS_WIDTH, Facts, LINE, by_of, line_of};
use crate::domain::{Day, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::ledger::reconciliation::{Bearing, MatchedBy, bearing, moved_otherwise};

/// Lines that one row of evidence keeps, at most.
const TOGETHER: usize = 1_000;

/// What a line said of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Its money left.
    Paid,
    /// Its money left, by a line that does not name it.
    PaidUnnamed,
    /// It came back.
    Returned,
    /// So much of it moved in another way, in minor units.
    Otherwise(i64),
}

/// A line of a statement about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptLine {
    pub(super) seq: PaymentId,
    pub(super) day: Day,
    /// What tells it from others of its day.
    pub(super) mark: u32,
    pub(super) told: Told,
}

impl KeptLine {
    fn push(self, out: &mut String) {
        if !out.is_empty() {
            out.push(';');
        }
        let (seq, day, mark) = (self.seq.get(), self.day.number(), self.mark);
        let told = match self.told {
            Told::Paid => "p".to_owned(),
            Told::PaidUnnamed => "u".to_owned(),
            Told::Returned => "r".to_owned(),
            Told::Otherwise(minor) => minor.to_string(),
        };
        write!(out, "{seq} {day} {mark:x} {told}").expect("writing to a String cannot fail");
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let line = Self {
            seq: PaymentId::new(parts.next()?.parse().ok()?),
            day: Day::from_number(parts.next()?.parse().ok()?),
            mark: u32::from_str_radix(parts.next()?, 16).ok()?,
            told: match parts.next()? {
                "p" => Told::Paid,
                "u" => Told::PaidUnnamed,
                "r" => Told::Returned,
                minor => Told::Otherwise(minor.parse().ok()?),
            },
        };
        parts.next().is_none().then_some(line)
    }
}

/// Reads the lines that a row of evidence keeps.
pub(super) fn lines_of(detail: &Value) -> Result<Vec<KeptLine>, Error> {
    let text = detail["lines"].as_str().unwrap_or_default();
    let lines = text.split(';').filter(|line| !line.is_empty());
    let read = lines.map(|line| {
        KeptLine::parse(line).ok_or_else(|| corrupt("a line of a statement that cannot be read"))
    });
    read.collect()
}

impl StatementDesk {
    /// Returns the lines that say something of payments, as rows of evidence keep them.
    ///
    /// # Errors
    /// Faults of the tables.
    pub fn lines(&self) -> Result<Vec<String>, Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, {LINE}, e.mark from entry e cross join payment p on p.seq = coalesce(e.seq, e.other_seq) where e.seq is not null or e.other_seq is not null order by e.n"
        ))?;
        let mut rows = found.query([])?;
        let (mut blocks, mut block, mut count) = (Vec::new(), String::new(), 0);
        while let Some(row) = rows.next()? {
            let facts = Facts::of(row)?;
            let entry = line_of(row, FACTS_WIDTH)?;
            // A line that is about a payment of another batch has no name.
            let by = by_of(row.get(FACTS_WIDTH + 11)?).unwrap_or(MatchedBy::AmountAndRecipient);
            let told = match bearing(&facts.view(), &entry) {
                Bearing::Paid if by == MatchedBy::AmountAndRecipient => Told::PaidUnnamed,
                Bearing::Paid => Told::Paid,
                Bearing::Returned => Told::Returned,
                _ => match moved_otherwise(&facts.view(), &entry) {
                    0 => continue,
                    minor => Told::Otherwise(minor),
                },
            };
            let line = KeptLine {
                seq: facts.seq,
                day: entry.day,
                mark: row.get(FACTS_WIDTH + 12)?,
                told,
            };
            line.push(&mut block);
            count += 1;
            if count == TOGETHER {
                blocks.push(std::mem::take(&mut block));
                count = 0;
            }
        }
        if !block.is_empty() {
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// Returns what a row of evidence says of such lines.
pub(super) fn lines_said(lines: &str) -> Value {
    json!({"lines": lines})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_kept() {
        let line = |seq, told| KeptLine {
            seq: PaymentId::new(seq),
            day: Day::parse("2026-11-29").unwrap(),
            mark: 0xABC,
            told,
        };
        let lines = [
            line(1, Told::Paid),
            line(2, Told::PaidUnnamed),
            line(20, Told::Returned),
            line(3, Told::Otherwise(-150)),
        ];
        let mut text = String::new();
        lines.into_iter().for_each(|line| line.push(&mut text));
        assert_eq!(lines_of(&lines_said(&text)).unwrap(), lines);
        for broken in ["x", "1 2", "1 2 zz p", "1 2 3 p 4", "1 2 3 q"] {
            assert!(lines_of(&lines_said(broken)).is_err(), "{broken}");
        }
    }
}
