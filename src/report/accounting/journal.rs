//! The journal of lines: of every payment a debit and a credit of one amount, so that the file balances whatever it holds.

use std::io::{self, Write};

use super::chart::{Chart, Field};
use crate::domain::{Day, Money, Totals};
use crate::report::words::text::{for_spreadsheet, verbatim};

/// A payment, or a charge, as it is booked.
#[derive(Clone, Copy, Debug)]
pub struct Booked<'a> {
    /// The day.
    pub day: Day,
    /// What both lines have in common: the payment's identifier, the digest of the statement that told a charge.
    pub entry: &'a str,
    /// The amount.
    pub money: Money,
    /// The account that is debited.
    pub debit: &'a str,
    /// What it is for, in words.
    pub text: &'a str,
    /// The row's own reference.
    pub reference: &'a str,
    /// Our identifier; empty of a charge.
    pub identifier: &'a str,
    /// The receipt.
    pub receipt: &'a str,
    /// The gateway's identifier.
    pub gateway_id: &'a str,
    /// The service.
    pub service: &'a str,
    /// Who was paid.
    pub names: &'a str,
    /// The number that was paid.
    pub msisdn: &'a str,
    /// The account that was paid.
    pub paid_account: &'a str,
    /// The narration.
    pub narration: &'a str,
    /// The invoice.
    pub invoice: &'a str,
    /// The line of the batch file; 0 of a charge.
    pub line: u64,
}

/// Writes the lines.
#[derive(Debug)]
pub struct Journal<'a, W: Write> {
    csv: csv::Writer<W>,
    chart: &'a Chart,
    batch: &'a str,
    originator: &'a str,
    booked: Totals,
}

impl<'a, W: Write> Journal<'a, W> {
    /// Writes the headers.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(
        output: W,
        chart: &'a Chart,
        (batch, originator): (&'a str, &'a str),
    ) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(output);
        csv.write_record(chart.columns.iter().map(|column| column.header.as_str()))?;
        Ok(Self {
            csv,
            chart,
            batch,
            originator,
            booked: Totals::default(),
        })
    }

    /// Writes the debit and the credit of one amount.
    ///
    /// # Errors
    /// What the output reports.
    pub fn add(&mut self, booked: &Booked<'_>) -> io::Result<()> {
        for is_debit in [true, false] {
            for column in &self.chart.columns {
                let cell = self.cell(booked, column.field, is_debit);
                self.csv.write_field(cell)?;
            }
            self.csv.write_record(None::<&[u8]>)?;
        }
        self.booked.add(booked.money);
        Ok(())
    }

    /// Ends the file; returns what was debited, and credited, in all.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(self) -> io::Result<(W, Totals)> {
        let output = self
            .csv
            .into_inner()
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok((output, self.booked))
    }

    fn cell(&self, booked: &Booked<'_>, field: Field, is_debit: bool) -> String {
        let amount = || booked.money.to_string();
        let (chart, identifying) = (self.chart, |text: &str| verbatim(text).into_owned());
        match field {
            Field::Date => booked.day.to_string(),
            Field::Entry => identifying(booked.entry),
            Field::Account if is_debit => identifying(booked.debit),
            Field::Account => identifying(&chart.credit),
            Field::Debit if is_debit => amount(),
            Field::Credit if !is_debit => amount(),
            Field::Debit | Field::Credit => String::new(),
            Field::Amount if is_debit => amount(),
            Field::Amount => format!("-{}", amount()),
            Field::Currency => booked.money.currency.code().to_owned(),
            Field::Text => for_spreadsheet(booked.text).into_owned(),
            Field::Reference => identifying(booked.reference),
            Field::Identifier => identifying(booked.identifier),
            Field::Receipt => identifying(booked.receipt),
            Field::GatewayId => identifying(booked.gateway_id),
            Field::Service => identifying(booked.service),
            Field::Batch => identifying(self.batch),
            Field::Originator => identifying(self.originator),
            Field::Names => for_spreadsheet(booked.names).into_owned(),
            Field::Msisdn => identifying(booked.msisdn),
            Field::PaidAccount => identifying(booked.paid_account),
            Field::Narration => for_spreadsheet(booked.narration).into_owned(),
            Field::Invoice => identifying(booked.invoice),
            Field::Line if booked.line == 0 => String::new(),
            Field::Line => booked.line.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::{Amount, Currency};
    use crate::report::accounting::chart::Column;

    fn booked(amount: &str) -> Booked<'_> {
        let currency = Currency::from_code("KES").unwrap();
        Booked {
            day: Day::of_date(2026, 11, 28).unwrap(),
            entry: "E1",
            money: Money {
                amount: Amount::parse(amount, currency).unwrap(),
                currency,
            },
            debit: "5100",
            text: "=salary",
            reference: "00123",
            identifier: "E1",
            receipt: "R1",
            gateway_id: "9",
            service: "B2C",
            names: "Asha",
            msisdn: "254700000001",
            paid_account: "254700000001",
            narration: "November",
            invoice: "",
            line: 2,
        }
    }

    fn chart(columns: &[&str]) -> Chart {
        Chart {
            debit: "5100".to_owned(),
            debit_of: BTreeMap::new(),
            credit: "1010".to_owned(),
            fees: None,
            columns: columns
                .iter()
                .map(|text| Column::parse(text).unwrap())
                .collect(),
        }
    }

    #[test]
    fn every_amount_is_debited_and_credited_once() {
        let chart = chart(&[
            "date",
            "Konto=account",
            "debit",
            "credit",
            "amount",
            "currency",
        ]);
        let mut journal = Journal::create(Vec::new(), &chart, ("b", "acme")).unwrap();
        journal.add(&booked("1500.50")).unwrap();
        journal.add(&booked("2.00")).unwrap();
        let (bytes, total) = journal.finish().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "date,Konto,debit,credit,amount,currency\n\
             2026-11-28,5100,1500.50,,1500.50,KES\n\
             2026-11-28,1010,,1500.50,-1500.50,KES\n\
             2026-11-28,5100,2.00,,2.00,KES\n\
             2026-11-28,1010,,2.00,-2.00,KES\n"
        );
        assert_eq!(total.decimals(), [("KES", "1502.50".to_owned())].into());
    }

    #[test]
    fn no_cell_runs_in_a_spreadsheet_and_no_digit_is_lost() {
        let chart = chart(&["text", "reference"]);
        let mut journal = Journal::create(Vec::new(), &chart, ("b", "acme")).unwrap();
        journal.add(&booked("1.00")).unwrap();
        let (bytes, _) = journal.finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("'=salary,'00123"), "{text}");
    }
}
