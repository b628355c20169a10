//! What somebody elsewhere is told of a batch, and when it is told once more.
//!
//! A notice is made of how a batch stands, and not of what just happened: whoever looks next makes the same one, so that
//! a program that is killed in between loses none. What was told is not told again while it stands.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::Timestamp;

/// The same is told again after this at the earliest: a service that is held, opened and held again is one story.
const AGAIN_AFTER: Duration = Duration::from_secs(3_600);
/// More of the same, such as one more conflict, is told after this at the earliest.
const MORE_AFTER: Duration = Duration::from_secs(600);
/// The first pause after an attempt that failed; each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// No pause is longer.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// Every payment of the batch has reached its end.
    Finished,
    /// Nothing more is posted through a service.
    LaneHeld,
    /// Nobody runs the batch, and it is not finished.
    Stopped,
    /// Answers about payments contradict each other.
    Conflict,
    /// More payments failed than the configuration allows without a word.
    FailuresAbove,
    /// Payments wait for signatures.
    WaitingForApproval,
    /// Nothing was learned for some time, while payments are unfinished.
    NothingHappened,
}

impl NoticeKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Finished,
        Self::LaneHeld,
        Self::Stopped,
        Self::Conflict,
        Self::FailuresAbove,
        Self::WaitingForApproval,
        Self::NothingHappened,
    ];

    /// Returns its name, as notices have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::LaneHeld => "lane_held",
            Self::Stopped => "stopped",
            Self::Conflict => "conflict",
            Self::FailuresAbove => "failures_above",
            Self::WaitingForApproval => "waiting_for_approval",
            Self::NothingHappened => "nothing_happened",
        }
    }

    /// Finds one by its name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether more of it is worth another word.
    fn grows(self) -> bool {
        self == Self::Conflict
    }

    /// Whether it stays so for good once the batch has finished.
    fn lasts(self) -> bool {
        matches!(self, Self::Finished | Self::FailuresAbove)
    }
}

/// What of a batch decides about notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeFacts {
    /// Every payment has reached its end.
    pub is_finished: bool,
    /// Somebody runs the batch.
    pub runs: bool,
    /// It was begun: a payment of it has left, or its run has just ended.
    pub is_begun: bool,
    /// Services that are held.
    pub held: Vec<String>,
    /// Payments in conflict.
    pub conflicts: u64,
    /// Payments that failed.
    pub failed: u64,
    /// Payments wait for signatures.
    pub waits_for_approval: bool,
    /// Nothing is posted, asked or waited for but signatures: it has ended because of them.
    pub ended_for_approval: bool,
    /// How long nothing was learned, where something is to be.
    pub quiet: Option<Duration>,
}

/// From where on something is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeRules {
    /// What is told at all.
    pub kinds: Vec<NoticeKind>,
    /// More failures than this; `None`: they are not told.
    pub failures_above: Option<u64>,
    /// Nothing for so long; `None`: it is not told.
    pub quiet_for: Option<Duration>,
}

/// Something that is so, and worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What.
    pub kind: NoticeKind,
    /// The service that it is about; empty: the whole batch.
    pub subject: String,
    /// How much of it.
    pub figure: u64,
}

/// Returns what is worth telling of a batch.
#[must_use]
pub fn conditions(facts: &NoticeFacts, rules: &NoticeRules) -> Vec<Condition> {
    use NoticeKind::{
        Conflict, FailuresAbove, Finished, LaneHeld, NothingHappened, Stopped, WaitingForApproval,
    };
    let open = !facts.is_finished;
    let mut found = Vec::new();
    let mut tell = |kind, subject: &str, figure, is_so: bool| {
        if is_so && rules.kinds.contains(&kind) {
            found.push(Condition {
                kind,
                subject: subject.to_owned(),
                figure,
            });
        }
    };
    tell(Conflict, "", facts.conflicts, facts.conflicts > 0);
    for service in &facts.held {
        tell(LaneHeld, service, 1, open);
    }
    let too_many = rules.failures_above.is_some_and(|most| facts.failed > most);
    tell(FailuresAbove, "", facts.failed, too_many);
    let waits = open && facts.waits_for_approval;
    tell(WaitingForApproval, "", 1, waits);
    let quiet = facts.quiet.zip(rules.quiet_for);
    let is_quiet = quiet.is_some_and(|(quiet, most)| quiet >= most);
    tell(NothingHappened, "", 1, open && facts.runs && is_quiet);
    let stopped = open && !facts.runs && facts.is_begun;
    tell(Stopped, "", 1, stopped && !facts.ended_for_approval);
    // The last word, after what explains it.
    tell(Finished, "", 1, facts.is_finished);
    found
}

/// What is on record of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is about.
    pub kind: NoticeKind,
    /// The service.
    pub subject: String,
    /// How much of it there was.
    pub figure: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// What it tells was still so when somebody looked last.
    pub stands: bool,
}

/// What a look changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeChanges {
    /// These are told: their places among the conditions.
    pub make: Vec<usize>,
    /// These are no longer so: their places among what was told.
    pub fallen: Vec<usize>,
}

