//! Slots to leave in: what a run is granted of the rate of its account, which it shares with others.

use std::num::NonZeroU32;
use std::time::Duration;

use super::rest::{PostedAt, What, posted_at};
use crate::domain::Timestamp;
use crate::journal::codec::values::corrupt;
use crate::journal::session::fence::assert_current;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, RunToken};
use crate::ledger::slots::{
    ClockSample, Granted, Lateness, Paced, RunnerTime, Runners, SlotRequest, SlotRow, StoreTime,
    grant,
};
use crate::store::tables::{session, slot};
use crate::store::{Read, Reads, Scan, Writes, shape};

/// Whoever could no longer post for so long has nothing on its way within the window: its limit counts no more.
const GONE_AFTER: Duration = Duration::from_secs(2);

shape! {
    /// The limits of a run, and until when it may post.
    struct Sharing of session { rate: Option<u32>, query_rate: Option<u32>, lease_until: Timestamp }
}
shape! {
    /// When the next request may leave, for how many payments those of the last grant are, and how late those may arrive that were
    /// granted before.
    struct Slot of slot { gateway: String, account: String, what: i64, next_at: i64, packets: u32, lateness: String }
}

/// Grants what a run asks for.
// The time is asked for within the transaction, as nobody waits for it there: the turn of the writer is held already.
pub(in crate::journal) fn slots(
    c: &WriteSession,
    token: RunToken,
    request: &SlotRequest,
    clock: impl Fn() -> RunnerTime,
) -> Result<Granted, Error> {
    assert_current(c, token)?;
    let Some(PostedAt {
        gateway: Some(gateway),
        account: Some(account),
    }) = posted_at(c, token.batch_id)?
    else {
        return Err(corrupt("a batch that is run without an account"));
    };
    let what = match request.of {
        Paced::Posts => What::Posts,
        Paced::Questions => What::Questions,
    } as i64;
    let own = Scan::of(&slot::TABLE).at(&gateway).at(&account).at(&what);
    let row = c.first::<Slot>(&own)?.map(|row| row.read()).transpose()?;
    let sharing = sharing(c, &gateway, &account)?;
    let asked = clock();
    let told = c.now()?;
    let sample = ClockSample {
        asked,
        told,
        heard: clock(),
    };
    let granted = grant(row, runners(&sharing, request.of, told), sample, request);
    if let Some(row) = &granted.row {
        c.put(&Slot {
            gateway,
            account,
            what,
            next_at: row.next_at.as_micros(),
            packets: row.packets.get(),
            lateness: row.lateness.to_text(),
        })?;
    }
    Ok(granted)
}

impl Slot {
    fn read(&self) -> Result<SlotRow, Error> {
        let packets = NonZeroU32::new(self.packets);
        Ok(SlotRow {
            next_at: StoreTime::from_micros(self.next_at),
            packets: packets.ok_or_else(|| corrupt("a slot for no payment"))?,
            lateness: Lateness::parse(&self.lateness)
                .ok_or_else(|| corrupt("a slot with an invalid lateness"))?,
        })
    }
}

/// Returns the runs of an account that are not closed.
fn sharing(c: &dyn Read, gateway: &String, account: &String) -> Result<Vec<Sharing>, Error> {
    let open = Scan::by(&session::session_of_account)
        .at(gateway)
        .at(account);
    Ok(c.list(&open)?)
}

