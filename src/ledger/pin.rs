//! Which account of a gateway a batch belongs to.
//!
//! Another account at the same address says "not found" about everything that this one has, and two such answers let a
//! payment be posted again. So a batch keeps its account, as it keeps its gateway's address, from the moment on when
//! something of it may be there.

use crate::lifecycle::{Class, CodeMeaning, Event, PaymentState, State};

/// The way in which replies are read where nothing else is on record.
pub const READ_AS_DOCUMENT: &str = "document";

/// What becomes of the account of a batch when a run, a bill or an upload comes with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// It is the one on record.
    Stands,
    /// It is put on record: there was none, or nothing of the batch can be at the other one.
    Taken,
    /// Another one may have payments of the batch.
    Refused,
}

/// Judges the account that is configured by the one on record, or the way in which replies are read; `bound` says whether
/// something of the batch may be there, or may have been read.
#[must_use]
pub fn judge(on_record: Option<&str>, configured: &str, bound: bool) -> Pin {
    let pin = match on_record {
        Some(account) if account == configured => Pin::Stands,
        Some(_) if bound => Pin::Refused,
        Some(_) | None => Pin::Taken,
    };
    planted!(ledger::pin(pin))
}

/// Where a batch is to go: the gateway and the account that were configured when it was loaded, or that a person named since.
///
/// Who loads under one profile and runs under another has mistaken one of them, and nothing that was posted could show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The gateway's identity.
    pub gateway: String,
    /// The user name there, with the mark of the key that it shows itself by, where the key was there when the batch was loaded.
    pub user: String,
    /// The profile of the configuration that named both.
    pub profile: String,
}

impl Destination {
    /// Returns whether a batch goes there.
    #[must_use]
    pub fn is(&self, configured: &Self) -> bool {
        self.gateway == configured.gateway && self.names(configured)
    }

    /// Returns whether it is this account; without a key on record, whatever key the same profile shows.
    #[must_use]
    pub fn names(&self, configured: &Self) -> bool {
        let shows_a_key = self.user == user_of(&configured.user);
        self.user == configured.user || shows_a_key && self.profile == configured.profile
    }

    /// Returns whether a command may be configured for it that did not look for its keys, as only a run has to.
    #[must_use]
    pub fn may_be(&self, configured: &Self) -> bool {
        self.gateway == configured.gateway
            && (self.names(configured) || user_of(&self.user) == configured.user)
    }

    /// Returns whether another user name of the same profile mends the one that it has: `refused` says whether the gateway has let that one
    /// in to nothing of the batch. Without that, nobody knows which of the two was meant.
    ///
    /// Which profile a batch of an earlier release was first run under, nobody knows.
    #[must_use]
    pub fn is_mended(&self, configured: &Self, refused: bool) -> bool {
        let is_same = self.profile == configured.profile || self.profile.is_empty();
        self.gateway == configured.gateway && is_same && refused
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "account {} at {}", self.user, self.gateway)?;
        match self.profile.as_str() {
            "" => Ok(()),
            profile => write!(f, " (profile {profile})"),
        }
    }
}

/// Returns the user name of an account, without the mark of the key that it shows itself by.
fn user_of(account: &str) -> &str {
    let is_mark = |mark: &str| mark.len() == 8 && mark.bytes().all(|c| c.is_ascii_hexdigit());
    match account.rsplit_once('#') {
        Some((user, mark)) if is_mark(mark) => user,
        _ => account,
    }
}

/// What an order needs that moves a batch to another address of its gateway, or to another account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing: the batch belongs nowhere else.
    Needless,
    /// The word of the new place about a payment of the batch.
    Proof,
    /// Nothing more: nothing of the batch can be at the old place.
    Free,
    /// Something may be at the old place, and no payment can show that the new one has it.
    Impossible,
}

