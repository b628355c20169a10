//! What the commands that ask one thing at a time have in common.

use super::sandbox;
use crate::cli::Error;
use crate::cli::config::Settings;
use crate::cli::session::Session;

/// Does one operation against the profile's gateway, or against a sandbox that lasts as long as the command.
pub(in crate::cli) async fn against<T>(
    session: &Session,
    in_sandbox: bool,
    work: impl AsyncFnOnce(&Settings) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut settings = session.settings(in_sandbox, Vec::new())?;
    let beside = match in_sandbox {
        true => Some(sandbox::alone(&mut settings).await?),
        false => None,
    };
    let outcome = work(&settings).await;
    if let Some(beside) = beside {
        beside.shutdown().await;
    }
    outcome
}