impl NoticeChanges {
    /// Returns whether there is nothing to do.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns how long the same is not told again once it was no longer so.
fn again_after(kind: NoticeKind) -> Duration {
    match kind {
        // Between two of them somebody has run the batch.
        NoticeKind::Stopped => MORE_AFTER,
        _ => AGAIN_AFTER,
    }
}

/// Compares what is so with what was told of the batch, the newest of each subject last.
///
/// What lasts once a batch has finished is told where it was seen unfinished before: a journal of many years is not told anew.
#[must_use]
pub fn changes(
    conditions: &[Condition],
    told: &[Told],
    was_open: bool,
    now: Timestamp,
) -> NoticeChanges {
    let mut changes = NoticeChanges::default();
    let same = |told: &Told, condition: &Condition| {
        told.kind == condition.kind && told.subject == condition.subject
    };
    for (place, condition) in conditions.iter().enumerate() {
        let last = told.iter().rfind(|told| same(told, condition));
        let is_news = match last {
            None => was_open || !condition.kind.lasts(),
            Some(last) if last.stands => {
                let more = condition.kind.grows() && condition.figure > last.figure;
                more && now.since(last.made_at) >= MORE_AFTER
            }
            // The end of a batch that was opened again is news whenever it comes.
            Some(_) if condition.kind == NoticeKind::Finished => was_open,
            // It is told when the time is over, if it is so then.
            Some(last) if now.since(last.made_at) < again_after(condition.kind) => false,
            Some(_) => true,
        };
        if is_news {
            changes.make.push(place);
        }
    }
    for (place, told) in told.iter().enumerate() {
        if told.stands && !conditions.iter().any(|condition| same(told, condition)) {
            changes.fallen.push(place);
        }
    }
    changes
}

/// Returns how long to wait after so many attempts that failed.
#[must_use]
pub fn pause(attempts: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1).min(16));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

/// Returns the text of a notice as it is sent, each time the same.
#[must_use]
pub fn body(kind: &str, at: Timestamp, data: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"timestamp\":\"{at}\",\"data\":{data}}}")
}

