//! camt.053 and camt.054 of any version: element by element, in the memory of one entry.
//!
//! No document type, no entity but the five of XML, nothing loaded from elsewhere.

use std::io::Read;

use quick_xml::events::BytesStart;

use super::camt_entry::{Entry, day, is_out, money, take_in};
use super::error::{Place, StatementError, shown};
use super::summary::{Running, Summary};
use super::terms::Terms;
use crate::domain::{Currency, Day};
use crate::intake::Encoding;
use crate::intake::xml::{Piece, Words, Xml};
use crate::ledger::reconciliation::StatementEntry;

/// Elements within one another, bytes of a text, and balances of a statement, at most.
const DEPTH_MAX: usize = 64;
const TEXT_MAX: usize = 16_384;
const BALANCES_MAX: usize = 64;

const WORDS: Words = Words {
    what: "a statement",
    remedy: "ask the bank for the statement of the day (camt.053), or its notification of bookings (camt.054)",
};

pub(super) fn read(
    input: impl Read + Send + 'static,
    encoding: Encoding,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let mut xml = Xml::open(input, encoding, WORDS)?;
    let mut document = Document::of(terms, take);
    loop {
        let (at, piece) = xml.read()?;
        document.at = (at.line, at.column);
        match piece {
            Piece::Open(start) => document.open(&start)?,
            Piece::Empty(start) => {
                document.open(&start)?;
                document.close()?;
            }
            Piece::Close => document.close()?,
            Piece::Text(text) => document.text(&text)?,
            Piece::Aside => {}
            Piece::End => break,
        }
    }
    document.finish()
}

/// A balance as it is read.
#[derive(Default)]
struct Balance {
    code: String,
    amount: Option<(String, String)>,
    direction: String,
    day: Option<Day>,
}

#[derive(Default)]
struct Statement {
    account: Option<String>,
    is_ours: bool,
    balances: Vec<Balance>,
    entries: u64,
    booked: i128,
    mixed: bool,
    told_entries: Option<u64>,
    from: Option<Day>,
    to: Option<Day>,
}

struct Document<'a> {
    terms: &'a Terms,
    take: &'a mut dyn FnMut(StatementEntry) -> bool,
    path: Vec<String>,
    text: String,
    currency: String,
    summary: Summary,
    statement: Option<Statement>,
    entry: Option<Entry>,
    /// Where the piece begins that is read.
    at: (u64, u64),
    number: u64,
    statements: u64,
    whole: bool,
}

impl<'a> Document<'a> {
    fn of(terms: &'a Terms, take: &'a mut dyn FnMut(StatementEntry) -> bool) -> Self {
        Self {
            terms,
            take,
            path: Vec::new(),
            text: String::new(),
            currency: String::new(),
            summary: Summary::of("camt"),
            statement: None,
            entry: None,
            at: (1, 1),
            number: 0,
            statements: 0,
            whole: false,
        }
    }

