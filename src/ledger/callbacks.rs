//! What becomes of a callback: whether it is read, whether it repeats another one, and whether there is room for it.
//!
//! Whoever may call is genuine, and may still call again, too late, about another payment, or without end. None of that may cost a word
//! that counts. What a callback that is kept makes of its payment is said by [`super::evidence::apply`].

use super::failure::{Mark, has_ended_unpaid};
use super::pin::READ_AS_DOCUMENT;
use super::room::{Brings, Kept, has_room};
use crate::lifecycle::{Class, Event, PaymentState, Policy, StepContext, step};

/// A gateway, and the way in which its replies are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// Where payments are posted; `None`: nowhere yet, or nobody knows.
    pub gateway: Option<&'a str>,
    /// By which dialect; `None`: as the document has it.
    pub dialect: Option<&'a str>,
}

impl<'a> Reading<'a> {
    fn named(self) -> &'a str {
        self.dialect.unwrap_or(READ_AS_DOCUMENT)
    }
}

/// Returns why a listener does not know what a callback about a payment says. How replies are read stays with the batch: what
/// is read in another way, or for another gateway, might end it otherwise.
#[must_use]
pub fn misread(batch: Reading<'_>, listener: Reading<'_>) -> Option<&'static str> {
    // Else nothing of it was posted.
    let gateway = batch.gateway?;
    match listener.gateway {
        Some(of_listener) if of_listener != gateway => {
            Some("heard by a listener of another gateway, and not read")
        }
        _ if batch.named() != listener.named() => {
            Some("heard by a listener with another dialect or other codes, and not read")
        }
        _ => None,
    }
}

/// A callback that is kept of a payment, beside the one that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// It is words about the payment, and not something that was set aside.
    pub is_words: bool,
    /// Words of the same class and code.
    pub is_alike: bool,
    /// The same body, byte by byte.
    pub is_same: bool,
}

/// What is kept of a payment's callbacks, beside the one that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// As it takes room.
    pub kept: Kept,
    /// The very same is among it.
    pub is_repeat: bool,
}

impl Heard {
    /// Counts one more that is kept.
    pub fn count(&mut self, earlier: Earlier) {
        match earlier.is_words {
            true => {
                self.kept.words += 1;
                self.kept.same |= earlier.is_alike;
            }
            false => self.kept.junk += 1,
        }
        self.is_repeat |= earlier.is_same;
    }

    /// Returns how many are kept with the one that came.
    #[must_use]
    pub fn with_this(&self) -> i64 {
        i64::from(self.kept.words + self.kept.junk) + 1
    }
}

/// A callback that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What it says; `None`: nobody can read it.
    pub event: Option<Event>,
    /// It names another amount, currency or number than ours.
    pub is_other: bool,
}

impl Call {
    /// Returns whether it makes doubtful that a payment which stands like this was not paid.
    // The first since the gateway's last word does. What came before that word says nothing of it, be there as much as may be kept, or the
    // same: else the retry would leave.
    #[must_use]
    pub fn casts_doubt(self, life: &PaymentState) -> bool {
        let mark = match self.event {
            Some(Event::Callback(meaning)) if self.is_other => Mark::Otherwise(meaning.class),
            Some(Event::Callback(meaning)) => Mark::Callback(meaning.class),
            _ => Mark::Unreadable,
        };
        // What the gateway has under an identifier that is somebody else's is not ours, whatever is said of it.
        has_ended_unpaid(life.state) && !life.taken && mark.casts_doubt()
    }

    fn brings(
        self,
        life: &PaymentState,
        is_first_doubt: bool,
        moment: StepContext,
        policy: &Policy,
    ) -> Brings {
        match self.event {
            _ if is_first_doubt => Brings::Doubt,
            Some(event) if !self.is_other => Brings::Words {
                is_final: matches!(
                    event,
                    Event::Callback(meaning) if matches!(meaning.class, Class::Paid | Class::Failed)
                ),
                moves: step(life, event, moment, policy).life.state != life.state,
            },
            _ => Brings::Junk,
        }
    }
}

/// What becomes of a callback. One that is not kept changes nothing, and is acknowledged all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is kept already.
    Repeat,
    /// There is no room for it.
    TooMany,
    /// It is kept.
    Kept,
}

