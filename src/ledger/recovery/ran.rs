//! What mark and lock file say was done in the place of a journal that knows nothing of it: against that nobody's word counts.

use super::{Found, Mark, Traces};
use crate::domain::{BatchId, Epoch, EvidenceId};

/// Something that was done since a copy was made, or by another journal in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Runs, up to this number; the journal knows of fewer.
    Runs {
        /// The number of the last one.
        seen: Epoch,
        /// The last one that the journal knows.
        known: Epoch,
    },
    /// The evidence of a batch went on to this length.
    Evidence {
        /// The journal's number of the batch.
        batch_id: BatchId,
        /// Rows of its evidence.
        length: u64,
    },
    /// Evidence of any batch went on to this number; the journal knows less.
    Further {
        /// The number of the last row.
        seen: EvidenceId,
        /// The last one that the journal has.
        known: EvidenceId,
    },
    /// So many orders of people that the journal does not know.
    Orders(u64),
    /// Another journal was in use here, and ran, or was written to.
    OtherJournal {
        /// The number of its last run; 0: it never ran.
        runs: Epoch,
    },
}

/// Returns what lies beside a journal that shows that something was posted or written which it does not know.
#[must_use]
pub fn ran_since(traces: &Traces, found: &Found) -> Vec<Ran> {
    let mut ran = Vec::new();
    let mut say = |what: Ran| {
        if !ran.contains(&what) {
            ran.push(what);
        }
    };
    let runs = |seen: Epoch| {
        (seen > found.epoch).then_some(Ran::Runs {
            seen,
            known: found.epoch,
        })
    };
    let orders = |seen: u64| (seen > found.orders).then(|| Ran::Orders(seen - found.orders));
    if let Mark::Read(marked) = &traces.mark {
        match marked.journal == found.journal {
            true => {
                runs(marked.epoch).into_iter().for_each(&mut say);
                for (at, position) in marked.positions.iter().enumerate() {
                    if found.heads.get(at).copied().flatten() != Some(position.head) {
                        say(Ran::Evidence {
                            batch_id: position.batch_id,
                            length: position.length,
                        });
                    }
                }
                orders(marked.orders).into_iter().for_each(&mut say);
            }
            false
                if marked.epoch > Epoch::NONE
                    || marked.orders > 0
                    || !marked.positions.is_empty() =>
            {
                say(Ran::OtherJournal { runs: marked.epoch });
            }
            false => {}
        }
    }
    if let Some(witness) = traces.witness {
        match witness.journal == found.journal {
            true => {
                runs(witness.epoch).into_iter().for_each(&mut say);
                if witness.evidence > found.evidence {
                    say(Ran::Further {
                        seen: witness.evidence,
                        known: found.evidence,
                    });
                }
                orders(witness.orders).into_iter().for_each(&mut say);
            }
            false
                if witness.epoch > Epoch::NONE
                    || witness.orders > 0
                    || witness.evidence > EvidenceId::NONE =>
            {
                say(Ran::OtherJournal {
                    runs: witness.epoch,
                });
            }
            false => {}
        }
    }
    ran
}

impl Ran {
    /// Says it to a person; `name`: the batch that it is about, where the journal has it.
    #[must_use]
    pub fn sentence(&self, name: Option<&str>) -> String {
        match self {
            Self::Runs { seen, known } => {
                format!(
                    "a run with the number {seen} was begun here, and this journal knows of {known}"
                )
            }
            Self::Evidence { length, .. } => match name {
                Some(name) => format!(
                    "the evidence of batch {name} had {length} rows, and this journal does not have the last of them"
                ),
                None => {
                    format!("a batch that this journal does not have had {length} rows of evidence")
                }
            },
            Self::Further { seen, known } => {
                format!(
                    "evidence was written up to number {seen}, and this journal has it up to {known}"
                )
            }
            Self::Orders(1) => "1 order was given by people that it does not know".to_owned(),
            Self::Orders(count) => {
                format!("{count} orders were given by people that it does not know")
            }
            Self::OtherJournal { runs: Epoch::NONE } => {
                "another journal was written to in this place".to_owned()
            }
            Self::OtherJournal { runs } => {
                format!(
                    "another journal was in use in this place, up to a run with the number {runs}"
                )
            }
        }
    }
}
