//! `load`, and the loading that `check` and `pay` share.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::actor::actor;
use super::arguments::{LoadArguments, LoadOptions, OnError};
use super::bills::{self, Told};
use super::config::Settings;
use super::input::{Input, Pending, Reading, declared_total};
use super::refused::refused;
use super::session::{Session, batch_name, run_command, sandbox_flag};
use super::verify;
use super::writeback::Writeback;
use super::{
    Error, Verdict, arguments::FileArguments, corrected, networks, output, recover, repeats,
};
use crate::domain::{BatchName, Originator, Tally, Timestamp};
use crate::journal::{Journal, LoadPlan, LoadRefusal, LoadSummary, Loaded, Reader, RunLock};
use crate::ledger::{Before, Purpose};

/// `disburse load`.
pub(super) async fn load(session: &Session, arguments: LoadArguments) -> Result<Verdict, Error> {
    let overrides = vec![("service_code", arguments.file.service.clone())];
    let mut settings = session.settings(arguments.sandbox, overrides)?;
    if arguments.bills && !arguments.sandbox {
        // Refused before anything is loaded: without a gateway nobody knows the bills.
        settings.gateway()?;
    } else {
        // Better told now than when the batch is to be paid.
        settings.look_for_password()?;
    }
    let purpose = Purpose::of_command(arguments.sandbox);
    let plan = LoadPlan {
        new_documents: arguments.new_documents,
        ..plan(&arguments.file, &arguments.options, &settings, purpose)?
    };
    let input = Input::open(&arguments.file, &settings)?
        .presuming_posted(arguments.options.presume_posted)
        .setting_aside(plan.skip_bad_rows.then_some(&plan.batch));
    let (name, batch) = (plan.batch.clone(), plan.batch.to_string());
    let total_waits = plan.expect_total.is_some();
    if arguments.options.lookup {
        networks::check_new(session, &input, &plan, arguments.sandbox).await?;
    }
    let (journal, mut summary, fresh) = open_and_load(session, &input, plan).await?;
    let told = match arguments.bills {
        true => {
            let place = bills::Place {
                session,
                settings: &mut settings,
                journal: &journal,
                batch: &name,
                file: &input.name,
            };
            bills::load(place, arguments.sandbox).await?
        }
        false => Told::default(),
    };
    told.complete(&mut summary);
    let evidence = journal.standing(name.clone()).await?.evidence;
    if session.common.json {
        let mut value = to_json(&summary, Some((&batch, fresh)));
        if arguments.bills {
            value["bills"] = told.to_json();
        }
        value["evidence"] = verify::head_json(&evidence);
        output::json(&value);
    } else if arguments.new_documents {
        output::line(&documents_text(&summary, &batch));
        session.note(&format!("next: disburse run {batch}"));
    } else {
        print_summary(&summary);
        let what = if fresh {
            "loaded into"
        } else {
            "already there, unchanged, in"
        };
        output::line(&format!(
            "{} {what} batch {batch}",
            output::counted(summary.total().count, "payment")
        ));
        output::line(&verify::head_text(&evidence));
        let pay_due = match summary.unpriced {
            0 => "",
            unpriced => {
                let remedy = "`run --pay-due` takes what is due, and so does `load --bills`";
                session.note(&bills::unpriced_text(unpriced, remedy));
                " --pay-due"
            }
        };
        if total_waits && summary.unpriced > 0 {
            session.note(
                "the declared total is compared once they have theirs, before anything is posted",
            );
        }
        if fresh || !note_if_cancelled(session, &journal, &name).await? {
            // What is said next is what a person types: a rehearsal must not lead to the gateway.
            let run = run_command(&name, purpose);
            session.note(&format!("next: {run}{pay_due}"));
        }
    }
    Ok(Verdict::Done)
}

/// Returns whether the journal has a batch of this name.
pub(super) fn is_there(session: &Session, batch: &BatchName) -> bool {
    let path = session.journal_path();
    path.symlink_metadata().is_ok()
        && Reader::open(path).is_ok_and(|reader| reader.snapshot(batch).is_ok())
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
        "{} taken anew in batch {batch}{kept}",
        output::counted(summary.new_documents, "document")
    )
}

fn now() -> Timestamp {
    #[cfg(debug_assertions)]
    let past = crate::points::days_ago() * 24 * 60 * 60 * 1000;
    #[cfg(not(debug_assertions))]
    let past = 0;
    Timestamp::from_millis(Timestamp::now().as_millis() - past)
}

