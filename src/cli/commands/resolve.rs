//! `resolve`: an operator's decision about one payment.

use super::sandbox;
use crate::cli::Error;
use crate::cli::arguments::ResolveArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::named::{self, Meant};
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name, needed_payment};
use crate::cli::terminal::ask::{confirmed, confirmed_or};
use crate::cli::terminal::output;
use crate::domain::{BatchName, GatewayTransactionId, Timestamp};
use crate::gateway::{Gateway, HttpGateway, Inquiry, Outcome, Signal, StopReason};
use crate::journal::{Answered, Decision, Finding, Journal, Looked, Seen, Transition};
use crate::ledger::decisions::{Asked, Heard, Refusal, is_asked_first};
use crate::lifecycle::{Event, Policy, State, StepContext};
use crate::report::StateName;
use crate::sandbox::Sandbox;

/// The seed that a run takes when none is named; without faults, nothing hangs on it.
const SEED: u64 = 2026;

pub(super) fn moment() -> StepContext {
    StepContext {
        now: Timestamp::now(),
        jitter: 0,
    }
}

/// `disburse resolve`.
pub(in crate::cli) async fn resolve(
    session: &Session,
    arguments: ResolveArguments,
) -> Result<ExitStatus, Error> {
    for (flag, text) in [
        ("--reason", &arguments.reason),
        ("--evidence", &arguments.evidence),
    ] {
        if text.trim().is_empty() {
            return Err(Error::refused(format!("{flag} is empty"))
                .hint("the decision is kept for ever: say what it rests on"));
        }
    }
    let journal = session.journal()?;
    let batch = batch_name(&arguments.batch)?;
    let meant = named::find(session, &batch, &needed_payment(arguments.name)?)?;
    meant.expect_one_to_decide()?;
    let looked = journal.look(batch.clone(), meant.name()).await?;
    let purpose = journal.standing(batch.clone()).await?.purpose;
    let signing = OrderSigning::of(session, &journal, purpose, &arguments.signing)?;
    let signing = signing.because(Some(&format!(
        "{}; {}",
        arguments.reason, arguments.evidence
    )));
    let order = Order {
        session,
        signing: &signing,
        journal: &journal,
        batch: &batch,
        meant: &meant,
        looked: &looked,
        decision: Decision {
            paid: arguments.paid,
            reason: arguments.reason,
            evidence: arguments.evidence,
        },
        although: arguments.although_accepted,
        yes: arguments.yes || arguments.signing.print,
        sandbox: arguments.sandbox,
    };
    match arguments.paid {
        true => order.paid().await,
        false => order.failed(arguments.sandbox).await,
    }
}

pub(super) struct Order<'a> {
    pub(super) session: &'a Session,
    pub(super) signing: &'a OrderSigning<'a>,
    pub(super) journal: &'a Journal,
    pub(super) batch: &'a BatchName,
    pub(super) meant: &'a Meant,
    pub(super) looked: &'a Looked,
    pub(super) decision: Decision,
    pub(super) although: bool,
    pub(super) yes: bool,
    pub(super) sandbox: bool,
}

/// What is recorded of an order that the gateway made needless, or proved wrong.
const CONFIRMED: &str = "resolve --failed, which the gateway says itself";
const CONTRADICTED: &str = "resolve --failed, which the gateway contradicted";

/// What is so when a decision is not confirmed for which the gateway was asked.
pub(super) const UNDECIDED: &str =
    "no decision was recorded; what the gateway has answered is in the journal";

/// What the gateway said, for the rule and for a person.
pub(super) struct Word {
    pub(super) heard: Heard,
    pub(super) text: String,
    /// What is known with it.
    pub(super) seen: Seen,
    learned: bool,
    moved: Option<Transition>,
}

/// What came of the question.
pub(super) enum Spoken {
    /// The gateway itself says that it failed; how it moved, and why.
    Failed(Transition, String),
    /// A decision is still needed.
    Word(Word),
}

