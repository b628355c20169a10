//! What goes wrong: named probabilities, and a draw that depends on the seed, the identifier and the attempt alone.

use std::ops::RangeInclusive;

use super::Error;

/// One way to misbehave.
///
/// The faults of one group exclude one another for one attempt; faults of different groups meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A 5xx reply to a post that did nothing.
    ErrorBefore,
    /// A 5xx reply to a post that was judged as usual.
    ErrorAfter,
    /// The connection closes without a reply; nothing was done.
    DropBefore,
    /// The connection closes without a reply; the post was judged as usual.
    DropAfter,
    /// The reply takes long.
    SlowReply,
    /// A 504 reply; the post is judged only some time later.
    LateExecution,
    /// The reply breaks off in the middle.
    TruncatedReply,
    /// The reply has no entry.
    MissingEntry,
    /// The reply has an entry for an identifier that nobody posted, and none of ours.
    ForeignEntry,
    /// A 200 reply with an HTML page.
    GarbageReply,
    /// A 429 reply to a post that did nothing.
    Throttle,
    /// The accepted payment settles as 141.
    Reject,
    /// A valid post is refused at once.
    Refuse,
    /// The callback is never sent.
    CallbackLost,
    /// The callback is sent again after it was acknowledged.
    CallbackDoubled,
    /// The callback comes before the reply to the post.
    CallbackEarly,
    /// The callback comes late.
    CallbackLate,
    /// A 5xx reply to a status query.
    QueryError,
    /// The first status query soon after the post says 143 about a payment that was accepted.
    QueryLiesNotFound,
}

/// How many faults there are.
const COUNT: usize = 19;

impl Fault {
    /// Every fault with its name, in the order of the groups.
    pub const ALL: [(Self, &'static str); COUNT] = [
        (Self::ErrorBefore, "error_before"),
        (Self::ErrorAfter, "error_after"),
        (Self::DropBefore, "drop_before"),
        (Self::DropAfter, "drop_after"),
        (Self::SlowReply, "slow_reply"),
        (Self::LateExecution, "late_execution"),
        (Self::TruncatedReply, "truncated_reply"),
        (Self::MissingEntry, "missing_entry"),
        (Self::ForeignEntry, "foreign_entry"),
        (Self::GarbageReply, "garbage_reply"),
        (Self::Throttle, "throttle"),
        (Self::Reject, "reject"),
        (Self::Refuse, "refuse"),
        (Self::CallbackLost, "callback_lost"),
        (Self::CallbackDoubled, "callback_doubled"),
        (Self::CallbackEarly, "callback_early"),
        (Self::CallbackLate, "callback_late"),
        (Self::QueryError, "query_error"),
        (Self::QueryLiesNotFound, "query_lies_not_found"),
    ];
}

/// Faults of which at most one is drawn for an attempt.
#[derive(Clone, Copy)]
enum Group {
    Reply,
    Outcome,
    Callback,
    Query,
}

impl Group {
    const ALL: [Self; 4] = [Self::Reply, Self::Outcome, Self::Callback, Self::Query];

    /// The group's part of [`Fault::ALL`].
    fn range(self) -> std::ops::Range<usize> {
        match self {
            Self::Reply => 0..11,
            Self::Outcome => 11..13,
            Self::Callback => 13..17,
            Self::Query => 17..COUNT,
        }
    }
}

/// A service whose float runs out once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatShortage {
    /// The service's code.
    pub service: String,
    /// After how many accepted payments.
    pub after: u64,
    /// How long after the first 230 the float is topped up, in milliseconds.
    pub topped_up_after_ms: u64,
}

/// How often each fault happens, as probabilities from 0 to 1, and how long the slow ones take.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    chances: [f64; COUNT],
    /// How long a slow reply takes.
    pub slow_reply_ms: RangeInclusive<u64>,
    /// How long after its 504 a late post is judged.
    pub late_execution_ms: RangeInclusive<u64>,
    /// How much later than settlement a late callback is sent.
    pub callback_late_ms: RangeInclusive<u64>,
    /// For how long after its post a payment may be denied.
    pub query_lies_within_ms: u64,
    /// The float shortage, if there is one.
    pub float_shortage: Option<FloatShortage>,
}