/// Returns what becomes of a callback about a payment that stands like this. `is_first_doubt`: it [casts doubt](Call::casts_doubt) on its
/// end, and nothing on record has done so since the gateway said it last.
#[must_use]
pub fn admission(
    call: Call,
    life: &PaymentState,
    heard: Heard,
    is_first_doubt: bool,
    moment: StepContext,
    policy: &Policy,
) -> Admission {
    if heard.is_repeat && !is_first_doubt {
        return Admission::Repeat;
    }
    match has_room(
        heard.kept,
        call.brings(life, is_first_doubt, moment, policy),
    ) {
        true => Admission::Kept,
        false => Admission::TooMany,
    }
}

/// Returns what becomes of a callback about a row without an amount.
// It was never posted from here: another journal may have done so. Once the row has its amount, it is asked about first.
#[must_use]
pub fn admission_early(event: Option<Event>, heard: Heard) -> Admission {
    if heard.is_repeat {
        return Admission::Repeat;
    }
    let has_room = match event {
        Some(_) => {
            // All that is kept of such a row is kept as this is.
            let kept = Kept {
                words: heard.kept.junk,
                same: true,
                ..heard.kept
            };
            let brings = Brings::Words {
                is_final: false,
                moves: false,
            };
            has_room(kept, brings)
        }
        None => has_room(heard.kept, Brings::Junk),
    };
    match has_room {
        true => Admission::Kept,
        false => Admission::TooMany,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::lifecycle::{CodeMeaning, State};
    use crate::seeded_bugs::SeededBug;

    #[test]
    fn a_callback_is_read_only_as_its_batch_is() {
        const GATEWAY: &str = "heard by a listener of another gateway, and not read";
        const DIALECT: &str =
            "heard by a listener with another dialect or other codes, and not read";
        let reading = |gateway, dialect| Reading { gateway, dialect };
        for (batch, listener, expected) in [
            ((Some("g"), None), (Some("g"), None), None),
            ((Some("g"), None), (Some("g"), Some("document")), None),
            ((Some("g"), Some("d")), (Some("g"), Some("d")), None),
            ((Some("g"), None), (Some("h"), None), Some(GATEWAY)),
            ((Some("g"), Some("d")), (Some("h"), None), Some(GATEWAY)),
            ((Some("g"), Some("d")), (Some("g"), None), Some(DIALECT)),
            ((Some("g"), None), (Some("g"), Some("d")), Some(DIALECT)),
            // A listener without a gateway of its own hears for all of them.
            ((Some("g"), Some("d")), (None, Some("d")), None),
            ((Some("g"), Some("d")), (None, None), Some(DIALECT)),
            // Nothing was posted: no reply was ever read otherwise.
            ((None, Some("d")), (Some("h"), None), None),
        ] {
            let found = misread(reading(batch.0, batch.1), reading(listener.0, listener.1));
            assert_eq!(found, expected, "{batch:?} {listener:?}");
        }
    }

    #[test]
    fn what_is_kept_takes_room_by_its_kind() {
        let earlier = |is_words, is_alike, is_same| Earlier {
            is_words,
            is_alike,
            is_same,
        };
        for (stored, words, junk, same, is_repeat) in [
            (&[][..], 0, 0, false, false),
            (&[earlier(true, false, false)], 1, 0, false, false),
            (&[earlier(true, true, false)], 1, 0, true, false),
            // What was set aside is no word of this code, whatever code stands with it.
            (&[earlier(false, true, false)], 0, 1, false, false),
            (&[earlier(false, false, true)], 0, 1, false, true),
            (
                &[
                    earlier(true, true, true),
                    earlier(true, false, false),
                    earlier(false, false, false),
                ],
                2,
                1,
                true,
                true,
            ),
        ] {
            let mut heard = Heard::default();
            stored.iter().for_each(|one| heard.count(*one));
            let kept = Kept { words, junk, same };
            assert_eq!(heard, Heard { kept, is_repeat }, "{stored:?}");
            assert_eq!(heard.with_this(), i64::from(words + junk) + 1);
        }
    }

    fn says(class: Class) -> Call {
        let code = 1;
        Call {
            event: Some(Event::Callback(CodeMeaning { class, code })),
            is_other: false,
        }
    }

    fn of_another(class: Class) -> Call {
        Call {
            is_other: true,
            ..says(class)
        }
    }

    const UNREADABLE: Call = Call {
        event: None,
        is_other: false,
    };

    fn life(state: State) -> PaymentState {
        PaymentState {
            state,
            ..PaymentState::NEW
        }
    }

    #[test]
    fn whatever_is_said_of_what_ended_unpaid_but_failed_casts_doubt() {
        let strangers = PaymentState {
            taken: true,
            ..life(State::Failed)
        };
        for (life, call, expected) in [
            (life(State::Failed), says(Class::Paid), true),
            (life(State::Failed), says(Class::Acknowledged), true),
            (life(State::Failed), says(Class::Failed), false),
            (life(State::Failed), of_another(Class::Failed), true),
            (life(State::Failed), UNREADABLE, true),
            (life(State::Cancelled), UNREADABLE, true),
            (life(State::Cancelled), says(Class::Refused), false),
            (strangers, says(Class::Paid), false),
            (life(State::Paid), UNREADABLE, false),
            (life(State::Acknowledged), says(Class::Paid), false),
            (life(State::Conflict), says(Class::Paid), false),
        ] {
            assert_eq!(call.casts_doubt(&life), expected, "{life:?} {call:?}");
        }
    }

    /// What is kept: so many words, so much junk, whether the code is among them, and whether the very same is.
    fn heard(words: u32, junk: u32, same: bool, is_repeat: bool) -> Heard {
        let kept = Kept { words, junk, same };
        Heard { kept, is_repeat }
    }

    fn wrong() -> Vec<String> {
        use Admission::{Kept, Repeat, TooMany};
        let moment = StepContext {
            now: Timestamp::from_millis(1),
            jitter: 0,
        };
        let (none, same) = (heard(0, 0, false, false), heard(1, 0, true, true));
        let (full, junk) = (heard(56, 8, true, false), heard(0, 8, false, false));
        let mut wrong = Vec::new();
        for (state, call, heard, is_first_doubt, expected) in [
            (State::Acknowledged, says(Class::Paid), none, false, Kept),
            (State::Acknowledged, UNREADABLE, none, false, Kept),
            // The very same again adds nothing, unless it is the first doubt since the gateway said "failed" last.
            (State::Paid, says(Class::Paid), same, false, Repeat),
            (
                State::Failed,
                says(Class::Acknowledged),
                same,
                false,
                Repeat,
            ),
            (State::Failed, says(Class::Acknowledged), same, true, Kept),
            // However many there are, what moves a payment, and the first of a final code, has room.
            (State::Acknowledged, says(Class::Paid), full, false, Kept),
            (State::Paid, says(Class::Paid), full, false, TooMany),
            (
                State::Acknowledged,
                says(Class::Acknowledged),
                full,
                false,
                TooMany,
            ),
            (
                State::Paid,
                says(Class::Failed),
                heard(56, 0, false, false),
                false,
                Kept,
            ),
            // What cannot be read, and what is about another payment, takes no room of words.
            (State::Acknowledged, UNREADABLE, junk, false, TooMany),
            (
                State::Acknowledged,
                of_another(Class::Paid),
                junk,
                false,
                TooMany,
            ),
            (
                State::Acknowledged,
                says(Class::Acknowledged),
                junk,
                false,
                Kept,
            ),
            (State::Failed, UNREADABLE, junk, true, Kept),
        ] {
            let life = life(state);
            let found = admission(
                call,
                &life,
                heard,
                is_first_doubt,
                moment,
                &Policy::default(),
            );
            if found != expected {
                wrong.push(format!("{state:?} {call:?} {heard:?}: {found:?}"));
            }
        }
        wrong
    }

    #[test]
    fn a_callback_that_counts_is_always_kept_and_none_is_kept_twice() {
        assert_eq!(wrong(), Vec::<String>::new());
        let _awake = SeededBug::JunkFillsTheRoom.wake();
        assert!(wrong().len() > 1, "the planted mistake is found");
    }

    #[test]
    fn a_row_without_an_amount_has_room_for_words_and_for_little_else() {
        use Admission::{Kept, Repeat, TooMany};
        let words = says(Class::Paid).event;
        for (event, heard, expected) in [
            (words, heard(0, 0, false, false), Kept),
            (words, heard(0, 55, false, false), Kept),
            (words, heard(0, 56, false, false), TooMany),
            (words, heard(0, 1, false, true), Repeat),
            (None, heard(0, 7, false, false), Kept),
            (None, heard(0, 8, false, false), TooMany),
        ] {
            assert_eq!(
                admission_early(event, heard),
                expected,
                "{event:?} {heard:?}"
            );
        }
    }
}