impl Order<'_> {
    /// Names the payment, its amount and its recipient: an identifier alone is easily that of another one.
    fn payment(&self) -> String {
        format!("payment {}, {}", self.meant.text(), self.meant.pays())
    }

    async fn paid(self) -> Result<ExitStatus, Error> {
        let what = format!(
            "record {} as paid, on your word alone: nothing is posted, the gateway is not asked, its row counts as \
            paid, and it is never paid again",
            self.payment()
        );
        // What its state does not allow is refused below, in its own words.
        if self.is_asked_first() || self.looked.life.state == State::Posting {
            confirmed(self.yes, &what).await?;
        }
        let given = self.signing.give(async |journal| {
            let (seq, seen, decision) = (self.looked.seq, self.looked.seen, self.decision.clone());
            journal.decide_paid(seq, seen, decision, moment()).await
        });
        match given.await? {
            Given::Done(decided) => self.conclude(decided, "", &Policy::default()),
            Given::Not(status) => Ok(status),
        }
    }

    /// Returns whether it may have been paid, so that there is something to ask, and to decide.
    pub(super) fn is_asked_first(&self) -> bool {
        is_asked_first(&self.looked.life) || self.looked.is_open
    }

    async fn failed(self, sandbox: bool) -> Result<ExitStatus, Error> {
        if !self.is_asked_first() {
            // Nothing has left: the lifecycle says why there is nothing to decide.
            let policy = Policy::default();
            let (seen, heard) = (self.looked.seen, None);
            return match self.decide(seen, heard, &policy).await? {
                Given::Done(moved) => self.conclude(moved, "its post", &policy),
                Given::Not(status) => Ok(status),
            };
        }
        let policy = self.policy(sandbox)?;
        let word = match self.hear(sandbox, &policy).await? {
            Spoken::Word(word) => word,
            Spoken::Failed(moved, why) => {
                self.tell(&moved, &why);
                return Ok(ExitStatus::Done);
            }
        };
        self.judge(&word, &policy).await?;
        let what = format!(
            "record {} as failed, on your word; the gateway: {}. `disburse retry` may then pay the row anew",
            self.payment(),
            word.text
        );
        let nothing = match word.moved {
            Some(_) => UNDECIDED,
            None => "nothing was changed",
        };
        confirmed_or(self.yes, &what, nothing).await?;
        match self.decide(word.seen, Some(word.heard), &policy).await? {
            Given::Done(decided) => self.conclude(decided, &word.text, &policy),
            Given::Not(status) => Ok(status),
        }
    }

    pub(super) fn policy(&self, sandbox: bool) -> Result<Policy, Error> {
        let settings = self.session.settings(sandbox, Vec::new())?;
        let policy = gateway::policy(&settings, settings.profile.callback.public_url.is_some());
        Ok(Policy::clone(&policy))
    }

    /// Asks the gateway, where it can be asked, and records what it says: that it failed, or was paid, is an end of its own.
    pub(super) async fn hear(&self, sandbox: bool, policy: &Policy) -> Result<Spoken, Error> {
        let word = match policy.status_query {
            false => Word {
                heard: Heard::CannotBeAsked,
                text: "it has no status query (resolution.status_query = false)".to_owned(),
                seen: self.looked.seen,
                learned: false,
                moved: None,
            },
            true => {
                let mut settings = self.session.settings(sandbox, Vec::new())?;
                self.ask(&mut settings, sandbox, policy).await?
            }
        };
        let ended = |moved: &Transition| {
            moved.life.state == State::Failed
                && (!self.looked.is_open || word.heard == Heard::Failed)
        };
        if let Some(moved) = word.moved.filter(ended) {
            self.record(CONFIRMED).await?;
            let why = format!(
                ": the gateway itself says so ({}), no decision was needed",
                word.text
            );
            return Ok(Spoken::Failed(moved, why));
        }
        if let Some(moved) = word.moved.filter(|_| word.heard == Heard::Paid) {
            self.record(CONTRADICTED).await?;
            return Err(self.is_paid(&word.text, moved.life.state));
        }
        Ok(Spoken::Word(word))
    }

    /// Records who asked, where the gateway's own word has ended the payment.
    async fn record(&self, act: &'static str) -> Result<(), Error> {
        let recorded = self
            .journal
            .record_order(self.looked.seq, act, Timestamp::now());
        Ok(recorded.await?)
    }

    async fn decide(
        &self,
        seen: Seen,
        heard: Option<Heard>,
        policy: &Policy,
    ) -> Result<Given<Result<Transition, Refusal>>, Error> {
        let asked = Asked {
            heard,
            learned: false,
            said_paid: false,
            shown_paid: false,
            although: self.although,
        };
        let given = self.signing.give(async |journal| {
            let (seq, decision) = (self.looked.seq, self.decision.clone());
            let policy = policy.clone();
            journal
                .decide_failed(seq, seen, asked, decision, moment(), policy)
                .await
        });
        given.await
    }

    fn conclude(
        &self,
        decided: Result<Transition, Refusal>,
        said: &str,
        policy: &Policy,
    ) -> Result<ExitStatus, Error> {
        match decided {
            Ok(moved) => {
                self.tell(&moved, "");
                Ok(ExitStatus::Done)
            }
            Err(refusal) => Err(self.refused(refusal, said, policy)),
        }
    }

    /// Says before the person is asked what would be refused afterwards.
    pub(super) async fn judge(&self, word: &Word, policy: &Policy) -> Result<(), Error> {
        let asked = Asked {
            heard: Some(word.heard),
            learned: word.learned,
            said_paid: false,
            shown_paid: false,
            although: self.although,
        };
        let (seq, now) = (self.looked.seq, Timestamp::now());
        let judged = self
            .journal
            .may_fail(seq, word.seen, asked, now, policy.clone())
            .await?;
        judged.map_err(|refusal| self.refused(refusal, &word.text, policy))
    }

    pub(super) fn tell(&self, moved: &Transition, why: &str) {
        let (from, to) = (moved.from.name(), moved.life.state.name());
        if self.session.common.json {
            let mut value = self.meant.to_json();
            value["from"] = from.into();
            value["to"] = to.into();
            output::json(&value);
        } else {
            let (from, to) = (StateName::words_of(from), StateName::words_of(to));
            let (payment, pays) = (self.meant.text(), self.meant.pays());
            output::line(&format!("{payment}, {pays}: {from} -> {to}{why}"));
        }
    }
}

