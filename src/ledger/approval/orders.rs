//! Orders of operators that more than one person signs for: who gives one, and so many others as approve a batch.
//!
//! Each of them gives the same order. What is signed is what the order would do to which payments; it counts once, and for a day.

use std::collections::BTreeSet;
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::judge::Hand;
use super::text::{TEXT_MAX, digest, value_of, written};
use crate::domain::{EvidenceId, Timestamp, Totals};

/// The first line: the format, and its version.
const FIRST: &str = "disburse order 1";

/// A signature for an order counts for so long.
pub const ORDER_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// So many orders that are signed together are written out; the digest is over all of them.
const LISTED: usize = 20;

/// A kind of order that can be put under the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderKind {
    /// A person's word about how payments ended.
    Resolve,
    /// Failures are paid anew.
    Retry,
    /// Payments, or rejected rows, are withdrawn.
    Cancel,
    /// Rows that repeat others are paid all the same. Whoever approves the batch signs for it, however little it comes to.
    AllowRepeats,
    /// A recovery ends, or is declared needless.
    Recover,
    /// A batch gets other dates.
    Schedule,
    /// A service that was stopped is opened again.
    ResumeLane,
}

impl OrderKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Resolve,
        Self::Retry,
        Self::Cancel,
        Self::AllowRepeats,
        Self::Recover,
        Self::Schedule,
        Self::ResumeLane,
    ];

    /// Returns its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::AllowRepeats => "allow-repeats",
            Self::Recover => "recover",
            Self::Schedule => "schedule",
            Self::ResumeLane => "resume-lane",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns of which kind an act is that is signed for when it is carried out, as the evidence names it.
    #[must_use]
    pub fn of_act(act: &str) -> Option<Self> {
        match act {
            "resolve" => Some(Self::Resolve),
            "retry" => Some(Self::Retry),
            "cancel" => Some(Self::Cancel),
            "schedule" => Some(Self::Schedule),
            "resume-lane" => Some(Self::ResumeLane),
            // `--presume-posted` only makes a run ask first.
            "recover --done" | "recover --orders-given-again" | "recover --nothing-ran-since" => {
                Some(Self::Recover)
            }
            _ => None,
        }
    }
}

/// What an order does: whoever gives the same order to the same journal gives all of it alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// The batch.
    pub batch: String,
    /// The act, as the evidence names it.
    pub act: String,
    /// What it is done to, or how; empty: the whole batch.
    pub about: String,
    /// Digest of the payments, and of as what they stand.
    pub content: String,
    /// Payments.
    pub payments: u64,
    /// What they come to.
    pub totals: Totals,
    /// The first of them, in words.
    pub listed: Vec<String>,
    /// Digest of the rules that the batch was loaded under.
    pub rule: Option<[u8; 32]>,
}

impl OrderLine {
    /// Returns it in a line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let about = match self.about.as_str() {
            "" => String::new(),
            about => format!(", {about}"),
        };
        let payments = match self.payments {
            0 => String::new(),
            1 => ", 1 payment".to_owned(),
            count => format!(", {count} payments"),
        };
        let totals = match self.totals.iter().next() {
            None => String::new(),
            Some(_) => format!(", {}", self.totals),
        };
        format!(
            "batch {}: {}{about}{payments}{totals}",
            self.batch, self.act
        )
    }
}

/// Orders that are carried out together, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// In the order in which they are carried out.
    pub lines: Vec<OrderLine>,
    /// The last recovery of the journal: what was signed before a copy was put back is another order.
    pub recovery: String,
}

impl Orders {
    /// Returns the digest of all of them.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut take = |part: &str| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        take(&self.recovery);
        for line in &self.lines {
            let (rule, totals) = (digest(line.rule), line.totals.to_string());
            let payments = line.payments.to_string();
            let parts: [&str; 7] = [
                &line.batch,
                &line.act,
                &line.about,
                &line.content,
                &payments,
                &totals,
                &rule,
            ];
            let parts = planted!(ledger::parts_of_order(parts));
            parts.into_iter().for_each(&mut take);
        }
        hash.finalize().into()
    }

    /// Writes the text that somebody signs who gives them.
    #[must_use]
    pub fn to_text(&self, by: &str, journal: &[u8], signed: Timestamp) -> String {
        let mut lines = vec![("by", by.to_owned())];
        for line in self.lines.iter().take(LISTED) {
            lines.push(("order", line.sentence()));
            lines.extend(line.listed.iter().map(|text| ("payment", text.clone())));
        }
        lines.extend([
            ("orders", self.lines.len().to_string()),
            ("digest", digest(Some(self.digest()))),
            ("journal", HEXLOWER.encode(journal)),
            ("signed", signed.to_string()),
        ]);
        written(FIRST, &lines)
    }
}