/// Returns what those that may still send come to.
fn runners(sharing: &[Sharing], of: Paced, now: Timestamp) -> Runners {
    let there = sharing
        .iter()
        .filter(|run| run.lease_until.after(GONE_AFTER) > now);
    let rates = there.clone().filter_map(|run| match of {
        Paced::Posts => run.rate,
        Paced::Questions => run.query_rate,
    });
    Runners {
        count: u32::try_from(there.count()).unwrap_or(u32::MAX),
        least_rate: rates.filter_map(NonZeroU32::new).min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BatchId, Epoch};
    use crate::journal::codec::facts::note;
    use crate::journal::session::keeper::Keeper;
    use crate::ledger::calendar::BatchDates;
    use crate::ledger::confirmation::Bound;
    use crate::ledger::slots::Slots;
    use crate::store::memory::Memory;

    const NOW: i64 = 1_795_824_000_000;

    shape! {
        struct Run of session {
            session_id: i64, gateway: String, account: String, rate: Option<u32>, query_rate: Option<u32>, lease_until: Timestamp,
            closed_at: Option<Timestamp>
        }
    }
    shape! {
        struct Posted of batch { batch_id: BatchId, gateway: String, account: String }
    }

    /// A store that several runs use, with a batch of an account.
    fn store() -> WriteSession {
        let c = WriteSession::new(Keeper::Memory(Memory::shared(|| {
            Timestamp::from_millis(NOW)
        })));
        note(&c, "epoch", &Epoch::new(3)).unwrap();
        c.insert(&Posted {
            batch_id: BatchId::new(1),
            gateway: "gateway".into(),
            account: "acme".into(),
        })
        .unwrap();
        c
    }

    fn run(number: i64, rate: u32) -> Run {
        Run {
            session_id: number,
            gateway: "gateway".into(),
            account: "acme".into(),
            rate: Some(rate),
            query_rate: Some(rate / 2),
            lease_until: Timestamp::from_millis(NOW + 8_000),
            closed_at: None,
        }
    }

    fn token(epoch: i64) -> RunToken {
        RunToken {
            batch_id: BatchId::new(1),
            epoch: Epoch::new(epoch),
            confirmed: Bound::EVERYTHING,
            approved: Bound::EVERYTHING,
            dates: BatchDates::default(),
        }
    }

    fn request(of: Paced, count: u32) -> SlotRequest {
        SlotRequest {
            of,
            rate: NonZeroU32::new(100).unwrap(),
            packets: NonZeroU32::MIN,
            count,
            lead: Duration::from_millis(20),
            clock: None,
            is_afresh: false,
        }
    }

    fn asked(c: &WriteSession, of: Paced, count: u32) -> Granted {
        let clock = || RunnerTime::since_start(Duration::from_secs(5));
        slots(c, token(1), &request(of, count), clock).unwrap()
    }

    #[test]
    fn no_slot_is_granted_twice_and_posts_and_questions_have_their_own() {
        let c = store();
        for number in [1, 2] {
            c.insert(&run(number, 100)).unwrap();
        }
        let first = asked(&c, Paced::Posts, 3);
        let second = asked(&c, Paced::Posts, 500);
        let (first, second) = (first.slots.unwrap(), second.slots.unwrap());
        // Two runs: each has half of what is left of the second.
        assert_eq!((first.left(), second.left()), (3, 50));
        assert!(
            second.last().since(first.last()) > Duration::from_millis(500),
            "it comes behind"
        );
        let row: Slot = c.first(&Scan::of(&slot::TABLE)).unwrap().unwrap();
        let apart = row.next_at - second.last().as_micros();
        assert!(
            (10_100..10_102).contains(&apart),
            "{apart} microseconds behind the last"
        );
        let questions = asked(&c, Paced::Questions, 1);
        let at = questions.slots.as_ref().map(Slots::last);
        assert_eq!(at, Some(StoreTime::from_micros((NOW + 20) * 1_000)));
        assert_eq!(c.count(&Scan::of(&slot::TABLE)).unwrap(), 2);
    }

    #[test]
    fn the_least_limit_of_those_that_may_send_to_the_account_holds() {
        let c = store();
        c.insert(&run(1, 100)).unwrap();
        c.insert(&Run {
            closed_at: Some(Timestamp::from_millis(NOW - 1)),
            ..run(2, 4)
        })
        .unwrap();
        // What it sent may still be within the window, or is not.
        for (number, rate, lease) in [(3, 40, NOW - 1_999), (4, 2, NOW - 2_000)] {
            c.insert(&Run {
                lease_until: Timestamp::from_millis(lease),
                ..run(number, rate)
            })
            .unwrap();
        }
        c.insert(&Run {
            account: "other".into(),
            ..run(5, 6)
        })
        .unwrap();
        let posts = asked(&c, Paced::Posts, 500).slots.unwrap();
        assert_eq!(posts.left(), 20, "half of 40");
        let questions = asked(&c, Paced::Questions, 500).slots.unwrap();
        assert_eq!(questions.left(), 10, "half of 20");
    }

    #[test]
    fn a_run_that_was_taken_over_is_granted_nothing() {
        let c = store();
        let clock = || RunnerTime::since_start(Duration::from_secs(5));
        let refused = slots(&c, token(2), &request(Paced::Posts, 1), clock);
        assert!(matches!(refused, Err(Error::SessionClosed { .. })));
        assert!(!c.any(&Scan::of(&slot::TABLE)).unwrap());
    }
}
