//! The rules of the columns: a record becomes an instruction, or says everything that is wrong with it.

mod amount;
mod bank;
mod date;
mod document;
mod findings;
mod limits;
pub(super) mod not_before;
mod origin;
mod recipient;
mod service;
mod signs;

use std::sync::Arc;

use crate::dialect::ExtraType;
use crate::domain::{
    Country, Currency, IdentifierForm, Instruction, Money, PayerTransactionId, Reference,
    ServiceCode,
};

use crate::ledger::correction::{Corrects, RejectedName};
use crate::ledger::likeness;

use super::bad::{self, BadRow};
use super::columns::{ColumnMap, Field};
use super::damage;
use super::odd_cells;
use super::raw::Unread;
use super::record::{Fault, Record};
use super::rules::Rules;
use super::suggest::nearest;
use super::template;
use super::text::quoted;
pub(super) use amount::Stated;
use findings::Findings;
use recipient::Recipient;
use service::Service;
use signs::Signs;

/// Said of a row that nobody meant.
const EXAMPLE_LEFT: &str =
    "this is the example row of a template, and no payment: remove it from the file";

/// Checks rows, one after the other. What the previous row looked up is at hand for the next.
pub(super) struct Checker {
    rules: Arc<Rules>,
    services: Vec<Service>,
    last_service: Option<Service>,
    last_currency: Option<Currency>,
    last_country: Option<Country>,
    documents: document::Checked,
    /// What shows that the file went wrong on its way.
    signs: Signs,
    /// Rows whose phone number was taken with the zero that it had lost, and the line of the first.
    restored: (u64, u64),
    /// What the row that was checked last says that it corrects.
    pub(super) corrects: Option<Corrects>,
}

impl Checker {
    /// Prepares the rules.
    pub(super) fn new(rules: Arc<Rules>) -> Self {
        let services = rules
            .services
            .iter()
            .map(|(code, rule)| Service {
                code: code.clone(),
                rule: Some(rule.clone()),
            })
            .collect();
        Self {
            rules,
            services,
            last_service: None,
            last_currency: None,
            last_country: None,
            documents: document::Checked::default(),
            signs: Signs::default(),
            restored: (0, 0),
            corrects: None,
        }
    }

    /// Checks one record.
    ///
    /// # Errors
    /// The row with all of its errors.
    pub(super) fn check(
        &mut self,
        layout: &ColumnMap,
        record: &Record,
    ) -> Result<Instruction<Stated>, Box<BadRow>> {
        let found = Findings::of(layout, record);
        let mut found = self.refuse_at_sight(layout, record, found)?;
        let reference = self.reference(layout.cell(record, Field::Reference), &mut found);
        let service = self.service(layout.cell(record, Field::ServiceCode), &mut found);
        let currency = self.currency(
            layout.cell(record, Field::CurrencyCode),
            service.as_ref(),
            &mut found,
        );
        let country = self.country(layout.cell(record, Field::CountryCode), &mut found);
        let stated = amount::check(
            layout.cell(record, Field::Amount),
            currency,
            service.as_ref(),
            &mut found,
        );
        let money = stated.and_then(Stated::money);
        let mut recipient = recipient::check(
            layout,
            record,
            service.as_ref(),
            country,
            &self.rules,
            &mut found,
        );
        self.account_form(service.as_ref(), country, &recipient, &mut found);
        limits::check(&self.rules, service.as_ref(), money, &recipient, &mut found);
        let narration = found.text(layout, record, Field::Narration);
        let customer_names = found.text(layout, record, Field::CustomerNames);
        let invoice_number = found.digits(layout, record, Field::InvoiceNumber);
        let payment_mode = found.text(layout, record, Field::PaymentMode);
        let hub_id = found.text(layout, record, Field::HubId);
        let document = found.text(layout, record, Field::Document);
        let document = self.documents.check(
            &self.rules,
            &document,
            service.as_ref(),
            money,
            &mut recipient.extra,
            &mut found,
        );

        self.times(layout, record, &mut recipient, &mut found);
        let place = (layout, record);
        self.country_form(country, &mut found);
        self.wire_form(place, service.as_ref(), money, &recipient, &mut found);
        match (service, stated, country, recipient.msisdn) {
            (Some(service), Some(stated), Some(country), Some(msisdn)) if found.is_clean() => {
                self.count_restored(&found, record);
                let row = Instruction {
                    line: record.line,
                    reference,
                    service: service.code,
                    msisdn,
                    account_number: recipient.account_number,
                    money: stated,
                    country,
                    narration,
                    customer_names,
                    invoice_number,
                    payment_mode,
                    hub_id,
                    extra: recipient.extra,
                    document,
                };
                self.signs.row(record, &row);
                Ok(row)
            }
            _ => Err(Box::new(bad_row(layout, record, found, money))),
        }
    }

