//! What goes wrong in a simulation, as named probabilities drawn from its seed.

use fastrand::Rng;

/// Chances in a thousand, and delays in milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// No connection: proven unsent.
    pub refused_connection: u32,
    /// The request never arrives.
    pub lost_request: u32,
    /// It arrives, the reply does not.
    pub lost_reply: u32,
    /// 5xx, nothing done.
    pub error_before: u32,
    /// 5xx, everything done.
    pub error_after: u32,
    /// 504 now, done later.
    pub late_execution: u32,
    /// 429, nothing done.
    pub throttled: u32,
    /// A body that is none.
    pub garbled: u32,
    /// An entry is missing from the reply.
    pub missing_entry: u32,
    /// An entry twice, with two codes.
    pub doubled_entry: u32,
    /// A reply about somebody else.
    pub foreign_entry: u32,
    /// Refused for good.
    pub refusal: u32,
    /// 104 or 174, whatever was done.
    pub vague: u32,
    /// 148 instead of 139.
    pub delivered: u32,
    /// 140 or 141 at once.
    pub immediate: u32,
    /// Accepted, and failed in the end.
    pub failure: u32,
    /// A status query brings nothing.
    pub query_error: u32,
    /// A status reply says 104 or 219.
    pub query_vague: u32,
    /// A status reply does not find what is there; once for each payment.
    pub query_lie: u32,
    /// A callback never comes.
    pub callback_lost: u32,
    /// It comes twice.
    pub callback_doubled: u32,
    /// It is followed by one that contradicts it.
    pub callback_contradicted: u32,
    /// It comes before the reply.
    pub callback_early: u32,
    /// Nobody is let in (132), nothing done.
    pub locked_out: u32,
    /// The file service is not there.
    pub upload_unavailable: u32,
    /// It takes the document, and its reply is lost.
    pub upload_lost: u32,
    /// It refuses the document.
    pub upload_refused: u32,
    /// A process dies, or its disk is full.
    pub crash: u32,
    /// A second run takes the batch over while the first one lives.
    pub takeover: u32,
    /// The operator acts while a run lives.
    pub hasty: u32,
    /// Whether an identifier that was accepted before is refused (229).
    pub duplicate_check: bool,
    /// Whether the gateway remembers what it refused.
    pub remembers_refusals: bool,
    /// How long a status query does not find what was just accepted.
    pub index_lag_ms: u64,
    /// How long the network may take in one direction.
    pub network_ms: u64,
    /// How late a late execution may be.
    pub late_ms: u64,
    /// How long until a payment settles.
    pub settle_ms: u64,
    /// When the float runs dry, and when it is topped up again.
    pub float_gap: Option<(u64, u64)>,
}

impl Faults {
    /// Draws a plan: most seeds have a few kinds of fault, often; some have all; some none.
    pub fn draw(rng: &mut Rng) -> Self {
        let temper = rng.u32(0..4);
        let mut chance = |most: u32| match temper {
            0 => 0,
            1 | 2 if rng.u32(0..3) > 0 => 0,
            _ => rng.u32(0..=most),
        };
        Self {
            refused_connection: chance(300),
            lost_request: chance(300),
            lost_reply: chance(400),
            error_before: chance(300),
            error_after: chance(300),
            late_execution: chance(200),
            throttled: chance(200),
            garbled: chance(200),
            missing_entry: chance(300),
            doubled_entry: chance(150),
            foreign_entry: chance(150),
            refusal: chance(200),
            vague: chance(200),
            delivered: chance(400),
            immediate: chance(300),
            failure: chance(400),
            query_error: chance(400),
            query_vague: chance(300),
            query_lie: chance(300),
            callback_lost: chance(600),
            callback_doubled: chance(500),
            callback_contradicted: chance(60),
            callback_early: chance(400),
            locked_out: chance(60),
            upload_unavailable: chance(400),
            upload_lost: chance(400),
            upload_refused: chance(200),
            crash: chance(900),
            takeover: chance(500),
            hasty: chance(700),
            duplicate_check: rng.bool(),
            remembers_refusals: rng.bool(),
            index_lag_ms: rng.u64(0..20_000),
            network_ms: rng.u64(1..3_000),
            late_ms: rng.u64(1..20_000),
            settle_ms: rng.u64(1..40_000),
            float_gap: (rng.u32(0..4) == 0).then(|| {
                let from = rng.u64(0..10_000);
                (from, from + rng.u64(1_000..60_000))
            }),
        }
    }

    /// The same gateway after its bad days.
    pub fn healed(&self) -> Self {
        Self {
            duplicate_check: self.duplicate_check,
            remembers_refusals: self.remembers_refusals,
            index_lag_ms: self.index_lag_ms,
            network_ms: 50,
            late_ms: 1,
            settle_ms: 1_000,
            ..Self::default()
        }
    }
}