/// Judges an order to move a batch from the gateway or the account on record to the one that is configured; `bound` says whether
/// something of the batch may be there, `can_witness` whether a payment can show it.
#[must_use]
pub fn judge_move(
    on_record: Option<&str>,
    configured: &str,
    bound: bool,
    can_witness: bool,
) -> Move {
    match (on_record, can_witness, bound) {
        (None, _, _) => Move::Needless,
        (Some(gateway), _, _) if gateway == configured => Move::Needless,
        (Some(_), true, _) => Move::Proof,
        (Some(_), false, true) => Move::Impossible,
        (Some(_), false, false) => Move::Free,
    }
}

/// Returns whether a payment binds its batch to the account: a post of it was accepted there, or may have been.
///
/// What an earlier journal may have posted binds to nothing: nobody knows which account that one had. A post that was not
/// let in, never left, or was refused outright is at no account. Nor does a payment whose end a person decided: nobody is
/// asked about it any more, and otherwise a batch whose posts were all lost could never follow an account that got
/// another name.
#[must_use]
pub fn binds(life: &PaymentState) -> bool {
    let posted = life.attempts > 0;
    let open = match life.state {
        State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Conflict => true,
        State::Ready | State::Cancelled => life.is_exposed(),
        // By the gateway's word: such a payment can witness.
        State::Paid | State::Failed => false,
    };
    can_witness(life) || posted && open
}

/// Returns whether a payment can show that a new name is the same account: the gateway has shown to have it.
#[must_use]
pub fn can_witness(life: &PaymentState) -> bool {
    // An end that a person decided has no code.
    let told = life.code.is_some();
    let ended = match life.state {
        State::Paid | State::Conflict => told,
        // What was refused outright was never taken in.
        State::Failed => told && life.is_exposed(),
        State::Ready
        | State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Cancelled => false,
    };
    life.known || ended
}

/// Returns whether such a payment has not been ended by a person: one that was need not be known in the new place.
#[must_use]
pub fn can_witness_best(life: &PaymentState) -> bool {
    can_witness(life) && (life.code.is_some() || !life.state.is_finished())
}

/// Returns whether an answer to a status query shows that whoever asked is the account that has the payment.
#[must_use]
pub fn shows(event: Event) -> bool {
    match event {
        Event::Answer(verdict) => match verdict.class {
            Class::Paid | Class::Acknowledged | Class::Delivered => true,
            // A refusal, or an answer that says nothing of it, may be given to anybody.
            Class::Failed
            | Class::Refused
            | Class::NoFloat
            | Class::Duplicate
            | Class::NotFound
            | Class::InDoubt => false,
        },
        Event::Claimed
        | Event::Unsent
        | Event::Unauthorised
        | Event::Lost
        | Event::Abandoned
        | Event::Reply(_)
        | Event::NoAnswer
        | Event::Callback(_)
        | Event::DecidedPaid
        | Event::DecidedFailed
        | Event::Withdrawn
        | Event::Recognised
        | Event::NotOurs
        | Event::Superseded
        | Event::Outdated
        | Event::Reopened
        | Event::ShownPaid => false,
    }
}

/// Returns whether an answer tells what became of a payment: about one that nobody has made, it shows that such answers are worth nothing.
#[must_use]
pub fn claims_to_have(event: Event) -> bool {
    let has_failed = matches!(event, Event::Answer(verdict) if verdict.class == Class::Failed);
    has_failed || shows(event)
}

/// Returns what it is worth that the new place does not have a payment which was posted before the move, and has no end yet: no more than an
/// answer that says nothing. `None`: the answer stands as it is.
#[must_use]
pub fn not_found_after_a_move(event: Event, state: State) -> Option<Event> {
    let is_open = match state {
        State::Posting | State::InDoubt | State::Acknowledged | State::Delivered => true,
        State::Ready | State::Paid | State::Failed | State::Cancelled | State::Conflict => false,
    };
    match event {
        Event::Answer(verdict) if is_open && verdict.class == Class::NotFound => {
            Some(Event::Answer(CodeMeaning {
                class: Class::InDoubt,
                ..verdict
            }))
        }
        _ => None,
    }
}

