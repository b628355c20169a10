//! Which classes a deployment may give a status code.
//!
//! A wrong class costs most where the program acts on it alone: `no_float` and `not_found` post a payment again, `failed`
//! lets a person order another one, `paid` ends the asking. So no code means the opposite of what the document says of it,
//! and only a code that the document itself calls "not executed" or "no such transaction" leads to another post.

use crate::lifecycle::Class;

/// Where a code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// In the reply to a post.
    Post,
    /// In a status reply or a callback.
    Status,
}

/// What the document says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Paid,
    Rejected,
    Pending,
    Delivered,
    Escalated,
    Unknown,
    Duplicate,
    NoFloat,
    NotExecuted,
    Vague,
    NotLetIn,
    NoSuchBill,
    Elsewhere,
    NotMentioned,
}

fn meaning(code: i32) -> Meaning {
    match code {
        140 | 183 | 217 => Meaning::Paid,
        141 | 180 | 216 => Meaning::Rejected,
        139 | 178 => Meaning::Pending,
        148 => Meaning::Delivered,
        219 => Meaning::Escalated,
        143 => Meaning::Unknown,
        229 => Meaning::Duplicate,
        230 => Meaning::NoFloat,
        106 | 109 | 110 | 111 | 115 | 120 | 146 | 167 | 231 | 232 => Meaning::NotExecuted,
        104 | 174 => Meaning::Vague,
        132 => Meaning::NotLetIn,
        306 | 309 => Meaning::NoSuchBill,
        131 | 188 | 301 | 307 | 308 => Meaning::Elsewhere,
        _ => Meaning::NotMentioned,
    }
}

/// Returns the classes that a code may have.
///
/// `in_doubt` is always among them: to trust a code less than the document does is safe.
#[must_use]
pub fn allowed(heard: Heard, code: i32) -> &'static [Class] {
    use Class::{
        Acknowledged, Delivered, Duplicate, Failed, InDoubt, NoFloat, NotFound, Paid, Refused,
    };
    let (post, status): (&[Class], &[Class]) = match meaning(code) {
        Meaning::Paid => {
            const WORDS: &[Class] = &[Paid, Acknowledged, Delivered, InDoubt];
            (WORDS, WORDS)
        }
        Meaning::Rejected => (&[Failed, Refused, InDoubt], &[Failed, InDoubt]),
        Meaning::Pending | Meaning::Delivered | Meaning::Escalated => {
            const WORDS: &[Class] = &[Acknowledged, Delivered, InDoubt];
            (WORDS, WORDS)
        }
        Meaning::Unknown => (&[InDoubt], &[NotFound, InDoubt]),
        Meaning::Duplicate => (
            &[Acknowledged, Delivered, Duplicate, InDoubt],
            &[Acknowledged, Delivered, InDoubt],
        ),
        // Not a duplicate: a gateway that fails for whatever reason would seem to refuse what it has.
        Meaning::Vague => {
            const WORDS: &[Class] = &[Acknowledged, Delivered, InDoubt];
            (WORDS, WORDS)
        }
        // Not `failed` from a post: a refusal of this one says nothing of an earlier one that may have arrived.
        Meaning::NoFloat => (&[NoFloat, Refused, InDoubt], &[Failed, InDoubt]),
        Meaning::NotExecuted => (&[Refused, NoFloat, InDoubt], &[Failed, InDoubt]),
        Meaning::NoSuchBill => (&[Refused, InDoubt], &[Failed, InDoubt]),
        // In a status reply it is the question that was not let in, and not the payment.
        Meaning::NotLetIn => (&[Refused, InDoubt], &[InDoubt]),
        Meaning::Elsewhere => (&[InDoubt], &[InDoubt]),
        // On a deployment's word a payment may end. It is never posted again on that word alone: a person orders that.
        Meaning::NotMentioned => (
            &[
                Paid,
                Failed,
                Refused,
                Acknowledged,
                Delivered,
                Duplicate,
                InDoubt,
            ],
            &[Paid, Failed, Acknowledged, Delivered, InDoubt],
        ),
    };
    match heard {
        Heard::Post => post,
        Heard::Status => status,
    }
}

/// Returns whether what a code means in the reply to a post is the opposite of what it means in a status reply: one of the two
/// would end a payment wrongly.
#[must_use]
pub fn contradict(post: Class, status: Class) -> bool {
    matches!(
        (post, status),
        (Class::Paid, Class::Failed) | (Class::Failed | Class::Refused, Class::Paid)
    )
}

/// Returns whether a code may have a class.
#[must_use]
pub fn allows(heard: Heard, code: i32, class: Class) -> bool {
    planted!(ledger::allows(allowed(heard, code).contains(&class)))
}

