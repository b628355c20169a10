//! Who loaded, ran and decided, beside what became of a payment.

use serde_json::{Value, json};

use super::history::sentence;
use crate::cli::terminal::output;
use crate::domain::{PayerTransactionId, Timestamp, WireZone};
use crate::journal::{ActRecord, HistoryEntry};
use crate::lifecycle::{Event, RecordedEvent};

/// Acts upon the whole batch that are shown beside one payment, of the oldest and of the latest.
const SHOWN: usize = 20;

/// The payment of which is told who had a hand in it.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Subject<'a> {
    pub(in crate::cli) id: PayerTransactionId,
    pub(in crate::cli) service: &'a str,
    pub(in crate::cli) trail: &'a [HistoryEntry],
    /// The trail of the payment that it replaces; what replaced that one made this one.
    pub(in crate::cli) before: &'a [HistoryEntry],
    /// When the file was loaded that brought it.
    pub(in crate::cli) loaded_at: Timestamp,
    /// When it was withdrawn, where no trail says so.
    pub(in crate::cli) withdrawn_at: Option<Timestamp>,
}

/// Returns the loads of the batch, and the orders that touched the payment.
pub(in crate::cli) fn about<'a>(acts: &'a [ActRecord], subject: Subject<'_>) -> Vec<&'a ActRecord> {
    let runs: Vec<Timestamp> = acts
        .iter()
        .filter(|act| act.act == "run")
        .map(|act| act.at)
        .collect();
    let ends = |begins: Timestamp| runs.iter().copied().find(|run| *run > begins);
    acts.iter()
        .filter(|act| touches(act, ends(act.at), subject))
        .collect()
}

/// What a statement showed of payments that are not known to be paid.
const HELD: &str = "reconcile --held";

/// Returns whether an order touched the payment. `ends`: when the run after this one began.
fn touches(act: &ActRecord, ends: Option<Timestamp>, subject: Subject<'_>) -> bool {
    // What an order does is recorded with its own time.
    let at_once = |trail: &[HistoryEntry]| trail.iter().any(|entry| entry.at == act.at);
    let act_is_at = |at: Timestamp| act.at == at;
    match (act.act.as_str(), &act.about) {
        ("cancel", Some(about)) => about == subject.id.as_str(),
        (act, Some(about)) if act.starts_with("resolve") => about == subject.id.as_str(),
        ("cancel", None) => subject.withdrawn_at == Some(act.at) || at_once(subject.trail),
        ("retry" | "correct", _) => at_once(subject.trail) || at_once(subject.before),
        ("resume-lane", Some(service)) => service == subject.service,
        ("recover --presume-posted" | "recover --nothing-ran-since" | HELD, _) => {
            at_once(subject.trail)
        }
        ("recover --done", _) => false,
        ("run", _) => subject.trail.iter().any(|entry| {
            entry.at >= act.at && ends.is_none_or(|ends| entry.at < ends) && !is_ordered(entry)
        }),
        // Of many loads one brought it, or mended it: the others brought other rows.
        (act, _) if act == "load" || act.starts_with("load ") => act_is_at(subject.loaded_at),
        // An account that moved is whom it is asked of.
        _ => true,
    }
}

/// Returns whether an entry is an order of its own, and nothing that a run did or heard.
fn is_ordered(entry: &HistoryEntry) -> bool {
    match entry.event {
        Some(Event::Withdrawn | Event::DecidedPaid | Event::DecidedFailed) => true,
        Some(_) => false,
        None => !matches!(entry.fact, RecordedEvent::Note) || entry.kind == REPLACED,
    }
}

/// What a trail says where a retry replaced the payment.
const REPLACED: &str = "replaced by a retry";

/// Returns the trail of a payment with the acts at their times, a line for each.
pub(in crate::cli) fn lines(
    acts: &[&ActRecord],
    trail: &[HistoryEntry],
    reveal: bool,
    zone: &WireZone,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut told = Folded::default();
    let mut entry_lines = |entry: &HistoryEntry| {
        let sentence = sentence(entry, reveal);
        told.next(entry.at, &sentence, zone)
    };
    let mut trail = trail.iter().peekable();
    let left_out = acts.len().saturating_sub(2 * SHOWN);
    for (index, act) in acts.iter().enumerate() {
        while let Some(entry) = trail.next_if(|entry| entry.at < act.at) {
            lines.extend(entry_lines(entry));
        }
        if left_out > 0 && index == SHOWN {
            lines.push(format!(
                "  … and {}",
                output::counted(left_out as u64, "more order")
            ));
        }
        if left_out == 0 || index < SHOWN || index >= acts.len() - SHOWN {
            lines.push(format!("  {}  {}", zone.format_named(act.at), text(act)));
        }
    }
    lines.extend(trail.flat_map(entry_lines));
    lines.extend(told.end(zone));
    lines
}

/// Sentences that repeat themselves, such as those of a gateway that is asked for a whole night: the first few are told one by
/// one, the others as how many there were, and when the last one came.
#[derive(Default)]
struct Folded {
    sentence: String,
    count: u64,
    last: Option<Timestamp>,
}

impl Folded {
    /// How many equal sentences in a row are told one by one.
    const ALIKE: u64 = 3;

    fn next(&mut self, at: Timestamp, sentence: &str, zone: &WireZone) -> Vec<String> {
        let mut lines = Vec::new();
        if self.sentence != sentence {
            lines = self.end(zone);
            sentence.clone_into(&mut self.sentence);
        }
        self.count += 1;
        self.last = Some(at);
        if self.count <= Self::ALIKE {
            lines.push(format!("  {}  {sentence}", zone.format_named(at)));
        }
        lines
    }

