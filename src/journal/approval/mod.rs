//! Signatures for a batch: the rule that its loads were under, who loaded it, and who approved it. They are stored as evidence on the
//! chain of the batch alone.

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
