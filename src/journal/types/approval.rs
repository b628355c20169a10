//! Signatures beside a batch: what the verbs about them take and give.

use crate::domain::{Money, PaymentId, Timestamp};
use crate::ledger::approval::orders::Orders;
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::ssh;
use crate::ledger::approval::text::{Role, Target};
use crate::ledger::confirmation::Bound;

/// Where a batch stands with its signatures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// A rule is in force.
    pub in_force: bool,
    /// The batch needs approval by it.
    pub needed: bool,
    /// So many people approve.
    pub required: u8,
    /// Up to which total of the batch nobody has to.
    pub above: Vec<Money>,
    /// Who signed to have loaded what is there, as far as that counts.
    pub loaded_by: Vec<String>,
    /// So many people of those who may sign have not signed to have loaded rows.
    pub others_left: usize,
    /// Rows that nobody signed to have loaded are there.
    pub unsigned: bool,
    /// Whose approval counts for everything that is there.
    pub approved_by: Vec<String>,
    /// Whose approval counts for a part of it: something came later.
    pub approved_before: Vec<String>,
    /// Who signed to have loaded rows, by signatures that do not count.
    pub unfit_loaders: Vec<String>,
    /// Signatures that do not count, each with the reason.
    pub unfit: Vec<String>,
    /// How far the batch may be posted.
    pub bound: Option<Bound>,
    /// Everything that is there may be posted.
    pub whole: bool,
    /// Something of it is still to be posted.
    pub is_open: bool,
}

impl Approvals {
    /// Returns whether something of the batch waits for signatures.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.needed && !self.whole && self.is_open
    }

    /// Returns whether fewer people are left who may approve all of it than have to.
    #[must_use]
    pub fn is_out_of_people(&self) -> bool {
        self.others_left < usize::from(self.required)
    }

    /// Returns whether nothing of the batch may be posted.
    #[must_use]
    pub fn covers_nothing(&self) -> bool {
        self.needed
            && self
                .bound
                .is_none_or(|bound| bound.instruction == PaymentId::NONE)
    }
}

/// A signature that is to be recorded.
#[derive(Clone, Debug)]
pub struct ToSign {
    /// The text, as it was signed.
    pub text: String,
    /// The signature over it, in its armour.
    pub signature: String,
    /// The rule of now.
    pub rule: Option<Rule>,
    /// Where the batch goes by the configuration; `None`: nothing is approved.
    pub target: Option<Target>,
    /// The time.
    pub now: Timestamp,
}

/// A signature that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What it says.
    pub role: Role,
    /// Who signed.
    pub by: String,
    /// The key.
    pub fingerprint: String,
    /// It had been recorded before.
    pub before: bool,
}

/// Orders that not as many people have signed for as there must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsignedOrders {
    /// The orders; none of them: nobody has to sign.
    pub orders: Orders,
    /// Whose signatures count by now.
    pub signed_by: Vec<String>,
    /// So many people sign.
    pub required: usize,
    /// What else was signed of late about these batches, and why it does not count.
    pub others: Vec<String>,
}

/// An order that somebody has signed for, and that waits for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderWaiting {
    /// What it does.
    pub what: String,
    /// Whose signatures count by now.
    pub signed_by: Vec<String>,
    /// There are as many as there must be: whoever gives it again carries it out.
    pub is_enough: bool,
    /// When the first of them counts no more.
    pub until: Timestamp,
}

/// A signature for orders that is to be recorded.
#[derive(Clone, Debug)]
pub struct OrderToSign {
    /// The orders, as they would be carried out now.
    pub orders: Orders,
    /// The text, as it was signed.
    pub text: String,
    /// The signature over it, in its armour.
    pub signature: String,
    /// Why, in the words of whoever signs.
    pub reason: Option<String>,
    /// The time.
    pub now: Timestamp,
}

/// A signature for orders that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedOrder {
    /// Who signed.
    pub by: String,
    /// The key.
    pub fingerprint: String,
}

/// Why a signature was not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSigned {
    /// No rule asks for it.
    NoRule,
    /// It is not a text of this program.
    NoText,
    /// The journal says something else.
    Differs {
        /// The line of the text.
        is: String,
        /// What it should be.
        should_be: String,
    },
    /// The signature is none, or not over the text.
    Ssh(ssh::Error),
    /// The key may not sign for that person.
    Unfit(String),
    /// Whoever loaded it signs to approve it.
    Loader(String),
    /// Rows have no amount yet.
    AmountsPending(u64),
    /// Nobody has signed to have loaded some of the rows.
    Unloaded,
    /// It says that it was signed at a time to come, or before the newest load.
    Time(Timestamp),
    /// It was made more than a day ago, for an order.
    Stale(Timestamp),
    /// It has counted already, when the order was carried out.
    Spent,
    /// There are as many signatures as are kept of one batch.
    TooMany,
}

/// What somebody looks at before they sign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// The largest payments that are still to be posted, of each currency.
    pub largest: Vec<LargePayment>,
    /// How many different recipients these payments have.
    pub recipients: u64,
    /// How many of them nobody has paid from this journal before.
    pub never_paid: u64,
}

/// One of the largest payments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargePayment {
    /// Line of the file.
    pub line: u64,
    /// Its reference; empty: it has none.
    pub reference: String,
    /// Number or account of the recipient.
    pub recipient: String,
    /// The service.
    pub service: String,
    /// Its amount.
    pub money: Money,
}
