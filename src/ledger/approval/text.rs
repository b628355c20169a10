//! What is signed: a short text that a person can read, the same for everybody who makes it of the same journal.
//!
//! Nothing of it is believed. Whoever verifies a signature makes the text anew, from the journal, and compares.

use data_encoding::HEXLOWER;

use crate::domain::{BillId, LoadId, PaymentId, Timestamp, Totals};
use crate::ledger::Purpose;
use crate::ledger::calendar::BatchDates;
use crate::ledger::confirmation::Bound;
use crate::ledger::pin::dialect_of;

/// The first line: the format, and its version.
const FIRST: &str = "disburse approval 1";

/// A text is never longer.
pub const TEXT_MAX: usize = 64 * 1024;

/// What somebody signs to have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Loaded the batch.
    Loads,
    /// Approved it.
    Approves,
}

impl Role {
    /// Returns its name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loads => "loads",
            Self::Approves => "approves",
        }
    }
}

/// Where the payments go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The gateway's identity.
    pub gateway: String,
    /// The account there.
    pub account: String,
    /// Digest of how replies are read.
    pub reading: String,
}

impl Target {
    /// Returns it for a batch of this home. Every sandbox is the same: whoever signs a rehearsal knows none of them.
    #[must_use]
    pub fn of(gateway: &str, account: &str, reading: &str) -> Self {
        Self {
            gateway: match Purpose::of_gateway(gateway) {
                Purpose::Rehearsal => "sandbox".to_owned(),
                Purpose::Gateway | Purpose::Unknown => gateway.to_owned(),
            },
            account: account.to_owned(),
            // What codes mean is found out as time goes by; what is signed is what is posted.
            reading: dialect_of(reading).to_owned(),
        }
    }
}

/// What a batch comes to, up to a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// How far they reach.
    pub bound: Bound,
    /// Rows, a retried or corrected one once.
    pub count: u64,
    /// Their amounts.
    pub totals: Totals,
    /// Rows that have no amount yet.
    pub unpriced: u64,
    /// Over the digests of the instructions.
    pub instructions: [u8; 32],
    /// Over the digests of the documents; `None`: there are none.
    pub documents: Option<[u8; 32]>,
    /// Over the amounts that bills told; `None`: there are none.
    pub bills: Option<[u8; 32]>,
}

/// Whether somebody loads or approves, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The loads after one number, up to another.
    Loads {
        /// Numbers of loads.
        loads: (LoadId, LoadId),
    },
    /// What others loaded, to go there.
    Approves {
        /// Who loaded it.
        loaded_by: Vec<String>,
        /// Where it goes.
        target: Target,
    },
}

impl Act {
    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> Role {
        match self {
            Self::Loads { .. } => Role::Loads,
            Self::Approves { .. } => Role::Approves,
        }
    }
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Who signs.
    pub by: String,
    /// What they do.
    pub act: Act,
    /// The batch's name.
    pub batch: String,
    /// What it was loaded for.
    pub purpose: Purpose,
    /// Digest of the rules that were in force at its loads; `None`: none was.
    pub rule: Option<[u8; 32]>,
    /// What it comes to.
    pub figures: Figures,
    /// When it may be posted.
    pub dates: BatchDates,
    /// What the journal calls itself.
    pub journal: Vec<u8>,
    /// When it is signed.
    pub signed: Timestamp,
}

impl Statement {
    /// Writes the text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let figures = &self.figures;
        let mut lines = vec![
            ("role", self.act.role().name().to_owned()),
            ("by", self.by.clone()),
            ("batch", self.batch.clone()),
            ("purpose", purpose(self.purpose).to_owned()),
        ];
        match &self.act {
            Act::Loads {
                loads: (after, last),
            } => {
                lines.push(("loads", format!("after {after}, up to {last}")));
            }
            Act::Approves { loaded_by, target } => lines.extend([
                ("loaded by", loaded_by.join(" ")),
                ("gateway", target.gateway.clone()),
                ("account", target.account.clone()),
                ("dialect", target.reading.clone()),
            ]),
        }
        let bound = figures.bound;
        lines.extend([
            ("payments", figures.count.to_string()),
            ("total", figures.totals.to_string()),
            ("without an amount", figures.unpriced.to_string()),
            ("up to number", bound.instruction.to_string()),
            ("instructions", digest(Some(figures.instructions))),
            ("documents", digest(figures.documents)),
            ("bills up to", bound.bill.to_string()),
            ("bills", digest(figures.bills)),
            ("window", window(self.dates)),
            ("rule", digest(self.rule)),
            ("journal", HEXLOWER.encode(&self.journal)),
            ("signed", self.signed.to_string()),
        ]);
        written(FIRST, &lines)
    }
}

