//! Signatures beside a batch: the rule of its loads, who loaded, who approved. All of it is evidence on the chain of the batch, and
//! nowhere else.

pub(super) mod edited;
pub(super) mod figures;
pub(super) mod on_record;
pub(super) mod order_verbs;
pub(super) mod orders;
pub(super) mod orders_proven;
pub(super) mod proven;
pub(super) mod review;
pub(super) mod standing;
pub(super) mod verbs;
pub(super) mod waiting;
