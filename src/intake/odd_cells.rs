//! What is odd about a cell of a sheet, and where that matters.

use super::bad::RowError;
use super::columns::{Column, Field};
use super::oddity::{
    DATE, DRESSED, LOST_DIGITS, MERGED, NOT_CALCULATED, Oddity, SHOWN_AS_ANOTHER, STRUCK_OUT,
};
use super::record::Record;

/// Said of a formula, where its stored result is not to be taken.
pub(super) const CALCULATED: &str = "is a formula, whose result may change with other cells: paste it as a value, or add --formulas stored";

/// Returns those odd cells of a row that one of its errors may be about.
pub(super) fn that_matter(row: &Record, errors: &[RowError]) -> Vec<(usize, Oddity)> {
    let mut odd = row.oddities();
    odd.retain(|(_, oddity)| {
        let told = told_of(&Column::Field(Field::Amount), *oddity).unwrap_or_default();
        errors.iter().any(|error| error.message == told)
    });
    odd
}

/// Says what is wrong with a cell of a column, where what is odd about it matters there.
pub(super) fn told_of(column: &Column, oddity: Oddity) -> Option<&'static str> {
    let field = match column {
        // Whoever strikes out a name means the row.
        _ if oddity == Oddity::StruckOut => return Some(STRUCK_OUT),
        Column::Note | Column::Unnamed => return None,
        Column::Field(field) => Some(*field),
        Column::Extra(_) | Column::ExtraObject => None,
    };
    let is_for_people = matches!(field, None | Some(Field::Narration | Field::CustomerNames));
    match oddity {
        Oddity::NotCalculated => Some(NOT_CALCULATED),
        Oddity::Merged => Some(MERGED),
        Oddity::StruckOut => Some(STRUCK_OUT),
        _ if is_for_people => None,
        Oddity::Calculated => Some(CALCULATED),
        Oddity::LostDigits => Some(LOST_DIGITS),
        Oddity::ShownAsAnother => Some(SHOWN_AS_ANOTHER),
        // What is added to an amount is no part of it, and a phone number tells by itself what it lacks.
        Oddity::Dressed if matches!(field, Some(Field::Amount | Field::Msisdn)) => None,
        Oddity::Dressed => Some(DRESSED),
        Oddity::Date if matches!(field, Some(Field::DatePaymentReceived | Field::NotBefore)) => {
            None
        }
        Oddity::Date => Some(DATE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_counts_where_it_decides_who_is_paid_and_how_much() {
        use Oddity::{
            Calculated, Date, Dressed, LostDigits, Merged, NotCalculated, ShownAsAnother, StruckOut,
        };
        let field = Column::Field;
        let all = [
            Calculated,
            Date,
            Dressed,
            LostDigits,
            Merged,
            NotCalculated,
            ShownAsAnother,
            StruckOut,
        ];
        for (column, taken) in [
            (field(Field::Amount), &[Dressed][..]),
            (field(Field::Msisdn), &[Dressed]),
            (field(Field::Reference), &[]),
            (field(Field::AccountNumber), &[]),
            (field(Field::DatePaymentReceived), &[Date]),
            (
                field(Field::Narration),
                &[Calculated, Date, Dressed, LostDigits, ShownAsAnother],
            ),
            (
                Column::Extra("a".to_owned()),
                &[Calculated, Date, Dressed, LostDigits, ShownAsAnother],
            ),
            (Column::Note, &all[..7]),
            (Column::Unnamed, &all[..7]),
        ] {
            for oddity in all {
                let is_taken = told_of(&column, oddity).is_none();
                assert_eq!(is_taken, taken.contains(&oddity), "{column:?} {oddity:?}");
            }
        }
    }
}
