//! The quarantine that a payment was posted with: whoever posted it may have known that its gateway shows a payment no sooner.
//!
//! Every claim and every doubt rests on a policy, which its evidence names. So it is known of each payment how long its runs waited until
//! "not found" counts, whichever machine they ran on and whichever journal it was then. Of one that an earlier journal may have posted it is not
//! known: for that, the longest counts of all runs that this journal knows of, and the mark in its place.

use std::time::Duration;

use super::open_lanes::counted;
use super::restart::asked_about;
use crate::domain::{BatchId, EvidenceId, PaymentId, PolicyId};
use crate::journal::codec::events::{PRESUMED_POSTED, event_numbers};
use crate::journal::codec::facts::{fact, note};
use crate::journal::payments::first_claims::{ClaimBlock, blocks};
use crate::journal::session::expected::in_turn;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Home};
use crate::ledger::Purpose;
use crate::lifecycle::{Event, Policy, State};
use crate::store::tables::{evidence, life, policy};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    struct Recorded of policy { policy_id: PolicyId, not_found_quarantine: i64 }
}

shape! {
    struct Rests of evidence { event: i64, policy_id: Option<PolicyId> }
}

/// Quarantines of a batch that are longer than the one of whoever asks.
struct Longer {
    policies: Vec<Recorded>,
    /// The longest one of all runs of this journal, and of what was in its place before, where it is one of them.
    of_all: Option<i64>,
    /// First and last payment of what was claimed together with one of them, in their order.
    claimed: Vec<(i64, i64, i64)>,
}

impl Longer {
    /// Looks for them; `None` where there are none, as where the configuration was never changed.
    fn find(c: &WriteSession, batch_id: BatchId, ours: Duration) -> Result<Option<Self>, Error> {
        let least = millis(ours).saturating_add(1);
        // A journal of an earlier build does not know it.
        let known: Option<i64> = fact(c, LONGEST)?;
        if known.is_some_and(|longest| longest < least) {
            return Ok(None);
        }
        let longer =
            Scan::of(&policy::TABLE).only(policy::not_found_quarantine, Test::at_least(&least));
        let (policies, of_all): (Vec<Recorded>, _) =
            planted!(journal::longer_quarantines((c.list(&longer)?, known)));
        if policies.is_empty() && of_all.is_none() {
            return Ok(None);
        }
        let mut found = Self {
            policies,
            of_all,
            claimed: Vec::new(),
        };
        c.flush()?;
        c.each(
            &blocks(&batch_id, &EvidenceId::NONE),
            |block: ClaimBlock| {
                if let Some(quarantine) = found.of_policy(block.policy_id) {
                    let runs = block.range()?.runs()?.into_iter();
                    let claimed = runs.map(|(first, last)| (first, last, quarantine));
                    found.claimed.extend(claimed);
                }
                Ok::<_, Error>(())
            },
        )?;
        // No payment is claimed for the first time twice.
        found.claimed.sort_unstable();
        Ok(Some(found))
    }

    fn of_policy(&self, policy: Option<PolicyId>) -> Option<i64> {
        let recorded = self
            .policies
            .iter()
            .find(|one| Some(one.policy_id) == policy);
        recorded.map(|one| one.not_found_quarantine)
    }

    /// The longest one that a payment was posted or waited with.
    fn of_payment(&self, c: &WriteSession, seq: PaymentId) -> Result<Option<i64>, Error> {
        let own = Scan::by(&evidence::evidence_by_payment).at(&seq);
        let [claimed, abandoned] =
            [Event::Claimed, Event::Abandoned].map(|event| event_numbers(event).0);
        let own = c.list::<Rests>(&own)?.into_iter();
        let own = own.filter_map(|row| match row.event {
            PRESUMED_POSTED => {
                let here = self.claimed.iter().map(|(.., quarantine)| *quarantine);
                self.of_all.or_else(|| here.max())
            }
            event if event == claimed || event == abandoned => self.of_policy(row.policy_id),
            // What a person orders rests on no wait, whatever stands there.
            _ => None,
        });
        let place = self
            .claimed
            .partition_point(|(first, ..)| *first <= seq.get());
        let together = self.claimed[..place].last();
        let together = together.filter(|(_, last, _)| seq.get() <= *last);
        let together = together.map(|(.., quarantine)| *quarantine);
        Ok(own.chain(together).max())
    }
}

/// The name of the fact that says the longest quarantine of all runs of a journal, and of what was in its place before.
const LONGEST: &str = "quarantine";

/// Notes the quarantine of a run that takes a batch, or the longest one that the mark in the place of the journal tells of.
pub(in crate::journal) fn note_longest(
    c: &WriteSession,
    quarantine: Duration,
) -> Result<(), Error> {
    let told = millis(quarantine);
    let known: i64 = fact(c, LONGEST)?.unwrap_or(0);
    match told > known {
        true => note(&**c, LONGEST, &told),
        false => Ok(()),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn duration(millis: i64) -> Duration {
    Duration::from_millis(millis.unsigned_abs())
}

/// Takes note of the quarantine of a run that takes a batch, unless it is refused; `is_alone`: beside others it has theirs.
pub(super) fn take(
    c: &WriteSession,
    (batch_id, is_alone): (BatchId, bool),
    home: &Home,
    policy: &Policy,
) -> Result<(), Error> {
    if is_alone {
        assert_no_shorter(c, batch_id, policy)?;
    }
    if Purpose::of_gateway(&home.gateway) == Purpose::Rehearsal {
        return Ok(());
    }
    note_longest(c, policy.not_found_quarantine)?;
    c.mark_quarantine(policy.not_found_quarantine);
    Ok(())
}

/// Refuses a run that would take "not found" for true sooner than a run did that had a payment in hand which is sent or in doubt.
fn assert_no_shorter(c: &WriteSession, batch_id: BatchId, policy: &Policy) -> Result<(), Error> {
    let ours = policy.not_found_quarantine;
    let Some(longer) = Longer::find(c, batch_id, ours)? else {
        return Ok(());
    };
    let mut open: Vec<PaymentId> = c.values(&asked_about(&batch_id, &State::InDoubt), life::seq)?;
    c.write_tallies()?;
    // They are in no index, and only a run that broke off leaves some.
    if c.any(&counted(&batch_id, &State::Posting))? {
        let under_way = Scan::of(&life::TABLE)
            .only(life::batch_id, Test::is(&batch_id))
            .only(life::state, Test::is(&State::Posting));
        open.extend(c.values::<PaymentId>(&under_way, life::seq)?);
    }
    let (mut payments, mut longest) = (0, None);
    for seq in in_turn(&**c, &open) {
        let found = longer.of_payment(c, seq?)?;
        payments += u64::from(found.is_some());
        longest = longest.max(found);
    }
    match longest {
        None => Ok(()),
        Some(theirs) => Err(Error::ShorterQuarantine {
            payments,
            theirs: duration(theirs),
            ours,
        }),
    }
}

/// The policy by which a person may decide about a payment: "not found" counts no sooner than for the runs that had it.
pub(in crate::journal) fn no_shorter(
    c: &WriteSession,
    (batch_id, seq): (BatchId, PaymentId),
    policy: &Policy,
) -> Result<Policy, Error> {
    let ours = policy.not_found_quarantine;
    let longest = match Longer::find(c, batch_id, ours)? {
        Some(longer) => longer.of_payment(c, seq)?,
        None => None,
    };
    Ok(Policy {
        not_found_quarantine: longest.map_or(ours, duration),
        ..policy.clone()
    })
}
