//! The verbs about signatures: the text to sign, a signature to record, where a batch stands with them.

use serde_json::json;

use super::edited::assert_as_loaded;
use super::figures::{Figured, reach_of};
use super::on_record::{OnRecord, Pinned, journal, kind_of, rule_detail, signatures, statement_of};
use super::standing::{approvals, first_after};
use crate::domain::{BatchId, BatchName, EvidenceId, LoadId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::RULE_PINNED;
use crate::journal::codec::facts::note_new;
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::salt;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Approvals, Error, NotSigned, Signed, ToSign};
use crate::ledger::approval::judge::{Approval, Hand, LoadedBy, is_anothers};
use crate::ledger::approval::rule::{InForce, Rule};
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::{Claimed, Role, Statement, Target, difference};
use crate::store::tables::load;
use crate::store::{Read, Reads, Scan, Write};

/// So many signatures are kept of one batch.
const SIGNATURES_MAX: usize = 200;

impl Journal {
    /// Returns where a batch stands with its signatures.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn approvals(
        &self,
        batch: BatchName,
        rule: Option<Rule>,
        target: Option<Target>,
    ) -> Result<Approvals, Error> {
        self.read(move |c| approvals(c, known_batch(c, &batch)?, rule.clone(), target.as_ref()))
            .await
    }

    /// Returns the rules that hold for a batch.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn rules(&self, batch: BatchName, rule: Option<Rule>) -> Result<InForce, Error> {
        self.read(move |c| Pinned::read(c, known_batch(c, &batch)?)?.in_force(rule.clone()))
            .await
    }

    /// Returns what somebody would sign of a batch as it is now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::Altered`] where it is not as it was recorded.
    pub async fn statement(
        &self,
        batch: BatchName,
        (role, by): (Role, String),
        target: Option<Target>,
        now: Timestamp,
    ) -> Result<Statement, Error> {
        self.ask(move |c| {
            c.flush()?;
            let batch_id = known_batch(c, &batch)?;
            // Nobody signs for what was edited.
            assert_as_loaded(c, batch_id, &batch)?;
            name(c)?;
            let on_record = signatures(c, batch_id)?;
            let claimed = Claimed {
                role,
                by,
                bound: reach_of(c, batch_id)?,
                loads: (last_signed(&on_record), last_load(c, batch_id)?),
                target: None,
                signed: now,
            };
            let pinned = Pinned::read(c, batch_id)?;
            statement_of(
                &Figured::of(c, batch_id),
                (&pinned, &on_record),
                (&claimed, target.as_ref()),
                EvidenceId::AFTER_ALL,
            )
        })
        .await
    }

    /// Records a signature, once it was verified.
    ///
    /// # Errors
    /// As [`Journal::statement`].
    pub async fn sign(
        &self,
        batch: BatchName,
        order: ToSign,
    ) -> Result<Result<Signed, NotSigned>, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            c.flush()?;
            let batch_id = known_batch(c, &batch)?;
            assert_as_loaded(c, batch_id, &batch)?;
            sign(c, batch_id, &order)
        })
        .await
    }
}

/// Puts the rule that a load is made under on the chain, unless it stands there already.
pub(in crate::journal) fn pin_rule(
    c: &WriteSession,
    batch_id: BatchId,
    rule: Option<&Rule>,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(rule) = rule else {
        return Ok(());
    };
    c.flush()?;
    let detail = rule_detail(rule);
    if Pinned::read(c, batch_id)?.ends_with(&detail) {
        return Ok(());
    }
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (RULE_PINNED, None, None),
        detail: Some(&detail),
        ..Evidence::default()
    })
}

