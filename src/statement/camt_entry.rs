//! One entry of a camt, element by element, and the lines that it is.

use super::error::{Place, StatementError, shown};
use super::number::signed;
use crate::domain::{Amount, Currency, Day, Money, Totals};
use crate::ledger::reconciliation::{Flow, Reference, Standing, StatementEntry};

/// Characters of free text of one transaction, and references.
const FREE_MAX: usize = 4_096;
const REFERENCES_MAX: usize = 32;

/// One transaction of an entry, or the entry itself.
#[derive(Default)]
pub(super) struct Details {
    pub(super) amount: Option<(String, String)>,
    pub(super) direction: String,
    references: Vec<Reference>,
    text: String,
    recipient: String,
    is_return: bool,
    charge: Option<(String, String)>,
    charge_included: bool,
    charge_total: bool,
}

impl Details {
    fn refer(&mut self, field: String, text: String) {
        if self.references.len() < REFERENCES_MAX && text != "NOTPROVIDED" {
            let is_receipt = field.ends_with("AcctSvcrRef");
            let field = field.into();
            self.references.push(Reference {
                field,
                text,
                is_receipt,
            });
        }
    }

    fn tell(&mut self, text: &str) {
        if self.text.len() < FREE_MAX {
            self.text.push_str(text);
            self.text.push(' ');
        }
    }

    /// Takes a charge in: the total where there is one, else the records.
    fn charge(&mut self, amount: (String, String)) {
        if !self.charge_total {
            self.charge.get_or_insert(amount);
        }
    }
}

#[derive(Default)]
pub(super) struct Entry {
    pub(super) whole: Details,
    reversal: bool,
    pub(super) status: String,
    booking: Option<Day>,
    value: Option<Day>,
    family: String,
    details: Vec<Details>,
    batch: u64,
    /// Transactions that were handed out already, and what they come to.
    handed_out: usize,
    sum: Totals,
    /// Its transactions have no amounts of their own, and only the first of them are kept.
    is_unlisted: bool,
}

/// Transactions of one entry that are in memory: a booking of all payments of a day has them by the thousand.
const DETAILS_KEPT: usize = 512;

impl Entry {
    /// Begins one more transaction; returns the lines of those before it once they are many.
    pub(super) fn begin_details(
        &mut self,
        place: &Place,
    ) -> Result<Vec<StatementEntry>, StatementError> {
        let mut lines = Vec::new();
        if self.details.len() >= DETAILS_KEPT {
            if self.is_listed() {
                lines = self.hand_out(place)?;
            } else {
                self.assert_none_handed_out(place)?;
                self.is_unlisted = true;
                self.details.truncate(REFERENCES_MAX);
            }
        }
        self.details.push(Details::default());
        Ok(lines)
    }

    fn is_listed(&self) -> bool {
        !self.is_unlisted && self.details.iter().all(|details| details.amount.is_some())
    }

    fn assert_none_handed_out(&self, place: &Place) -> Result<(), StatementError> {
        match self.handed_out {
            0 => Ok(()),
            _ => Err(StatementError::new(
                place,
                "a transaction of the entry has no amount, and others have",
                "look at the file",
            )),
        }
    }

    /// Returns the lines of the transactions that are in memory, and forgets them.
    fn hand_out(&mut self, place: &Place) -> Result<Vec<StatementEntry>, StatementError> {
        let details = std::mem::take(&mut self.details);
        let shape = self.shape(place, false, false, false)?;
        let mut lines = Vec::with_capacity(details.len());
        let mut sum = Totals::default();
        for (index, one) in details.iter().enumerate() {
            let place = place.part(&format!("transaction {}", self.handed_out + index + 1));
            let found = money(one.amount.as_ref(), &place)?;
            sum.add_minor(found.currency, i128::from(found.minor));
            lines.extend(shape.line(one, &found, &place)?);
        }
        self.sum.add_all(&sum);
        self.handed_out += details.len();
        Ok(lines)
    }

