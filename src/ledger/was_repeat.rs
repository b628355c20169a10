//! How a row is named that another one repeats, and how that is read again: a row that was rejected as a repeat is known by it.

use std::fmt;

/// The row that another one repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated<'a> {
    /// Its line.
    pub line: u64,
    /// Its file.
    pub source: &'a str,
    /// Its batch.
    pub batch: &'a str,
    /// The day of its load.
    pub day: &'a str,
    /// Where it stands, in words.
    pub state: &'a str,
}

impl fmt::Display for Repeated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            source,
            batch,
            day,
            state,
        } = self;
        write!(
            f,
            "line {line} of {source} in batch {batch} (loaded {day}; state: {state})"
        )
    }
}

/// What a row repeats that was rejected for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasRepeat {
    /// The batch of the other row.
    pub batch: String,
    /// Its line and its file. Where a name of a file or a reference reads like one, there are more to choose from.
    pub places: Vec<(u64, String)>,
}

/// How the errors begin of a row that was rejected as a repeat.
const BEGIN: [&str; 2] = ["reference: \"", "same recipient"];

/// What stands in the name of a row before its batch, its day and its state.
struct Form {
    batch: &'static str,
    loaded: &'static str,
    state: &'static str,
}

/// How rows were named, the way of today first: what earlier releases stored is read as well.
const FORMS: [Form; 2] = [
    Form {
        batch: " in batch ",
        loaded: " (loaded ",
        state: "; state: ",
    },
    Form {
        batch: " of batch ",
        loaded: ", loaded ",
        state: ", which is ",
    },
];

/// Reads from the errors of a rejected row, as they are kept, what it repeats; `None` of one that was rejected for something else.
#[must_use]
pub fn was_repeat(errors: &str) -> Option<WasRepeat> {
    if !BEGIN.iter().any(|begin| errors.starts_with(begin)) {
        return None;
    }
    // A name of a file or a reference may read like the other form: the one that stands last is no part of them.
    let form = |form: &'static Form| {
        let at = errors.rfind(form.loaded)?;
        let is_one = errors[at..].contains(form.state);
        is_one.then_some((at, form))
    };
    let (at, form) = FORMS.iter().filter_map(form).max_by_key(|(at, _)| *at)?;
    let (before, batch) = errors[..at].rsplit_once(form.batch)?;
    let places = before.match_indices("line ").filter_map(|(at, word)| {
        let (line, source) = before[at + word.len()..].split_once(" of ")?;
        Some((line.parse().ok()?, source.to_owned()))
    });
    let places: Vec<_> = places.collect();
    (!places.is_empty()).then(|| WasRepeat {
        batch: batch.to_owned(),
        places,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repeated<'a>(line: u64, source: &'a str, batch: &'a str, state: &'a str) -> Repeated<'a> {
        Repeated {
            line,
            source,
            batch,
            day: "2026-11-22",
            state,
        }
    }

    proptest! {
        #[test]
        fn what_a_row_repeats_is_read_as_it_was_written(
            line in 1..u64::MAX, source in "[ -~]{1,30}", batch in "[A-Za-z0-9._-]{1,20}", reference in "[ -~]{1,20}",
        ) {
            for state in ["paid", "failed by the word of a person, which the gateway has not confirmed"] {
                let other = repeated(line, &source, &batch, state).to_string();
                let earlier = format!("line {line} of {source} of batch {batch}, loaded 2026-11-22, which is {state}");
                for errors in [other, earlier].iter().flat_map(|other| [
                    format!("reference: {reference:?} is the reference of {other}"),
                    format!("reference: {reference:?} reads like {reference:?}, the reference of {other}"),
                    format!("same recipient, amount and service as {other}, and not both have a reference"),
                ]) {
                    let read = was_repeat(&errors);
                    prop_assert!(read.is_some(), "{}", errors);
                    let read = read.unwrap();
                    prop_assert_eq!(&read.batch, &batch);
                    prop_assert!(read.places.contains(&(line, source.clone())), "{}: {:?}", errors, read);
                }
            }
        }
    }

    #[test]
    fn what_was_rejected_for_something_else_is_no_repeat() {
        for errors in [
            "",
            "reference: \"E-1\" is the reference of line 2 too; each row needs its own",
            "equal to line 2: one mistake or two payments? Give each row a reference, or say --allow-equal-rows",
            "msisdn: too short: line 2 of a of batch b, loaded 2026-11-22, which is paid",
            "amount: missing",
            "msisdn: too short: line 2 of a in batch b (loaded 2026-11-22; state: paid)",
            "reference: \"E-1\" is the reference of line 2 (loaded by hand)",
        ] {
            assert_eq!(was_repeat(errors), None, "{errors}");
        }
    }
}
