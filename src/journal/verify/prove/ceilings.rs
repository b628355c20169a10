//! What counts towards ceilings, compared with where the payments stand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use super::prover::Verifier;
use crate::domain::{Day, EvidenceId, LaneId, PaymentId, Timestamp, WireZone};
use crate::journal::Error;
use crate::journal::codec::events::CLAIMED_TOGETHER;
use crate::journal::codec::facts::fact;
use crate::journal::codec::instructions::{COLUMNS, FoundInstruction, Instructions, SEQ};
use crate::journal::limits::count::{UP_TO, ZONE};
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::verify::intact::text_of;
use crate::ledger::limits::{Counts, counts, recipient_of};
use crate::lifecycle::State;
use crate::store::tables::{counted, evidence, instruction, life, used};
use crate::store::{Beside, Column, Found, Read, Reads, Scan, Test, Value, shape};

/// What is read of a payment that counts.
const COUNTED: [Column; 6] = [
    counted::counts,
    counted::service_id,
    counted::recipient,
    counted::currency,
    counted::amount,
    counted::day,
];

/// Sums that are added up at once, at most.
const SUMS_MAX: u64 = 200_000;

/// A sum that stays there for good: so much or more.
const FOR_GOOD: i64 = i64::MAX;

shape! {
    /// What counts towards ceilings.
    struct Part of counted { realm: i64, service_id: LaneId, recipient: String, currency: String, amount: i64, day: i64 }
}
shape! {
    /// What these come to on a day.
    struct Sum of used { realm: i64, name: String, currency: String, day: i64, amount: i64 }
}

impl Verifier<'_> {
    /// Compares what counts towards ceilings, as far as a run has counted it.
    pub(super) fn compare_ceilings(&mut self) -> Result<(), Error> {
        let meta = |key: &str| fact::<Value<'static>>(self.c, key);
        let (up_to, zone) = match (meta(UP_TO)?, meta(ZONE)?) {
            (Some(Value::Integer(up_to)), Some(Value::Text(zone))) => {
                (EvidenceId::new(up_to), WireZone::from_name(&zone))
            }
            (None, _) => return Ok(()),
            _ => (EvidenceId::NONE, None),
        };
        let Some(zone) = zone else {
            self.find("the journal does not say how far ceilings are counted");
            return Ok(());
        };
        self.compare_counted(up_to, &zone)?;
        let differing = differing_sums(self.c, SUMS_MAX)?;
        if differing > 0 {
            self.find(format!(
                "{differing} sums for ceilings are not what their payments add up to"
            ));
        }
        Ok(())
    }

    /// Compares the payments of which nothing was recorded beyond some evidence with what they count for.
    fn compare_counted(&mut self, up_to: EvidenceId, zone: &WireZone) -> Result<(), Error> {
        let (c, batch_id) = (self.c, self.batch_id);
        // Claims that share a row are not found by their payments.
        let mut later = Vec::new();
        let blocks = Scan::by(&evidence::evidence_by_payment)
            .at(&PaymentId::NONE)
            .after(&up_to)
            .only(evidence::batch_id, Test::is(&batch_id))
            .only(evidence::event, Test::is(&CLAIMED_TOGETHER));
        c.each_row(&blocks, &[evidence::detail], |row| {
            later.extend(ClaimRange::parse(text_of(&row.value(0)?))?.runs()?);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let instructions = Instructions::of(c);
        let mut lives = Beside::of(c, &life::TABLE, &[life::state, life::posted_at]);
        let mut counted = Beside::of(c, &counted::TABLE, &COUNTED);
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&batch_id))
            .only(instruction::amount, Test::Present);
        c.each_row(&rows, &COLUMNS, |row| {
            let seq: PaymentId = row.get(SEQ)?;
            let Some(life) = lives.find(seq.get())? else {
                return Ok(ControlFlow::Continue(()));
            };
            let learned = Scan::by(&evidence::evidence_by_payment)
                .at(&seq)
                .after(&up_to);
            let is_claimed_later =
                |(first, last): &(i64, i64)| (*first..=*last).contains(&seq.get());
            if later.iter().any(is_claimed_later) || c.any(&learned)? {
                return Ok(ControlFlow::Continue(()));
            }
            let stands: (State, Option<Timestamp>) = (life.get(0)?, life.get(1)?);
            let found = instructions.read(row)?;
            let counted = counted.find(seq.get())?;
            let id = found.row.id;
            let differing = differing(found, stands, counted.as_ref(), zone)?;
            if !differing.is_empty() {
                self.find(format!(
                    "payment {id}: it is counted towards ceilings with wrong values ({})",
                    differing.join(", ")
                ));
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })
    }
}

