//! What helps against a failure, by its code: one piece of advice for each, whoever gives it.

use crate::domain::PaymentKind;

/// What helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// The row is wrong: what of it is corrected, and to what, where that is known.
    Correct(&'static str),
    /// The row is right: what is done first, before it is paid anew.
    PayAnew(&'static str),
    /// One of the two is wrong, and the gateway's people know which.
    Ask {
        /// What they are asked.
        first: &'static str,
        /// What of the row is corrected where it is wrong; `None`: it is loaded anew.
        correct: Option<&'static str>,
    },
}

/// Returns what helps against a failure with this code. `kind`: what its service sells, if that is known.
// The codes of section 7.2 whose remedy is known. The gateway's own description is shown beside it.
#[must_use]
pub fn help(code: i64, kind: Option<PaymentKind>) -> Help {
    use PaymentKind::{Airtime, Bank, BillPostpaid, BillPrepaid, MobileMoney, Rtgs};
    match (code, kind) {
        (106, _) => Help::PayAnew("Ask the gateway's people to activate the service"),
        (109 | 110, _) => Help::Correct("the msisdn"),
        (111, Some(BillPrepaid | BillPostpaid)) => {
            Help::Correct("the amount, as the bill says it,")
        }
        (111, _) => Help::Correct("the amount or the invoice_number"),
        (115 | 167, _) => Help::Ask {
            first: "Ask the gateway's people whether it has the service, and in which currency",
            correct: None,
        },
        (120, Some(Bank | Rtgs)) => Help::Correct("the bank_account_number"),
        (120, Some(BillPrepaid | BillPostpaid)) => Help::Correct("the account_number"),
        // Every post carries the number as its account: it was not the file that left it out.
        (120, Some(MobileMoney | Airtime)) => Help::Ask {
            first: "Ask the gateway's people which account it expects",
            correct: Some("the account_number"),
        },
        (120, None) => Help::Ask {
            first: "Ask the gateway's people which account it expects",
            correct: Some("the account_number (at a bank, the bank_account_number)"),
        },
        (143, _) => Help::PayAnew("Nothing else needs a correction"),
        (146, Some(BillPrepaid | BillPostpaid)) => {
            Help::Correct("the account_number or the invoice_number")
        }
        (146, _) => Help::Correct("the invoice_number"),
        (230, _) => Help::PayAnew("Top up the float account"),
        (231 | 232, _) => Help::Correct("the amount, within the limits of the service,"),
        _ => Help::PayAnew("Ask the recipient or the gateway's people for the reason"),
    }
}
