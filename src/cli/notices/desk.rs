//! Makes notices, and delivers those that wait.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::facts::{Look, worth_telling};
use super::sender::{LEASE, Sender};
use crate::cli::Error;
use crate::cli::config::Settings;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Journal, NewNotice, NextNotice, Reader, Standing};
use crate::ledger::Purpose;
use crate::ledger::notices::{Condition, NoticeRules, body, changes, pause};

/// What one delivery came to.
#[derive(Debug, Default)]
pub(in crate::cli) struct Delivered {
    pub(in crate::cli) count: u64,
    /// Why the next one was not taken.
    pub(in crate::cli) trouble: Option<String>,
}

/// Tells somebody elsewhere.
#[derive(Debug)]
pub(in crate::cli) struct NoticeDesk {
    pub(super) journal: Journal,
    pub(super) rules: NoticeRules,
    rehearsals: bool,
    sender: Sender,
    settings: Settings,
}

impl NoticeDesk {
    /// Returns the desk that the configuration asks for; `None` where it asks for none.
    pub(in crate::cli) fn of(settings: Settings, journal: &Journal) -> Result<Option<Self>, Error> {
        let Some(notices) = &settings.notices else {
            return Ok(None);
        };
        Ok(Some(Self {
            journal: journal.clone(),
            rules: notices.rules(),
            rehearsals: notices.rehearsals,
            sender: Sender::of(notices)
                .unwrap_or_else(|error| Sender::Nowhere(error.message().to_owned())),
            settings,
        }))
    }

    /// Whether anything is told of a batch of this purpose.
    pub(in crate::cli) fn tells_of(&self, purpose: Purpose) -> bool {
        self.rehearsals || purpose != Purpose::Rehearsal
    }

    /// Looks at a batch, and makes the notices of what is news. Where nothing is, nothing is written.
    pub(in crate::cli) async fn look_at(&self, batch: &BatchName, look: Look) -> Result<(), Error> {
        // What an older copy makes of a batch is no news: first it learns what it has missed.
        if self.journal.recovery().await?.is_some() {
            // Its end is told once the recovery is over.
            return Ok(self.journal.note_open(batch.clone()).await?);
        }
        let (at, name) = (self.journal.location().clone(), batch.clone());
        let rules = self.rules.clone();
        let rehearsals = self.rehearsals;
        let read = tokio::task::spawn_blocking(move || -> Result<Option<_>, Error> {
            let reader = Reader::open(&at)?;
            let standing = reader.snapshot(&name)?.standing()?;
            if standing.purpose == Purpose::Rehearsal && !rehearsals {
                return Ok(None);
            }
            let so = worth_telling(&name, &standing, &look, &rules);
            Ok(is_news(&reader, &name, &standing, &so)?.then_some((!standing.is_finished(), so)))
        });
        let Some((is_open, so)) = read.await.map_err(Error::unexpected)?? else {
            return Ok(());
        };
        self.journal
            .make_notices(batch.clone(), is_open, so, Timestamp::now())
            .await?;
        Ok(())
    }

    /// Returns whether payments of a batch wait for signatures.
    pub(super) fn waits_for_approval(&self, reader: &Reader, batch: &BatchName) -> bool {
        // A rule or a signature that cannot be read is told by whoever runs the batch.
        let Ok(rule) = self.settings.approval() else {
            return false;
        };
        let found = reader
            .snapshot(batch)
            .and_then(|snapshot| snapshot.approvals(rule));
        found.is_ok_and(|approvals| approvals.waits())
    }

    /// Delivers what waits, the oldest first, until one is not taken or the time is over.
    pub(in crate::cli) async fn deliver(
        &self,
        at_once: bool,
        within: Duration,
    ) -> Result<Delivered, Error> {
        let until = Instant::now() + within;
        let mut delivered = Delivered::default();
        // What waits in a copy was taken long ago, for all that anybody knows: a person says when it is sent.
        if !at_once && self.journal.recovery().await?.is_some() {
            return Ok(delivered);
        }
        while Instant::now() < until {
            let next = self
                .journal
                .next_notice(at_once, Timestamp::now(), LEASE)
                .await?;
            let NextNotice::Deliver { id, body, attempts } = next else {
                break;
            };
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-notice-is-sent");
            match self.sender.send(&id, &body).await {
                Ok(()) => {
                    #[cfg(debug_assertions)]
                    crate::failpoints::pass("after-notice-is-sent");
                    self.journal.notice_delivered(id).await?;
                    delivered.count += 1;
                }
                Err(trouble) => {
                    let trouble: String = trouble.chars().take(300).collect();
                    tracing::debug!(%id, attempts, %trouble, "a notice was not taken");
                    let due = Timestamp::now().after(pause(attempts));
                    let told = trouble.clone();
                    self.journal.notice_failed(id, told, due).await?;
                    delivered.trouble = Some(trouble);
                    break;
                }
            }
        }
        Ok(delivered)
    }

    /// Sends a notice that tells nothing, once. It is not kept.
    pub(in crate::cli) async fn test(settings: &Settings) -> Result<String, Error> {
        let notices = settings.notices.as_ref().ok_or_else(none_configured)?;
        let id = format!("ntc_test_{:016x}", fastrand::u64(..));
        let data = json!({"what_to_do": "nothing: this is a test of whether notices arrive (disburse notices --test)"});
        let text = body("test", Timestamp::now(), &data.to_string());
        Sender::of(notices)?
            .send(&id, &text)
            .await
            .map_err(|trouble| Error::refused(format!("the notice was not taken: {trouble}")))?;
        Ok(id)
    }
}

/// Nobody is told anything.
pub(in crate::cli) fn none_configured() -> Error {
    Error::refused("no notices are configured, and none are sent").hint(
        "[notices] in disburse.toml names a command, or an address (docs/operations.md, Notices)",
    )
}

fn is_news(
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
    so: &[NewNotice],
) -> Result<bool, Error> {
    let record = reader.notices_of(batch)?;
    let conditions: Vec<Condition> = so.iter().map(|new| new.condition.clone()).collect();
    let found = changes(&conditions, &record.told, record.was_open, Timestamp::now());
    Ok(!found.is_none() || record.was_open == standing.is_finished())
}
