//! Which batches may go to an archive: those about which nothing is left to do, to ask or to decide.
//!
//! An archive is what is shown of a batch in years to come. What is still to change would make it wrong, and what waits for a person
//! would be forgotten with it.

use std::fmt;
use std::time::Duration;

use crate::domain::{Timestamp, WireZone};
use crate::ledger::forgetting::Kept;

/// A span of days is no longer: ten thousand years hold no payroll.
pub const DAYS_MAX: u32 = 36_500;

/// What the journal has of a batch, as far as this rule asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Payments that have not reached their end.
    pub open: u64,
    /// Rows that wait for the amount of their bill.
    pub unpriced: u64,
    /// Payments about which two final words disagree.
    pub conflicts: u64,
    /// Rows that were set aside, and that nobody has mended or withdrawn.
    pub rejected: u64,
    /// Ended payments that the gateway is asked about again.
    pub inquiries: u64,
    /// Retries that are held back.
    pub waiting: u64,
    /// Orders that somebody has signed for, and that wait for others.
    pub orders: u64,
    /// The journal may have missed something, and nobody has declared that made up for.
    pub is_recovering: bool,
    /// It was loaded to be rehearsed.
    pub is_rehearsal: bool,
    /// The names and numbers of its people have given way to digests.
    pub is_forgotten: bool,
    /// Why its people are to stay in the journal; `None`: nothing rests on them, or they stay anyway.
    pub people: Option<Kept>,
    /// Its newest row of evidence, of whatever kind.
    pub newest: Timestamp,
}

/// Which batches are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Somebody has named the batch.
    pub is_named: bool,
    /// Its newest evidence is to be this old at least; `None`: any age.
    pub older_than: Option<Duration>,
}

/// Why a batch stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The journal may have missed something.
    Recovering,
    /// Its people are no longer in the journal: it was archived before.
    Forgotten,
    /// So many payments have not reached their end.
    Open(u64),
    /// So many rows have no amount.
    Unpriced(u64),
    /// So many payments are in conflict.
    Conflicts(u64),
    /// So many retries are held back.
    Waiting(u64),
    /// So many ended payments are asked about again.
    Inquiries(u64),
    /// So many rejected rows wait.
    Rejected(u64),
    /// So many orders wait for signatures.
    Orders(u64),
    /// It is a rehearsal, and nobody has named it.
    Rehearsal,
    /// Something was recorded of it less long ago.
    Young {
        /// The newest evidence.
        newest: Timestamp,
    },
    /// The journal needs its people still.
    People(Kept),
}

/// Judges whether a batch may be archived.
///
/// # Errors
/// Why it stays. Of several reasons the one that is to be looked at first.
pub fn judge(facts: &Facts, wanted: Wanted, now: Timestamp) -> Result<(), Stays> {
    if facts.is_recovering {
        return Err(Stays::Recovering);
    }
    if facts.is_forgotten {
        return Err(Stays::Forgotten);
    }
    for (count, stays) in [
        (facts.open, Stays::Open as fn(u64) -> Stays),
        (facts.unpriced, Stays::Unpriced),
        (facts.conflicts, Stays::Conflicts),
        (facts.waiting, Stays::Waiting),
        (facts.inquiries, Stays::Inquiries),
        (facts.rejected, Stays::Rejected),
        (facts.orders, Stays::Orders),
    ] {
        if count > 0 {
            return Err(stays(count));
        }
    }
    if facts.is_rehearsal && !wanted.is_named {
        return Err(Stays::Rehearsal);
    }
    // A clock that was set back tells no age.
    let is_old = |least: Duration| now >= facts.newest && now.since(facts.newest) >= least;
    match wanted.older_than {
        Some(least) if !is_old(least) => Err(Stays::Young {
            newest: facts.newest,
        }),
        _ => facts.people.map_or(Ok(()), |why| Err(Stays::People(why))),
    }
}

