//! Whether what is on record of recoveries is what the chains of evidence say: on it rest the holds of runs, loads and retries.

/// What is on record of recoveries, and of the orders that were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnRecord<'a> {
    /// What tells it from anything else.
    pub digest: &'a str,
    /// Nothing is.
    pub is_empty: bool,
    /// One began when the journal had batches.
    pub met_batches: bool,
    /// One is not done.
    pub is_open: bool,
}

/// How the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlike {
    /// It is not what the evidence says.
    Changed,
    /// No evidence speaks of it.
    Unheard,
}

impl Unlike {
    /// Says it to a person.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Changed => {
                "what is on record of a recovery, of the orders that were lost, or of when it was done is not what its evidence says"
            }
            Self::Unheard => "a recovery is on record of which no evidence speaks",
        }
    }
}

/// Compares what is on record with the last word about it on the chain of each batch that has one; `batches`: the journal has some.
///
/// Each change is told to every batch that is there. A batch that came later was told if a recovery was open then.
#[must_use]
pub fn unlike(on_record: OnRecord<'_>, last_words: &[String], batches: bool) -> Option<Unlike> {
    if last_words.iter().any(|word| word != on_record.digest) {
        return Some(Unlike::Changed);
    }
    let OnRecord {
        is_empty,
        met_batches,
        is_open,
        ..
    } = on_record;
    let must_be_told = !is_empty && (met_batches || is_open && batches);
    (last_words.is_empty() && must_be_told).then_some(Unlike::Unheard)
}
