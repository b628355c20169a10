//! `token`: proves that a token can be had, and shows nothing of it.

use serde_json::json;

use super::operation;
use crate::cli::Error;
use crate::cli::arguments::TokenArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::Timestamp;

/// `disburse token`.
pub(in crate::cli) async fn token(
    session: &Session,
    arguments: TokenArguments,
) -> Result<ExitStatus, Error> {
    let lifetime = operation::against(session, arguments.sandbox, async |settings| {
        let bearer = gateway::tokens(settings)?.bearer().await?;
        Ok(bearer.lifetime())
    })
    .await?;
    let expires_at = lifetime.map(|lifetime| Timestamp::now().after(lifetime));
    if session.common.json {
        output::json(&json!({
            "token_type": "bearer",
            "expires_in": lifetime.map(|lifetime| lifetime.as_secs()),
            "expires_at": expires_at.map(|at| at.to_string()),
        }));
        return Ok(ExitStatus::Done);
    }
    output::line(&match (lifetime, expires_at) {
        (Some(lifetime), Some(at)) => format!(
            "token: bearer, issued now, valid for {} s, until {at}",
            output::grouped(&lifetime.as_secs().to_string())
        ),
        _ => "token: bearer, issued now; the endpoint does not say how long it is valid".to_owned(),
    });
    Ok(ExitStatus::Done)
}
