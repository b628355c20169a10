//! The rules and the signatures that the chain of a batch has, and what each of them is worth.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::figures::Figured;
use crate::domain::{BatchId, Currency, EvidenceId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::catalog::{of_batch, purpose};
use crate::journal::codec::events::{APPROVED, LOAD_SIGNED, RULE_PINNED};
use crate::journal::codec::facts::fact;
use crate::journal::codec::values::corrupt;
use crate::journal::run::dates::{dates, dates_before};
use crate::ledger::approval::judge::Hand;
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::rule::{InForce, Rule};
use crate::ledger::approval::signers::Signers;
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::{Act, Claimed, Role, Statement, Target, difference, digest};
use crate::store::tables::{batch, evidence};
use crate::store::{Read, Reads, Scan, shape};

/// A rule, as it stands on the chain.
pub(in crate::journal) fn rule_detail(rule: &Rule) -> String {
    let above: serde_json::Map<String, Value> = rule
        .above
        .iter()
        .map(|(currency, minor)| (currency.code().to_owned(), (*minor).into()))
        .collect();
    let mut detail =
        json!({"required": rule.required, "above": above, "signers": rule.signers.text()});
    if !rule.orders.is_empty() {
        let orders: Vec<&str> = rule.orders.iter().map(|kind| kind.name()).collect();
        detail["orders"] = orders.into();
    }
    detail.to_string()
}

fn rule_of(detail: &str) -> Result<Rule, Error> {
    let wrong = || corrupt("a rule of approval that cannot be read");
    let detail: Value = serde_json::from_str(detail).map_err(|_| wrong())?;
    let required = detail["required"]
        .as_u64()
        .and_then(|it| u8::try_from(it).ok());
    let above = detail["above"].as_object().ok_or_else(wrong)?;
    let signers = detail["signers"].as_str().ok_or_else(wrong)?;
    let orders = match &detail["orders"] {
        Value::Null => Some(BTreeSet::new()),
        orders => orders.as_array().and_then(|names| {
            let kind = |name: &Value| OrderKind::of_name(name.as_str()?);
            names.iter().map(kind).collect()
        }),
    };
    Ok(Rule {
        required: required.ok_or_else(wrong)?,
        above: above
            .iter()
            .map(|(code, minor)| Some((Currency::from_code(code)?, minor.as_i64()?)))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?,
        signers: Signers::parse(signers).map_err(|_| wrong())?,
        orders: orders.ok_or_else(wrong)?,
    })
}

/// Number, time and detail of a row of evidence.
pub(super) type Recorded = (EvidenceId, Timestamp, String);

shape! {
    struct Told of evidence { evidence_id: EvidenceId, at: Timestamp, detail: Option<String> }
}

/// Reads the evidence of one kind that is about signatures of a batch, oldest first.
pub(super) fn recorded(c: &dyn Read, batch_id: BatchId, kind: i64) -> Result<Vec<Recorded>, Error> {
    let of_kind = Scan::by(&evidence::about_batch).at(&kind).at(&batch_id);
    let mut found = Vec::new();
    c.each(&of_kind, |told: Told| {
        found.push((told.evidence_id, told.at, told.detail.unwrap_or_default()));
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// The rules of the loads of a batch, as they stand on the chain.
pub(in crate::journal) struct Pinned(Vec<Recorded>);

impl Pinned {
    pub(in crate::journal) fn read(c: &dyn Read, batch_id: BatchId) -> Result<Self, Error> {
        Ok(Self(recorded(c, batch_id, RULE_PINNED)?))
    }

    /// None of them.
    pub(in crate::journal) fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns whether the newest of them is this one.
    pub(in crate::journal) fn ends_with(&self, detail: &str) -> bool {
        self.0.last().is_some_and(|(_, _, last)| last == detail)
    }

    /// Returns them with the one of now.
    pub(in crate::journal) fn in_force(&self, configured: Option<Rule>) -> Result<InForce, Error> {
        let rules = self.0.iter().map(|(_, _, detail)| rule_of(detail));
        Ok(InForce::of(rules.collect::<Result<_, _>>()?, configured))
    }

    /// Returns those that stood there before a row of evidence.
    pub(in crate::journal) fn before(&self, evidence_id: EvidenceId) -> Self {
        let earlier = self.0.iter().filter(|(id, ..)| *id < evidence_id);
        Self(earlier.cloned().collect())
    }

    /// Over those that stood there before a row of evidence.
    pub(super) fn digest(&self, before: EvidenceId) -> Option<[u8; 32]> {
        let mut hash = Sha256::new();
        let mut some = false;
        for (_, _, detail) in self.0.iter().filter(|(id, ..)| *id < before) {
            hash.update(Sha256::digest(detail.as_bytes()));
            some = true;
        }
        some.then(|| hash.finalize().into())
    }
}

/// A signature on the chain.
pub(in crate::journal) struct OnRecord {
    pub(in crate::journal) evidence_id: EvidenceId,
    pub(in crate::journal) at: Timestamp,
    pub(in crate::journal) text: String,
    pub(in crate::journal) armour: String,
    pub(in crate::journal) claimed: Claimed,
    pub(in crate::journal) hand: Hand,
}

/// Reads the signatures of a batch, those of its loaders first.
pub(in crate::journal) fn signatures(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<OnRecord>, Error> {
    let mut found = Vec::new();
    for kind in [LOAD_SIGNED, APPROVED] {
        for (evidence_id, at, detail) in recorded(c, batch_id, kind)? {
            let wrong = || {
                corrupt(format!(
                    "a signature that cannot be read (evidence {evidence_id})"
                ))
            };
            let detail: Value = serde_json::from_str(&detail).map_err(|_| wrong())?;
            let text = detail["text"].as_str().ok_or_else(wrong)?;
            let armour = detail["signature"].as_str().ok_or_else(wrong)?;
            let claimed = Claimed::read(text).ok_or_else(wrong)?;
            let signature = Signature::parse(armour).map_err(|_| wrong())?;
            if kind != kind_of(claimed.role) {
                return Err(wrong());
            }
            found.push(OnRecord {
                evidence_id,
                at,
                hand: Hand {
                    by: claimed.by.clone(),
                    key: signature.key().clone(),
                },
                text: text.to_owned(),
                armour: armour.to_owned(),
                claimed,
            });
        }
    }
    Ok(found)
}

pub(in crate::journal) fn kind_of(role: Role) -> i64 {
    match role {
        Role::Loads => LOAD_SIGNED,
        Role::Approves => APPROVED,
    }
}

/// Makes a text anew, as the journal has it before a row of evidence; [`EvidenceId::AFTER_ALL`]: now.
pub(in crate::journal) fn statement_of(
    figured: &Figured<'_>,
    (pinned, signatures): (&Pinned, &[OnRecord]),
    (claimed, target): (&Claimed, Option<&Target>),
    before: EvidenceId,
) -> Result<Statement, Error> {
    let (c, batch_id) = (figured.c, figured.batch_id);
    let mut loaded_by: Vec<String> = signatures
        .iter()
        .filter(|one| one.claimed.role == Role::Loads && one.evidence_id < before)
        .map(|one| one.hand.by.clone())
        .collect();
    loaded_by.sort();
    loaded_by.dedup();
    Ok(Statement {
        by: claimed.by.clone(),
        act: match claimed.role {
            Role::Loads => Act::Loads {
                loads: claimed.loads,
            },
            Role::Approves => Act::Approves {
                loaded_by,
                // Before its first run, where nobody says otherwise, a batch goes where it was approved to go.
                target: target
                    .or(claimed.target.as_ref())
                    .cloned()
                    .unwrap_or_default(),
            },
        },
        batch: of_batch(c, batch_id, batch::name)?,
        purpose: purpose(c, batch_id)?,
        rule: pinned.digest(before),
        figures: figured.up_to(claimed.bound)?,
        dates: dates_before(c, batch_id, before)?,
        journal: journal(c)?.unwrap_or_default(),
        signed: claimed.signed,
    })
}

/// Refuses a batch whose rules are not those that its signatures were made under: somebody has changed or removed one in the file.
pub(in crate::journal) fn assert_rules_stand(
    c: &dyn Read,
    batch_id: BatchId,
    pinned: &Pinned,
    signatures: &[OnRecord],
) -> Result<(), Error> {
    let differs = |one: &&OnRecord| {
        let rule = format!("rule: {}", digest(pinned.digest(one.evidence_id)));
        !one.text.lines().any(|line| line == rule)
    };
    let Some(one) = signatures.iter().find(differs) else {
        return Ok(());
    };
    Err(Error::Altered {
        batch: of_batch(c, batch_id, batch::name)?,
        what: format!(
            "the rule of approval is not the one under which {} {} it",
            one.hand.by,
            one.claimed.role.name()
        ),
    })
}

/// Returns why a signature on the chain is worth nothing; `None`: it is valid.
pub(in crate::journal) fn unfit(
    figured: &Figured<'_>,
    (pinned, signatures, in_force): (&Pinned, &[OnRecord], &InForce),
    target: Option<&Target>,
    one: &OnRecord,
) -> Result<Option<String>, Error> {
    let OnRecord { claimed, hand, .. } = one;
    if let Err(why) = in_force.may_sign(&hand.by, &hand.key, &[claimed.signed, one.at]) {
        return Ok(Some(why));
    }
    let verified = Signature::parse(&one.armour).and_then(|it| it.verify(one.text.as_bytes()));
    if let Err(why) = verified {
        return Ok(Some(why.to_string()));
    }
    if claimed.role == Role::Approves
        && dates_before(figured.c, figured.batch_id, one.evidence_id)?
            != dates(figured.c, figured.batch_id)?
    {
        return Ok(Some(
            "the batch has got other dates since; it has to be approved with these".to_owned(),
        ));
    }
    let expected = statement_of(
        figured,
        (pinned, signatures),
        (claimed, target),
        one.evidence_id,
    )?
    .to_text();
    Ok(difference(&one.text, &expected).map(|(is, should_be)| {
        format!("it was signed over \"{is}\", and now it is \"{should_be}\"")
    }))
}

/// Returns what the journal calls itself in texts; it is no part of a copy of rows into another journal.
pub(in crate::journal) fn journal(c: &dyn Read) -> Result<Option<Vec<u8>>, Error> {
    fact(c, "approval")
}
