//! `resolve --from`: many decisions of a person in one file. All are checked before the first is recorded.

use std::collections::BTreeSet;
use std::path::Path;

use super::resolve::{Order, Spoken, UNDECIDED, moment};
use crate::cli::Error;
use crate::cli::arguments::ResolveArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::files::decisions::{self, Faults, Row};
use crate::cli::named::{self, Meant};
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::ask::confirmed_or;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PayerTransactionId, PaymentId, Tally};
use crate::journal::{Decided, Decision, Journal, Looked, Reader, Snapshot};
use crate::ledger::decisions::Asked;
use crate::ledger::lost_digits::as_number;
use crate::ledger::names::By;
use crate::lifecycle::{Policy, State};

/// What is ready to be recorded.
struct Ready {
    meant: Meant,
    looked: Looked,
    decided: Decided,
}

/// `disburse resolve --from`.
pub(in crate::cli) async fn resolve(
    session: &Session,
    arguments: ResolveArguments,
) -> Result<ExitStatus, Error> {
    let path = arguments.from.clone().unwrap_or_default();
    let batch = batch_name(&arguments.batch)?;
    let journal = session.journal()?;
    let mut policy = Policy::default();
    let purpose = journal.standing(batch.clone()).await?.purpose;
    let signing = OrderSigning::of(session, &journal, purpose, &arguments.signing)?;
    let desk = Desk {
        session,
        signing: &signing,
        journal: &journal,
        batch: &batch,
        arguments: &arguments,
    };
    let ready = desk.look_through(&path, &mut policy).await?;
    if ready.is_empty() {
        // The gateway itself has ended all of them.
        return Ok(ExitStatus::Done);
    }
    let nothing = match ready.iter().all(|one| one.decided.decision.paid) {
        true => "nothing was changed",
        false => UNDECIDED,
    };
    let yes = arguments.yes || arguments.signing.print;
    confirmed_or(yes, &what(&ready), nothing).await?;
    let given = signing.give(async |journal| {
        let all = ready.iter().map(|one| one.decided.clone()).collect();
        journal.decide_many(all, moment(), policy.clone()).await
    });
    let moves = match given.await? {
        Given::Done(moves) => moves,
        Given::Not(status) => return Ok(status),
    };
    let moves = moves.map_err(|(seq, _)| {
        let which = ready
            .iter()
            .find(|one| one.looked.seq == seq)
            .map_or_else(String::new, |one| one.meant.text());
        Error::refused(format!(
            "{which}: something new was learned about it in the meantime; nothing of the file was \
            recorded"
        ))
        .hint("run the same command again: every decision is checked again")
    })?;
    for (one, moved) in ready.iter().zip(moves) {
        let (from, to) = (moved.from.in_words(), moved.life.state.in_words());
        if session.common.json {
            let mut value = one.meant.to_json();
            value["from"] = moved.from.name().into();
            value["to"] = moved.life.state.name().into();
            output::json(&value);
        } else {
            output::line(&format!("{}: {from} -> {to}", one.meant.text()));
        }
    }
    Ok(ExitStatus::Done)
}

/// A row, and the payment that it names.
type Named = (Row, Result<Meant, Error>);

/// What every decision of the file is looked at with.
struct Desk<'a> {
    session: &'a Session,
    signing: &'a OrderSigning<'a>,
    journal: &'a Journal,
    batch: &'a BatchName,
    arguments: &'a ResolveArguments,
}

