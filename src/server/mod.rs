//! Sockets that anybody may call: whoever connects gets a seat, a deadline for everything that it sends, and an end in good order.
//!
//! What is answered is told by those who listen; nothing of ours is known here.

mod seats;
mod serve;

pub use seats::{Doing, Guest, Seats};
pub use serve::{Bounds, Reply, bind, empty, serve};
