//! Which account of which gateway the payments of a batch were posted from, as far as that is known outside the journal.
//!
//! A journal that has missed something asks the gateway about whatever it may have posted. Another gateway, or another
//! account, says "not found" about all of it, and two such answers let a payment be posted again. So an answer proves
//! something only where it is known that the batch was posted from the account that asks.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// As many batches are remembered beside a journal: those that ran last.
pub const PAYERS_MAX: usize = 16;

/// The longest text that is kept as it is.
const TEXT_MAX: usize = 80;

/// A text on one line of a mark, without blanks: one that is longer or odd is cut, and told apart by its digest.
fn short(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && (1..=TEXT_MAX).contains(&text.len()) && !text.starts_with('~') {
        return text.to_owned();
    }
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..8]);
    let seen: String = text
        .chars()
        .take(40)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect();
    format!("~{seen}~{digest}")
}

/// An account of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payer {
    gateway: String,
    account: String,
}

impl Payer {
    /// Names an account of a gateway.
    #[must_use]
    pub fn of(gateway: &str, account: &str) -> Self {
        Self {
            gateway: short(gateway),
            account: short(account),
        }
    }

    /// Names it by the texts that it was kept as.
    #[must_use]
    pub fn kept(gateway: String, account: String) -> Self {
        Self { gateway, account }
    }

    /// The gateway.
    #[must_use]
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// The account: its user name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }
}

/// Who posted a batch before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// This account.
    By(Payer),
    /// Nothing was ever posted in this place.
    ByNobody,
}

/// What is kept beside a journal of who posted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payers {
    /// Batch and payer, the one that ran last at the end.
    last: Vec<(String, Payer)>,
    /// More than one payer was ever seen here.
    several: bool,
}

impl Payers {
    /// Nothing is kept.
    pub const NONE: Self = Self {
        last: Vec::new(),
        several: false,
    };

    /// Nobody knows who posted before.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            several: true,
            ..Self::NONE
        }
    }

    /// Takes in that a batch runs from an account.
    pub fn take(&mut self, batch: &str, payer: &Payer) {
        self.insert(short(batch), payer.clone());
    }

    fn insert(&mut self, batch: String, payer: Payer) {
        self.several |= self.last.iter().any(|(_, known)| *known != payer);
        self.last.retain(|(known, _)| *known != batch);
        self.last.push((batch, payer));
        let surplus = self.last.len().saturating_sub(PAYERS_MAX);
        self.last.drain(..surplus);
    }

    /// Takes in what was learned later.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        for (batch, payer) in &later.last {
            self.insert(batch.clone(), payer.clone());
        }
        self.several |= later.several;
        self
    }

    /// Returns who posted each batch, where that is kept.
    pub fn batches(&self) -> impl Iterator<Item = (&str, &Payer)> {
        self.last
            .iter()
            .map(|(batch, payer)| (batch.as_str(), payer))
    }

    /// Returns the only payer that was ever seen here.
    #[must_use]
    pub fn only(&self) -> Option<&Payer> {
        let (_, payer) = self.last.last()?;
        (!self.several).then_some(payer)
    }

    /// Returns whether nobody has ever posted here.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Writes it, a line each.
    #[must_use]
    pub fn to_lines(&self) -> String {
        let mut text = String::new();
        for (batch, Payer { gateway, account }) in &self.last {
            text.push_str(&format!("payer {batch} {gateway} {account}\n"));
        }
        if self.several {
            text.push_str("payers several\n");
        }
        text
    }

    /// Reads one line, split at its first blank; `None`: it is none of ours.
    #[must_use]
    pub fn read(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "payers" => self.several |= value == "several",
            "payer" => {
                let mut words = value.split(' ').map(str::to_owned);
                let (batch, gateway, account) = (words.next()?, words.next()?, words.next()?);
                self.last.push((batch, Payer { gateway, account }));
            }
            _ => return None,
        }
        Some(())
    }
}

/// Returns the batches that were posted in the place of a journal and that it does not have: what failed of others may have been
/// paid by them, so that nothing that failed is paid anew before they are loaded again. `told`: as they are kept.
#[must_use]
pub fn lost(recovering: bool, told: Vec<String>, known: &BTreeSet<String>) -> Vec<String> {
    let mut lost = told;
    lost.retain(|batch| recovering && !batch.is_empty() && !known.contains(batch));
    lost
}

/// Returns what the name of a batch is kept as.
#[must_use]
pub fn key(batch: &str) -> String {
    short(batch)
}

/// What the answers are worth that the configured account would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// They prove something.
    Proves,
    /// Nobody knows whether the batch was posted from there.
    Unknown,
    /// It is on record that it was posted from elsewhere.
    Elsewhere,
}

