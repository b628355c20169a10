//! The same account under another name: `--account-moved`.

use std::sync::Arc;

use super::super::{Error, gateway, output};
use super::Job;
use crate::domain::{GatewayTransactionId, PayerTransactionId, Timestamp};
use crate::engine::Pacer;
use crate::gateway::{Gateway, HttpGateway, Inquiry, Signal, StopReason};
use crate::journal::{AccountMove, Home, Question};
use crate::ledger::pin;

/// Payments that the new account is asked about at most; one that it knows suffices.
const ASKED_MAX: usize = 20;

impl Job<'_> {
    /// Moves the batch to the account that is configured, once the gateway tells this one of a payment of the batch.
    ///
    /// Asked before anything is posted: another account knows nothing of what this batch has paid.
    pub(super) async fn move_account(
        &self,
        client: &Arc<HttpGateway>,
        home: &Home,
        reason: &str,
    ) -> Result<(), Error> {
        let (journal, batch, to) = (self.journal, self.batch, &home.account);
        let other = journal.other_account(batch.clone(), to.clone());
        let Some(from) = other.await? else {
            self.session.note(&format!(
                "batch {batch} may be run with account {to} as it is: --account-moved changes nothing"
            ));
            return Ok(());
        };
        // The account alone may have another name.
        let before = Home {
            account: from.clone(),
            ..home.clone()
        };
        let now = Timestamp::now();
        journal.pin(batch.clone(), before, now).await?;
        let witnesses = journal.witnesses(batch.clone(), ASKED_MAX).await?;
        let stays = || format!("batch {batch} stays with account {from}, and nothing was sent");
        let run_with = format!("run it with the user name {from}");
        if witnesses.is_empty() {
            return Err(Error::refused(format!(
                "the gateway has shown to have no payment of batch {batch} yet, so that nothing can show that {to} is the same \
                 account; {}",
                stays()
            ))
            .hint(run_with)
            .hint(format!(
                "where that is no longer possible: settle each payment that was posted, once the bank or the gateway's people have said \
                 what became of it: disburse resolve {batch} ID --paid, or --failed --although-accepted. When none is left, the next run \
                 takes account {to}"
            )));
        }
        let asked = witnesses.len() as u64;
        let Some(witness) = self.witness(client, witnesses).await? else {
            return Err(Error::refused(format!(
                "account {to} knows none of the {} of batch {batch} that it was asked about; {}",
                output::counted(asked, "payment"),
                stays()
            ))
            .hint(run_with));
        };
        let order = AccountMove {
            from: from.clone(),
            to: to.clone(),
            witness,
            reason: reason.to_owned(),
        };
        journal
            .move_account(batch.clone(), order, Timestamp::now())
            .await?;
        self.session.note(&format!(
            "batch {batch} is moved from account {from} to {to}: the gateway told {to} of payment {witness}"
        ));
        Ok(())
    }

    /// Asks about payments, one after the other, until the gateway tells of one.
    async fn witness(
        &self,
        client: &HttpGateway,
        payments: Vec<Question>,
    ) -> Result<Option<PayerTransactionId>, Error> {
        let pacer = Pacer::new(gateway::rate(self.settings.profile.limits.query_rate)?, 1);
        for payment in payments {
            while let Err(pause) = pacer.pass() {
                tokio::time::sleep(pause).await;
            }
            let inquiry = Inquiry {
                id: payment.id,
                gateway_transaction_id: payment
                    .gateway_transaction_id
                    .as_deref()
                    .and_then(|id| GatewayTransactionId::parse(id).ok()),
            };
            let asked = tokio::select! {
                asked = client.query(std::slice::from_ref(&inquiry)) => asked,
                () = self.drain.cancelled() => return Err(super::beforehand::ended()),
            };
            let unanswered = |why: &str| {
                format!(
                    "payment {} was asked about for --account-moved: {why}; nothing was posted",
                    payment.id
                )
            };
            match asked.signal {
                Signal::Healthy => {}
                Signal::Stop(StopReason::Credentials(why)) => {
                    return Err(Error::credentials(unanswered(&why)));
                }
                Signal::Stop(StopReason::Misconfigured(why)) => {
                    return Err(Error::stopped(unanswered(&why)));
                }
                Signal::Unreachable(why) | Signal::Lost(why) => {
                    return Err(Error::unavailable(unanswered(&why)).hint("say it again later"));
                }
                Signal::SlowDown(_) => {
                    return Err(Error::unavailable(unanswered(
                        "the gateway asks for fewer requests",
                    ))
                    .hint("say it again later"));
                }
            }
            for outcome in asked.outcomes {
                // Another account may have a payment of its own under the identifier: another journal uses our names.
                if pin::shows(outcome.event)
                    && self.journal.may_be(payment.seq, outcome.said).await?
                {
                    return Ok(Some(payment.id));
                }
            }
        }
        Ok(None)
    }
}
