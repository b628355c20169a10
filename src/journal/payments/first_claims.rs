//! First claims that share a row of evidence.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::domain::{BatchId, EvidenceId, LaneId, PaymentId, PolicyId};
use crate::journal::Error;
use crate::journal::codec::events::CLAIMED_TOGETHER;
use crate::journal::codec::values::corrupt;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, shape};

/// First claims that share a row of evidence: its detail.
#[derive(Deserialize, Serialize)]
pub(in crate::journal) struct ClaimRange {
    /// The lane, as it is stored.
    service_id: i64,
    /// Numbers of payments in their order, those that follow one another as `first-last`.
    payments: String,
}

impl ClaimRange {
    pub(in crate::journal) fn of(lane: LaneId, seqs: &[PaymentId]) -> Self {
        use std::fmt::Write;
        let mut payments = String::new();
        for run in seqs.chunk_by(|a, b| a.get() + 1 == b.get()) {
            let space = if payments.is_empty() { "" } else { " " };
            let _ = match run {
                [first, .., last] => write!(payments, "{space}{first}-{last}"),
                [alone] => write!(payments, "{space}{alone}"),
                [] => Ok(()),
            };
        }
        Self {
            service_id: lane.get(),
            payments,
        }
    }

    pub(in crate::journal) fn lane(&self) -> LaneId {
        LaneId::new(self.service_id)
    }

    pub(in crate::journal) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a number and a text have a JSON form")
    }

    pub(in crate::journal) fn parse(detail: Option<&str>) -> Result<Self, Error> {
        let odd = || corrupt("an unreadable list of claims");
        serde_json::from_str(detail.ok_or_else(odd)?).map_err(|_| odd())
    }

    /// First and last number of every run of payments.
    pub(in crate::journal) fn runs(&self) -> Result<Vec<(i64, i64)>, Error> {
        self.payments
            .split(' ')
            .map(|run| {
                let (first, last) = run.split_once('-').unwrap_or((run, run));
                let run = (first.parse().ok()?, last.parse().ok()?);
                (0 < run.0 && run.0 <= run.1).then_some(run)
            })
            .collect::<Option<_>>()
            .ok_or_else(|| corrupt("an unreadable list of claims"))
    }
}

/// The first claim of a payment.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal) struct FirstClaim {
    pub(in crate::journal) evidence_id: EvidenceId,
    pub(in crate::journal) at: i64,
    pub(in crate::journal) policy_id: Option<PolicyId>,
}

shape! {
    /// A block of first claims.
    pub(in crate::journal) struct ClaimBlock of evidence {
        evidence_id: EvidenceId, at: i64, policy_id: Option<PolicyId>, detail: Option<String>,
    }
}

impl ClaimBlock {
    pub(in crate::journal) fn range(&self) -> Result<ClaimRange, Error> {
        ClaimRange::parse(self.detail.as_deref())
    }

    fn claim(&self) -> FirstClaim {
        FirstClaim {
            evidence_id: self.evidence_id,
            at: self.at,
            policy_id: self.policy_id,
        }
    }
}

/// The blocks of first claims of a batch behind a row of evidence.
pub(in crate::journal) fn blocks<'a>(batch_id: &'a BatchId, behind: &'a EvidenceId) -> Scan<'a> {
    Scan::by(&evidence::about_batch)
        .at(&CLAIMED_TOGETHER)
        .at(batch_id)
        .after(behind)
}

/// Finds the first claim of a payment among those that share a row of evidence.
pub(in crate::journal) fn first_claim(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<FirstClaim>, Error> {
    let mut found = None;
    c.each_until(
        &blocks(&batch_id, &EvidenceId::NONE),
        |block: ClaimBlock| {
            let has_it = block
                .range()?
                .runs()?
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&seq.get()));
            if has_it {
                found = Some(block.claim());
                return Ok(ControlFlow::Break(()));
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}

/// The first claims of one lane in the order of its payments, a block at a time.
pub(in crate::journal) struct FirstClaims {
    lane: LaneId,
    claim: FirstClaim,
    /// What is left of the block, the last run first.
    runs: Vec<(i64, i64)>,
}

impl FirstClaims {
    pub(in crate::journal) fn of(lane: LaneId) -> Self {
        Self {
            lane,
            claim: FirstClaim {
                evidence_id: EvidenceId::NONE,
                at: 0,
                policy_id: None,
            },
            runs: Vec::new(),
        }
    }

    /// Returns the first claim of a payment; those before it are passed.
    pub(in crate::journal) fn find(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
        seq: PaymentId,
    ) -> Result<Option<FirstClaim>, Error> {
        loop {
            match self.runs.last().copied() {
                Some((_, last)) if last < seq.get() => {
                    self.runs.pop();
                }
                Some((first, _)) => return Ok((first <= seq.get()).then_some(self.claim)),
                None if self.next_block(c, batch_id)? => {}
                None => return Ok(None),
            }
        }
    }

    fn next_block(&mut self, c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
        let behind = self.claim.evidence_id;
        let mut found = None;
        c.each_until(&blocks(&batch_id, &behind), |block: ClaimBlock| {
            let range = block.range()?;
            if range.lane() == self.lane {
                found = Some((block.claim(), range.runs()?));
                return Ok(ControlFlow::Break(()));
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if let Some((claim, mut runs)) = found {
            runs.reverse();
            (self.claim, self.runs) = (claim, runs);
            return Ok(true);
        }
        // Nothing more is found for good.
        self.claim.evidence_id = EvidenceId::AFTER_ALL;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_one_another_are_one_run() {
        for (seqs, expected) in [
            (&[7][..], "7"),
            (&[1, 2, 3], "1-3"),
            (&[1, 2, 5, 7, 8], "1-2 5 7-8"),
        ] {
            let ids: Vec<PaymentId> = seqs.iter().copied().map(PaymentId::new).collect();
            let together = ClaimRange::of(LaneId::new(4), &ids);
            assert_eq!(together.payments, expected);
            let read = ClaimRange::parse(Some(&together.to_text())).unwrap();
            assert_eq!(read.lane(), LaneId::new(4));
            let told: Vec<i64> = read
                .runs()
                .unwrap()
                .into_iter()
                .flat_map(|(first, last)| first..=last)
                .collect();
            assert_eq!(told, seqs);
        }
        for odd in ["", "3-1", "0", "x", "1--2", "1  2", "-4"] {
            let together = ClaimRange {
                service_id: 1,
                payments: odd.to_owned(),
            };
            assert!(together.runs().is_err(), "{odd:?}");
        }
    }
}
