//! What a run does before its posts: it forecasts the floats, and uploads documents.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::Error;
use super::super::gateway;
use super::job::Job;
use crate::cli::commands::bills;
use crate::cli::terminal::output;
use crate::cli::words::{approvals, next};
use crate::domain::{PaymentId, Timestamp, decimal};
use crate::engine::Clock;
use crate::gateway::{Gateway, HttpGateway, OperationError};
use crate::intake;
use crate::journal::{Home, Standing};
use crate::preflight::{
    self, Need, ReadDocument, RefusedDocument, RequestPolicy, UploadReport, UploadStop, Uploads,
};

/// Payments that are named one by one.
const SHOWN: usize = 200;
/// How often a person hears how far the uploads are.
const TOLD_EVERY: Duration = Duration::from_secs(10);

impl Job<'_> {
    /// Asks for the bills of postpaid services. Nothing is posted while a row of the batch has no amount, or one that does
    /// not fit its bill.
    pub(super) async fn bills(&self, gateway: &Arc<HttpGateway>, home: &Home) -> Result<(), Error> {
        let inquiry = bills::Inquiry {
            session: self.session,
            settings: self.settings,
            journal: self.journal,
            batch: self.batch,
            take_due: self.options.pay_due,
            drain: self.drain.clone(),
        };
        if !self.options.pay_due {
            let standing = self.journal.standing(self.batch.clone()).await?;
            let found = self.approvals(home).await?;
            let asked = approvals::next(self.commands(), &found, standing.unpriced);
            let next =
                asked.map_or_else(|| next::run(self.commands(), &standing), |(_, next)| next);
            bills::refuse_unpriced(self.batch, standing.unpriced, &next)?;
        }
        if inquiry.is_needed().await? {
            // What one gateway says is due must not be paid through another.
            self.journal
                .pin(self.batch.clone(), home.clone(), Timestamp::now())
                .await?;
            let told = inquiry.ask(Arc::clone(gateway)).await?;
            told.judge(self.session, None, Some(self.batch))?;
        }
        bills::compare_declared(self.journal, self.batch)
            .await
            .map_err(|error| {
                error.hint(format!(
                    "nothing was posted; disburse cancel {} cancels what was never posted",
                    self.batch
                ))
            })
    }

    /// Says whether the floats last. One that does not ends the run before anything moves, unless the person allows it.
    pub(super) async fn forecast<G: Gateway>(
        &self,
        gateway: &G,
        standing: &Standing,
    ) -> Result<(), Error> {
        if !self.settings.profile.float.query {
            return Ok(());
        }
        let batch = self.batch.clone();
        let (_, not_due) = self.journal.not_due(batch, Timestamp::now()).await?;
        let asked = tokio::select! {
            asked = preflight::forecast(gateway, standing, &not_due) => asked,
            () = self.drain.cancelled() => return Err(ended()),
        };
        let forecast = asked.map_err(|error| {
            Error::stopped(format!("float balance: {error}; nothing was sent"))
                .hint("check username and password, then run the same command again")
        })?;
        for need in &forecast.needs {
            let text = forecast_text(need);
            match &need.account {
                Ok(account) if account.short_by > 0 => output::complain("warning", &text),
                Ok(_) => self.session.note(&text),
                // The gateway itself refuses what its float does not cover.
                Err(_) => output::complain("warning", &text),
            }
        }
        if forecast.is_short() && !self.options.allow_short {
            return Err(Error::stopped(
                "the float is too small for what is to be posted; nothing was sent",
            )
            .hint("top it up and run the same command again; or add --allow-short: what the float does not cover then \
                waits for it"));
        }
        Ok(())
    }

    /// Uploads the documents that the batch's payments name; none of the batch is posted before all of them are taken.
    pub(super) async fn upload(&self, home: &Home) -> Result<(), Error> {
        let due = self
            .journal
            .documents_due(self.batch.clone(), PaymentId::NONE, 1);
        if due.await?.is_empty() {
            return Ok(());
        }
        let service = gateway::documents(self.settings)?;
        let profile = &self.settings.profile;
        // Another gateway must not get documents of this batch either.
        self.journal
            .pin(self.batch.clone(), home.clone(), Timestamp::now())
            .await?;
        let bytes_max = u64::from(profile.document_bytes_max.get());
        let read: ReadDocument = Arc::new(move |path: &Path| {
            intake::read_document(path, bytes_max).map_err(|error| error.to_string())
        });
        let concurrency = usize::try_from(profile.limits.concurrency.get()).unwrap_or(usize::MAX);
        let uploads = Uploads {
            journal: self.journal.clone(),
            batch: self.batch.clone(),
            service: Arc::new(service),
            read,
            manner: Arc::new(RequestPolicy::new(
                profile.limits.rate,
                concurrency,
                self.drain.clone(),
            )),
            clock: Clock::start(),
        };
        let mut told = Instant::now();
        let report = uploads
            .carry_out(|uploaded| {
                if told.elapsed() >= TOLD_EVERY {
                    told = Instant::now();
                    self.session.note(&format!(
                        "{} uploaded",
                        output::counted(uploaded, "document")
                    ));
                }
            })
            .await?;
        if report.uploaded > 0 {
            self.session.note(&format!(
                "{} uploaded",
                output::counted(report.uploaded, "document")
            ));
        }
        self.judge(report)
    }

    fn judge(&self, report: UploadReport) -> Result<(), Error> {
        let UploadReport {
            uploaded,
            refused,
            stopped,
        } = report;
        for document in refused.iter().take(SHOWN) {
            output::complain("error", &refused_text(document));
        }
        if refused.len() > SHOWN {
            output::note(&format!("… and {} more", refused.len() - SHOWN));
        }
        let batch = self.batch;
        if !refused.is_empty() {
            let more = match stopped {
                Some(_) => "; the others were not tried",
                None => "",
            };
            let first = &refused[0].due;
            let name = first
                .reference
                .as_ref()
                .map_or_else(|| first.id.to_string(), ToString::to_string);
            return Err(Error::refused(format!(
                "{} not taken{more}; nothing was posted",
                output::counted(refused.len() as u64, "document")
            ))
            .hint("replace each file by a sound PDF and run the same command again; uploaded documents are not \
                uploaded again")
            .hint(format!(
                "or cancel the payment: disburse cancel {batch} {name}"
            )));
        }
        let done = output::counted(uploaded, "document");
        match stopped {
            None => Ok(()),
            Some(UploadStop::Service(OperationError::Credentials { section, what })) => {
                Err(Error::stopped(format!(
                    "document upload (section {section}): {what}; nothing was posted"
                )))
            }
            Some(UploadStop::Service(error @ OperationError::Unavailable(_))) => {
                Err(Error::unfinished(format!(
                    "{error}; {done} uploaded, nothing was posted"
                ))
                .hint("run the same command again when the file service has recovered; uploaded documents are not \
                    uploaded again"))
            }
            Some(UploadStop::Service(error)) => Err(Error::refused(format!(
                "document upload: {error}; {done} uploaded, nothing was posted"
            ))
            .hint("check file_service_url, then run the same command again")),
            Some(UploadStop::Drained | UploadStop::TooMany) => Err(ended()),
        }
    }
}

