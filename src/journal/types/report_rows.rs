//! A row as a report lists it.

use crate::domain::{BankAccount, Money, Timestamp};
use crate::journal::ReportRow;
use crate::lifecycle::State;

/// One row of a batch, told while the journal is read.
#[derive(Debug)]
pub enum ListedRow<'a> {
    /// A payment of which there is no more to say: no retry, no decision, still asked about when it is in doubt.
    Plain(ListedPayment<'a>),
    /// Every other row.
    Other(ReportRow),
}

/// A payment in the journal's own texts: nothing is copied. Texts that it does not have are empty.
pub struct ListedPayment<'a> {
    /// The line of its file.
    pub line: u64,
    /// The payer's own reference.
    pub reference: &'a str,
    /// `payerTransactionID`.
    pub id: &'a str,
    /// `serviceCode`.
    pub service: &'a str,
    /// `MSISDN`.
    pub msisdn: &'a str,
    /// `accountNumber`.
    pub account_number: &'a str,
    /// The amount.
    pub money: Money,
    /// Where it stands.
    pub state: State,
    /// The code that proved the state.
    pub code: Option<i32>,
    /// `statusDescription`.
    pub status_description: &'a str,
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: &'a str,
    /// `receiptNumber`.
    pub receipt_number: &'a str,
    /// The `receiptNumber` that came with a delivery to the bank (148).
    pub application_id: &'a str,
    /// `receiverNarration`.
    pub receiver_narration: &'a str,
    /// `customerNames`.
    pub customer_names: &'a str,
    /// `narration`.
    pub narration: &'a str,
    /// `invoiceNumber`.
    pub invoice_number: &'a str,
    /// The bank account that it goes to.
    pub bank: BankAccount<'a>,
    /// The time before which it is not posted, in RFC 3339.
    pub not_before: &'a str,
    /// What the message called it that it came in.
    pub origin: &'a str,
    /// How many times it was posted.
    pub attempts: u32,
    /// The last post.
    pub posted_at: Option<Timestamp>,
    /// When it reached its end.
    pub settled_at: Option<Timestamp>,
}

// Debug output ends up in logs, where numbers and accounts have no place.
impl std::fmt::Debug for ListedPayment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListedPayment")
            .field("line", &self.line)
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
