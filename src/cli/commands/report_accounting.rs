//! `report --accounting` and `report --camt054`: what the payments of a batch are in the books.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::Error;
use crate::cli::files::own_file::{self, Staged, unwritable};
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::{Amount, BatchName, Currency, Day, Money, Tally, Timestamp, Totals, WireZone};
use crate::journal::{BatchRecord, PaidPayment, Reader, Snapshot};
use crate::ledger::Purpose;
use crate::ledger::reconciliation::Period;
use crate::report::accounting::{Booked, Chart, Journal, Notification, Summary};

/// Which file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Form {
    /// Lines with a debit and a credit.
    Journal,
    /// A camt.054.
    Camt054,
}

impl Form {
    fn flag(self) -> &'static str {
        match self {
            Self::Journal => "--accounting",
            Self::Camt054 => "--camt054",
        }
    }
}

/// What was written.
pub(in crate::cli) struct Told {
    file: String,
    form: Form,
    paid: Tally,
    charges: Totals,
    /// Statements whose charges are not in the file.
    left_out: Vec<String>,
    /// Statements show payments otherwise than they stand here.
    is_disputed: bool,
    open: u64,
}

impl Told {
    pub(in crate::cli) fn to_text(&self) -> String {
        let charges = match self.charges.decimals().is_empty() {
            true => String::new(),
            false => format!(", charges of {}", output::amounts(&self.charges)),
        };
        let open = match self.open {
            0 => String::new(),
            open => format!(
                "\n  {} of the batch have no end yet, and are not in this file: write it again when they have ended; \
                the entry of each payment keeps its name",
                output::counted(open, "payment")
            ),
        };
        let mut behind = open;
        for left_out in &self.left_out {
            behind.push_str(&format!("\n  {left_out}"));
        }
        if self.is_disputed {
            behind.push_str(
                "\n  statements show some payments otherwise than they are booked here (disburse status names them): what left twice, or \
                 in another amount, is not in this file",
            );
        }
        format!(
            "{}: {}, {}{charges}{behind}",
            self.file,
            output::counted(self.paid.count, "payment"),
            output::amounts(&self.paid.amounts)
        )
    }

    pub(in crate::cli) fn to_json(&self) -> serde_json::Value {
        let key = self.form.flag().trim_start_matches('-');
        serde_json::json!({
            key: self.file,
            "payments": self.paid.count,
            "amounts": self.paid.amounts.decimals(),
            "charges": self.charges.decimals(),
            "charges_left_out": self.left_out,
            "open": self.open,
        })
    }
}

/// Writes one of the files.
pub(in crate::cli) fn write(
    session: &Session,
    batch: &BatchName,
    file: &Path,
    form: Form,
) -> Result<Told, Error> {
    let reader = Reader::open(session.location()?)?;
    // One moment of the journal: both files tell the same payments.
    let snapshot = reader.snapshot(batch)?;
    let (standing, record) = (snapshot.standing()?, snapshot.record()?);
    if standing.purpose == Purpose::Rehearsal {
        return Err(Error::refused(format!(
            "batch {batch} is a rehearsal: no money moved, and there is nothing to book"
        ))
        .hint("disburse report without this flag shows the rehearsal"));
    }
    let chart = session
        .settings(false, Vec::new())
        .ok()
        .and_then(|settings| settings.accounting);
    let books = Books {
        snapshot: &snapshot,
        record: &record,
        zone: session.zone(false),
        file,
    };
    let (paid, charges, left_out) = match form {
        Form::Journal => books.journal(&chart.ok_or_else(no_chart)?)?,
        Form::Camt054 => (
            books.camt054(chart.as_ref())?,
            Totals::default(),
            Vec::new(),
        ),
    };
    let open = standing
        .rows
        .iter()
        .filter(|row| !row.state.is_finished())
        .map(|row| row.tally.count)
        .sum();
    Ok(Told {
        file: output::name(&file.display().to_string()),
        form,
        paid,
        charges,
        left_out,
        is_disputed: !snapshot.discrepancies()?.is_empty(),
        open,
    })
}

