//! Which account of which gateway the payments of a batch were posted from, as far as that is known outside the journal.
//!
//! A journal that has missed something asks the gateway about whatever it may have posted. Another gateway, or another
//! account, says "not found" about all of it, and two such answers let a payment be posted again. So an answer proves
//! something only where it is known that the batch was posted from the account that asks.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;

mod identifiers;
mod lost;
mod short;

pub use identifiers::{AsLoaded, Identifiers};
pub use lost::{Back, CameBack, Here, Lost, Unlike, back, came_back, lost, unnamed_of_both};
pub use short::key;

use short::{digest_of, halves, short};

/// As many batches are remembered beside a journal by name: those that ran last.
pub const PAYERS_MAX: usize = 16;

/// As many more are remembered by a digest of the name, so that each is known when it is loaded again.
pub const PAST_MAX: usize = 64;

/// As many names are remembered that the journal had before.
const WAS_MAX: usize = 4;

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

/// What stands on each line and behind each digest where there is room for it.
struct Extras<'a> {
    last: Vec<String>,
    past: Vec<&'a str>,
    was: String,
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
    /// How each of these was loaded, where that is known.
    loaded: BTreeMap<String, AsLoaded>,
    /// More than one payer was ever seen here.
    several: bool,
    /// Digests of the names of batches that ran before these, and of their identifiers, the last one at the end.
    past: Vec<String>,
    /// How many ran before those; one that ran again may count twice.
    beyond: u64,
    /// The names that the journal had before it was noticed that it may have missed something, the last one at the end: a copy from
    /// before that has the same past.
    was: Vec<[u8; 16]>,
}

impl Payers {
    /// Nothing is kept.
    pub const NONE: Self = Self {
        last: Vec::new(),
        loaded: BTreeMap::new(),
        several: false,
        past: Vec::new(),
        beyond: 0,
        was: Vec::new(),
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
        self.take_as(batch, payer, None);
    }

    /// The same, and how the batch was loaded; where that is not known, what was known of it before stays.
    pub fn take_as(&mut self, batch: &str, payer: &Payer, loaded: Option<AsLoaded>) {
        self.insert(short(batch), payer.clone(), loaded);
    }

    fn insert(&mut self, batch: String, payer: Payer, loaded: Option<AsLoaded>) {
        self.several |= self.last.iter().any(|(_, known)| *known != payer);
        self.last.retain(|(known, _)| *known != batch);
        let digest = digest_of(&batch);
        self.past.retain(|known| halves(known).0 != digest);
        if let Some(loaded) = loaded {
            self.loaded.insert(batch.clone(), loaded);
        }
        self.last.push((batch, payer));
        let surplus = self.last.len().saturating_sub(PAYERS_MAX);
        let gone: Vec<(String, Payer)> = self.last.drain(..surplus).collect();
        for (batch, _) in gone {
            let loaded = self.loaded.remove(&batch);
            let rows = loaded.map_or_else(String::new, |loaded| loaded.identifiers.digest());
            self.pass(digest_of(&batch) + &rows);
        }
    }

    /// Keeps of a batch that it ran, and no longer its name.
    fn pass(&mut self, entry: String) {
        let (digest, _) = halves(&entry);
        if self
            .last
            .iter()
            .any(|(batch, _)| digest_of(batch) == digest)
        {
            return;
        }
        self.past.retain(|known| halves(known).0 != digest);
        self.past.push(entry);
        let surplus = self.past.len().saturating_sub(PAST_MAX);
        self.past.drain(..surplus);
        self.beyond = self.beyond.saturating_add(surplus as u64);
    }

