//! Whose word it is that an earlier generation of a row failed, and whether that word was taken back.
//!
//! A retry leaves on the word "failed". When the gateway, or whoever calls back in its name, speaks of the same payment
//! otherwise afterwards, that word is worth nothing until the gateway says it again, asked after the other one.

use super::generations::{Word, agrees};
use crate::lifecycle::{Class, PaymentState, State};

/// Returns whether a payment has ended, and nobody was paid by it.
#[must_use]
pub fn has_ended_unpaid(state: State) -> bool {
    matches!(state, State::Failed | State::Cancelled)
}

/// One thing that is on record of a payment, in the order of its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The gateway's answer to a question.
    Answer(Class),
    /// The reply to a post.
    Reply(Class),
    /// A callback.
    Callback(Class),
    /// Any of them, about another amount, currency or number.
    Otherwise(Class),
    /// A genuine callback that nobody can read.
    Unreadable,
    /// A person decided that it failed. `expressly`: although it may have been accepted.
    Decided {
        /// By the second word that this takes.
        expressly: bool,
    },
    /// The newest generation of its row was ordered.
    Ordered,
    /// It was noticed that the journal may have missed something: what was said until then may be lost.
    Missed,
    /// Its batch was sent to another gateway or account, which nothing has shown to be the same: what is said there proves nothing about what
    /// had ended before.
    Moved,
}

impl Mark {
    /// Returns whether the gateway says in it that the payment has failed: what was said before is over.
    #[must_use]
    pub fn says_failed(self) -> bool {
        match self {
            Self::Callback(class) | Self::Reply(class) | Self::Answer(class) => fails(class),
            Self::Otherwise(_)
            | Self::Unreadable
            | Self::Decided { .. }
            | Self::Ordered
            | Self::Missed
            | Self::Moved => false,
        }
    }

    /// Returns whether it makes doubtful that an ended payment was not paid: whatever is said of it does, but "failed".
    #[must_use]
    pub fn casts_doubt(self) -> bool {
        match self {
            Self::Unreadable | Self::Otherwise(_) => true,
            Self::Callback(class) => !fails(class),
            // That post was not executed.
            Self::Reply(class) => !fails(class) && class != Class::NoFloat,
            // Asked, the gateway does not have it.
            Self::Answer(class) => !fails(class) && class != Class::NotFound,
            Self::Decided { .. } | Self::Ordered | Self::Missed | Self::Moved => false,
        }
    }
}

/// Who ended it.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Gateway,
    Person { expressly: bool, insists: bool },
}

