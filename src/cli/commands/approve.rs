//! `approve`: somebody looks at a batch and signs; or signs to have loaded it.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Error;
use crate::cli::arguments::ApproveArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::declared::declared_total;
use crate::cli::gateway;
use crate::cli::session::{Commands, Session, batch_name};
use crate::cli::signing::{SigningKey, given};
use crate::cli::terminal::ask::{heard, is_attended};
use crate::cli::terminal::output;
use crate::cli::words::approvals::{NOTHING, not_signed, rehearsed};
use crate::cli::words::corrected::{changed_texts, masked};
use crate::cli::words::hours::dates_text;
use crate::cli::words::next::next_text;
use crate::cli::words::repeats;
use crate::domain::{BatchName, Timestamp, Totals};
use crate::journal::{Approvals, Journal, NotSigned, Reader, Signed, Standing, ToSign};
use crate::ledger::Purpose;
use crate::ledger::approval::rule::{InForce, Rule};
use crate::ledger::approval::ssh::ARMOUR_MAX;
use crate::ledger::approval::text::{Act, Role, Statement, TEXT_MAX, Target};
use crate::lifecycle::State;

/// A batch that is signed for.
pub(in crate::cli) struct Desk<'a> {
    session: &'a Session,
    settings: &'a Settings,
    journal: &'a Journal,
    commands: Commands<'a>,
    rule: Option<Rule>,
}

/// `disburse approve`.
pub(in crate::cli) async fn approve(
    session: &Session,
    arguments: ApproveArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let settings = session.settings(arguments.sandbox, Vec::new())?;
    let journal = session.journal()?;
    let standing = journal.standing(batch.clone()).await?;
    refuse_other_purpose(&batch, &standing, arguments.sandbox)?;
    let purpose = Purpose::of_command(arguments.sandbox);
    let desk = Desk::of(session, &settings, &journal, (&batch, purpose))?;
    let in_force = desk.rules().await?;
    let role = match arguments.as_loader {
        true => Role::Loads,
        false => Role::Approves,
    };
    if let (Some(signature), Some(text)) = (&arguments.signature, &arguments.text) {
        let text = given(text, TEXT_MAX as u64, "text")?;
        let signature = given(signature, ARMOUR_MAX as u64, "signature")?;
        let signed = desk.record(text, signature).await?;
        return desk.conclude(&signed).await;
    }
    let key = arguments.sign_key.as_deref().or(settings.signing_key());
    let key = match (key, arguments.print, &arguments.sign_as) {
        (_, true, Some(_)) => None,
        (Some(path), ..) => Some(SigningKey::open(path)?),
        (None, true, None) => {
            return Err(Error::refused("the name of the signer is not known")
                .hint("give your name as it stands in approval.allowed_signers: --as NAME"));
        }
        (None, false, _) => return Err(no_key(desk.commands)),
    };
    let by = match (&arguments.sign_as, &key) {
        (Some(name), _) => name.clone(),
        (None, Some(key)) => name_of(&in_force, key)?,
        (None, None) => return Err(no_key(desk.commands)),
    };
    if arguments.print && !in_force.knows(&by) {
        return Err(
            Error::refused(format!("{by} is not among the allowed signers; {NOTHING}"))
                .hint("write the name as approval.allowed_signers has it: --as NAME"),
        );
    }
    let target = desk.target(role).await?;
    if let Some(text) = desk.refuse_early(role, &by).await? {
        if arguments.print {
            return Err(Error::refused(text));
        }
        session.note(&text);
        return Ok(ExitStatus::Done);
    }
    let statement = desk.statement((role, by), target).await?;
    if arguments.print {
        return desk.print(&statement).await;
    }
    let Some(key) = key else {
        return Err(no_key(desk.commands));
    };
    if role == Role::Approves {
        desk.show(&statement, &standing).await?;
        desk.ask_total(&statement.figures.totals, &arguments.yes_total)
            .await?;
    }
    let text = statement.to_text();
    let signature = key.sign(&text, ELSEWHERE)?;
    let signed = desk.record(text, signature).await?;
    desk.conclude(&signed).await
}

const ELSEWHERE: &str = "sign elsewhere: disburse approve BATCH --as NAME --print > TEXT; ssh-keygen -Y sign -n disburse -f KEY TEXT; disburse approve BATCH --text TEXT --signature TEXT.sig";

