//! Batch files, made from a seed.

use std::fmt::Write;

use fastrand::Rng;

/// One row of a batch file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub reference: String,
    pub service: &'static str,
    pub msisdn: String,
    /// In cents.
    pub minor: i64,
}

impl Row {
    pub fn amount(&self) -> String {
        decimal(self.minor)
    }
}

/// Makes rows; the same seed makes the same ones.
pub fn rows(count: usize, seed: u64) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    (1..=count)
        .map(|number| Row {
            reference: format!("R{number:05}"),
            service: ["B2C_MPESA", "B2C_MPESA", "B2C_AIRTEL", "B2C_TKASH"][rng.usize(..4)],
            msisdn: format!("254712{:06}", rng.u32(..1_000_000)),
            minor: rng.i64(1_000..25_000_000),
        })
        .collect()
}

/// Renders rows as a CSV file.
pub fn csv(rows: &[Row]) -> String {
    let mut text = "reference,service_code,msisdn,amount,currency_code\n".to_owned();
    for row in rows {
        writeln!(
            text,
            "{},{},{},{},KES",
            row.reference,
            row.service,
            row.msisdn,
            row.amount()
        )
        .unwrap();
    }
    text
}

/// Renders cents as an amount.
pub fn decimal(minor: i64) -> String {
    format!("{}.{:02}", minor / 100, minor % 100)
}

/// Reads an amount with two decimals as cents.
#[track_caller]
pub fn minor(decimal: &str) -> i64 {
    let (whole, cents) = decimal.split_once('.').expect("two decimals");
    assert_eq!(cents.len(), 2, "{decimal}");
    whole.parse::<i64>().unwrap() * 100 + cents.parse::<i64>().unwrap()
}