/// Makes the plan of a load from its options.
pub(super) fn plan(
    file: &FileArguments,
    options: &LoadOptions,
    settings: &Settings,
    purpose: Purpose,
) -> Result<LoadPlan, Error> {
    if options.allow_same_content && purpose != Purpose::Rehearsal {
        output::complain(
            "warning",
            "--allow-same-content allows nothing any more: what was loaded within repeats.window is refused unless --allow-repeats names it",
        );
    }
    Ok(LoadPlan {
        purpose,
        batch: batch_name(&options.batch)?,
        originator: settings.originator()?.clone(),
        source: String::new(),
        now: now(),
        amend: options.amend,
        allow_equal_rows: file.allow_equal_rows,
        repeats: repeats::plan(
            settings,
            purpose == Purpose::Rehearsal,
            options.allow_repeats.clone(),
        ),
        skip_bad_rows: options.on_error == OnError::Skip,
        presume_posted: options.presume_posted,
        expect_count: file.expect_count,
        expect_total: match &file.expect_total {
            Some(text) => Some(declared_total(text, settings)?),
            None => None,
        },
        new_documents: false,
        dry_run: false,
    })
}

/// Opens the journal and loads the file. A file that is refused leaves no new journal behind.
pub(super) async fn open_and_load(
    session: &Session,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Journal, LoadSummary, bool), Error> {
    let path = session.journal_path();
    crate::journal::refuse_reserved(path)?;
    if path.symlink_metadata().is_ok() {
        let journal = Journal::open(path)?.acting_as(actor());
        recover::warn(&journal).await?;
        let plan = LoadPlan {
            originator: originator(path, &plan)?,
            ..plan
        };
        let (summary, fresh) = into_journal(session, &journal, input, plan).await?;
        return Ok((journal, summary, fresh));
    }
    if crate::journal::is_gone(path) {
        output::complain(
            "warning",
            &format!(
                "journal {}: is missing, and its mark beside it says that it was in use here; a new one is made, and whatever is loaded is \
                 asked about before it is posted",
                path.display()
            ),
        );
        output::complain("hint", super::error::GONE);
    }
    // Made aside and put in place when it holds something: to remove a journal that another process may have opened
    // meanwhile would lose what that process writes.
    let aside = aside_of(path);
    let journal = Journal::aside(&aside)?.acting_as(actor());
    let writeback = Writeback::of(&aside).map_err(|error| unsynced(path, &error));
    let loaded = into_journal(session, &journal, input, plan).await;
    // The last handle closes the file, and takes everything into it.
    drop(journal);
    let placed = loaded.and_then(|loaded| {
        put_in_place(&aside, path, writeback?)?;
        Ok(loaded)
    });
    for suffix in ["", "-wal", "-shm"] {
        // What stays holds no more than a file that was refused, or what is in place by now.
        let _ = std::fs::remove_file(beside(&aside, suffix));
    }
    let (summary, fresh) = placed?;
    let journal = session.journal()?;
    // Another one may have been in this place before.
    recover::warn(&journal).await?;
    Ok((journal, summary, fresh))
}

/// Returns who pays: of a rehearsal that is there already, whoever it was begun with.
// A person rehearses before anything is configured, and again when it is: nobody is paid by either, and the same command
// must go on.
fn originator(path: &Path, plan: &LoadPlan) -> Result<Originator, Error> {
    let configured = plan.originator.clone();
    if plan.purpose != Purpose::Rehearsal {
        return Ok(configured);
    }
    let record = match Reader::open(path)?.snapshot(&plan.batch) {
        Ok(snapshot) => snapshot.record()?,
        Err(crate::journal::Error::UnknownBatch { .. }) => return Ok(configured),
        Err(error) => return Err(error.into()),
    };
    Ok(match record.purpose {
        Purpose::Rehearsal => record.originator,
        Purpose::Gateway | Purpose::Unknown => configured,
    })
}

/// A name that nobody else has: process numbers come again, in containers at every start, and what a killed load left
/// behind must not be taken for a beginning.
fn aside_of(path: &Path) -> PathBuf {
    let (process, number) = (std::process::id(), fastrand::u64(..));
    beside(path, &format!(".loading-{process}-{number}"))
}