    fn end(&mut self, zone: &WireZone) -> Vec<String> {
        let more = self.count.saturating_sub(Self::ALIKE);
        self.count = 0;
        match (more, self.last) {
            (0, _) | (_, None) => Vec::new(),
            (more, Some(last)) => vec![format!(
                "    … and {} like it, the last one at {}",
                output::counted(more, "more line"),
                zone.format_named(last)
            )],
        }
    }
}

/// Returns what somebody did, for a person.
fn text(act: &ActRecord) -> String {
    let what = match act.act.as_str() {
        // As the chain calls it: no command has that name.
        "reconcile --held" => {
            "a statement showed that money left for payments that are not known to be paid"
        }
        what => what,
    };
    let said = match &act.about {
        Some(about) => format!("{what} {about:?}: by {}", act.by),
        None => format!("{what}: by {}", act.by),
    };
    match &act.reason {
        Some(reason) => format!("{said}, reason {reason:?}"),
        None => said,
    }
}

/// Returns who did what, for programs.
pub(in crate::cli) fn to_json(acts: &[&ActRecord]) -> Vec<Value> {
    acts.iter()
        .map(|act| {
            let mut said = json!({
                "at": act.at.to_string(),
                "act": act.act,
                "about": act.about,
                "reason": act.reason,
                "user": act.by.user(),
                "host": act.by.host(),
                "sudo_of": act.by.sudo_of(),
            });
            if let Some(role) = act.by.role() {
                said["role"] = role.into();
            }
            said
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_repeat_themselves_are_told_as_how_many_they_are() {
        let zone = WireZone::utc();
        let mut told = Folded::default();
        let mut lines = Vec::new();
        for (at, sentence) in [
            (1, "a"),
            (2, "b"),
            (3, "b"),
            (4, "b"),
            (5, "b"),
            (6, "b"),
            (7, "a"),
        ] {
            let at = Timestamp::from_millis(at * 1_000);
            lines.extend(told.next(at, sentence, &zone));
        }
        lines.extend(told.end(&zone));
        let words: Vec<&str> = lines
            .iter()
            .map(|line| line.rsplit("  ").next().unwrap().trim())
            .collect();
        assert_eq!(words[..4], ["a", "b", "b", "b"]);
        assert!(
            words[4].starts_with("… and 2 more lines like it"),
            "{words:?}"
        );
        assert!(lines[4].contains("00:00:06"), "{lines:?}");
        assert_eq!(words[5..], ["a"]);
    }
    use crate::domain::Actor;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn entry(second: i64, event: Option<Event>, kind: &'static str) -> HistoryEntry {
        HistoryEntry {
            at: at(second),
            event,
            fact: event.map_or(RecordedEvent::Note, RecordedEvent::Event),
            kind,
            anomaly: None,
            detail: None,
        }
    }

    #[test]
    fn of_the_orders_about_a_batch_those_are_told_that_touched_the_payment() {
        let id = PayerTransactionId::parse("56E4WT24KC4KYBHR1ABG2JYQ4S").unwrap();
        let acts: Vec<ActRecord> = [
            (1, "load", Some("a.csv")),
            (2, "run", None),
            (10, "cancel", None),
            (11, "retry", None),
            (12, "run", None),
            (20, "cancel", Some(id.as_str())),
            (21, "cancel", Some("ANOTHER")),
            (22, "resume-lane", Some("AIRTIME")),
            (23, "resume-lane", Some("B2C")),
            (24, "recover --presume-posted", None),
            (25, "recover --done", None),
            (26, "account-moved", Some("acme")),
            (27, "load", Some("b.csv")),
            (28, "run", None),
        ]
        .into_iter()
        .map(|(second, act, about)| ActRecord {
            at: at(second),
            act: act.to_owned(),
            about: about.map(str::to_owned),
            reason: None,
            by: Actor::new("ana", "desk", None),
        })
        .collect();
        let told = |trail: &[HistoryEntry], before: &[HistoryEntry], withdrawn_at| -> Vec<i64> {
            let subject = Subject {
                id,
                service: "B2C",
                trail,
                before,
                loaded_at: at(1),
                withdrawn_at,
            };
            let acts = about(&acts, subject);
            acts.iter().map(|act| act.at.as_millis() / 1000).collect()
        };
        // The load that brought it, what names the payment or its service, and what moves the whole batch.
        let always = [1, 20, 23, 26];
        let with = |more: &[i64]| {
            let mut all = [&always[..], more].concat();
            all.sort_unstable();
            all
        };
        assert_eq!(told(&[], &[], None), always);
        let claimed = entry(3, Some(Event::Claimed), "");
        assert_eq!(told(&[claimed], &[], None), with(&[2]));
        let heard = entry(30, Some(Event::NoAnswer), "");
        assert_eq!(told(&[heard], &[], None), with(&[28]));
        let withdrawn = entry(10, Some(Event::Withdrawn), "");
        assert_eq!(told(&[withdrawn], &[], None), with(&[10]));
        assert_eq!(told(&[], &[], Some(at(10))), with(&[10]));
        let replaced = [entry(11, None, REPLACED)];
        assert_eq!(told(&replaced, &[], None), with(&[11]));
        assert_eq!(told(&[], &replaced, None), with(&[11]));
        let presumed = HistoryEntry {
            fact: RecordedEvent::PresumedPosted,
            ..entry(24, None, "")
        };
        assert_eq!(told(&[presumed], &[], None), with(&[24]));
    }
}
