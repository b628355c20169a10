//! How late requests may arrive whose slots were granted before: whoever is granted slots beside theirs allows for that.

use std::time::Duration;

use super::clock::StoreTime;
use super::spread::{Spread, WINDOW};

/// So many spreads are told apart at most.
const APART_MAX: usize = 8;

/// The spreads of slots that were granted, each with the time before which a slot may lie in one window with one of those.
///
/// The greatest comes first; each that follows is less, and holds for longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness(Vec<(Spread, StoreTime)>);

impl Lateness {
    /// Returns the greatest spread that counts for a slot at a time, of those that are kept; `None` where none of them does.
    #[must_use]
    pub fn at(&self, slot: StoreTime) -> Option<Spread> {
        let counts = |(_, until): &&(Spread, StoreTime)| *until > slot;
        self.0.iter().find(counts).map(|(spread, _)| *spread)
    }

    /// Returns it with slots up to a last one that were granted since, the first of which lies at `first`: what counts for no slot
    /// from there on is forgotten.
    #[must_use]
    pub(super) fn with(&self, spread: Spread, (first, last): (StoreTime, StoreTime)) -> Self {
        let until = last.after(WINDOW + spread.get());
        let mut kept = self.clone();
        kept.0.retain(|(_, until)| *until > first);
        kept.add(spread, until);
        kept
    }

    fn add(&mut self, spread: Spread, until: StoreTime) {
        // What is always allowed for need not be remembered.
        if spread.beyond_standard().is_zero() {
            return;
        }
        if self
            .0
            .iter()
            .any(|(other, later)| *other >= spread && *later >= until)
        {
            return;
        }
        self.0
            .retain(|(other, later)| *other > spread || *later > until);
        let at = self.0.partition_point(|(other, _)| *other > spread);
        self.0.insert(at, (spread, until));
        if self.0.len() > APART_MAX
            && let Some((_, until)) = self.0.pop()
            && let Some(last) = self.0.last_mut()
        {
            // The greater one holds for as long as the lesser: too much is allowed for, never too little.
            last.1 = last.1.max(until);
        }
    }

    /// Returns it as a text: microseconds, and until when, by pairs.
    #[must_use]
    pub fn to_text(&self) -> String {
        let pairs = self.0.iter().map(|(spread, until)| {
            let micros = spread.get().as_micros();
            format!("{micros}:{}", until.as_micros())
        });
        pairs.collect::<Vec<_>>().join(",")
    }

    /// Reads what [`Self::to_text`] wrote; `None` where it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (spread, until) = pair.split_once(':')?;
            let spread = Duration::from_micros(spread.parse().ok()?);
            found.add(
                Spread::of_stored(spread),
                StoreTime::from_micros(until.parse().ok()?),
            );
        }
        Some(found)
    }
}
