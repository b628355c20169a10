//! One line of a statement, whatever the format.

use std::borrow::Cow;

use crate::domain::{Day, Money};

/// Which way the money went, seen from our account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It left.
    Out,
    /// It came.
    In,
}

/// How final a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The money has moved.
    Booked,
    /// It is announced, and may not move.
    Pending,
    /// It was tried, and did not move.
    NotExecuted,
    /// It is booked, and says of itself that it failed or was taken back: it proves nothing, and holds what it names.
    Unclear,
}

/// What a field for references holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Reference {
    /// How the statement calls the field: the header of its column, the name of its element.
    pub field: Cow<'static, str>,
    /// What it holds.
    pub text: String,
    /// The gateway or the bank gives it to one movement alone: a receipt, the bank's own reference.
    pub is_receipt: bool,
}

/// One movement that a statement shows.
#[derive(Clone, PartialEq, Eq)]
pub struct StatementEntry {
    /// Where it stands in the file: `line 12`.
    pub place: String,
    /// Its day.
    pub day: Day,
    /// Which way.
    pub flow: Flow,
    /// It takes an earlier movement back.
    pub reversal: bool,
    /// How much; a charge that the amount includes is taken off.
    pub money: Money,
    /// How final.
    pub standing: Standing,
    /// What its fields for references hold.
    pub references: Vec<Reference>,
    /// Its free text.
    pub text: String,
    /// The other side's number or account, as it is written; empty: not named.
    pub recipient: String,
    /// What was charged for it, in minor units of the same currency.
    pub fee: Option<i64>,
    /// It is a charge itself, and no payment.
    pub is_charge: bool,
    /// It is one booking of several payments that are not listed.
    pub is_batch: bool,
}

/// Digits of a phone number or an account in free text.
const NUMBER_MIN: usize = 9;
const NUMBER_MAX: usize = 20;

/// Words that are looked up of one line.
pub const NAMES_MAX: usize = 64;

/// A word of free text is held against identifiers when it is at least so long.
const WORD_MIN: usize = 8;

/// Of digits alone when it is at least so long: a date, an invoice or a short code is no name of a payment.
const NUMERAL_MIN: usize = 10;

/// Words of free text are held against identifiers together when they are so long.
const JOINED: std::ops::RangeInclusive<usize> = 16..=40;

/// No identifier is longer.
const NAME_MAX: usize = 128;

/// So many days a line may be dated ahead: money that is booked on a Friday may count from after the holidays.
const AHEAD_MAX: i32 = 10;

impl StatementEntry {
    /// Returns whether it says that money has moved on a day that has not come: days and months are mistaken for one another, say.
    #[must_use]
    pub fn is_ahead(&self, today: Day) -> bool {
        self.standing != Standing::Pending && self.day > today.later(AHEAD_MAX)
    }

    /// Returns what its fields for references hold.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.references
            .iter()
            .map(|reference| reference.text.as_str())
    }

    /// Returns what may be an identifier or a receipt of a payment: the whole of each field for references, and of them and of the
    /// free text each word that is long enough.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            let name = name.trim();
            if !name.is_empty()
                && name.len() <= NAME_MAX
                && names.len() < NAMES_MAX
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        };
        self.references().for_each(&mut add);
        let texts = self.references().chain([self.text.as_str()]);
        for word in texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric())) {
            let is_number = word.bytes().all(|b| b.is_ascii_digit());
            if word.len() >= if is_number { NUMERAL_MIN } else { WORD_MIN } {
                add(word);
            }
        }
        // An identifier that was broken over two lines, or parted into groups.
        for text in self.references().chain([self.text.as_str()]) {
            let words: Vec<&str> = text
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            for pair in words.windows(2) {
                if JOINED.contains(&(pair[0].len() + pair[1].len())) {
                    add(&pair.concat());
                }
            }
            let whole: usize = words.iter().map(|word| word.len()).sum();
            if words.len() > 2 && JOINED.contains(&whole) {
                add(&words.concat());
            }
        }
        names
    }

    /// Returns to whom it says that it went: where no field names the other side, the first number in its text that is long enough.
    #[must_use]
    pub fn named_recipient(&self) -> &str {
        if !self.recipient.trim().is_empty() {
            return &self.recipient;
        }
        let texts = [self.text.as_str()].into_iter().chain(self.references());
        let mut words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
        let is_number = |word: &&str| {
            (NUMBER_MIN..=NUMBER_MAX).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_digit())
        };
        words.find(is_number).unwrap_or_default()
    }

    /// Returns whether it can be a payment that was made: money that has left.
    #[must_use]
    pub fn is_payment(&self) -> bool {
        self.flow == Flow::Out
            && !self.reversal
            && self.standing == Standing::Booked
            && !self.is_charge
    }

    /// Returns what it adds to the balance, in minor units.
    #[must_use]
    pub fn signed(&self) -> i128 {
        let minor = i128::from(self.money.amount.minor());
        match self.flow {
            Flow::Out => -minor,
            Flow::In => minor,
        }
    }
}

// Numbers and names of people have no place in a log.
impl std::fmt::Debug for StatementEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementEntry")
            .field("place", &self.place)
            .field("day", &self.day)
            .field("flow", &self.flow)
            .field("money", &self.money)
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency};

    #[test]
    fn no_money_has_moved_on_a_day_to_come() {
        let today = Day::from_number(100);
        for (standing, day, is_ahead) in [
            (Standing::Booked, 100, false),
            // It counts from after the holidays.
            (Standing::Booked, 110, false),
            (Standing::Booked, 111, true),
            (Standing::Unclear, 400, true),
            (Standing::NotExecuted, 400, true),
            // It is announced for then.
            (Standing::Pending, 400, false),
        ] {
            let kes = Currency::from_code("KES").unwrap();
            let entry = StatementEntry {
                place: "line 2".to_owned(),
                day: Day::from_number(day),
                flow: Flow::Out,
                reversal: false,
                money: Money {
                    amount: Amount::from_minor(1).unwrap(),
                    currency: kes,
                },
                standing,
                references: Vec::new(),
                text: String::new(),
                recipient: String::new(),
                fee: None,
                is_charge: false,
                is_batch: false,
            };
            assert_eq!(entry.is_ahead(today), is_ahead, "{standing:?} {day}");
        }
    }
}