    /// Adds when the payment was received, when it may leave, and what its message called it.
    fn times(
        &self,
        layout: &ColumnMap,
        record: &Record,
        recipient: &mut Recipient,
        found: &mut Findings,
    ) {
        let zone = self.rules.zone.as_ref();
        let extra = &mut recipient.extra;
        extra.extend(date::check(layout, record, found));
        extra.extend(not_before::check(layout, record, zone, found));
        extra.extend(origin::check(layout, record, found));
    }

    /// Refuses a row of which one thing is wrong that makes all others none.
    fn refuse_at_sight(
        &mut self,
        layout: &ColumnMap,
        record: &Record,
        mut found: Findings,
    ) -> Result<Findings, Box<BadRow>> {
        self.corrects = corrects(layout, record, &mut found);
        if found.is_shapeless() {
            let money = record.refused.then(|| self.stated_money(layout, record));
            return Err(Box::new(bad_row(layout, record, found, money.flatten())));
        }
        if template::is_example(record) {
            let mut only = Findings::empty(record);
            only.add_as(Field::Reference, bad::EXAMPLE, EXAMPLE_LEFT.to_owned());
            // What it says of money was never meant.
            return Err(Box::new(bad_row(layout, record, only, None)));
        }
        Ok(found)
    }

    /// Returns a row that is no payment, with the reason.
    pub(super) fn skipped(
        &self,
        layout: &ColumnMap,
        record: &Record,
        reason: String,
    ) -> Box<BadRow> {
        let mut found = Findings::empty(record);
        found.push(None, reason);
        // A sum, a signature, somebody who left: nobody misses what it says of an amount.
        Box::new(bad_row(layout, record, found, None))
    }

    /// Returns what a row says of its amount, where that can be read: it counts in the sums of what is not paid.
    fn stated_money(&mut self, layout: &ColumnMap, record: &Record) -> Option<Money> {
        let mut unheard = Findings::empty(record);
        let service = self.service(layout.cell(record, Field::ServiceCode), &mut unheard);
        let currency = layout.cell(record, Field::CurrencyCode);
        let currency = self.currency(currency, service.as_ref(), &mut unheard);
        let amount = layout.cell(record, Field::Amount);
        amount::check(amount, currency, service.as_ref(), &mut unheard).and_then(Stated::money)
    }

    fn count_restored(&mut self, found: &Findings, record: &Record) {
        if found.has_restored_zero {
            self.restored = match self.restored {
                (0, _) => (1, record.line),
                (rows, first) => (rows + 1, first),
            };
        }
    }

    /// Returns how many phone numbers were taken with the zero that they had lost, in words; complete once the last row was read.
    pub(super) fn restored_text(&self) -> Option<String> {
        match self.restored {
            (0, _) => None,
            (1, line) => Some(format!(
                "1 phone number was taken with the zero that it had lost, in line {line}"
            )),
            (rows, line) => Some(format!(
                "{rows} phone numbers were taken with the zero that they had lost, the first in line {line}"
            )),
        }
    }

    /// Returns how many documents were left out: the gateway asks for none below the threshold.
    pub(super) fn documents_left_out(&self) -> u64 {
        self.documents.left_out()
    }