    fn place(&self) -> Place {
        let entry = match self.number {
            0 => String::new(),
            number => format!("entry {number}"),
        };
        Place::Point(self.at, entry)
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), StatementError> {
        if self.path.len() >= DEPTH_MAX {
            return Err(StatementError::new(
                &self.place(),
                "the XML is too deep for a statement",
                "this is no statement of a bank",
            ));
        }
        let name = start.local_name().as_ref().to_owned();
        self.text.clear();
        self.currency.clear();
        if let Ok(Some(currency)) = start.try_get_attribute("Ccy") {
            self.currency = currency.value.into_owned();
        }
        self.path.push(name);
        match self.path.len() {
            2 => self.kind()?,
            3 if matches!(self.path[2].as_str(), "Stmt" | "Ntfctn") => {
                self.statements += 1;
                self.statement = Some(Statement {
                    is_ours: true,
                    ..Statement::default()
                });
            }
            4 if self.path[3] == "Ntry" => {
                self.number += 1;
                self.entry = Some(Entry::default());
            }
            4 if self.path[3] == "Bal" => {
                if let Some(statement) = &mut self.statement
                    && statement.balances.len() < BALANCES_MAX
                {
                    statement.balances.push(Balance::default());
                }
            }
            6 if self.path[5] == "TxDtls" => {
                let place = self.place();
                if let Some(entry) = &mut self.entry {
                    let lines = entry.begin_details(&place)?;
                    self.hand_out(lines)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks at what kind of message it is.
    fn kind(&mut self) -> Result<(), StatementError> {
        let place = self.place();
        self.summary.format = match self.path[1].as_str() {
            "BkToCstmrStmt" => "camt.053",
            "BkToCstmrDbtCdtNtfctn" => "camt.054",
            other => {
                return Err(StatementError::new(
                    &place,
                    format!("expected a camt.053 or a camt.054, found {}", shown(other)),
                    "ask the bank for the statement of the day (camt.053), or its notification of bookings (camt.054)",
                ));
            }
        };
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), StatementError> {
        if self.text.len() + text.len() > TEXT_MAX {
            return Err(StatementError::new(
                &self.place(),
                "a text is too long for a statement",
                "look at the file",
            ));
        }
        self.text.push_str(text);
        Ok(())
    }

    fn close(&mut self) -> Result<(), StatementError> {
        let text = std::mem::take(&mut self.text);
        let path: Vec<&str> = self.path.iter().skip(3).map(String::as_str).collect();
        let value = (text.trim().to_owned(), self.currency.clone());
        match path.as_slice() {
            ["Ntry"] => {
                let entry = self.entry.take().unwrap_or_default();
                self.path.pop();
                return self.booked(entry);
            }
            ["Ntry", rest @ ..] => {
                if let Some(entry) = &mut self.entry {
                    take_in(entry, rest, value);
                }
            }
            ["Bal", rest @ ..] => {
                let balances = self
                    .statement
                    .as_mut()
                    .map(|statement| &mut statement.balances);
                if let Some(balance) = balances.and_then(|balances| balances.last_mut()) {
                    match rest {
                        ["Tp", "CdOrPrtry", "Cd"] => balance.code = value.0,
                        ["Amt"] => balance.amount = Some(value),
                        ["CdtDbtInd"] => balance.direction = value.0,
                        ["Dt", "Dt" | "DtTm"] => balance.day = day(&value.0),
                        _ => {}
                    }
                }
            }
            [] if self.path.len() == 3 => {
                if let Some(statement) = self.statement.take() {
                    self.path.pop();
                    return self.ended(statement);
                }
            }
            rest => {
                if let Some(statement) = &mut self.statement {
                    match rest {
                        ["Acct", "Id", "IBAN"] | ["Acct", "Id", "Othr", "Id"] => {
                            statement.account = Some(value.0)
                        }
                        ["FrToDt", "FrDtTm" | "FrDt"] => statement.from = day(&value.0),
                        ["FrToDt", "ToDtTm" | "ToDt"] => statement.to = day(&value.0),
                        ["TxsSummry", "TtlNtries", "NbOfNtries"] => {
                            statement.told_entries = value.0.parse().ok()
                        }
                        _ => {}
                    }
                }
            }
        }
        let last = self.path.pop();
        self.whole |= self.path.is_empty() && last.as_deref() == Some("Document");
        self.account()
    }

    /// Compares the account as soon as it is read: its entries follow.
    fn account(&mut self) -> Result<(), StatementError> {
        if self.path.len() != 3 {
            return Ok(());
        }
        let place = self.place();
        if let Some(statement) = &mut self.statement
            && let Some(account) = &statement.account
        {
            let wanted = self.terms.account.as_deref();
            statement.is_ours = self.summary.is_of(account, wanted, &place)?;
        }
        Ok(())
    }

    fn booked(&mut self, entry: Entry) -> Result<(), StatementError> {
        let place = self.place();
        let Some(statement) = &mut self.statement else {
            return Ok(());
        };
        statement.entries += 1;
        if entry.status != "PDNG" && entry.status != "INFO" {
            let whole = money(entry.whole.amount.as_ref(), &place)?;
            let minor = i128::from(whole.minor);
            statement.booked += if is_out(&entry.whole.direction, &place)? {
                -minor
            } else {
                minor
            };
            statement.mixed |= self
                .summary
                .currency
                .is_some_and(|currency| currency != whole.currency);
            self.summary.currency.get_or_insert(whole.currency);
        }
        let lines = entry.finish(&place)?;
        self.hand_out(lines)
    }

    /// Hands lines out, where they are of our account.
    fn hand_out(&mut self, lines: Vec<StatementEntry>) -> Result<(), StatementError> {
        let is_ours = self
            .statement
            .as_ref()
            .is_some_and(|statement| statement.is_ours);
        for line in lines.into_iter().filter(|_| is_ours) {
            self.summary.count(&line);
            if !(self.take)(line) {
                return Err(StatementError::stopped());
            }
        }
        Ok(())
    }

    /// Holds the balances and counts of one statement against its entries.
    fn ended(&mut self, statement: Statement) -> Result<(), StatementError> {
        let place = Place::Point(self.at, String::new());
        if let Some(told) = statement.told_entries
            && told != statement.entries
        {
            return Err(StatementError::new(
                &place,
                format!(
                    "the statement does not add up: it names {told} entries, and has {}",
                    statement.entries
                ),
                "an entry is missing: fetch the statement again, whole",
            ));
        }
        let find = |codes: [&str; 2]| {
            let of = |code: &str| {
                statement
                    .balances
                    .iter()
                    .find(|balance| balance.code == code)
            };
            of(codes[0]).or_else(|| of(codes[1]))
        };
        let read = |balance: Option<&Balance>| -> Result<Option<(Currency, i128, Option<Day>)>, StatementError> {
            let Some(balance) = balance else { return Ok(None) };
            let money = money(balance.amount.as_ref(), &place)?;
            let minor = i128::from(money.minor);
            let minor = if is_out(&balance.direction, &place)? { -minor } else { minor };
            Ok(Some((money.currency, minor, balance.day)))
        };
        let opening = read(find(["OPBD", "PRCD"]))?;
        let closing = read(find(["CLBD", "CLBD"]))?;
        if let (Some((currency, opening, _)), Some((_, closing, _)), false) =
            (opening, closing, statement.mixed)
        {
            let mut running = Running::of(currency, opening);
            running.add(statement.booked);
            running.assert(closing, &place)?;
            if statement.is_ours {
                self.summary.currency = Some(currency);
                self.summary.hold(opening, closing, &place)?;
            }
        } else if self.summary.format == "camt.053" && statement.is_ours && !statement.mixed {
            return Err(StatementError::cut_off(
                &place,
                "a camt.053 without its opening and closing balance (OPBD, CLBD)",
            ));
        }
        let days = [
            statement.from,
            statement.to,
            closing.and_then(|(_, _, day)| day),
        ];
        if statement.is_ours {
            for day in days.into_iter().flatten() {
                self.summary.reach(day);
            }
            self.summary.period_is_named |= statement.from.is_some() && statement.to.is_some();
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary, StatementError> {
        if !self.whole {
            return Err(StatementError::cut_off(
                &self.place(),
                "the XML ends before its end",
            ));
        }
        self.summary.assert_account(self.terms.account.as_deref())?;
        if self.statements == 0 {
            return Err(StatementError::whole(
                "the file has no statement in it",
                "name the statement itself",
            ));
        }
        Ok(self.summary)
    }
}
