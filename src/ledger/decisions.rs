//! Whether an operator's word that a payment failed may stand.
//!
//! What is recorded as failed may be paid anew, under another identifier. So the gateway is asked first, and while it may
//! still execute the payment, a person's word alone does not end it.

use std::time::Duration;

use super::generations::Word;
use crate::domain::{Tally, Timestamp};
use crate::lifecycle::{Class, Event, Life, Policy, State};

/// What the gateway said, when it was asked about the payment just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is paid.
    Paid,
    /// It failed.
    Failed,
    /// The gateway has it (139).
    Acknowledged,
    /// It is at the bank (148).
    Delivered,
    /// The gateway does not know it.
    NotFound,
    /// Something about a payment that somebody else made under our identifier, as far as anybody can tell.
    Strangers,
    /// No answer, or one that says nothing.
    Nothing,
    /// There is nobody to ask: the deployment has no status query.
    CannotBeAsked,
}

/// Whether an answer is about our payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// It names another amount, currency or number.
    pub other: bool,
    /// It names our amount and our number.
    pub recognised: bool,
    /// The gateway had the identifier before our first post.
    pub taken: bool,
}

impl Heard {
    /// Returns what a status reply, or its absence, says. What names another payment's amount or number says nothing of ours.
    #[must_use]
    pub fn of(event: Event, about: About) -> Self {
        let Event::Answer(verdict) = event else {
            return Self::Nothing;
        };
        match (verdict.class, about) {
            (
                Class::Paid | Class::Failed,
                About {
                    other: true,
                    taken: true,
                    ..
                },
            ) => Self::Strangers,
            (_, About { other: true, .. }) => Self::Nothing,
            // It was there before ours, which was refused: it is ours only where it names ours.
            (
                Class::Paid,
                About {
                    taken: true,
                    recognised: false,
                    ..
                },
            ) => Self::Strangers,
            (Class::Paid, _) => Self::Paid,
            (Class::Failed, _) => Self::Failed,
            (Class::Acknowledged, _) => Self::Acknowledged,
            (Class::Delivered, _) => Self::Delivered,
            (Class::NotFound, _) => Self::NotFound,
            (Class::Refused | Class::NoFloat | Class::Duplicate | Class::InDoubt, _) => {
                Self::Nothing
            }
        }
    }
}

impl Heard {
    /// Returns it in words, as evidence keeps it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Acknowledged => "acknowledged",
            Self::Delivered => "delivered",
            Self::NotFound => "not found",
            Self::Strangers => "somebody else's payment",
            Self::Nothing => "nothing usable",
            Self::CannotBeAsked => "cannot be asked",
        }
    }
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// What the gateway said; `None`: nobody asked, as nothing had left by then.
    pub heard: Option<Heard>,
    /// Something else was learned of the payment since the question.
    pub learned: bool,
    /// The gateway, or a genuine callback, has said of it that it is paid.
    pub said_paid: bool,
    /// The operator says that it is to fail although the gateway accepted it, or cannot be asked.
    pub although: bool,
}

/// Why a payment is not recorded as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The gateway says that it is paid.
    IsPaid,
    /// Something was learned since the question: the decision rests on what is no longer so.
    LearnedMeanwhile,
    /// "Not found" proves nothing before then.
    TooEarlyForNotFound(Timestamp),
    /// It may still be executed; before then no decision may stand.
    TooEarly(Heard, Timestamp),
    /// It may still be executed: that takes the operator's second word.
    TakesASecondWord(Heard),
    /// It was called paid before, and is not now: that takes the operator's second word.
    WasSaidToBePaid(Heard),
}

/// Returns whether the gateway is asked before a decision that the payment failed: it may have arrived there.
#[must_use]
pub fn is_asked_first(life: &Life) -> bool {
    match life.state {
        State::InDoubt | State::Acknowledged | State::Delivered | State::Conflict => true,
        State::Ready => life.is_exposed(),
        State::Posting | State::Paid | State::Failed | State::Cancelled => false,
    }
}

