//! One run: what is ordered, what it works on, and what it came to.

use tokio_util::sync::CancellationToken;

use super::super::arguments::RunOptions;
use super::super::config::Settings;
use super::super::session::Session;
use super::confirm::Declared;
use super::probe::Probed;
use crate::domain::BatchName;
use crate::engine::Summary;
use crate::journal::Journal;
use crate::ledger::recovery::OrdersLost;

/// What is called otherwise now.
#[derive(Clone, Copy)]
pub(super) enum What {
    Account,
    Gateway,
    Both,
}

impl What {
    /// Returns the order as it is typed.
    pub(super) fn flags(self) -> &'static str {
        match self {
            Self::Account => "--account-moved",
            Self::Gateway => "--gateway-moved",
            Self::Both => "--account-moved --gateway-moved",
        }
    }

    /// Says what has changed.
    pub(super) fn changed(self) -> &'static str {
        match self {
            Self::Account => "the account has another name",
            Self::Gateway => "the gateway has another address",
            Self::Both => "the account has another name, and the gateway another address",
        }
    }
}

/// What a person orders for one run, beside its options.
pub(super) struct Orders {
    /// What of where the batch belongs has another name now, and why.
    pub(super) moved: Option<(What, String)>,
    /// A head that the evidence of the batch must have had.
    pub(super) head: Option<[u8; 32]>,
    /// What the whole batch is to come to.
    pub(super) declared: Declared,
    /// What resumes the run.
    pub(super) resume: String,
    /// The one payment of the batch is posted a second time once it is paid.
    pub(super) probes: bool,
}

/// What a run came to.
pub(super) struct Outcome {
    pub(super) summary: Summary,
    /// A run asks whether held lanes have float again.
    pub(super) reopens_lanes: bool,
    /// Orders of people that the journal does not know of: nothing was posted because of them.
    pub(super) orders_lost: OrdersLost,
    pub(super) ledger: Option<crate::sandbox::Verdict>,
    /// What came of a second post that was ordered.
    pub(super) probed: Option<Probed>,
}

pub(super) struct Job<'a> {
    pub(super) session: &'a Session,
    pub(super) settings: &'a Settings,
    pub(super) journal: &'a Journal,
    pub(super) batch: &'a BatchName,
    pub(super) options: &'a RunOptions,
    pub(super) orders: Orders,
    /// Orders of people that the journal does not know of: nothing is posted until they were given again.
    pub(super) orders_lost: OrdersLost,
    pub(super) drain: CancellationToken,
}
