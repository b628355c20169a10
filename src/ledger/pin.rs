//! Which account of a gateway a batch belongs to.
//!
//! Another account at the same address says "not found" about everything that this one has, and two such answers let a
//! payment be posted again. So a batch keeps its account, as it keeps its gateway's address, from the moment on when
//! something of it may be there.

use super::moves::can_witness;
use crate::lifecycle::{PaymentState, State};

/// The way in which replies are read where nothing else is on record.
pub const READ_AS_DOCUMENT: &str = "document";

/// Between the dialect by which replies are read and the codes that the configuration reads otherwise than the document.
const CODES: char = '+';

/// Names the way in which replies are read: by a dialect, and by codes with another meaning than the document gives them.
#[must_use]
pub fn reading(dialect: Option<&str>, codes: Option<&str>) -> String {
    let dialect = dialect.unwrap_or(READ_AS_DOCUMENT);
    match codes {
        Some(codes) => format!("{dialect}{CODES}{codes}"),
        None => dialect.to_owned(),
    }
}

/// Returns the dialect of a way in which replies are read.
#[must_use]
pub fn dialect_of(reading: &str) -> &str {
    reading.split(CODES).next().unwrap_or(reading)
}

/// Judges the way in which replies are read; `bound` says whether something may have been read in the way on record.
///
/// Another dialect may be that of another gateway: a person accepts it. Codes get their meaning as it is found out: that is taken at once.
#[must_use]
pub fn judge_reading(on_record: &str, configured: &str, bound: bool) -> Pin {
    match judge(Some(dialect_of(on_record)), dialect_of(configured), bound) {
        Pin::Stands if on_record != configured => Pin::Taken,
        judged => judged,
    }
}

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

/// Judges the account that is configured by the one on record, or the dialect; `bound` says whether something of the batch may be there, or
/// may have been read.
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
    fn what_an_earlier_journal_may_have_posted_is_at_no_account_unless_a_post_of_ours_was_lost() {
        use crate::lifecycle::{Event, Policy, RecordedEvent, fold};
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
            assert!(!can_witness(&life) || expected, "{life:?}");
        }
    }
}
