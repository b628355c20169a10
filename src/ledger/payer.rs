//! Which account of which gateway the payments of a batch were posted from, as far as that is known outside the journal.
//!
//! A journal that has missed something asks the gateway about whatever it may have posted. Another gateway, or another
//! account, says "not found" about all of it, and two such answers let a payment be posted again. So an answer proves
//! something only where it is known that the batch was posted from the account that asks.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// As many batches are remembered beside a journal by name: those that ran last.
pub const PAYERS_MAX: usize = 16;

/// As many more are remembered by a digest of the name, so that each is known when it is loaded again.
pub const PAST_MAX: usize = 64;

/// Returns the few letters that stand for the name of a batch.
fn digest_of(kept: &str) -> String {
    data_encoding::BASE32_NOPAD
        .encode(&Sha256::digest(kept.as_bytes())[..5])
        .to_ascii_lowercase()
}

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
    /// Digests of the names of batches that ran before these, the last one at the end.
    past: Vec<String>,
    /// How many ran before those; one that ran again may count twice.
    beyond: u64,
}

impl Payers {
    /// Nothing is kept.
    pub const NONE: Self = Self {
        last: Vec::new(),
        several: false,
        past: Vec::new(),
        beyond: 0,
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
        let digest = digest_of(&batch);
        self.past.retain(|known| *known != digest);
        self.last.push((batch, payer));
        let surplus = self.last.len().saturating_sub(PAYERS_MAX);
        let gone: Vec<String> = self
            .last
            .drain(..surplus)
            .map(|(batch, _)| digest_of(&batch))
            .collect();
        for digest in gone {
            self.pass(digest);
        }
    }

    /// Keeps of a batch that it ran, and no longer its name.
    fn pass(&mut self, digest: String) {
        if self
            .last
            .iter()
            .any(|(batch, _)| digest_of(batch) == digest)
        {
            return;
        }
        self.past.retain(|known| *known != digest);
        self.past.push(digest);
        let surplus = self.past.len().saturating_sub(PAST_MAX);
        self.past.drain(..surplus);
        self.beyond = self.beyond.saturating_add(surplus as u64);
    }

    /// Takes in what was learned later.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        for (batch, payer) in &later.last {
            self.insert(batch.clone(), payer.clone());
        }
        for digest in &later.past {
            self.pass(digest.clone());
        }
        self.several |= later.several;
        self.beyond = self.beyond.saturating_add(later.beyond);
        self
    }

    /// Returns the batches that ran here before those whose names are kept, as [`lost`] reads them.
    pub fn unnamed(&self) -> impl Iterator<Item = String> {
        let past = self.past.iter().map(|digest| format!("{PAST}{digest}"));
        past.chain((self.beyond > 0).then(|| format!("{BEYOND}{}", self.beyond)))
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
        if !self.past.is_empty() {
            text.push_str(&format!("payers past {}\n", self.past.join(" ")));
        }
        if self.beyond > 0 {
            text.push_str(&format!("payers beyond {}\n", self.beyond));
        }
        text
    }

    /// Reads one line, split at its first blank; `None`: it is none of ours.
    #[must_use]
    pub fn read(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "payers" => match value.split_once(' ') {
                Some(("past", digests)) => {
                    self.past = digests.split(' ').map(str::to_owned).collect();
                }
                Some(("beyond", count)) => self.beyond = count.parse().ok()?,
                _ => self.several |= value == "several",
            },
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

/// Before a digest of a name; no name that is kept begins with a blank.
const PAST: &str = " ";
/// Before a number of batches of which no more is known.
const BEYOND: &str = " +";

/// Batches that were posted in the place of a journal and that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Their names, as they are kept.
    pub names: Vec<String>,
    /// How many more there are, or may be, whose names are not kept.
    pub unnamed: u64,
}

impl Lost {
    /// Returns whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Names them.
    #[must_use]
    pub fn text(&self) -> String {
        let batches = |count: u64| match count {
            1 => "1 batch that is".to_owned(),
            count => format!("{count} batches that are"),
        };
        let names = match self.names.len() {
            1 => format!("batch {}", self.names[0]),
            _ => format!("the batches {}", self.names.join(", ")),
        };
        match (self.names.is_empty(), self.unnamed) {
            (_, 0) => names,
            (true, unnamed) => format!("{} not named", batches(unnamed)),
            (false, unnamed) => format!(
                "{names}, and {unnamed} more that {} not named",
                if unnamed == 1 { "is" } else { "are" }
            ),
        }
    }
}

/// Returns the batches that were posted in the place of a journal and that it does not have: what failed of others may have been
/// paid by them, so that nothing that failed is paid anew before they are loaded again. `told`: as they are kept.
#[must_use]
pub fn lost(recovering: bool, told: Vec<String>, known: &BTreeSet<String>) -> Lost {
    let mut lost = Lost::default();
    if !recovering {
        return lost;
    }
    let digests: BTreeSet<String> = known.iter().map(|batch| digest_of(batch)).collect();
    for batch in told {
        if let Some(count) = batch.strip_prefix(BEYOND) {
            // Not read: as if there were one, rather than none.
            lost.unnamed = lost.unnamed.saturating_add(count.parse().unwrap_or(1));
        } else if let Some(digest) = batch.strip_prefix(PAST) {
            lost.unnamed += u64::from(!digests.contains(digest));
        } else if !batch.is_empty() && !known.contains(&batch) {
            lost.names.push(batch);
        }
    }
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

/// Who told which account posted a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// The mark or the lock file beside the journal: they were written by whoever posted.
    Place,
    /// A person.
    Person,
}

