//! What shows that a batch has not changed hands where its account or its gateway is called otherwise: the word about one of
//! its payments. And the gateway that has another address (`--gateway-moved`).

use std::sync::Arc;

use super::super::Error;
use super::job::{Job, What};
use crate::cli::terminal::ask::{Typed, ask, is_attended};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Timestamp};
use crate::gateway::HttpGateway;
use crate::journal::{AccountMove, Error as JournalError, GatewayMoved, Home, Redirection};
use crate::ledger::Purpose;
use crate::ledger::moves::Move;

/// What to do where the place is gone that a batch was started with.
const GONE: &str = "if these are gone: settle each posted payment, once the bank or the gateway's people have said what became of it: disburse resolve BATCH \
                    ID --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT. When none is left, repeat this command";

/// Payments that are asked about at most.
pub(super) const ASKED_MAX: usize = 20;

/// Says of a batch that somebody else has moved meanwhile where it is now, beside what is configured here: the order was checked
/// against where it was.
pub(super) fn moved_meanwhile(error: JournalError, home: &Home) -> Error {
    use JournalError::{OtherAccount, OtherGateway};
    match error {
        OtherGateway { batch, pinned, .. } if pinned == home.gateway => {
            there_already(&batch, "gateway", &pinned)
        }
        OtherAccount { batch, pinned, .. } if pinned == home.account => {
            there_already(&batch, "account", &pinned)
        }
        OtherGateway { batch, pinned, .. } => OtherGateway {
            batch,
            pinned,
            configured: home.gateway.clone(),
        }
        .into(),
        OtherAccount { batch, pinned, .. } => OtherAccount {
            batch,
            pinned,
            configured: home.account.clone(),
        }
        .into(),
        other => other.into(),
    }
}

fn there_already(batch: &BatchName, what: &str, pinned: &str) -> Error {
    Error::refused(format!(
        "batch {batch} was moved to {what} {pinned} by another command at the same time; nothing was sent"
    ))
    .hint(format!("disburse run {batch}, without the flag"))
}