    /// Returns what is worth a look although it was taken; complete once the last row was read.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.signs.warnings()
    }

    fn account_form(
        &mut self,
        service: Option<&Service>,
        country: Option<Country>,
        recipient: &Recipient,
        found: &mut Findings,
    ) {
        let account = recipient.account_number.as_str();
        let oddity = recipient::oddity_of_account(service, account)
            .or_else(|| recipient::oddity_of_phone(service, country, recipient));
        let Some((field, cause)) = oddity else {
            return;
        };
        if found.has(field) {
            return;
        }
        // The identifiers that an earlier journal has made of it must come out again.
        if self.rules.presumes_posted {
            self.signs.odd_account(found.line());
        } else {
            found.cell(field, cause, account);
        }
    }

    /// Refuses a row of a country that no post would name.
    fn country_form(&self, country: Option<Country>, found: &mut Findings) {
        let only = self.rules.wire.only_country;
        if let (Some(only), Some(country)) = (only, country)
            && only != country
        {
            let message = format!(
                "expected {}: the gateway is not told the country of a row, and would take it for that of the profile; \
                found {}",
                only.code(),
                country.code()
            );
            found.add(Field::CountryCode, message);
        }
    }

    /// Looks whether the gateway's dialect can carry the row as it stands.
    fn wire_form(
        &self,
        (layout, record): (&ColumnMap, &Record),
        service: Option<&Service>,
        money: Option<Money>,
        recipient: &Recipient,
        found: &mut Findings,
    ) {
        let wire = &self.rules.wire;
        let decimals = service.and_then(|service| wire.decimals.get(service.code.as_str()));
        if let (Some(service), Some(money), Some(decimals)) = (service, money, decimals)
            && !money.fits_decimals(*decimals)
        {
            let most = match decimals {
                0 => "a whole number".to_owned(),
                1 => "an amount with at most 1 decimal".to_owned(),
                many => format!("an amount with at most {many} decimals"),
            };
            let message = format!(
                "expected {most}, as this gateway takes for {}, found {money}",
                service.code
            );
            found.add(Field::Amount, message);
        }
        for (member, field) in [
            ("invoiceNumber", Field::InvoiceNumber),
            ("datePaymentReceived", Field::DatePaymentReceived),
            ("hubID", Field::HubId),
            ("paymentMode", Field::PaymentMode),
        ] {
            let cell = layout.cell(record, field);
            if wire.left_out.contains(member) && !cell.is_empty() {
                let message = format!(
                    "this gateway takes no {member}, and the row would be paid without it: expected nothing, found {}",
                    quoted(cell)
                );
                found.add(field, message);
            }
        }
        for (name, value) in &recipient.extra {
            let column = || Some(format!("extra.{name}"));
            if wire.own_members.contains(&name.to_lowercase()) {
                let message = "this member of extraData is set by the program at this gateway";
                found.push(column(), message.to_owned());
            }
            if let Some(of) = wire.extra_types.get(name)
                && *of != ExtraType::Text
                && !of.allows(value)
            {
                let message = format!("expected {}, found {}", of.expected(), quoted(value));
                found.push(column(), message);
            }
        }
    }

    fn reference(&self, cell: &str, found: &mut Findings) -> Option<Reference> {
        if cell.is_empty() {
            return None;
        }
        if let Some(cause) = damage::of_digits(cell) {
            found.cell(Field::Reference, cause, cell);
            return None;
        }
        if !self.rules.presumes_posted
            && let Some(oddity) = likeness::oddity(cell)
        {
            found.cell(Field::Reference, oddity, cell);
            return None;
        }
        found.parsed(Field::Reference, cell, Reference::parse(cell))
    }

    fn service(&mut self, cell: &str, found: &mut Findings) -> Option<Service> {
        let cell = match (cell, &self.rules.default_service) {
            ("", None) => {
                found.missing(Field::ServiceCode, "a service code");
                return None;
            }
            ("", Some(default)) => default.as_str(),
            (cell, _) => cell,
        };
        if let Some(last) = &self.last_service
            && last.code.as_str() == cell
        {
            return Some(last.clone());
        }
        let service = if self.services.is_empty() {
            let code = found.parsed(Field::ServiceCode, cell, ServiceCode::parse(cell))?;
            Service { code, rule: None }
        } else if let Ok(at) = self
            .services
            .binary_search_by(|s| s.code.as_str().cmp(cell))
        {
            self.services[at].clone()
        } else {
            let message = match nearest(cell, self.services.iter().map(|s| s.code.as_str())) {
                Some(near) => format!("unknown service {}, did you mean {near:?}?", quoted(cell)),
                None => format!(
                    "unknown service {}; it is not among [services]",
                    quoted(cell)
                ),
            };
            found.add(Field::ServiceCode, message);
            return None;
        };
        self.last_service = Some(service.clone());
        Some(service)
    }

    fn currency(
        &mut self,
        cell: &str,
        service: Option<&Service>,
        found: &mut Findings,
    ) -> Option<Currency> {
        let own = service
            .and_then(|service| service.rule.as_ref())
            .and_then(|rule| rule.currency);
        if cell.is_empty() {
            let default = own.or(self.rules.default_currency);
            if default.is_none() {
                found.missing(Field::CurrencyCode, "a currency code such as KES");
            }
            return default;
        }
        let currency = match self.last_currency {
            Some(last) if last.code() == cell => last,
            _ => {
                let Some(currency) = Currency::from_code(cell) else {
                    let upper = cell.to_ascii_uppercase();
                    found.add(
                        Field::CurrencyCode,
                        if Currency::from_code(&upper).is_some() {
                            format!("expected capital letters, {upper}, found {}", quoted(cell))
                        } else {
                            format!(
                                "expected three letters of ISO 4217 such as KES, found {}",
                                quoted(cell)
                            )
                        },
                    );
                    return None;
                };
                self.last_currency = Some(currency);
                currency
            }
        };
        if let (Some(own), Some(service)) = (own, service)
            && own != currency
        {
            found.add(
                Field::CurrencyCode,
                format!(
                    "expected {own}, which {} pays, found {}",
                    service.code,
                    quoted(cell)
                ),
            );
        }
        Some(currency)
    }

    fn country(&mut self, cell: &str, found: &mut Findings) -> Option<Country> {
        if cell.is_empty() {
            if self.rules.default_country.is_none() {
                found.missing(Field::CountryCode, "a country code such as KE");
            }
            return self.rules.default_country;
        }
        if let Some(last) = self.last_country
            && last.code() == cell
        {
            return Some(last);
        }
        let country = Country::from_code(cell);
        if country.is_none() {
            let upper = cell.to_ascii_uppercase();
            found.add(
                Field::CountryCode,
                if Country::from_code(&upper).is_some() {
                    format!("expected capital letters, {upper}, found {}", quoted(cell))
                } else {
                    format!(
                        "expected two letters of ISO 3166 such as KE, found {}",
                        quoted(cell)
                    )
                },
            );
        }
        self.last_country = country.or(self.last_country);
        country
    }
}

