//! The accounts and the columns that an organisation's books have.

use std::collections::BTreeMap;

/// Which accounts are debited and credited, and which columns the journal has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The account that is debited.
    pub debit: String,
    /// Another one for a service.
    pub debit_of: BTreeMap<String, String>,
    /// The account that is credited: what the gateway is paid from.
    pub credit: String,
    /// The account of charges, where a statement told some.
    pub fees: Option<String>,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Chart {
    /// Returns the account that a payment of this service debits.
    #[must_use]
    pub fn debit_of(&self, service: &str) -> &str {
        self.debit_of.get(service).unwrap_or(&self.debit)
    }

    /// The columns where the configuration names none.
    #[must_use]
    pub fn usual_columns() -> Vec<Column> {
        FIELDS
            .iter()
            .take(USUAL)
            .map(|(name, field)| Column {
                header: (*name).to_owned(),
                field: *field,
            })
            .collect()
    }
}

/// A column of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its header.
    pub header: String,
    /// What it holds.
    pub field: Field,
}

impl Column {
    /// Reads `field`, or `Header=field`; `None` where there is no such field.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (header, name) = text.rsplit_once('=').unwrap_or((text, text));
        let (_, field) = FIELDS.iter().find(|(known, _)| *known == name.trim())?;
        Some(Self {
            header: header.trim().to_owned(),
            field: *field,
        })
    }
}

/// What a column of the journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The day of the payment, in the profile's zone.
    Date,
    /// What both lines of a payment have in common.
    Entry,
    /// The account.
    Account,
    /// The amount of a debit; empty of a credit.
    Debit,
    /// The amount of a credit; empty of a debit.
    Credit,
    /// The currency.
    Currency,
    /// What the line is for, in words.
    Text,
    /// The row's own reference.
    Reference,
    /// Our identifier.
    Identifier,
    /// The receipt.
    Receipt,
    /// The amount, negative of a credit.
    Amount,
    /// The gateway's identifier.
    GatewayId,
    /// The service.
    Service,
    /// The batch.
    Batch,
    /// Who paid.
    Originator,
    /// Who was paid.
    Names,
    /// The number that was paid.
    Msisdn,
    /// The account that was paid.
    PaidAccount,
    /// The narration.
    Narration,
    /// The invoice.
    Invoice,
    /// The line of the batch file.
    Line,
}

/// How many of [`FIELDS`] the journal has by default.
const USUAL: usize = 10;

/// The fields by their names.
pub const FIELDS: [(&str, Field); 21] = [
    ("date", Field::Date),
    ("entry", Field::Entry),
    ("account", Field::Account),
    ("debit", Field::Debit),
    ("credit", Field::Credit),
    ("currency", Field::Currency),
    ("text", Field::Text),
    ("reference", Field::Reference),
    ("payer_transaction_id", Field::Identifier),
    ("receipt_number", Field::Receipt),
    ("amount", Field::Amount),
    ("gateway_transaction_id", Field::GatewayId),
    ("service_code", Field::Service),
    ("batch", Field::Batch),
    ("originator", Field::Originator),
    ("customer_names", Field::Names),
    ("msisdn", Field::Msisdn),
    ("account_number", Field::PaidAccount),
    ("narration", Field::Narration),
    ("invoice_number", Field::Invoice),
    ("line", Field::Line),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_header_that_the_books_want() {
        for (text, expected) in [
            ("debit", Some(("debit", Field::Debit))),
            ("Soll = debit", Some(("Soll", Field::Debit))),
            ("a=b=date", Some(("a=b", Field::Date))),
            ("Haben=credits", None),
            ("", None),
        ] {
            let read = Column::parse(text);
            let read = read
                .as_ref()
                .map(|column| (column.header.as_str(), column.field));
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn a_service_may_have_an_account_of_its_own() {
        let chart = Chart {
            debit: "5100".to_owned(),
            debit_of: BTreeMap::from([("AIRTIME".to_owned(), "5200".to_owned())]),
            credit: "1010".to_owned(),
            fees: None,
            columns: Chart::usual_columns(),
        };
        assert_eq!(chart.debit_of("AIRTIME"), "5200");
        assert_eq!(chart.debit_of("B2C"), "5100");
    }
}