    fn shape(
        &self,
        place: &Place,
        is_single: bool,
        is_alone: bool,
        is_batch: bool,
    ) -> Result<Shape<'_>, StatementError> {
        let standing = match self.status.as_str() {
            "" | "BOOK" => Standing::Booked,
            "PDNG" | "INFO" | "FUTR" => Standing::Pending,
            other => {
                return Err(StatementError::new(
                    place,
                    format!(
                        "expected the status BOOK, PDNG or INFO, found {}",
                        shown(other)
                    ),
                    "look at the file",
                ));
            }
        };
        let day = self.booking.or(self.value).ok_or_else(|| {
            StatementError::new(place, "the entry has no date", "look at the file")
        })?;
        Ok(Shape {
            entry: self,
            day,
            standing,
            is_single,
            is_alone,
            is_batch,
        })
    }

    /// Ends the entry, and returns the lines that were not handed out: one for each transaction that it lists with an amount, or
    /// itself.
    pub(super) fn finish(mut self, place: &Place) -> Result<Vec<StatementEntry>, StatementError> {
        let whole = money(self.whole.amount.as_ref(), place)?;
        let listed = self.is_listed();
        if !listed {
            self.assert_none_handed_out(place)?;
        }
        let is_single = self.details.len() <= 1 && self.handed_out == 0 && !self.is_unlisted;
        if is_single || !listed {
            let is_batch = !is_single || self.details.is_empty() && self.batch > 1;
            let shape = self.shape(place, is_single, true, is_batch)?;
            let none = Details::default();
            let details = self.details.first().unwrap_or(&none);
            let amount = details.amount.as_ref().or(self.whole.amount.as_ref());
            let found = money(amount, place)?;
            return Ok(shape.line(details, &found, place)?.into_iter().collect());
        }
        let lines = self.hand_out(place)?;
        let over = self.sum.minor(whole.currency) > i128::from(whole.minor);
        if over && is_out(&self.whole.direction, place)? {
            return Err(StatementError::new(
                place,
                "the statement does not add up: the transactions of the entry come to more than its amount",
                "fetch the statement again, whole",
            ));
        }
        Ok(lines)
    }
}

/// Takes the value of one element of an entry in.
pub(super) fn take_in(entry: &mut Entry, path: &[&str], value: (String, String)) {
    match path {
        ["NtryDtls", "TxDtls", rest @ ..] => {
            if let Some(details) = entry.details.last_mut() {
                detail(details, rest, value);
            }
        }
        ["NtryDtls", "Btch", "NbOfTxs"] => entry.batch = value.0.parse().unwrap_or(2),
        ["Amt"] => entry.whole.amount = Some(value),
        ["CdtDbtInd"] => entry.whole.direction = value.0,
        ["RvslInd"] => entry.reversal = matches!(value.0.as_str(), "true" | "1"),
        ["Sts"] if !value.0.is_empty() => entry.status = value.0,
        ["Sts", "Cd" | "Prtry"] => entry.status = value.0,
        ["BookgDt", "Dt" | "DtTm"] => entry.booking = day(&value.0),
        ["ValDt", "Dt" | "DtTm"] => entry.value = day(&value.0),
        ["BkTxCd", "Domn", "Fmly", "SubFmlyCd" | "Cd"] => {
            entry.family.push_str(&value.0);
            entry.family.push(' ');
        }
        [name @ ("NtryRef" | "AcctSvcrRef")] => entry.whole.refer((*name).to_owned(), value.0),
        ["AddtlNtryInf"] => entry.whole.tell(&value.0),
        ["Chrgs", rest @ ..] => charge(&mut entry.whole, rest, value),
        _ => {}
    }
}

fn detail(details: &mut Details, path: &[&str], value: (String, String)) {
    match path {
        ["Amt"] => details.amount = Some(value),
        ["AmtDtls", "TxAmt", "Amt"] => drop(details.amount.get_or_insert(value)),
        ["CdtDbtInd"] => details.direction = value.0,
        ["Refs", _] | ["Refs", "Prtry", "Ref"] if !value.0.is_empty() => {
            details.refer(path.join("/"), value.0)
        }
        ["RltdPties", "CdtrAcct", "Id", "IBAN"] | ["RltdPties", "CdtrAcct", "Id", "Othr", "Id"] => {
            details.recipient = value.0
        }
        ["RltdPties", "CdtrAcct", "Prxy", "Id"] if details.recipient.is_empty() => {
            details.recipient = value.0
        }
        ["RmtInf", ..] => details.tell(&value.0),
        ["AddtlTxInf"] => details.tell(&value.0),
        ["RtrInf", ..] => details.is_return = true,
        ["Chrgs", rest @ ..] => charge(details, rest, value),
        _ => {}
    }
}

