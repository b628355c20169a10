//! Callbacks (section 6): workers take them from the outbox and send them, again and again until they are acknowledged.
//! Each worker keeps a connection of its own open.

pub(super) mod connection;
pub(super) mod workers;