fn sign(
    c: &WriteSession,
    batch_id: BatchId,
    order: &ToSign,
) -> Result<Result<Signed, NotSigned>, Error> {
    let pinned = Pinned::read(c, batch_id)?;
    let in_force = pinned.in_force(order.rule.clone())?;
    let on_record = signatures(c, batch_id)?;
    let (claimed, signature) = match read(order, &in_force) {
        Ok(read) => read,
        Err(why) => return Ok(Err(why)),
    };
    let hand = Hand {
        by: claimed.by.clone(),
        key: signature.key().clone(),
    };
    let signed = Signed {
        role: claimed.role,
        by: claimed.by.clone(),
        fingerprint: hand.key.fingerprint(),
        before: on_record.iter().any(|one| one.text == order.text),
    };
    if signed.before {
        return Ok(Ok(signed));
    }
    if let Some(why) = refuse(c, batch_id, (&pinned, &on_record), order, (&claimed, &hand))? {
        return Ok(Err(why));
    }
    c.mark(batch_id);
    let detail = json!({"text": order.text, "signature": order.signature});
    c.append(&Evidence {
        batch_id,
        at: order.now,
        kind: (kind_of(claimed.role), None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })?;
    let act = match claimed.role {
        Role::Loads => "sign-load",
        Role::Approves => "approve",
    };
    c.acted(batch_id, order.now, act, claimed.by.into())?;
    Ok(Ok(signed))
}

/// Reads what is to be recorded, and verifies it as far as that takes no look at the batch.
fn read(order: &ToSign, in_force: &InForce) -> Result<(Claimed, Signature), NotSigned> {
    if in_force.is_none() {
        return Err(NotSigned::NoRule);
    }
    let claimed = Claimed::read(&order.text).ok_or(NotSigned::NoText)?;
    let signature = Signature::parse(&order.signature).map_err(NotSigned::Ssh)?;
    in_force
        .may_sign(&claimed.by, signature.key(), &[claimed.signed, order.now])
        .map_err(NotSigned::Unfit)?;
    signature
        .verify(order.text.as_bytes())
        .map_err(NotSigned::Ssh)?;
    if claimed.signed > order.now {
        return Err(NotSigned::Time(claimed.signed));
    }
    Ok((claimed, signature))
}

/// Returns why a signature that is valid is not recorded, if it is not.
fn refuse(
    c: &WriteSession,
    batch_id: BatchId,
    (pinned, on_record): (&Pinned, &[OnRecord]),
    order: &ToSign,
    (claimed, hand): (&Claimed, &Hand),
) -> Result<Option<NotSigned>, Error> {
    if on_record.len() >= SIGNATURES_MAX {
        return Ok(Some(NotSigned::TooMany));
    }
    if claimed.role == Role::Approves && order.target.is_none() {
        return Ok(Some(NotSigned::NoText));
    }
    let statement = statement_of(
        &Figured::of(c, batch_id),
        (pinned, on_record),
        (claimed, order.target.as_ref()),
        EvidenceId::AFTER_ALL,
    )?;
    let expected = statement.to_text();
    if let Some((is, should_be)) = difference(&order.text, &expected) {
        return Ok(Some(NotSigned::Differs {
            is: is.to_owned(),
            should_be: should_be.to_owned(),
        }));
    }
    if claimed.role == Role::Loads {
        let expected = (last_signed(on_record), last_load(c, batch_id)?);
        return Ok((claimed.loads != expected).then(|| NotSigned::Differs {
            is: format!(
                "loads: after {}, up to {}",
                claimed.loads.0, claimed.loads.1
            ),
            should_be: format!("loads: after {}, up to {}", expected.0, expected.1),
        }));
    }
    if statement.figures.unpriced > 0 {
        return Ok(Some(NotSigned::AmountsPending(statement.figures.unpriced)));
    }
    // A load that brought no row needs nobody's signature.
    if first_after(c, batch_id, last_signed(on_record), LoadId::AFTER_ALL)?.is_some() {
        return Ok(Some(NotSigned::Unloaded));
    }
    let approval = Approval {
        hand: hand.clone(),
        bound: claimed.bound,
    };
    let loaders = on_record
        .iter()
        .filter(|one| one.claimed.role == Role::Loads)
        .map(|one| {
            Ok(LoadedBy {
                hand: one.hand.clone(),
                first: super::standing::first_loaded(c, batch_id, one.claimed.loads)?,
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    Ok((!is_anothers(&approval, &loaders)).then(|| NotSigned::Loader(hand.by.clone())))
}

fn last_signed(on_record: &[OnRecord]) -> LoadId {
    let loads = on_record.iter().map(|one| one.claimed.loads.1);
    loads.max().unwrap_or(LoadId::NONE)
}

fn last_load(c: &dyn Read, batch_id: BatchId) -> Result<LoadId, Error> {
    let newest = Scan::by(&load::load_by_batch).at(&batch_id).descending();
    let last = c.value(&newest, load::load_id)?;
    Ok(last.unwrap_or(LoadId::NONE))
}

/// Gives the journal its name in texts, once.
pub(super) fn name(c: &dyn Write) -> Result<(), Error> {
    match journal(c)? {
        Some(_) => Ok(()),
        None => note_new(c, "approval", &salt::fresh()?),
    }
}