fn no_key(commands: Commands<'_>) -> Error {
    let batch = commands.batch;
    Error::refused(format!("no key to sign with; {NOTHING}")).hint(format!(
        "name it with --sign-key FILE or approval.signing_key; or sign elsewhere: disburse approve {batch} --as NAME --print > TEXT; \
         ssh-keygen -Y sign -n disburse -f KEY TEXT; disburse approve {batch} --text TEXT --signature TEXT.sig"
    ))
}

/// Returns the one name that a key signs for.
fn name_of(in_force: &InForce, key: &SigningKey) -> Result<String, Error> {
    let print = key.public.fingerprint();
    match in_force.names_of(&key.public).as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => Err(Error::refused(format!(
            "the key {print} is not among the allowed signers; {NOTHING}"
        ))
        .hint(
            "approval.allowed_signers has a line for everybody who signs. A line counts only for batches that were \
            loaded after it was added: for an earlier batch, somebody whose key was there then must sign",
        )),
        names => Err(Error::refused(format!(
            "the key {print} is that of several names: {}",
            names.join(", ")
        ))
        .hint("say whose signature it is: --as NAME")),
    }
}

/// Refuses a batch that was loaded for something else.
fn refuse_other_purpose(
    batch: &BatchName,
    standing: &Standing,
    sandbox: bool,
) -> Result<(), Error> {
    use crate::journal::Error as E;
    let batch = batch.clone();
    match standing.purpose.agrees(Purpose::of_command(sandbox)) {
        true => Ok(()),
        false if sandbox => Err(E::NotARehearsal { batch }.into()),
        false => Err(E::OnlyARehearsal { batch }.into()),
    }
}

impl<'a> Desk<'a> {
    /// Sets it up for a batch.
    pub(in crate::cli) fn of(
        session: &'a Session,
        settings: &'a Settings,
        journal: &'a Journal,
        (batch, purpose): (&'a BatchName, Purpose),
    ) -> Result<Self, Error> {
        Ok(Self {
            session,
            settings,
            journal,
            commands: Commands { batch, purpose },
            rule: settings.approval()?,
        })
    }
}

impl Desk<'_> {
    fn batch(&self) -> BatchName {
        self.commands.batch.clone()
    }

    fn refusal(&self, why: &NotSigned) -> Error {
        let (text, hint) = not_signed(self.commands, why);
        Error::refused(format!("{text}; {NOTHING}")).hint(hint)
    }

    async fn rules(&self) -> Result<InForce, Error> {
        let in_force = self.journal.rules(self.batch(), self.rule.clone()).await?;
        match in_force.is_none() {
            true => Err(self.refusal(&NotSigned::NoRule)),
            false => Ok(in_force),
        }
    }

    /// Returns where the batch goes by the configuration: whoever loads it need not know. Nobody approves what a run would refuse.
    async fn target(&self, role: Role) -> Result<Option<Target>, Error> {
        if role == Role::Loads {
            return Ok(None);
        }
        let sandbox = self.settings.is_rehearsal.then_some("");
        let home = gateway::home(self.settings, sandbox)?;
        if sandbox.is_none() {
            let meant = self.journal.is_meant_for(self.batch(), home.clone());
            meant.await?;
        }
        Ok(Some(home.target()))
    }

    async fn statement(
        &self,
        (role, by): (Role, String),
        target: Option<Target>,
    ) -> Result<Statement, Error> {
        let now = Timestamp::now();
        let statement = self
            .journal
            .statement(self.batch(), (role, by), target, now)
            .await?;
        match statement.figures.unpriced {
            rows if rows > 0 && role == Role::Approves => {
                Err(self.refusal(&NotSigned::AmountsPending(rows)))
            }
            _ => Ok(statement),
        }
    }

    /// Refuses whoever loaded it before they are asked anything; says so where there is nothing to sign any more.
    async fn refuse_early(&self, role: Role, by: &str) -> Result<Option<String>, Error> {
        let batch = self.commands.batch;
        let found = self.approvals().await?;
        let is_in = |names: &[String]| names.iter().any(|name| name == by);
        let before = match role {
            Role::Loads => !found.unsigned && is_in(&found.loaded_by),
            Role::Approves => is_in(&found.approved_by),
        };
        if role == Role::Approves && is_in(&found.loaded_by) && found.loaded_by.len() == 1 {
            return Err(self.refusal(&NotSigned::Loader(by.to_owned())));
        }
        Ok(before.then(|| {
            format!(
                "{by} has signed for batch {batch} already, and nothing was added to it since; nothing was signed now"
            )
        }))
    }

