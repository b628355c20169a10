//! Where a row on record stands, over all its generations, and what a person is told of it.

use crate::ledger::generations::stands_for;
use crate::lifecycle::State;

/// Where the other row stands, over all its generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Withdrawn before it was ever posted.
    Cancelled,
    /// Not paid, proven by the gateway.
    Failed,
    /// Paid; or failed by the word of a person, which proves nothing.
    Ended,
    /// It may be paid yet.
    Unfinished,
}

impl Standing {
    /// Returns where one payment stands; `has_code`: what ended it was the gateway's word.
    #[must_use]
    pub fn of(state: State, has_code: bool) -> Self {
        match state {
            State::Cancelled => Self::Cancelled,
            State::Failed if has_code => Self::Failed,
            State::Failed | State::Paid => Self::Ended,
            State::Ready
            | State::Posting
            | State::InDoubt
            | State::Acknowledged
            | State::Delivered
            | State::Conflict => Self::Unfinished,
        }
    }

    /// Returns where a row stands whose generations stand there.
    #[must_use]
    pub fn of_row(generations: impl IntoIterator<Item = Self>) -> Self {
        generations.into_iter().max().unwrap_or(Self::Unfinished)
    }
}

/// Why the failure of a generation is worth nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// The journal may have missed what became of it since.
    Missed,
    /// The gateway has spoken of it since.
    Spoken,
}

/// One generation of a row on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Where it stands.
    pub state: State,
    /// What ended it was the gateway's word.
    pub has_code: bool,
    /// It was posted at least once.
    pub has_left: bool,
    /// It was cancelled after a reply to its post.
    pub was_answered: bool,
    /// Its failure is worth nothing any more.
    pub taken_back: Option<TakenBack>,
}

impl Generation {
    fn standing(self) -> Standing {
        match self.taken_back {
            Some(_) => Standing::Unfinished,
            // It has left, and that it was not paid is the gateway's word, which may change.
            None if self.state == State::Cancelled && self.has_left => Standing::Failed,
            None => Standing::of(self.state, self.has_code),
        }
    }
}

/// Where a row stands, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// In this state.
    State(State),
    /// In one that its evidence contradicts.
    Edited,
    /// Unpaid by another reading of replies than the one in force.
    ReadOtherwise,
    /// Failed, and the journal may have missed what became of it since.
    Missed,
    /// Failed, and the gateway has spoken of it since.
    Spoken,
    /// Failed by the word of a person.
    ByWord,
}

impl Told {
    /// Returns the name of the state, or what stands in its place.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::State(state) => state.name(),
            Self::Edited => "not where its evidence says",
            Self::ReadOtherwise => {
                "not certain to be unpaid: replies about its batch were read by another dialect, or by other meanings of codes, than those in force, by which it may be paid"
            }
            Self::Missed => {
                "not certain to be unpaid: this journal may have missed what became of it since it ended"
            }
            Self::Spoken => "not certain to be unpaid: the gateway has spoken of it since it ended",
            Self::ByWord => "failed by the word of a person, which the gateway has not confirmed",
        }
    }
}

/// The generations of a row on record, the oldest first; there is at least one.
#[derive(Clone, Copy, Debug)]
pub struct History<'r>(pub &'r [Generation]);

