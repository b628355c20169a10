//! The network lookup (sections 2.6, 4.4 and 7.4).

use std::fmt;

use reqwest::header::AUTHORIZATION;

use super::authorization::{Authorizer, Shown};
use super::token::TokenClient;
use crate::gateway::error::Error;
use crate::gateway::operations::{LookupInquiry, NetworkOf, OperationError};
use crate::gateway::profile::Profile;
use crate::gateway::transport::channel::Answer;
use crate::gateway::transport::endpoint::{Endpoint, Place, body};
use crate::gateway::transport::path::method;
use crate::gateway::wire::{LookupReply, Unreadable, read_lookup, write_lookup};

const PLACE: Place = Place {
    name: "the network lookup",
    key: "api_url",
    section: "4.4",
};
/// `errorCode` of a value that is not a phone number.
const NOT_A_NUMBER: i32 = 400;

/// The network lookup. It may be shared between tasks.
pub struct LookupClient {
    endpoint: Endpoint,
    authorizer: Authorizer,
}

/// What one request brought.
pub(in crate::gateway) enum Found {
    Network(NetworkOf),
    /// The token has expired; what the reply says of it.
    Expired(String),
}

impl LookupClient {
    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// `api_url` is not set or not safe; the rest as [`crate::gateway::HttpGateway::new`].
    pub fn new(profile: &Profile, tokens: impl Into<Option<TokenClient>>) -> Result<Self, Error> {
        let operation = &profile.dialect.lookup;
        Ok(Self {
            endpoint: Endpoint::new(
                profile,
                PLACE,
                profile.api_url.as_ref(),
                &operation.path,
                method(operation.method),
            )?,
            authorizer: Authorizer::new(profile, operation.header, tokens.into())?,
        })
    }

    /// Looks a number up. A token that has expired is renewed once, and the lookup made once more.
    ///
    /// # Errors
    /// [`OperationError::NotANumber`] speaks of the number; every other error of the lookup.
    pub async fn lookup(&self, inquiry: &LookupInquiry) -> Result<NetworkOf, OperationError> {
        let shown = self.authorizer.shown().await?;
        let said = match self.ask(inquiry, &shown).await? {
            Found::Network(network) => return Ok(network),
            Found::Expired(said) => said,
        };
        if !self.authorizer.found_expired(&shown).await {
            return Err(OperationError::Credentials {
                section: "7.4",
                what: format!("the network lookup did not let us in ({said})"),
            });
        }
        let shown = self.authorizer.shown().await?;
        match self.ask(inquiry, &shown).await? {
            Found::Network(network) => Ok(network),
            Found::Expired(said) => {
                self.authorizer.found_expired(&shown).await;
                Err(OperationError::Credentials {
                    section: "7.4",
                    what: format!(
                        "the network lookup does not accept a token that was renewed for it ({said}); check that auth_url and api_url belong together"
                    ),
                })
            }
        }
    }

    async fn ask(&self, inquiry: &LookupInquiry, shown: &Shown) -> Result<Found, OperationError> {
        let mut request = self.endpoint.post();
        if let Some(header) = shown.header() {
            request = request.header(AUTHORIZATION, header);
        }
        let request = request
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(write_lookup(inquiry));
        let answer = self.endpoint.send(request).await?;
        let secrets = self.authorizer.secrets(&self.endpoint.secrets);
        let read = read_lookup(body(&answer), &secrets.scrub());
        tracing::debug!(number = ?inquiry.number, status = answer.status, "looked a number up");
        judged(&answer, read)
    }
}

pub(in crate::gateway) fn judged(
    answer: &Answer,
    read: Result<LookupReply, Unreadable>,
) -> Result<Found, OperationError> {
    match (read, answer.status) {
        // Whatever the status: the body alone says so.
        (Ok(LookupReply::Expired(said)), _) => Ok(Found::Expired(said)),
        (Ok(LookupReply::Refused { code, said }), 200..=299 | 400..=499)
            if code == Some(NOT_A_NUMBER) =>
        {
            Err(OperationError::NotANumber(with_code(code, &said)))
        }
        (_, 401) => Ok(Found::Expired("HTTP 401".to_owned())),
        (_, 403 | 408 | 429) => Err(PLACE.unusable(answer, "")),
        (Ok(LookupReply::Refused { code, said }), 200..=299 | 400..=499) => {
            Err(OperationError::Refused {
                section: "7.4",
                what: with_code(code, &said),
            })
        }
        (Ok(LookupReply::Network(network)), 200..=299) => Ok(Found::Network(network)),
        (Err(error), 200..=299) if answer.body.is_ok() => Err(OperationError::Unreadable {
            section: "2.6",
            what: format!(
                "{} from the network lookup",
                match error {
                    Unreadable::OtherForm => "a reply without a carrier".to_owned(),
                    _ => error.to_string(),
                }
            ),
        }),
        _ => {
            let cause = answer.body.as_ref().err().map(ToString::to_string);
            Err(PLACE.unusable(answer, &cause.unwrap_or_default()))
        }
    }
}

fn with_code(code: Option<i32>, said: &str) -> String {
    let code = code.map_or_else(
        || "no errorCode".to_owned(),
        |code| format!("errorCode {code}"),
    );
    match said {
        "" => code,
        said => format!("{said} ({code})"),
    }
}

impl fmt::Debug for LookupClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupClient")
            .field("endpoint", &self.endpoint.url().as_str())
            .finish_non_exhaustive()
    }
}