/// Returns whose word a failure is.
///
/// `known`: the gateway has shown to have the identifier, so that its "not found" says nothing. `is_patient`: whether the time
/// to wait for the end of what it holds, in words of this class, is over. `has_code`: what the gateway ends has a code.
#[must_use]
pub fn word(
    marks: impl IntoIterator<Item = Mark>,
    (known, has_code): (bool, bool),
    is_patient: impl Fn(Class) -> bool,
) -> Word {
    let (mut by, mut agreed, mut taken_back, mut ordered) = (None, false, false, false);
    let (mut missed, mut missed_ever, mut away) = (false, false, false);
    for mark in marks {
        if let Mark::Answer(class) = mark
            && !away
        {
            // Unlike a word that was taken back, this is made up for by the gateway's not knowing it.
            missed &= !fails(class) && (class != Class::NotFound || known);
        }
        match (mark, by) {
            (Mark::Decided { expressly }, _) => {
                // Said again after the retry was ordered, it is the last word.
                let insists = expressly && ordered;
                by = Some(By::Person { expressly, insists });
                (agreed, taken_back) = (false, false);
                // Nobody else can tell any more.
                missed &= !(away && insists);
            }
            (Mark::Moved, _) => {
                away |= by.is_some();
                // Whoever said so did not know that it would be paid from elsewhere.
                if let Some(By::Person { insists, .. }) = &mut by {
                    *insists = false;
                }
            }
            (Mark::Ordered, _) => {
                (agreed, ordered) = (false, true);
                if let Some(By::Person { insists, .. }) = &mut by {
                    *insists = false;
                }
            }
            (Mark::Answer(class), None) if fails(class) => by = Some(By::Gateway),
            (Mark::Answer(class), Some(_)) if fails(class) && !away => {
                (agreed, taken_back) = (true, false);
            }
            (Mark::Answer(class), Some(By::Person { expressly, .. })) if !agreed && !away => {
                // What it has shown to have, it may execute, whatever it says now.
                let class = match class {
                    Class::NotFound if known || taken_back => Class::Acknowledged,
                    class => class,
                };
                // Whoever was told "not found" when deciding has not decided about what the gateway holds.
                agreed = agrees(class, expressly && is_patient(class));
            }
            (Mark::Reply(class) | Mark::Callback(class), None) if fails(class) => {
                by = Some(By::Gateway);
            }
            // An answer that says nothing: like a lost one, it is made up for by the next one.
            (Mark::Answer(Class::InDoubt), Some(_)) => missed |= mark.casts_doubt(),
            (
                Mark::Answer(_)
                | Mark::Reply(_)
                | Mark::Callback(_)
                | Mark::Otherwise(_)
                | Mark::Unreadable,
                Some(_),
            ) => taken_back |= mark.casts_doubt(),
            (Mark::Missed, by) => (missed, missed_ever) = (missed || by.is_some(), true),
            (_, None) => {}
        }
    }
    let taken_back = planted!(ledger::is_taken_back(taken_back));
    // Nothing of a failure that an earlier release recorded says when it was.
    let taken_back = taken_back || missed || missed_ever && by.is_none();
    match by {
        Some(By::Person { insists: true, .. }) if !taken_back => Word::Both,
        _ if taken_back && away => Word::Elsewhere { taken_back },
        _ if taken_back => Word::TakenBack,
        Some(By::Person { .. }) if agreed => Word::Both,
        Some(By::Person { .. }) if away => Word::Elsewhere { taken_back },
        Some(By::Person { expressly, .. }) => Word::Person { expressly },
        Some(By::Gateway) => Word::Gateway,
        // Nothing on record says who: only a decision leaves no code.
        None if has_code => Word::Gateway,
        None => Word::Person { expressly: false },
    }
}

/// Returns whose word the failure of a payment is that stands like this. `is_patient`: as [`word`] has it.
#[must_use]
pub fn word_about(
    life: &PaymentState,
    marks: impl IntoIterator<Item = Mark>,
    is_patient: impl Fn(Class) -> bool,
) -> Word {
    match word(marks, (life.known, life.code.is_some()), is_patient) {
        // What the gateway has under its identifier is somebody else's: nothing that it says of it is about ours.
        Word::Person { .. } | Word::TakenBack if life.taken => Word::Both,
        found => found,
    }
}

/// Returns whether a payment that was withdrawn may be paid all the same: somebody speaks of it who should not know it, and the
/// gateway has not said since, asked, that it does not have it.
#[must_use]
pub fn is_spoken_of(marks: impl IntoIterator<Item = Mark>) -> bool {
    let spoken_of = marks.into_iter().fold(false, |spoken_of, mark| match mark {
        Mark::Answer(class) if fails(class) || class == Class::NotFound => false,
        mark => spoken_of || mark.casts_doubt(),
    });
    planted!(ledger::is_taken_back(spoken_of))
}