fn no_chart() -> Error {
    Error::refused("--accounting: the configuration has no accounts to book to").hint(
        "write [accounting] into disburse.toml, with debit = \"ACCOUNT\" (what was paid for) and credit = \"ACCOUNT\" (what the gateway is paid from)",
    )
}

struct Books<'a> {
    snapshot: &'a Snapshot<'a>,
    record: &'a BatchRecord,
    zone: WireZone,
    file: &'a Path,
}

impl Books<'_> {
    fn journal(&self, chart: &Chart) -> Result<(Tally, Totals, Vec<String>), Error> {
        let flag = Form::Journal.flag();
        let failed = |error: std::io::Error| unwritable(self.file, flag, &error);
        let (mut paid, mut charged) = (Tally::default(), Totals::default());
        let mut left_out = Vec::new();
        own_file::write(self.file, flag, |staged: Staged| {
            let (batch, originator) = (self.record.name.as_str(), self.record.originator.as_str());
            let mut journal =
                Journal::create(staged, chart, (batch, originator)).map_err(failed)?;
            self.snapshot.each_paid(|payment| {
                let booked = booked(payment, chart.debit_of(service(payment)), &self.zone);
                journal.add(&booked).map_err(failed)?;
                paid.add(booked.money);
                Ok::<_, Error>(())
            })?;
            if let Some(account) = &chart.fees {
                let charges;
                (charges, left_out) = self.charges()?;
                for charge in charges {
                    journal.add(&charge.booked(account)).map_err(failed)?;
                    charged.add(charge.money);
                }
            }
            let (output, _) = journal.finish().map_err(failed)?;
            Ok(output)
        })?;
        Ok((paid, charged, left_out))
    }

    fn camt054(&self, chart: Option<&Chart>) -> Result<Tally, Error> {
        let flag = Form::Camt054.flag();
        let failed = |error: std::io::Error| unwritable(self.file, flag, &error);
        let mut paid: BTreeMap<&'static str, (Currency, Tally)> = BTreeMap::new();
        let mut all = Tally::default();
        self.snapshot.each_paid(|payment| {
            let money = payment.payment.instruction.money;
            let code = money.currency.code();
            let (_, tally) = paid
                .entry(code)
                .or_insert((money.currency, Tally::default()));
            tally.add(money);
            all.add(money);
            Ok::<_, Error>(())
        })?;
        let account = chart.map_or(
            self.record.account.as_deref().unwrap_or_default(),
            |chart| chart.credit.as_str(),
        );
        own_file::write(self.file, flag, |staged: Staged| {
            // The same payments have the same name.
            let mut name = self.snapshot.standing()?.evidence.hex();
            name.truncate(24);
            let mut message =
                Notification::create(staged, &name, Timestamp::now(), self.zone.clone())
                    .map_err(failed)?;
            for (currency, tally) in paid.values() {
                let sums = tally.amounts.decimals();
                let sum = sums.get(currency.code()).map_or("0", String::as_str);
                let (count, currency) = (tally.count, *currency);
                let summary = Summary {
                    account,
                    currency,
                    count,
                    sum,
                };
                message.begin(&summary).map_err(failed)?;
                self.snapshot.each_paid(|payment| {
                    if payment.payment.instruction.money.currency == currency {
                        let booked = booked(payment, "", &self.zone);
                        message.add(&booked, payment.paid_at).map_err(failed)?;
                    }
                    Ok::<_, Error>(())
                })?;
            }
            message.finish().map_err(failed)
        })?;
        Ok(all)
    }

    /// Returns what statements told of charges, each statement once however often it was compared; and which are left out. Two that
    /// show the same days may show the same charges: the one that was compared first has them, then and later.
    fn charges(&self) -> Result<(Vec<Charge>, Vec<String>), Error> {
        let mut told = BTreeSet::new();
        let mut charges = Vec::new();
        let (mut shown, mut left_out) = (Vec::<ShownDays>::new(), Vec::new());
        for record in self.snapshot.reconciliations()? {
            let text = |name: &str| record.summary[name].as_str().unwrap_or_default().to_owned();
            let digest = text("digest");
            if !told.insert(digest.clone()) {
                continue;
            }
            let fees = record.summary["fees"].as_object();
            if fees.is_none_or(serde_json::Map::is_empty) {
                continue;
            }
            let days = ShownDays::of(&record.summary);
            if let Some(other) = shown.iter().find(|other| other.overlaps(&days)) {
                left_out.push(format!(
                    "charges of the statement {} are not in this file, because {} shows some of its days: book by hand what that one lacks",
                    output::name(&days.statement),
                    output::name(&other.statement)
                ));
                continue;
            }
            shown.push(days);
            for (code, digits) in fees.into_iter().flatten() {
                let currency = Currency::from_code(code);
                let amount = currency.and_then(|currency| {
                    Amount::parse(digits.as_str().unwrap_or_default(), currency).ok()
                });
                if let (Some(currency), Some(amount)) = (currency, amount) {
                    charges.push(Charge {
                        day: Day::of(record.at, &self.zone),
                        entry: digest.chars().take(16).collect(),
                        text: format!("charges of statement {}", text("statement")),
                        money: Money { amount, currency },
                    });
                }
            }
        }
        Ok((charges, left_out))
    }
}

