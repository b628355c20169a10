//! Why a file is not loaded, in words, and what to do.

use super::repeats;
use crate::cli::Error;
use crate::cli::files::input::Input;
use crate::cli::terminal::output;
use crate::cli::words::hours::dates_text;
use crate::domain::Money;
use crate::journal::{CrossRowError, Difference, LoadRefusal};
use crate::ledger::Purpose;
use crate::ledger::amendment::{Shared, is_another_batch};
use crate::ledger::calendar::BatchDates;
use crate::ledger::payer::Back;

/// Says why; `bad` is how many rows have errors.
pub(in crate::cli) fn refused(
    input: &Input,
    batch: &str,
    bad: u64,
    refusal: &LoadRefusal,
    back: Back,
) -> Error {
    let file = &input.name;
    match refusal {
        LoadRefusal::BadRows {
            repeats: Some(repeats),
            ..
        } => repeats::refused(input, repeats, bad.saturating_sub(repeats.rows), back),
        LoadRefusal::BadRows { .. } => Error::refused(format!(
            "{file}: {} with errors; nothing was loaded",
            output::counted(bad, "row")
        ))
        .hint(format!(
            "mend them in the file and load it again; or load the good rows alone with --on-error skip, and add the mended {} with \
             --amend",
            input.corrections().display()
        )),
        LoadRefusal::Corrections(errors) => corrections(file, errors),
        LoadRefusal::MayBeMended(count, rows) => may_be_mended(file, batch, *count, rows),
        LoadRefusal::LayoutChanged { layout, batch: loaded, source } => layout_changed(file, layout, loaded, source),
        LoadRefusal::LayoutMissing { layout } => layout_missing(file, layout, batch),
        LoadRefusal::ReadBefore { layout, batch: other } => read_before(file, layout, other),
        LoadRefusal::NoRows => Error::refused(format!("{file}: holds no payments; nothing was loaded"))
            .hint("is it the right file? It may have been saved before its rows were there"),
        LoadRefusal::Forgotten => forgotten(batch),
        LoadRefusal::Unreadable => Error::unexpected(format!("{file}: was not read to its end; nothing was loaded"))
            .hint("run the same command again; if the error comes back, copy the file to another disk, and load the copy"),
        LoadRefusal::OtherContent(difference) => other_content(batch, difference),
        LoadRefusal::Ambiguous(difference) => ambiguous(batch, difference),
        LoadRefusal::Instead(rows) => instead(file, batch, rows),
        LoadRefusal::BatchAgain(rows) => batch_again(file, batch, *rows),
        LoadRefusal::OtherOriginator(originator) => Error::refused(format!(
            "batch {batch} belongs to originator {originator:?}; nothing was loaded"
        ))
        .hint("choose the profile it was loaded with, or another batch name")
        .hint(format!("if it was loaded with the wrong profile: first disburse cancel {batch}, which withdraws what was not sent; then load the file under another batch name, with --on-error skip where some of it was sent")),
        LoadRefusal::OtherDates(dates) => other_dates(input, batch, *dates),
        LoadRefusal::OtherPurpose(Purpose::Rehearsal) => Error::refused(format!(
            "batch {batch} was loaded as a rehearsal (--sandbox), and stays one; nothing was loaded"
        ))
        .hint("to pay the file, load it under another batch name: what was rehearsed does not count as paid; to rehearse it, add --sandbox"),
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
        .hint("one of the amounts must be far too large: look for the largest"),
        LoadRefusal::OverCeiling { total, ceiling } => over_ceiling(file, batch, *total, *ceiling),
        LoadRefusal::TotalOpen(rows) => Error::refused(format!(
            "{file}: a total was declared, and {} that the batch has already {} no amount yet, so that it cannot be compared; nothing \
             was loaded",
            output::counted(*rows, "row"),
            if *rows == 1 { "has" } else { "have" },
        ))
        .hint(format!(
            "leave --expect-total out; or fix the amounts first: disburse run {batch} --pay-due"
        )),
        LoadRefusal::Total {
            expected,
            found,
            unread,
        } => other_total(file, expected, found, *unread),
    }
}

/// A layout of the same name has read the batch, or the file, otherwise.
fn layout_changed(file: &str, layout: &str, batch: &str, source: &str) -> Error {
    Error::refused(format!(
        "{file}: layout {layout}, or the period that it is given, is not as it was when it read {source} for batch {batch}; nothing was loaded"
    ))
    .hint(format!(
        "if {file} pays another period than batch {batch}: give it a batch of its own, with that period (--batch NAME --period PERIOD)"
    ))
    .hint(format!(
        "if it is a file of an earlier period, which batch {batch} has paid or pays: take the file of this period"
    ))
    .hint(format!(
        "with another layout, rows without a reference become other payments, and would be paid again. If the layout was edited, restore it; or, if it was wrong and paid nothing, save the corrected one under another name, such as {layout}-b, and use --layout {layout}-b"
    ))
}

