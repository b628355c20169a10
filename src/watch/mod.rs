//! A page for a browser on this machine: where the batches stand, read only. It is given texts by its [`Source`], and knows
//! nothing of payments, so that nothing it does can move one.
//!
//! Whoever has the address has what it shows: it holds a token that cannot be guessed. The token stays in the path: a cookie
//! would be sent to every other server of this machine, whatever its port and whoever owns it. No page names another place, and
//! none is told where it was called from, so that the address does not leave the browser by itself.

mod body;
mod pages;
mod route;
mod server;
mod serving;
mod shared;
mod token;
mod view;

pub use route::{File, Wanted, is_loopback};
pub use server::Listener;
pub use serving::Serving;
pub use view::{
    Batch, Batches, Card, Download, Exception, Found, Line, Listed, Payment, Phase, Rows, Source,
    State, Summary, Told, Trouble,
};