fn fails(class: Class) -> bool {
    match class {
        Class::Failed | Class::Refused => true,
        // It waits for float, and is posted again.
        Class::NoFloat
        | Class::Acknowledged
        | Class::Delivered
        | Class::Paid
        | Class::Duplicate
        | Class::NotFound
        | Class::InDoubt => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded_bugs::SeededBug;
    use Class::{
        Acknowledged, Delivered, Duplicate, Failed, InDoubt, NoFloat, NotFound, Paid, Refused,
    };
    use Mark::{Answer, Callback, Missed, Moved, Ordered, Otherwise, Reply, Unreadable};

    const DECIDED: Mark = Mark::Decided { expressly: false };
    const INSISTED: Mark = Mark::Decided { expressly: true };
    const PERSON: Word = Word::Person { expressly: false };
    const EXPRESSLY: Word = Word::Person { expressly: true };
    const ELSEWHERE: Word = Word::Elsewhere { taken_back: false };
    const AWAY: Word = Word::Elsewhere { taken_back: true };

    /// Marks, then what they come to while the gateway's end is still waited for, and after that.
    fn table() -> Vec<(Vec<Mark>, Word, Word)> {
        use Word::{Both, Gateway, TakenBack};
        let same = |marks: &[Mark], word| (marks.to_vec(), word, word);
        vec![
            same(&[Reply(Refused)], Gateway),
            same(&[Reply(Acknowledged), Callback(Failed)], Gateway),
            same(&[Reply(Acknowledged), Answer(Failed), Ordered], Gateway),
            // Words that were on their way.
            same(
                &[Reply(Refused), Answer(NotFound), Callback(Failed)],
                Gateway,
            ),
            same(&[Unreadable, Reply(Refused)], Gateway),
            same(
                &[Reply(NoFloat), Reply(Acknowledged), Callback(Failed)],
                Gateway,
            ),
            same(&[Callback(Failed), Reply(NoFloat)], Gateway),
            // What proves nothing says all the same that there is more to it.
            same(&[Reply(Refused), Reply(Duplicate)], TakenBack),
            same(&[Reply(Refused), Otherwise(Failed)], TakenBack),
            same(&[Reply(Refused), Callback(InDoubt)], TakenBack),
            same(&[Reply(Refused), Callback(NotFound), Ordered], TakenBack),
            same(&[Reply(Refused), Ordered, Callback(InDoubt)], TakenBack),
            same(
                &[Reply(Refused), Callback(InDoubt), Answer(NotFound)],
                TakenBack,
            ),
            same(
                &[Reply(Refused), Callback(InDoubt), Answer(Failed)],
                Gateway,
            ),
            // The answer to a question, until it is answered otherwise.
            same(&[Reply(Refused), Answer(InDoubt)], TakenBack),
            same(
                &[Reply(Refused), Answer(InDoubt), Callback(Failed)],
                TakenBack,
            ),
            same(
                &[Reply(Refused), Answer(InDoubt), Answer(NotFound)],
                Gateway,
            ),
            same(&[Reply(Refused), Answer(InDoubt), Answer(Failed)], Gateway),
            // The gateway takes its word back, in each way that it can.
            same(&[Reply(Refused), Callback(Acknowledged)], TakenBack),
            same(&[Reply(Refused), Callback(Delivered), Ordered], TakenBack),
            same(&[Reply(Refused), Ordered, Answer(Acknowledged)], TakenBack),
            same(&[Answer(Failed), Ordered, Reply(Delivered)], TakenBack),
            same(&[Callback(Failed), Ordered, Otherwise(Paid)], TakenBack),
            same(&[Callback(Failed), Ordered, Unreadable], TakenBack),
            // It may have taken it back in what the journal has missed.
            same(&[Reply(Refused), Ordered, Missed], TakenBack),
            same(&[Reply(Refused), Missed, Ordered], TakenBack),
            same(&[Reply(Refused), Missed, Callback(Failed)], TakenBack),
            same(&[Reply(Refused), Missed, Answer(InDoubt)], TakenBack),
            same(&[Reply(Refused), Missed, Answer(Acknowledged)], TakenBack),
            same(&[Reply(Refused), Missed, Answer(NotFound)], Gateway),
            same(&[Reply(Refused), Missed, Answer(Failed)], Gateway),
            same(
                &[Reply(Refused), Unreadable, Missed, Answer(NotFound)],
                TakenBack,
            ),
            same(&[Missed, Reply(Refused)], Gateway),
            same(&[DECIDED, Ordered, Answer(Failed), Missed], TakenBack),
            same(&[DECIDED, Ordered, Missed, Answer(NotFound)], Both),
            // Only its own "failed", asked for afterwards, gives it again.
            same(
                &[Reply(Refused), Callback(Acknowledged), Callback(Failed)],
                TakenBack,
            ),
            same(&[Reply(Refused), Unreadable, Answer(NotFound)], TakenBack),
            same(&[Reply(Refused), Unreadable, Answer(InDoubt)], TakenBack),
            same(
                &[Reply(Refused), Callback(Acknowledged), Answer(Failed)],
                Gateway,
            ),
            same(
                &[Reply(Refused), Unreadable, Answer(Failed), Unreadable],
                TakenBack,
            ),
            // A person's word, until the gateway agrees after the order.
            same(&[DECIDED, Ordered], PERSON),
            same(&[Answer(Failed), DECIDED, Ordered], PERSON),
            same(&[DECIDED, Answer(Failed), Ordered], PERSON),
            same(&[DECIDED, Ordered, Answer(Failed)], Both),
            same(&[DECIDED, Ordered, Answer(NotFound)], Both),
            same(&[DECIDED, Ordered, Answer(InDoubt)], PERSON),
            same(&[DECIDED, Ordered, Callback(InDoubt)], TakenBack),
            same(
                &[DECIDED, Ordered, Answer(NotFound), Answer(InDoubt)],
                TakenBack,
            ),
            // The person knew that the gateway holds it, or did not.
            (vec![INSISTED, Ordered, Answer(Delivered)], EXPRESSLY, Both),
            same(&[DECIDED, Ordered, Answer(Acknowledged)], PERSON),
            // It is no such word any more once the gateway speaks unasked.
            same(&[DECIDED, Ordered, Callback(Acknowledged)], TakenBack),
            same(
                &[DECIDED, Ordered, Callback(Acknowledged), Answer(NotFound)],
                TakenBack,
            ),
            same(
                &[DECIDED, Ordered, Callback(Acknowledged), Answer(Failed)],
                Both,
            ),
            same(
                &[DECIDED, Ordered, Answer(Failed), Answer(Acknowledged)],
                TakenBack,
            ),
            // A person's second word: before the order it is asked about all the same, after it it is the last.
            same(&[INSISTED, Ordered], EXPRESSLY),
            same(&[DECIDED, Ordered, Answer(InDoubt), INSISTED], Both),
            same(
                &[Reply(Refused), Ordered, Callback(Acknowledged), INSISTED],
                Both,
            ),
            same(
                &[Reply(Refused), Ordered, INSISTED, Callback(Delivered)],
                TakenBack,
            ),
            same(&[DECIDED, Ordered, INSISTED, Ordered], EXPRESSLY),
            // Sent elsewhere since, where nobody can tell: the person says it once more, and expressly.
            same(&[DECIDED, Ordered, Moved], ELSEWHERE),
            same(&[INSISTED, Ordered, Moved], ELSEWHERE),
            same(&[INSISTED, Moved, Ordered], ELSEWHERE),
            same(&[INSISTED, Ordered, Moved, Answer(NotFound)], ELSEWHERE),
            same(&[INSISTED, Ordered, Moved, Answer(Failed)], ELSEWHERE),
            same(&[INSISTED, Moved, Ordered, Answer(Failed)], ELSEWHERE),
            same(&[INSISTED, Ordered, Moved, DECIDED], ELSEWHERE),
            same(&[INSISTED, Ordered, Moved, INSISTED], Both),
            same(&[INSISTED, Moved, Ordered, INSISTED], Both),
            same(&[INSISTED, Moved, Ordered, INSISTED, Moved], ELSEWHERE),
            same(&[DECIDED, Ordered, INSISTED, Moved], ELSEWHERE),
            same(&[INSISTED, Moved, Ordered, Missed, Answer(NotFound)], AWAY),
            same(&[INSISTED, Moved, Ordered, Missed, INSISTED], Both),
            same(&[DECIDED, Ordered, Moved, Callback(Paid)], AWAY),
            same(&[DECIDED, Ordered, Callback(Paid), Moved], AWAY),
            same(
                &[DECIDED, Ordered, Moved, Callback(Paid), Answer(Failed)],
                AWAY,
            ),
            same(&[Reply(Refused), Ordered, Callback(Paid), Moved], AWAY),
            // What the old place had said stands.
            same(&[DECIDED, Ordered, Answer(NotFound), Moved], Both),
            same(&[Reply(Refused), Moved, Ordered], Gateway),
            // What ended after the move was posted after it.
            same(&[Moved, DECIDED, Ordered], PERSON),
            same(&[Moved, DECIDED, Ordered, Answer(NotFound)], Both),
            same(&[Moved, Reply(Refused), Ordered], Gateway),
        ]
    }

    fn wrong() -> Vec<String> {
        let mut wrong = Vec::new();
        for (marks, early, late) in table() {
            for (patient, expected) in [(false, early), (true, late)] {
                let found = word(marks.iter().copied(), (false, true), |_| patient);
                if found != expected {
                    wrong.push(format!("{marks:?}: {found:?}, expected {expected:?}"));
                }
            }
        }
        wrong
    }

    #[test]
    fn a_failure_that_the_gateway_takes_back_is_none_until_it_says_so_again() {
        assert_eq!(wrong(), Vec::<String>::new());
        let _awake = SeededBug::TakenBackUnheard.wake();
        assert!(wrong().len() > 8, "the planted mistake is found");
    }

    #[test]
    fn whatever_is_said_of_an_ended_payment_but_failed_is_heard() {
        type Say = fn(Class) -> Mark;
        let says: [(Say, &[Class]); 4] = [
            (Callback, &[Failed, Refused]),
            (Reply, &[Failed, Refused, NoFloat]),
            (Answer, &[Failed, Refused, NotFound]),
            (Otherwise, &[]),
        ];
        for (say, not_paid) in says {
            for (class, name) in Class::ALL {
                let (mark, is_heard) = (say(class), !not_paid.contains(&class));
                assert_eq!(mark.casts_doubt(), is_heard, "{name}: {mark:?}");
                let failed = word([Reply(Refused), mark], (false, true), |_| true);
                assert_eq!(failed == Word::TakenBack, is_heard, "{name}: {mark:?}");
                assert_eq!(is_spoken_of([mark]), is_heard, "{name}: {mark:?}");
            }
        }
    }

    #[test]
    fn what_was_withdrawn_may_be_paid_once_somebody_speaks_of_it() {
        let table: [(&[Mark], bool); 14] = [
            (&[], false),
            (&[Reply(NoFloat)], false),
            (&[Reply(NoFloat), Callback(Failed)], false),
            (&[Unreadable, Reply(NoFloat)], true),
            (&[Unreadable], true),
            (&[Otherwise(Paid)], true),
            (&[Otherwise(Failed)], true),
            (&[Callback(InDoubt)], true),
            (&[Callback(InDoubt), Answer(NotFound)], false),
            (&[Reply(InDoubt), Answer(NotFound), Reply(NoFloat)], false),
            (&[Unreadable, Answer(InDoubt)], true),
            (&[Unreadable, Answer(NotFound)], false),
            (&[Otherwise(Acknowledged), Answer(Failed)], false),
            (&[Unreadable, Answer(NotFound), Otherwise(Delivered)], true),
        ];
        for (marks, expected) in table {
            assert_eq!(is_spoken_of(marks.iter().copied()), expected, "{marks:?}");
        }
        let _awake = SeededBug::TakenBackUnheard.wake();
        assert!(!is_spoken_of([Unreadable]), "the table finds it");
    }

    #[test]
    fn what_is_said_of_a_strangers_payment_takes_back_no_failure_of_ours() {
        let ours = PaymentState {
            state: State::Failed,
            code: Some(110),
            ..PaymentState::NEW
        };
        let strangers = PaymentState {
            taken: true,
            ..ours
        };
        for (marks, of_ours, of_strangers) in [
            (vec![Answer(Failed)], Word::Gateway, Word::Gateway),
            (
                vec![Answer(Failed), Callback(Paid)],
                Word::TakenBack,
                Word::Both,
            ),
            (vec![DECIDED, Ordered], PERSON, Word::Both),
        ] {
            let found =
                [ours, strangers].map(|life| word_about(&life, marks.iter().copied(), |_| false));
            assert_eq!(found, [of_ours, of_strangers], "{marks:?}");
        }
    }

    #[test]
    fn what_the_gateway_has_shown_to_have_is_not_gone_when_it_does_not_find_it() {
        let marks = [DECIDED, Ordered, Answer(NotFound)];
        assert_eq!(word(marks, (true, false), |_| false), PERSON);
        assert_eq!(word(marks, (true, false), |_| true), PERSON);
        let marks = [INSISTED, Ordered, Answer(NotFound)];
        assert_eq!(word(marks, (true, false), |_| false), EXPRESSLY);
        assert_eq!(word(marks, (true, false), |_| true), Word::Both);
        assert_eq!(word([], (false, true), |_| true), Word::Gateway);
        assert_eq!(word([], (false, false), |_| true), PERSON);
    }
}
