//! Where a payment stands, with what was said of it: all that its evidence tells, added up row by row.

use super::words::keeping;
use crate::domain::Timestamp;
use crate::ledger::told_identifier::worth_keeping;
use crate::lifecycle::{PaymentState, Policy, RecordedEvent, State, fold, proven};

/// Where a payment stands, with what was said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub life: PaymentState,
    /// When it ended.
    pub settled_at: Option<i64>,
    /// Identifier, receipt, narration and description, as the gateway gave them.
    pub words: [Option<String>; 4],
    /// The receipt of a delivery to the bank.
    pub application_id: Option<String>,
}

/// Names of [`Standing::words`] in the details of evidence.
pub const WORDS: [&str; 4] = [
    "gateway_transaction_id",
    "receipt_number",
    "receiver_narration",
    "description",
];

impl Standing {
    /// One that was loaded and never sent.
    pub const NEW: Self = Self {
        life: PaymentState::NEW,
        settled_at: None,
        words: [None, None, None, None],
        application_id: None,
    };

    /// Learns one more row of evidence, and the words that stand with it.
    pub fn learn(
        &mut self,
        fact: RecordedEvent,
        at: Timestamp,
        words: [Option<String>; 4],
        policy: &Policy,
    ) {
        let from = self.life.state;
        match fact {
            RecordedEvent::Note => return,
            RecordedEvent::Stood(life) => *self = Self { life, ..Self::NEW },
            RecordedEvent::PresumedPosted | RecordedEvent::Released | RecordedEvent::Event(_) => {
                self.life = fold(&self.life, fact, at, policy);
            }
        }
        let RecordedEvent::Event(event) = fact else {
            return;
        };
        let to = self.life.state;
        if to != from && to.is_finished() {
            self.settled_at = Some(at.as_millis());
        }
        let keeping = keeping(event, from, to);
        let [id, receipt, narration, description] = words;
        if keeping.is_delivery && self.application_id.is_none() {
            self.application_id.clone_from(&receipt);
        }
        let id = id.filter(|id| worth_keeping(Some(id)).is_some());
        let words = [id, receipt, narration, description];
        for (known, said) in self.words.iter_mut().zip(words) {
            if said.is_some() && !(keeping.fills_gaps && known.is_some()) {
                *known = said;
            }
        }
    }

    /// Returns what of this, as it is stored, its evidence does not add up to.
    #[must_use]
    pub fn differences(&self, replayed: &Self) -> Vec<String> {
        let (a, b) = (proven(self.life), proven(replayed.life));
        let said = |stored: &dyn std::fmt::Debug, replayed: &dyn std::fmt::Debug, name: &str| {
            format!("{name} is {stored:?}, but its evidence adds up to {replayed:?}")
        };
        let mut differences = Vec::new();
        macro_rules! compare {
            ($($member:ident)*) => {$(
                if a.$member != b.$member {
                    differences.push(said(&a.$member, &b.$member, stringify!($member)));
                }
            )*};
        }
        compare!(state code attempts posted_at exposures known taken not_found quarantine_from);
        if self.settled_at != replayed.settled_at {
            differences.push(said(&self.settled_at, &replayed.settled_at, "settled_at"));
        }
        if self.application_id != replayed.application_id {
            differences.push("application_id is not what its evidence says".to_owned());
        }
        // A narration may hold a prepaid token: what differs is named, not shown.
        for ((name, stored), replayed) in WORDS.iter().zip(&self.words).zip(&replayed.words) {
            if stored != replayed {
                differences.push(format!("{name} is not what its evidence says"));
            }
        }
        differences
    }
}

/// Returns what of a row without an amount, as it is stored, does not fit; `withdrawn` is when its evidence says so.
// It was never posted; a callback or a presumption about it may be on record all the same.
#[must_use]
pub fn misfits_without_amount(
    stored: &Standing,
    replayed: &PaymentState,
    withdrawn: Option<i64>,
) -> Vec<&'static str> {
    let is_withdrawn = stored.life.state == State::Cancelled && withdrawn.is_some();
    let misfits = [
        (
            is_withdrawn,
            " has a state, but no amount, and was not withdrawn",
        ),
        (
            stored.settled_at == withdrawn,
            ": settled_at is not the time of its withdrawal",
        ),
        (
            was_untouched(&stored.life, replayed),
            " was never posted, but its state says that it was",
        ),
    ];
    let misfits = misfits.into_iter().filter(|(fits, _)| !fits);
    misfits.map(|(_, what)| what).collect()
}