/// Returns whether a payment may be recorded as failed on an operator's word.
///
/// `life` is what is known with the gateway's answer. Whether its state allows a decision at all, the lifecycle says.
///
/// # Errors
/// [`Refusal`].
pub fn may_fail(life: &Life, asked: Asked, now: Timestamp, policy: &Policy) -> Result<(), Refusal> {
    #[cfg(test)]
    if crate::canary::Canary::FailedUnasked.sings() {
        return Ok(());
    }
    if asked.heard == Some(Heard::Paid) {
        return Err(Refusal::IsPaid);
    }
    if asked.learned {
        return Err(Refusal::LearnedMeanwhile);
    }
    match asked.heard {
        None if is_asked_first(life) => Err(Refusal::LearnedMeanwhile),
        None => Ok(()),
        Some(Heard::Failed) if asked.said_paid && !asked.although => {
            Err(Refusal::WasSaidToBePaid(Heard::Failed))
        }
        Some(Heard::Failed) => Ok(()),
        Some(Heard::Strangers) if !asked.although => {
            Err(Refusal::TakesASecondWord(Heard::Strangers))
        }
        Some(Heard::Strangers) => Ok(()),
        Some(Heard::NotFound) if !life.known && !asked.said_paid => {
            let proves_from = policy.quarantine_ends(life);
            if now < proves_from {
                return Err(Refusal::TooEarlyForNotFound(proves_from));
            }
            Ok(())
        }
        // What the gateway has shown to have, it may execute, whatever it says now.
        Some(heard) => {
            let from = given_up_at(life, heard, policy);
            if from.is_some_and(|from| now < from) {
                return Err(Refusal::TooEarly(heard, from.unwrap_or(now)));
            }
            match asked.although {
                true => Ok(()),
                false if asked.said_paid => Err(Refusal::WasSaidToBePaid(heard)),
                false => Err(Refusal::TakesASecondWord(heard)),
            }
        }
    }
}

/// Returns whether a payment that stands as failed is open to a decision all the same; see [`super::failure`]. `retried`: a
/// retry of its row has not ended.
#[must_use]
pub fn is_open(word: Word, retried: bool) -> bool {
    match word {
        Word::TakenBack => true,
        Word::Person { .. } => retried,
        Word::Gateway | Word::Both => false,
    }
}

/// When a payment that may still be executed has had its time; `None`: it was never posted.
fn given_up_at(life: &Life, heard: Heard, policy: &Policy) -> Option<Timestamp> {
    // What an earlier journal may have posted counts from its load; a delivery from its own moment.
    let delivered = heard == Heard::Delivered || life.state == State::Delivered;
    let (since, longest): (Option<Timestamp>, Duration) = match delivered {
        true => (
            life.posted_at.max(life.quarantine_from),
            policy.delivered_give_up_after,
        ),
        false => (
            life.posted_at.or(life.quarantine_from),
            policy.give_up_after,
        ),
    };
    since.map(|since| since.after(longest))
}

/// Counts and amounts of payments that an order is about, each with the code that they have.
pub type ByCode = Vec<(Option<i32>, Tally)>;

