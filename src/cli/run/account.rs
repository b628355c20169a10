//! The account that a batch is asked about from: the same one under another name (`--account-moved`), or that of a journal which
//! is lost (`--asked-as`).

use std::sync::Arc;

use super::super::Error;
use super::Job;
use super::job::What;
use super::moved::{ASKED_MAX, moved_meanwhile};
use crate::cli::terminal::ask::{Typed, ask, is_attended};
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::gateway::HttpGateway;
use crate::journal::{AccountMove, Home};
use crate::ledger::moves::Move;

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
        let (from, needs) = journal.account_move(batch.clone(), home.clone()).await?;
        if needs == Move::Needless {
            self.session.note(&format!(
                "batch {batch} may be run with account {to} as it is: --account-moved changes nothing"
            ));
            return Ok(());
        }
        if needs == Move::Free {
            return self.redirect(What::Account, home, reason).await;
        }
        // The account alone may have another name.
        let before = Home {
            account: from.clone(),
            ..home.clone()
        };
        let now = Timestamp::now();
        let pinned = journal.pin(batch.clone(), before, now).await;
        pinned.map_err(|error| moved_meanwhile(error, home))?;
        let stays = || format!("batch {batch} stays with account {from}, and nothing was sent");
        let run_with = format!("run it with the user name {from}");
        if needs == Move::Impossible {
            return Err(Error::refused(format!(
                "the gateway has not shown any payment of batch {batch} yet, so nothing can prove that {to} is the \
                 same account; {}",
                stays()
            ))
            .hint(run_with)
            .hint(format!(
                "if that is no longer possible: settle each posted payment, once the bank or the gateway's people have \
                 said what became of it: disburse resolve {batch} ID --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT. When \
                 none is left, repeat this command"
            )));
        }
        let witnesses = journal.witnesses(batch.clone(), ASKED_MAX).await?;
        let asked = witnesses.len() as u64;
        let Some(witness) = self
            .witness(client, What::Account, witnesses, &stays())
            .await?
        else {
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
            profile: self.settings.profile_name.clone(),
            reason: reason.to_owned(),
        };
        let now = Timestamp::now();
        let moved = journal.move_account(batch.clone(), order, now).await;
        moved.map_err(|error| moved_meanwhile(error, home))?;
        self.session.note(&format!(
            "batch {batch} is moved from account {from} to {to}: the gateway shows {to} the payment {witness}"
        ));
        Ok(())
    }

    /// Makes sure that the gateway's answers about the batch prove something: where an earlier journal may have posted it, from
    /// an account that nobody knows, a person names it. `moves`: the batch is about to go there by order.
    pub(super) async fn know_the_payer(&self, home: &Home, moves: bool) -> Result<(), Error> {
        let (journal, batch, account) = (self.journal, self.batch, &home.account);
        let named = self.options.asked_as.as_deref();
        if let Some(named) = named.filter(|named| named != account) {
            return Err(Error::refused(format!(
                "--asked-as names account {named}, and the one that is configured is {account}; nothing was sent"
            ))
            .hint("choose the profile with the account that posted the batch"));
        }
        let Some(unknown) = journal.payer_unknown(batch.clone(), home.clone()).await? else {
            return Ok(());
        };
        if matches!(unknown, crate::journal::Error::PayerElsewhere { .. }) {
            // Nobody's word is asked for: what lies beside the journal knows better.
            return Err(unknown.into());
        }
        if named.is_none() && !is_attended() {
            return Err(unknown.into());
        }
        if named.is_some() {
            self.know_the_gateway(home).await?;
        }
        if !moves {
            // Who confirms the account of a batch that is to go elsewhere would confirm a mistake.
            let meant = journal.is_meant_for(batch.clone(), home.clone());
            meant.await?;
        }
        if named.is_none() {
            ask(
                &format!("{unknown}."),
                Typed::Text(account),
                "nothing was sent",
            )
            .await?;
        }
        journal
            .confirm_payer(batch.clone(), home.clone(), Timestamp::now())
            .await?;
        self.session.note(&format!(
            "recorded: if batch {batch} was posted before, the account was {account}; the gateway is asked about it as {account}"
        ));
        Ok(())
    }

    /// Makes sure that who names an account means the gateway that is configured: another one may have an account of that name as well.
    async fn know_the_gateway(&self, home: &Home) -> Result<(), Error> {
        let meant = self.journal.destination(self.batch.clone()).await?;
        let recorded = meant.as_ref().map(|meant| &meant.gateway);
        // Another batch may have gone elsewhere, and this one with it.
        let on_record = self.journal.gateways_on_record().await?;
        let known = self.settings.other_gateways.iter().chain(recorded);
        let known = known.chain(&on_record);
        let others = other_gateways(known.map(String::as_str), &home.gateway);
        match &self.options.asked_at {
            Some(url) if is_same(url, &home.gateway) => Ok(()),
            Some(url) => Err(Error::refused(format!(
                "--asked-at names {}, and the gateway that is configured is {}; nothing was sent",
                output::name(url),
                home.gateway
            ))
            .hint("choose the profile with the gateway that has posted the batch")),
            None if others.is_empty() => Ok(()),
            None => Err(Error::refused(format!(
                "--asked-as names an account, and not which gateway: the one that is configured is {}, and there is {}, too; nothing was sent",
                home.gateway,
                others.join(", ")
            ))
            .hint(format!(
                "find out which gateway the batch was posted to. If it was {0}, add --asked-at {0}; if it was another one, choose its profile",
                home.gateway
            ))),
        }
    }
}

/// Returns whether an address, with or without the path of the payments behind it, is that of a gateway.
fn is_same(url: &str, gateway: &str) -> bool {
    // A person may leave the scheme out.
    let plain = |text: &str| {
        let text = text.rsplit("://").next().unwrap_or_default();
        format!(
            "{}/",
            text.trim().trim_end_matches('/').to_ascii_lowercase()
        )
    };
    plain(gateway).starts_with(&plain(url))
}

/// Returns which of these gateways are others than the one that is configured.
fn other_gateways<'g>(known: impl Iterator<Item = &'g str>, configured: &str) -> Vec<&'g str> {
    let mut others: Vec<&str> = known.filter(|url| !is_same(url, configured)).collect();
    others.sort_unstable();
    others.dedup();
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_another_one_unless_its_address_is_the_same() {
        let known = [
            "https://b.example/v1",
            "https://A.example/",
            "https://b.example/v1",
        ];
        let others = |configured| other_gateways(known.into_iter(), configured);
        assert_eq!(others("https://a.example"), ["https://b.example/v1"]);
        assert_eq!(others("https://b.example/v1/"), ["https://A.example/"]);
        // The path of the payments stands behind it.
        assert_eq!(
            others("https://a.example/v1/global-api/payments"),
            ["https://b.example/v1"]
        );
        assert_eq!(others("https://a.example.org").len(), 2);
        assert_eq!(others("https://c.example").len(), 2);
        assert!(other_gateways([].into_iter(), "https://a.example").is_empty());
    }
}
