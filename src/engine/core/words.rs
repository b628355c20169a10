//! Words that are not about us: too many in a row, and nothing more is posted.

use super::ending::Ending;
use crate::journal::{Heard, Transition};
use crate::ledger::Streak;
use crate::lifecycle::State;

/// What was heard in a row, over all payments.
#[derive(Debug, Default)]
pub(super) struct Words {
    other: Streak,
    taken: Streak,
}

impl Words {
    /// Returns how the run ends when one reply after another names what is not ours: most likely it is we who read them wrongly.
    /// So it does when the gateway has one identifier after another before we post it: most likely an earlier journal has.
    pub(super) fn note(&mut self, moved: &Transition) -> Option<Ending> {
        match moved.heard {
            Heard::Nothing => None,
            Heard::Taken => self.taken.goes_on(moved.seq).map(Ending::Taken),
            Heard::Ours | Heard::Unnamed => {
                // Words that name nothing say nothing of how we read those that do.
                if moved.heard == Heard::Ours {
                    self.other.ends();
                }
                // Of the replies to posts alone: what is taken is asked about meanwhile.
                if moved.from == State::Posting {
                    self.taken.ends();
                }
                None
            }
            // What has ended is asked about for the sake of its retry: whoever has its identifier says so each time, and that retry
            // would never wait long enough.
            Heard::Other if moved.life.state.is_finished() => None,
            Heard::Other => self.other.goes_on(moved.seq).map(Ending::Misread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency, LaneId, Money, PaymentId};
    use crate::lifecycle::PaymentState;

    #[test]
    fn words_about_what_has_ended_stop_nothing() {
        let mut heard = Words::default();
        for seq in 0..20 {
            let ended = Transition {
                life: PaymentState {
                    state: State::Failed,
                    ..PaymentState::NEW
                },
                ..moved(seq, Heard::Other)
            };
            assert_eq!(heard.note(&ended), None);
        }
    }

    fn moved(seq: i64, heard: Heard) -> Transition {
        Transition {
            seq: PaymentId::new(seq),
            lane: LaneId::new(1),
            from: State::Posting,
            life: PaymentState::NEW,
            money: Money {
                amount: Amount::from_minor(100).unwrap(),
                currency: Currency::from_code("KES").unwrap(),
            },
            heard,
        }
    }

    #[test]
    fn only_words_that_name_what_is_ours_end_a_row_of_those_that_do_not() {
        use Heard::{Nothing, Other, Ours, Taken, Unnamed};
        for (words, expected) in [
            (&[Other; 9][..], None),
            (&[Other; 10], Some(Ending::Misread(PaymentId::new(0)))),
            (&[Taken; 10], Some(Ending::Taken(PaymentId::new(0)))),
            (
                // Replies to posts that name nothing, between answers that are misread.
                &[
                    Other, Unnamed, Other, Unnamed, Other, Nothing, Other, Unnamed, Other, Taken,
                    Other, Other, Other, Unnamed, Other, Other,
                ],
                Some(Ending::Misread(PaymentId::new(0))),
            ),
            (
                &[
                    Other, Other, Other, Other, Other, Ours, Other, Other, Other, Other, Other,
                ],
                None,
            ),
            (
                // A reply to a first post, whether it names anything, is not 229.
                &[
                    Taken, Taken, Taken, Taken, Taken, Unnamed, Taken, Taken, Taken, Taken, Taken,
                ],
                None,
            ),
        ] {
            let mut heard = Words::default();
            let ending = words
                .iter()
                .enumerate()
                .find_map(|(seq, word)| heard.note(&moved(i64::try_from(seq).unwrap(), *word)));
            assert_eq!(ending, expected, "{words:?}");
        }
    }
}
