//! What intake promises, one row per case.

mod banks;
mod columns;
mod corrections;
mod csv;
mod documents;
mod files;
mod json;
mod layouts;
mod messages;
mod properties;
mod samples;
mod sheets;

use std::io::Cursor;
use std::sync::Arc;

use super::*;
use crate::domain::{
    AccountFormat, Amount, Country, Currency, Instruction, Money, PaymentKind, ServiceCode,
};

/// The services of the samples, and one of every other kind.
fn rules() -> Arc<Rules> {
    use PaymentKind::{Airtime, Bank, BillPostpaid, BillPrepaid, MobileMoney, Rtgs};
    let service = |code: &str, kind, currency: &str, min, max| {
        let rule = ServiceRule {
            kind,
            currency: Currency::from_code(currency),
            min: Amount::from_minor(min),
            max: Amount::from_minor(max),
            account_format: None,
            takes_landlines: false,
        };
        (ServiceCode::parse(code).unwrap(), rule)
    };
    let services = [
        service("B2C_MPESA", MobileMoney, "KES", 1_000, 25_000_000),
        service("B2C_AIRTEL", MobileMoney, "KES", 1_000, 25_000_000),
        service("B2C_TKASH", MobileMoney, "KES", 1_000, 25_000_000),
        service("REFUND_MPESA", MobileMoney, "KES", 1_000, 25_000_000),
        service("B2C_MTN_UG", MobileMoney, "UGX", 500, 5_000_000),
        service("B2C_VODACOM_TZ", MobileMoney, "TZS", 100_000, 500_000_000),
        service("AIRTIME", Airtime, "KES", 0, 0),
        service("BANK", Bank, "KES", 0, 0),
        service("RTGS", Rtgs, "KES", 0, 0),
        service("POWER", BillPrepaid, "KES", 0, 0),
        service("WATER", BillPostpaid, "", 0, 0),
    ];
    Arc::new(Rules {
        services: services.into_iter().collect(),
        default_country: Country::from_code("KE"),
        default_currency: Currency::from_code("KES"),
        document_thresholds: vec![Money {
            amount: Amount::from_minor(100_000_000).unwrap(),
            currency: Currency::from_code("KES").unwrap(),
        }],
        ..Rules::default()
    })
}

fn open(bytes: impl Into<Vec<u8>>, rules: Arc<Rules>) -> Result<Reader, Error> {
    Reader::open(Cursor::new(bytes.into()), &Options::default(), rules)
}

/// Reads everything, whole-file errors included.
fn read_all(bytes: impl Into<Vec<u8>>, rules: Arc<Rules>) -> Result<Vec<Row>, Error> {
    open(bytes, rules)?.collect()
}

fn read(bytes: impl Into<Vec<u8>>) -> Vec<Row> {
    read_all(bytes, rules()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(bytes: impl Into<Vec<u8>>) -> String {
    let error = read_all(bytes, rules()).expect_err("the file is refused");
    let line = error
        .line()
        .map_or(String::new(), |line| format!("{line}: "));
    format!("{line}{error}")
}

/// The errors of all rows, as they are shown.
fn errors(rows: &[Row]) -> Vec<String> {
    let bad = rows.iter().filter_map(|row| match row {
        Row::Bad(bad) => Some(bad),
        Row::Good(_) | Row::Unpriced(_) | Row::Skipped(_) => None,
    });
    bad.flat_map(|bad| bad.errors.iter().map(ToString::to_string))
        .collect()
}

#[track_caller]
fn good(row: &Row) -> &Instruction {
    match row {
        Row::Good(instruction) => instruction,
        Row::Unpriced(row) => panic!("line {} has no amount", row.line),
        Row::Bad(bad) | Row::Skipped(bad) => panic!("{:?}", bad.errors),
    }
}