/// Returns in what a payment is not counted as it comes to.
fn differing(
    found: FoundInstruction,
    (state, posted_at): (State, Option<Timestamp>),
    counted: Option<&Found<'_>>,
    zone: &WireZone,
) -> Result<Vec<&'static str>, Error> {
    let expected = counts(state);
    let lane = found.lane;
    let payment = found.payment()?;
    let day = posted_at.map(|at| i64::from(Day::of(at, zone).number()));
    let money = payment.instruction.money;
    let number = |at: usize| counted.map(|counted| counted.get::<i64>(at)).transpose();
    let text = |at: usize| counted.map(|counted| counted.get::<String>(at)).transpose();
    let differs = [
        (
            "what it counts for",
            number(0)?.unwrap_or(0) != expected as i64,
        ),
        ("its service", number(1)? != Some(lane.get())),
        (
            "who receives it",
            text(2)?.as_deref() != Some(&*recipient_of(&payment.instruction)),
        ),
        (
            "its currency",
            text(3)?.as_deref() != Some(money.currency.code()),
        ),
        ("its amount", number(4)? != Some(money.amount.minor())),
        ("its day", day.is_some() && number(5)? != day),
    ];
    // Of what counts for nothing no more is wanted.
    let compared = match expected {
        Counts::Nothing => &differs[..1],
        _ => &differs[..],
    };
    let differing = compared.iter().filter(|(_, is)| *is);
    Ok(differing.map(|(name, _)| *name).collect())
}

/// Counts the sums that are not those of what is counted. One at the end of all numbers stays there.
///
/// Where there may be more sums than `at_once`, the tables are gone through as often as it takes, each time for a part of the names.
fn differing_sums(c: &dyn Read, at_once: u64) -> Result<u64, Error> {
    // Each payment is counted for who receives it, and for its service.
    let most = c.count(&Scan::of(&counted::TABLE))?.saturating_mul(2);
    let passes = most.div_ceil(at_once).max(1);
    let mut differing = 0;
    for pass in 0..passes {
        let is_of_pass = |realm: i64, name: &str, day: i64| {
            let mut hasher = DefaultHasher::new();
            (realm, name, day).hash(&mut hasher);
            hasher.finish() % passes == pass
        };
        let mut sums: HashMap<(i64, String, String, i64), i128> = HashMap::new();
        let counting = Scan::of(&counted::TABLE).only(counted::counts, Test::at_least(&1_i64));
        c.each(&counting, |part: Part| {
            let names = [
                format!("r{}", part.recipient),
                format!("s{}", part.service_id),
            ];
            for name in names {
                if is_of_pass(part.realm, &name, part.day) {
                    let key = (part.realm, name, part.currency.clone(), part.day);
                    *sums.entry(key).or_default() += i128::from(part.amount);
                }
            }
            Ok::<_, Error>(())
        })?;
        c.each(&Scan::of(&used::TABLE), |used: Sum| {
            if is_of_pass(used.realm, &used.name, used.day) {
                let key = (used.realm, used.name, used.currency, used.day);
                let sum = sums.remove(&key).unwrap_or(0);
                differing += u64::from(sum != used.amount.into() && used.amount != FOR_GOOD);
            }
            Ok::<_, Error>(())
        })?;
        differing += sums.values().filter(|sum| **sum != 0).count() as u64;
    }
    Ok(differing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Writes;
    use crate::store::memory::Memory;

    shape! {
        struct Whole of counted {
            seq: i64, realm: i64, service_id: LaneId, recipient: String, currency: String, amount: i64, day: i64, counts: i64,
        }
    }

    fn sum(name: &str, amount: i64) -> Sum {
        Sum {
            realm: 0,
            name: name.to_owned(),
            currency: "KES".to_owned(),
            day: 7,
            amount,
        }
    }

    #[test]
    fn sums_are_compared_in_as_many_passes_as_it_takes() {
        let store = Memory::default();
        for seq in 0..60 {
            let row = Whole {
                seq,
                realm: 0,
                service_id: LaneId::new(seq % 2),
                recipient: (seq % 20).to_string(),
                currency: "KES".to_owned(),
                amount: 10,
                day: 7,
                // The last ones were given back.
                counts: i64::from(seq < 58),
            };
            store.insert(&row).unwrap();
        }
        for name in 0..20 {
            let payments = if name >= 18 { 2 } else { 3 };
            store.put(&sum(&format!("r{name}"), payments * 10)).unwrap();
        }
        store.put(&sum("s0", 290)).unwrap();
        store.put(&sum("s1", 290)).unwrap();
        let differing = |at_once: u64| differing_sums(&store, at_once).unwrap();
        for at_once in [1, 3, 50, SUMS_MAX] {
            assert_eq!(differing(at_once), 0, "{at_once}");
        }
        store.put(&sum("r3", 31)).unwrap();
        store.put(&sum("s0", FOR_GOOD)).unwrap();
        store.put(&sum("r99", 1)).unwrap();
        store.put(&sum("r98", 0)).unwrap();
        let gone = sum("r4", 0);
        let gone = Scan::of(&used::TABLE).at(&gone.realm).at(&gone.name);
        store.remove(&gone).unwrap();
        for at_once in [1, 3, 50, SUMS_MAX] {
            assert_eq!(differing(at_once), 3, "{at_once}");
        }
    }
}
