//! Who loaded, signed, ran and decided.

use crate::domain::{Actor, Timestamp, WireZone};
use crate::report::words::text;

/// What somebody did to the batch.
#[derive(Clone, Debug)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// The command.
    pub act: String,
    /// What it was done to, where that is not the whole batch.
    pub about: Option<String>,
    /// Why, where a reason was given.
    pub reason: Option<String>,
    /// Who.
    pub by: Actor,
}

/// Reasons that the page names; report.json has all of them.
const REASONS_MAX: usize = 20;

/// Returns the orders about the whole batch for which a reason was given: `("account-moved acme-ltd", "…: by ana on desk-7")`.
pub(in crate::report) fn reasons(deeds: &[Deed], zone: &WireZone) -> Vec<(String, String)> {
    let with_reason = deeds
        .iter()
        .filter_map(|deed| Some((deed, deed.reason.as_deref()?)));
    let lines = with_reason.map(|(deed, reason)| {
        let what = match &deed.about {
            Some(about) => format!("{} {about}", deed.act),
            None => deed.act.clone(),
        };
        let at = zone.format(deed.at);
        (what, format!("“{reason}”, by {}, {at}", deed.by))
    });
    lines.take(REASONS_MAX).collect()
}

/// People of one kind that the page names; report.json has all of them.
const NAMED_MAX: usize = 20;

/// What somebody did to a batch, in words of the page.
const KINDS: [&str; 7] = [
    "Loaded by",
    "Signed to have loaded it",
    "Approved by",
    "Run by",
    "Signed for an order",
    "Compared with a statement by",
    "Decided by",
];

/// Returns of which kind it is; empty: it belongs to another deed.
fn kind(act: &str) -> &'static str {
    match act {
        "load" => KINDS[0],
        "sign-load" => KINDS[1],
        "approve" => KINDS[2],
        "run" => KINDS[3],
        "sign-order" => KINDS[4],
        "reconcile" => KINDS[5],
        "reconcile --held" => "",
        _ => KINDS[6],
    }
}

/// Returns who signed, where the deed is a signature: somebody else may have handed it in.
fn signer(deed: &Deed) -> Option<&str> {
    let is_signature = matches!(deed.act.as_str(), "sign-load" | "approve" | "sign-order");
    deed.about.as_deref().filter(|_| is_signature)
}

/// Returns who did what, each person once for each kind: `("Run by", "ana on desk-7, 3 times, …")`.
pub(in crate::report) fn named(deeds: &[Deed], zone: &WireZone) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for title in KINDS {
        let mut people: Vec<(Who<'_>, u64, Timestamp, Timestamp)> = Vec::new();
        for deed in deeds.iter().filter(|deed| kind(&deed.act) == title) {
            let who = (signer(deed), &deed.by);
            match people.iter_mut().find(|(known, ..)| *known == who) {
                Some((_, times, _, last)) => (*times, *last) = (*times + 1, deed.at),
                None => people.push((who, 1, deed.at, deed.at)),
            }
        }
        let more = people.len().saturating_sub(NAMED_MAX);
        for (by, times, first, last) in people.into_iter().take(NAMED_MAX) {
            lines.push((
                title,
                line(by, times, &zone.format(first), &zone.format(last)),
            ));
        }
        if more > 0 {
            lines.push((
                title,
                format!("{} more; report.json has them", text::count(more as u64)),
            ));
        }
    }
    lines
}

/// Who signed, and who handed it in or did it.
type Who<'a> = (Option<&'a str>, &'a Actor);

fn line((signer, by): Who<'_>, times: u64, first: &str, last: &str) -> String {
    let by = match signer {
        Some(signer) => format!("{signer}, handed in by {by}"),
        None => by.to_string(),
    };
    match times {
        1 => format!("{by}, {first}"),
        _ => format!("{by}, {} times, {first} to {last}", text::count(times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_named_once_for_what_they_did() {
        let zone = WireZone::from_name("Africa/Nairobi").unwrap();
        let deed = |secs: i64, act: &str, user: &str| Deed {
            at: Timestamp::from_millis(1_795_845_600_000 + secs * 1000),
            act: act.to_owned(),
            about: None,
            reason: None,
            by: Actor::new(user, "desk-7", None),
        };
        let mut deeds = vec![
            deed(0, "load", "ana"),
            deed(1, "run", "ana"),
            deed(2, "retry", "eva"),
            deed(3, "run", "ana"),
            deed(4, "run", "eva"),
            deed(5, "account-moved", "eva"),
            deed(5, "reconcile --held", "eva"),
            deed(5, "reconcile", "eva"),
        ];
        assert_eq!(
            named(&deeds, &zone),
            [
                ("Loaded by", "ana on desk-7, 2026-11-28 09:00:00".to_owned()),
                (
                    "Run by",
                    "ana on desk-7, 2 times, 2026-11-28 09:00:01 to 2026-11-28 09:00:03".to_owned()
                ),
                ("Run by", "eva on desk-7, 2026-11-28 09:00:04".to_owned()),
                (
                    "Compared with a statement by",
                    "eva on desk-7, 2026-11-28 09:00:05".to_owned()
                ),
                (
                    "Decided by",
                    "eva on desk-7, 2 times, 2026-11-28 09:00:02 to 2026-11-28 09:00:05".to_owned()
                ),
            ]
        );
        assert_eq!(reasons(&deeds, &zone), []);
        let mut signed = deeds.clone();
        for (at, act, about) in [
            (6, "sign-load", "ana@example.org"),
            (7, "approve", "bob@example.org"),
            (8, "approve", "eva@example.org"),
            (
                9,
                "sign-order",
                "bob@example.org: batch b: retry, 3 payments",
            ),
        ] {
            let about = Some(about.to_owned());
            signed.push(Deed {
                about,
                ..deed(at, act, "ana")
            });
        }
        let lines = named(&signed, &zone);
        let signatures: Vec<_> = lines
            .iter()
            .filter(|(title, _)| KINDS[1..3].contains(title) || *title == KINDS[4])
            .map(|(title, who)| format!("{title} {who}"))
            .collect();
        assert_eq!(
            signatures,
            [
                "Signed to have loaded it ana@example.org, handed in by ana on desk-7, 2026-11-28 09:00:06",
                "Approved by bob@example.org, handed in by ana on desk-7, 2026-11-28 09:00:07",
                "Approved by eva@example.org, handed in by ana on desk-7, 2026-11-28 09:00:08",
                "Signed for an order bob@example.org: batch b: retry, 3 payments, handed in by ana on desk-7, 2026-11-28 09:00:09",
            ]
        );
        deeds[5].about = Some("acme-ltd".to_owned());
        deeds[5].reason = Some("renamed by the gateway".to_owned());
        assert_eq!(
            reasons(&deeds, &zone),
            [(
                "account-moved acme-ltd".to_owned(),
                "“renamed by the gateway”, by eva on desk-7, 2026-11-28 09:00:05".to_owned()
            )]
        );
        deeds.extend((0..30).map(|n| deed(9, "load", &format!("u{n}"))));
        let loaded = named(&deeds, &zone)
            .into_iter()
            .filter(|(title, _)| *title == "Loaded by");
        let loaded: Vec<_> = loaded.collect();
        assert_eq!(loaded.len(), NAMED_MAX + 1, "the page stays bounded");
        assert_eq!(loaded[NAMED_MAX].1, "11 more; report.json has them");
    }
}
