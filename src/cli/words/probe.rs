//! What a probe saw, beside what the dialect expected. Pure.

use crate::dialect::Dialect;
use crate::domain::WireZone;
use crate::gateway::{Reply, Signal, StopReason};
use crate::journal::DuplicateProbe;
use crate::ledger::duplicate_check::DuplicateCheck;
use crate::lifecycle::{Class, CodeMeaning, CodeTable, Event};

/// Whether an answer is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Seen {
    /// It is.
    Expected,
    /// It is not.
    Otherwise,
    /// It was not asked for.
    LeftOut,
}

impl Seen {
    /// Returns the word for it.
    pub(in crate::cli) fn word(self) -> &'static str {
        match self {
            Self::Expected => "as expected",
            Self::Otherwise => "otherwise",
            Self::LeftOut => "not asked",
        }
    }
}

/// What one step of a probe saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Finding {
    /// The step.
    pub(in crate::cli) step: &'static str,
    /// Whether it is as expected.
    pub(in crate::cli) seen: Seen,
    /// The answer in words.
    pub(in crate::cli) told: String,
    /// Lines of the dialect or of the configuration to change, if the answer is right.
    pub(in crate::cli) lines: Vec<String>,
}

impl Finding {
    pub(in crate::cli) fn expected(step: &'static str, told: impl Into<String>) -> Self {
        Self {
            step,
            seen: Seen::Expected,
            told: told.into(),
            lines: Vec::new(),
        }
    }

    pub(in crate::cli) fn otherwise(
        step: &'static str,
        told: impl Into<String>,
        lines: Vec<String>,
    ) -> Self {
        Self {
            seen: Seen::Otherwise,
            lines,
            ..Self::expected(step, told)
        }
    }

    pub(in crate::cli) fn left_out(step: &'static str, why: &str) -> Self {
        Self {
            seen: Seen::LeftOut,
            ..Self::expected(step, why)
        }
    }
}

const STEP: &str = "status of an identifier that nobody has";

/// Tells the answer about an identifier that cannot exist.
/// `known` is what a probe has shown of the gateway's check for duplicates.
pub(in crate::cli) fn of_status(
    reply: &Reply,
    dialect: &Dialect,
    codes: &CodeTable,
    known: Option<DuplicateCheck>,
) -> Finding {
    let Some(outcome) = reply.outcomes.first() else {
        return Finding::otherwise(STEP, "no answer", Vec::new());
    };
    let said = &outcome.said;
    if let Event::Answer(meaning) = outcome.event {
        return of_answer(meaning, &said.description, dialect, codes, known);
    }
    let words = match (said.cause.as_str(), said.description.as_str()) {
        (cause, "") => cause.to_owned(),
        ("", words) => words.to_owned(),
        (cause, words) => format!("{cause}: {words}"),
    };
    let lines = match &reply.signal {
        Signal::Stop(StopReason::Credentials(_)) => {
            "username and password of the profile; [operations.status] authentication; [header_files] and [signing] of the dialect"
        }
        Signal::Stop(StopReason::Misconfigured(_)) => {
            "base_url and payment_path of the profile; [operations.status] path and method of the dialect"
        }
        Signal::Unreachable(_) => "base_url, proxy and ca_file of the profile",
        _ if said.cause.contains("authStatusCode") => {
            "[replies] auth_status = \"absent\", where replies have none; replies.authenticated and members.authStatus, where they are called otherwise"
        }
        _ if said.cause.contains("no entry") => {
            "[members] results, payerTransactionID and statusCode, where they are called otherwise; or the gateway missed something in the question: [operations.status] function, [headers] and [header_files]"
        }
        _ => "[operations.status] function; [members], where replies call them otherwise",
    };
    Finding::otherwise(STEP, words, vec![lines.to_owned()])
}

fn of_answer(
    meaning: CodeMeaning,
    description: &str,
    dialect: &Dialect,
    codes: &CodeTable,
    known: Option<DuplicateCheck>,
) -> Finding {
    let code = meaning.code;
    let told = match description {
        "" => code.to_string(),
        words => format!("{code}: {words}"),
    };
    if meaning.class == Class::NotFound && codes.of_status(code) == Class::NotFound {
        return Finding::expected(STEP, format!("{told}, which means \"not found\""));
    }
    let words = dialect.replies.not_found_words.as_ref();
    if words.is_some_and(|(known, words)| *known == code && words == description) {
        let counts = match known {
            Some(DuplicateCheck::Refuses) => {
                "they count, as a probe has seen that this gateway refuses an identifier that it has"
            }
            Some(DuplicateCheck::Accepts) => {
                "they do not count, as a probe has seen that this gateway takes an identifier a second time: a person decides"
            }
            Some(DuplicateCheck::Unclear) | None => {
                "they count once `disburse probe --pay FILE` has seen that the gateway refuses an identifier that it has, and until then a person decides"
            }
        };
        return Finding::expected(
            STEP,
            format!("{told}, the dialect's words for \"not found\": {counts}"),
        );
    }
    let lines = match code {
        104 | 174 if !description.is_empty() => vec![
            "[replies]".to_owned(),
            format!("not_found_code = {code}"),
            format!("not_found_description = {description:?}"),
        ],
        _ => vec![format!(
            "{code} cannot mean \"not found\": a payment that gets this answer stays in doubt until a person decides (disburse resolve). Ask the gateway's operators what they answer for an identifier that they do not know"
        )],
    };
    Finding::otherwise(STEP, told, lines)
}