/// What an answer says of a payment that the gateway has shown to have, and so of whether it comes from that gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testimony {
    /// Whoever answers has the payment.
    Bears,
    /// It does not have it.
    Lacks,
    /// It may be given to anybody, or says less than what is on record.
    Silent,
    /// It has another payment under the identifier: a rehearsal of the batch with a test system, or that of another journal.
    Contradicts,
}

/// Judges an answer of the new place. `named`: the gateway's own number of the payment, on record and in the answer; `is_ours`: no amount,
/// currency or number in the answer is another one.
#[must_use]
pub fn testimony(
    life: &PaymentState,
    named: (Option<&str>, Option<&str>),
    event: Event,
    is_ours: bool,
) -> Testimony {
    if let Event::Answer(verdict) = event
        && verdict.class == Class::NotFound
    {
        return Testimony::Lacks;
    }
    if !shows(event) {
        return Testimony::Silent;
    }
    let is_paid = matches!(event, Event::Answer(verdict) if verdict.class == Class::Paid);
    let is_other = matches!(named, (Some(on_record), Some(told)) if on_record != told);
    let is_unnamed = matches!(named, (Some(_), None));
    match life.state {
        _ if is_other || !is_ours => Testimony::Contradicts,
        State::Failed if is_paid => Testimony::Contradicts,
        State::Paid if !is_paid => Testimony::Silent,
        // Anybody could say so.
        _ if is_unnamed => Testimony::Silent,
        _ => Testimony::Bears,
    }
}

/// Where a batch belongs, as its row in the journal or its evidence has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongs {
    /// Whether it was loaded as a rehearsal; `None`: an earlier release loaded it.
    pub rehearsal: Option<bool>,
    /// Digest of the gateway that it is tied to, and of the form of its posts.
    pub gateway: Option<[u8; 32]>,
    /// The account that it is tied to.
    pub account: Option<String>,
    /// Digest of the way in which replies about it are read.
    pub reading: Option<String>,
}

