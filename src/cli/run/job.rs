//! One run: what is ordered, what it works on, and what it came to.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::arguments::RunOptions;
use super::super::config::Settings;
use super::super::session::Session;
use super::confirm::Declared;
use super::notices::RunNotices;
use crate::cli::metrics::MetricsEndpoint;
use crate::cli::watch::Watched;
use crate::domain::BatchName;
use crate::engine::Summary;
use crate::journal::Journal;
use crate::ledger::calendar::Calendar;
use crate::ledger::duplicate_check::{DuplicateCheck, NotProbed};
use crate::ledger::limits::Limits;
use crate::ledger::recovery::OrdersLost;

/// What is called otherwise now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum What {
    Account,
    Gateway,
    Both,
}

impl What {
    /// Returns the order as it is typed.
    pub(in crate::cli) fn flags(self) -> &'static str {
        match self {
            Self::Account => "--account-moved",
            Self::Gateway => "--gateway-moved",
            Self::Both => "--account-moved --gateway-moved",
        }
    }

    /// Says what has changed.
    pub(in crate::cli) fn changed(self) -> &'static str {
        match self {
            Self::Account => "the account has another name",
            Self::Gateway => "the gateway has another address",
            Self::Both => "the account has another name, and the gateway another address",
        }
    }
}

/// What a person orders for one run, beside its options.
pub(in crate::cli) struct Orders {
    /// What of where the batch belongs has another name now, and why.
    pub(in crate::cli) moved: Option<(What, String)>,
    /// A head that the evidence of the batch must have had.
    pub(in crate::cli) head: Option<[u8; 32]>,
    /// What the whole batch is to come to.
    pub(in crate::cli) declared: Declared,
    /// What resumes the run.
    pub(in crate::cli) resume: String,
    /// The one payment of the batch is posted a second time once it is paid.
    pub(in crate::cli) probes: bool,
    /// Where it tells how it goes.
    pub(in crate::cli) metrics: Option<MetricsEndpoint>,
}

/// What a run came to.
pub(in crate::cli) struct Outcome {
    pub(in crate::cli) summary: Summary,
    /// A run asks whether held lanes have float again.
    pub(in crate::cli) reopens_lanes: bool,
    /// What `--max-wait` would have to allow for a run to decide about payments in doubt, where it allows less.
    pub(in crate::cli) decides_within: Option<Duration>,
    /// Orders of people that the journal does not know of: nothing was posted because of them.
    pub(in crate::cli) orders_lost: OrdersLost,
    pub(in crate::cli) ledger: Option<crate::sandbox::Verdict>,
    /// When services were open for it.
    pub(in crate::cli) calendar: Arc<Calendar>,
    /// What came of a second post that was ordered.
    pub(in crate::cli) probed: Option<Probed>,
}

pub(in crate::cli) struct Job<'a> {
    pub(in crate::cli) session: &'a Session,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) journal: &'a Journal,
    pub(in crate::cli) batch: &'a BatchName,
    pub(in crate::cli) options: &'a RunOptions,
    pub(in crate::cli) orders: Orders,
    /// Orders of people that the journal does not know of: nothing is posted until they were given again.
    pub(in crate::cli) orders_lost: OrdersLost,
    /// How much may be paid, to whom, and when.
    pub(in crate::cli) ceilings: Option<Arc<Limits>>,
    pub(in crate::cli) drain: CancellationToken,
    /// When services are open.
    pub(in crate::cli) calendar: Arc<Calendar>,
    /// Whom it tells how the batch goes.
    pub(in crate::cli) notices: Option<RunNotices>,
    /// Where a browser is shown it.
    pub(in crate::cli) page: Option<&'a Watched>,
}

/// What came of the second post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Probed {
    /// It left, and this was answered.
    Answered {
        /// What that shows.
        check: DuplicateCheck,
        /// The status code.
        code: Option<i32>,
        /// The gateway's words, or why there are none.
        words: String,
    },
    /// It did not leave.
    Stays(NotProbed),
}