/// What of a text cannot be made anew: who signed for which orders, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedOrder {
    /// Who.
    pub by: String,
    /// Digest of the orders, as it is written.
    pub digest: String,
    /// When it was signed.
    pub signed: Timestamp,
}

impl ClaimedOrder {
    /// Reads them from a text; `None`: it is no such text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX || text.lines().next() != Some(FIRST) {
            return None;
        }
        Some(Self {
            by: value_of(text, "by")?.to_owned(),
            digest: value_of(text, "digest")?.to_owned(),
            signed: Timestamp::parse(value_of(text, "signed")?)?,
        })
    }
}

/// A signature for an order, which is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderSigned {
    /// Whose it is.
    pub hand: Hand,
    /// When it was made.
    pub signed: Timestamp,
    /// Number of its evidence.
    pub evidence: EvidenceId,
}

/// Returns who has signed for an order by now, one name for each person: not what counted when the order was carried out before,
/// at number `carried_out` of the evidence, and nothing that is older than a day.
#[must_use]
pub fn people(signatures: &[OrderSigned], carried_out: EvidenceId, now: Timestamp) -> Vec<String> {
    let counting = signatures.iter().filter(|one| {
        one.evidence > carried_out && one.signed <= now && one.signed.after(ORDER_LASTS) >= now
    });
    let mut people: Vec<Vec<&Hand>> = Vec::new();
    for one in counting {
        // Whoever shares a name or a key with somebody may be the same person, and everybody who shares one with them.
        let (same, mut others): (Vec<_>, Vec<_>) = people
            .into_iter()
            .partition(|hands| hands.iter().any(|hand| !hand.differs(&one.hand)));
        let mut hands: Vec<&Hand> = same.into_iter().flatten().collect();
        hands.push(&one.hand);
        others.push(hands);
        people = others;
    }
    let names: BTreeSet<String> = people
        .iter()
        .filter_map(|hands| hands.first())
        .map(|hand| hand.by.clone())
        .collect();
    names.into_iter().collect()
}

/// Returns how many people sign for an order where so many approve a batch.
#[must_use]
pub fn needed(required: u8) -> usize {
    planted!(ledger::signers_needed(usize::from(required) + 1))
}

#[cfg(test)]
mod tests {
    use super::super::ssh::PublicKey;
    use super::super::ssh::made_up::public;
    use super::*;
    use crate::domain::Currency;
    use crate::seeded_bugs::SeededBug;

    fn line() -> OrderLine {
        OrderLine {
            batch: "nov".to_owned(),
            act: "retry".to_owned(),
            about: "code 110".to_owned(),
            content: "abc-2".to_owned(),
            payments: 2,
            totals: totals(1_000),
            listed: vec!["R-1, KES 10.00, A1".to_owned()],
            rule: Some([7; 32]),
        }
    }