/// Returns what of it is not as it was recorded.
#[must_use]
pub fn altered(stands: &Belongs, recorded: &Belongs) -> Option<&'static str> {
    match stands {
        _ if stands.rehearsal != recorded.rehearsal => {
            Some("whether the batch is a rehearsal is not as it was recorded")
        }
        _ if stands.gateway != recorded.gateway => {
            Some("the gateway that the batch is tied to is not as it was recorded")
        }
        _ if stands.account != recorded.account => {
            Some("the account that the batch is tied to is not as it was recorded")
        }
        _ if stands.reading != recorded.reading => {
            Some("the way in which replies about the batch are read is not as it was recorded")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_belongs_where_its_evidence_says() {
        let recorded = Belongs {
            rehearsal: Some(false),
            gateway: Some([1; 32]),
            account: Some("acme".into()),
            reading: Some("document".into()),
        };
        type Change = fn(&mut Belongs);
        let table: [(&str, Change, Option<&str>); 8] = [
            ("the same", |_| {}, None),
            (
                "made a rehearsal",
                |b| b.rehearsal = Some(true),
                Some("rehearsal"),
            ),
            ("made unknown", |b| b.rehearsal = None, Some("rehearsal")),
            (
                "another gateway",
                |b| b.gateway = Some([2; 32]),
                Some("gateway"),
            ),
            (
                "another account",
                |b| b.account = Some("x".into()),
                Some("account"),
            ),
            ("no account", |b| b.account = None, Some("account")),
            (
                "read in another way",
                |b| b.reading = Some("x".into()),
                Some("read"),
            ),
            ("read in no way", |b| b.reading = None, Some("read")),
        ];
        for (case, edit, expected) in table {
            let mut stands = recorded.clone();
            edit(&mut stands);
            let found = altered(&stands, &recorded);
            assert_eq!(found.is_some(), expected.is_some(), "{case}");
            assert!(
                found.unwrap_or("").contains(expected.unwrap_or("")),
                "{case}"
            );
        }
        assert_eq!(altered(&Belongs::default(), &Belongs::default()), None);
    }

    #[test]
    fn an_account_moves_freely_until_something_may_be_there() {
        for (on_record, configured, bound, expected) in [
            (None, "acme", false, Pin::Taken),
            // A batch of an earlier version has none on record: it takes that of its next run.
            (None, "acme", true, Pin::Taken),
            (Some("acme"), "acme", false, Pin::Stands),
            (Some("acme"), "acme", true, Pin::Stands),
            (Some("amce"), "acme", false, Pin::Taken),
            (Some("acme"), "other", true, Pin::Refused),
            // Names are compared as they are written: nobody knows which of them a gateway takes for the same.
            (Some("acme"), "Acme", true, Pin::Refused),
            (Some("acme"), "", true, Pin::Refused),
        ] {
            let found = judge(on_record, configured, bound);
            assert_eq!(found, expected, "{on_record:?} {configured} {bound}");
        }
        let _awake = crate::seeded_bugs::SeededBug::AccountForgotten.wake();
        assert_eq!(
            judge(Some("acme"), "other", true),
            Pin::Taken,
            "the table finds it"
        );
    }

    #[test]
    fn a_batch_goes_where_it_was_loaded_for_and_a_user_name_is_mended_that_the_gateway_refused() {
        let meant = Destination {
            gateway: "https://g.example".to_owned(),
            user: "acme".to_owned(),
            profile: "mother".to_owned(),
        };
        for (gateway, account, profile, refused, goes) in [
            ("https://g.example", "acme", "mother", false, true),
            // A profile may be called otherwise: the account is what counts.
            ("https://g.example", "acme", "renamed", false, true),
            // Whoever loaded it had no key: the profile alone says whose it is.
            ("https://g.example", "acme#0a1b2c3d", "mother", false, true),
            (
                "https://g.example",
                "acme#0a1b2c3d",
                "daughter",
                false,
                false,
            ),
            ("https://g.example", "acme#other", "mother", false, false),
            ("https://g.example", "Acme", "mother", false, false),
            ("https://g.example", "acme-ltd", "mother", true, true),
            // A variable that was forgotten, say.
            ("https://g.example", "acme-ltd", "mother", false, false),
            ("https://g.example", "acme-ltd", "daughter", true, false),
            // An address that was mended is another gateway, until a person says that it is the same.
            ("https://other.example", "acme", "mother", true, false),
            ("https://other.example", "acme-ltd", "mother", true, false),
        ] {
            let configured = Destination {
                gateway: gateway.to_owned(),
                user: account.to_owned(),
                profile: profile.to_owned(),
            };
            let found = meant.is(&configured) || meant.is_mended(&configured, refused);
            assert_eq!(found, goes, "{configured} {refused}");
        }
        let of_an_earlier_release = Destination {
            profile: String::new(),
            ..meant.clone()
        };
        for (refused, goes) in [(false, false), (true, true)] {
            let configured = Destination {
                user: "acme-ltd".to_owned(),
                ..meant.clone()
            };
            assert_eq!(of_an_earlier_release.is_mended(&configured, refused), goes);
        }
        let with_key = Destination {
            user: "acme#0a1b2c3d".to_owned(),
            ..meant
        };
        for (account, goes) in [
            ("acme#0a1b2c3d", true),
            ("acme#ffffffff", false),
            ("acme", false),
        ] {
            let configured = Destination {
                user: account.to_owned(),
                ..with_key.clone()
            };
            assert_eq!(with_key.names(&configured), goes, "{account}");
        }
    }

    #[test]
    fn a_gateway_moves_with_the_word_of_the_new_address_unless_nothing_is_at_the_old_one() {
        for (on_record, bound, can_witness, expected) in [
            (None, false, false, Move::Needless),
            (Some("new"), true, true, Move::Needless),
            (Some("old"), true, true, Move::Proof),
            (Some("old"), true, false, Move::Impossible),
            (Some("old"), false, false, Move::Free),
            // What can witness binds.
            (Some("old"), false, true, Move::Proof),
        ] {
            assert_eq!(
                judge_move(on_record, "new", bound, can_witness),
                expected,
                "{on_record:?} {bound} {can_witness}"
            );
        }
    }

    #[test]
    fn what_an_earlier_journal_may_have_posted_is_at_no_account_unless_a_post_of_ours_was_lost() {
        use crate::lifecycle::{Policy, RecordedEvent, fold};
        let (at, policy) = (crate::domain::Timestamp::from_millis(0), Policy::default());
        let after =
            |life: PaymentState, event| fold(&life, RecordedEvent::Event(event), at, &policy);
        for (event, attempts) in [
            (Event::Unsent, 0),
            (Event::Unauthorised, 0),
            (Event::Lost, 1),
        ] {
            let tried = after(after(PaymentState::NEW, Event::Claimed), event);
            let asked = fold(&tried, RecordedEvent::PresumedPosted, at, &policy);
            assert_eq!(
                (asked.attempts, asked.exposures),
                (attempts, 1),
                "{event:?}"
            );
            assert_eq!(binds(&asked), attempts > 0, "{event:?}");
        }
    }

    #[test]
    fn what_was_accepted_or_lost_binds_and_what_never_arrived_does_not() {
        let posted = |state| PaymentState {
            state,
            attempts: 1,
            ..PaymentState::NEW
        };
        for (life, expected) in [
            (PaymentState::NEW, false),
            // Not let in (132), never sent, no float (230): ready again.
            (posted(State::Ready), false),
            (posted(State::Posting), true),
            (posted(State::InDoubt), true),
            (posted(State::Acknowledged), true),
            (posted(State::Delivered), true),
            // Decided by a person.
            (posted(State::Paid), false),
            (
                PaymentState {
                    exposures: 1,
                    ..posted(State::Failed)
                },
                false,
            ),
            // Told by the gateway.
            (
                PaymentState {
                    code: Some(140),
                    ..posted(State::Paid)
                },
                true,
            ),
            (
                PaymentState {
                    exposures: 1,
                    code: Some(141),
                    ..posted(State::Failed)
                },
                true,
            ),
            (posted(State::Conflict), true),
            // Refused outright.
            (posted(State::Failed), false),
            (posted(State::Cancelled), false),
            // A post of it was lost, whatever became of it then.
            (
                PaymentState {
                    exposures: 1,
                    ..posted(State::Ready)
                },
                true,
            ),
            // An earlier journal may have posted it, to whichever account.
            (
                PaymentState {
                    state: State::InDoubt,
                    exposures: 1,
                    ..PaymentState::NEW
                },
                false,
            ),
            // This account has shown that it has it.
            (
                PaymentState {
                    state: State::Failed,
                    exposures: 1,
                    known: true,
                    ..PaymentState::NEW
                },
                true,
            ),
        ] {
            assert_eq!(binds(&life), expected, "{life:?}");
        }
    }

    #[test]
    fn what_the_gateway_has_shown_to_have_can_witness() {
        let ended = |state, code, exposures, known| PaymentState {
            state,
            code,
            exposures,
            known,
            ..PaymentState::NEW
        };
        for (life, expected) in [
            (ended(State::Paid, Some(140), 0, false), true),
            // Decided by a person.
            (ended(State::Paid, None, 1, false), false),
            (ended(State::Failed, Some(110), 0, false), false),
            (ended(State::Failed, Some(141), 1, false), true),
            (ended(State::Conflict, Some(141), 1, false), true),
            (ended(State::InDoubt, None, 1, false), false),
            (ended(State::InDoubt, None, 1, true), true),
            (ended(State::Acknowledged, Some(139), 1, true), true),
            (PaymentState::NEW, false),
        ] {
            assert_eq!(can_witness(&life), expected, "{life:?}");
            assert_eq!(can_witness_best(&life), expected, "{life:?}");
            assert!(!expected || binds(&life), "{life:?}");
        }
    }

    #[test]
    fn that_the_new_place_does_not_have_what_went_to_the_old_one_proves_nothing() {
        let answer = |class| Event::Answer(CodeMeaning { class, code: 143 });
        let unclear = Some(answer(Class::InDoubt));
        for state in State::ALL {
            let is_open = matches!(
                state,
                State::Posting | State::InDoubt | State::Acknowledged | State::Delivered
            );
            for (class, _) in Class::ALL {
                let expected = unclear.filter(|_| is_open && class == Class::NotFound);
                let found = not_found_after_a_move(answer(class), state);
                assert_eq!(found, expected, "{state:?} {class:?}");
            }
            assert_eq!(not_found_after_a_move(Event::NoAnswer, state), None);
        }
    }

    #[test]
    fn whoever_has_another_payment_under_an_identifier_is_another_gateway() {
        use Testimony::{Bears, Contradicts, Lacks, Silent};
        let answer = |class| Event::Answer(CodeMeaning { class, code: 1 });
        let at = |state| PaymentState {
            state,
            ..PaymentState::NEW
        };
        let same = (Some("g1"), Some("g1"));
        for (state, named, class, is_ours, expected) in [
            (State::Paid, same, Class::Paid, true, Bears),
            (State::Acknowledged, same, Class::Acknowledged, true, Bears),
            (State::Acknowledged, same, Class::Paid, true, Bears),
            (State::Paid, (Some("g1"), None), Class::Paid, true, Silent),
            // Not every gateway names its number.
            (State::Paid, (None, None), Class::Paid, true, Bears),
            (State::Paid, (None, Some("g2")), Class::Paid, true, Bears),
            (
                State::Paid,
                (Some("g1"), Some("g2")),
                Class::Paid,
                true,
                Contradicts,
            ),
            (
                State::InDoubt,
                (Some("g1"), Some("g2")),
                Class::Delivered,
                true,
                Contradicts,
            ),
            (State::Paid, same, Class::Paid, false, Contradicts),
            (State::Failed, same, Class::Paid, true, Contradicts),
            // It says less than what is on record.
            (State::Paid, same, Class::Acknowledged, true, Silent),
            (State::Paid, same, Class::Failed, true, Silent),
            (State::Paid, same, Class::InDoubt, true, Silent),
            (State::Paid, same, Class::NotFound, true, Lacks),
        ] {
            let found = testimony(&at(state), named, answer(class), is_ours);
            assert_eq!(found, expected, "{state:?} {named:?} {class:?} {is_ours}");
        }
        let lost = testimony(&at(State::Paid), same, Event::NoAnswer, true);
        assert_eq!(lost, Silent);
    }

    #[test]
    fn what_a_person_has_ended_is_the_last_to_be_asked_about() {
        let known = |state, code| PaymentState {
            state,
            code,
            known: true,
            ..PaymentState::NEW
        };
        for (life, expected) in [
            (known(State::Failed, None), false),
            (known(State::Paid, None), false),
            (known(State::Failed, Some(141)), true),
            (known(State::Acknowledged, Some(139)), true),
            (known(State::InDoubt, None), true),
        ] {
            assert!(can_witness(&life), "{life:?}");
            assert_eq!(can_witness_best(&life), expected, "{life:?}");
        }
    }

    #[test]
    fn only_an_answer_about_the_payment_shows_whose_account_it_is() {
        let verdict = |class| CodeMeaning { class, code: 1 };
        for (class, _) in Class::ALL {
            let expected = matches!(class, Class::Paid | Class::Acknowledged | Class::Delivered);
            assert_eq!(shows(Event::Answer(verdict(class))), expected, "{class:?}");
            assert!(!shows(Event::Reply(verdict(class))));
            assert!(!shows(Event::Callback(verdict(class))));
        }
        for event in [Event::NoAnswer, Event::Unauthorised, Event::Lost] {
            assert!(!shows(event), "{event:?}");
        }
    }
}
