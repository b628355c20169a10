//! Empty batch files to be filled in: the columns of one kind of payment, and one example row that is refused where it is left.

mod workbook;

use std::io::{self, Write};

use super::columns::Field;
use super::record::Record;
use crate::domain::{Country, Currency, PaymentKind, ServiceCode};

/// What the example row says in several of its cells. No row with it is ever paid.
pub const EXAMPLE: &str = "EXAMPLE - REMOVE THIS ROW";
/// The example's phone number, which is none: a row of which somebody has changed all other cells is refused as well.
const PHONE: &str = "254XXXXXXXXX";

/// The example's amount.
const AMOUNT: u16 = 1_500;

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
struct Column {
    field: Field,
    /// What the example row has in it.
    example: String,
    /// What is to be filled in, in a sentence or two.
    meaning: &'static str,
    /// The values that it may have; any when there is none.
    values: Vec<String>,
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

    /// Writes it as a workbook: texts in all columns but the amount, lists where there is a choice.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_xlsx(&self, output: impl Write + io::Seek + Send) -> io::Result<()> {
        workbook::write(self, output).map_err(io::Error::other)
    }

    /// Returns the decimals of its amounts; the most that one of its currencies has.
    fn decimals(&self) -> u8 {
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

    fn columns(&self) -> Vec<Column> {
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
pub(super) fn is_example(record: &Record) -> bool {
    record
        .cells()
        .any(|cell| cell.len() >= EXAMPLE.len() && cell.trim().eq_ignore_ascii_case(EXAMPLE))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use super::*;
    use crate::intake::{Options, Reader, Row, Rules, ServiceRule, is_workbook};

    fn template(kind: PaymentKind) -> Template {
        let service = |code, currency| {
            let code = ServiceCode::parse(code).unwrap();
            (code, Currency::from_code(currency).unwrap())
        };
        Template {
            kind,
            services: vec![service("A_KES", "KES"), service("B_UGX", "UGX")],
            country: Country::from_code("KE"),
        }
    }

    fn rules(template: &Template) -> Arc<Rules> {
        let services = template.services.iter().map(|(code, currency)| {
            let rule = ServiceRule {
                kind: template.kind,
                currency: Some(*currency),
                min: None,
                max: None,
                account_format: None,
                takes_landlines: false,
            };
            (code.clone(), rule)
        });
        Arc::new(Rules {
            services: services.collect(),
            ..Rules::default()
        })
    }

    fn rows(bytes: Vec<u8>, rules: Arc<Rules>) -> Vec<Row> {
        let options = Options::default();
        let reader = match is_workbook(Cursor::new(&bytes)) {
            true => Reader::open_workbook(Cursor::new(bytes), &options, rules),
            false => Reader::open(Cursor::new(bytes), &options, rules),
        };
        reader.unwrap().map(Result::unwrap).collect()
    }

    fn errors(rows: &[Row]) -> Vec<String> {
        let of = |row: &Row| match row {
            Row::Bad(row) => row.told_text(),
            other => panic!("{other:?}"),
        };
        rows.iter().map(of).collect()
    }

    #[test]
    fn an_example_that_is_left_in_is_refused_in_every_kind_and_form() {
        for (kind, name) in PaymentKind::ALL {
            let template = template(kind);
            let (mut csv, mut xlsx) = (Vec::new(), Cursor::new(Vec::new()));
            template.write_csv(&mut csv).unwrap();
            template.write_xlsx(&mut xlsx).unwrap();
            for bytes in [csv, xlsx.into_inner()] {
                let found = errors(&rows(bytes, rules(&template)));
                assert_eq!(found.len(), 1, "{name}");
                assert!(
                    found[0].contains("example row of a template"),
                    "{name}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn an_example_without_its_mark_is_no_payment_either() {
        for (kind, name) in PaymentKind::ALL {
            let template = template(kind);
            let mut csv = Vec::new();
            template.write_csv(&mut csv).unwrap();
            let text = String::from_utf8(csv)
                .unwrap()
                .replace(EXAMPLE, "Ana 12345");
            let found = errors(&rows(text.into_bytes(), rules(&template)));
            assert!(found[0].contains("msisdn"), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_row_that_is_filled_in_is_read_digit_for_digit() {
        let template = template(PaymentKind::Bank);
        let mut csv = Vec::new();
        template.write_csv(&mut csv).unwrap();
        let text = String::from_utf8(csv).unwrap();
        let (header, _) = text.split_once('\n').unwrap();
        let row = "P-1,A_KES,254712345678,1500.50,KES,KE,Ana Were,Wages,01,Mlima Bank,Ana Were,0012345678901";
        let read = rows(format!("{header}\n{row}\n").into_bytes(), rules(&template));
        let [Row::Good(row)] = read.as_slice() else {
            panic!("{read:?}");
        };
        assert_eq!(row.account_number, "0012345678901");
        assert_eq!(row.money.to_string(), "1500.50");
    }

    #[test]
    fn a_template_is_the_same_each_time() {
        let made = || {
            let mut book = Cursor::new(Vec::new());
            template(PaymentKind::Bank).write_xlsx(&mut book).unwrap();
            book.into_inner()
        };
        assert!(made() == made());
    }
}