impl Faults {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self {
            chances: [0.0; COUNT],
            slow_reply_ms: 300..=1500,
            late_execution_ms: 300..=900,
            callback_late_ms: 1000..=3000,
            query_lies_within_ms: 3000,
            float_shortage: None,
        }
    }

    /// What a gateway does on an ordinary bad day.
    #[must_use]
    pub fn realistic() -> Self {
        Self::none()
            .with(Fault::ErrorBefore, 0.01)
            .with(Fault::ErrorAfter, 0.015)
            .with(Fault::DropBefore, 0.005)
            .with(Fault::DropAfter, 0.01)
            .with(Fault::SlowReply, 0.03)
            .with(Fault::Reject, 0.01)
            .with(Fault::Refuse, 0.01)
            .with(Fault::CallbackLost, 0.03)
            .with(Fault::CallbackDoubled, 0.03)
            .with(Fault::CallbackLate, 0.02)
            .with(Fault::CallbackEarly, 0.01)
            .with(Fault::QueryError, 0.02)
            .short("B2C_MPESA", 300, 3000)
    }

    /// Everything goes wrong, several times as often.
    #[must_use]
    pub fn hostile() -> Self {
        let often = [
            (Fault::LateExecution, 0.04),
            (Fault::TruncatedReply, 0.03),
            (Fault::MissingEntry, 0.03),
            (Fault::ForeignEntry, 0.03),
            (Fault::GarbageReply, 0.03),
            (Fault::Throttle, 0.03),
            (Fault::ErrorBefore, 0.05),
            (Fault::ErrorAfter, 0.06),
            (Fault::DropBefore, 0.04),
            (Fault::DropAfter, 0.06),
            (Fault::SlowReply, 0.05),
            (Fault::Reject, 0.04),
            (Fault::Refuse, 0.04),
            (Fault::CallbackLost, 0.15),
            (Fault::CallbackDoubled, 0.15),
            (Fault::CallbackEarly, 0.08),
            (Fault::CallbackLate, 0.10),
            (Fault::QueryError, 0.10),
            (Fault::QueryLiesNotFound, 0.10),
        ];
        often
            .into_iter()
            .fold(Self::none(), |faults, (fault, chance)| {
                faults.with(fault, chance)
            })
            .short("B2C_MPESA", 100, 3000)
    }

    /// Returns the preset `none`, `realistic` or `hostile`.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::none()),
            "realistic" => Some(Self::realistic()),
            "hostile" => Some(Self::hostile()),
            _ => None,
        }
    }

    /// Sets how often one fault happens.
    #[must_use]
    pub fn with(mut self, fault: Fault, chance: f64) -> Self {
        self.chances[fault as usize] = chance;
        self
    }

    /// Returns how often one fault happens.
    #[must_use]
    pub fn chance(&self, fault: Fault) -> f64 {
        self.chances[fault as usize]
    }

    /// Lets one service's float run out.
    #[must_use]
    pub fn short(mut self, service: &str, after: u64, topped_up_after_ms: u64) -> Self {
        self.float_shortage = Some(FloatShortage {
            service: service.to_owned(),
            after,
            topped_up_after_ms,
        });
        self
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        for (fault, name) in Fault::ALL {
            if !(0.0..=1.0).contains(&self.chance(fault)) {
                return Err(Error::Faults(format!("{name} must be from 0 to 1")));
            }
        }
        for group in Group::ALL {
            // A little more than 1, because decimal fractions do not add up exactly.
            if self.chances[group.range()].iter().sum::<f64>() > 1.000_001 {
                let names: Vec<_> = Fault::ALL[group.range()].iter().map(|(_, n)| *n).collect();
                return Err(Error::Faults(format!(
                    "these exclude one another and must not add up to more than 1: {}",
                    names.join(", ")
                )));
            }
        }
        for (name, range) in [
            ("slow_reply_ms", &self.slow_reply_ms),
            ("late_execution_ms", &self.late_execution_ms),
            ("callback_late_ms", &self.callback_late_ms),
        ] {
            if range.is_empty() {
                return Err(Error::Faults(format!("{name} ends before it begins")));
            }
        }
        Ok(())
    }
}

/// Faults with a seed. Every method is a pure function of its arguments, so timing and order change no draw.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    seed: u64,
    pub faults: Faults,
}

/// What a draw other than a fault's is for; keeps draws independent of one another.
#[derive(Clone, Copy)]
pub(super) enum Draw {
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
pub(super) fn fnv(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