/// Which days of which account a statement shows.
struct ShownDays {
    statement: String,
    account: Option<String>,
    period: Option<Period>,
}

impl ShownDays {
    fn of(summary: &serde_json::Value) -> Self {
        let text = |name: &str| summary[name].as_str();
        let day = |name: &str| text(name).and_then(Day::parse);
        Self {
            statement: text("statement").unwrap_or_default().to_owned(),
            account: text("account").map(str::to_owned),
            period: day("from")
                .zip(day("to"))
                .map(|(from, to)| Period { from, to }),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_other_account =
            matches!((&self.account, &other.account), (Some(a), Some(b)) if a != b);
        !is_other_account
            && self
                .period
                .zip(other.period)
                .is_some_and(|(a, b)| a.overlaps(&b))
    }
}

/// What a statement told of charges in one currency.
struct Charge {
    day: Day,
    entry: String,
    text: String,
    money: Money,
}

impl Charge {
    fn booked<'a>(&'a self, account: &'a str) -> Booked<'a> {
        Booked {
            day: self.day,
            entry: &self.entry,
            money: self.money,
            debit: account,
            text: &self.text,
            reference: "",
            identifier: "",
            receipt: "",
            gateway_id: "",
            service: "",
            names: "",
            msisdn: "",
            paid_account: "",
            narration: "",
            invoice: "",
            line: 0,
        }
    }
}

fn service(payment: &PaidPayment) -> &str {
    payment.payment.instruction.service.as_str()
}

fn booked<'a>(paid: &'a PaidPayment, debit: &'a str, zone: &WireZone) -> Booked<'a> {
    let row = &paid.payment.instruction;
    let reference = row.reference.as_ref();
    let text = match (row.narration.as_str(), row.customer_names.as_str()) {
        ("", names) => names,
        (narration, _) => narration,
    };
    Booked {
        day: Day::of(paid.paid_at, zone),
        entry: paid.payment.id.as_str(),
        money: row.money,
        debit,
        text,
        reference: reference.map_or("", |reference| reference.as_str()),
        identifier: paid.payment.id.as_str(),
        receipt: &paid.receipt_number,
        gateway_id: &paid.gateway_transaction_id,
        service: row.service.as_str(),
        names: &row.customer_names,
        msisdn: row.msisdn.as_str(),
        paid_account: &row.account_number,
        narration: &row.narration,
        invoice: &row.invoice_number,
        line: row.line,
    }
}
