//! What is said of a file that was loaded.

use super::bills::{self, Told};
use super::verify;
use crate::cli::files::input::Input;
use crate::cli::files::reading::Reading;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::cli::words::corrected;
use crate::cli::words::repeats;
use crate::cli::words::summary::{print_summary, to_json};
use crate::domain::BatchName;
use crate::journal::{ChainHead, LoadLayout, LoadSummary};

/// What became of a file.
pub(super) struct AsLoaded<'a> {
    pub(super) batch: &'a BatchName,
    /// Its rows are new in the journal.
    pub(super) fresh: bool,
    /// A total was declared.
    pub(super) total_waits: bool,
    /// What bills said, where they were asked for.
    pub(super) bills: Option<&'a Told>,
    /// It was loaded for its documents.
    pub(super) new_documents: bool,
}

/// Says what was loaded, to a program or on a screen.
pub(super) fn tell_loaded(
    session: &Session,
    loaded: &AsLoaded<'_>,
    summary: &LoadSummary,
    evidence: &ChainHead,
) {
    let AsLoaded {
        batch,
        fresh,
        total_waits,
        bills,
        new_documents,
    } = loaded;
    if session.common.json {
        let mut value = to_json(summary, Some((batch.as_str(), *fresh)));
        if let Some(bills) = bills {
            value["bills"] = bills.to_json();
        }
        value["evidence"] = verify::head_json(evidence);
        output::json(&value);
        return;
    }
    if *new_documents {
        output::line(&documents_text(summary, batch.as_str()));
        return;
    }
    print_summary(summary);
    let what = if *fresh {
        "loaded into"
    } else {
        "already there, unchanged, in"
    };
    output::line(&format!(
        "{} {what} batch {batch}",
        output::counted(summary.total().count, "payment")
    ));
    output::line(&verify::head_text(evidence));
    if summary.unpriced > 0 {
        session.note(&bills::unpriced_text(
            summary.unpriced,
            bills::of_bills(summary.unpriced),
        ));
    }
    if *total_waits && summary.unpriced > 0 {
        session.note(
            "the declared total is compared once they have theirs, before anything is posted",
        );
    }
}

/// Says what became of the documents of a batch that is there already.
fn documents_text(summary: &LoadSummary, batch: &str) -> String {
    let kept = match summary.kept_documents {
        0 => String::new(),
        kept => format!(
            "; {} at the file service already, and stay as they are there",
            if kept == 1 {
                "1 is".to_owned()
            } else {
                format!("{kept} are")
            }
        ),
    };
    format!(
        "{} taken again into batch {batch}{kept}",
        output::counted(summary.new_documents, "document")
    )
}

/// Notes what the reading of a file came to.
pub(super) fn tell_reading(
    session: &Session,
    input: &Input,
    reading: &Reading,
    by_layout: Option<&LoadLayout>,
) {
    for note in reading.notes() {
        session.note(&format!("{}: {note}", input.name));
    }
    if let Some(text) = reading.not_due_text(&input.zone()) {
        session.note(&format!("{}: {text}", input.name));
    }
    if let Some(layout) = by_layout {
        session.note(&format!(
            "{}: read by layout {} ({})",
            input.name,
            layout.name,
            &layout.digest[..layout.digest.len().min(16)]
        ));
    }
}

/// Says what of a file that was loaded is to be looked at; `set_aside` is how many rows were.
pub(super) fn tell_new(
    session: &Session,
    input: &Input,
    (batch, sandbox): (&str, &str),
    summary: &LoadSummary,
    set_aside: Option<u64>,
) {
    note_cancelled(session, batch, summary);
    repeats::warn_alike(&summary.alike);
    if let Some(repeats) = &summary.repeats {
        output::complain("warning", &repeats::skipped_text(repeats));
    }
    if summary.mended > 0 {
        session.note(&corrected::mended_text(summary.mended));
    }
    if summary.replaced > 0 {
        session.note(&corrected::replaced_text(summary.replaced));
    }
    for text in corrected::changed_texts(&summary.changed) {
        output::complain("warning", &text);
    }
    if let Some(bad) = set_aside.filter(|bad| *bad > 0) {
        output::complain(
            "warning",
            &format!("{} set aside as rejected", output::counted(bad, "row")),
        );
        let corrections = input.corrections().display().to_string();
        let corrections = output::quoted(&corrections).into_owned();
        let repeats = summary.repeats.as_ref().map_or(0, |repeats| repeats.rows);
        if bad > repeats {
            output::complain(
                "hint",
                &format!(
                    "mend {corrections}, then add it: disburse load {corrections} --batch {batch} --amend{sandbox}"
                ),
            );
        }
        if repeats > 0 {
            output::complain("hint", &repeats::set_aside_hint(&corrections, repeats));
        }
    }
}

/// Says that rows of the file were cancelled in their batch, so that nobody takes them for loaded anew.
fn note_cancelled(session: &Session, batch: &str, summary: &LoadSummary) {
    let (is, stays, it, its) = match summary.cancelled {
        0 => return,
        1 => ("is of a payment", "stays", "it", "its row"),
        _ => ("are of payments", "stay", "them", "their rows"),
    };
    session.note(&format!(
        "{} of the file {is} that batch {batch} has cancelled, and {stays} cancelled: nobody is paid by {it}. To pay \
         {it} after all, load {its}, with the same references, under a new batch name",
        output::counted(summary.cancelled, "row")
    ));
}
