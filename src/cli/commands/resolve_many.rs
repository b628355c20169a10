//! `resolve --from`: many decisions of a person in one file. All are checked before the first is recorded.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use super::resolve::{Order, Spoken, moment};
use crate::cli::Error;
use crate::cli::arguments::ResolveArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::files::open::open;
use crate::cli::named::{self, Meant};
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::ask::confirmed;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PaymentId, Tally};
use crate::intake::{Numbered, holds_rows};
use crate::journal::{Decided, Decision, Journal, Looked};
use crate::ledger::decisions::Asked;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::shield::unshielded;
use crate::lifecycle::{Policy, State};

/// Decisions of one file, at most: each is looked at, and shown, before any is recorded.
const ROWS_MAX: usize = 100_000;

struct Row {
    place: String,
    name: PaymentName,
    decision: Decision,
}

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
    let mut ready: Vec<Ready> = Vec::new();
    let mut seen = BTreeSet::new();
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
    for row in rows(&path)? {
        if let Some(one) = desk.prepare(&row, &mut seen, &mut policy).await? {
            ready.push(one);
        }
    }
    confirmed(arguments.yes || arguments.signing.print, &what(&ready)).await?;
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

/// What every decision of the file is looked at with.
struct Desk<'a> {
    session: &'a Session,
    signing: &'a OrderSigning<'a>,
    journal: &'a Journal,
    batch: &'a BatchName,
    arguments: &'a ResolveArguments,
}

