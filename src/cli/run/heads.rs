//! At the end of a run: the heads of the chains are signed, and handed to a place that this machine cannot rewrite.

use std::time::Duration;

use crate::cli::Error;
use crate::cli::files::hand_over::hand_over;
use crate::cli::session::Session;
use crate::cli::signing::SigningKey;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::Reader;
use crate::ledger::heads;

/// So long the command may take.
const WITHIN: Duration = Duration::from_secs(60);

/// Hands the heads over, where that is configured. What the run did stands whatever becomes of it: it is told.
pub(super) fn hand_over_heads(session: &Session) {
    if let Err(error) = try_to(session) {
        output::complain(
            "warning",
            "the heads of the evidence were not handed over: until they are, nobody else can prove that the journal is \
            as this run left it",
        );
        error.print();
    }
}

fn try_to(session: &Session) -> Result<(), Error> {
    let settings = session.settings(false, Vec::new())?;
    let Some(evidence) = &settings.evidence else {
        return Ok(());
    };
    let (journal, heads) = Reader::open(session.location()?)?.heads()?;
    let text = heads::to_text(&journal, Timestamp::now(), &heads);
    let signature = SigningKey::open(&evidence.key_file)?.sign(
        &text,
        "name the key that signs the heads in \
        evidence.key_file; ssh-keygen must be able to use it without a person",
    )?;
    hand_over(&evidence.command, format!("{text}{signature}"), WITHIN).map_err(|why| {
        Error::refused(why).hint(
            "[evidence] command in disburse.toml names it; it gets the heads as its standard input",
        )
    })
}
