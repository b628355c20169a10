//! Where notices go: to a command, or to an address.

use std::time::Duration;

use crate::cli::Error;
use crate::cli::config::{NoticeSettings, only_hosts};
use crate::cli::files::hand_over::hand_over;
use crate::domain::Timestamp;
use crate::gateway::Webhook;

/// So long a command may take.
const COMMAND_WITHIN: Duration = Duration::from_secs(60);
/// Whoever delivers a notice has done so, or has given up, after this.
pub(super) const LEASE: Duration = Duration::from_secs(120);

/// Where notices go.
#[derive(Debug)]
pub(in crate::cli) enum Sender {
    Command(Vec<String>),
    Address(Box<Webhook>),
    /// What is configured cannot be used, for this reason: notices are kept until it can. No payment waits for that.
    Nowhere(String),
}

impl Sender {
    /// Returns where notices go, or why nothing can be sent there.
    pub(in crate::cli) fn of(settings: &NoticeSettings) -> Result<Self, Error> {
        let Some(url) = &settings.url else {
            return Ok(Self::Command(settings.command.clone()));
        };
        let webhook = Webhook::new(url.clone(), settings.signing_secret()?)
            .map_err(|error| Error::refused(format!("notices.url: {error}")))?;
        Ok(Self::Address(Box::new(webhook)))
    }

    /// Delivers a notice once, or says in one line why it was not taken.
    pub(super) async fn send(&self, id: &str, body: &str) -> Result<(), String> {
        match self {
            Self::Nowhere(why) => Err(why.clone()),
            Self::Command(words) => {
                let (words, text) = (words.clone(), format!("{}\n", with_id(id, body)));
                let handed =
                    tokio::task::spawn_blocking(move || hand_over(&words, text, COMMAND_WITHIN));
                let handed = handed
                    .await
                    .unwrap_or_else(|_| Err("the command could not be waited for".to_owned()));
                // What such a command prints may be the address that it was to call, and with it what lets a message in.
                handed.map_err(|told| only_hosts(&told))
            }
            Self::Address(webhook) => {
                let at = Timestamp::now().as_millis() / 1000;
                let sent = webhook.send(id, at, body).await;
                sent.map_err(|error| error.to_string())
            }
        }
    }
}

/// A command has no headers: the id stands in the notice.
fn with_id(id: &str, body: &str) -> String {
    match body.strip_prefix('{') {
        Some(rest) => format!("{{\"id\":\"{id}\",{rest}"),
        None => body.to_owned(),
    }
}