impl History<'_> {
    /// Returns whether a generation is unpaid by what the gateway said of it, so that it counts how that was read: it was called failed, or it
    /// was cancelled after a reply to its post that called it not executed.
    #[must_use]
    pub fn rests_on_a_reply(self) -> bool {
        self.0.iter().any(|generation| match generation.state {
            State::Failed => generation.has_code,
            State::Cancelled => generation.was_answered,
            _ => false,
        })
    }

    /// Returns whether a person has withdrawn what was to be paid of the row last.
    #[must_use]
    pub fn is_withdrawn(self) -> bool {
        self.0
            .last()
            .is_some_and(|newest| newest.state == State::Cancelled)
    }

    /// Returns whether the row is unpaid by its state, so that it counts whether its evidence says the same.
    #[must_use]
    pub fn is_unpaid(self) -> bool {
        matches!(self.state(), State::Failed | State::Cancelled)
    }

    /// Returns where the row stands. `read_otherwise`: what the gateway said of it was read in another way than now; `is_vouched`: its
    /// evidence leads to where it stands.
    #[must_use]
    pub fn standing(self, read_otherwise: bool, is_vouched: bool) -> (Standing, Told) {
        if self.rests_on_a_reply() && read_otherwise {
            return (Standing::Unfinished, Told::ReadOtherwise);
        }
        if !self.is_unpaid() {
            return (self.of_generations(), Told::State(self.state()));
        }
        if !is_vouched {
            return (Standing::Unfinished, Told::Edited);
        }
        let standing = self.of_generations();
        let has_spoken = |generation: &Generation| generation.taken_back == Some(TakenBack::Spoken);
        let told = match standing {
            Standing::Unfinished if self.0.iter().any(has_spoken) => Told::Spoken,
            Standing::Unfinished => Told::Missed,
            Standing::Ended => Told::ByWord,
            Standing::Failed | Standing::Cancelled => Told::State(self.state()),
        };
        (standing, told)
    }

    fn state(self) -> State {
        let states: Vec<State> = self.0.iter().map(|generation| generation.state).collect();
        states[stands_for(&states)]
    }

    fn of_generations(self) -> Standing {
        Standing::of_row(self.0.iter().map(|generation| generation.standing()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(state: State) -> Generation {
        Generation {
            state,
            has_code: true,
            has_left: true,
            was_answered: false,
            taken_back: None,
        }
    }

    const FAILED: Generation = at(State::Failed);

    /// Cancelled after its post was called not executed.
    const ANSWERED: Generation = Generation {
        was_answered: true,
        ..at(State::Cancelled)
    };

    const fn taken_back(why: TakenBack) -> Generation {
        Generation {
            taken_back: Some(why),
            ..FAILED
        }
    }

    const BY_WORD: Generation = Generation {
        has_code: false,
        ..FAILED
    };

    const NEVER_LEFT: Generation = Generation {
        has_left: false,
        has_code: false,
        ..at(State::Cancelled)
    };

    #[test]
    fn a_row_counts_as_failed_only_where_nothing_speaks_against_it() {
        use Standing::{Cancelled, Ended, Failed, Unfinished};
        let missed = taken_back(TakenBack::Missed);
        let spoken = taken_back(TakenBack::Spoken);
        let cases: [(&[Generation], Standing, Told); 11] = [
            (&[FAILED], Failed, Told::State(State::Failed)),
            (&[BY_WORD], Ended, Told::ByWord),
            (&[NEVER_LEFT], Cancelled, Told::State(State::Cancelled)),
            (
                &[at(State::Cancelled)],
                Failed,
                Told::State(State::Cancelled),
            ),
            (&[at(State::Paid)], Ended, Told::State(State::Paid)),
            (
                &[at(State::InDoubt)],
                Unfinished,
                Told::State(State::InDoubt),
            ),
            (&[missed], Unfinished, Told::Missed),
            (&[spoken], Unfinished, Told::Spoken),
            (&[missed, spoken], Unfinished, Told::Spoken),
            (&[FAILED, at(State::Paid)], Ended, Told::State(State::Paid)),
            (&[missed, FAILED], Unfinished, Told::Missed),
        ];
        for (row, standing, told) in cases {
            assert_eq!(
                History(row).standing(false, true),
                (standing, told),
                "{row:?}"
            );
        }
    }

    #[test]
    fn a_row_is_withdrawn_whose_newest_payment_is() {
        let cancelled = at(State::Cancelled);
        for (row, expected) in [
            (&[cancelled][..], true),
            (&[FAILED, cancelled], true),
            (&[cancelled, at(State::Ready)], false),
            (&[FAILED], false),
        ] {
            assert_eq!(History(row).is_withdrawn(), expected, "{row:?}");
        }
    }

    #[test]
    fn what_is_unpaid_by_another_reading_is_not_certain_to_be() {
        let told = (Standing::Unfinished, Told::ReadOtherwise);
        for row in [&[FAILED][..], &[FAILED, NEVER_LEFT], &[ANSWERED]] {
            assert!(History(row).rests_on_a_reply());
            assert_eq!(History(row).standing(true, true), told, "{row:?}");
        }
        // What the gateway has not called failed rests on no reading.
        for row in [BY_WORD, NEVER_LEFT, at(State::Paid)] {
            let row = [row];
            assert!(!History(&row).rests_on_a_reply());
            assert_eq!(
                History(&row).standing(true, true),
                History(&row).standing(false, true)
            );
        }
    }

    #[test]
    fn an_end_without_evidence_for_it_is_none() {
        let edited = (Standing::Unfinished, Told::Edited);
        for row in [FAILED, BY_WORD, NEVER_LEFT] {
            assert!(History(&[row]).is_unpaid());
            assert_eq!(History(&[row]).standing(false, false), edited, "{row:?}");
        }
        let paid = [at(State::Paid)];
        assert!(!History(&paid).is_unpaid());
        assert_eq!(
            History(&paid).standing(false, false),
            (Standing::Ended, Told::State(State::Paid))
        );
    }
}
