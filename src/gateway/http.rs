//! The payment gateway behind HTTP: posts and status queries as evidence about payments.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::channel::Answer;
use super::classify::{Failure, Question, Response, classify, failed, no_token};
use super::path::Path;
use super::text::hide;
use super::token::TokenClient;
use super::wire::{Body, Requests};
use super::{
    Error, FloatBalance, Gateway, Inquiry, OperationError, Outcome, Outgoing, Profile, Reply,
    Signal, StopReason,
};
use crate::domain::{PayerTransactionId, ServiceCode};
use crate::lifecycle::CodeTable;

/// The gateway behind HTTP.
pub struct HttpGateway {
    path: Path,
    pub(super) requests: Requests,
    codes: CodeTable,
    tokens: Option<TokenClient>,
    password: SecretString,
}

/// Why a request on the payment path brought no reply.
pub(super) enum Unanswered {
    /// No token could be had: nothing left.
    NoToken(OperationError),
    /// The connection failed.
    Failed(Failure),
}

impl HttpGateway {
    /// Builds the client. Nothing is sent yet. With `payment_bearer` it asks for tokens of its own.
    ///
    /// # Errors
    /// As [`Self::with_tokens`].
    pub fn new(profile: Profile) -> Result<Self, Error> {
        let tokens = match profile.payment_bearer {
            true => Some(TokenClient::new(&profile)?),
            false => None,
        };
        Self::with_tokens(profile, tokens)
    }

    /// Builds the client. With `tokens`, every request on the payment path carries one of them.
    ///
    /// # Errors
    /// Refuses addresses and timeouts that are not safe to pay with, and certificates that cannot be read.
    pub fn with_tokens(profile: Profile, tokens: Option<TokenClient>) -> Result<Self, Error> {
        Ok(Self {
            path: Path::new(&profile)?,
            requests: Requests::new(&profile),
            codes: profile.codes,
            tokens,
            password: profile.password,
        })
    }

    /// Returns the password, to be left out of texts.
    pub(super) fn password(&self) -> &str {
        self.password.expose_secret()
    }

    async fn ask(&self, question: Question, ids: &[PayerTransactionId], body: Body) -> Reply {
        let Some(first) = ids.first() else {
            return Reply {
                outcomes: Vec::new(),
                signal: Signal::Healthy,
            };
        };
        let reply = match self.exchange(body).await {
            Ok(answer) => {
                let cause = answer.body.as_ref().err().map(ToString::to_string);
                let response = Response {
                    status: answer.status,
                    retry_after: answer.retry_after,
                    body: match &answer.body {
                        Ok(body) => Ok(body),
                        Err(_) => Err(cause.unwrap_or_default()),
                    },
                };
                let reply = classify(question, ids, &response, &self.codes);
                // The other side may quote what it was told, and what it said is kept.
                without_secret(reply, self.password())
            }
            Err(Unanswered::NoToken(error)) => no_token(question, ids, &error),
            Err(Unanswered::Failed(failure)) => failed(question, ids, failure),
        };
        tracing::debug!(?question, %first, payments = ids.len(), signal = kind(&reply.signal), "asked the gateway");
        reply
    }

    /// Sends a body to the payment path, once.
    pub(super) async fn exchange(&self, body: Body) -> Result<Answer, Unanswered> {
        let carried = match &self.tokens {
            Some(tokens) => {
                let bearer = tokens.bearer().await.map_err(Unanswered::NoToken)?;
                Some((tokens, bearer))
            }
            None => None,
        };
        let authorization = carried.as_ref().map(|(_, bearer)| bearer.header());
        let sent = self.path.post(body, authorization).await;
        let answer = sent.map_err(Unanswered::Failed)?;
        if answer.status == 401
            && let Some((tokens, bearer)) = carried
        {
            // For the next request: this one is not repeated.
            tokens.invalidate(&bearer).await;
        }
        Ok(answer)
    }
}

/// Returns the reply with a secret left out of every text that is kept or shown for its words.
pub(super) fn without_secret(mut reply: Reply, secret: &str) -> Reply {
    let hide = |text: &mut String| hide(text, secret);
    for Outcome { said, .. } in &mut reply.outcomes {
        hide(&mut said.description);
        hide(&mut said.cause);
        said.anomaly.iter_mut().for_each(hide);
    }
    match &mut reply.signal {
        Signal::Unreachable(cause) | Signal::Lost(cause) => hide(cause),
        Signal::Stop(StopReason::Credentials(cause) | StopReason::Misconfigured(cause)) => {
            hide(cause);
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
        self.ask(Question::Post, &ids, self.requests.post(payments))
            .await
    }

    async fn query(&self, payments: &[Inquiry]) -> Reply {
        let ids: Vec<_> = payments.iter().map(|inquiry| inquiry.id).collect();
        self.ask(Question::Status, &ids, self.requests.query(payments))
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
