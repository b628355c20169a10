//! What a key may hold: kinds of values, and how each is read from text. Nothing here knows which keys there are.

pub(super) mod kind;
pub(super) mod rate;
pub(super) mod secret;
pub(super) mod suggest;
pub(super) mod typed;
