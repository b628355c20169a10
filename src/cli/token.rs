//! `token`: proves that a token can be had, and shows nothing of it.

use serde_json::json;

use super::arguments::TokenArguments;
use super::exit::Verdict;
use super::session::Session;
use super::{Error, gateway, operation, output};
use crate::domain::Timestamp;

/// `disburse token`.
pub(super) async fn token(session: &Session, arguments: TokenArguments) -> Result<Verdict, Error> {
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
        return Ok(Verdict::Done);
    }
    output::line(&match (lifetime, expires_at) {
        (Some(lifetime), Some(at)) => format!(
            "token: bearer, issued now, valid for {} s, until {at}",
            output::grouped(&lifetime.as_secs().to_string())
        ),
        _ => "token: bearer, issued now; the endpoint does not say how long it is valid".to_owned(),
    });
    Ok(Verdict::Done)
}