    async fn approvals(&self) -> Result<Approvals, Error> {
        let found = self
            .journal
            .approvals(self.batch(), self.rule.clone(), None)
            .await?;
        Ok(found)
    }

    /// Shows what would be paid.
    async fn show(&self, statement: &Statement, standing: &Standing) -> Result<(), Error> {
        if self.session.common.json {
            return Ok(());
        }
        let Act::Approves { loaded_by, target } = &statement.act else {
            return Ok(());
        };
        let batch = self.commands.batch;
        let rows = standing
            .rows
            .iter()
            .filter(|row| row.state == State::Ready && row.tally.count > 0);
        let rows = rows.map(|row| {
            vec![
                row.service.as_str().to_owned(),
                row.currency.code().to_owned(),
                output::grouped(&row.tally.count.to_string()),
                output::grouped(&row.tally.amounts.decimals()[row.currency.code()]),
            ]
        });
        let header = ["service", "currency", "to be paid", "amount"];
        output::print(&output::table(&header, rows.collect(), &[2, 3]));
        let figures = &statement.figures;
        output::line(&format!(
            "batch {batch}{}: {} of {}, paid and cancelled ones included",
            rehearsed(self.commands.purpose),
            output::counted(figures.count, "payment"),
            output::amounts(&figures.totals)
        ));
        output::line(&format!(
            "gateway {}, account {}, replies read as {}",
            target.gateway, target.account, target.reading
        ));
        output::line(&match loaded_by.as_slice() {
            [] => "loaded by: its loader has not signed".to_owned(),
            names => format!("loaded by: {}", names.join(", ")),
        });
        let review = Reader::open(self.journal.location())?
            .snapshot(batch)?
            .review()?;
        if !review.largest.is_empty() {
            output::line("the largest payments:");
        }
        for payment in &review.largest {
            output::line(&format!(
                "  {} {} to {} by {}, line {}{}",
                payment.money.currency,
                output::grouped(&payment.money.to_string()),
                masked(&payment.recipient),
                payment.service,
                payment.line,
                match payment.reference.as_str() {
                    "" => String::new(),
                    reference => format!(", {}", output::name(reference)),
                }
            ));
        }
        output::line(&format!(
            "{} of {} never paid from this journal before",
            output::grouped(&review.never_paid.to_string()),
            output::counted(review.recipients, "recipient"),
        ));
        self.show_notes(standing).await
    }

    /// Prints the text that is signed elsewhere; beside it, what whoever sends it on says is worth a second look.
    async fn print(&self, statement: &Statement) -> Result<ExitStatus, Error> {
        if statement.act.role() == Role::Approves {
            for text in self.second_looks().await? {
                self.session.note(&format!("note: {text}"));
            }
        }
        output::print(&statement.to_text());
        Ok(ExitStatus::Done)
    }

    /// Says where every row is seen, when the batch may leave, and what is worth a second look.
    async fn show_notes(&self, standing: &Standing) -> Result<(), Error> {
        let batch = self.commands.batch;
        output::line(&format!(
            "every row, with who is paid: disburse report {batch} --out DIR"
        ));
        let zone = self.session.zone(self.settings.is_rehearsal);
        if let Some(dates) = dates_text(standing.dates, &zone) {
            output::line(&format!("the batch is {dates}"));
        }
        for text in self.second_looks().await? {
            output::line(&format!("note: {text}"));
        }
        Ok(())
    }

    /// Returns what is worth a second look: rows that were changed, and rows that repeat others.
    async fn second_looks(&self) -> Result<Vec<String>, Error> {
        let batch = self.commands.batch;
        let changed = self.journal.changed(batch.clone()).await?;
        let mut texts = changed_texts(&changed);
        for alike in self.journal.alike(batch.clone()).await? {
            texts.push(repeats::alike_text(&alike));
        }
        Ok(texts)
    }

