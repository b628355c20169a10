//! The payment gateway behind HTTP: posts and status queries as evidence about payments.

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;
use tokio::time::Instant;

use crate::dialect::{Authentication, Dialect, Header};
use crate::domain::{PayerTransactionId, Pulse, ServiceCode};
use crate::gateway::classify::{Question, Response, classify, failed, no_token};
use crate::gateway::error::Error;
use crate::gateway::operations::{FloatBalance, OperationError};
use crate::gateway::port::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal, StopReason};
use crate::gateway::profile::Profile;
use crate::gateway::scrub::{Scrub, Secrets};
use crate::gateway::services::token::TokenClient;
use crate::gateway::transport::channel::Answer;
use crate::gateway::transport::endpoint;
use crate::gateway::transport::failure::Failure;
use crate::gateway::transport::path::Path;
use crate::gateway::wire::{Body, Requests, in_our_words, is_token_expired, misfit};
use crate::lifecycle::CodeTable;

/// The gateway behind HTTP.
pub struct HttpGateway {
    path: Path,
    pub(in crate::gateway) requests: Requests,
    codes: CodeTable,
    pub(in crate::gateway) dialect: Arc<Dialect>,
    not_found_words_count: bool,
    /// What a request shows where the dialect says nothing else.
    by_default: Authentication,
    basic: HeaderValue,
    tokens: Option<TokenClient>,
    secrets: Secrets,
}

/// Why a request on the payment path brought no reply.
pub(in crate::gateway) enum ExchangeError {
    /// No token could be had: nothing left.
    NoToken(OperationError),
    /// The connection failed.
    Failed(Failure),
    /// The token that the request carried had expired (section 7.4).
    Expired {
        /// The HTTP status that said so.
        status: u16,
        /// The next request carries another token; otherwise that does not help either.
        renewable: bool,
    },
}

impl HttpGateway {
    /// Builds the client. Nothing is sent yet. With `payment_bearer` it asks for tokens of its own.
    ///
    /// # Errors
    /// As [`Self::with_tokens`].
    pub fn new(profile: Profile) -> Result<Self, Error> {
        let by_default = match profile.payment_bearer {
            true => Header::Bearer,
            false => Header::Absent,
        };
        let tokens = match profile.dialect.needs_token(profile.payment_bearer) {
            true => Some(TokenClient::new(&profile)?),
            false => None,
        };
        Self::showing(profile, tokens, by_default)
    }

    /// Builds the client. With `tokens`, every request on the payment path carries one of them, where the dialect says nothing
    /// else.
    ///
    /// # Errors
    /// Refuses addresses and timeouts that are not safe to pay with, and certificates that cannot be read.
    pub fn with_tokens(profile: Profile, tokens: Option<TokenClient>) -> Result<Self, Error> {
        let by_default = match tokens {
            Some(_) => Header::Bearer,
            None => Header::Absent,
        };
        Self::showing(profile, tokens, by_default)
    }

    fn showing(
        profile: Profile,
        tokens: Option<TokenClient>,
        by_default: Header,
    ) -> Result<Self, Error> {
        Ok(Self {
            by_default: Authentication {
                body: true,
                header: by_default,
            },
            basic: profile.basic()?,
            not_found_words_count: profile.duplicate_check_proven,
            path: Path::new(&profile)?,
            requests: Requests::new(&profile),
            secrets: tokens
                .as_ref()
                .map_or_else(|| profile.secrets(), |tokens| tokens.secrets().clone()),
            codes: profile.codes,
            dialect: profile.dialect,
            tokens,
        })
    }

    /// Lets nothing leave while the pulse shows a standstill: another run may have taken over.
    #[must_use]
    pub fn with_pulse(mut self, pulse: Arc<Pulse>) -> Self {
        self.path.follow(pulse);
        self
    }

    /// Returns what the other side may repeat and nobody may read.
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    async fn ask(
        &self,
        question: Question,
        ids: &[PayerTransactionId],
        body: impl Fn() -> Body,
    ) -> Reply {
        let Some(first) = ids.first() else {
            return Reply {
                outcomes: Vec::new(),
                signal: Signal::Healthy,
            };
        };
        let answer = match question {
            // It may have been executed all the same.
            Question::Post => self.exchange(body(), Some(Instant::now())).await,
            Question::Status => self.inquire(body).await,
        };
        // Only now: the request may have brought another token.
        let scrub = self.secrets.scrub();
        let reply = match answer {
            Ok(answer) => {
                let cause = answer.body.as_ref().err().map(ToString::to_string);
                let response = Response {
                    status: answer.status,
                    retry_after: answer.retry_after,
                    body: match &answer.body {
                        Ok(body) => Ok(body),
                        Err(_) => Err(cause.unwrap_or_default()),
                    },
                    scrub: &scrub,
                    replies: &self.dialect.replies,
                    not_found_words_count: self.not_found_words_count,
                };
                classify(question, ids, &response, &self.codes)
            }
            Err(ExchangeError::NoToken(error)) => no_token(question, ids, &error),
            Err(ExchangeError::Failed(failure)) => failed(question, ids, failure),
            Err(ExchangeError::Expired { status, renewable }) => {
                expired(question, ids, status, renewable)
            }
        };
        let reply = without_secrets(reply, &scrub);
        tracing::debug!(?question, %first, payments = ids.len(), signal = kind(&reply.signal), "asked the gateway");
        reply
    }

