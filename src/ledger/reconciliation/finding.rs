//! What the lines about a payment add up to.

use super::entry::{Flow, Standing, StatementEntry};
use super::view::{MatchedBy, PaymentView};
use crate::domain::{Member, Money, Named};
use crate::ledger::{Ours, Recipient, judge};
use crate::lifecycle::State;

/// What one line that names a payment says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// The money has left.
    Paid,
    /// It came back.
    Returned,
    /// It is announced.
    Pending,
    /// It was tried, and did not move: a statement proves no failure.
    NotExecuted,
    /// Another amount, or another currency.
    OtherAmount,
    /// Another number or account.
    OtherRecipient,
    /// It is dated before the payment was there.
    Earlier,
    /// What was charged for it: a list may show that under the receipt of the payment.
    Charge,
    /// Its amount, as a charge or as a movement that takes another one back.
    OtherKind,
}

/// Returns what a line that names a payment says of it. What names another amount, currency or number is no evidence about ours.
#[must_use]
pub fn bearing(payment: &PaymentView<'_>, entry: &StatementEntry) -> Bearing {
    if entry.standing == Standing::NotExecuted {
        return Bearing::NotExecuted;
    }
    if entry.day < payment.from {
        return Bearing::Earlier;
    }
    if entry.flow == Flow::In {
        return match entry.standing {
            Standing::Booked if !is_whole(payment.money, entry.money) => Bearing::OtherAmount,
            Standing::Booked => Bearing::Returned,
            Standing::Pending | Standing::NotExecuted | Standing::Unclear => Bearing::Pending,
        };
    }
    let is_less = entry.money.currency == payment.money.currency
        && entry.money.amount.minor() < payment.money.amount.minor();
    if entry.is_charge && is_less && !entry.reversal {
        return Bearing::Charge;
    }
    if entry.money != payment.money {
        return Bearing::OtherAmount;
    }
    if entry.reversal || entry.is_charge {
        return Bearing::OtherKind;
    }
    if names_other(payment, &entry.recipient) {
        return Bearing::OtherRecipient;
    }
    match entry.standing {
        Standing::Booked => Bearing::Paid,
        Standing::Pending | Standing::NotExecuted | Standing::Unclear => Bearing::Pending,
    }
}

/// Returns what a line that names a payment otherwise than it is has moved under its name, in minor units of the payment: out above zero,
/// in below. Whatever amount, recipient or day the line has, somebody has the money, and the payment must not leave again unseen.
///
/// Of another currency, the whole payment.
#[must_use]
pub fn moved_otherwise(payment: &PaymentView<'_>, entry: &StatementEntry) -> i64 {
    let is_otherwise = match bearing(payment, entry) {
        Bearing::OtherAmount | Bearing::OtherRecipient | Bearing::Earlier | Bearing::OtherKind => {
            true
        }
        // Whoever calls half of the amount or more a charge may have the words for charges wrong.
        Bearing::Charge => {
            entry.money.amount.minor().saturating_mul(2) >= payment.money.amount.minor()
        }
        Bearing::Paid | Bearing::Returned | Bearing::Pending | Bearing::NotExecuted => false,
    };
    if !is_otherwise || entry.standing != Standing::Booked {
        return 0;
    }
    let money = match entry.money.currency == payment.money.currency {
        true => entry.money,
        false => payment.money,
    };
    match entry.flow {
        Flow::Out => money.amount.minor(),
        Flow::In => -money.amount.minor(),
    }
}

/// Returns whether a payment came back, and not some of it, such as a discount: less a charge, perhaps.
fn is_whole(paid: Money, returned: Money) -> bool {
    let (paid_minor, back) = (paid.amount.minor(), returned.amount.minor());
    paid.currency == returned.currency && back <= paid_minor && back > paid_minor / 2
}

/// Returns whether a line is to somebody else, however it is read.
fn names_other(payment: &PaymentView<'_>, recipient: &str) -> bool {
    !recipient.trim().is_empty()
        && [Member::Account, Member::Msisdn].into_iter().all(|member| {
            let judgement = judge(&[named(member, recipient)], &ours(payment));
            judgement.differs.is_some()
        })
}

/// Returns whether a line is to our recipient: what a line without a name has to be.
#[must_use]
pub fn is_to(payment: &PaymentView<'_>, recipient: &str) -> bool {
    let whole = [recipient.trim()];
    let words = recipient.split(|c: char| !c.is_ascii_alphanumeric() && c != '+');
    whole.into_iter().chain(words).any(|text| {
        [Member::Account, Member::Msisdn].into_iter().any(|member| {
            // The number beside a bank account is not the account that was paid.
            let speaks = member == Member::Account || payment.account == payment.msisdn.as_str();
            speaks && judge(&[named(member, text)], &ours(payment)).agrees
        })
    })
}

