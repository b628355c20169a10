//! `backup`: a copy of the journal for a safe place.

use std::path::Path;

use serde_json::json;

use crate::cli::Error;
use crate::cli::arguments::BackupArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::{self, Backup};

/// `disburse backup`.
pub(in crate::cli) fn backup(
    session: &Session,
    arguments: &BackupArguments,
) -> Result<ExitStatus, Error> {
    if arguments.file.is_dir() {
        return into_folder(session, arguments);
    }
    if arguments.keep.is_some() {
        let name = output::name(&arguments.file.display().to_string());
        return Err(Error::refused(format!(
            "{name}: there is no such folder, and --keep is about the copies in a folder; nothing was written"
        ))
        .hint("make the folder, or leave --keep out"));
    }
    let copy = journal::backup(session.location()?, &arguments.file)?;
    if session.common.json {
        output::json(&json!({
            "file": arguments.file, "batches": copy.batches, "payments": copy.payments, "bytes": copy.bytes,
        }));
    } else {
        tell(session, &arguments.file, &copy);
    }
    Ok(ExitStatus::Done)
}

/// A copy that is named after the journal and the time, beside those before it.
fn into_folder(session: &Session, arguments: &BackupArguments) -> Result<ExitStatus, Error> {
    let keep = arguments.keep.map(std::num::NonZero::get);
    let copied =
        journal::backup_into(session.location()?, &arguments.file, keep, Timestamp::now())?;
    let copy = &copied.copy;
    if session.common.json {
        output::json(&json!({
            "file": copied.path, "batches": copy.batches, "payments": copy.payments, "bytes": copy.bytes,
            "removed": copied.removed, "apart": copied.apart, "others": copied.others,
        }));
        return Ok(ExitStatus::Done);
    }
    tell(session, &copied.path, copy);
    if let Some(oldest) = copied.removed.last() {
        output::line(&format!(
            "{} removed, the oldest of them {}",
            counted_copies(copied.removed.len(), "earlier "),
            output::name(&oldest.display().to_string())
        ));
    }
    if let Some(first) = copied.apart.first() {
        output::complain(
            "warning",
            &format!(
                "{} of this journal, {} first, with something that the journal lacks: the journal was put back, or has lost something; --keep never removes \
                them",
                counted_copies(copied.apart.len(), ""),
                output::name(&first.display().to_string())
            ),
        );
        output::complain(
            "hint",
            &format!(
                "disburse recover says what this journal may have missed; when the recovery is declared done, remove them yourself. To see what a copy has: \
                disburse status --journal {}",
                output::quoted(&first.display().to_string())
            ),
        );
    }
    if let Some(first) = copied.others.first() {
        let (named, are) = match copied.others.len() {
            1 => (
                "1 file that is named like a copy".to_owned(),
                "is not a copy",
            ),
            count => (
                format!(
                    "{} files that are named like copies",
                    output::grouped(&count.to_string())
                ),
                "are not copies",
            ),
        };
        output::complain(
            "warning",
            &format!(
                "{named} {are} of this journal, {} first: of the journal that was here before this one, or not whole; --keep never removes them",
                output::name(&first.display().to_string())
            ),
        );
        output::complain(
            "hint",
            &format!(
                "to see what a copy has: disburse status --journal {}; when this journal has all of it, and disburse recover has nothing left to do, remove \
                them yourself",
                output::quoted(&first.display().to_string())
            ),
        );
    }
    Ok(ExitStatus::Done)
}

fn counted_copies(count: usize, which: &str) -> String {
    match count {
        1 => format!("1 {which}copy"),
        count => format!("{} {which}copies", output::grouped(&count.to_string())),
    }
}

fn tell(session: &Session, file: &Path, copy: &Backup) {
    let name = output::name(&file.display().to_string());
    let batches = match copy.batches {
        1 => "1 batch".to_owned(),
        count => format!("{} batches", output::grouped(&count.to_string())),
    };
    output::line(&format!(
        "{name}: {batches}, {}: sound",
        output::counted(copy.payments, "payment")
    ));
    session.note(
        "if you put this copy in the place of the journal, disburse notices it, and asks the gateway about unfinished payments before it posts them",
    );
}