    /// Lets a person type the total, of every currency; without anybody there, the flag has to name it.
    async fn ask_total(&self, totals: &Totals, given: &[String]) -> Result<(), Error> {
        let mut named = Totals::default();
        let flagged = !given.is_empty();
        if flagged {
            for text in given {
                let (currency, amount) = declared_total(text, self.settings)?;
                named.add_minor(currency, amount.minor().into());
            }
        } else if is_attended() {
            for (currency, _) in totals.iter() {
                let typed = heard(&format!(
                    "Sign for it? Type the total of the whole batch in {currency}: "
                ))
                .await?;
                let typed = typed.trim();
                let typed = typed.strip_prefix(currency.code()).unwrap_or(typed).trim();
                let amount = crate::domain::Amount::parse(&typed.replace(',', ""), currency);
                let amount =
                    amount.map_err(|_| Error::refused(format!("no total was typed; {NOTHING}")))?;
                named.add_minor(currency, amount.minor().into());
            }
        } else {
            return Err(Error::refused(format!(
                "this would sign for {}; {NOTHING}",
                output::amounts(totals)
            ))
            .hint("name the total with --yes-total AMOUNT, once for each currency, to do it without a question"));
        }
        match named == *totals {
            true => Ok(()),
            false => Err(Error::refused(format!(
                "the total of batch {} is {}, and {} was {}; {NOTHING}",
                self.commands.batch,
                output::amounts(totals),
                output::amounts(&named),
                if flagged { "named" } else { "typed" }
            ))
            .hint("look at the batch again: rows may have been added to it, or you mean another batch")),
        }
    }

    async fn record(&self, text: String, signature: String) -> Result<Signed, Error> {
        let claims_approval = text.lines().any(|line| line == "role: approves");
        let role = if claims_approval {
            Role::Approves
        } else {
            Role::Loads
        };
        let order = ToSign {
            text,
            signature,
            rule: self.rule.clone(),
            target: self.target(role).await?,
            now: Timestamp::now(),
        };
        match self.journal.sign(self.batch(), order).await? {
            Ok(signed) => Ok(signed),
            Err(why) => Err(self.refusal(&why)),
        }
    }

    async fn conclude(&self, signed: &Signed) -> Result<ExitStatus, Error> {
        let batch = self.commands.batch;
        let approvals = self.approvals().await?;
        if self.session.common.json {
            output::json(&json!({
                "batch": batch.as_str(),
                "role": signed.role.name(),
                "by": signed.by,
                "key": signed.fingerprint,
                "recorded": !signed.before,
                "whole": approvals.whole,
            }));
            return Ok(ExitStatus::Done);
        }
        let before = if signed.before {
            ", as recorded before"
        } else {
            ""
        };
        output::line(&format!(
            "signed{before}: {} {} batch {batch} ({})",
            signed.by,
            signed.role.name(),
            signed.fingerprint
        ));
        self.session.note(&next_text(self.session, batch)?);
        Ok(ExitStatus::Done)
    }

    /// Signs a load that was just made, where its rule asks for it. What is loaded stays so whatever becomes of the signature.
    pub(in crate::cli) async fn sign_load(
        &self,
        key: Option<PathBuf>,
        sign_as: Option<String>,
    ) -> Result<(), Error> {
        let batch = self.commands.batch;
        let approvals = self.approvals().await?;
        if !approvals.in_force {
            return Ok(());
        }
        let key = key.or_else(|| self.settings.signing_key().map(PathBuf::from));
        if let Some(key) = key.filter(|_| approvals.unsigned || approvals.loaded_by.is_empty()) {
            let signed = self.sign_as_loader(&key, sign_as).await;
            let signed = signed.map_err(|error| {
                error.hint(format!(
                    "the rows are loaded, and wait for the signature: disburse approve {batch} --as-loader{}",
                    crate::cli::session::sandbox_flag(self.commands.purpose)
                ))
            })?;
            self.session.note(&format!(
                "signed: {} loads batch {batch} ({})",
                signed.by, signed.fingerprint
            ));
        }
        Ok(())
    }

    async fn sign_as_loader(&self, key: &Path, sign_as: Option<String>) -> Result<Signed, Error> {
        let key = SigningKey::open(key)?;
        let by = match sign_as {
            Some(name) => name,
            None => name_of(&self.rules().await?, &key)?,
        };
        let statement = self.statement((Role::Loads, by), None).await?;
        let text = statement.to_text();
        let signature = key.sign(&text, ELSEWHERE)?;
        self.record(text, signature).await
    }
}