fn named(member: Member, text: &str) -> Named {
    Named {
        member,
        text: text.to_owned(),
        is_number: false,
    }
}

fn ours<'a>(payment: &PaymentView<'a>) -> Ours<'a> {
    Ours {
        money: payment.money,
        recipient: Some(Recipient {
            msisdn: payment.msisdn,
            account: payment.account,
            country: payment.country,
        }),
    }
}

/// What all lines about one payment add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// How many show that its money left.
    pub paid: u32,
    /// How many show that it came back.
    pub returned: u32,
    /// How many announce it.
    pub pending: u32,
    /// How many name it with another amount.
    pub other_amount: u32,
    /// How many name it with another number, or before it was there.
    pub other: u32,
    /// What left under its name with another amount, for somebody else or before it was there, less what came back so, in minor units.
    pub otherwise: i64,
    /// A line of money that left names it among others.
    pub among: bool,
    /// The line that has its amount and its recipient may be about another payment as well.
    pub unsure: bool,
    /// The amount of the payment, in minor units.
    pub amount: i64,
    /// How the first that counts was found.
    pub by: Option<MatchedBy>,
    /// Number of the first line that says most of it.
    pub entry: Option<i64>,
    told: u8,
}

impl Shown {
    /// Nothing yet of a payment.
    #[must_use]
    pub fn about(payment: &PaymentView<'_>) -> Self {
        Self {
            amount: payment.money.amount.minor(),
            ..Self::default()
        }
    }

    /// What was added up before: of lines that show it paid, returned, announced, with another amount, for somebody else; and what left
    /// otherwise of which amount.
    #[must_use]
    pub fn of(
        counts: [u32; 5],
        (otherwise, amount): (i64, i64),
        by: Option<MatchedBy>,
        entry: Option<i64>,
    ) -> Self {
        let [paid, returned, pending, other_amount, other] = counts;
        let told = [
            (paid, 5),
            (returned, 4),
            (other_amount, 3),
            (other, 2),
            (pending, 1),
        ];
        let told = told.into_iter().find(|(count, _)| *count > 0);
        Self {
            otherwise,
            amount,
            among: false,
            unsure: false,
            paid,
            returned,
            pending,
            other_amount,
            other,
            by,
            entry,
            told: told.map_or(0, |(_, weight)| weight),
        }
    }

    /// Returns how many lines say anything of it.
    #[must_use]
    pub fn counts(&self) -> [u32; 5] {
        [
            self.paid,
            self.returned,
            self.pending,
            self.other_amount,
            self.other,
        ]
    }

    /// Takes in one more line about a payment.
    pub fn take(
        &mut self,
        payment: &PaymentView<'_>,
        entry: &StatementEntry,
        by: MatchedBy,
        number: i64,
    ) {
        let moved = moved_otherwise(payment, entry);
        self.otherwise = self.otherwise.saturating_add(moved);
        self.add(bearing(payment, entry), by, number);
    }

    /// Counts what one more line says.
    pub fn add(&mut self, bearing: Bearing, by: MatchedBy, entry: i64) {
        let (count, weight) = match bearing {
            Bearing::Paid => (&mut self.paid, 5),
            Bearing::Returned => (&mut self.returned, 4),
            Bearing::OtherAmount => (&mut self.other_amount, 3),
            Bearing::OtherRecipient | Bearing::Earlier | Bearing::OtherKind => (&mut self.other, 2),
            Bearing::Pending => (&mut self.pending, 1),
            Bearing::NotExecuted | Bearing::Charge => return,
        };
        *count = count.saturating_add(1);
        if weight > self.told {
            (self.told, self.entry, self.by) = (weight, Some(entry), Some(by));
        }
    }

    /// Returns whether what is not paid here may leave by the statement, or has left. What is only announced may still fail: of a payment that
    /// is open here, the gateway says so later.
    #[must_use]
    pub fn contradicts(&self, state: State) -> bool {
        stands_unpaid(state) && (self.is_out() || self.pending > 0)
    }

    /// Returns whether the amount left more often than once, and did not come back.
    #[must_use]
    pub fn is_twice(&self) -> bool {
        self.paid >= self.returned.saturating_add(2)
    }

    /// Returns whether money has left that did not come back: the amount itself, or under its name half of it or more in another way.
    /// Less than half may be a charge that nobody has named.
    #[must_use]
    pub fn is_out(&self) -> bool {
        let came_back = i64::from(self.returned.saturating_sub(self.paid));
        let otherwise = self
            .otherwise
            .saturating_sub(came_back.saturating_mul(self.amount));
        let is_half = otherwise > 0 && otherwise.saturating_mul(2) >= self.amount;
        planted!(ledger::is_out(
            self.paid > self.returned || is_half || self.among
        ))
    }
}