/// Returns what a row says that it corrects. Whether there is such a thing, the journal knows.
fn corrects(layout: &ColumnMap, record: &Record, found: &mut Findings) -> Option<Corrects> {
    // With a cell too many its name stands in another column, and is like nothing else that stands there.
    if layout.misfit(record).is_some() && layout.is_to_be_mended() {
        // A reference may look like an identifier with a prefix: one of the form that most have is told from it.
        let ours: fn(&str) -> bool = |cell| IdentifierForm::DEFAULT.has(cell);
        let any: fn(&str) -> bool = PayerTransactionId::is_one;
        return [ours, any].into_iter().find_map(|is_id| {
            let mut names =
                record
                    .cells()
                    .map(str::trim)
                    .filter_map(|cell| match RejectedName::parse(cell) {
                        Some(_) => Some(Corrects::Rejected(cell.to_owned())),
                        None if layout.position(Field::Replaces).is_some() && is_id(cell) => {
                            Some(Corrects::Failed(cell.to_owned()))
                        }
                        None => None,
                    });
            let name = names.next();
            name.filter(|_| names.next().is_none())
        });
    }
    let written = |field| {
        let cell = layout.cell(record, field);
        (!cell.is_empty()).then(|| cell.to_owned())
    };
    match (written(Field::RejectedRow), written(Field::Replaces)) {
        (None, None) => None,
        (Some(row), None) => Some(Corrects::Rejected(row)),
        (None, Some(payment)) => Some(Corrects::Failed(payment)),
        (Some(row), Some(_)) => {
            found.add(
                Field::Replaces,
                "a row corrects one thing: empty this cell, or rejected_row".to_owned(),
            );
            Some(Corrects::Rejected(row))
        }
    }
}

fn bad_row(layout: &ColumnMap, record: &Record, found: Findings, amount: Option<Money>) -> BadRow {
    let text = |field| {
        let cell = layout.cell(record, field);
        (!cell.is_empty()).then(|| cell.to_owned())
    };
    // A cell that is odd was read, and so were the others.
    let is_odd = |fault: &Fault| matches!(fault, Fault::Odd { .. });
    let is_whole = record.faults.iter().all(is_odd) && layout.misfit(record).is_none();
    let unread = match is_whole {
        false => Some(record.raw.unread(record.line)),
        true => layout.only_text(record).map(Unread::again),
    };
    let errors = found.into_errors();
    BadRow {
        line: record.line,
        raw: record.cells().map(str::to_owned).collect(),
        mapped: None,
        odd: odd_cells::that_matter(record, &errors),
        unread,
        errors,
        amount,
        reference: text(Field::Reference),
        service: text(Field::ServiceCode),
    }
}
