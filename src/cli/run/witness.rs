//! What shows that another address or another name is the same place: it has the payments that the gateway has shown to have.

use std::sync::Arc;

use super::super::Error;
use super::job::{Job, What};
use crate::cli::commands::probe::nobodys;
use crate::cli::terminal::output;
use crate::domain::{GatewayTransactionId, PayerTransactionId};
use crate::engine::Pacer;
use crate::gateway::{Gateway, HttpGateway, Inquiry, Outcome, Signal, StopReason};
use crate::journal::Question;
use crate::ledger::moves::{self, Testimony};

/// So many payments that bear it out are enough.
const ENOUGH: usize = 3;

impl Job<'_> {
    /// Asks about payments, one after the other, until enough of them are known; returns the first, or `None` where not one is.
    ///
    /// Refuses a place that has one of them otherwise than it is on record, that does not have all that were asked about, or that claims to
    /// have whatever it is asked about.
    pub(super) async fn witness(
        &self,
        client: &Arc<HttpGateway>,
        what: What,
        payments: Vec<Question>,
        stays: &str,
    ) -> Result<Option<PayerTransactionId>, Error> {
        let pacer = Pacer::new(self.settings.profile.limits.query_rate, 1);
        let (mut known, mut unknown): (Vec<PayerTransactionId>, Vec<_>) = (Vec::new(), Vec::new());
        for payment in payments {
            if known.len() == ENOUGH {
                break;
            }
            let (id, seq) = (payment.id, payment.seq);
            let inquiry = Inquiry {
                id,
                gateway_transaction_id: payment
                    .gateway_transaction_id
                    .as_deref()
                    .and_then(|id| GatewayTransactionId::parse(id).ok()),
                country: Some(payment.country),
            };
            let answers = self.ask(client, &pacer, what, inquiry).await?;
            // Of several answers to one question, nobody knows which is about it.
            let only = answers.len() == 1;
            for outcome in answers.into_iter().filter(|_| only) {
                match self
                    .journal
                    .testimony(seq, outcome.event, outcome.said)
                    .await?
                {
                    Testimony::Bears => known.push(id),
                    Testimony::Lacks => unknown.push(id),
                    Testimony::Silent => {}
                    Testimony::Contradicts => {
                        return Err(Error::refused(format!(
                            "the place that is configured has something else under the identifier {id} than what is on record of it, so it is another one: {stays}"
                        ))
                        .hint(format!("`disburse explain {} --id {id}` shows what is on record", self.batch))
                        .hint("choose the profile with the gateway and the user name that the batch was started with"));
                    }
                }
            }
        }
        let Some(first) = known.first() else {
            return Ok(None);
        };
        if let Some(missing) = unknown.first() {
            return Err(Error::refused(format!(
                "the place that is configured knows {} that it was asked about, such as {first}, but not {missing}, which the gateway has shown to have: {stays}",
                output::counted(known.len() as u64, "payment"),
            ))
            .hint("if it is the same gateway and does not have everything yet, repeat this command later; if it is another one, such as a test system, choose the profile that the batch was started with"));
        }
        let control = Inquiry {
            id: nobodys(&self.settings.dialect.dialect),
            gateway_transaction_id: None,
            country: None,
        };
        let answers = self.ask(client, &pacer, what, control).await?;
        match answers.iter().any(|outcome| moves::claims_to_have(outcome.event)) {
            true => Err(Error::refused(format!(
                "the place that is configured tells what became of a payment that nobody has made, so its word about others shows nothing: {stays}"
            ))
            .hint("choose the profile with the gateway and the user name that the batch was started with; ask the people of this gateway why it answers so")),
            false => Ok(Some(*first)),
        }
    }

    async fn ask(
        &self,
        client: &Arc<HttpGateway>,
        pacer: &Pacer,
        what: What,
        inquiry: Inquiry,
    ) -> Result<Vec<Outcome>, Error> {
        while let Err(pause) = pacer.pass() {
            tokio::time::sleep(pause).await;
        }
        let asked = tokio::select! {
            asked = client.query(std::slice::from_ref(&inquiry)) => asked,
            () = self.drain.cancelled() => return Err(super::preflight::ended()),
        };
        let unanswered = |why: &str| {
            format!(
                "payment {} was asked about for {}: {why}; nothing was posted",
                inquiry.id,
                what.flags()
            )
        };
        match asked.signal {
            Signal::Healthy => Ok(asked.outcomes),
            Signal::Stop(StopReason::Credentials(why)) => Err(Error::credentials(unanswered(&why))),
            Signal::Stop(StopReason::Misconfigured(why)) => Err(Error::stopped(unanswered(&why))),
            Signal::Unreachable(why) | Signal::Lost(why) => {
                Err(Error::unavailable(unanswered(&why)).hint("repeat this command later"))
            }
            Signal::SlowDown(_) => Err(Error::unavailable(unanswered(
                "the gateway asks for fewer requests",
            ))
            .hint("repeat this command later")),
        }
    }
}