impl Order<'_> {
    /// Asks the gateway what became of the payment, and records what it says.
    async fn ask(
        &self,
        settings: &mut Settings,
        with_sandbox: bool,
        policy: &Policy,
    ) -> Result<Word, Error> {
        let pinned = self.looked.gateway.as_deref();
        let is_rehearsal = pinned.is_some_and(|gateway| gateway.starts_with("sandbox "));
        let batch = self.batch;
        match (with_sandbox, is_rehearsal) {
            (false, true) => {
                return Err(Error::refused(format!(
                    "batch {batch} was run against the sandbox, and the sandbox must be asked first; nothing was \
                    changed"
                ))
                .hint("add --sandbox: the sandbox is then started and asked"));
            }
            (true, false) if pinned.is_some() => {
                return Err(Error::refused(format!(
                    "batch {batch} was run against a gateway, and the gateway must be asked first; nothing was changed"
                ))
                .hint("leave --sandbox out"));
            }
            _ => {}
        }
        let beside = match with_sandbox {
            true => Some(sandbox::beside(self.journal.location(), settings, SEED, "none").await?),
            false => None,
        };
        let word = self.ask_of(settings, beside.as_ref(), policy).await;
        if let Some(beside) = beside {
            beside.shutdown().await;
        }
        word
    }

    async fn ask_of(
        &self,
        settings: &Settings,
        beside: Option<&Sandbox>,
        policy: &Policy,
    ) -> Result<Word, Error> {
        let mut profile = gateway::profile(settings)?;
        // What one gateway says, or another account of it, must not decide what this one may have executed.
        let home = gateway::home(settings, beside.map(Sandbox::identity))?;
        let pinned = self
            .journal
            .pin(self.batch.clone(), home.clone(), Timestamp::now())
            .await;
        if let Err(error) = pinned {
            return self.unaskable(error, &home, &settings.known_profiles).await;
        }
        // As a run reads them.
        let probe = self.journal.duplicate_probe(home).await?;
        profile.duplicate_check_proven |= gateway::words_count(settings, probe.as_ref());
        let client = HttpGateway::new(profile)
            .map_err(|error| Error::refused(format!("gateway: {error}")))?;
        let inquiry = Inquiry {
            id: self.looked.id,
            gateway_transaction_id: self
                .looked
                .gateway_transaction_id
                .as_deref()
                .and_then(|id| GatewayTransactionId::parse(id).ok()),
            country: Some(self.looked.country),
        };
        self.session
            .note(&format!("asking the gateway about {}", self.meant.text()));
        let reply = client.query(&[inquiry]).await;
        let outcome = reply.outcomes.into_iter().next();
        let Outcome { event, said } = outcome.unwrap_or_else(|| Outcome {
            event: Event::NoAnswer,
            said: crate::domain::ResponseDetails::default(),
        });
        let mut text = match event {
            Event::Answer(verdict) if said.description.is_empty() => verdict.code.to_string(),
            Event::Answer(verdict) => format!("{}, {}", verdict.code, said.description),
            _ => silence(reply.signal, &said.cause),
        };
        let finding = Finding {
            seq: self.looked.seq,
            event,
            said,
            asked: None,
        };
        let Answered {
            moved,
            heard,
            other,
            learned,
            seen,
        } = self
            .journal
            .hear(self.looked.seen, finding, moment(), policy.clone())
            .await?;
        if other {
            text.push_str(", of another amount, currency or number than ours");
        }
        Ok(Word {
            heard,
            text,
            seen,
            learned,
            moved: Some(moved),
        })
    }

    /// Another account or gateway knows nothing of the payment. Where a payment of the batch can show that it is the same one under
    /// another name, that comes first; where none can, nobody can be asked.
    async fn unaskable(
        &self,
        error: crate::journal::Error,
        home: &crate::journal::Home,
        known: &[String],
    ) -> Result<Word, Error> {
        use crate::journal::Error as E;
        let (what, pinned, configured) = match &error {
            E::OtherAccount {
                pinned, configured, ..
            } => ("account", pinned, configured),
            E::OtherGateway {
                pinned, configured, ..
            } if !pinned.starts_with("sandbox ") => ("gateway", pinned, configured),
            _ => return Err(error.into()),
        };
        // Whoever has chosen another profile than the batch goes by can ask: with that one.
        let meant = self.journal.destination(self.batch.clone()).await?;
        let other = meant
            .map(|meant| meant.profile)
            .filter(|profile| *profile != home.profile && known.contains(profile));
        if let Some(profile) = other {
            return Err(Error::refused(format!(
                "{error}. The batch is that of profile {}",
                output::name(&profile)
            ))
            .hint(format!(
                "give the same command with --profile {}: the gateway is asked there, and whether it answers counts",
                output::quoted(&profile)
            )));
        }
        let witnesses = self.journal.witnesses(self.batch.clone(), 1).await?;
        if !witnesses.is_empty() {
            return Err(error.into());
        }
        Ok(Word {
            heard: Heard::CannotBeAsked,
            text: format!(
                "the batch belongs to {what} {pinned}, but {configured} is configured, and no payment can show that \
                the two are the same"
            ),
            seen: self.looked.seen,
            learned: false,
            moved: None,
        })
    }

    fn is_paid(&self, said: &str, state: State) -> Error {
        let (payment, batch, id) = (self.payment(), self.batch, self.meant.id);
        let what = format!(
            "{payment}: the gateway says that it is paid ({said}); it is not recorded as failed"
        );
        let hint = match state {
            State::Paid => format!(
                "this answer has made it paid, and there is nothing to resolve: disburse explain \
                {batch} {id}"
            ),
            _ => format!(
                "disburse explain {batch} {id} shows what contradicts that; if it was paid, resolve it with --paid"
            ),
        };
        Error::refused(what).hint(hint)
    }

    /// Returns from when on it may be recorded, in the zone of whoever reads it.
    fn told_time(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::TooEarlyForNotFound(from) | Refusal::TooEarly(_, from) => {
                self.session.zone(self.sandbox).format_named(*from)
            }
            _ => String::new(),
        }
    }

    /// Says why a payment is not recorded as failed, and what to do.
    pub(super) fn refused(&self, refusal: Refusal, said: &str, policy: &Policy) -> Error {
        let payment = self.payment();
        let (batch, id) = (self.batch, self.meant.text());
        let run = format!(
            "disburse run {batch}{}",
            if self.sandbox { " --sandbox" } else { "" }
        );
        let from = self.told_time(&refusal);
        match refusal {
            Refusal::IsPaid => self.is_paid(said, self.looked.life.state),
            Refusal::LearnedMeanwhile => Error::refused(format!(
                "{payment}: something new was learned about it while the question was open; it is not recorded as {}",
                if self.decision.paid { "paid" } else { "failed" }
            ))
            .hint(format!(
                "disburse explain {batch} {} shows it; if your decision is still the same, repeat this command",
                self.meant.id
            )),
            Refusal::TooEarlyForNotFound(_) => Error::refused(format!(
                "{payment}: the gateway does not know it yet ({said}), which proves nothing before {from}; it is not recorded as failed"
            ))
            .hint(format!(
                "repeat this command after {from} (resolution.not_found_quarantine), or let `{run}` find out"
            )),
            Refusal::TooEarly(heard, _) => Error::refused(format!(
                "{payment}: {}; before {from} it is not recorded as failed",
                why(heard, said)
            ))
            .hint(format!(
                "{}; if it is still open after {from} ({}), ask the gateway's people, then add --although-accepted",
                remedy(heard, &run, policy),
                match self.looked.life.state == State::Delivered || heard == Heard::Delivered {
                    true => "resolution.delivered_give_up_after",
                    false => "resolution.give_up_after",
                }
            )),
            Refusal::WasSaidToBePaid(_) => Error::refused(format!(
                "{payment}: the gateway, a genuine callback or a statement said before that it is paid, and the answer now is: \
                {said}; it is not recorded as failed"
            ))
            .hint(format!(
                "disburse explain {batch} {} shows what was said, by statements, too. Ask the bank or the gateway's people: if it was paid, \
                 resolve it with --paid; if they say that it never was, add --although-accepted to --failed",
                self.meant.id
            )),
            Refusal::TakesASecondWord(Heard::Strangers) => Error::refused(format!(
                "{payment}: the gateway's answer ({said}) is about an earlier payment with this identifier; it refused ours; it is not recorded as failed"
            ))
            .hint(
                "ask the gateway's people who made that payment, and to whom. If it paid this row (from a journal that \
                 was lost, or another one), resolve it with --paid. If it did not, add --although-accepted to record \
                 that our payment failed; then load the row under another reference to pay it"
            ),
            Refusal::TakesASecondWord(heard) => Error::refused(format!(
                "{payment}: {}; it is not recorded as failed",
                why(heard, said)
            ))
            .hint(format!(
                "{}; if the bank or the gateway's people say that {id} will never be paid, add --although-accepted{}",
                remedy(heard, &run, policy),
                match policy.status_query {
                    true => "",
                    false => ": if they are wrong, it may be paid twice",
                }
            )),
        }
    }
}

