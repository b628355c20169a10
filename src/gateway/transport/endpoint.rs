//! What the addresses of the interface have in common: how a failure to get an answer is told.

use reqwest::{Method, RequestBuilder, Url};

use super::channel::{Answer, Broken, Channel};
use super::failure::Failure;
use crate::gateway::error::Error;
use crate::gateway::operations::OperationError;
use crate::gateway::profile::Profile;
use crate::gateway::scrub::{Scrub, Secrets};

/// An operation's place in the interface and in the configuration.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateway) struct Place {
    /// What stands at the address, in words.
    pub(in crate::gateway) name: &'static str,
    /// The key that holds the address.
    pub(in crate::gateway) key: &'static str,
    /// The section of the interface that describes the operation.
    pub(in crate::gateway) section: &'static str,
}

impl Place {
    /// Tells a request that brought no status.
    pub(in crate::gateway) fn failed(self, failure: Failure, scrub: &Scrub) -> OperationError {
        let (Failure::Unsent(cause) | Failure::Lost(cause)) = failure;
        self.unavailable(&scrub.text(&cause))
    }

    /// Tells a reply by its status alone, and a reply of success by what is wrong with its body.
    pub(in crate::gateway) fn unusable(self, answer: &Answer, cause: &str) -> OperationError {
        let Self { name, key, section } = self;
        let status = answer.status;
        match status {
            401 | 403 => OperationError::Credentials {
                section,
                what: format!(
                    "HTTP {status}: {name} did not let us in; check username and password"
                ),
            },
            404 | 405 | 300..=399 => OperationError::Refused {
                section,
                what: format!("HTTP {status}: this is not the address of {name}; check {key}"),
            },
            429 => {
                let pause = answer.retry_after;
                let pause = pause.map_or_else(String::new, |pause| format!(", in {pause:?}"));
                self.unavailable(&format!(
                    "HTTP 429, it asks for fewer requests; try again later{pause}"
                ))
            }
            // 408: the request was cut off on its way; whoever makes it again may get through.
            408 | 500..=599 => self.unavailable(&format!("HTTP {status}")),
            400..=499 => OperationError::Refused {
                section,
                what: format!("HTTP {status} from {name}, without a reason that could be read"),
            },
            _ => match &answer.body {
                Err(Broken::Cut(cause)) => self.unavailable(cause),
                Err(Broken::TooLarge(_)) | Ok(_) => OperationError::Unreadable {
                    section,
                    what: format!("{cause} from {name}"),
                },
            },
        }
    }

    fn unavailable(self, cause: &str) -> OperationError {
        OperationError::Unavailable(format!("{} (section {}): {cause}", self.name, self.section))
    }
}

/// An address beside the payment path.
pub(in crate::gateway) struct Endpoint {
    channel: Channel,
    /// Its place.
    pub(in crate::gateway) place: Place,
    /// What it may repeat and nobody may read.
    pub(in crate::gateway) secrets: Secrets,
}

impl Endpoint {
    /// Builds the client. Nothing is sent yet.
    pub(in crate::gateway) fn new(
        profile: &Profile,
        place: Place,
        address: Option<&Url>,
        path: &str,
        method: Method,
    ) -> Result<Self, Error> {
        let url = profile.operation(place.key, address, path)?;
        Ok(Self {
            channel: Channel::new(profile, url, method)?,
            place,
            secrets: profile.secrets(),
        })
    }

    /// Returns the address, without anything that a request adds to it.
    pub(in crate::gateway) fn url(&self) -> &Url {
        self.channel.url()
    }

    /// Begins a request.
    pub(in crate::gateway) fn post(&self) -> RequestBuilder {
        self.channel.post()
    }

    /// Begins a request whose address has a query.
    pub(in crate::gateway) fn post_with(&self, query: &str) -> RequestBuilder {
        self.channel.post_with(query)
    }

    /// Sends a request, once.
    pub(in crate::gateway) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<Answer, OperationError> {
        let sent = self.channel.send(request).await;
        sent.map_err(|failure| self.place.failed(failure, &self.secrets.scrub()))
    }
}

/// Returns the body, empty where there is none that could be read.
pub(in crate::gateway) fn body(answer: &Answer) -> &[u8] {
    answer.body.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_was_cut_off_on_its_way_is_no_refusal() {
        let place = Place {
            name: "the file service",
            key: "file_service_url",
            section: "4.3",
        };
        for status in [408, 429, 500, 503] {
            let answer = Answer {
                status,
                retry_after: None,
                body: Ok(Vec::new()),
            };
            let error = place.unusable(&answer, "");
            assert!(
                matches!(error, OperationError::Unavailable(_)),
                "{status}: {error}"
            );
        }
    }
}