/// Writes names and values below the first line of a text.
pub(super) fn written(first: &str, lines: &[(&str, String)]) -> String {
    let mut text = format!("{first}\n");
    for (name, value) in lines {
        text.push_str(name);
        text.push_str(": ");
        // A line is one line, whatever somebody has called an account.
        for letter in value.chars() {
            match letter.is_control() {
                true => text.extend(letter.escape_default()),
                false => text.push(letter),
            }
        }
        text.push('\n');
    }
    text
}

/// Returns the value of a name that a text has once.
#[must_use]
pub fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Gateway => "to be paid",
        Purpose::Rehearsal => "a rehearsal",
        Purpose::Unknown => "not on record",
    }
}

fn window(dates: BatchDates) -> String {
    if dates == BatchDates::default() {
        return "none".to_owned();
    }
    let text = |at: Option<Timestamp>| at.map_or_else(|| "none".to_owned(), |at| at.to_string());
    format!(
        "from {}, until {}",
        text(dates.not_before),
        text(dates.not_after)
    )
}

/// Writes a digest; `None`: there is nothing of its kind.
#[must_use]
pub fn digest(digest: Option<[u8; 32]>) -> String {
    match digest {
        Some(digest) => format!("sha256:{}", HEXLOWER.encode(&digest)),
        None => "none".to_owned(),
    }
}

/// What of a text cannot be found in the journal: who signs what, up to where, when. The rest is made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// What they do.
    pub role: Role,
    /// Who.
    pub by: String,
    /// How far it reaches.
    pub bound: Bound,
    /// The loads, where it is one of those.
    pub loads: (LoadId, LoadId),
    /// Where it goes, where it is an approval.
    pub target: Option<Target>,
    /// When it was signed.
    pub signed: Timestamp,
}

impl Claimed {
    /// Reads them from a text; `None`: it is no such text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX || text.lines().next() != Some(FIRST) {
            return None;
        }
        let value = |name: &str| value_of(text, name);
        let number = |name: &str| value(name)?.parse::<i64>().ok().filter(|it| *it >= 0);
        let role = [Role::Loads, Role::Approves]
            .into_iter()
            .find(|role| value("role") == Some(role.name()))?;
        let (loads, target) = match role {
            Role::Loads => {
                let (after, last) = value("loads")?
                    .strip_prefix("after ")?
                    .split_once(", up to ")?;
                let load = |text: &str| text.parse().ok().map(LoadId::new);
                ((load(after)?, load(last)?), None)
            }
            Role::Approves => {
                let target = Target {
                    gateway: value("gateway")?.to_owned(),
                    account: value("account")?.to_owned(),
                    reading: value("dialect")?.to_owned(),
                };
                ((LoadId::NONE, LoadId::NONE), Some(target))
            }
        };
        Some(Self {
            role,
            by: value("by")?.to_owned(),
            bound: Bound {
                instruction: PaymentId::new(number("up to number")?),
                bill: BillId::new(number("bills up to")?),
            },
            loads,
            target,
            signed: Timestamp::parse(value("signed")?)?,
        })
    }
}