/// Reads a span of days, such as `400d`.
///
/// # Errors
/// What was expected.
pub fn days(text: &str) -> Result<Duration, String> {
    let digits = text.strip_suffix('d').unwrap_or_default();
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let days = digits
        .parse::<u32>()
        .ok()
        .filter(|days| is_plain && *days <= DAYS_MAX);
    days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60))
        .ok_or_else(|| format!("expected whole days, such as 400d, at most {DAYS_MAX}d"))
}

fn people(why: &str) -> String {
    format!("its people stay in the journal: {why}")
}

impl Stays {
    /// Says why, with times as a clock in this zone shows them.
    #[must_use]
    pub fn in_words(&self, zone: &WireZone) -> String {
        match self {
            Self::People(why) => people(&why.in_words(zone)),
            other => other.to_string(),
        }
    }

    /// Returns the next step for a batch, as a person can type it.
    #[must_use]
    pub fn hint(&self, batch: &str, sandbox: &str) -> String {
        match self {
            Self::Recovering => "disburse recover lists each step".to_owned(),
            Self::Forgotten => {
                "read the archive that was made of it: disburse archive read FILE".to_owned()
            }
            Self::Open(_) => format!("disburse run {batch}{sandbox}"),
            Self::Unpriced(_) => format!(
                "disburse run {batch}{sandbox} --pay-due takes what their bills say, disburse cancel {batch} withdraws them"
            ),
            Self::Conflicts(_) => {
                format!(
                    "disburse status {batch} names them; disburse resolve records what a person decides"
                )
            }
            Self::Waiting(_) | Self::Inquiries(_) | Self::Orders(_) => {
                format!("disburse status {batch} says what they wait for")
            }
            Self::Rejected(_) => format!(
                "mend them and load them with --amend, or withdraw them: disburse cancel {batch} --rejected --reason TEXT"
            ),
            Self::Rehearsal => {
                format!("name it to archive it: disburse archive {batch} --out FOLDER")
            }
            Self::People(why) => format!(
                "{}; or archive it, and leave its people in the journal: --keep-people",
                why.hint(batch)
            ),
            Self::Young { .. } => {
                "there is nothing to do: it is archived when it is old enough".to_owned()
            }
        }
    }
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u64, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let text = match *self {
            Self::Recovering => "the journal may have missed something".to_owned(),
            Self::Forgotten => "its people are no longer in the journal".to_owned(),
            Self::People(why) => people(&why.to_string()),
            Self::Open(count) => counted(
                count,
                "payment has not reached its end",
                "payments have not reached their end",
            ),
            Self::Unpriced(count) => {
                counted(count, "row has no amount yet", "rows have no amount yet")
            }
            Self::Conflicts(count) => counted(
                count,
                "payment is in conflict, and nobody has decided",
                "payments are in conflict, and nobody has decided",
            ),
            Self::Waiting(count) => counted(count, "retry is held back", "retries are held back"),
            Self::Inquiries(count) => counted(
                count,
                "ended payment is asked about again",
                "ended payments are asked about again",
            ),
            Self::Rejected(count) => counted(
                count,
                "rejected row is neither mended nor withdrawn",
                "rejected rows are neither mended nor withdrawn",
            ),
            Self::Orders(count) => counted(
                count,
                "order waits for signatures",
                "orders wait for signatures",
            ),
            Self::Rehearsal => "it is a rehearsal".to_owned(),
            Self::Young { newest } => format!("its newest evidence is of {newest}"),
        };
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60 * 1_000;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_millis(days * DAY)
    }

    fn finished() -> Facts {
        Facts {
            newest: at(1_000),
            ..Facts::default()
        }
    }

    #[test]
    fn only_a_batch_about_which_nothing_is_left_to_do_is_archived() {
        let named = Wanted {
            is_named: true,
            older_than: None,
        };
        let all = finished();
        for (case, facts, expected) in [
            ("finished", all, None),
            ("open", Facts { open: 2, ..all }, Some(Stays::Open(2))),
            (
                "without an amount",
                Facts { unpriced: 1, ..all },
                Some(Stays::Unpriced(1)),
            ),
            (
                "in conflict",
                Facts {
                    conflicts: 3,
                    ..all
                },
                Some(Stays::Conflicts(3)),
            ),
            (
                "rejected",
                Facts { rejected: 4, ..all },
                Some(Stays::Rejected(4)),
            ),
            (
                "asked about again",
                Facts {
                    inquiries: 1,
                    ..all
                },
                Some(Stays::Inquiries(1)),
            ),
            (
                "held back",
                Facts { waiting: 1, ..all },
                Some(Stays::Waiting(1)),
            ),
            (
                "an order waits",
                Facts { orders: 1, ..all },
                Some(Stays::Orders(1)),
            ),
            (
                "recovering",
                Facts {
                    is_recovering: true,
                    ..all
                },
                Some(Stays::Recovering),
            ),
            (
                "archived before",
                Facts {
                    is_forgotten: true,
                    ..all
                },
                Some(Stays::Forgotten),
            ),
            (
                "a rehearsal that is named",
                Facts {
                    is_rehearsal: true,
                    ..all
                },
                None,
            ),
            (
                "several: what stops the journal first, then what moves money",
                Facts {
                    open: 1,
                    rejected: 1,
                    is_recovering: true,
                    ..all
                },
                Some(Stays::Recovering),
            ),
            (
                "several: what is open before what is rejected",
                Facts {
                    open: 1,
                    rejected: 1,
                    ..all
                },
                Some(Stays::Open(1)),
            ),
        ] {
            assert_eq!(judge(&facts, named, at(2_000)).err(), expected, "{case}");
        }
    }

    #[test]
    fn the_age_is_that_of_the_newest_evidence() {
        let young = Some(Stays::Young { newest: at(1_000) });
        for (case, is_named, older_than, is_rehearsal, now, expected) in [
            ("old enough", false, Some(400), false, 1_400, None),
            ("a day short", false, Some(400), false, 1_399, young),
            ("named, and too young", true, Some(400), false, 1_399, young),
            ("named, of any age", true, None, false, 1_000, None),
            ("no days at all", false, Some(0), false, 1_000, None),
            ("a clock set back", false, Some(0), false, 999, young),
            (
                "a rehearsal that nobody names",
                false,
                Some(0),
                true,
                2_000,
                Some(Stays::Rehearsal),
            ),
        ] {
            let wanted = Wanted {
                is_named,
                older_than: older_than.map(|days: u64| Duration::from_secs(days * 86_400)),
            };
            let facts = Facts {
                is_rehearsal,
                ..finished()
            };
            assert_eq!(judge(&facts, wanted, at(now)).err(), expected, "{case}");
        }
    }

    #[test]
    fn a_span_is_whole_days() {
        assert_eq!(days("400d"), Ok(Duration::from_secs(400 * 86_400)));
        assert_eq!(days("0d"), Ok(Duration::ZERO));
        for text in [
            "",
            "d",
            "400",
            "4 d",
            "-1d",
            "+1d",
            "1.5d",
            "36501d",
            "99999999999d",
            "1h",
            "1D",
        ] {
            days(text).unwrap_err();
        }
    }

    #[test]
    fn each_reason_says_what_to_do() {
        for stays in [
            Stays::Recovering,
            Stays::Forgotten,
            Stays::Open(1),
            Stays::Unpriced(1),
            Stays::Conflicts(2),
            Stays::Waiting(1),
            Stays::Inquiries(2),
            Stays::Rejected(1),
            Stays::Orders(2),
            Stays::Rehearsal,
            Stays::Young { newest: at(1) },
        ] {
            assert!(!stays.to_string().is_empty());
            let hint = stays.hint("june", "");
            assert!(
                hint.contains("disburse ") || matches!(stays, Stays::Young { .. }),
                "{hint}"
            );
        }
        assert_eq!(
            Stays::Open(2).to_string(),
            "2 payments have not reached their end"
        );
        assert_eq!(
            Stays::Open(2).hint("june", " --sandbox"),
            "disburse run june --sandbox"
        );
    }
}