    /// Asks a question on the payment path, which changes nothing: a token that has expired is renewed, and the question
    /// asked once more.
    pub(in crate::gateway) async fn inquire(
        &self,
        body: impl Fn() -> Body,
    ) -> Result<Answer, ExchangeError> {
        match self.exchange(body(), None).await {
            Err(ExchangeError::Expired {
                renewable: true, ..
            }) => self.exchange(body(), None).await,
            answered => answered,
        }
    }

    /// Sends a body to the payment path, once. `looked`: when it was last asked whether it may leave.
    async fn exchange(&self, body: Body, looked: Option<Instant>) -> Result<Answer, ExchangeError> {
        let call = self.dialect.call(body.operation());
        let shown = call.authentication.unwrap_or(self.by_default);
        let carried = match (shown.header, &self.tokens) {
            (Header::Bearer, Some(tokens)) => {
                let bearer = tokens.bearer().await.map_err(ExchangeError::NoToken)?;
                Some((tokens, bearer))
            }
            _ => None,
        };
        let authorization = match shown.header {
            Header::Basic => Some(self.basic.clone()),
            _ => carried.as_ref().map(|(_, bearer)| bearer.header()),
        };
        let sent = self.path.post(body, authorization, looked).await;
        let mut answer = sent.map_err(ExchangeError::Failed)?;
        if let Ok(body) = &mut answer.body
            && !self.dialect.names.are_the_documents()
        {
            *body = in_our_words(body, &self.dialect.names).into_owned();
        }
        let Some((tokens, bearer)) = carried else {
            return Ok(answer);
        };
        let status = answer.status;
        if matches!(status, 200..=299 | 400..=499) && is_token_expired(endpoint::body(&answer)) {
            let renewable = tokens.found_expired(&bearer).await;
            return Err(ExchangeError::Expired { status, renewable });
        }
        match status {
            // For the next request: this one is not repeated.
            401 => tokens.invalidate(&bearer).await,
            200..=299 => tokens.found_valid(),
            _ => {}
        }
        Ok(answer)
    }
}

/// Classifies a post that was not made: a row of it cannot be said in this dialect.
fn unsaid(ids: &[PayerTransactionId], line: u64, why: &str) -> Reply {
    let cause = format!(
        "line {line} cannot be sent in this gateway's dialect: {why}. Run the batch with the dialect that it was \
        loaded with, or cancel the payment and load a row that fits"
    );
    Reply {
        signal: Signal::Stop(StopReason::Misconfigured(cause.clone())),
        ..failed(Question::Post, ids, Failure::Unsent(cause))
    }
}

/// Says what no token helps against.
pub(in crate::gateway) const EXPIRED_AGAIN: &str = "the payment gateway does not accept a token that was renewed for it; check that auth_url and base_url belong together";

/// Classifies a request whose token had expired (section 7.4): what became of a post, nobody has said.
fn expired(question: Question, ids: &[PayerTransactionId], status: u16, renewable: bool) -> Reply {
    let cause = format!("HTTP {status}, the token had expired");
    let reply = failed(question, ids, Failure::Lost(cause));
    match renewable {
        true => reply,
        false => Reply {
            signal: Signal::Stop(StopReason::Credentials(EXPIRED_AGAIN.to_owned())),
            ..reply
        },
    }
}

/// Returns the reply with the secrets left out of what a connection said in its own words.
// What a body said is without them since it was read.
pub(in crate::gateway) fn without_secrets(mut reply: Reply, scrub: &Scrub) -> Reply {
    for Outcome { said, .. } in &mut reply.outcomes {
        scrub.hide(&mut said.cause);
    }
    match &mut reply.signal {
        Signal::Unreachable(cause) | Signal::Lost(cause) => scrub.hide(cause),
        Signal::Stop(StopReason::Credentials(cause) | StopReason::Misconfigured(cause)) => {
            scrub.hide(cause);
        }
        Signal::Healthy | Signal::SlowDown(_) => {}
    }
    reply
}

// The prepared requests hold the password.
impl fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpGateway")
            .field("endpoint", &self.path.url().as_str())
            .finish_non_exhaustive()
    }
}

impl Gateway for HttpGateway {
    async fn post(&self, payments: &[Outgoing]) -> Reply {
        let ids: Vec<_> = payments
            .iter()
            .map(|outgoing| outgoing.payment.id)
            .collect();
        let misfits = payments.iter().filter_map(|outgoing| {
            let payment = &outgoing.payment;
            misfit(payment, &self.dialect).map(|why| (payment.instruction.line, why))
        });
        if let Some((line, why)) = misfits.into_iter().next() {
            return unsaid(&ids, line, &why);
        }
        self.ask(Question::Post, &ids, || self.requests.post(payments))
            .await
    }

    async fn query(&self, payments: &[Inquiry]) -> Reply {
        let ids: Vec<_> = payments.iter().map(|inquiry| inquiry.id).collect();
        self.ask(Question::Status, &ids, || self.requests.query(payments))
            .await
    }

    async fn balance(&self, service: &ServiceCode) -> Result<Option<FloatBalance>, OperationError> {
        let balances = self.float(std::slice::from_ref(service)).await?;
        Ok(balances.into_iter().next().flatten())
    }
}

// The reasons stay out of logs: they may quote the gateway, which may quote us.
fn kind(signal: &Signal) -> &'static str {
    match signal {
        Signal::Healthy => "healthy",
        Signal::Unreachable(_) => "unreachable",
        Signal::Lost(_) => "lost",
        Signal::SlowDown(_) => "slow down",
        Signal::Stop(_) => "stop",
    }
}
