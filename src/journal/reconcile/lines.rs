//! Lines about payments, as the chain keeps them: later statements are held against them as well.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::desk::StatementDesk;
use super::matching::{FACTS, FACTS_WIDTH, Facts, LINE, by_of, line_of};
use crate::domain::{Day, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::ledger::reconciliation::{
    Bearing, MatchedBy, Moved, Movement, StatementEntry, bearing, moved_otherwise,
};

/// Lines that one row of evidence keeps, at most.
const TOGETHER: usize = 1_000;

/// A line of a statement about a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptLine {
    pub(super) seq: PaymentId,
    pub(super) movement: Movement,
}

impl KeptLine {
    /// Returns it but for its payment.
    pub(super) fn about(&self) -> String {
        let Movement {
            day,
            moved,
            is_named,
            marks,
            statement: _,
        } = &self.movement;
        let moved = match moved {
            Moved::Out if *is_named => "p".to_owned(),
            Moved::Out => "u".to_owned(),
            Moved::Back => "r".to_owned(),
            Moved::Otherwise(minor) => minor.to_string(),
        };
        format!("{} {moved} {marks}", day.number())
    }

    fn parse(text: &str) -> Option<Self> {
        let (seq, about) = text.split_once(' ')?;
        let seq = PaymentId::new(seq.parse().ok()?);
        movement_in(about).map(|movement| Self { seq, movement })
    }
}

/// Reads what [`KeptLine::about`] wrote.
pub(super) fn movement_in(about: &str) -> Option<Movement> {
    let mut parts = about.split(' ');
    let day = Day::from_number(parts.next()?.parse().ok()?);
    let (moved, is_named) = match parts.next()? {
        "p" => (Moved::Out, true),
        "u" => (Moved::Out, false),
        "r" => (Moved::Back, true),
        minor => (Moved::Otherwise(minor.parse().ok()?), true),
    };
    let movement = Movement {
        day,
        moved,
        is_named,
        marks: parts.next()?.parse().ok()?,
        statement: 0,
    };
    parts.next().is_none().then_some(movement)
}

/// Returns what a line tells of a payment; `None`: it moves nothing.
pub(super) fn movement_of(
    facts: &Facts,
    entry: &StatementEntry,
    by: MatchedBy,
    marks: &str,
) -> Result<Option<Movement>, Error> {
    let moved = match bearing(&facts.view(), entry) {
        Bearing::Paid => Moved::Out,
        Bearing::Returned => Moved::Back,
        _ => match moved_otherwise(&facts.view(), entry) {
            0 => return Ok(None),
            minor => Moved::Otherwise(minor),
        },
    };
    Ok(Some(Movement {
        day: entry.day,
        is_named: moved != Moved::Out || by != MatchedBy::AmountAndRecipient,
        moved,
        marks: marks.parse().map_err(|()| corrupt("unreadable marks"))?,
        statement: 0,
    }))
}

/// Reads the lines that a row of evidence keeps.
pub(super) fn lines_of(detail: &Value) -> Result<Vec<KeptLine>, Error> {
    let text = detail["movements"].as_str().unwrap_or_default();
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
            "select {FACTS}, {LINE}, e.marks from entry e cross join payment p on p.seq = coalesce(e.seq, e.other_seq) where e.seq is not null or e.other_seq is not null order by e.n"
        ))?;
        let mut rows = found.query([])?;
        let (mut blocks, mut block, mut count) = (Vec::new(), String::new(), 0);
        while let Some(row) = rows.next()? {
            let facts = Facts::of(row)?;
            let entry = line_of(row, FACTS_WIDTH)?;
            // A line that is about a payment of another batch has no name.
            let by = by_of(row.get(FACTS_WIDTH + 11)?).unwrap_or(MatchedBy::AmountAndRecipient);
            let marks: String = row.get(FACTS_WIDTH + 12)?;
            let Some(movement) = movement_of(&facts, &entry, by, &marks)? else {
                continue;
            };
            let seq = facts.seq;
            let between = if block.is_empty() { "" } else { ";" };
            let line = KeptLine { seq, movement };
            write!(block, "{between}{} {}", seq.get(), line.about())
                .expect("writing to a String cannot fail");
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
    json!({"movements": lines})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_kept() {
        let line = |seq, moved, is_named, marks: &str| KeptLine {
            seq: PaymentId::new(seq),
            movement: Movement {
                day: Day::parse("2026-11-29").unwrap(),
                moved,
                is_named,
                marks: marks.parse().unwrap(),
                statement: 0,
            },
        };
        let lines = [
            line(1, Moved::Out, true, "0ab0012ff,fff123456"),
            line(2, Moved::Out, false, ""),
            line(20, Moved::Back, true, "0ab0012ff"),
            line(3, Moved::Otherwise(-150), true, "0ab0012ff"),
        ];
        let texts: Vec<String> = lines
            .iter()
            .map(|line| format!("{} {}", line.seq.get(), line.about()))
            .collect();
        assert_eq!(lines_of(&lines_said(&texts.join(";"))).unwrap(), lines);
        for broken in [
            "x",
            "1 2",
            "1 2 p",
            "1 2 p zz",
            "1 2 p 0ab0012f",
            "1 2 p 0ab0012ff x",
            "1 2 q 0ab0012ff",
        ] {
            assert!(lines_of(&lines_said(broken)).is_err(), "{broken}");
        }
    }
}
