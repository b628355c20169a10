//! Empty batch files to be filled in: the columns of one kind of payment, and one example row that is refused where it is left.

use std::io::{self, Write};

use super::super::columns::Field;
use super::super::record::Record;
use crate::domain::{Country, Currency, PaymentKind, ServiceCode};

/// What the example row says in several of its cells. No row with it is ever paid.
pub const EXAMPLE: &str = "EXAMPLE - REMOVE THIS ROW";
/// The example's phone number, which is none: a row of which somebody has changed all other cells is refused as well.
const PHONE: &str = "254XXXXXXXXX";

/// The example's amount.
pub(super) const AMOUNT: u16 = 1_500;

/// What a template is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What its rows pay.
    pub kind: PaymentKind,
    /// The services of that kind, each with its currency; any service when there is none.
    pub services: Vec<(ServiceCode, Currency)>,
    /// The country of its rows, where it is known.
    pub country: Option<Country>,
}

/// One column of a template.
pub(super) struct Column {
    pub(super) field: Field,
    /// What the example row has in it.
    pub(super) example: String,
    /// What is to be filled in, in a sentence or two.
    pub(super) meaning: &'static str,
    /// The values that it may have; any when there is none.
    pub(super) values: Vec<String>,
}

impl Template {
    /// Writes it as CSV, in UTF-8 with a mark, so that a spreadsheet keeps its letters.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_csv(&self, output: impl Write) -> io::Result<()> {
        let mut output = output;
        output.write_all(b"\xef\xbb\xbf")?;
        let mut writer = ::csv::Writer::from_writer(output);
        let columns = self.columns();
        writer.write_record(columns.iter().map(|column| column.field.name()))?;
        writer.write_record(columns.iter().map(|column| column.example.as_str()))?;
        writer.flush()
    }

    /// Returns the decimals of its amounts; the most that one of its currencies has.
    pub(super) fn decimals(&self) -> u8 {
        let all = self
            .services
            .iter()
            .map(|(_, currency)| currency.exponent());
        all.max().unwrap_or(2)
    }

    /// Returns the currencies of its services, each once.
    fn currencies(&self) -> Vec<String> {
        let mut codes: Vec<String> = Vec::new();
        for (_, currency) in &self.services {
            if !codes.iter().any(|known| known == currency.code()) {
                codes.push(currency.code().to_owned());
            }
        }
        codes
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        let fields: &[Field] = match self.kind {
            PaymentKind::MobileMoney | PaymentKind::Airtime => &[],
            PaymentKind::Bank => &BANK,
            PaymentKind::Rtgs => &[
                Field::BankCode,
                Field::BankName,
                Field::BankAccountName,
                Field::BankAccountNumber,
                Field::Document,
            ],
            PaymentKind::BillPrepaid => &[Field::AccountNumber],
            PaymentKind::BillPostpaid => &[Field::AccountNumber, Field::InvoiceNumber],
        };
        COMMON
            .iter()
            .chain(fields)
            .map(|field| self.column(*field))
            .collect()
    }

    fn column(&self, field: Field) -> Column {
        let first = self.services.first();
        let plain = |example: &str, meaning| Column {
            field,
            example: example.to_owned(),
            meaning,
            values: Vec::new(),
        };
        match field {
            Field::ServiceCode => Column {
                values: self
                    .services
                    .iter()
                    .map(|(code, _)| code.as_str().to_owned())
                    .collect(),
                ..plain(
                    first.map_or("SERVICE", |(code, _)| code.as_str()),
                    "What pays it: a service of the gateway.",
                )
            },
            Field::CurrencyCode => Column {
                values: self.currencies(),
                ..plain(
                    first.map_or("KES", |(_, currency)| currency.code()),
                    "The currency of the amount, as of its service.",
                )
            },
            Field::CountryCode => plain(
                self.country.as_ref().map_or("KE", Country::code),
                "The country of the phone number, two letters.",
            ),
            Field::Msisdn => plain(
                PHONE,
                "The phone number with its country code, digits alone. The cell is a text: no digit is lost.",
            ),
            Field::Amount => plain(
                if self.decimals() == 0 {
                    "1500"
                } else {
                    "1500.00"
                },
                "The amount in the currency beside it: no sign, and no more decimals than the currency has.",
            ),
            Field::Reference => plain(
                EXAMPLE,
                "Your own key of the payment, another one for each row, such as PAY-2026-11-001.",
            ),
            Field::CustomerNames => plain(EXAMPLE, "Who is paid."),
            Field::Narration => plain("Wages November 2026", "What the payment is for."),
            Field::BankCode => plain("01", "The code of the bank, with its zeros in front."),
            Field::BankName => plain("Example Bank", "The name of the bank."),
            Field::BankAccountName => plain(EXAMPLE, "The name of the account's owner."),
            Field::BankAccountNumber => plain(
                "0000000000000",
                "The account, with its zeros in front. The cell is a text: no digit is lost.",
            ),
            Field::AccountNumber => plain(
                EXAMPLE,
                "The meter, or the account at the biller, with its zeros in front.",
            ),
            Field::InvoiceNumber => plain("INV-1", "The number of the bill, where there is one."),
            Field::Document => plain(
                "",
                "The PDF that goes with the transfer, in the folder of this file; empty where none is needed.",
            ),
            _ => plain("", ""),
        }
    }
}

const COMMON: [Field; 8] = [
    Field::Reference,
    Field::ServiceCode,
    Field::Msisdn,
    Field::Amount,
    Field::CurrencyCode,
    Field::CountryCode,
    Field::CustomerNames,
    Field::Narration,
];

const BANK: [Field; 4] = [
    Field::BankCode,
    Field::BankName,
    Field::BankAccountName,
    Field::BankAccountNumber,
];

/// Returns whether a row is the example of a template.
pub(in crate::intake) fn is_example(record: &Record) -> bool {
    record
        .cells()
        .any(|cell| cell.len() >= EXAMPLE.len() && cell.trim().eq_ignore_ascii_case(EXAMPLE))
}
