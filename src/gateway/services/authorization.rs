//! What the `Authorization` header of an operation beside the payment path holds.

use reqwest::header::HeaderValue;

use super::token::{Bearer, TokenClient};
use crate::dialect::Header;
use crate::gateway::error::Error;
use crate::gateway::operations::OperationError;
use crate::gateway::profile::Profile;
use crate::gateway::scrub::Secrets;

/// Gives the header of each request.
pub(in crate::gateway) enum Authorizer {
    Absent,
    Basic(HeaderValue),
    Bearer(TokenClient),
}

/// The header of one request.
pub(in crate::gateway) struct Shown {
    header: Option<HeaderValue>,
    bearer: Option<Bearer>,
}

impl Authorizer {
    /// Prepares the header. `tokens` is asked for a token where one is needed.
    ///
    /// # Errors
    /// A token is needed, and there is no token endpoint.
    pub(in crate::gateway) fn new(
        profile: &Profile,
        header: Header,
        tokens: Option<TokenClient>,
    ) -> Result<Self, Error> {
        Ok(match (header, tokens) {
            (Header::Absent, _) => Self::Absent,
            (Header::Basic, _) => Self::Basic(profile.basic()?),
            (Header::Bearer, Some(tokens)) => Self::Bearer(tokens),
            (Header::Bearer, None) => Self::Bearer(TokenClient::new(profile)?),
        })
    }

    /// Returns the header of the next request.
    ///
    /// # Errors
    /// As [`TokenClient::bearer`].
    pub(in crate::gateway) async fn shown(&self) -> Result<Shown, OperationError> {
        Ok(match self {
            Self::Absent => Shown {
                header: None,
                bearer: None,
            },
            Self::Basic(header) => Shown {
                header: Some(header.clone()),
                bearer: None,
            },
            Self::Bearer(tokens) => {
                let bearer = tokens.bearer().await?;
                Shown {
                    header: Some(bearer.header()),
                    bearer: Some(bearer),
                }
            }
        })
    }

    /// Notes that the token of a request had expired. Returns whether another one may be had.
    pub(in crate::gateway) async fn found_expired(&self, shown: &Shown) -> bool {
        match (self, &shown.bearer) {
            (Self::Bearer(tokens), Some(bearer)) => {
                tokens.invalidate(bearer).await;
                true
            }
            _ => false,
        }
    }

    /// Returns what the other side may repeat and nobody may read: the tokens beside the password.
    pub(in crate::gateway) fn secrets<'s>(&'s self, else_of: &'s Secrets) -> &'s Secrets {
        match self {
            Self::Bearer(tokens) => tokens.secrets(),
            Self::Absent | Self::Basic(_) => else_of,
        }
    }
}

impl Shown {
    /// Returns the value, where there is one.
    pub(in crate::gateway) fn header(&self) -> Option<HeaderValue> {
        self.header.clone()
    }
}
