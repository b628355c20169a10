//! Orders that more than one person signs for, as commands give them: each person gives the same order, and the last one carries
//! it out.

use std::path::PathBuf;

use serde_json::json;

use super::Error;
use super::arguments::SigningArguments;
use super::config::Settings;
use super::exit::ExitStatus;
use super::session::Session;
use super::signing::{SigningKey, given};
use super::terminal::output;
use super::words::approvals::order_not_signed;
use crate::domain::Timestamp;
use crate::journal::{self, Journal, OrderToSign, UnsignedOrders};
use crate::ledger::Purpose;
use crate::ledger::approval::rule::InForce;
use crate::ledger::approval::ssh::ARMOUR_MAX;
use crate::ledger::approval::text::TEXT_MAX;

/// What became of an order.
pub(in crate::cli) enum Given<T> {
    /// It is carried out.
    Done(T),
    /// It is not, and a person has been told why.
    Not(ExitStatus),
}

/// How an order is given that people may have to sign for.
pub(in crate::cli) struct OrderSigning<'a> {
    session: &'a Session,
    arguments: &'a SigningArguments,
    journal: Journal,
    settings: Option<Settings>,
    reason: Option<String>,
}

impl<'a> OrderSigning<'a> {
    /// Sets it up, with the rule of now where a configuration is there.
    pub(in crate::cli) fn of(
        session: &'a Session,
        journal: &Journal,
        purpose: Purpose,
        arguments: &'a SigningArguments,
    ) -> Result<Self, Error> {
        let settings = |rehearsal| session.settings(rehearsal, Vec::new());
        // Of a configuration without a gateway the rule holds all the same.
        let settings = settings(purpose == Purpose::Rehearsal).or_else(|_| settings(true));
        let settings = settings.ok();
        let rule = match &settings {
            Some(settings) => settings.approval()?,
            None => None,
        };
        Ok(Self {
            session,
            arguments,
            journal: journal.clone().under(rule),
            settings,
            reason: None,
        })
    }

    /// The same with the reason that whoever gives the order types: it is kept with their signature.
    pub(in crate::cli) fn because(self, reason: Option<&str>) -> Self {
        Self {
            reason: reason.map(str::to_owned).filter(|it| !it.trim().is_empty()),
            ..self
        }
    }

    /// Whether nothing is to be ordered: only the text is wanted.
    pub(in crate::cli) fn only_prints(&self) -> bool {
        self.arguments.print
    }

    /// The journal, held to the rule of now.
    pub(in crate::cli) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Gives an order, and signs for it where it has to be signed for.
    pub(in crate::cli) async fn give<T>(
        &self,
        order: impl AsyncFn(Journal) -> Result<T, journal::Error>,
    ) -> Result<Given<T>, Error> {
        if self.arguments.print {
            return match order(self.journal.clone().proposing()).await {
                Err(journal::Error::Unsigned(unsigned)) => self.print(*unsigned).await,
                Err(error) => Err(error.into()),
                Ok(_) => Err(nothing_to_order()),
            };
        }
        if let (Some(text), Some(signature)) = (&self.arguments.text, &self.arguments.signature) {
            let text = given(text, TEXT_MAX as u64, "text")?;
            let signature = given(signature, ARMOUR_MAX as u64, "signature")?;
            match order(self.journal.clone().proposing()).await {
                Err(journal::Error::Unsigned(unsigned)) => {
                    self.record(*unsigned, text, signature).await?;
                }
                Err(error) => return Err(error.into()),
                Ok(_) => return Err(nothing_to_order()),
            }
            return match order(self.journal.clone()).await {
                Err(journal::Error::Unsigned(unsigned)) => Ok(self.waits(&unsigned)),
                done => Ok(Given::Done(done?)),
            };
        }
        match order(self.journal.clone()).await {
            Err(journal::Error::Unsigned(unsigned)) => self.sign(*unsigned).await?,
            done => return Ok(Given::Done(done?)),
        }
        match order(self.journal.clone()).await {
            Err(journal::Error::Unsigned(unsigned)) => Ok(self.waits(&unsigned)),
            done => Ok(Given::Done(done?)),
        }
    }

    async fn print<T>(&self, unsigned: UnsignedOrders) -> Result<Given<T>, Error> {
        let Some(by) = self.arguments.sign_as.clone() else {
            return Err(nothing_to_sign());
        };
        if unsigned.orders.lines.is_empty() {
            return Err(nothing_to_sign());
        }
        let rules = self.journal.rules_of(unsigned.orders.clone()).await?;
        if let Some((batch, _)) = rules.iter().find(|(_, in_force)| !in_force.knows(&by)) {
            return Err(Error::refused(format!(
                "{by} is not among the allowed signers of batch {batch}; nothing was ordered"
            ))
            .hint(SIGNERS));
        }
        let text = self
            .journal
            .order_text(unsigned.orders, by, Timestamp::now());
        output::print(&text.await?);
        Ok(Given::Not(ExitStatus::Done))
    }