/// Returns whether a life says of posts what its evidence says, or nothing.
fn was_untouched(stored: &PaymentState, replayed: &PaymentState) -> bool {
    macro_rules! untouched {
        ($($member:ident)*) => {
            $((stored.$member == replayed.$member || stored.$member == PaymentState::NEW.$member))&&*
        };
    }
    untouched!(code attempts posted_at exposures known taken not_found quarantine_from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::{Class, CodeMeaning, Event};

    fn callback(class: Class, code: i32) -> RecordedEvent {
        RecordedEvent::Event(Event::Callback(CodeMeaning { class, code }))
    }

    /// What is said: an identifier, a receipt, and a description.
    fn words(said: &str) -> [Option<String>; 4] {
        let mut said = said.split(',').map(str::trim);
        let mut next = || {
            let word = said.next().filter(|word| !word.is_empty());
            word.map(str::to_owned)
        };
        [next(), next(), None, next()]
    }

    #[test]
    fn evidence_adds_up_row_by_row() {
        use Class::{Acknowledged, Delivered, Failed, Paid};
        let claimed = RecordedEvent::Event(Event::Claimed);
        // Facts with what was said, then state, end, words and application id.
        type Case<'a> = (
            &'a [(RecordedEvent, &'a str)],
            (State, Option<i64>, &'a str, Option<&'a str>),
        );
        let table: [Case<'_>; 9] = [
            (&[], (State::Ready, None, "", None)),
            (&[(claimed, "")], (State::Posting, None, "", None)),
            (
                &[(claimed, ""), (callback(Paid, 140), "T1, R1, done")],
                (State::Paid, Some(2), "T1, R1, done", None),
            ),
            // Later words replace earlier ones, until the end.
            (
                &[
                    (claimed, ""),
                    (callback(Acknowledged, 139), "T1, , taken"),
                    (callback(Paid, 140), "T2, R2, done"),
                ],
                (State::Paid, Some(3), "T2, R2, done", None),
            ),
            (
                &[
                    (claimed, ""),
                    (callback(Paid, 140), "T1, , done"),
                    (callback(Acknowledged, 139), "T2, R2, taken"),
                ],
                (State::Paid, Some(2), "T1, R2, done", None),
            ),
            (
                &[
                    (claimed, ""),
                    (callback(Failed, 110), "T1, , no"),
                    (callback(Paid, 140), "T2, R2, done"),
                ],
                (State::Conflict, Some(3), "T2, R2, done", None),
            ),
            // The first receipt of a delivery is the application's.
            (
                &[
                    (claimed, ""),
                    (callback(Delivered, 148), ", A1, on its way"),
                    (callback(Delivered, 148), ", A2, on its way"),
                    (callback(Paid, 140), ", R1, done"),
                ],
                (State::Paid, Some(4), ", R1, done", Some("A1")),
            ),
            // A note moves nothing, and says nothing of this payment.
            (
                &[(claimed, ""), (RecordedEvent::Note, "T1, R1, done")],
                (State::Posting, None, "", None),
            ),
            // What earlier evidence came to, and whatever was said before, begins anew.
            (
                &[
                    (callback(Paid, 140), "T1, R1, done"),
                    (RecordedEvent::Stood(PaymentState::NEW), ""),
                ],
                (State::Ready, None, "", None),
            ),
        ];
        for (facts, (state, settled_at, said, application_id)) in table {
            let mut standing = Standing::NEW;
            for (at, (fact, said)) in (1..).zip(facts) {
                let at = Timestamp::from_millis(at);
                standing.learn(*fact, at, words(said), &Policy::default());
            }
            let found = (
                standing.life.state,
                standing.settled_at,
                standing.words,
                standing.application_id.as_deref(),
            );
            let expected = (state, settled_at, words(said), application_id);
            assert_eq!(found, expected, "{facts:?}");
        }
    }

    #[test]
    fn a_replay_that_differs_is_told_without_what_was_said() {
        let replayed = Standing {
            settled_at: Some(7),
            words: words("T1, R1, done"),
            ..Standing::NEW
        };
        assert_eq!(replayed.differences(&replayed), Vec::<String>::new());
        let later = Standing {
            life: PaymentState {
                due_at: Some(Timestamp::from_millis(9)),
                queries: 3,
                ..PaymentState::NEW
            },
            ..replayed.clone()
        };
        let none = Vec::<String>::new();
        assert_eq!(later.differences(&replayed), none, "no evidence tells it");
        let edited = Standing {
            life: PaymentState {
                state: State::Paid,
                ..PaymentState::NEW
            },
            settled_at: None,
            words: words("T1, R2, done"),
            application_id: Some("A1".to_owned()),
        };
        assert_eq!(
            edited.differences(&replayed),
            [
                "state is Paid, but its evidence adds up to Ready",
                "settled_at is None, but its evidence adds up to Some(7)",
                "application_id is not what its evidence says",
                "receipt_number is not what its evidence says",
            ]
        );
    }

    #[test]
    fn a_row_without_an_amount_was_never_posted() {
        let presumed = PaymentState {
            exposures: 1,
            quarantine_from: Some(Timestamp::from_millis(1)),
            ..PaymentState::NEW
        };
        let posted = PaymentState {
            attempts: 1,
            ..PaymentState::NEW
        };
        for (stored, replayed, expected) in [
            (PaymentState::NEW, PaymentState::NEW, true),
            (PaymentState::NEW, presumed, true),
            (presumed, presumed, true),
            (presumed, PaymentState::NEW, false),
            (posted, PaymentState::NEW, false),
        ] {
            let stored = Standing {
                life: PaymentState {
                    state: State::Cancelled,
                    ..stored
                },
                settled_at: Some(7),
                ..Standing::NEW
            };
            let found = misfits_without_amount(&stored, &replayed, Some(7));
            assert_eq!(found.is_empty(), expected, "{stored:?} {replayed:?}");
        }
        let withdrawn = Standing {
            life: PaymentState {
                state: State::Cancelled,
                ..PaymentState::NEW
            },
            settled_at: Some(7),
            ..Standing::NEW
        };
        for (stored, at, misfits) in [
            (&withdrawn, Some(7), 0),
            (&withdrawn, Some(8), 1),
            // Nobody withdrew it: it has neither an end nor a life.
            (&withdrawn, None, 2),
            (&Standing::NEW, None, 1),
        ] {
            let found = misfits_without_amount(stored, &PaymentState::NEW, at);
            assert_eq!(found.len(), misfits, "{stored:?} {at:?}: {found:?}");
        }
    }
}
