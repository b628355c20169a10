//! What the gateway said of a payment, beside the status code.

use super::GatewayTransactionId;

/// The words that came with a status code, or what happened instead of one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ResponseDetails {
    /// `statusDescription`, bounded and without control characters.
    pub description: String,
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: Option<GatewayTransactionId>,
    /// `receiptNumber`; after a 148 the application id.
    pub receipt_number: Option<String>,
    /// `receiverNarration`; it may hold a prepaid token, which is money.
    pub receiver_narration: Option<String>,
    /// The HTTP status of the reply.
    pub http_status: Option<u16>,
    /// What happened when there was no entry about the payment: `timed out after 60s`, `HTTP 504`.
    pub cause: String,
    /// What did not fit in the reply.
    pub anomaly: Option<String>,
    /// Amounts, currencies and numbers that stood beside the status code: they must be ours, or the words are not about us.
    pub named: Vec<Named>,
}

/// A member of a reply that names what the payment is, beside its identifier.
#[derive(Clone, PartialEq, Eq)]
pub struct Named {
    /// Which one.
    pub member: Member,
    /// Its value, digit by digit.
    pub text: String,
    /// It is a JSON number: a point in it is a decimal point, whatever the country.
    pub is_number: bool,
}

/// What a reply may name of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// `amount`.
    Amount,
    /// `currencyCode`, or `currency`.
    Currency,
    /// `MSISDN`, or `msisdn`.
    Msisdn,
    /// `accountNumber`.
    Account,
}

// A number has no place in a log.
impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named")
            .field("member", &self.member)
            .finish_non_exhaustive()
    }
}

// Receipts and narrations are bearer values: they stay out of logs.
impl std::fmt::Debug for ResponseDetails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Said")
            .field("description", &self.description)
            .field("http_status", &self.http_status)
            .field("cause", &self.cause)
            .field("anomaly", &self.anomaly)
            .finish_non_exhaustive()
    }
}
