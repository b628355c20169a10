//! What goes over the wire: payments, answers and what they prove, and whose posts they are.

use std::sync::Arc;

use crate::domain::{Epoch, PayerTransactionId};

/// One payment as it is on the wire.
#[derive(Clone, Debug)]
pub(in crate::simulation) struct Packet {
    pub id: PayerTransactionId,
    /// The user name it is posted under.
    pub user: &'static str,
    /// The row it pays.
    pub line: u64,
    pub service: Arc<str>,
    /// Its amount, in the smallest unit.
    pub minor: i64,
    /// The number it goes to.
    pub msisdn: String,
    pub callback: bool,
    /// Whether its row has a document, and what it is called at the file service.
    pub document: Option<Option<String>>,
    /// A digest of its bytes.
    pub digest: u64,
}

/// A run's hold on the batch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::simulation) struct Hold {
    /// As whom it asks and posts.
    pub account: &'static str,
    pub(in crate::simulation) acquired: bool,
    pub(in crate::simulation) ended: bool,
    /// When another run took the batch while this one lived.
    pub overtaken_at: Option<u64>,
    /// It stood still until then: it notices that at once.
    pub stood_still: bool,
    /// From when until when nothing of it goes on.
    pub standstill: Option<(u64, u64)>,
    /// For how long it stands still from its next post on, whose slot has come.
    pub stops_at_post: Option<u64>,
    /// From when until when it does not reach the store.
    pub cut_off: Option<(u64, u64)>,
    /// Its session, where several runs share the store.
    pub session: Option<Epoch>,
    /// Its store has failed it.
    pub troubled: bool,
}

impl Hold {
    /// A run that has nothing yet, and what will happen to it.
    pub(in crate::simulation) fn with(account: &'static str, ordeal: Ordeal, now: u64) -> Self {
        let from_now = |(after, long): (u64, u64)| (now + after, now + after + long);
        Self {
            account,
            standstill: ordeal.standstill.map(from_now),
            stops_at_post: ordeal.stops_at_post,
            cut_off: ordeal.cut_off.map(from_now),
            ..Self::default()
        }
    }
}

/// What happens to the process of a run from outside, in milliseconds from its start on.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::simulation) struct Ordeal {
    /// It stands still after this long, for so long.
    pub standstill: Option<(u64, u64)>,
    /// It stands still for so long just before its first post leaves.
    pub stops_at_post: Option<u64>,
    /// It does not reach the store after this long, for so long; the gateway it does.
    pub cut_off: Option<(u64, u64)>,
    /// It is killed after this long.
    pub killed: Option<u64>,
}

/// Payments that left together.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) struct Sent {
    pub at: u64,
    pub count: usize,
    /// At which rate per second.
    pub rate: usize,
    /// From which account.
    pub account: &'static str,
}

/// What comes back, and what it proves.
pub(in crate::simulation) enum Answer {
    Body(u16, Vec<u8>, Vec<(PayerTransactionId, Proof)>),
    HangUp,
}

impl Answer {
    /// An answer that proves nothing.
    pub fn nothing(status: u16, body: Vec<u8>) -> Self {
        Self::Body(status, body, Vec::new())
    }
}

/// What makes a further post of an identifier safe.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) enum Proof {
    /// The last post was not carried out, and will not be.
    NotDone,
    /// The gateway does not know it; this must be heard twice, after the quarantine.
    NotFound,
}

/// How many of these spans do not overlap, at most, in the order of their ends.
pub(in crate::simulation) fn apart<'a>(spans: impl Iterator<Item = &'a (u64, u64)>) -> usize {
    let (mut count, mut last) = (0, 0);
    for (from, until) in spans {
        if *from >= last {
            (count, last) = (count + 1, *until);
        }
    }
    count
}

/// The posts of one identifier.
#[derive(Clone, Debug, Default)]
pub(in crate::simulation) struct Departures {
    pub(in crate::simulation) digest: Option<u64>,
    pub(in crate::simulation) count: u32,
    pub(in crate::simulation) last_at: u64,
    pub(in crate::simulation) not_done: bool,
    /// When it was asked about and not found, and when that was heard.
    pub(in crate::simulation) not_found: Vec<(u64, u64)>,
    /// When it was not found last.
    pub(in crate::simulation) denied_at: Option<u64>,
    /// A post of it, and not the last one, may have arrived.
    pub(in crate::simulation) exposed: bool,
    pub(in crate::simulation) under_way: Option<usize>,
}

impl Departures {
    /// How often it was not found, as far as that was heard from then on; of questions that overlap, one counts.
    pub fn denials(&self, from: u64, may_overlap: bool) -> usize {
        let heard = self.not_found.iter().filter(|(_, heard)| *heard >= from);
        match may_overlap {
            true => heard.count(),
            false => apart(heard),
        }
    }

    /// The journal that counted them is lost.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
