//! Why a file is not loaded, in words, and what to do.

use super::input::Input;
use super::{Error, output, repeats};
use crate::journal::{Difference, LateError, LoadRefusal};
use crate::ledger::Purpose;

/// Says why; `bad` is how many rows have errors.
pub(super) fn refused(input: &Input, batch: &str, bad: u64, refusal: &LoadRefusal) -> Error {
    let file = &input.name;
    match refusal {
        LoadRefusal::BadRows {
            repeats: Some(repeats),
            ..
        } => repeats::refused(file, repeats, bad.saturating_sub(repeats.rows)),
        LoadRefusal::BadRows { .. } => Error::refused(format!(
            "{file}: {} with errors; nothing was loaded",
            output::counted(bad, "row")
        ))
        .hint(format!(
            "mend them in the file and load it again; or load the good rows alone with --on-error skip, and add the mended {} \
             with --amend",
            input.corrections().display()
        )),
        LoadRefusal::Corrections(errors) => corrections(file, errors),
        LoadRefusal::NoRows => Error::refused(format!("{file}: holds no payments; nothing was loaded"))
            .hint("is it the right file? It may have been saved before its rows were there"),
        LoadRefusal::Unreadable => Error::unexpected(format!("{file}: was not read to its end; nothing was loaded"))
            .hint("say the same command again; if it comes back, copy the file to another disk first"),
        LoadRefusal::OtherContent(difference) => {
            let message = format!(
                "batch {batch} is there already, and differs from the file: {}; nothing was loaded{}",
                difference_text(difference),
                examples(difference)
            );
            let hint = if difference.changed > 0 {
                "rows of a batch never change. Where the old row was never posted, withdraw it with `disburse cancel`, and add the new \
                 one with --amend under a reference of its own. Where it has failed, mend it in the failed.csv \
                 of `disburse report`, and add that with --amend"
            } else if difference.new + difference.rejected > 0 {
                "add the new rows to the batch with --amend, which leaves the others as they are"
            } else {
                "withdraw what is no longer to be paid with `disburse cancel`"
            };
            Error::refused(message).hint(hint)
        }
        LoadRefusal::Ambiguous(difference) => Error::refused(format!(
            "batch {batch}: {} new and {} gone, and without references a row that was mended cannot be told from a new one; \
             nothing was loaded{}",
            output::counted(difference.new, "row"),
            output::counted(difference.gone, "row"),
            examples(difference)
        ))
        .hint(format!(
            "a row that was mended would be paid beside the old one: first withdraw the old one with `disburse cancel {batch} ID`, \
             then say this again; load rows that are really new as a batch of their own, without those of {batch}"
        )),
        LoadRefusal::OtherOriginator(originator) => Error::refused(format!(
            "batch {batch} belongs to originator {originator:?}; nothing was loaded"
        ))
        .hint("choose the profile it was loaded with, or another batch name"),
        LoadRefusal::OtherPurpose(Purpose::Rehearsal) => Error::refused(format!(
            "batch {batch} was loaded as a rehearsal (--sandbox), and stays one; nothing was loaded"
        ))
        .hint("to pay the file, load it under another batch name: what was rehearsed does not count as paid; to rehearse it, say --sandbox"),
        LoadRefusal::OtherPurpose(_) => Error::refused(format!(
            "batch {batch} was loaded for its gateway, and --sandbox would rehearse it; nothing was loaded"
        ))
        .hint("to rehearse the file, load it with --sandbox under another batch name"),
        LoadRefusal::Count { expected, found } => Error::refused(format!(
            "{file}: {} declared, found {}; nothing was loaded",
            output::counted(*expected, "row"),
            output::grouped(&found.to_string())
        ))
        .hint(DECLARED),
        LoadRefusal::TooMuch { total } => Error::refused(format!(
            "{file}: adds up to {total}, which is more than can be counted (18 digits); nothing was loaded"
        ))
        .hint("an amount is wrong by far: look for the largest ones"),
        LoadRefusal::TotalOpen(rows) => Error::refused(format!(
            "{file}: a total was declared, and {} that the batch has already {} no amount yet, so that it cannot be compared; \
             nothing was loaded",
            output::counted(*rows, "row"),
            if *rows == 1 { "has" } else { "have" },
        ))
        .hint(format!(
            "leave --expect-total out; or fix the amounts first: disburse run {batch} --pay-due"
        )),
        LoadRefusal::Total { expected, found } => Error::refused(format!(
            "{file}: a total of {expected} was declared, found {found}; nothing was loaded"
        ))
        .hint(DECLARED),
    }
}

/// Errors that are shown.
const SHOWN: usize = 50;

fn corrections(file: &str, errors: &[LateError]) -> Error {
    let lines: Vec<String> = errors
        .iter()
        .take(SHOWN)
        .map(|error| {
            format!(
                "\n  {file}:{}: {}: {}",
                error.line, error.column, error.message
            )
        })
        .collect();
    let more = match errors.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    Error::refused(format!(
        "{file}: {} cannot correct what {}; nothing was loaded{}{more}",
        output::counted(errors.len() as u64, "row"),
        if errors.len() == 1 {
            "it names"
        } else {
            "they name"
        },
        lines.concat()
    ))
    .hint("mend these rows, or remove them, and say the same command again")
}

const DECLARED: &str =
    "rows may be missing or doubled in the file, or it is another file: ask whoever declared it";

/// Says how a file differs from its batch, as a sentence goes on behind "the batch has other rows than the file: ".
fn difference_text(difference: &Difference) -> String {
    let Difference {
        new,
        gone,
        changed,
        rejected,
        ..
    } = *difference;
    let rows = |count| output::counted(count, "row");
    let (is, are) = (
        |count: u64| if count == 1 { "is" } else { "are" },
        |count: u64| {
            if count == 1 { "has" } else { "have" }
        },
    );
    let mut parts = Vec::new();
    if gone > 0 {
        parts.push(format!(
            "{} of the batch {} not in the file",
            rows(gone),
            is(gone)
        ));
    }
    if changed > 0 {
        parts.push(format!(
            "{} of the file {} another content in the batch",
            rows(changed),
            are(changed)
        ));
    }
    if new > 0 {
        parts.push(format!(
            "{} of the file {} not in the batch",
            rows(new),
            is(new)
        ));
    }
    if rejected > 0 {
        parts.push(format!(
            "{} of the file {} errors, and {} not set aside when the batch was loaded",
            rows(rejected),
            are(rejected),
            if rejected == 1 { "was" } else { "were" }
        ));
    }
    match parts.is_empty() {
        true => "rows with errors that were set aside are not in the file".to_owned(),
        false => parts.join("; "),
    }
}

fn examples(difference: &Difference) -> String {
    difference
        .examples
        .iter()
        .map(|example| format!("\n  {example}"))
        .collect()
}