/// Rows are added to a batch, and read in another way.
fn layout_missing(file: &str, layout: &str, batch: &str) -> Error {
    Error::refused(format!(
        "{file}: names no layout, and all that batch {batch} has was read by layout {layout}; nothing was loaded"
    ))
    .hint(format!(
        "without the layout, the same rows may be read with other amounts and recipients. Add --layout {layout}; if \
        the file is of another kind, load it under another batch name"
    ))
}

/// The same file makes another batch by another layout.
fn read_before(file: &str, layout: &str, other: &str) -> Error {
    Error::refused(format!(
        "{file}: was loaded as batch {other} before, read by layout {layout}, and that batch has payments; nothing was loaded"
    ))
    .hint(format!(
        "with another layout its rows become other payments, and the same people may be paid twice. If that layout was wrong: cancel what was \
         not sent (disburse cancel {other}), and load a file with only those people whom batch {other} has not paid"
    ))
}

/// A row may be one that was rejected, mended now, or a new one.
fn may_be_mended(file: &str, batch: &str, count: u64, rows: &[CrossRowError]) -> Error {
    Error::refused(format!(
        "{file}: {} may be {} of batch {batch} that {} rejected and mended since, or new{}; nothing was loaded{}",
        output::counted(count, "row"),
        if count == 1 { "a row" } else { "rows" },
        if count == 1 { "was" } else { "were" },
        if count == 1 { "" } else { " ones" },
        listed(file, rows, count)
    ))
    .hint(format!(
        "mend the rejected rows in the corrections file of their load, or in the failed.csv of `disburse report {batch}`: it names each \
         in its column rejected_row, so that the mended row takes its place. Add that with --amend, without the rest. A row that \
         is really new is loaded under a batch name of its own"
    ))
}

/// The batch is there already, with other rows.
fn other_content(batch: &str, difference: &Difference) -> Error {
    let message = format!(
        "batch {batch} exists already, and differs from the file: {}; nothing was loaded{}",
        difference_text(difference),
        examples(difference)
    );
    if is_another_batch(&Shared {
        unchanged: difference.unchanged,
        changed: difference.changed,
        new: difference.new,
        gone: difference.gone,
    }) {
        return Error::refused(message).hint(format!(
            "{} in both: load another payroll, such as next month's, under a new batch name. If it is batch {batch} \
             with mended rows, first cancel the old rows with `disburse cancel {batch} ID`, or both are paid",
            match difference.unchanged {
                0 => "no row is".to_owned(),
                1 => "hardly any row is".to_owned(),
                _ => "hardly any rows are".to_owned(),
            }
        ));
    }
    let hint = how_to_change(difference);
    let hint = match difference.changed > difference.changed_person {
        true => format!("{hint}. {PAID_ROW}"),
        false => hint.to_owned(),
    };
    Error::refused(message).hint(hint)
}

/// Returns how the rows of a batch are changed to those of the file.
fn how_to_change(difference: &Difference) -> &'static str {
    if difference.changed > 0 && difference.changed == difference.changed_person {
        "a row of the file has the reference of a row of the batch, but pays somebody else: give it a reference of its \
         own, and add it with --amend. Only if the row of the batch is wrong, first cancel that row with `disburse \
         cancel`"
    } else if difference.changed > 0 && difference.changed_person > 0 {
        "rows of a batch never change. If a row has the reference of a row of the batch, but pays somebody else, give \
         it a reference of its own. If it pays the same person in another way, and the old row was never posted, \
         cancel the old row with `disburse cancel`, and add the new one with --amend under a new reference; if the old \
         row has failed, mend it in the failed.csv of `disburse report`"
    } else if difference.changed > 0 {
        "rows of a batch never change. If the old row was never posted, cancel it with `disburse cancel`, and add the \
         new one with --amend under a new reference. If it has failed, mend it in the failed.csv of `disburse report`, \
         and add that file with --amend"
    } else if difference.new + difference.rejected > 0 {
        "add the new rows to the batch with --amend, which leaves the others as they are"
    } else {
        "use `disburse cancel` for the rows that are not to be paid any more"
    }
}

/// Without references a mended row cannot be told from a new one.
fn ambiguous(batch: &str, difference: &Difference) -> Error {
    Error::refused(format!(
        "batch {batch}: {} new and {} gone, and without references a mended row looks like a new one; nothing was \
         loaded{}",
        output::counted(difference.new, "row"),
        output::counted(difference.gone, "row"),
        examples(difference)
    ))
    .hint(format!(
        "if a row was mended, the old one and the mended one would both be paid: first cancel the old one with \
         `disburse cancel {batch} ID`, then repeat this command. Load rows that are really new under a new batch name, \
         without the rows of {batch}"
    ))
}

