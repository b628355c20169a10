//! Which meters and bills there are. Made up, and decided by the number alone.

use crate::domain::PaymentKind;
use crate::sandbox::books::event::Post;

/// How many digits a prepaid meter has.
const METER_DIGITS: usize = 11;
/// How many digits the account of a bill has at least.
const BILL_DIGITS_MIN: usize = 5;

/// What a biller says of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum BillAccount {
    /// There is no such account.
    Invalid,
    /// Nothing is due.
    Settled,
    /// A bill is due; the last four digits of the account decide how much.
    Due(u32),
}

/// Asks the biller of postpaid services.
pub(in crate::sandbox) fn bill_account(account: &str) -> BillAccount {
    let digits = account.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || account.len() < BILL_DIGITS_MIN {
        return BillAccount::Invalid;
    }
    match account[account.len() - 4..].parse() {
        Ok(0) | Err(_) => BillAccount::Settled,
        Ok(last) => BillAccount::Due(last),
    }
}

/// Whether an electricity company has this meter.
pub(in crate::sandbox) fn is_meter(account: &str) -> bool {
    account.len() == METER_DIGITS && account.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the payment is for a meter that no electricity company has.
pub(in crate::sandbox) fn lacks_meter(post: &Post) -> bool {
    post.kind == PaymentKind::BillPrepaid && !is_meter(&post.account)
}