/// Returns what the receiver knows a notice by.
///
/// Computed, so that a copy of the journal that comes to the same names it alike, and the receiver sees that it has it.
#[must_use]
pub fn notice_id(
    journal: [u8; 16],
    batch: &str,
    condition: &Condition,
    nth: u64,
    data: &str,
) -> String {
    let mut hash = Sha256::new();
    hash.update(journal);
    hash.update(nth.to_be_bytes());
    for text in [batch, condition.kind.name(), &condition.subject, data] {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let digest = hash.finalize();
    format!("ntc_{}", data_encoding::HEXLOWER.encode(&digest[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use NoticeKind::{
        Conflict, FailuresAbove, Finished, LaneHeld, NothingHappened, Stopped, WaitingForApproval,
    };

    fn rules() -> NoticeRules {
        NoticeRules {
            kinds: NoticeKind::ALL.to_vec(),
            failures_above: Some(10),
            quiet_for: Some(Duration::from_secs(900)),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn condition(kind: NoticeKind, figure: u64) -> Condition {
        Condition {
            kind,
            subject: String::new(),
            figure,
        }
    }

    fn told(kind: NoticeKind, figure: u64, made_at: i64, stands: bool) -> Told {
        Told {
            kind,
            subject: String::new(),
            figure,
            made_at: at(made_at),
            stands,
        }
    }

    #[test]
    fn what_is_worth_telling_follows_from_how_the_batch_stands() {
        let runs = NoticeFacts {
            runs: true,
            is_begun: true,
            ..NoticeFacts::default()
        };
        let ended = NoticeFacts {
            is_finished: true,
            ..runs.clone()
        };
        for (case, facts, expected) in [
            ("a run in good order", runs.clone(), vec![]),
            ("loaded, never begun", NoticeFacts::default(), vec![]),
            ("the end", ended.clone(), vec![Finished]),
            (
                "nobody runs it any more",
                NoticeFacts {
                    runs: false,
                    ..runs.clone()
                },
                vec![Stopped],
            ),
            (
                "it ended for want of signatures",
                NoticeFacts {
                    runs: false,
                    waits_for_approval: true,
                    ended_for_approval: true,
                    ..runs.clone()
                },
                vec![WaitingForApproval],
            ),
            (
                "two services are held",
                NoticeFacts {
                    held: vec!["A".into(), "B".into()],
                    ..runs.clone()
                },
                vec![LaneHeld, LaneHeld],
            ),
            (
                "as many failures as are allowed",
                NoticeFacts {
                    failed: 10,
                    ..runs.clone()
                },
                vec![],
            ),
            (
                "one failure more",
                NoticeFacts {
                    failed: 11,
                    ..runs.clone()
                },
                vec![FailuresAbove],
            ),
            (
                "nothing for long enough",
                NoticeFacts {
                    quiet: Some(Duration::from_secs(900)),
                    ..runs.clone()
                },
                vec![NothingHappened],
            ),
            (
                "nothing for a moment",
                NoticeFacts {
                    quiet: Some(Duration::from_secs(899)),
                    ..runs.clone()
                },
                vec![],
            ),
            (
                "the end has conflicts and failures in it",
                NoticeFacts {
                    conflicts: 2,
                    failed: 99,
                    held: vec!["A".into()],
                    quiet: Some(Duration::MAX),
                    ..ended.clone()
                },
                vec![Conflict, FailuresAbove, Finished],
            ),
        ] {
            let found = conditions(&facts, &rules());
            let kinds: Vec<_> = found.iter().map(|condition| condition.kind).collect();
            assert_eq!(kinds, expected, "{case}");
            assert_eq!(conditions(&facts, &NoticeRules::default()), [], "{case}");
        }
    }

    #[test]
    fn what_stands_is_told_once() {
        let now = at(100_000);
        for (case, so, told, was_open, make, fallen) in [
            ("new", vec![condition(Conflict, 1)], vec![], true, 1, 0),
            (
                "told, and still so",
                vec![condition(Conflict, 1)],
                vec![told(Conflict, 1, 0, true)],
                true,
                0,
                0,
            ),
            (
                "more of it, after a while",
                vec![condition(Conflict, 2)],
                vec![told(Conflict, 1, 0, true)],
                true,
                1,
                0,
            ),
            (
                "more of it, at once",
                vec![condition(Conflict, 2)],
                vec![told(Conflict, 1, 99_999, true)],
                true,
                0,
                0,
            ),
            (
                "more failures than were told are no news",
                vec![condition(FailuresAbove, 99)],
                vec![told(FailuresAbove, 11, 0, true)],
                true,
                0,
                0,
            ),
            (
                "no longer so",
                vec![],
                vec![told(LaneHeld, 1, 0, true), told(Stopped, 1, 0, false)],
                true,
                0,
                1,
            ),
            (
                "so again after a moment",
                vec![condition(LaneHeld, 1)],
                vec![told(LaneHeld, 1, 99_000, false)],
                true,
                0,
                0,
            ),
            (
                "a run ended once more, ten minutes later",
                vec![condition(Stopped, 1)],
                vec![told(Stopped, 1, 99_400, false)],
                true,
                1,
                0,
            ),
            (
                "a run ended once more, after a moment",
                vec![condition(Stopped, 1)],
                vec![told(Stopped, 1, 99_990, false)],
                true,
                0,
                0,
            ),
            (
                "so again after an hour and more",
                vec![condition(LaneHeld, 1)],
                vec![told(LaneHeld, 1, 0, false)],
                true,
                1,
                0,
            ),
            (
                "the end of a batch that nobody saw open",
                vec![condition(Finished, 1)],
                vec![],
                false,
                0,
                0,
            ),
            (
                "failures of a batch that nobody saw open",
                vec![condition(FailuresAbove, 99)],
                vec![],
                false,
                0,
                0,
            ),
            ("the end", vec![condition(Finished, 1)], vec![], true, 1, 0),
            (
                "the second end of a batch, a minute after the first",
                vec![condition(Finished, 1)],
                vec![told(Finished, 1, 99_940, false)],
                true,
                1,
                0,
            ),
        ] {
            let found = changes(&so, &told, was_open, now);
            let counts = (found.make.len(), found.fallen.len());
            assert_eq!(counts, (make, fallen), "{case}");
            assert_eq!(found.is_none(), counts == (0, 0), "{case}");
        }
    }

    #[test]
    fn the_newest_of_a_subject_decides() {
        let told = [told(LaneHeld, 1, 0, false), told(LaneHeld, 1, 99_000, true)];
        let found = changes(&[condition(LaneHeld, 1)], &told, true, at(100_000));
        assert!(found.is_none(), "{found:?}");
    }

    #[test]
    fn pauses_grow_to_an_hour_and_no_further() {
        let seconds: Vec<u64> = [0, 1, 2, 3, 9, 10, u32::MAX]
            .into_iter()
            .map(|attempts| pause(attempts).as_secs())
            .collect();
        assert_eq!(seconds, [10, 10, 20, 40, 2560, 3600, 3600]);
    }

    #[test]
    fn the_same_notice_has_the_same_name_and_another_one_another() {
        let id = |journal: u8, batch, figure, nth, data| {
            notice_id(
                [journal; 16],
                batch,
                &condition(Conflict, figure),
                nth,
                data,
            )
        };
        let first = id(1, "june", 1, 1, "{}");
        assert_eq!(first.len(), 36);
        assert_eq!(first, id(1, "june", 1, 1, "{}"));
        for other in [
            id(2, "june", 1, 1, "{}"),
            id(1, "july", 1, 1, "{}"),
            id(1, "june", 1, 2, "{}"),
            id(1, "june", 1, 1, "{\"a\":1}"),
        ] {
            assert_ne!(first, other);
        }
        for kind in NoticeKind::ALL {
            assert_eq!(NoticeKind::of(kind.name()), Some(kind));
        }
        assert_eq!(
            body("conflict", at(0), "{}"),
            "{\"type\":\"conflict\",\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"data\":{}}"
        );
    }
}