/// New rows pay whom rows pay that the file leaves out.
fn instead(file: &str, batch: &str, rows: &[CrossRowError]) -> Error {
    Error::refused(format!(
        "{file}: leaves out rows of batch {batch}, and has new ones for the same recipients; nothing was loaded{}",
        listed(file, rows, rows.len() as u64)
    ))
    .hint(format!(
        "if a new row replaces an old one, both would be paid. First cancel the old row with `disburse cancel {batch} \
         REFERENCE`, then repeat this command. {PAID_ROW}; if it has failed, mend it in the failed.csv of `disburse \
         report {batch}`, and add that file. If the new row is a further payment, add it in a file of its own, without \
         the rows of {batch}"
    ))
}

/// All rows pay what rows of the batch pay, under other references.
fn batch_again(file: &str, batch: &str, rows: u64) -> Error {
    Error::refused(format!(
        "{file}: each of its {} pays the recipient of a row of batch {batch} the same amount, under another reference or through another \
         service; nothing was loaded",
        output::counted(rows, "row"),
    ))
    .hint(format!(
        "these look like the payments of {batch} again. If those failed, mend them in the failed.csv of `disburse \
         report {batch}`, and add that file. If each row is a further payment, load the rows under a new batch name"
    ))
}

/// The rows add up to another total than was declared; the amounts of `unread` rows could not be read.
fn other_total(file: &str, expected: &str, found: &str, unread: u64) -> Error {
    let without = match unread {
        0 => {
            return Error::refused(format!(
                "{file}: a total of {expected} was declared, found {found}; nothing was loaded"
            ))
            .hint(DECLARED);
        }
        1 => "1 row whose amount cannot be read".to_owned(),
        rows => format!(
            "{} whose amounts cannot be read",
            output::counted(rows, "row")
        ),
    };
    Error::refused(format!(
        "{file}: a total of {expected} was declared, found {found} without {without}; nothing was loaded"
    ))
    .hint("mend their amounts first: a declared total is compared with all rows of the file, those with errors included")
}

const PAID_ROW: &str = "A row that is paid, or may be, cannot be corrected: pay the difference as a row of a new batch";

/// Errors that are shown.
const SHOWN: usize = 50;

fn corrections(file: &str, errors: &[CrossRowError]) -> Error {
    Error::refused(format!(
        "{file}: {} cannot replace the {}; nothing was loaded{}",
        output::counted(errors.len() as u64, "row"),
        if errors.len() == 1 {
            "row that it names"
        } else {
            "rows that they name"
        },
        listed(file, errors, errors.len() as u64)
    ))
    .hint("mend these rows, or remove them, then run the same command again")
}

/// Lists the first of so many rows.
fn listed(file: &str, errors: &[CrossRowError], count: u64) -> String {
    let lines = errors.iter().take(SHOWN).map(|error| {
        let column = match error.column {
            "" => String::new(),
            column => format!(" {column}:"),
        };
        format!("\n  {file}:{}:{column} {}", error.line, error.message)
    });
    let lines: String = lines.collect();
    match count.saturating_sub(errors.len().min(SHOWN) as u64) {
        0 => lines,
        more => format!("{lines}\n  and {more} more"),
    }
}

const DECLARED: &str = "rows may be missing or doubled in the file, or this is the wrong file: ask the person who \
    declared the count or total";

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
/// The rows of a batch come to more than its ceiling.
fn over_ceiling(file: &str, batch: &str, total: Money, ceiling: Money) -> Error {
    Error::refused(format!(
        "{file}: the rows of batch {batch} would come to {} {}, and limits.batch is {}; nothing was loaded",
        total.currency,
        output::grouped(&total.to_string()),
        output::grouped(&ceiling.to_string())
    ))
    .hint("look for an amount that is too large. If all are right, load the file as several batches, or raise the \
        ceiling")
}

fn other_dates(input: &Input, batch: &str, dates: BatchDates) -> Error {
    let told = dates_text(dates, &input.zone());
    Error::refused(format!(
        "batch {batch} is {}, but other dates were given with this file; nothing was loaded",
        told.unwrap_or_else(|| "posted at any time".to_owned())
    ))
    .hint(format!(
        "leave the dates out here; to change those of the batch: disburse schedule {batch} --not-before TIME --not-after TIME --reason TEXT"
    ))
}

/// People of the batch were forgotten.
fn forgotten(batch: &str) -> Error {
    Error::refused(format!(
        "names and numbers of batch {batch} were removed, so that new rows cannot be compared with its rows; nothing was loaded"
    ))
    .hint("load these rows under another batch name; `disburse archive read FILE` shows who was paid")
}
