//! `config show`: every value and where it comes from.

use super::arguments::ShowArguments;
use super::exit::Verdict;
use super::session::Session;
use super::{Error, config, output};

/// `disburse config show`.
pub(super) fn show(session: &Session, arguments: &ShowArguments) -> Result<Verdict, Error> {
    let settings = session.settings(arguments.sandbox, Vec::new())?;
    if session.common.json {
        output::json(&config::show_json(&settings));
        return Ok(Verdict::Done);
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
    Ok(Verdict::Done)
}