impl Desk<'_> {
    /// Looks at one decision, and asks the gateway where it is to fail; `None`: the gateway itself has ended the payment.
    async fn prepare(
        &self,
        row: &Row,
        seen: &mut BTreeSet<PaymentId>,
        policy: &mut Policy,
    ) -> Result<Option<Ready>, Error> {
        let at = |error: Error| error.at(&row.place);
        let meant = named::find(self.session, self.batch, &row.name).map_err(at)?;
        let looked = self.journal.look(self.batch.clone(), meant.name()).await;
        let looked = looked.map_err(|error| at(error.into()))?;
        let name = output::name(&row.name.text);
        if !seen.insert(looked.seq) {
            return Err(at(Error::refused(format!("{name} is decided twice")))
                .hint("leave one line for each payment"));
        }
        let (although, sandbox) = (self.arguments.although_accepted, self.arguments.sandbox);
        let order = Order {
            session: self.session,
            journal: self.journal,
            batch: self.batch,
            meant: &meant,
            looked: &looked,
            decision: row.decision.clone(),
            although,
            yes: self.arguments.yes,
            sandbox,
            signing: self.signing,
        };
        if !order.is_asked_first() {
            let stands = looked.life.state.in_words();
            return Err(at(Error::refused(format!(
                "{name} is {stands}: there is nothing to decide"
            )))
            .hint(format!(
                "if the line is about an earlier payment of this row, which a retry has replaced: name that one by its identifier (disburse \
                 explain {} --id {} shows both), and withdraw the retry if it is not to be paid as well (disburse cancel). Otherwise take \
                 the line out of the file",
                self.batch, meant.id
            )));
        }
        let mut decided = Decided {
            seq: looked.seq,
            seen: looked.seen,
            asked: Asked {
                heard: None,
                learned: false,
                said_paid: false,
                shown_paid: false,
                although,
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

fn rows(path: &Path) -> Result<Vec<Row>, Error> {
    let name = path.display();
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(Numbered::new(open(path)?));
    let headers = match reader.headers() {
        Ok(headers) => headers.clone(),
        Err(error) => return Err(unread(path, &mut reader, &error)),
    };
    let place = |wanted: &str| {
        headers.iter().position(|header| {
            header
                .trim_start_matches('\u{feff}')
                .eq_ignore_ascii_case(wanted)
        })
    };
    let named = place("identifier")
        .map(|at| (at, By::Identifier))
        .or(place("reference").map(|at| (at, By::Reference)));
    let (Some((at, by)), Some(decision), Some(reason), Some(evidence)) =
        (named, place("decision"), place("reason"), place("evidence"))
    else {
        return Err(Error::refused(format!(
            "{name}: a column is missing; found {:?}; nothing was recorded",
            headers.iter().collect::<Vec<_>>()
        ))
        .hint(format!(
            "{COLUMNS}, in its first line, with commas between them"
        )));
    };
    if headers.len() != 4 {
        return Err(Error::refused(format!(
            "{name}: the file has {} columns, expected four; nothing was recorded",
            headers.len()
        ))
        .hint(COLUMNS));
    }
    let places = Places {
        name: at,
        by,
        decision,
        reason,
        evidence,
    };
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => (),
            Ok(false) => break,
            Err(error) => return Err(unread(path, &mut reader, &error)),
        }
        let place = at_line(path, &mut reader, record.position());
        if holds_rows(&record, b',', headers.len(), is_decision) {
            return Err(Error::refused(format!(
                "{place}: a cell holds lines that look like rows; nothing was recorded"
            ))
            .hint("look at the quotes from that line on: one is missing, or stands alone"));
        }
        rows.push(places.row(&record, place)?);
        if rows.len() > ROWS_MAX {
            return Err(Error::refused(format!(
                "{name}: more than {ROWS_MAX} decisions; nothing was recorded"
            ))
            .hint("split the file"));
        }
    }
    match rows.is_empty() {
        true => Err(Error::refused(format!("{name}: no decision is in the file")).hint(COLUMNS)),
        false => Ok(rows),
    }
}

fn is_decision(cell: &str) -> bool {
    ["paid", "failed"]
        .iter()
        .any(|word| cell.eq_ignore_ascii_case(word))
}

/// Returns the file, with the line of a record.
fn at_line<R: Read>(
    path: &Path,
    reader: &mut csv::Reader<Numbered<R>>,
    at: Option<&csv::Position>,
) -> String {
    let line = at.map(|at| reader.get_mut().line_of(at.byte()));
    line.map_or_else(
        || path.display().to_string(),
        |line| format!("{}:{line}", path.display()),
    )
}

fn unread<R: Read>(
    path: &Path,
    reader: &mut csv::Reader<Numbered<R>>,
    error: &csv::Error,
) -> Error {
    let place = at_line(path, reader, error.position());
    let why = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("the row has {len} cells, expected {expected_len}"),
        csv::ErrorKind::Utf8 { .. } => "the row is not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    Error::refused(format!("{place}: {why}; nothing was recorded")).hint(COLUMNS)
}

/// Where the columns stand.
struct Places {
    name: usize,
    by: By,
    decision: usize,
    reason: usize,
    evidence: usize,
}

impl Places {
    fn row(&self, record: &csv::StringRecord, place: String) -> Result<Row, Error> {
        let cell = |at: usize| record.get(at).unwrap_or_default().to_owned();
        let paid = match cell(self.decision).to_ascii_lowercase().as_str() {
            "paid" => true,
            "failed" => false,
            other => {
                return Err(Error::refused(format!(
                    "{place}: decision: expected paid or failed, found {other:?}; nothing was recorded"
                ))
                .hint(COLUMNS));
            }
        };
        let needed = [
            ("identifier or reference", self.name),
            ("reason", self.reason),
            ("evidence", self.evidence),
        ];
        for (what, at) in needed {
            if cell(at).is_empty() {
                return Err(Error::refused(format!(
                    "{place}: {what} is empty; nothing was recorded"
                ))
                .hint(
                    "each decision is kept for ever: say which payment, why, and what it rests on",
                ));
            }
        }
        Ok(Row {
            place,
            name: PaymentName {
                text: unshielded(record.get(self.name).unwrap_or_default()).to_owned(),
                by: self.by,
            },
            decision: Decision {
                paid,
                reason: cell(self.reason),
                evidence: cell(self.evidence),
            },
        })
    }
}

const COLUMNS: &str =
    "a CSV with the columns identifier (or reference), decision (paid or failed), reason, evidence";