/// What becomes of a person's word that a batch was posted from the account that is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is taken.
    Taken,
    /// It is taken for an earlier one, which was wrong: what was asked then was asked elsewhere, and is asked again.
    Corrects,
    /// It is refused: the place of the journal says otherwise. The gateway would say "not found" of all that was posted.
    Refused,
}

/// Judges a person's word that a batch was posted from the account that is configured; `told`: what is known of it without.
#[must_use]
pub fn judge_word(told: Option<(&Posted, Teller)>, configured: &Payer) -> Word {
    match told {
        None | Some((Posted::ByNobody, _)) => Word::Taken,
        Some((Posted::By(told), _)) if told == configured => Word::Taken,
        Some((Posted::By(_), Teller::Person)) => Word::Corrects,
        Some((Posted::By(_), Teller::Place)) => Word::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_word_counts_where_nobody_else_knows_who_posted() {
        let ours = Payer::of("https://a", "acme");
        let same = Posted::By(ours.clone());
        let user = Posted::By(Payer::of("https://a", "other"));
        let gateway = Posted::By(Payer::of("https://b", "acme"));
        let table = [
            (None, Word::Taken),
            (Some((&Posted::ByNobody, Teller::Place)), Word::Taken),
            (Some((&same, Teller::Place)), Word::Taken),
            (Some((&same, Teller::Person)), Word::Taken),
            (Some((&user, Teller::Person)), Word::Corrects),
            (Some((&gateway, Teller::Person)), Word::Corrects),
            (Some((&user, Teller::Place)), Word::Refused),
            (Some((&gateway, Teller::Place)), Word::Refused),
        ];
        for (told, expected) in table {
            assert_eq!(judge_word(told, &ours), expected, "{told:?}");
        }
    }

    #[test]
    fn a_batch_is_lost_that_was_posted_here_and_that_nobody_has_loaded_again() {
        let texts = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<String>>()
        };
        let past = |name: &str| format!("{PAST}{}", digest_of(name));
        let (old, older) = (past("old"), past("older"));
        type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], &'a [&'a str], u64);
        let table: [Case<'_>; 9] = [
            (true, &["", "b", "c"], &["b"], &["c"], 0),
            (true, &["", "b", "c"], &["b", "c", "d"], &[], 0),
            (true, &[], &["b"], &[], 0),
            // Its recovery is done: a person has said that every file was loaded again.
            (false, &["b", "c", &old, " +3"], &["b"], &[], 0),
            (true, &["", "b"], &["b"], &[], 0),
            // Those that ran before the last ones are counted, and known when they come back.
            (true, &[&old, &older, "b", "c"], &["b"], &["c"], 2),
            (true, &[&old, &older, "b"], &["b", "old"], &[], 1),
            (true, &[&old], &["old"], &[], 0),
            // Of what ran before those no more is known than how many there were.
            (true, &[" +3", &old], &["old", "x", "y"], &[], 3),
        ];
        for (recovering, told, known, expected, unnamed) in table {
            let known = texts(known).into_iter().collect();
            let found = lost(recovering, texts(told), &known);
            let expected = Lost {
                names: texts(expected),
                unnamed,
            };
            assert_eq!(found, expected, "{told:?} {known:?}");
        }
        let text = |names: &[&str], unnamed| {
            Lost {
                names: texts(names),
                unnamed,
            }
            .text()
        };
        assert_eq!(text(&["c"], 0), "batch c");
        assert_eq!(
            text(&["c", "d"], 1),
            "the batches c, d, and 1 more that is not named"
        );
        assert_eq!(text(&["c"], 2), "batch c, and 2 more that are not named");
        assert_eq!(text(&[], 1), "1 batch that is not named");
        assert_eq!(text(&[], 3), "3 batches that are not named");
    }

    #[test]
    fn batches_that_ran_long_ago_are_counted_and_no_longer_named() {
        let ours = Payer::of("g", "acme");
        let mut payers = Payers::default();
        let names = |range: std::ops::Range<usize>| range.map(|batch| format!("b{batch}"));
        let told = |payers: &Payers| {
            let named = payers.batches().map(|(batch, _)| batch.to_owned());
            named.chain(payers.unnamed()).collect::<Vec<String>>()
        };
        let most = PAYERS_MAX + PAST_MAX;
        for batch in names(0..most) {
            payers.take(&batch, &ours);
        }
        // One that runs again is named again, and counted once.
        payers.take("b0", &ours);
        let found = lost(true, told(&payers), &BTreeSet::new());
        assert_eq!(
            (found.names.len(), found.unnamed),
            (PAYERS_MAX, PAST_MAX as u64)
        );
        assert!(found.names.contains(&"b0".to_owned()));
        let back = names(0..most).collect();
        assert!(lost(true, told(&payers), &back).is_none(), "all came back");
        for batch in names(most..most + 5) {
            payers.take(&batch, &ours);
        }
        let mut read = Payers::default();
        for line in payers.to_lines().lines() {
            let (name, value) = line.split_once(' ').unwrap();
            read.read(name, value).unwrap();
        }
        assert_eq!(read, payers);
        let all = names(0..most + 5).collect();
        assert_eq!(
            lost(true, told(&read), &all).unnamed,
            5,
            "never silently fewer"
        );
        // What a process learned since comes to what was there.
        let mut first = Payers::default();
        first.take("x", &ours);
        let both = first.and(&payers);
        assert_eq!(lost(true, told(&both), &all).unnamed, 6);
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
