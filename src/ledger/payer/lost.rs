//! Which batches are missing that were posted in the place of a journal, and which came back as others than they were.

use std::collections::{BTreeMap, BTreeSet};

use super::identifiers::{AsLoaded, Identifiers};
use super::short::{digest_of, halves, key};

/// Before a digest of a name; no name that is kept begins with a blank.
pub(super) const PAST: &str = " ";
/// Before a number of batches of which no more is known.
pub(super) const BEYOND: &str = " +";

/// Returns the batches whose names are not kept that one of two places tells of; of the number of which no more is known, the larger one.
/// `names`: those that are named, which are none of them.
#[must_use]
pub fn unnamed_of_both<'n>(
    one: &[String],
    other: &[String],
    names: impl Iterator<Item = &'n str>,
) -> Vec<String> {
    let named: BTreeSet<String> = names.map(digest_of).collect();
    let (mut past, mut beyond) = (BTreeMap::new(), 0_u64);
    for entry in one.iter().chain(other) {
        match entry.strip_prefix(BEYOND) {
            Some(count) => beyond = beyond.max(count.parse().unwrap_or(0)),
            None => {
                let (digest, rows) = halves(entry.strip_prefix(PAST).unwrap_or(entry));
                let known: &mut &str = past.entry(digest).or_default();
                *known = if rows.is_empty() { *known } else { rows };
            }
        }
    }
    past.retain(|digest, _| !named.contains(*digest));
    let past = past.into_iter();
    past.map(|(digest, rows)| format!("{PAST}{digest}{rows}"))
        .chain((beyond > 0).then(|| format!("{BEYOND}{beyond}")))
        .collect()
}

/// A batch that a journal has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Who pays.
    pub originator: String,
    /// What each of its loads brought, the first one at the beginning; `None`: a version loaded it that did not note it.
    pub loads: Vec<Option<Identifiers>>,
    /// Nothing speaks against it but perhaps its identifiers: it was there when something was missed, or no repeats were set aside.
    pub seems_whole: bool,
}

impl Here {
    /// Returns whether it holds what was posted; rows that were added later are none of that. `None`: nothing tells.
    fn holds(&self, is_posted: impl Fn(Identifiers) -> bool) -> Option<bool> {
        let mut all = Identifiers::default();
        for load in &self.loads {
            all = all.and((*load)?);
            if is_posted(all) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn count(&self) -> u64 {
        self.loads.iter().flatten().map(|load| load.count).sum()
    }
}

/// A batch of a journal that has the name of one that was posted in its place, and not its identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Its name, as it is kept.
    pub batch: String,
    /// How many payments it has, and had, where that is known.
    pub rows: (u64, Option<u64>),
    /// Who pays, and who paid, where that is known.
    pub originators: (String, Option<String>),
}

impl Unlike {
    /// Says it, and what to do.
    #[must_use]
    pub fn sentence(&self) -> String {
        let batch = &self.batch;
        let other = match &self.originators {
            (is, Some(was)) if is != was => {
                return format!(
                    "batch {batch} was posted from this place with other identifiers: its originator was {was:?} then, and is {is:?} here; {}",
                    as_it_was(&format!("with originator {was:?}"))
                );
            }
            (_, Some(_)) => "the references or the rows differ from then",
            (_, None) => "the originator, the references or the rows differ from then",
        };
        match self.rows {
            (here, Some(posted)) if here < posted => format!(
                "batch {batch} was posted from this place with {posted} rows, and has {here} of them, or others, here: \
                 load its other files again too, with --amend; or, if {other}, {}",
                as_it_was("with the same originator")
            ),
            _ => format!(
                "batch {batch} was posted from this place with other identifiers: {other}; {}",
                as_it_was("with the same originator")
            ),
        }
    }
}

/// Says how a batch is loaded as it was: what a journal has under its name stays there.
fn as_it_was(who: &str) -> String {
    format!(
        "load the same file {who} into another journal in this place: put the copy back once more, or, if this journal \
         was made anew, first move it away and leave its mark where it is"
    )
}

/// Batches that were posted in the place of a journal and that it does not have, or not as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The names of those that it does not have, as they are kept.
    pub names: Vec<String>,
    /// Those of which rows were set aside when they were loaded again.
    pub in_part: Vec<String>,
    /// How many more there are, or may be, whose names are not kept.
    pub unnamed: u64,
    /// How many of these are known once they are loaded again.
    pub known_again: u64,
    /// Those that it has with other identifiers.
    pub unlike: Vec<Unlike>,
}

impl Lost {
    /// Returns whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether what was loaded since it was noticed is held until they are back: nobody tells when it is all of those of
    /// which only the number is kept.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.count() > self.unnamed || self.known_again > 0
    }

    /// Returns how many they are.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.names.len() + self.in_part.len() + self.unlike.len()) as u64 + self.unnamed
    }

    /// Names them.
    #[must_use]
    pub fn text(&self) -> String {
        let batches = |count: u64| match count {
            1 => "1 batch that is".to_owned(),
            count => format!("{count} batches that are"),
        };
        let unlike = self.unlike.iter().map(|unlike| unlike.batch.as_str());
        let all: Vec<&str> = self
            .names
            .iter()
            .chain(&self.in_part)
            .map(String::as_str)
            .chain(unlike)
            .collect();
        let names = match all.len() {
            1 => format!("batch {}", all[0]),
            _ => format!("the batches {}", all.join(", ")),
        };
        match (all.is_empty(), self.unnamed) {
            (_, 0) => names,
            (true, unnamed) => format!("{} not named", batches(unnamed)),
            (false, unnamed) => format!(
                "{names}, and {unnamed} more that {} not named",
                if unnamed == 1 { "is" } else { "are" }
            ),
        }
    }

    /// Says of each what is to be done; of those whose names are not kept, of all together.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let missing = self.names.iter().map(|batch| {
            format!("batch {batch} was posted from this place and is not here: load its file again under that name")
        });
        let in_part = self.in_part.iter().map(|batch| {
            format!(
                "batch {batch} was posted from this place, and here some of its rows were set aside as repeats, though \
                 that batch may have paid them: if they belong to it, load them too, with --allow-repeats"
            )
        });
        let again = (self.known_again > 0).then(|| {
            format!(
                "{} posted from this place long ago, and not here: their names were not kept, but each is recognised \
                once you load it again under its name",
                match self.known_again {
                    1 => "1 batch was".to_owned(),
                    count => format!("{count} batches were"),
                }
            )
        });
        let unlike = self.unlike.iter().map(Unlike::sentence);
        missing.chain(in_part).chain(unlike).chain(again).collect()
    }
}