    /// Takes in what was learned later.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        for (batch, payer) in &later.last {
            let loaded = later.loaded.get(batch).cloned();
            self.insert(batch.clone(), payer.clone(), loaded);
        }
        for entry in &later.past {
            self.pass(entry.clone());
        }
        self.several |= later.several;
        self.beyond = self.beyond.saturating_add(later.beyond);
        later.was.iter().for_each(|name| self.was_called(*name));
        self
    }

    /// Keeps a name that the journal had.
    pub fn was_called(&mut self, journal: [u8; 16]) {
        self.was.retain(|known| *known != journal);
        self.was.push(journal);
        let surplus = self.was.len().saturating_sub(WAS_MAX);
        self.was.drain(..surplus);
    }

    /// Returns whether this tells of a journal that has such a name.
    #[must_use]
    pub fn tell_of(&self, journal: [u8; 16]) -> bool {
        self.was.contains(&journal)
    }

    /// Returns how each batch was loaded whose name is kept, where that is known.
    #[must_use]
    pub fn loaded(&self) -> &BTreeMap<String, AsLoaded> {
        &self.loaded
    }

    /// Returns the batches that ran here before those whose names are kept, as [`lost`] reads them.
    pub fn unnamed(&self) -> impl Iterator<Item = String> {
        let past = self
            .past
            .iter()
            .map(|digest| format!("{}{digest}", lost::PAST));
        past.chain((self.beyond > 0).then(|| format!("{}{}", lost::BEYOND, self.beyond)))
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
        self.last.is_empty() && self.past.is_empty() && self.beyond == 0 && !self.several
    }

    /// Returns whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Writes it, a line each, in so many bytes: how batches were loaded is left out where it does not fit, of the oldest first.
    #[must_use]
    pub fn to_lines(&self, room: usize) -> String {
        let nothing = Extras {
            last: vec![String::new(); self.last.len()],
            past: vec![""; self.past.len()],
            was: String::new(),
        };
        let mut room = room.saturating_sub(self.written(&nothing).len());
        let mut fits = |text: &str| match room.checked_sub(text.len()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        let mut extras = nothing;
        let was = self
            .was
            .iter()
            .map(|name| format!(" {}", HEXLOWER.encode(name)));
        let was = format!("payers was{}\n", was.collect::<String>());
        if !self.was.is_empty() && fits(&was) {
            extras.was = was;
        }
        for ((batch, _), extra) in self.last.iter().zip(&mut extras.last).rev() {
            let loaded = self.loaded.get(batch);
            let text = loaded.map(|loaded| format!(" {}", loaded.identifiers.to_words()));
            *extra = text.filter(|text| fits(text)).unwrap_or_default();
        }
        for (entry, extra) in self.past.iter().zip(&mut extras.past).rev() {
            let (_, rows) = halves(entry);
            *extra = if fits(rows) { rows } else { "" };
        }
        for ((batch, _), extra) in self.last.iter().zip(&mut extras.last).rev() {
            let loaded = self.loaded.get(batch).filter(|_| !extra.is_empty());
            let originator = loaded.and_then(|loaded| loaded.originator.as_deref());
            let text = originator.map(|name| format!(" {}", identifiers::one_word(name)));
            extra.push_str(&text.filter(|text| fits(text)).unwrap_or_default());
        }
        self.written(&extras)
    }

    fn written(&self, extras: &Extras<'_>) -> String {
        let mut text = String::new();
        for ((batch, Payer { gateway, account }), extra) in self.last.iter().zip(&extras.last) {
            text.push_str(&format!("payer {batch} {gateway} {account}{extra}\n"));
        }
        if self.several {
            text.push_str("payers several\n");
        }
        if !self.past.is_empty() {
            let past = self.past.iter().zip(&extras.past);
            let past = past.map(|(entry, rows)| format!(" {}{rows}", halves(entry).0));
            text.push_str(&format!("payers past{}\n", past.collect::<String>()));
        }
        if self.beyond > 0 {
            text.push_str(&format!("payers beyond {}\n", self.beyond));
        }
        text + &extras.was
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
                Some(("was", names)) => {
                    for name in names.split(' ') {
                        let name = HEXLOWER.decode(name.as_bytes()).ok()?;
                        self.was_called(name.try_into().ok()?);
                    }
                }
                _ => self.several |= value == "several",
            },
            "payer" => {
                let mut words = value.split(' ');
                let mut next = || words.next().map(str::to_owned);
                let (batch, gateway, account) = (next()?, next()?, next()?);
                if let Some(loaded) = AsLoaded::read(words) {
                    self.loaded.insert(batch.clone(), loaded);
                }
                self.last.push((batch, Payer { gateway, account }));
            }
            _ => return None,
        }
        Some(())
    }
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
    let asking = match told {
        _ if !presumed || bound => Asking::Proves,
        Some(Posted::ByNobody) => Asking::Proves,
        Some(Posted::By(told)) if told == configured => Asking::Proves,
        Some(Posted::By(_)) => Asking::Elsewhere,
        None => Asking::Unknown,
    };
    planted!(ledger::asking(asking))
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
mod tests;