impl Job<'_> {
    /// Refuses a batch whose gateway and account are both others than the configured ones, unless the order names both: an order about
    /// one of them would be refused for the other one.
    pub(super) async fn is_told_apart(&self, home: &Home) -> Result<(), Error> {
        let named = self.orders.moved.as_ref().map(|(what, _)| *what);
        let is_rehearsal = Purpose::of_gateway(&home.gateway) == Purpose::Rehearsal;
        if named == Some(What::Both) || is_rehearsal {
            return Ok(());
        }
        if named.is_none() {
            self.tell_mended(home).await?;
        }
        match self.journal.place(self.batch.clone()).await? {
            Some(at)
                if at.gateway != home.gateway
                    && !at.names(&home.destination())
                    && Purpose::of_gateway(&at.gateway) != Purpose::Rehearsal =>
            {
                Err(JournalError::OtherDestination {
                    batch: self.batch.clone(),
                    meant: Box::new(at),
                    configured: Box::new(home.destination()),
                }
                .into())
            }
            _ => Ok(()),
        }
    }

    /// Says that the profile has mended a user name that the gateway refused.
    async fn tell_mended(&self, home: &Home) -> Result<(), Error> {
        let (journal, batch) = (self.journal, self.batch);
        let Some(meant) = journal.destination(batch.clone()).await? else {
            return Ok(());
        };
        let is_taken = journal.is_meant_for(batch.clone(), home.clone()).await;
        if is_taken.is_ok() && !meant.names(&home.destination()) {
            self.session.note(&format!(
                "batch {batch} was to be paid by {meant}, which the gateway refused: this run is to pay it by {}",
                home.destination()
            ));
        }
        Ok(())
    }

    /// Sends the batch elsewhere of which nothing can be anywhere, once a person has said so: no gateway can say whether that is meant.
    pub(super) async fn redirect(
        &self,
        what: What,
        home: &Home,
        reason: &str,
    ) -> Result<(), Error> {
        let (journal, batch) = (self.journal, self.batch);
        if !self.options.yes
            && is_attended()
            && let Some(at) = journal.place(batch.clone()).await?
        {
            let question = format!(
                "Batch {batch} is to be paid by {at}. Shall it be paid by {} instead?",
                home.destination()
            );
            let nothing = "nothing was moved, and nothing was sent";
            ask(&question, Typed::Yes, nothing).await?;
        }
        // What an earlier journal may have posted is asked about at the new place.
        self.know_the_payer(home, true).await?;
        let order = Redirection {
            home: home.clone(),
            gateway: what != What::Account,
            account: what != What::Gateway,
            reason: reason.to_owned(),
        };
        let moved = journal.redirect(batch.clone(), order, Timestamp::now());
        let (Some(from), decided) = moved.await? else {
            return Ok(());
        };
        let to = home.destination();
        self.session.note(&format!(
            "batch {batch} is moved: it is to be paid by {to}, and no longer by {from}; nothing that this journal has posted of it is open there"
        ));
        if decided > 0 {
            output::complain(
                "warning",
                &format!(
                    "{} of batch {batch} {} posted before, and ended since: what {to} says of {} proves nothing. A retry waits until a person has said, \
                     expressly, what became of the earlier payment",
                    output::counted(decided, "payment"),
                    if decided == 1 { "was" } else { "were" },
                    if decided == 1 { "it" } else { "them" },
                ),
            );
        }
        Ok(())
    }

    /// Moves the batch to the address that is configured, once that one tells of a payment of the batch.
    ///
    /// Asked before anything is posted: another gateway knows nothing of what this batch has paid.
    pub(super) async fn move_gateway(
        &self,
        client: &Arc<HttpGateway>,
        home: &Home,
        reason: &str,
    ) -> Result<(), Error> {
        let (journal, batch, to) = (self.journal, self.batch, &home.gateway);
        let (from, needs) = journal.gateway_move(batch.clone(), to.clone()).await?;
        let stays = format!("batch {batch} stays with gateway {from}, and nothing was sent");
        let witnesses = match needs {
            Move::Needless => {
                self.session.note(&format!(
                    "batch {batch} may be run with gateway {to} as it is: --gateway-moved changes nothing"
                ));
                return Ok(());
            }
            Move::Impossible => {
                return Err(Error::refused(format!(
                    "the gateway has never known a payment of batch {batch}, so nothing can prove that {to} is the \
                    same gateway; {stays}"
                ))
                .hint(format!(
                    "run it with the old address as long as that answers. If it is gone: settle each posted payment, \
                     once the bank or the gateway's people have said what became of it: disburse resolve {batch} ID \
                     --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT. When none is left, repeat this command"
                )));
            }
            Move::Proof => journal.witnesses(batch.clone(), ASKED_MAX).await?,
            Move::Free => return self.redirect(What::Gateway, home, reason).await,
        };
        // The address alone may be another one.
        let before = Home {
            gateway: from.clone(),
            ..home.clone()
        };
        let now = Timestamp::now();
        let pinned = journal.pin(batch.clone(), before, now).await;
        pinned.map_err(|error| moved_meanwhile(error, home))?;
        let asked = witnesses.len() as u64;
        let Some(witness) = self
            .witness(client, What::Gateway, witnesses, &stays)
            .await?
        else {
            return Err(Error::refused(format!(
                "gateway {to} knows none of the {} of batch {batch} that it was asked about; {stays}",
                output::counted(asked, "payment"),
            ))
            .hint("choose the profile with the gateway that it was started with"));
        };
        let order = GatewayMoved {
            from: from.clone(),
            to: to.clone(),
            witness: Some(witness),
            profile: self.settings.profile_name.clone(),
            reason: reason.to_owned(),
        };
        let now = Timestamp::now();
        let moved = journal.move_gateway(batch.clone(), order, now).await;
        moved.map_err(|error| moved_meanwhile(error, home))?;
        self.session.note(&format!(
            "batch {batch} is moved from gateway {from} to {to}: the new address knows payment {witness}"
        ));
        Ok(())
    }

    /// Moves the batch to the address and the account that are configured, once that address tells that account of a payment of
    /// the batch: another gateway knows nothing of it, nor does another account.
    pub(super) async fn move_both(
        &self,
        client: &Arc<HttpGateway>,
        home: &Home,
        reason: &str,
    ) -> Result<(), Error> {
        let (journal, batch) = (self.journal, self.batch);
        let moves = journal.account_move(batch.clone(), home.clone());
        let (from_account, of_account) = moves.await?;
        if of_account == Move::Needless {
            // Nothing of the batch can be at another account, so that the address alone has to be shown.
            return self.move_gateway(client, home, reason).await;
        }
        let (from_gateway, needs) = journal
            .gateway_move(batch.clone(), home.gateway.clone())
            .await?;
        if needs == Move::Needless {
            return self.move_account(client, home, reason).await;
        }
        if of_account == Move::Free {
            return self.redirect(What::Both, home, reason).await;
        }
        // As it was, so that whatever else does not fit is refused before anything is asked.
        let before = Home {
            gateway: from_gateway.clone(),
            account: from_account.clone(),
            ..home.clone()
        };
        let pinned = journal.pin(batch.clone(), before, Timestamp::now()).await;
        pinned.map_err(|error| moved_meanwhile(error, home))?;
        let witnesses = journal.witnesses(batch.clone(), ASKED_MAX).await?;
        let asked = witnesses.len() as u64;
        let stays = format!(
            "batch {batch} stays with account {from_account} of gateway {from_gateway}, and nothing was sent"
        );
        if witnesses.is_empty() {
            return Err(self.unprovable(home, &stays));
        }
        let Some(witness) = self.witness(client, What::Both, witnesses, &stays).await? else {
            return Err(Error::refused(format!(
                "account {} of gateway {} knows none of the {} of batch {batch} that it was asked about; {stays}",
                home.account,
                home.gateway,
                output::counted(asked, "payment"),
            ))
            .hint("choose the profile with the gateway and the user name that it was started with"));
        };
        let profile = self.settings.profile_name.clone();
        let gateway = GatewayMoved {
            from: from_gateway.clone(),
            to: home.gateway.clone(),
            witness: Some(witness),
            profile: profile.clone(),
            reason: reason.to_owned(),
        };
        let now = Timestamp::now();
        let moved = journal.move_gateway(batch.clone(), gateway, now).await;
        moved.map_err(|error| moved_meanwhile(error, home))?;
        let account = AccountMove {
            from: from_account.clone(),
            to: home.account.clone(),
            witness,
            profile,
            reason: reason.to_owned(),
        };
        let moved = journal.move_account(batch.clone(), account, now).await;
        moved.map_err(|error| moved_meanwhile(error, home))?;
        self.session.note(&format!(
            "batch {batch} is moved from account {from_account} of gateway {from_gateway} to account {} of gateway {}: \
             the new address shows the new name the payment {witness}",
            home.account, home.gateway
        ));
        Ok(())
    }

    /// Says that no payment can show that the new place is the old one.
    fn unprovable(&self, home: &Home, stays: &str) -> Error {
        Error::refused(format!(
            "no gateway has ever shown a payment of batch {}, so nothing can prove that account {} of gateway {} is the same one; {stays}",
            self.batch, home.account, home.gateway
        ))
        .hint("choose the profile with the gateway and the user name that it was started with")
        .hint(GONE.replace("BATCH", self.batch.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_too_late_is_told_where_the_batch_is_now_and_what_is_configured_here() {
        let home = Home {
            gateway: "https://new.example".to_owned(),
            wire: String::new(),
            account: "pay2".to_owned(),
            reading: String::new(),
            profile: "default".to_owned(),
            accepts_reading: false,
        };
        let batch = || BatchName::parse("may").unwrap();
        let gateway = |pinned: &str| JournalError::OtherGateway {
            batch: batch(),
            pinned: pinned.to_owned(),
            configured: "https://old.example".to_owned(),
        };
        let account = |pinned: &str| JournalError::OtherAccount {
            batch: batch(),
            pinned: pinned.to_owned(),
            configured: "pay1".to_owned(),
        };
        for (error, told) in [
            (
                gateway("https://third.example"),
                "batch may was started with gateway https://third.example; this command is configured for https://new.example",
            ),
            (
                gateway("https://new.example"),
                "batch may was moved to gateway https://new.example by another command at the same time; nothing was sent",
            ),
            (
                account("pay3"),
                "batch may belongs to account pay3 of its gateway; this command is configured for pay2",
            ),
            (
                account("pay2"),
                "batch may was moved to account pay2 by another command at the same time; nothing was sent",
            ),
        ] {
            let error = moved_meanwhile(error, &home);
            let said = format!("{error:?}");
            assert!(said.contains(told), "{said}");
        }
    }
}