    fn totals(minor: i128) -> Totals {
        let mut totals = Totals::default();
        totals.add_minor(Currency::from_code("KES").unwrap(), minor);
        totals
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + hour * 3_600_000)
    }

    fn signed(by: &str, key: u8, hour: i64, evidence: i64) -> OrderSigned {
        OrderSigned {
            hand: Hand {
                by: by.to_owned(),
                key: PublicKey::of_line(&public(key)).unwrap(),
            },
            signed: at(hour),
            evidence: EvidenceId::new(evidence),
        }
    }

    #[test]
    fn each_person_counts_once_for_a_day_and_until_the_order_is_carried_out() {
        for (case, signatures, carried_out, expected) in [
            ("nobody", &[][..], 0, &[][..]),
            ("one", &[signed("ada", 1, 0, 5)], 0, &["ada"]),
            (
                "two",
                &[signed("ada", 1, 0, 5), signed("ben", 2, 1, 6)],
                0,
                &["ada", "ben"],
            ),
            (
                "one twice",
                &[signed("ada", 1, 0, 5), signed("ada", 1, 1, 6)],
                0,
                &["ada"],
            ),
            (
                "one with two keys",
                &[signed("ada", 1, 0, 5), signed("ada", 2, 1, 6)],
                0,
                &["ada"],
            ),
            (
                "one with a capital",
                &[signed("ada", 1, 0, 5), signed("Ada", 2, 1, 6)],
                0,
                &["ada"],
            ),
            (
                "one key under two names",
                &[signed("ada", 1, 0, 5), signed("ben", 1, 1, 6)],
                0,
                &["ada"],
            ),
            (
                "whoever links two names is both",
                &[
                    signed("ada", 1, 0, 5),
                    signed("ben", 2, 0, 6),
                    signed("ben", 1, 0, 7),
                ],
                0,
                &["ada"],
            ),
            (
                "what counted when it was carried out",
                &[signed("ada", 1, 0, 5), signed("ben", 2, 1, 6)],
                7,
                &[],
            ),
            (
                "what came after that",
                &[signed("ada", 1, 0, 5), signed("ben", 2, 1, 8)],
                7,
                &["ben"],
            ),
            (
                "a day later",
                &[signed("ada", 1, -23, 5), signed("ben", 2, -22, 6)],
                0,
                &["ada", "ben"],
            ),
            (
                "more than a day later",
                &[signed("ada", 1, -24, 5), signed("ben", 2, -22, 6)],
                0,
                &["ben"],
            ),
            ("a time to come", &[signed("ada", 1, 2, 5)], 0, &[]),
        ] {
            assert_eq!(
                people(signatures, EvidenceId::new(carried_out), at(1)),
                expected,
                "{case}"
            );
        }
    }

    #[test]
    fn whatever_an_order_does_is_in_its_digest() {
        let orders = |lines: Vec<OrderLine>, recovery: &str| Orders {
            lines,
            recovery: recovery.to_owned(),
        };
        let one = |line: OrderLine| orders(vec![line], "none").digest();
        let same = one(line());
        assert_eq!(same, one(line()));
        for other in [
            OrderLine {
                batch: "oct".to_owned(),
                ..line()
            },
            OrderLine {
                act: "cancel".to_owned(),
                ..line()
            },
            OrderLine {
                about: "code 11".to_owned(),
                ..line()
            },
            OrderLine {
                about: "code 110a".to_owned(),
                content: "bc-2".to_owned(),
                ..line()
            },
            OrderLine {
                content: "abd-2".to_owned(),
                ..line()
            },
            OrderLine {
                payments: 3,
                ..line()
            },
            OrderLine {
                totals: totals(1_001),
                ..line()
            },
            OrderLine {
                rule: None,
                ..line()
            },
        ] {
            assert_ne!(same, one(other.clone()), "{other:?}");
        }
        assert_ne!(same, orders(vec![line(), line()], "none").digest());
        let _awake = SeededBug::OrderUnbound.wake();
        let other = OrderLine {
            about: "code 11".to_owned(),
            ..line()
        };
        assert_eq!(one(line()), one(other), "the table finds it");
        assert_ne!(same, orders(vec![line()], "2 of 28 November").digest());
    }

    #[test]
    fn the_text_is_one_that_a_person_reads_and_its_claims_are_read_back() {
        let orders = Orders {
            lines: vec![line(); LISTED + 2],
            recovery: String::new(),
        };
        let text = orders.to_text("ada@example.org\norder: x", &[0xAB; 2], at(0));
        let shown = "order: batch nov: retry, code 110, 2 payments, KES 10.00\npayment: R-1, KES 10.00, A1\n";
        assert_eq!(text.matches(shown).count(), LISTED, "{text}");
        assert!(text.starts_with("disburse order 1\nby: ada@example.org\\norder: x\norder: batch"));
        assert!(text.contains("\norders: 22\ndigest: sha256:"), "{text}");
        assert!(
            text.ends_with("\njournal: abab\nsigned: 2027-01-15T08:00:00.000Z\n"),
            "{text}"
        );
        let claimed = ClaimedOrder::read(&text).unwrap();
        assert_eq!(claimed.digest, digest(Some(orders.digest())));
        assert_eq!(claimed.signed, at(0));
        for broken in [
            String::new(),
            text.replace(FIRST, "disburse order 2"),
            text.replace("signed: 2027", "signed: then"),
            format!("{text}by: eve\n"),
            format!("{text}{}", " ".repeat(TEXT_MAX)),
        ] {
            assert_eq!(ClaimedOrder::read(&broken), None, "{broken}");
        }
    }

    #[test]
    fn an_act_is_signed_for_when_it_decides_about_money() {
        for (act, kind) in [
            ("resolve", Some(OrderKind::Resolve)),
            ("retry", Some(OrderKind::Retry)),
            ("cancel", Some(OrderKind::Cancel)),
            ("recover --done", Some(OrderKind::Recover)),
            ("recover --nothing-ran-since", Some(OrderKind::Recover)),
            ("recover --orders-given-again", Some(OrderKind::Recover)),
            ("schedule", Some(OrderKind::Schedule)),
            ("resume-lane", Some(OrderKind::ResumeLane)),
            ("recover --presume-posted", None),
            // The gateway's own word.
            ("resolve --failed, which the gateway says itself", None),
            ("load", None),
            ("run", None),
        ] {
            assert_eq!(OrderKind::of_act(act), kind, "{act}");
        }
        for kind in OrderKind::ALL {
            assert_eq!(OrderKind::of_name(kind.name()), Some(kind));
        }
        assert_eq!(needed(1), 2);
        assert_eq!(needed(2), 3);
    }
}
