//! What the evidence of a batch says of rows beyond itself, added up from its first row to its last.
//!
//! A chain proves its own rows. Other rows (instructions, bills, uploads, loads, rows set aside) are proven as far as a row of evidence
//! covers them: by their digest, or by saying the same. A row that no evidence covers was added by somebody else; so they are counted.

use crate::domain::{BillId, LoadId, PaymentId};

/// A digest of rows.
pub type Digest = [u8; 32];

/// Where a row that was set aside stands: its load, its line, and which of that line it is.
pub type AsidePlace = [i64; 3];

/// What one row of evidence covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covers {
    /// The document of a payment, by its digest.
    Upload(PaymentId),
    /// A bill, by its digest.
    Bill {
        /// Which one.
        bill: BillId,
        /// The payment that waited for it.
        seq: PaymentId,
    },
    /// A load and the rows that it set aside, by their digest.
    Load {
        /// Which one.
        load: LoadId,
        /// How many rows it set aside.
        rejected: i64,
        /// Whether it says that the batch is a rehearsal; earlier releases did not say it.
        rehearsal: Option<bool>,
    },
    /// A block of instructions, by its digest.
    Block {
        /// Number of the first row.
        first: i64,
        /// Number of the last row.
        last: i64,
        /// How many there are of this batch between these.
        rows: i64,
    },
    /// The instruction of a retry, by its digest.
    Retry {
        /// Its identifier.
        id: String,
    },
    /// The address of the batch and its wire settings, by their digest.
    Gateway,
    /// The account that the batch belongs to.
    Account(Option<String>),
    /// The dialect by which replies are read.
    Reading(Option<String>),
    /// That a row which was set aside was mended.
    Mended {
        /// The row.
        place: AsidePlace,
        /// The identifier of the payment that mends it.
        id: String,
    },
    /// That a row which was set aside is not paid.
    Withdrawn(AsidePlace),
    /// Failed rows that a payment is held against, and whether a person's word alone says of each that it failed.
    Watched {
        /// The payment.
        seq: PaymentId,
        /// The failed rows.
        pairs: Vec<(PaymentId, bool)>,
    },
    /// Persons who were forgotten; the digest is that of what is left of them.
    Forgotten {
        /// Payments.
        payments: i64,
        /// Rows that were set aside.
        rejected: i64,
    },
    /// Rows of evidence that an earlier release wrote without a chain.
    Sealed(i64),
}

/// How many rows there are of a kind that evidence covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, with those of retries.
    pub instructions: i64,
    /// Documents of payments.
    pub uploads: i64,
    /// Bills.
    pub bills: i64,
    /// Loads.
    pub loads: i64,
    /// Rows that were set aside.
    pub rejected: i64,
    /// Those that were mended.
    pub mended: i64,
    /// Those that were withdrawn.
    pub withdrawn: i64,
    /// Pairs of a payment and a failed row that it is held against.
    pub watched: i64,
    /// Payments whose persons were forgotten.
    pub forgotten: i64,
    /// Rows set aside whose persons were forgotten.
    pub forgotten_aside: i64,
    /// The address that the batch is tied to.
    pub gateways: i64,
}

/// Rows of a kind in words, and how many there are.
type Kind = (&'static str, fn(&Counts) -> i64);

impl Counts {
    /// Compares what the evidence covers with what is there; returns every misfit in words.
    #[must_use]
    pub fn misfits(&self, there: &Self) -> Vec<String> {
        let kinds: [Kind; 11] = [
            ("instructions", |counts| counts.instructions),
            ("loads", |counts| counts.loads),
            ("rows set aside", |counts| counts.rejected),
            ("mended rows", |counts| counts.mended),
            ("withdrawn rows", |counts| counts.withdrawn),
            ("failed rows that payments are held against", |counts| {
                counts.watched
            }),
            ("payments whose persons were forgotten", |counts| {
                counts.forgotten
            }),
            ("rejected rows whose persons were forgotten", |counts| {
                counts.forgotten_aside
            }),
            ("uploads", |counts| counts.uploads),
            ("bills", |counts| counts.bills),
            ("gateways", |counts| counts.gateways),
        ];
        let differ = kinds.into_iter().filter(|(_, of)| of(self) != of(there));
        differ
            .map(|(what, of)| {
                let (on_chain, there) = (of(self), of(there));
                format!("{what}: {there} are there, the chain covers {on_chain}")
            })
            .collect()
    }
}

/// What all evidence of a batch covers, as far as it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// How many rows of each kind.
    pub counts: Counts,
    /// Of the address that the batch was tied or moved to last.
    pub gateway: Option<Digest>,
    /// The account that the batch was moved to last.
    pub account: Option<String>,
    /// The dialect that was accepted last.
    pub reading: Option<String>,
    /// Whether the batch was loaded as a rehearsal.
    pub rehearsal: Option<bool>,
    /// Of what was left of people when some were forgotten last.
    pub left: Option<Digest>,
    /// Rows of evidence that an earlier release wrote without a chain.
    pub sealed: i64,
}