/// Returns the first line in which a text is not what the journal says: as it is, and as it should be.
#[must_use]
pub fn difference<'a>(text: &'a str, expected: &'a str) -> Option<(&'a str, &'a str)> {
    if text == expected {
        return None;
    }
    let mut expected = expected.split('\n');
    let mut text = text.split('\n');
    loop {
        match (text.next(), expected.next()) {
            (Some(is), Some(should_be)) if is == should_be => {}
            (is, should_be) => {
                return Some((is.unwrap_or_default(), should_be.unwrap_or_default()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn statement(act: Act) -> Statement {
        let mut totals = Totals::default();
        totals.add_minor(Currency::from_code("KES").unwrap(), 12_345);
        totals.add_minor(Currency::from_code("UGX").unwrap(), 5);
        Statement {
            by: "bob@example.org".to_owned(),
            act,
            batch: "salaries-11".to_owned(),
            purpose: Purpose::Gateway,
            rule: None,
            figures: Figures {
                bound: Bound {
                    instruction: PaymentId::new(12),
                    bill: BillId::new(3),
                },
                count: 10,
                totals,
                unpriced: 0,
                instructions: [1; 32],
                documents: None,
                bills: Some([2; 32]),
            },
            dates: BatchDates::default(),
            journal: vec![0xAB; 16],
            signed: Timestamp::parse("2026-11-25T14:02:03.004Z").unwrap(),
        }
    }

    fn approval() -> Statement {
        statement(Act::Approves {
            loaded_by: vec!["alice@example.org".to_owned()],
            target: Target {
                gateway: "https://gateway.example".to_owned(),
                account: "acme\nrole: loads".to_owned(),
                reading: "document".to_owned(),
            },
        })
    }

    #[test]
    fn the_window_of_a_batch_is_part_of_what_is_signed() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        for (not_before, not_after, expected) in [
            (None, None, "none"),
            (at(0), None, "from 1970-01-01T00:00:00.000Z, until none"),
            (None, at(1), "from none, until 1970-01-01T00:00:00.001Z"),
            (
                at(0),
                at(1),
                "from 1970-01-01T00:00:00.000Z, until 1970-01-01T00:00:00.001Z",
            ),
        ] {
            let dates = BatchDates {
                not_before,
                not_after,
            };
            let text = Statement {
                dates,
                ..approval()
            }
            .to_text();
            assert!(text.contains(&format!("\nwindow: {expected}\n")), "{text}");
        }
    }

    #[test]
    fn the_text_is_one_that_a_person_reads() {
        let (one, two) = ("01".repeat(32), "02".repeat(32));
        assert_eq!(
            approval().to_text(),
            format!(
                "disburse approval 1\nrole: approves\nby: bob@example.org\nbatch: salaries-11\npurpose: to be paid\n\
                 loaded by: alice@example.org\ngateway: https://gateway.example\naccount: acme\\nrole: loads\ndialect: document\n\
                 payments: 10\ntotal: KES 123.45, UGX 5\nwithout an amount: 0\nup to number: 12\ninstructions: sha256:{one}\n\
                 documents: none\nbills up to: 3\nbills: sha256:{two}\nwindow: none\nrule: none\n\
                 journal: abababababababababababababababab\nsigned: 2026-11-25T14:02:03.004Z\n"
            )
        );
    }

    #[test]
    fn what_a_text_claims_is_read_back_and_nothing_is_said_twice() {
        let approval = approval();
        let text = approval.to_text();
        let claimed = Claimed::read(&text).unwrap();
        assert_eq!(claimed.role, Role::Approves);
        assert_eq!(claimed.by, approval.by);
        assert_eq!(claimed.bound, approval.figures.bound);
        assert_eq!(claimed.signed, approval.signed);
        assert_eq!(claimed.target.unwrap().gateway, "https://gateway.example");
        let signed = (LoadId::new(1), LoadId::new(3));
        let loads = statement(Act::Loads { loads: signed }).to_text();
        let claimed = Claimed::read(&loads).unwrap();
        assert_eq!((claimed.role, claimed.loads), (Role::Loads, signed));
        assert_eq!(claimed.target, None);
        for broken in [
            String::new(),
            text.replace(FIRST, "disburse approval 2"),
            text.replace("role: approves", "role: sees"),
            text.replace("up to number: 12", "up to number: -1"),
            text.replace("up to number: 12", "up to number: twelve"),
            text.replace("signed: 2026", "signed: then"),
            format!("{text}by: eve\n"),
            format!("{text}{}", " ".repeat(TEXT_MAX)),
        ] {
            assert_eq!(Claimed::read(&broken), None, "{broken}");
        }
    }

    #[test]
    fn the_first_line_that_differs_is_told() {
        let text = approval().to_text();
        assert_eq!(difference(&text, &text), None);
        let other = text.replace("payments: 10", "payments: 11");
        assert_eq!(
            difference(&other, &text),
            Some(("payments: 11", "payments: 10"))
        );
        let longer = format!("{text}more");
        assert_eq!(difference(&longer, &text), Some(("more", "")));
        let windows = text.replace('\n', "\r\n");
        let (is, should_be) = difference(&windows, &text).unwrap();
        assert_eq!(is.trim_end(), should_be);
    }
}
