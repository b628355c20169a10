//! Amount, currency and number that a reply names, against ours.
//!
//! Replies write them in many ways, and many replies hide part of a number. What can be read in one way only, and is not
//! ours, is about another payment. What cannot be read, or could be ours, counts as if it were not there.

mod amount;
mod compared;
mod number;

#[cfg(test)]
mod tests;

pub use compared::Recipient;

use crate::domain::{Country, Currency, Member, Money, Msisdn, Named};
use crate::ledger::likeness::of_account;
use compared::Agreement;

/// What we ordered.
#[derive(Clone, Copy, Debug)]
pub struct Ours<'a> {
    /// How much.
    pub money: Money,
    /// To whom; it is not looked at unless a number is named.
    pub recipient: Option<Recipient<'a>>,
}

/// What everything that is named adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What is not ours, for a person; numbers are hidden but for their last digits.
    pub differs: Option<String>,
    /// Amount and number are named, and are ours: the words are about our payment.
    pub is_ours: bool,
    /// Amount or number is named, and is ours: they are read as they are meant.
    pub agrees: bool,
    /// A number or an account is named that cannot be compared with ours, as whom it is of was forgotten.
    pub uncompared: bool,
}

/// What is said of a number or an account that cannot be compared.
pub const UNCOMPARED: &str = "a number that was not compared: whom the payment is of was forgotten";

impl Judgement {
    /// Returns what keeps words from being believed about a payment that stands like this.
    ///
    /// Of one that has ended unpaid, "paid" would say that money moved, and beside a retry that it moved twice: where nobody can
    /// see whether they are about it, the gateway is asked first. Of one that is paid they make at most a conflict, which a
    /// person looks at.
    #[must_use]
    pub fn disbelieved(&self, has_ended_unpaid: bool) -> Option<String> {
        let unproven = self.uncompared && has_ended_unpaid;
        self.differs
            .clone()
            .or_else(|| unproven.then(|| UNCOMPARED.to_owned()))
    }
}

/// Returns whether a number or an account is named, which only our instruction can tell from others.
#[must_use]
pub fn names_recipient(named: &[Named]) -> bool {
    named
        .iter()
        .any(|named| matches!(named.member, Member::Msisdn | Member::Account))
}

/// Compares everything that is named with what we ordered.
#[must_use]
pub fn judge(named: &[Named], ours: &Ours<'_>) -> Judgement {
    judge_by(named, ours, |named| agreement(named, ours))
}

/// The same of a payment whose recipient was forgotten; `is_ours` says of a text, as recipients are compared, whether its
/// pseudonym is that of the payment.
#[must_use]
pub fn judge_forgotten(
    named: &[Named],
    (money, country): (Money, Country),
    is_ours: impl Fn(&str) -> bool,
) -> Judgement {
    // A number that is recognised is ours: all that is named is compared with it, as if nobody had been forgotten.
    let number = named
        .iter()
        .filter(|named| names_recipient(std::slice::from_ref(*named)))
        .filter_map(|named| Msisdn::parse(named.text.trim(), country).ok())
        .find(|number| is_ours(number.as_str()));
    if let Some(msisdn) = number {
        let recipient = Some(Recipient {
            msisdn,
            account: msisdn.as_str(),
            country,
        });
        return judge(named, &Ours { money, recipient });
    }
    let ours = Ours {
        money,
        recipient: None,
    };
    let is_recipient = |text: &str| is_ours(&of_account(text.trim()));
    let judgement = judge_by(named, &ours, |named| match named.member {
        Member::Msisdn | Member::Account if is_recipient(&named.text) => Agreement::Agrees,
        _ => agreement(named, &ours),
    });
    let of_somebody = |named: &&Named| names_recipient(std::slice::from_ref(*named));
    let (same, others): (Vec<&Named>, Vec<&Named>) = named
        .iter()
        .filter(of_somebody)
        .partition(|named| is_recipient(&named.text));
    // Empty, or what stands for nothing.
    let says_something = |named: &&Named| {
        let mut said = named.text.chars();
        said.any(|c| c.is_alphanumeric() && c != '0')
    };
    let uncompared =
        judgement.differs.is_none() && same.is_empty() && others.iter().any(says_something);
    Judgement {
        is_ours: judgement.is_ours && !uncompared,
        agrees: judgement.agrees && !uncompared,
        uncompared,
        ..judgement
    }
}

fn judge_by(
    named: &[Named],
    ours: &Ours<'_>,
    agreement: impl Fn(&Named) -> Agreement,
) -> Judgement {
    let (mut amount, mut recipient) = (false, false);
    for named in named {
        match agreement(named) {
            Agreement::Differs => {
                return Judgement {
                    differs: Some(told(named, ours)),
                    ..Judgement::default()
                };
            }
            Agreement::Agrees => match named.member {
                Member::Amount => amount = true,
                Member::Msisdn | Member::Account => recipient = true,
                Member::Currency => {}
            },
            Agreement::Unreadable => {}
        }
    }
    Judgement {
        differs: None,
        is_ours: amount && recipient,
        agrees: amount || recipient,
        uncompared: false,
    }
}

fn agreement(named: &Named, ours: &Ours<'_>) -> Agreement {
    match (named.member, &ours.recipient) {
        (Member::Amount, _) => amount::compare(&named.text, named.is_number, ours.money),
        (Member::Currency, _) => currency(&named.text, ours.money.currency),
        (Member::Msisdn, Some(to)) => number::compare(&named.text, to.msisdn, to.country),
        (Member::Account, Some(to)) => number::compare_account(&named.text, to),
        (Member::Msisdn | Member::Account, None) => Agreement::Unreadable,
    }
}

fn currency(text: &str, ours: Currency) -> Agreement {
    let text = text.trim();
    if text.eq_ignore_ascii_case(ours.code()) {
        return Agreement::Agrees;
    }
    // `KE`, `Ksh` and `404` may all stand for KES.
    match Currency::from_code(&text.to_ascii_uppercase()) {
        Some(_) => Agreement::Differs,
        None => Agreement::Unreadable,
    }
}

/// Characters of a value from outside that are shown.
const SHOWN_MAX: usize = 40;

fn told(named: &Named, ours: &Ours<'_>) -> String {
    let text = named.text.trim();
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    let (currency, money) = (ours.money.currency, ours.money);
    match (named.member, &ours.recipient) {
        (Member::Amount, _) => format!("the amount {shown}, ours is {currency} {money}"),
        (Member::Currency, _) => format!("the currency {shown}, ours is {currency}"),
        (Member::Msisdn, Some(to)) => {
            let (theirs, ours) = (hidden(text), to.msisdn.masked());
            format!("the number {theirs}, ours is {ours}")
        }
        (Member::Account, Some(to)) => {
            let (theirs, ours) = (hidden(text), hidden(to.account));
            format!("the account {theirs}, ours is {ours}")
        }
        (Member::Msisdn | Member::Account, None) => "another number".to_owned(),
    }
}

/// Hides all but the last four characters.
fn hidden(text: &str) -> String {
    let count = text.chars().count();
    let last: String = text.chars().skip(count.saturating_sub(4)).collect();
    format!(
        "{}{last}",
        "*".repeat(count.saturating_sub(4).min(SHOWN_MAX))
    )
}
