//! The access tokens that are good (section 4.1).

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::store::fresh_identity;
use crate::domain::Timestamp;

/// How many tokens are good at once; the oldest make room.
const TOKENS_MAX: usize = 4096;

/// A token that was given out. The clock that a person may set only names its end, it does not decide it.
struct Issued {
    token: String,
    until: Instant,
    ends_at: Timestamp,
}

/// What is known of a token.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Standing {
    /// It is good.
    Good,
    /// It ended then.
    Expired(Timestamp),
    /// It was never given out, or before this process began.
    Unknown,
}

/// The tokens, the oldest first.
#[derive(Default)]
pub(in crate::sandbox) struct Tokens(Mutex<VecDeque<Issued>>);

impl Tokens {
    /// Gives out a token that is good from `now` on, for so long.
    pub fn issue(&self, now: Timestamp, lifetime: Duration) -> String {
        let issued = Issued {
            token: made_up(),
            until: Instant::now() + lifetime,
            ends_at: now.after(lifetime),
        };
        let token = issued.token.clone();
        let mut tokens = self.0.lock().expect("no holder of the tokens panics");
        if tokens.len() == TOKENS_MAX {
            tokens.pop_front();
        }
        tokens.push_back(issued);
        token
    }

    pub fn standing(&self, token: &str) -> Standing {
        let tokens = self.0.lock().expect("no holder of the tokens panics");
        match tokens.iter().rev().find(|issued| issued.token == token) {
            None => Standing::Unknown,
            Some(issued) if Instant::now() < issued.until => Standing::Good,
            Some(issued) => Standing::Expired(issued.ends_at),
        }
    }
}

/// Three random parts, as a JWT has them.
pub(in crate::sandbox) fn made_up() -> String {
    let part = || fresh_identity();
    format!("sandbox.{}{}.{}", part(), part(), part())
}