fn unsynced(path: &Path, error: &std::io::Error) -> Error {
    Error::from(crate::journal::Error::Open {
        path: path.to_owned(),
        cause: format!("disk I/O error while what was loaded was synced: {error}"),
    })
}

/// Gives a journal that was made aside its name, for good.
fn put_in_place(aside: &Path, path: &Path, writeback: Writeback) -> Result<(), Error> {
    let failed = |cause: String| {
        let path = path.to_owned();
        Error::from(crate::journal::Error::Open { path, cause })
    };
    // SQLite removes the log once all of it is in the file. While it is there, the file alone is less than was loaded.
    if beside(aside, "-wal").symlink_metadata().is_ok() {
        return Err(failed(
            "disk I/O error while what was loaded was taken into the file".into(),
        ));
    }
    // SQLite has synced nothing of it.
    writeback.finish().map_err(|error| unsynced(path, &error))?;
    let placed = rename_to_nobodys_name(aside, path);
    placed.map_err(|error| {
        Error::refused(format!("journal {}: {error}", path.display()))
            .hint("if another disburse has just made it, say the same command again")
    })?;
    // The name is on disk only once its folder is.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| failed(error.to_string()))
}

/// Gives a file a name that must be nobody's, at one stroke: a journal with two names is refused.
fn rename_to_nobodys_name(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    #[cfg(debug_assertions)]
    if crate::points::names_are_linked() {
        return link_to_nobodys_name(from, to);
    }
    let renamed = renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    renamed
        .map_err(std::io::Error::from)
        .or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Err(error),
            _ => link_to_nobodys_name(from, to),
        })
}