/// What is found of a payment, or of a line, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The statement shows a payment that is not paid here, and may be paid again.
    PaidThereOnly,
    /// More lines than one show its money leave.
    TwiceThere,
    /// It left, and came back.
    Returned,
    /// It left more often than it came back, by one: the recipient has it once.
    LeftAgain,
    /// The statement shows it with another amount.
    AmountDiffers,
    /// The statement names it, for somebody else, before it was there, or as a charge or a reversal.
    NamesOther,
    /// Its outcome is open here, and the statement shows it paid.
    OpenPaidThere,
    /// It is paid here, and not in the statement.
    MissingThere,
    /// Its outcome is open here, and the statement does not show it, which proves nothing.
    OpenMissing,
    /// The statement only announces it.
    PendingThere,
    /// It lies outside the days of the statement.
    NotCovered,
    /// A line names several of our payments.
    NamesSeveral,
    /// A line of which we know nothing.
    UnknownThere,
    /// Paid on both sides.
    Agreed,
    /// Paid here, and by a statement that was compared before.
    AgreedBefore,
    /// Not paid on either side.
    Unpaid,
    /// Not paid on either side, and a retry stands for its row.
    Replaced,
    /// A line about a payment of another batch.
    OtherBatch,
    /// A charge.
    Charge,
    /// Money that came in, and no return of ours.
    Credit,
    /// A line in a currency that the batch does not have, or that is not executed or only announced, of which we know nothing.
    Aside,
}

impl FindingKind {
    /// All of them, the worst first.
    pub const ALL: [Self; 21] = [
        Self::PaidThereOnly,
        Self::TwiceThere,
        Self::Returned,
        Self::LeftAgain,
        Self::AmountDiffers,
        Self::NamesOther,
        Self::OpenPaidThere,
        Self::MissingThere,
        Self::OpenMissing,
        Self::PendingThere,
        Self::NotCovered,
        Self::NamesSeveral,
        Self::UnknownThere,
        Self::Agreed,
        Self::AgreedBefore,
        Self::Unpaid,
        Self::Replaced,
        Self::OtherBatch,
        Self::Charge,
        Self::Credit,
        Self::Aside,
    ];

    /// Returns whether a person must look at it.
    #[must_use]
    pub fn needs_a_person(self) -> bool {
        self < Self::Agreed
    }

    /// Returns whether the statement shows a payment otherwise than it stands here, and no order of this program settles it.
    #[must_use]
    pub fn is_discrepancy(self) -> bool {
        matches!(
            self,
            Self::TwiceThere
                | Self::Returned
                | Self::LeftAgain
                | Self::AmountDiffers
                | Self::NamesOther
        )
    }