pub(super) fn ended() -> Error {
    Error::unfinished("ended before the first post; nothing was posted")
        .hint("run the same command again to go on")
}

fn refused_text(document: &RefusedDocument) -> String {
    let due = &document.due;
    let reference = due
        .reference
        .as_ref()
        .map(|reference| format!(", reference {reference}"))
        .unwrap_or_default();
    format!(
        "line {}{reference}: document {}: {}",
        due.line,
        due.path.display(),
        document.what
    )
}

fn forecast_text(need: &Need) -> String {
    let Need {
        service,
        currency,
        ready,
        account,
    } = need;
    let needed = format!(
        "float of {service}: {currency} {} needed for {}",
        output::grouped(&decimal(ready.amounts.minor(*currency), *currency)),
        output::counted(ready.count, "payment")
    );
    match account {
        Err(why) => format!("{needed}, the balance is unknown: {why}"),
        Ok(account) => {
            let name = match account.name.as_str() {
                "" => String::new(),
                name => format!(" in {name}"),
            };
            let balance = output::grouped(&decimal(i128::from(account.balance), *currency));
            let short = match account.short_by {
                0 => String::new(),
                by => format!(
                    ", short by {currency} {}",
                    output::grouped(&decimal(by, *currency))
                ),
            };
            format!("{needed}, {currency} {balance} there{name}{short}")
        }
    }
}
