//! Phone numbers and accounts as replies write them: local, with spaces, hidden in part.

use super::compared::{Agreement, Recipient};
use crate::domain::{Country, Msisdn, MsisdnError};

/// Longer texts are no numbers.
const LENGTH_MAX: usize = 64;
/// So many digits of ours within another text may be ours by themselves.
const TELLING: usize = 4;

pub(super) fn compare(text: &str, ours: Msisdn, country: Country) -> Agreement {
    let text = text.trim();
    // Nearly all of them are written as we wrote it.
    if text == ours.as_str() {
        return Agreement::Agrees;
    }
    if text.len() > LENGTH_MAX {
        return Agreement::Unreadable;
    }
    let marks = marks(text, |c| matches!(c, 'x' | 'X'));
    if marks.contains(&Mark::Other) {
        return Agreement::Unreadable;
    }
    let forms = forms(ours, country);
    if marks.contains(&Mark::Hidden) {
        return hidden(&marks, &forms);
    }
    let digits = visible(&marks);
    if digits.chars().all(|c| c == '0') {
        // Nothing, or what stands for nothing.
        return Agreement::Unreadable;
    }
    if forms.contains(&digits) {
        return Agreement::Agrees;
    }
    match Msisdn::parse(text, country) {
        Ok(other)
        | Err(MsisdnError::LostLeadingZero {
            international: other,
        }) if other == ours => Agreement::Agrees,
        // The last digits alone are another way to hide the others.
        _ if ours.as_str().ends_with(&digits) => Agreement::Unreadable,
        _ => Agreement::Differs,
    }
}

pub(super) fn compare_account(text: &str, to: &Recipient<'_>) -> Agreement {
    let text = text.trim();
    if text == to.account {
        return Agreement::Agrees;
    }
    if text.len() > LENGTH_MAX {
        return Agreement::Unreadable;
    }
    if to.account == to.msisdn.as_str() {
        return compare(text, to.msisdn, to.country);
    }
    let ours = bare(to.account);
    // One that looks like a number of the country may be written as one.
    if ours.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = Msisdn::parse(&ours, to.country)
        && compare(text, number, to.country) == Agreement::Agrees
    {
        return Agreement::Agrees;
    }
    let marks = marks(text, |_| false);
    if marks.contains(&Mark::Hidden) {
        return hidden(&marks, &[ours.to_uppercase()]);
    }
    let (theirs, ours) = (bare(text).to_uppercase(), ours.to_uppercase());
    let without_zeros = |text: &str| text.trim_start_matches('0').to_owned();
    let has_digits = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    if without_zeros(&theirs).is_empty() || has_digits(&ours) && !has_digits(&theirs) {
        return Agreement::Unreadable;
    }
    if without_zeros(&theirs) == without_zeros(&ours) {
        return Agreement::Agrees;
    }
    // Its last digits, or the whole of it behind the code of its branch.
    let part = ours.ends_with(&theirs)
        || ours.len() >= TELLING && theirs.contains(&ours)
        || theirs.len() >= TELLING && ours.contains(&theirs);
    if part {
        Agreement::Unreadable
    } else {
        Agreement::Differs
    }
}

/// One character of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// A digit, or a letter of an account.
    Visible(char),
    /// It stands for one that is hidden.
    Hidden,
    /// It has no place in a number.
    Other,
}

/// Reads the characters of a number; those that only make it easier to read are left out.
fn marks(text: &str, hides: impl Fn(char) -> bool) -> Vec<Mark> {
    let characters: Vec<char> = text.chars().collect();
    let repeated = |at: usize| {
        let is_same = |other: Option<&char>| other == characters.get(at);
        at > 0 && is_same(characters.get(at - 1)) || is_same(characters.get(at + 1))
    };
    let mut marks = Vec::with_capacity(characters.len());
    for (at, c) in characters.iter().copied().enumerate() {
        let mark = match c {
            '*' | '#' | '?' | '_' | '•' | '●' | '…' | '×' => Mark::Hidden,
            // Twice in a row no letter of an account, and no separator.
            'x' | 'X' | '.' | '-' if repeated(at) => Mark::Hidden,
            c if hides(c) => Mark::Hidden,
            c if c.is_ascii_digit() => Mark::Visible(c),
            c if c.is_ascii_alphabetic() => Mark::Other,
            '+' if at == 0 => continue,
            ' ' | '-' | '.' | '(' | ')' | '/' | '\u{a0}' | '\u{202f}' => continue,
            _ => Mark::Other,
        };
        marks.push(mark);
    }
    marks
}

fn visible(marks: &[Mark]) -> String {
    marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Visible(c) => Some(*c),
            Mark::Hidden | Mark::Other => None,
        })
        .collect()
}

/// The ways in which our number is written with digits.
fn forms(ours: Msisdn, country: Country) -> Vec<String> {
    let international = ours.as_str();
    let mut forms = vec![international.to_owned(), format!("00{international}")];
    if let Some(national) = ours.national(country) {
        forms.push(national.to_owned());
        forms.push(format!("0{national}"));
    }
    forms
}

/// Compares what is visible of a number: it may be ours unless it fits no form of it.
fn hidden(marks: &[Mark], forms: &[String]) -> Agreement {
    // Letters of a masked account are not told from those that hide.
    if marks.contains(&Mark::Other) {
        return Agreement::Unreadable;
    }
    let is_hidden = |mark: &Mark| *mark == Mark::Hidden;
    let first = marks.iter().position(is_hidden).unwrap_or(marks.len());
    let last = marks.iter().rposition(is_hidden).map_or(0, |at| at + 1);
    let (head, tail) = (visible(&marks[..first]), visible(&marks[last..]));
    let fits = |form: &String| {
        let in_place = form.chars().count() != marks.len()
            || form
                .chars()
                .zip(marks)
                .all(|(ours, mark)| !matches!(mark, Mark::Visible(theirs) if *theirs != ours));
        // As many characters may hide fewer, or more.
        form.starts_with(&head) && form.ends_with(&tail) && in_place
    };
    if forms.iter().any(fits) {
        Agreement::Unreadable
    } else {
        Agreement::Differs
    }
}

/// An account without what only makes it easier to read.
fn bare(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, ' ' | '-' | '/' | '.' | '\u{a0}'))
        .collect()
}