    /// Signs for an order with the key of whoever gives it.
    async fn sign(&self, unsigned: UnsignedOrders) -> Result<(), Error> {
        let configured = || self.settings.as_ref()?.signing_key().map(PathBuf::from);
        let key = self.arguments.sign_key.clone().or_else(configured);
        let Some(key) = key else {
            return Err(Error::refused(format!(
                "{}; nothing was ordered",
                waits_text(&unsigned)
            ))
            .hint(
                "each of them signs for it: the same command with --sign-key KEY (or approval.signing_key); or elsewhere: with --as NAME --print > TEXT; \
                 ssh-keygen -Y sign -n disburse -f KEY TEXT; with --text TEXT --signature TEXT.sig",
            ));
        };
        let key = SigningKey::open(&key)?;
        let rules = self.journal.rules_of(unsigned.orders.clone()).await?;
        let by = match &self.arguments.sign_as {
            Some(name) => name.clone(),
            None => name_of(&rules, &key)?,
        };
        if unsigned.signed_by.contains(&by) {
            // What they signed counts already.
            return Ok(());
        }
        for line in unsigned.orders.lines.iter().take(SHOWN) {
            self.session.note(&format!("order: {}", line.sentence()));
            for payment in &line.listed {
                self.session.note(&format!("  {payment}"));
            }
        }
        if !unsigned.signed_by.is_empty() {
            let by = unsigned.signed_by.join(", ");
            self.session.note(&format!("signed so far by {by}"));
        }
        let text = self
            .journal
            .order_text(unsigned.orders.clone(), by, Timestamp::now())
            .await?;
        let signature = key.sign(&text, ELSEWHERE)?;
        self.record(unsigned, text, signature).await
    }

    async fn record(
        &self,
        unsigned: UnsignedOrders,
        text: String,
        signature: String,
    ) -> Result<(), Error> {
        if unsigned.orders.lines.is_empty() {
            return Err(nothing_to_sign());
        }
        let order = OrderToSign {
            orders: unsigned.orders,
            text,
            signature,
            reason: self.reason.clone(),
            now: Timestamp::now(),
        };
        let signed = self.journal.sign_order(order).await?.map_err(|why| {
            let (text, hint) = order_not_signed(&why);
            Error::refused(format!("{text}; nothing was signed or ordered")).hint(hint)
        })?;
        self.session.note(&format!(
            "signed: {} gives this order ({})",
            signed.by, signed.fingerprint
        ));
        Ok(())
    }

    /// Says what an order waits for.
    fn waits<T>(&self, unsigned: &UnsignedOrders) -> Given<T> {
        if self.session.common.json {
            let orders = unsigned.orders.lines.iter().map(|line| line.sentence());
            output::json(&json!({
                "waits_for_signatures": true,
                "signed_by": unsigned.signed_by,
                "required": unsigned.required,
                "orders": orders.collect::<Vec<_>>(),
            }));
        } else {
            output::line(&format!(
                "{}; nothing was ordered yet",
                waits_text(unsigned)
            ));
        }
        for other in &unsigned.others {
            self.session.note(&format!("note: {other}"));
        }
        let others = match unsigned.required.saturating_sub(unsigned.signed_by.len()) {
            0 | 1 => "somebody else gives",
            _ => "others, each with another key, give",
        };
        output::complain(
            "hint",
            &format!(
                "{others} the same order within a day of the first signature: the same command with --sign-key KEY; `disburse status BATCH` \
                 lists what waits"
            ),
        );
        Given::Not(ExitStatus::Unfinished)
    }
}

const ELSEWHERE: &str = "sign elsewhere: the same command with --as NAME --print > TEXT; ssh-keygen -Y sign -n disburse -f KEY TEXT; the same command with \
     --text TEXT --signature TEXT.sig";

fn nothing_to_sign() -> Error {
    Error::refused("this order needs no signatures; nothing was ordered").hint(
        "give it without --print and --signature; approval.orders says which orders are signed for",
    )
}

/// Refuses to print a text for nothing.
pub(in crate::cli) fn nothing_to_order() -> Error {
    Error::refused("this order would change nothing, so there is nothing to sign").hint(
        "see how the batch stands: disburse status BATCH; the order may have been carried out already",
    )
}

/// So many orders that are signed together are shown.
const SHOWN: usize = 20;

/// Says how many people have signed for an order, and how many must.
fn waits_text(unsigned: &UnsignedOrders) -> String {
    let by = match unsigned.signed_by.as_slice() {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    };
    let what = match unsigned.orders.lines.as_slice() {
        [one] => one.sentence(),
        [first, others @ ..] => format!("{}, and {} more", first.sentence(), others.len()),
        [] => String::new(),
    };
    format!(
        "this order waits for signatures: {} of {} people have signed for it{by}: {what}",
        unsigned.signed_by.len(),
        unsigned.required
    )
}

/// Who may sign, in a hint.
const SIGNERS: &str = "approval.allowed_signers has a line for everybody who signs, and --as NAME is the name there; for a batch that was loaded before a line was \
     added or changed, the line as it was then counts as well";

/// Returns the one name that a key signs for, by all of these rules.
fn name_of(rules: &[(String, InForce)], key: &SigningKey) -> Result<String, Error> {
    let print = key.public.fingerprint();
    let mut names: Option<Vec<&str>> = None;
    for (batch, in_force) in rules {
        let of_rule = in_force.names_of(&key.public);
        let left = match names {
            None => of_rule,
            Some(names) => names
                .into_iter()
                .filter(|name| of_rule.contains(name))
                .collect(),
        };
        if left.is_empty() {
            return Err(Error::refused(format!(
                "the key {print} is not among the allowed signers of batch {batch}; nothing was ordered"
            ))
            .hint(SIGNERS));
        }
        names = Some(left);
    }
    match names.unwrap_or_default().as_slice() {
        [name] => Ok((*name).to_owned()),
        names => Err(Error::refused(format!(
            "the key {print} is that of several names: {}",
            names.join(", ")
        ))
        .hint("say whose signature it is: --as NAME")),
    }
}