fn charge(details: &mut Details, path: &[&str], value: (String, String)) {
    match path {
        ["TtlChrgsAndTaxAmt"] => (details.charge, details.charge_total) = (Some(value), true),
        ["Rcrd", "Amt"] | ["Amt"] => details.charge(value),
        ["Rcrd", "ChrgInclInd"] => {
            details.charge_included |= matches!(value.0.as_str(), "true" | "1")
        }
        _ => {}
    }
}

pub(super) struct Minor {
    pub(super) minor: i64,
    pub(super) currency: Currency,
}

pub(super) fn money(
    amount: Option<&(String, String)>,
    place: &Place,
) -> Result<Minor, StatementError> {
    let wrong = |what: String| StatementError::new(place, what, "look at the file");
    let (text, code) = amount.ok_or_else(|| wrong("an amount is missing".to_owned()))?;
    let currency = Currency::from_code(code).ok_or_else(|| {
        wrong(format!(
            "expected the currency of an amount, found {}",
            shown(code)
        ))
    })?;
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match signed(text, '.', currency) {
        Ok(minor) if is_plain => Ok(Minor { minor, currency }),
        Ok(_) => Err(wrong(format!("expected an amount, found {}", shown(text)))),
        Err(why) => Err(wrong(format!("{why}, found {}", shown(text)))),
    }
}

pub(super) fn is_out(direction: &str, place: &Place) -> Result<bool, StatementError> {
    match direction {
        "DBIT" => Ok(true),
        "CRDT" => Ok(false),
        other => Err(StatementError::new(
            place,
            format!("expected DBIT or CRDT, found {}", shown(other)),
            "look at the file",
        )),
    }
}

pub(super) fn day(text: &str) -> Option<Day> {
    text.get(..10).and_then(Day::parse)
}

/// What the lines of an entry have in common.
struct Shape<'a> {
    entry: &'a Entry,
    day: Day,
    standing: Standing,
    is_single: bool,
    is_alone: bool,
    is_batch: bool,
}

impl Shape<'_> {
    /// Returns the line of one transaction; `None`: it moves nothing.
    fn line(
        &self,
        details: &Details,
        found: &Minor,
        place: &Place,
    ) -> Result<Option<StatementEntry>, StatementError> {
        let entry = self.entry;
        let direction = match details.direction.as_str() {
            "" => entry.whole.direction.as_str(),
            own => own,
        };
        let flow = match is_out(direction, place)? {
            true => Flow::Out,
            false => Flow::In,
        };
        let charged = match details.charge.is_some() || !self.is_single {
            true => details,
            false => &entry.whole,
        };
        let fee = match charged.charge.as_ref() {
            Some(charge) => Some(money(Some(charge), place)?)
                .filter(|fee| fee.currency == found.currency && fee.minor > 0),
            None => None,
        };
        // The amount of the entry has its charge in it; that of a transaction is its own.
        let within = charged.charge_included && details.amount.is_none() && flow == Flow::Out;
        let net = match &fee {
            Some(fee) if within => found.minor - fee.minor,
            _ => found.minor,
        };
        let Some(amount) = Amount::from_minor(net) else {
            return Ok(None);
        };
        let mut references = details.references.clone();
        let mut text = details.text.clone();
        if self.is_batch {
            let all = entry.details.iter().flat_map(|one| one.references.iter());
            references = all.take(REFERENCES_MAX).cloned().collect();
        }
        if self.is_alone {
            references.extend(entry.whole.references.iter().cloned());
            text.push_str(&entry.whole.text);
        }
        let codes = entry.family.split(' ');
        Ok(Some(StatementEntry {
            place: place.to_string(),
            day: self.day,
            flow,
            reversal: entry.reversal || details.is_return,
            money: Money {
                amount,
                currency: found.currency,
            },
            standing: self.standing,
            references,
            text,
            recipient: details.recipient.clone(),
            fee: fee.map(|fee| fee.minor),
            is_charge: codes
                .into_iter()
                .any(|code| matches!(code, "CHRG" | "COMM" | "FEES")),
            is_batch: self.is_batch,
        }))
    }
}