    /// Returns what a person does about it, where this program has no order for that.
    #[must_use]
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::PaidThereOnly => Some(
                "decide each, as is said below. Where several lines are named, more than one amount may have left",
            ),
            Self::TwiceThere => Some(
                "ask the gateway's people for the second amount back, and name both lines; the payment stays as it is here",
            ),
            Self::Returned => Some(
                "find out why the money came back: the recipient does not have it. A payment that is paid here stays so, and no \
                 retry pays it again; a row under another reference does",
            ),
            Self::LeftAgain => Some(
                "by the statement the recipient has it once, so it is not to be paid again: ask the gateway's people why it left more \
                 than once",
            ),
            Self::AmountDiffers => Some(
                "ask the gateway's people what was paid; the payment stays as it is here. What is too much is asked back. What is \
                 missing is paid by a row under another reference, once the payment itself is paid here",
            ),
            Self::NamesOther => Some(
                "ask the gateway's people who was paid, and for what: such a line proves nothing about our payment. If it is the payment itself, \
                the words for charges are wrong (--charge)",
            ),
            Self::UnknownThere => Some(
                "look for them in your other journals and batches; if nobody here paid them, ask the gateway's people",
            ),
            _ => None,
        }
    }

    /// Returns it of a payment that a retry has replaced, or has not: what was not paid then is no row that is still unpaid.
    #[must_use]
    pub fn where_replaced(self, is_replaced: bool) -> Self {
        match self {
            Self::Unpaid if is_replaced => Self::Replaced,
            kind => kind,
        }
    }

    /// Returns its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PaidThereOnly => "paid_there_only",
            Self::TwiceThere => "twice_there",
            Self::Returned => "returned",
            Self::LeftAgain => "left_again",
            Self::AmountDiffers => "amount_differs",
            Self::NamesOther => "names_other",
            Self::OpenPaidThere => "open_paid_there",
            Self::MissingThere => "missing_there",
            Self::OpenMissing => "open_missing",
            Self::PendingThere => "pending_there",
            Self::NotCovered => "not_covered",
            Self::NamesSeveral => "names_several",
            Self::UnknownThere => "unknown_there",
            Self::Agreed => "agreed",
            Self::AgreedBefore => "agreed_before",
            Self::Unpaid => "unpaid",
            Self::Replaced => "replaced",
            Self::OtherBatch => "other_batch",
            Self::Charge => "charge",
            Self::Credit => "credit",
            Self::Aside => "aside",
        }
    }

    /// Returns it in words.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::PaidThereOnly => "paid in the statement, but not here",
            Self::TwiceThere => "paid twice in the statement",
            Self::Returned => "paid, and then returned",
            Self::LeftAgain => "paid more than once, and returned but for one",
            Self::AmountDiffers => "another amount in the statement",
            Self::NamesOther => {
                "in the statement for somebody else, too early, or as a charge or a reversal"
            }
            Self::OpenPaidThere => "open here, and paid in the statement",
            Self::MissingThere => "paid here, and not in the statement",
            Self::OpenMissing => "open here, and not in the statement",
            Self::PendingThere => {
                "only announced in the statement, or named there as failed or taken back"
            }
            Self::NotCovered => "outside the days of the statement",
            Self::NamesSeveral => "lines that name several payments",
            Self::UnknownThere => "lines of which nothing is known here",
            Self::Agreed => "paid on both sides",
            Self::AgreedBefore => "paid here, and in a statement that was compared before",
            Self::Unpaid => "not paid on either side",
            Self::Replaced => "not paid, and replaced by a retry",
            Self::OtherBatch => "lines about other batches",
            Self::Charge => "charges",
            Self::Credit => "credits",
            Self::Aside => "lines set aside",
        }
    }

    /// Finds it by its name in files.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns what is found of a payment. `covered`: the statement shows the days on which a line about it is to be expected.
#[must_use]
pub fn kind(state: State, was_posted: bool, shown: &Shown, covered: bool) -> FindingKind {
    use FindingKind as K;
    if shown.contradicts(state) {
        return K::PaidThereOnly;
    }
    match (shown.paid, shown.returned) {
        (paid, returned @ 1..) if paid == returned + 1 => return K::LeftAgain,
        (_, 1..) => return K::Returned,
        (2.., _) => return K::TwiceThere,
        _ => {}
    }
    if shown.other_amount > 0 {
        return K::AmountDiffers;
    }
    if shown.other > 0 {
        return K::NamesOther;
    }
    // Earlier statements had it so.
    if shown.paid > 0 && shown.otherwise != 0 {
        return K::AmountDiffers;
    }
    match (state, shown.paid) {
        (State::Paid, 1..) => K::Agreed,
        (_, 1..) => K::OpenPaidThere,
        (_, 0) if shown.pending > 0 => K::PendingThere,
        (State::Failed | State::Cancelled | State::Ready, _) => K::Unpaid,
        _ if !was_posted || !covered => K::NotCovered,
        (State::Paid, _) => K::MissingThere,
        _ => K::OpenMissing,
    }
}

/// Returns whether a payment is not paid here, and may be posted, or its row be paid by another payment.
#[must_use]
pub fn stands_unpaid(state: State) -> bool {
    matches!(state, State::Failed | State::Cancelled | State::Ready)
}

/// What is done about a payment whose outcome is open, and that the statement shows paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// The line can be about no other payment.
    Proven,
    /// A person says whether the line is about it.
    Ask,
    /// Nothing, or nothing that a statement decides.
    No,
}

/// Returns whether a payment may be recorded as paid on a statement's word.
///
/// Not what is in conflict: two words disagree on it already, and a person weighs them. Not what came back, was shown twice or with
/// another amount.
#[must_use]
pub fn settle(state: State, shown: &Shown) -> Settle {
    let open = matches!(
        state,
        State::InDoubt | State::Acknowledged | State::Delivered
    );
    let others = (shown.returned, shown.other_amount, shown.other);
    let plain = shown.paid == 1 && others == (0, 0, 0) && shown.otherwise == 0 && !shown.among;
    let open_and_plain = open && planted!(ledger::is_plain(plain, shown));
    let settle = match (open_and_plain, shown.by) {
        (true, Some(by)) if by.is_proof() => Settle::Proven,
        (true, Some(_)) if !shown.unsure => Settle::Ask,
        _ => Settle::No,
    };
    planted!(ledger::settles(settle, open_and_plain))
}