/// Returns whether an order is about no more than what was shown before it was confirmed.
#[must_use]
pub fn is_within(shown: &ByCode, found: &ByCode) -> bool {
    #[cfg(test)]
    if crate::canary::Canary::OrderUnbounded.sings() {
        return true;
    }
    found.iter().all(|(code, found)| {
        let shown = shown.iter().find(|(shown, _)| shown == code);
        shown.is_some_and(|(_, shown)| {
            let fits = |(currency, minor)| minor <= shown.amounts.minor(currency);
            found.count <= shown.count && found.amounts.iter().all(fits)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::Canary;
    use crate::domain::Currency;
    use crate::lifecycle::Verdict;

    const HOUR: i64 = 3_600_000;
    const POSTED: i64 = 1_000 * HOUR;
    /// In doubt since its post.
    fn payment() -> Life {
        Life {
            state: State::InDoubt,
            attempts: 1,
            exposures: 1,
            posted_at: Some(after(0)),
            quarantine_from: Some(after(0)),
            ..Life::NEW
        }
    }

    fn after(hours: i64) -> Timestamp {
        Timestamp::from_millis(POSTED + hours * HOUR)
    }

    /// Known to the gateway, delivered an hour after its post.
    fn delivered() -> Life {
        Life {
            state: State::Delivered,
            known: true,
            quarantine_from: Some(after(1)),
            ..payment()
        }
    }

    fn accepted() -> Life {
        Life {
            state: State::Acknowledged,
            known: true,
            ..payment()
        }
    }

    /// Cases whose outcome is another than is right.
    fn wrong() -> Vec<String> {
        use Heard::*;
        use Refusal::*;
        let in_state = |state| Life { state, ..payment() };
        let presumed = Life {
            posted_at: None,
            attempts: 0,
            ..payment()
        };
        let never = Life {
            posted_at: None,
            quarantine_from: None,
            ..in_state(State::Conflict)
        };
        let forgotten = Life {
            known: true,
            ..payment()
        };
        let minutes = |minutes: i64| Timestamp::from_millis(POSTED + minutes * 60_000);
        let (early, late) = (after(23), after(24));
        let (before, behind) = (after(72), after(73));
        let cases = [
            // life, heard, second word, when, what follows
            (payment(), Some(Paid), true, behind, Err(IsPaid)),
            (in_state(State::Paid), Some(Paid), true, behind, Err(IsPaid)),
            (
                in_state(State::Conflict),
                Some(Paid),
                true,
                behind,
                Err(IsPaid),
            ),
            (
                in_state(State::Failed),
                Some(Failed),
                false,
                minutes(1),
                Ok(()),
            ),
            (
                in_state(State::Conflict),
                Some(Failed),
                false,
                minutes(1),
                Ok(()),
            ),
            (
                payment(),
                Some(NotFound),
                false,
                minutes(1),
                Err(TooEarlyForNotFound(minutes(2))),
            ),
            (
                payment(),
                Some(NotFound),
                true,
                minutes(1),
                Err(TooEarlyForNotFound(minutes(2))),
            ),
            (payment(), Some(NotFound), false, minutes(2), Ok(())),
            (
                presumed,
                Some(NotFound),
                false,
                minutes(1),
                Err(TooEarlyForNotFound(minutes(2))),
            ),
            (
                forgotten,
                Some(NotFound),
                true,
                early,
                Err(TooEarly(NotFound, late)),
            ),
            (
                forgotten,
                Some(NotFound),
                false,
                late,
                Err(TakesASecondWord(NotFound)),
            ),
            (forgotten, Some(NotFound), true, late, Ok(())),
            (
                accepted(),
                Some(Acknowledged),
                true,
                early,
                Err(TooEarly(Acknowledged, late)),
            ),
            (
                accepted(),
                Some(Acknowledged),
                false,
                late,
                Err(TakesASecondWord(Acknowledged)),
            ),
            (accepted(), Some(Acknowledged), true, late, Ok(())),
            (
                presumed,
                Some(Acknowledged),
                true,
                early,
                Err(TooEarly(Acknowledged, late)),
            ),
            (
                delivered(),
                Some(Delivered),
                true,
                before,
                Err(TooEarly(Delivered, behind)),
            ),
            (
                delivered(),
                Some(Delivered),
                false,
                behind,
                Err(TakesASecondWord(Delivered)),
            ),
            (delivered(), Some(Delivered), true, behind, Ok(())),
            (
                delivered(),
                Some(Nothing),
                true,
                before,
                Err(TooEarly(Nothing, behind)),
            ),
            (
                in_state(State::Conflict),
                Some(Delivered),
                true,
                late,
                Err(TooEarly(Delivered, after(72))),
            ),
            (
                payment(),
                Some(Nothing),
                true,
                early,
                Err(TooEarly(Nothing, late)),
            ),
            (
                payment(),
                Some(Nothing),
                false,
                late,
                Err(TakesASecondWord(Nothing)),
            ),
            (payment(), Some(Nothing), true, late, Ok(())),
            (
                payment(),
                Some(CannotBeAsked),
                true,
                early,
                Err(TooEarly(CannotBeAsked, late)),
            ),
            (
                payment(),
                Some(CannotBeAsked),
                false,
                late,
                Err(TakesASecondWord(CannotBeAsked)),
            ),
            (payment(), Some(CannotBeAsked), true, late, Ok(())),
            (
                never,
                Some(CannotBeAsked),
                false,
                late,
                Err(TakesASecondWord(CannotBeAsked)),
            ),
            (never, Some(CannotBeAsked), true, minutes(0), Ok(())),
            // Nobody asked: nothing had left when the order was given.
            (Life::NEW, None, false, minutes(0), Ok(())),
            (in_state(State::Posting), None, false, minutes(0), Ok(())),
            (payment(), None, true, behind, Err(LearnedMeanwhile)),
            (
                in_state(State::Ready),
                None,
                true,
                behind,
                Err(LearnedMeanwhile),
            ),
        ];
        let policy = Policy::default();
        let mut wrong = Vec::new();
        for (life, heard, although, now, expected) in cases {
            let asked = Asked {
                heard,
                learned: false,
                said_paid: false,
                although,
            };
            if may_fail(&life, asked, now, &policy) != expected {
                wrong.push(format!("{life:?} {asked:?} {now}: expected {expected:?}"));
            }
            // Whatever was heard, it counts no more once something else was learned.
            let learned = may_fail(
                &life,
                Asked {
                    learned: true,
                    ..asked
                },
                now,
                &policy,
            );
            if learned.is_ok() {
                wrong.push(format!("{life:?} {asked:?}: something was learned"));
            }
        }
        wrong
    }

    #[test]
    fn a_payment_fails_by_an_operators_word_only_where_it_can_no_longer_be_paid() {
        assert_eq!(wrong(), Vec::<String>::new());
        let _awake = Canary::FailedUnasked.wake();
        assert!(wrong().len() > 20, "the planted mistake is found");
    }

    #[test]
    fn what_may_have_arrived_is_asked_about_first() {
        let asked: Vec<_> = State::ALL
            .into_iter()
            .filter(|state| {
                is_asked_first(&Life {
                    state: *state,
                    ..payment()
                })
            })
            .collect();
        let expected = [
            State::Ready,
            State::InDoubt,
            State::Acknowledged,
            State::Delivered,
            State::Conflict,
        ];
        assert_eq!(asked, expected);
        assert!(!is_asked_first(&Life::NEW), "it never left");
    }

    #[test]
    fn only_an_entry_of_a_status_reply_says_something() {
        let ours = About::default();
        let other = About {
            other: true,
            ..ours
        };
        let taken = About {
            taken: true,
            ..ours
        };
        let of_another = About {
            other: true,
            ..taken
        };
        let recognised = About {
            recognised: true,
            ..taken
        };
        use Heard::{Nothing, Strangers};
        for (class, heard, unnamed, named) in [
            // Of ours; of an identifier that was there before, with nothing named, and with another amount.
            (Class::Paid, Heard::Paid, Strangers, Strangers),
            (Class::Failed, Heard::Failed, Heard::Failed, Strangers),
            (
                Class::Acknowledged,
                Heard::Acknowledged,
                Heard::Acknowledged,
                Nothing,
            ),
            (
                Class::Delivered,
                Heard::Delivered,
                Heard::Delivered,
                Nothing,
            ),
            (Class::NotFound, Heard::NotFound, Heard::NotFound, Nothing),
            (Class::Refused, Nothing, Nothing, Nothing),
            (Class::NoFloat, Nothing, Nothing, Nothing),
            (Class::Duplicate, Nothing, Nothing, Nothing),
            (Class::InDoubt, Nothing, Nothing, Nothing),
        ] {
            let verdict = Verdict { class, code: 1 };
            let answer = Event::Answer(verdict);
            assert_eq!(Heard::of(answer, ours), heard);
            assert_eq!(Heard::of(answer, recognised), heard, "it names ours");
            assert_eq!(Heard::of(answer, other), Nothing);
            assert_eq!(Heard::of(answer, taken), unnamed);
            assert_eq!(Heard::of(answer, of_another), named);
            assert_eq!(Heard::of(Event::Reply(verdict), ours), Nothing);
        }
        assert_eq!(Heard::of(Event::NoAnswer, ours), Nothing);
    }

    #[test]
    fn what_was_called_paid_once_takes_a_second_word() {
        let conflict = Life {
            state: State::Conflict,
            ..accepted()
        };
        let doubt = Life {
            known: false,
            ..conflict
        };
        use Heard::{Acknowledged, Failed, NotFound};
        use Refusal::{TakesASecondWord, WasSaidToBePaid};
        for (life, heard, said_paid, expected) in [
            (conflict, Failed, false, Ok(())),
            (conflict, Failed, true, Err(WasSaidToBePaid(Failed))),
            (doubt, NotFound, false, Ok(())),
            (doubt, NotFound, true, Err(WasSaidToBePaid(NotFound))),
            (
                conflict,
                Acknowledged,
                true,
                Err(WasSaidToBePaid(Acknowledged)),
            ),
            // Somebody else's needs no time, as ours was refused.
            (
                conflict,
                Heard::Strangers,
                false,
                Err(TakesASecondWord(Heard::Strangers)),
            ),
            (
                conflict,
                Heard::Strangers,
                true,
                Err(TakesASecondWord(Heard::Strangers)),
            ),
        ] {
            for although in [false, true] {
                let asked = Asked {
                    heard: Some(heard),
                    learned: false,
                    said_paid,
                    although,
                };
                let expected = if although { Ok(()) } else { expected };
                let found = may_fail(&life, asked, after(80), &Policy::default());
                assert_eq!(found, expected, "{heard:?}, called paid: {said_paid}");
            }
        }
        let word = |word, retried| is_open(word, retried);
        let person = Word::Person { expressly: false };
        assert!(word(Word::TakenBack, false) && word(person, true));
        assert!(!word(person, false) && !word(Word::Gateway, true) && !word(Word::Both, true));
    }

    #[test]
    fn an_order_is_about_no_more_than_was_shown() {
        let kes = Currency::from_code("KES").expect("known");
        let ugx = Currency::from_code("UGX").expect("known");
        let tally = |count, currency, minor| {
            let mut tally = Tally::default();
            tally.add_many(count, currency, minor);
            tally
        };
        let shown = vec![(Some(110), tally(3, kes, 900)), (None, tally(1, kes, 100))];
        for (found, within) in [
            (vec![], true),
            (vec![(Some(110), tally(3, kes, 900))], true),
            (vec![(Some(110), tally(2, kes, 800))], true),
            (vec![(Some(110), tally(4, kes, 900))], false),
            (vec![(Some(110), tally(3, kes, 901))], false),
            (vec![(Some(110), tally(3, ugx, 1))], false),
            (vec![(Some(120), tally(1, kes, 1))], false),
            (
                vec![(None, tally(1, kes, 100)), (Some(110), tally(1, kes, 1))],
                true,
            ),
        ] {
            assert_eq!(is_within(&shown, &found), within, "{found:?}");
        }
        let _awake = Canary::OrderUnbounded.wake();
        let more = vec![(Some(110), tally(4, kes, 900))];
        assert!(is_within(&shown, &more), "the table finds it");
    }
}
