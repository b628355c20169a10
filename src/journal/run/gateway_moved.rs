//! A batch whose gateway has another address now. The rule is in [`crate::ledger::moves`].

use serde_json::{Value, json};

use super::destination::{self, destination};
use super::pin::{assert_belongs, assert_nothing_was_edited, assert_purpose, mark_payer};
use super::pinned::{left_behind, may_be_there};
use super::sessions;
use super::witnesses::witnesses;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::{account, known_batch, of_batch};
use crate::journal::codec::events::GATEWAY_MOVED;
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::digests::pin_digest;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::recovery::payers::ask_in_the_new_place;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, GatewayMoved};
use crate::ledger::Purpose;
use crate::ledger::moves::{Move, judge_move};
use crate::ledger::pin::Destination;
use crate::store::tables::batch;
use crate::store::{Read, Scan, Writes};

impl Journal {
    /// Returns the gateway on record of a batch, and what it takes to move the batch to the one that is configured.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn gateway_move(
        &self,
        batch: BatchName,
        configured: String,
    ) -> Result<(String, Move), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            let on_record = match gateway(c, batch_id)? {
                Some(gateway) => Some(gateway),
                None => destination(c, batch_id)?.map(|meant| meant.gateway),
            };
            let judged = judged(c, (batch_id, &batch), on_record.as_deref(), &configured)?;
            Ok((on_record.unwrap_or_default(), judged))
        })
        .await
    }

    /// Moves a batch to another address of its gateway, by order.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::OnlyARehearsal`]; [`Error::OtherGateway`] when it belongs elsewhere by now, or may not move.
    pub async fn move_gateway(
        &self,
        batch: BatchName,
        order: GatewayMoved,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            move_gateway(c, &batch, &order, now)
        })
        .await
    }
}

fn gateway(c: &dyn Read, batch_id: BatchId) -> Result<Option<String>, Error> {
    of_batch(c, batch_id, batch::gateway)
}

fn judged(
    c: &WriteSession,
    (batch_id, batch): (BatchId, &BatchName),
    on_record: Option<&str>,
    configured: &str,
) -> Result<Move, Error> {
    let can_witness = !witnesses(c, batch_id, 1)?.is_empty();
    let bound = can_witness || may_be_there(c, batch_id)?;
    if !bound {
        assert_nothing_was_edited(c, batch_id, batch)?;
    }
    Ok(judge_move(on_record, configured, bound, can_witness))
}

pub(super) fn move_gateway(
    c: &WriteSession,
    batch: &BatchName,
    order: &GatewayMoved,
    now: Timestamp,
) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    // A rehearsal has no address that could change, and is never moved to a gateway.
    for address in [&order.from, &order.to] {
        assert_purpose(c, batch, Purpose::of_gateway(address))?;
    }
    sessions::assert_alone(c, batch_id)?;
    let on_record = gateway(c, batch_id)?;
    let judged = judged(c, (batch_id, batch), on_record.as_deref(), &order.to)?;
    let may_move = match judged {
        Move::Free => true,
        Move::Proof => order.witness.is_some(),
        Move::Needless | Move::Impossible => false,
    };
    if !may_move || on_record.as_deref() != Some(&order.from) {
        return Err(Error::OtherGateway {
            batch: batch.clone(),
            pinned: on_record.unwrap_or_default(),
            configured: order.to.clone(),
        });
    }
    if let Some(witness) = order.witness {
        assert_belongs(c, batch_id, witness)?;
    }
    c.mark(batch_id);
    let about = Value::from(order.to.as_str());
    let touched = Touched::about(&about).leaving(left_behind(c, batch_id)?);
    let why = Some(order.reason.as_str());
    c.act_upon((batch_id, now), "gateway-moved", about, &touched, why)?;
    let to = |meant| Destination {
        gateway: order.to.clone(),
        profile: order.profile.clone(),
        ..meant
    };
    let is_apart = order.witness.is_none();
    destination::moved(c, batch_id, (to, &order.reason), is_apart, now)?;
    mark_payer(
        c,
        batch,
        &order.to,
        &account(c, batch_id)?.unwrap_or_default(),
    )?;
    tie_anew(c, batch_id, order, now)?;
    ask_in_the_new_place(c, batch_id, now)
}

/// Ties a batch to another address, and records why.
pub(super) fn tie_anew(
    c: &WriteSession,
    batch_id: BatchId,
    order: &GatewayMoved,
    now: Timestamp,
) -> Result<(), Error> {
    let own = Scan::of(&batch::TABLE).at(&batch_id);
    c.set(&own, batch::gateway, &order.to)?;
    let detail = json!({
        "gateway": order.to,
        "before": order.from,
        "witness": order.witness.map(|id| id.as_str().to_owned()),
        "reason": order.reason,
    })
    .to_string();
    let digest = pin_digest(c, batch_id)?;
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (GATEWAY_MOVED, None, None),
        digest: digest.as_ref(),
        detail: Some(&detail),
        ..Evidence::default()
    })
}
