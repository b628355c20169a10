//! What a verdict on a run names, so that its commands can be typed as they stand.

use super::super::Error;
use super::super::session::{Commands, Session};
use crate::cli::words::behind::behind;
use crate::cli::words::hours::Unposted;
use crate::cli::words::limits;
use crate::cli::words::no_entry;
use crate::domain::{BatchName, PayerTransactionId, Timestamp};
use crate::engine::Ending;
use crate::journal::{Approvals, Journal, LimitedRows, Reader, Standing};
use crate::ledger::Purpose;
use crate::ledger::calendar::Calendar;
use crate::ledger::decisions::ByCode;
use crate::ledger::payer::Lost;
use crate::lifecycle::State;

/// What the hints name, so that their commands can be typed as they stand.
pub(super) struct Examples {
    /// A payment in conflict.
    pub(super) conflict: Option<PayerTransactionId>,
    /// A payment without an outcome.
    pub(super) open: Option<PayerTransactionId>,
    /// Whether the gateway's last answers about that one had no entry about it.
    pub(super) has_no_entry: bool,
    /// What failed, by code.
    pub(super) failed: ByCode,
    /// Batches that are to be loaded again before what failed is paid anew.
    pub(super) lost: Lost,
    /// The people of the batch are in its archive alone: nothing of it can be retried or mended.
    pub(super) is_archived: bool,
    /// The journal may have missed that somebody was paid who is not paid as far as it knows.
    pub(super) is_behind: bool,
    /// What waits for its time, in words.
    pub(super) scheduled: Option<String>,
    /// What waits for a limit.
    pub(super) limited_rows: Vec<LimitedRows>,
    /// The same in words.
    pub(super) limited: Option<String>,
    /// How much is under way, in words, where that keeps more from leaving.
    pub(super) exposed: Option<String>,
    /// Where the batch stands with its signatures.
    pub(super) approvals: Approvals,
}

impl Examples {
    pub(super) async fn of(
        session: &Session,
        journal: &Journal,
        batch: &BatchName,
        standing: &Standing,
        (calendar, ending): (&Calendar, &Ending),
    ) -> Result<Self, Error> {
        let reader = Reader::open(session.location()?)?;
        let snapshot = reader.snapshot(batch)?;
        // Of what there is none of, nothing is looked for: that reads the whole batch.
        let some_of = |states: &[State]| -> Result<_, Error> {
            let there = |state: &State| standing.of(*state).count > 0;
            let there: Vec<State> = states.iter().copied().filter(there).collect();
            Ok(snapshot.example(&there)?)
        };
        let open = some_of(&[
            State::Posting,
            State::InDoubt,
            State::Acknowledged,
            State::Delivered,
            State::Conflict,
        ])?;
        let is_rehearsal = standing.purpose == Purpose::Rehearsal;
        let limited_rows = snapshot.limited()?;
        let exposed = match ending {
            Ending::Exposed => {
                let settings = session.settings(is_rehearsal, Vec::new()).ok();
                Some(limits::exposed_text(
                    &snapshot.exposure(None)?,
                    settings.as_ref(),
                ))
            }
            _ => None,
        };
        let has_no_entry = match open {
            Some(id) => no_entry::is_so(&snapshot, id)?,
            None => false,
        };
        Ok(Self {
            conflict: some_of(&[State::Conflict])?,
            is_archived: snapshot.let_go()?.is_some_and(|it| it.archive.is_some()),
            open,
            has_no_entry,
            failed: match standing.of(State::Failed).count {
                0 => ByCode::default(),
                _ => journal.to_retry(batch.clone(), None, None).await?.by_code,
            },
            lost: match standing.of(State::Failed).count {
                0 => Lost::default(),
                _ => journal.batches_lost().await?,
            },
            is_behind: behind(&reader, &session.zone(is_rehearsal))?.is_some(),
            limited: limits::limited_text(&limited_rows, &session.limits_zone(is_rehearsal)),
            limited_rows,
            exposed,
            approvals: {
                let rule = session.settings(is_rehearsal, Vec::new())?.approval()?;
                snapshot.approvals(rule)?
            },
            scheduled: {
                let zone = session.zone(is_rehearsal);
                let now = Timestamp::now();
                let purpose = standing.purpose;
                let waiting = Unposted::of(standing, calendar, &zone, now);
                let commands = Commands { batch, purpose };
                let mut texts = waiting.texts(commands);
                texts.extend(waiting.of_rows(snapshot.scheduled(now)?, commands));
                (!texts.is_empty()).then(|| texts.join("; "))
            },
        })
    }
}