/// Says before a batch starts what is known of the gateway's check for duplicates; that nothing is known is said where words for
/// "not found" wait for it.
pub(in crate::cli) fn known_check(
    known: Option<&DuplicateProbe>,
    dialect: &Dialect,
    zone: Option<WireZone>,
) -> Option<String> {
    let when = |probe: &DuplicateProbe| {
        let zone = zone.clone().unwrap_or_else(WireZone::utc);
        format!(
            "seen {} with batch {}",
            zone.format_named(probe.at),
            probe.batch
        )
    };
    match known {
        None => dialect.replies.not_found_words.as_ref().map(|_| {
            "check for duplicates: not probed with this gateway, account and form of requests, so the gateway's words \
             for \"not found\" do not count; `disburse probe --pay FILE` tests with one small payment whether the \
             gateway refuses an identifier that it has already"
                .to_owned()
        }),
        Some(probe) => Some(match probe.check {
            DuplicateCheck::Refuses => format!(
                "check for duplicates: this gateway refuses an identifier that it has ({})",
                when(probe)
            ),
            DuplicateCheck::Accepts => format!(
                "check for duplicates: this gateway has NONE: it took an identifier that it had already ({}). Only the \
                 journal keeps payments from being made twice: never post the same batch from another journal",
                when(probe)
            ),
            DuplicateCheck::Unclear => format!(
                "check for duplicates: not known; the last probe was unclear ({})",
                when(probe)
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dialect::{Values, build};
    use crate::domain::ResponseDetails;
    use crate::gateway::Outcome;

    fn answered(code: i32, class: Class, description: &str) -> Reply {
        reply(
            Event::Answer(CodeMeaning { class, code }),
            ("", description),
            Signal::Healthy,
        )
    }

    fn reply(event: Event, (cause, description): (&str, &str), signal: Signal) -> Reply {
        Reply {
            outcomes: vec![Outcome {
                event,
                said: ResponseDetails {
                    cause: cause.to_owned(),
                    description: description.to_owned(),
                    ..ResponseDetails::default()
                },
            }],
            signal,
        }
    }

    #[test]
    fn whatever_is_answered_about_nobody_tells_how_not_found_reads() {
        let codes = CodeTable::default();
        let document = Dialect::document();
        for (reply, seen, part) in [
            (
                answered(143, Class::NotFound, "no such"),
                Seen::Expected,
                "",
            ),
            (
                answered(174, Class::InDoubt, "Unknown \"id\""),
                Seen::Otherwise,
                r#"not_found_description = "Unknown \"id\"""#,
            ),
            (
                answered(174, Class::InDoubt, ""),
                Seen::Otherwise,
                "until a person decides",
            ),
            (
                answered(900, Class::InDoubt, "?"),
                Seen::Otherwise,
                "until a person decides",
            ),
            (
                answered(140, Class::Paid, "ok"),
                Seen::Otherwise,
                "until a person decides",
            ),
            (
                answered(141, Class::Failed, "no"),
                Seen::Otherwise,
                "until a person decides",
            ),
            (
                reply(
                    Event::NoAnswer,
                    ("a reply without a readable authStatusCode", ""),
                    Signal::Lost(String::new()),
                ),
                Seen::Otherwise,
                "auth_status = \"absent\"",
            ),
            (
                reply(
                    Event::NoAnswer,
                    ("HTTP 404", ""),
                    Signal::Stop(StopReason::Misconfigured(String::new())),
                ),
                Seen::Otherwise,
                "payment_path",
            ),
            (
                reply(
                    Event::NoAnswer,
                    ("authStatusCode 132", "who?"),
                    Signal::Stop(StopReason::Credentials(String::new())),
                ),
                Seen::Otherwise,
                "username",
            ),
            (
                reply(
                    Event::NoAnswer,
                    ("connection refused", ""),
                    Signal::Unreachable(String::new()),
                ),
                Seen::Otherwise,
                "base_url",
            ),
            (
                reply(
                    Event::NoAnswer,
                    ("no entry about this identifier", ""),
                    Signal::Lost(String::new()),
                ),
                Seen::Otherwise,
                "results",
            ),
        ] {
            let finding = of_status(&reply, document, &codes, None);
            assert_eq!(finding.seen, seen, "{finding:?}");
            assert!(
                finding.lines.join("\n").contains(part),
                "{part}: {finding:?}"
            );
        }
    }

    #[test]
    fn the_dialects_own_words_are_known_again() {
        let values: Values = [
            ("replies.not_found_code", "174"),
            ("replies.not_found_description", "gone"),
        ]
        .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]))
        .into();
        let dialect = build(&values, Path::new("")).unwrap();
        let codes = CodeTable::default();
        let gone = answered(174, Class::InDoubt, "gone");
        for (known, part) in [
            (None, "until then a person decides"),
            (Some(DuplicateCheck::Refuses), "they count, as a probe"),
            (Some(DuplicateCheck::Accepts), "they do not count"),
        ] {
            let finding = of_status(&gone, &dialect, &codes, known);
            assert_eq!(finding.seen, Seen::Expected);
            assert!(finding.told.contains(part), "{part}: {finding:?}");
        }
        let away = answered(174, Class::InDoubt, "away");
        let other = of_status(&away, &dialect, &codes, None);
        assert_eq!(other.seen, Seen::Otherwise);
    }
}