/// Judges whether the gateway may be asked about a batch, and its answers believed.
///
/// `presumed`: an earlier journal may have posted something of it. `bound`: something of it is known to be at the account on
/// record, which is compared elsewhere ([`super::pin`]). `told`: who posted it, as the place of the journal or a person told.
#[must_use]
pub fn judge(presumed: bool, bound: bool, told: Option<&Posted>, configured: &Payer) -> Asking {
    #[cfg(test)]
    let presumed = presumed && !crate::canary::Canary::PayerUnasked.sings();
    match told {
        _ if !presumed || bound => Asking::Proves,
        Some(Posted::ByNobody) => Asking::Proves,
        Some(Posted::By(told)) if told == configured => Asking::Proves,
        Some(Posted::By(_)) => Asking::Elsewhere,
        None => Asking::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_lost_that_was_posted_here_and_that_nobody_has_loaded_again() {
        let texts = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<String>>()
        };
        type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let table: [Case<'_>; 5] = [
            (true, &["", "b", "c"], &["b"], &["c"]),
            (true, &["", "b", "c"], &["b", "c", "d"], &[]),
            (true, &[], &["b"], &[]),
            // Its recovery is done: a person has said that every file was loaded again.
            (false, &["b", "c"], &["b"], &[]),
            (true, &["", "b"], &["b"], &[]),
        ];
        for (recovering, told, known, expected) in table {
            let known = texts(known).into_iter().collect();
            let found = lost(recovering, texts(told), &known);
            assert_eq!(found, expected, "{told:?} {known:?}");
        }
    }

    #[test]
    fn an_answer_proves_something_where_it_is_known_who_posted() {
        let ours = Payer::of("https://a", "acme");
        let same = Posted::By(ours.clone());
        let user = Posted::By(Payer::of("https://a", "other"));
        let gateway = Posted::By(Payer::of("https://b", "acme"));
        for (presumed, bound, told, expected) in [
            (false, false, None, Asking::Proves),
            // What was loaded here, and nobody else can have posted, may go anywhere.
            (false, false, Some(&user), Asking::Proves),
            (true, false, None, Asking::Unknown),
            (true, false, Some(&same), Asking::Proves),
            (true, false, Some(&Posted::ByNobody), Asking::Proves),
            (true, false, Some(&user), Asking::Elsewhere),
            (true, false, Some(&gateway), Asking::Elsewhere),
            // The account on record has shown to have a payment of the batch.
            (true, true, None, Asking::Proves),
            (true, true, Some(&user), Asking::Proves),
        ] {
            let found = judge(presumed, bound, told, &ours);
            assert_eq!(found, expected, "{presumed} {bound} {told:?}");
        }
        let _awake = crate::canary::Canary::PayerUnasked.wake();
        assert_eq!(judge(true, false, None, &ours), Asking::Proves);
    }

    #[test]
    fn the_payer_of_each_batch_is_kept_and_whether_there_was_ever_another() {
        let (ours, other) = (Payer::of("g", "acme"), Payer::of("g", "other"));
        let mut payers = Payers::default();
        assert_eq!(payers.only(), None);
        for batch in 0..40 {
            payers.take(&format!("b{batch}"), &ours);
        }
        assert_eq!(payers.only(), Some(&ours));
        let kept: Vec<_> = payers
            .batches()
            .map(|(batch, _)| batch.to_owned())
            .collect();
        assert_eq!(kept.len(), PAYERS_MAX);
        assert_eq!((kept[0].as_str(), kept[15].as_str()), ("b24", "b39"));
        payers.take("b30", &other);
        assert_eq!(payers.batches().last(), Some(("b30", &other)));
        assert_eq!(payers.only(), None);
        // The other one is forgotten, and that there was one is not.
        for batch in 0..40 {
            payers.take(&format!("c{batch}"), &ours);
        }
        assert_eq!(payers.only(), None);
        let mut later = Payers::default();
        later.take("c1", &other);
        let both = payers.clone().and(&later);
        assert_eq!(both.batches().last(), Some(("c1", &other)));
        let mut one = Payers::default();
        one.take("b", &ours);
        assert_eq!(one.and(&later).only(), None);
    }

    #[test]
    fn whatever_it_is_called_it_is_read_back_from_a_line() {
        let long = "x".repeat(500);
        let odd = ["acme", "", "a b", "a\nb", "~a", "é", &long, "a~b"];
        let mut payers = Payers::default();
        for name in odd {
            payers.take(name, &Payer::of(name, name));
        }
        let mut read = Payers::default();
        for line in payers.to_lines().lines() {
            assert!(line.len() < 270, "{line}");
            let (name, value) = line.split_once(' ').unwrap();
            read.read(name, value).unwrap();
        }
        assert_eq!(read, payers);
        assert_eq!(read.read("orders", "3"), None);
        assert_ne!(Payer::of("g", "a b"), Payer::of("g", "a?b"));
    }
}
