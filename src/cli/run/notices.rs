//! Notices of one run: looked for before anything leaves, beside it, and at its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::Error;
use crate::cli::config::Settings;
use crate::cli::notices::{Look, NoticeDesk, Watched, watch_run};
use crate::cli::terminal::output;
use crate::domain::BatchName;
use crate::engine::{Ending, Progress};
use crate::journal::Journal;
use crate::ledger::Purpose;

/// So long the end of a run delivers what waits; what is under way then is waited for.
const AT_THE_END: Duration = Duration::from_secs(30);

/// What a run tells of its batch.
#[derive(Clone)]
pub(in crate::cli) struct RunNotices {
    pub(super) desk: Arc<NoticeDesk>,
    pub(super) batch: BatchName,
    pub(super) waits_for_approval: bool,
}

/// Looks at the run while it goes on.
pub(super) fn beside(
    notices: &RunNotices,
    progress: watch::Receiver<Progress>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let watched = Watched {
        batch: notices.batch.clone(),
        progress,
        waits_for_approval: notices.waits_for_approval,
    };
    watch_run(Arc::clone(&notices.desk), watched, stop)
}

impl RunNotices {
    /// Returns the notices that are configured for a run of this purpose. Where they cannot be sent they are kept, and no payment waits.
    pub(super) fn of(
        settings: &Settings,
        journal: &Journal,
        (batch, purpose): (&BatchName, Purpose),
        waits_for_approval: bool,
    ) -> Result<Option<Self>, Error> {
        let told = settings.notices.as_ref();
        if told.is_none_or(|notices| purpose == Purpose::Rehearsal && !notices.rehearsals) {
            return Ok(None);
        }
        let desk = NoticeDesk::of(settings.clone(), journal)?;
        Ok(desk.map(|desk| Self {
            desk: Arc::new(desk),
            batch: batch.clone(),
            waits_for_approval,
        }))
    }

    /// Notes that the batch is run, and makes the notices that an earlier run did not come to.
    pub(super) async fn begin(&self) -> Result<(), Error> {
        let look = Look {
            runs: true,
            waits_for_approval: self.waits_for_approval,
            ..Look::default()
        };
        self.desk.look_at(&self.batch, look).await
    }

    /// Tells how the run ended; `None`: with an error. What the run did stands whatever becomes of it.
    pub(super) async fn end(&self, ending: Option<&Ending>) {
        let look = match ending {
            Some(ending) => Look::ended(ending, self.waits_for_approval),
            None => Look::failed(self.waits_for_approval),
        };
        let done = async {
            self.desk.look_at(&self.batch, look).await?;
            self.desk.deliver(false, AT_THE_END).await
        };
        let trouble = match done.await {
            Ok(delivered) => delivered.trouble,
            // Whatever broke the journal is told by the run itself; the next one makes the same notices.
            Err(error) => Some(error.message().to_owned()),
        };
        if let Some(trouble) = trouble {
            output::complain(
                "warning",
                &format!(
                    "a notice was not delivered: {trouble}. It is kept, and sent again by the next run, by disburse listen, or by: disburse notices --deliver"
                ),
            );
        }
    }
}