/// The same where the file system cannot: in two strokes, or after no more than a look at the name.
fn link_to_nobodys_name(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => std::fs::rename(from, to),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Reads the file into the journal; the flag tells whether its rows are new there.
pub(super) async fn into_journal(
    session: &Session,
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(LoadSummary, bool), Error> {
    let plan = LoadPlan {
        source: input.source(),
        ..plan
    };
    let (batch, skips) = (plan.batch.to_string(), plan.skip_bad_rows);
    // What is told is typed: a mended row of a rehearsal is rehearsed.
    let sandbox = sandbox_flag(plan.purpose);
    let presumed = plan.presume_posted.then(|| plan.batch.clone());
    let (loaded, reading) = load_or_recall(journal, input, plan).await?;
    for note in reading.notes() {
        session.note(&format!("{}: {note}", input.name));
    }
    if let Some(warning) = reading.warning() {
        output::complain("warning", &format!("{}: {warning}", input.name));
    }
    let late = match &loaded {
        Loaded::New(summary) | Loaded::AlreadyThere(summary) => &summary.late,
        Loaded::Refused(LoadRefusal::BadRows { late, .. }) => late,
        Loaded::Refused(_) => &Vec::new(),
    };
    // A file that is there already has had its errors told before.
    let bad = match &loaded {
        Loaded::AlreadyThere(_) => 0,
        Loaded::New(_) | Loaded::Refused(_) => input.explain(reading, late)?,
    };
    match loaded {
        Loaded::New(summary) => {
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
            if skips && bad > 0 {
                output::complain(
                    "warning",
                    &format!("{} set aside as rejected", output::counted(bad, "row")),
                );
                let corrections = input.corrections().display().to_string();
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
            Ok((summary, true))
        }
        Loaded::AlreadyThere(summary) => {
            if let Some(batch) = presumed {
                presume(session, journal, batch).await?;
            }
            Ok((summary, false))
        }
        Loaded::Refused(refusal) => {
            // Whoever mends the errors mends these in the same go.
            if let LoadRefusal::BadRows { alike, .. } = &refusal {
                repeats::warn_alike(alike);
            }
            Err(refused(input, &batch, bad, &refusal))
        }
    }
}

/// Gives what is ready of a batch that is there already back to asking, but for what was asked about before: the same command
/// is said again until the batch is finished.
async fn presume(
    session: &Session,
    journal: &Journal,
    batch: crate::domain::BatchName,
) -> Result<(), Error> {
    let now = Timestamp::now();
    let _lock = RunLock::take(journal.path(), &format!("load of batch {batch}"), now)?;
    let count = journal.presume_posted(batch, true, now).await?;
    session.note(&recover::presumed_text(count));
    Ok(())
}

/// Loads the file, unless its batch has it already.
async fn load_or_recall(
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Loaded, Reading), Error> {
    let read = async |reading: Pending| {
        reading
            .await
            .map_err(|_| Error::unexpected("the reader of the file failed"))?
    };
    if plan.new_documents {
        return exchange(journal, input, plan).await;
    }
    // A run is taken up with the command that began it: most files of a batch that exists are its own.
    if journal.has_batch(plan.batch.clone()).await? {
        let (rows, reading) = input.read()?;
        let recalled = journal.recall(plan.clone(), rows).await;
        let reading = read(reading).await?;
        if let Some(loaded) = recalled? {
            return Ok((loaded, reading));
        }
    }
    let (rows, reading) = input.read()?;
    let loaded = journal.load(plan, rows).await;
    let reading = read(reading).await?;
    Ok((loaded?, reading))
}

/// Loads the file of a batch that is there already for the sake of its documents.
async fn exchange(
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Loaded, Reading), Error> {
    let batch = plan.batch.clone();
    if !journal.has_batch(batch.clone()).await? {
        return Err(Error::refused(format!(
            "batch {batch} is not there; nothing was loaded"
        ))
        .hint("--new-documents is for a batch that was loaded before: leave it out to load this file"));
    }
    // A run may be about to send the document that was there before.
    let _lock = RunLock::take(
        journal.path(),
        &format!("documents of batch {batch}"),
        Timestamp::now(),
    )?;
    let (rows, reading) = input.read()?;
    let loaded = journal.load(plan, rows).await;
    let reading = reading
        .await
        .map_err(|_| Error::unexpected("the reader of the file failed"))??;
    Ok((loaded?, reading))
}

/// Says that a batch which is there already pays nobody, where it was cancelled as a whole; whether it did.
pub(super) async fn note_if_cancelled(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
) -> Result<bool, Error> {
    let standing = journal.standing(batch.clone()).await?;
    let cancelled = standing.became().told() == Before::Cancelled;
    if cancelled {
        session.note(&format!(
            "batch {batch} was cancelled as a whole: nobody was paid, and a run of it pays nobody. To pay these rows, load them \
             under another name"
        ));
    }
    Ok(cancelled)
}

/// Prints what a file adds up to.
pub(super) fn print_summary(summary: &LoadSummary) {
    let mut rows: Vec<Vec<String>> = summary
        .accepted
        .iter()
        .map(|(service, currency, tally)| {
            row(
                service.as_str(),
                currency.code(),
                tally,
                &tally.amounts.decimals()[currency.code()],
            )
        })
        .collect();
    if summary.rejected.count > 0 {
        rows.push(row(
            "(rejected)",
            "",
            &summary.rejected,
            &output::amounts(&summary.rejected.amounts),
        ));
    }
    let mut total = summary.total();
    total.add_all(&summary.rejected);
    rows.push(row("total", "", &total, &output::amounts(&total.amounts)));
    output::print(&output::table(
        &["service", "currency", "count", "amount"],
        rows,
        &[2, 3],
    ));
}

fn row(service: &str, currency: &str, tally: &Tally, amount: &str) -> Vec<String> {
    let amount = if amount.contains(' ') {
        amount.to_owned()
    } else {
        output::grouped(amount)
    };
    vec![
        service.to_owned(),
        currency.to_owned(),
        output::grouped(&tally.count.to_string()),
        amount,
    ]
}

/// Returns a summary for programs.
pub(super) fn to_json(summary: &LoadSummary, batch: Option<(&str, bool)>) -> serde_json::Value {
    let services: Vec<serde_json::Value> = summary
        .accepted
        .iter()
        .map(|(service, currency, tally)| {
            json!({
                "service_code": service.as_str(),
                "currency_code": currency.code(),
                "count": tally.count,
                "amount": tally.amounts.decimals()[currency.code()],
            })
        })
        .collect();
    let total = summary.total();
    let mut value = json!({
        "count": total.count,
        "amounts": total.amounts.decimals(),
        "unpriced": summary.unpriced,
        "mended": summary.mended,
        "replaced": summary.replaced,
        "rejected": {"count": summary.rejected.count, "amounts": summary.rejected.amounts.decimals()},
        "services": services,
    });
    if let Some((name, fresh)) = batch {
        value["batch"] = json!(name);
        value["loaded"] = json!(fresh);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_in_the_making_shares_its_name_with_no_other_of_the_same_process_number() {
        let path = Path::new("j.db");
        assert_ne!(aside_of(path), aside_of(path));
    }
}