impl Desk<'_> {
    /// Makes all decisions of a file ready; the gateway is asked about the first once everything else is known to be right.
    async fn look_through(&self, path: &Path, policy: &mut Policy) -> Result<Vec<Ready>, Error> {
        let (rows, mut faults) = decisions::read(path)?;
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for (row, meant) in self.all_meant(rows)? {
            match self.find(&row, meant, &mut seen).await {
                Ok((meant, looked)) => found.push((row, meant, looked)),
                Err(error) if error.is_refused() => faults.add(error),
                Err(error) => return Err(error),
            }
        }
        faults.none(path)?;
        let (mut ready, mut faults) = (Vec::new(), Faults::default());
        for (row, meant, looked) in found {
            match self.prepare(&row, meant, looked, policy).await {
                Ok(one) => ready.extend(one),
                Err(error) if error.is_refused() => {
                    if !faults.add_asked(error) {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        faults.none(path)?;
        Ok(ready)
    }

    /// Finds the payment of a row, as far as there is something to decide.
    async fn find(
        &self,
        row: &Row,
        meant: Result<Meant, Error>,
        seen: &mut BTreeSet<PaymentId>,
    ) -> Result<(Meant, Looked), Error> {
        let at = |error: Error| error.at(&row.place);
        let meant = meant.map_err(at)?;
        meant.expect_one_to_decide().map_err(at)?;
        let looked = self.journal.look(self.batch.clone(), meant.name()).await;
        let looked = looked.map_err(|error| at(error.into()))?;
        let name = output::name(&row.name.text);
        if !seen.insert(looked.seq) {
            return Err(at(Error::refused(format!("{name} is decided twice")))
                .hint("leave one line for each payment"));
        }
        if looked.sent_elsewhere && !row.decision.paid {
            return Err(at(Error::refused(format!(
                "{name} was called failed before its batch was sent elsewhere, and this file may be older than that as well; nobody can be asked about it any more"
            )))
            .hint(format!(
                "ask the people of the place where it was posted; then decide it by itself: disburse resolve {} --id {} --failed --although-accepted, or --paid, and take the line out of the file",
                self.batch, looked.id
            )));
        }
        if !self.order(&meant, &looked, &row.decision).is_asked_first() {
            let stands = looked.life.state.in_words();
            return Err(at(Error::refused(format!(
                "{name} is {stands}: there is nothing to decide"
            )))
            .hint(match meant.is_one_of_several() {
                false => "take the line out of the file. If it gives a lost order again that said paid, the gateway has said so by now: count it with --without of disburse recover --orders-given-again".to_owned(),
                true => format!(
                    "if the line is about an earlier payment of this row, which a retry has replaced: name that one by its identifier (disburse \
                     explain {} --id {} shows both), and withdraw the retry if it is not to be paid as well (disburse cancel). Otherwise take \
                     the line out of the file",
                    self.batch, meant.id
                ),
            }));
        }
        Ok((meant, looked))
    }

    /// Finds the payments that rows name, all in one state of the journal.
    fn all_meant(&self, rows: Vec<Row>) -> Result<Vec<Named>, Error> {
        let reader = Reader::open(self.session.location()?)?;
        let snapshot = reader.snapshot(self.batch)?;
        let numbers = rows.iter().filter_map(number_of).collect();
        let alike = snapshot.references_alike(&numbers)?;
        let named = rows.into_iter().map(|row| {
            let several = number_of(&row).and_then(|number| alike.get(&number));
            let meant = match several.filter(|texts| texts.len() > 1) {
                Some(texts) => Err(changed_by_a_spreadsheet(&row, texts)),
                None => meant(&snapshot, &row),
            };
            (row, meant)
        });
        Ok(named.collect())
    }

    fn order<'a>(&'a self, meant: &'a Meant, looked: &'a Looked, decision: &Decision) -> Order<'a> {
        Order {
            session: self.session,
            journal: self.journal,
            batch: self.batch,
            meant,
            looked,
            decision: decision.clone(),
            although: self.arguments.although_accepted,
            yes: self.arguments.yes,
            sandbox: self.arguments.sandbox,
            signing: self.signing,
        }
    }

    /// Makes a decision ready, and asks the gateway where it is to fail; `None`: the gateway itself has ended the payment.
    async fn prepare(
        &self,
        row: &Row,
        meant: Meant,
        looked: Looked,
        policy: &mut Policy,
    ) -> Result<Option<Ready>, Error> {
        let at = |error: Error| error.at(&row.place);
        let sandbox = self.arguments.sandbox;
        let order = self.order(&meant, &looked, &row.decision);
        let mut decided = Decided {
            seq: looked.seq,
            seen: looked.seen,
            asked: Asked {
                heard: None,
                learned: false,
                said_paid: false,
                shown_paid: false,
                although: order.although,
            },
            decision: row.decision.clone(),
        };
        if !row.decision.paid {
            *policy = order.policy(sandbox)?;
            match order.hear(sandbox, policy).await.map_err(at)? {
                Spoken::Failed(moved, why) => {
                    order.tell(&moved, &why);
                    return Ok(None);
                }
                Spoken::Word(word) => {
                    order.judge(&word, policy).await.map_err(at)?;
                    (decided.seen, decided.asked.heard) = (word.seen, Some(word.heard));
                }
            }
        }
        Ok(Some(Ready {
            meant,
            looked,
            decided,
        }))
    }
}

/// Returns the number that a spreadsheet makes of the reference that a row names.
fn number_of(row: &Row) -> Option<String> {
    let is_plain = row.name.by == By::Reference && row.as_written.is_none();
    is_plain.then(|| as_number(&row.name.text)).flatten()
}

fn changed_by_a_spreadsheet(row: &Row, texts: &BTreeSet<String>) -> Error {
    let texts: Vec<String> = texts
        .iter()
        .take(3)
        .map(|text| output::name(text))
        .collect();
    Error::refused(format!(
        "it is not clear which payment is meant: a spreadsheet makes the same number of the references {}, and {} may be any of them",
        texts.join(" and "),
        output::name(&row.name.text)
    ))
    .hint("name the payment by its identifier, in a file of its own with the column identifier")
}

/// Finds the payment that a row names. A cell that spreadsheets are kept from changing may be a reference as it stands, too.
fn meant(snapshot: &Snapshot<'_>, row: &Row) -> Result<Meant, Error> {
    let found = named::find_in(snapshot, &row.name).map_err(|error| {
        let text = &row.name.text;
        match row.name.by {
            By::Identifier if PayerTransactionId::parse(text).is_none() => {
                error.or_hint("if it is a reference: call the column reference")
            }
            _ => error,
        }
    });
    let Some(as_written) = &row.as_written else {
        return found;
    };
    match (found, named::find_in(snapshot, as_written)) {
        (Ok(one), Ok(other)) if one.id != other.id => Err(Error::refused(format!(
            "it is not clear which payment is meant: {} is {} as it stands, and {} without its apostrophe",
            output::name(&as_written.text),
            other.id,
            one.id
        ))
        .hint("name the payment by its identifier, in a file of its own with the column identifier")),
        (Ok(one), _) | (Err(_), Ok(one)) => Ok(one),
        (Err(error), Err(_)) => Err(error),
    }
}

fn what(ready: &[Ready]) -> String {
    let told = |paid: bool| {
        let mut tally = Tally::default();
        for one in ready.iter().filter(|one| one.decided.decision.paid == paid) {
            let money = one.looked.money;
            tally.add_many(1, money.currency, i128::from(money.amount.minor()));
        }
        (tally.count > 0).then(|| {
            let state = if paid { State::Paid } else { State::Failed };
            format!(
                "{}, {}, as {}",
                output::counted(tally.count, "payment"),
                output::amounts(&tally.amounts),
                state.in_words()
            )
        })
    };
    let parts: Vec<String> = [told(true), told(false)].into_iter().flatten().collect();
    format!("record {}, on your word", parts.join(", and "))
}