fn why(heard: Heard, said: &str) -> String {
    match heard {
        Heard::Acknowledged => format!("the gateway has it ({said}) and may still pay it"),
        Heard::Delivered => format!("it is at the bank ({said}) and may still be paid"),
        Heard::NotFound => {
            format!(
                "the gateway had it before, does not find it now ({said}), and may still pay it"
            )
        }
        Heard::CannotBeAsked => {
            format!("the gateway cannot be asked: {said}; it may have been paid")
        }
        Heard::Nothing | Heard::Paid | Heard::Failed | Heard::Strangers => {
            format!("the gateway gave no usable answer ({said}); it may have been paid")
        }
    }
}

fn remedy(heard: Heard, run: &str, policy: &Policy) -> String {
    match heard {
        // Another account or gateway is configured.
        Heard::CannotBeAsked if policy.status_query => {
            "repeat this command with the user name and the address of that account in the configuration: then the \
            gateway is asked".to_owned()
        }
        Heard::CannotBeAsked => {
            "wait for its callback, or set resolution.status_query = true where the gateway has a status query".to_owned()
        }
        Heard::Nothing => "repeat this command when the gateway answers".to_owned(),
        _ => format!("let `{run}` wait for its end"),
    }
}

/// Says in what way the gateway said nothing.
fn silence(signal: Signal, cause: &str) -> String {
    let told = match signal {
        Signal::Unreachable(why) | Signal::Lost(why) => why,
        Signal::SlowDown(_) => "it asks for fewer requests (429)".to_owned(),
        Signal::Stop(StopReason::Credentials(why) | StopReason::Misconfigured(why)) => why,
        Signal::Healthy => String::new(),
    };
    match (cause.is_empty(), told.is_empty()) {
        (false, _) => cause.to_owned(),
        (true, false) => told,
        (true, true) => "it said nothing about this payment".to_owned(),
    }
}
