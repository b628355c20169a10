//! `config show`: every value and where it comes from.

use crate::cli::Error;
use crate::cli::arguments::ShowArguments;
use crate::cli::config;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;

/// `disburse config show`.
pub(in crate::cli) fn show(
    session: &Session,
    arguments: &ShowArguments,
) -> Result<ExitStatus, Error> {
    let settings = session.settings(arguments.sandbox, Vec::new())?;
    if session.common.json {
        output::json(&config::show_json(&settings));
        return Ok(ExitStatus::Done);
    }
    let rows = config::show(&settings)
        .into_iter()
        .map(|value| {
            vec![
                value.key,
                value.value.unwrap_or_else(|| "-".into()),
                value.origin,
            ]
        })
        .collect();
    output::line(&format!("profile {}", settings.profile_name));
    output::print(&output::table(&["key", "value", "from"], rows, &[]));
    Ok(ExitStatus::Done)
}
