//! What goes wrong when: a draw that depends on the seed, the identifier and the attempt alone.

use std::ops::RangeInclusive;

use super::chances::Faults;
use super::fault::{Fault, Group};

/// Faults with a seed. Every method is a pure function of its arguments, so timing and order change no draw.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Plan {
    seed: u64,
    pub faults: Faults,
}

/// What a draw other than a fault's is for; keeps draws independent of one another.
#[derive(Clone, Copy)]
pub(in crate::sandbox) enum Draw {
    Settle = 16,
    SlowReply,
    LateExecution,
    CallbackLate,
    Repeat,
    RefusalCode,
    ErrorPage,
    Receipt,
    Application,
    PrepaidToken,
    Document,
    Name,
}

impl Plan {
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self { seed, faults }
    }

    /// The fault of the reply to a post.
    pub fn reply(&self, id: &str, attempt: u32) -> Option<Fault> {
        self.pick(Group::Reply, id, attempt)
    }

    /// The fault in how a post is decided.
    pub fn outcome(&self, id: &str, attempt: u32) -> Option<Fault> {
        self.pick(Group::Outcome, id, attempt)
    }

    /// The fault of the callback that a post leads to.
    pub fn callback(&self, id: &str, attempt: u32) -> Option<Fault> {
        self.pick(Group::Callback, id, attempt)
    }

    /// The fault of the `number`-th status query of an identifier, counted from 1.
    pub fn query(&self, id: &str, number: u32) -> Option<Fault> {
        let fault = self.pick(Group::Query, id, number)?;
        // An identifier is denied once at most.
        (fault != Fault::QueryLiesNotFound || number == 1).then_some(fault)
    }

    /// Whether status queries need to be counted at all.
    pub fn disturbs_queries(&self) -> bool {
        self.faults.chances[Group::Query.range()]
            .iter()
            .any(|chance| *chance > 0.0)
    }

    /// A number of the range.
    pub fn within(&self, range: &RangeInclusive<u64>, draw: Draw, id: &str, attempt: u32) -> u64 {
        let span = (range.end() - range.start()).saturating_add(1);
        range.start() + self.bits(draw, id, attempt) % span
    }

    /// 64 random-looking bits.
    pub fn bits(&self, draw: Draw, id: &str, attempt: u32) -> u64 {
        mix(self.seed, draw as u64, id, attempt)
    }

    fn pick(&self, group: Group, id: &str, attempt: u32) -> Option<Fault> {
        let range = group.range();
        if self.faults.chances[range.clone()].iter().all(|c| *c == 0.0) {
            return None;
        }
        // 53 bits are what a fraction of an f64 holds.
        #[allow(clippy::cast_precision_loss)]
        let mut point =
            (mix(self.seed, group as u64, id, attempt) >> 11) as f64 / (1_u64 << 53) as f64;
        for index in range {
            point -= self.faults.chances[index];
            if point < 0.0 {
                return Some(Fault::ALL[index].0);
            }
        }
        None
    }
}

/// FNV-1a over the identifier, finished with SplitMix64: fast, and the same on every machine.
fn mix(seed: u64, salt: u64, id: &str, attempt: u32) -> u64 {
    let mut hash = fnv(seed ^ 0xcbf2_9ce4_8422_2325, id.as_bytes());
    for word in [salt, u64::from(attempt)] {
        hash = hash.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
    }
    hash
}

/// FNV-1a; also tells whether two posts carry the same bytes.
pub(in crate::sandbox) fn fnv(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