/// Returns the batches that were posted in the place of a journal and that it does not have: what failed of others may have been
/// paid by them, and what is loaded under another name, too. `told`: as they are kept; `loaded`: how, where that is known.
#[must_use]
pub fn lost(
    recovering: bool,
    told: Vec<String>,
    loaded: &BTreeMap<String, AsLoaded>,
    here: &BTreeMap<String, Here>,
) -> Lost {
    let mut lost = Lost::default();
    if !recovering {
        return lost;
    }
    let by_digest: BTreeMap<String, &String> =
        here.keys().map(|batch| (digest_of(batch), batch)).collect();
    for batch in told {
        if let Some(count) = batch.strip_prefix(BEYOND) {
            // Not read: as if there were one, rather than none.
            lost.unnamed = lost.unnamed.saturating_add(count.parse().unwrap_or(1));
        } else if let Some(entry) = batch.strip_prefix(PAST) {
            let (digest, rows) = halves(entry);
            match by_digest.get(digest) {
                None => {
                    lost.unnamed += 1;
                    lost.known_again += 1;
                }
                Some(batch) => {
                    let is_posted = |all: Identifiers| all.digest() == rows;
                    let held = here[*batch].holds(is_posted).filter(|_| !rows.is_empty());
                    lost.judge((*batch).clone(), &here[*batch], held, None);
                }
            }
        } else if !batch.is_empty() {
            match here.get(&batch) {
                None => lost.names.push(batch),
                Some(known) => {
                    let then = loaded.get(&batch);
                    let held = then.and_then(|then| known.holds(|all| all == then.identifiers));
                    lost.judge(batch, known, held, then);
                }
            }
        }
    }
    lost
}

impl Lost {
    /// Takes in a batch whose name is there; `held`: whether what was posted of it is, where anything tells.
    fn judge(&mut self, batch: String, here: &Here, held: Option<bool>, then: Option<&AsLoaded>) {
        match held {
            Some(true) => {}
            Some(false) => self.unlike.push(Unlike {
                batch,
                rows: (here.count(), then.map(|then| then.identifiers.count)),
                originators: (
                    here.originator.clone(),
                    then.and_then(|then| then.originator.clone()),
                ),
            }),
            None if here.seems_whole => {}
            None => self.in_part.push(batch),
        }
    }
}

/// Whether a batch that is loaded while a recovery is open was posted in the place of the journal before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Nothing was missed.
    No,
    /// Nothing tells.
    MayBe,
    /// It is on record: it is to come back whole.
    Certainly,
}

/// How the rows of a file, some of which repeat other loads, compare with what its batch was when it was posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CameBack {
    /// Nothing tells.
    #[default]
    Unknown,
    /// All of them were posted.
    Whole,
    /// They were posted without those that repeat others.
    WithoutRepeats,
    /// Neither: so many payments were posted.
    Otherwise(u64),
}

/// Compares the payments of a file, and those of its rows that repeat nothing, with what was posted.
#[must_use]
pub fn came_back(posted: Option<Identifiers>, all: Identifiers, rest: Identifiers) -> CameBack {
    match posted {
        None => CameBack::Unknown,
        Some(posted) if posted == all => CameBack::Whole,
        Some(posted) if posted == rest => CameBack::WithoutRepeats,
        Some(posted) => CameBack::Otherwise(posted.count),
    }
}

/// Returns whether a batch comes back; `told`: as they are kept.
#[must_use]
pub fn back(recovering: bool, told: &[String], batch: &str) -> Back {
    let (name, digest) = (key(batch), digest_of(&key(batch)));
    let is_past = |told: &String| {
        told.strip_prefix(PAST)
            .is_some_and(|entry| halves(entry).0 == digest)
    };
    match recovering {
        false => Back::No,
        true if told.contains(&name) || told.iter().any(is_past) => Back::Certainly,
        true => Back::MayBe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[&str]) -> Identifiers {
        let mut all = Identifiers::default();
        ids.iter().for_each(|id| all.add(id));
        all
    }

    #[test]
    fn a_file_is_compared_with_what_was_posted_with_and_without_its_repeats() {
        let (all, rest) = (&["A", "B", "C"][..], &["C"][..]);
        for (posted, expected) in [
            (None, CameBack::Unknown),
            (Some(&["C", "B", "A"][..]), CameBack::Whole),
            (Some(&["C"]), CameBack::WithoutRepeats),
            (Some(&["A", "B"]), CameBack::Otherwise(2)),
            (Some(&[]), CameBack::Otherwise(0)),
        ] {
            assert_eq!(came_back(posted.map(of), of(all), of(rest)), expected);
        }
    }
}
