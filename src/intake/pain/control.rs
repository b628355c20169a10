//! How many transfers a message, or a block of it, says that it has, and what they add up to.

use super::super::Error;
use super::super::layout::{Decimal, Numbers};
use super::super::xml::{Place, refused};

const REMEDY: &str = "transfers may be missing, doubled or changed in the file: export it again, or ask the person who made it";

/// What is said, and what was counted.
#[derive(Debug, Default)]
pub(super) struct Control {
    said_count: Option<(u64, Place)>,
    said_sum: Option<(Decimal, Place)>,
    count: u64,
    /// `None` beyond counting.
    sum: Option<Decimal>,
    /// The first amount that cannot be read.
    unread: Option<Place>,
}

impl Control {
    pub(super) fn new() -> Self {
        Self {
            sum: Some(Decimal::ZERO),
            ..Self::default()
        }
    }

    /// Takes what the message says of the number of its transfers (`NbOfTxs`).
    ///
    /// # Errors
    /// It is no number, or stands there twice.
    pub(super) fn say_count(&mut self, text: &str, at: Place) -> Result<(), Error> {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let count = text.parse().ok().filter(|_| is_plain);
        match (count, self.said_count) {
            (Some(count), None) => self.said_count = Some((count, at)),
            (_, Some(_)) => return Err(refused(Some(at), "has NbOfTxs twice", REMEDY)),
            (None, None) => {
                let what = "has NbOfTxs that is not a number";
                return Err(refused(Some(at), what, REMEDY));
            }
        }
        Ok(())
    }

    /// Takes what the message says of their sum (`CtrlSum`).
    ///
    /// # Errors
    /// It is no number, or stands there twice.
    pub(super) fn say_sum(&mut self, text: &str, at: Place) -> Result<(), Error> {
        match (Decimal::read(text, Numbers::default()), self.said_sum) {
            (Some(sum), None) => self.said_sum = Some((sum, at)),
            (_, Some(_)) => return Err(refused(Some(at), "has CtrlSum twice", REMEDY)),
            (None, None) => {
                let what = "has CtrlSum that is not a number";
                return Err(refused(Some(at), what, REMEDY));
            }
        }
        Ok(())
    }

    /// Takes in a transfer: whatever its currency, its number counts.
    pub(super) fn add(&mut self, amount: &str, at: Place) {
        self.count += 1;
        match Decimal::read(amount, Numbers::default()) {
            Some(amount) => self.sum = self.sum.and_then(|sum| sum.plus(amount)),
            None => _ = self.unread.get_or_insert(at),
        }
    }

    /// Returns whether the number of transfers is said.
    pub(super) fn has_count(&self) -> bool {
        self.said_count.is_some()
    }

    /// Returns how many there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns what was said of the number and the sum, as it would be written again.
    pub(super) fn said(&self) -> (Option<u64>, Option<String>) {
        let sum = self.said_sum.map(|(sum, _)| sum.to_string());
        (self.said_count.map(|(count, _)| count), sum)
    }

    /// Compares what was said with what was counted; `whose` is the element that said it.
    ///
    /// # Errors
    /// They differ, or cannot be compared.
    pub(super) fn compare(&self, whose: &str) -> Result<(), Error> {
        if let Some((said, at)) = self.said_count
            && said != self.count
        {
            let what = format!(
                "says in {whose} that there are {said} transfers (NbOfTxs), but there are {}",
                self.count
            );
            return Err(refused(Some(at), what, REMEDY));
        }
        let Some((said, at)) = self.said_sum else {
            return Ok(());
        };
        if let Some(unread) = self.unread {
            let what = format!(
                "has a sum of the transfers in {whose} (CtrlSum) that cannot be compared: the amount of the transfer \
                at {unread} is not a number"
            );
            return Err(refused(Some(at), what, "mend that amount first"));
        }
        match self.sum {
            Some(sum) if sum.equals(said) => Ok(()),
            sum => {
                let sum = sum.map_or_else(
                    || "more than can be counted".to_owned(),
                    |sum| sum.to_string(),
                );
                let what = format!(
                    "says in {whose} that the transfers add up to {said} (CtrlSum), but they add up to {sum}"
                );
                Err(refused(Some(at), what, REMEDY))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Place = Place { line: 3, column: 7 };

    fn compared(count: Option<&str>, sum: Option<&str>, amounts: &[&str]) -> Result<(), String> {
        let mut control = Control::new();
        let of = |control: &mut Control| {
            count.map_or(Ok(()), |text| control.say_count(text, AT))?;
            sum.map_or(Ok(()), |text| control.say_sum(text, AT))?;
            for amount in amounts {
                control.add(amount, Place { line: 9, column: 2 });
            }
            control.compare("GrpHdr")
        };
        of(&mut control).map_err(|error| format!("{}: {error}", error.place().unwrap_or_default()))
    }

    #[test]
    fn what_is_said_is_what_is_counted_or_the_message_is_refused() {
        for (count, sum, amounts, expected) in [
            (Some("2"), Some("3.50"), &["1.5", "2"][..], None),
            (Some("2"), Some("3.5"), &["1.50", "2.00"], None),
            (Some("02"), None, &["1", "2"], None),
            (None, None, &["x"], None),
            (
                Some("3"),
                None,
                &["1", "2"],
                Some("3:7: says in GrpHdr that there are 3 transfers (NbOfTxs), but there are 2"),
            ),
            (
                Some("2"),
                Some("3.51"),
                &["1.5", "2"],
                Some(
                    "3:7: says in GrpHdr that the transfers add up to 3.51 (CtrlSum), but they add up to 3.5",
                ),
            ),
            (
                None,
                Some("3"),
                &["1", "x"],
                Some("the amount of the transfer at 9:2 is not a number"),
            ),
            (
                Some("x"),
                None,
                &[],
                Some("3:7: has NbOfTxs that is not a number"),
            ),
            (
                Some("-1"),
                None,
                &[],
                Some("3:7: has NbOfTxs that is not a number"),
            ),
            (
                Some(""),
                None,
                &[],
                Some("has NbOfTxs that is not a number"),
            ),
            (
                None,
                Some("1,5"),
                &[],
                Some("has CtrlSum that is not a number"),
            ),
        ] {
            let found = compared(count, sum, amounts);
            match expected {
                None => assert_eq!(found, Ok(()), "{count:?} {sum:?} {amounts:?}"),
                Some(part) => {
                    let found = found.expect_err(part);
                    assert!(found.contains(part), "{found}");
                }
            }
        }
    }

    #[test]
    fn what_stands_there_twice_is_refused() {
        let mut control = Control::new();
        control.say_count("1", AT).unwrap();
        control.say_sum("1", AT).unwrap();
        assert!(control.say_count("1", AT).is_err());
        assert!(control.say_sum("1", AT).is_err());
    }
}
