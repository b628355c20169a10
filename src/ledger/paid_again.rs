//! A payment that the gateway tells of as paid, and then as paid under another number of its own: it may have executed one post twice.
//!
//! An identifier has one payment (section 3), and a gateway that tells of it again repeats its numbers. Only callbacks are compared, one with
//! another: what a reply to a post or to a question names may be a number of another kind.

use super::told_identifier::worth_keeping;

/// What a callback names of a payment that it tells of as paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaidAs<'a> {
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: Option<&'a str>,
    /// `receiptNumber`.
    pub receipt_number: Option<&'a str>,
}

/// Returns what is named of another payment, for people; `None`: nothing shows that there are two.
#[must_use]
pub fn paid_again(earlier: PaidAs<'_>, told: PaidAs<'_>) -> Option<String> {
    let numbers = |of: PaidAs<'_>| worth_keeping(of.gateway_transaction_id).map(str::to_owned);
    let receipts = |of: PaidAs<'_>| worth_keeping(of.receipt_number).map(str::to_owned);
    // A receipt may be corrected; where the gateway's number is the same, so is the payment.
    let (what, was, is) = match (numbers(earlier), numbers(told)) {
        (Some(was), Some(is)) => ("number", was, is),
        _ => ("receipt", receipts(earlier)?, receipts(told)?),
    };
    (was != is).then(|| {
        format!(
            "the gateway's {what} {is} of a payment that it has told of as paid, with the {what} {was}: it may have been paid twice"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_or_else_another_receipt_tells_of_another_payment() {
        let of = |gateway_transaction_id, receipt_number| PaidAs {
            gateway_transaction_id,
            receipt_number,
        };
        for (earlier, told, expected) in [
            (of(Some("1"), None), of(Some("1"), None), None),
            (of(Some("1"), None), of(Some("2"), None), Some("number 2")),
            (
                of(Some("1"), Some("R")),
                of(Some("2"), Some("R")),
                Some("number 2"),
            ),
            // Corrected.
            (of(Some("1"), Some("R")), of(Some("1"), Some("S")), None),
            (of(None, Some("R")), of(Some("2"), Some("R")), None),
            (
                of(None, Some("R")),
                of(Some("2"), Some("S")),
                Some("receipt S"),
            ),
            // What stands for nothing is none.
            (of(Some("0"), None), of(Some("2"), None), None),
            (of(Some("1"), Some("N/A")), of(None, Some("S")), None),
            (of(None, None), of(None, None), None),
        ] {
            let found = paid_again(earlier, told);
            let as_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(as_expected, "{earlier:?} {told:?}: {found:?}");
        }
    }
}