/// Returns why a code may have no other classes, as the end of a sentence.
#[must_use]
pub fn reason(code: i32) -> &'static str {
    match meaning(code) {
        Meaning::Paid => "since it says that the payment succeeded",
        Meaning::Rejected => "since it says that the payment was rejected",
        Meaning::Pending => {
            "since it proves nothing final: the payment is posted and not yet settled"
        }
        Meaning::Delivered => {
            "since it proves nothing final: the payment is at the bank and not yet settled"
        }
        Meaning::Escalated => "since it proves nothing final: the outcome is decided by hand later",
        Meaning::Unknown => {
            "since it says that a status query found no such transaction, and nothing else"
        }
        Meaning::Duplicate => {
            "since it proves nothing final: the gateway has the identifier already"
        }
        Meaning::NoFloat => "since it says that the float did not suffice for this post",
        Meaning::NotExecuted => "since it says that this post was not executed",
        Meaning::Vague => "since it proves nothing final: it names no cause",
        Meaning::NotLetIn => "since it says that this request was not let in",
        Meaning::NoSuchBill => "since it says that there is no such bill or account",
        Meaning::Elsewhere => "since it is no word about a payment",
        Meaning::NotMentioned => {
            "since the interface does not know this code, and no payment is posted again on it alone"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::CodeTable;
    use std::fmt::Write as _;

    /// Every code that is written down anywhere, and some that are not.
    const CODES: [i32; 40] = [
        104, 106, 109, 110, 111, 115, 120, 131, 132, 139, 140, 141, 143, 146, 148, 167, 174, 178,
        180, 183, 184, 188, 216, 217, 219, 229, 230, 231, 232, 233, 301, 306, 307, 308, 309, -1, 0,
        200, 999, 140_000,
    ];

    #[test]
    fn every_code_has_the_classes_that_the_document_leaves_it() {
        let mut table = String::new();
        for code in CODES {
            let words = |heard| {
                let words: Vec<_> = allowed(heard, code)
                    .iter()
                    .map(|class| class.name())
                    .collect();
                words.join(" ")
            };
            writeln!(
                table,
                "{code} | {} | {}",
                words(Heard::Post),
                words(Heard::Status)
            )
            .unwrap();
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn the_built_in_table_and_doubt_are_always_allowed() {
        let table = CodeTable::default();
        for code in CODES {
            for heard in [Heard::Post, Heard::Status] {
                let class = match heard {
                    Heard::Post => table.of_post(code),
                    Heard::Status => table.of_status(code),
                };
                assert!(allows(heard, code, class), "{code} {heard:?} {class:?}");
                assert!(allows(heard, code, Class::InDoubt), "{code} {heard:?}");
            }
        }
    }

    #[test]
    fn nothing_but_the_documents_own_words_leads_to_another_post() {
        for code in -1_000..100_000 {
            let table = CodeTable::default();
            let unexecuted = matches!(table.of_post(code), Class::Refused | Class::NoFloat);
            assert_eq!(
                allows(Heard::Post, code, Class::NoFloat),
                unexecuted,
                "{code}"
            );
            assert!(!allows(Heard::Post, code, Class::NotFound), "{code}");
            assert_eq!(
                allows(Heard::Status, code, Class::NotFound),
                code == 143,
                "{code}"
            );
            assert!(!allows(Heard::Status, code, Class::NoFloat), "{code}");
        }
    }

    #[test]
    fn no_code_ends_a_payment_in_two_ways() {
        use Class::{Acknowledged, Failed, InDoubt, Paid, Refused};
        for (post, status, expected) in [
            (Paid, Failed, true),
            (Failed, Paid, true),
            (Refused, Paid, true),
            (Refused, Failed, false),
            (Paid, Paid, false),
            (Acknowledged, Paid, false),
            (Failed, InDoubt, false),
        ] {
            assert_eq!(contradict(post, status), expected, "{post:?} {status:?}");
        }
    }

    #[test]
    fn no_code_may_mean_the_opposite_of_what_it_says() {
        let opposite = [
            (Class::Paid, Class::Failed),
            (Class::Paid, Class::Refused),
            (Class::Failed, Class::Paid),
            (Class::Refused, Class::Paid),
            (Class::NoFloat, Class::Paid),
            (Class::Acknowledged, Class::Paid),
            (Class::Acknowledged, Class::Failed),
            (Class::Delivered, Class::Paid),
            (Class::Delivered, Class::Failed),
            (Class::NotFound, Class::Paid),
            (Class::NotFound, Class::Failed),
            (Class::Duplicate, Class::Paid),
            (Class::Duplicate, Class::Failed),
        ];
        let table = CodeTable::default();
        for code in CODES {
            for (is, not) in opposite {
                assert!(table.of_post(code) != is || !allows(Heard::Post, code, not));
                assert!(table.of_status(code) != is || !allows(Heard::Status, code, not));
            }
        }
    }
}
