//! `journal copy`: a journal goes to another place, and is used there from then on.

use serde_json::json;

use crate::cli::Error;
use crate::cli::arguments::JournalCopy;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::ask::confirmed;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::{Location, Reader, Relocated, RunLock, relocate};

/// `disburse journal copy`.
pub(super) async fn copy(session: &Session, places: &JournalCopy) -> Result<ExitStatus, Error> {
    let from = session.location_of(&places.from)?;
    let to = session.location_of(&places.to)?;
    // What is wrong with it is told before anything is asked, or made beside it.
    drop(Reader::open(&from)?);
    let shown = |at: &Location| output::name(&at.to_string());
    let what = format!(
        "move the journal {} to {}: from then on nothing is loaded, run or ordered in {}",
        shown(&from),
        shown(&to),
        shown(&from)
    );
    confirmed(places.yes, &what).await?;
    let now = Timestamp::now();
    let _lock = RunLock::take(&from, "a move of the journal", now)?;
    let (source, target) = (from.clone(), to.clone());
    let moved = tokio::task::spawn_blocking(move || relocate(&source, &target, now))
        .await
        .map_err(Error::broke_off)??;
    tell(session, &to, moved);
    if let Some(path) = from.file() {
        session.note(&format!(
            "leave {} where it is: it keeps an earlier copy that somebody puts back there from paying again",
            output::name(&format!("{}.moved", path.display()))
        ));
    }
    Ok(ExitStatus::Done)
}

fn tell(session: &Session, to: &Location, moved: Relocated) {
    if session.common.json {
        output::json(&json!({
            "journal": to.to_string(), "batches": moved.batches, "payments": moved.payments, "rows": moved.rows,
        }));
        return;
    }
    let batches = match moved.batches {
        1 => "1 batch".to_owned(),
        count => format!("{} batches", output::grouped(&count.to_string())),
    };
    output::line(&format!(
        "{}: {batches}, {}: all of it arrived, and is sound",
        output::name(&to.to_string()),
        output::counted(moved.payments, "payment")
    ));
    let as_whom = match to {
        Location::File(_) => "",
        Location::Server(_) => {
            "; each machine with its own user, not with the owner of the journal"
        }
    };
    session.note(&format!(
        "name it from now on: --journal {}, DISBURSE_JOURNAL, or the key journal of the configuration{as_whom}",
        output::quoted(&to.typed())
    ));
    if matches!(to, Location::Server(_)) {
        session.note(&format!(
            "to give these users their rights: disburse journal init {} prints the statements, and changes nothing of the journal",
            output::quoted(&to.typed())
        ));
    }
}
