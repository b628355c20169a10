//! `backup`: a copy of the journal for a safe place.

use serde_json::json;

use crate::cli::Error;
use crate::cli::arguments::BackupArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal;

/// `disburse backup`.
pub(in crate::cli) fn backup(
    session: &Session,
    arguments: &BackupArguments,
) -> Result<ExitStatus, Error> {
    let copy = journal::backup(session.journal_path(), &arguments.file)?;
    let name = output::name(&arguments.file.display().to_string());
    if session.common.json {
        output::json(&json!({
            "file": arguments.file, "batches": copy.batches, "payments": copy.payments, "bytes": copy.bytes,
        }));
        return Ok(ExitStatus::Done);
    }
    let batches = match copy.batches {
        1 => "1 batch".to_owned(),
        count => format!("{} batches", output::grouped(&count.to_string())),
    };
    output::line(&format!(
        "{name}: {batches}, {}: sound",
        output::counted(copy.payments, "payment")
    ));
    session.note(
        "put back in place of the journal it is noticed as a copy: what is unfinished is asked about before it is posted",
    );
    Ok(ExitStatus::Done)
}