impl Covered {
    /// Takes the next row of evidence in, which has this digest.
    pub fn add(&mut self, covers: &Covers, digest: Option<Digest>) {
        let counts = &mut self.counts;
        let sum = |count: &mut i64, by: i64| *count = count.saturating_add(by);
        match covers {
            Covers::Upload(_) => sum(&mut counts.uploads, 1),
            Covers::Bill { .. } => sum(&mut counts.bills, 1),
            Covers::Load {
                rejected,
                rehearsal,
                ..
            } => {
                sum(&mut counts.loads, 1);
                sum(&mut counts.rejected, *rejected);
                self.rehearsal = rehearsal.or(self.rehearsal);
            }
            Covers::Block { rows, .. } => sum(&mut counts.instructions, *rows),
            Covers::Retry { .. } => sum(&mut counts.instructions, 1),
            Covers::Gateway => (counts.gateways, self.gateway) = (1, digest),
            Covers::Account(account) => self.account.clone_from(account),
            Covers::Reading(reading) => self.reading.clone_from(reading),
            Covers::Mended { .. } => sum(&mut counts.mended, 1),
            Covers::Withdrawn(_) => sum(&mut counts.withdrawn, 1),
            Covers::Watched { pairs, .. } => {
                sum(
                    &mut counts.watched,
                    i64::try_from(pairs.len()).unwrap_or(i64::MAX),
                );
            }
            Covers::Forgotten { payments, rejected } => {
                sum(&mut counts.forgotten, *payments);
                sum(&mut counts.forgotten_aside, *rejected);
                self.left = digest;
            }
            Covers::Sealed(rows) => self.sealed = *rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: Option<Digest> = Some([7; 32]);

    fn added(rows: &[Covers]) -> Covered {
        let mut covered = Covered::default();
        rows.iter().for_each(|covers| covered.add(covers, DIGEST));
        covered
    }

    fn load(rejected: i64, rehearsal: Option<bool>) -> Covers {
        Covers::Load {
            load: LoadId::new(1),
            rejected,
            rehearsal,
        }
    }

    #[test]
    fn rows_of_every_kind_are_counted() {
        let seq = PaymentId::new(3);
        let bill = BillId::new(1);
        let place = [1, 7, 1];
        let block = |rows| Covers::Block {
            first: 1,
            last: 9,
            rows,
        };
        let id = String::new;
        let pairs = vec![(PaymentId::new(1), false), (PaymentId::new(2), true)];
        let one = |change: fn(&mut Counts)| {
            let mut counts = Counts::default();
            change(&mut counts);
            counts
        };
        #[rustfmt::skip]
        let table: [(Covers, Counts); 10] = [
            (Covers::Upload(seq), one(|c| c.uploads = 1)),
            (Covers::Bill { bill, seq }, one(|c| c.bills = 1)),
            (load(4, None), one(|c| (c.loads, c.rejected) = (1, 4))),
            (block(8), one(|c| c.instructions = 8)),
            (Covers::Retry { id: id() }, one(|c| c.instructions = 1)),
            (Covers::Gateway, one(|c| c.gateways = 1)),
            (Covers::Mended { place, id: id() }, one(|c| c.mended = 1)),
            (Covers::Withdrawn(place), one(|c| c.withdrawn = 1)),
            (Covers::Watched { seq, pairs }, one(|c| c.watched = 2)),
            (Covers::Forgotten { payments: 5, rejected: 2 }, one(|c| (c.forgotten, c.forgotten_aside) = (5, 2))),
        ];
        for (covers, counts) in table {
            assert_eq!(
                added(std::slice::from_ref(&covers)).counts,
                counts,
                "{covers:?}"
            );
        }
        assert_eq!(
            added(&[block(8), block(i64::MAX)]).counts.instructions,
            i64::MAX
        );
        assert_eq!(
            added(&[Covers::Gateway, Covers::Gateway]).counts.gateways,
            1
        );
    }

    #[test]
    fn the_last_word_counts() {
        let account = |name: &str| Covers::Account(Some(name.to_owned()));
        let reading = |name: &str| Covers::Reading(Some(name.to_owned()));
        let covered = added(&[account("a"), reading("x"), account("b"), reading("y")]);
        assert_eq!(covered.account.as_deref(), Some("b"));
        assert_eq!(covered.reading.as_deref(), Some("y"));
        let mut covered = added(&[Covers::Gateway]);
        covered.add(&Covers::Gateway, None);
        assert_eq!(
            covered.gateway, None,
            "it was moved, and nobody says to which"
        );
    }

    #[test]
    fn a_load_that_does_not_say_what_it_is_for_changes_nothing() {
        for (loads, rehearsal) in [
            (vec![load(0, None)], None),
            (vec![load(0, Some(true)), load(0, None)], Some(true)),
            (vec![load(0, Some(true)), load(0, Some(false))], Some(false)),
        ] {
            assert_eq!(added(&loads).rehearsal, rehearsal, "{loads:?}");
        }
    }

    #[test]
    fn a_row_that_was_added_or_removed_is_a_misfit() {
        let covered = added(&[load(2, None), Covers::Gateway]).counts;
        assert!(covered.misfits(&covered).is_empty());
        let mut there = covered;
        (there.rejected, there.bills) = (3, 1);
        assert_eq!(
            covered.misfits(&there),
            [
                "rows set aside: 3 are there, the chain covers 2",
                "bills: 1 are there, the chain covers 0",
            ]
        );
    }
}
