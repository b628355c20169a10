//! What goes wrong in a simulation, as named probabilities drawn from its seed.

use fastrand::Rng;

use super::plays::Play;

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
    /// A status reply has no authentication status, and tells what is not so.
    pub query_stripped: u32,
    /// Of two posts of a payment the gateway shows the first one only once it has refused the second; it has a duplicate check.
    pub hidden: u32,
    /// Whether it calls a repeat rejected (141), and not a duplicate (229).
    pub rejects_repeats: bool,
    /// A callback never comes.
    pub callback_lost: u32,
    /// It comes twice.
    pub callback_doubled: u32,
    /// A payment is executed although the gateway has called it failed.
    pub broken_no: u32,
    /// After it was called failed, a word comes by which it is under way, or that is about something else, or unreadable.
    pub late_word: u32,
    /// It is called failed although it was executed, and the gateway has said so.
    pub broken_yes: u32,
    /// It comes before the reply.
    pub callback_early: u32,
    /// Somebody else's payment has had the identifier all along.
    pub stranger: u32,
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
    /// Somebody edits an amount in the journal's file, for the time of a run.
    pub tampered: u32,
    /// A run comes with another user name: that of another account, or the same account's under a new name.
    pub other_account: u32,
    /// A copy of the journal runs beside the original, for the time of a run.
    pub beside: u32,
    /// An operator's decision is not true.
    pub false_word: u32,
    /// A run stands still for a while, as a suspended machine does.
    pub standstill: u32,
    /// The clock of a listener beside the run is years ahead.
    pub listener_ahead: u32,
    /// The operator acts while a run lives.
    pub hasty: u32,
    /// Words about our identifier that are about another payment: another amount stands beside a code that is not true.
    pub other_words: u32,
    /// Amount and number stand beside the code.
    pub named: u32,
    /// So many bodies that nobody can read come to a payment's address that there would be no room for another.
    pub junk: u32,
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

/// Nothing, or up to so much.
fn chance_of(rng: &mut Rng, most: u32) -> u32 {
    if rng.bool() { rng.u32(0..=most) } else { 0 }
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
        let mut faults = Self {
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
            broken_no: chance(Play::BrokenNo.chance(300)),
            broken_yes: chance(100),
            callback_early: chance(400),
            locked_out: chance(60),
            upload_unavailable: chance(400),
            upload_lost: chance(400),
            upload_refused: chance(200),
            crash: chance(900),
            takeover: chance(500),
            hasty: chance(700),
            stranger: chance(Play::Stranger.chance(100)),
            tampered: chance(Play::Tampered.chance(100)),
            standstill: chance(Play::Standstill.chance(400)),
            listener_ahead: chance(Play::ListenerAhead.chance(300)),
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
            ..Self::default()
        };
        if temper > 0 {
            let mut chance = |most| chance_of(rng, most);
            faults.other_words = chance(300);
            faults.named = chance(1_000);
            faults.junk = chance(100);
            faults.query_stripped = chance(200);
            faults.hidden = chance(300);
            faults.other_account = chance(Play::OtherAccount.chance(300));
            faults.beside = chance(Play::Beside.chance(300));
            faults.false_word = chance(Play::FalseWord.chance(700));
            faults.rejects_repeats = rng.bool();
            faults.late_word = chance_of(rng, 300);
        }
        faults
    }

    /// The same gateway, that calls many payments failed and takes some of it back: what is loaded again then has something to
    /// repeat.
    pub fn with_failures(self) -> Self {
        Self {
            failure: self.failure.max(300),
            refusal: self.refusal.max(150),
            late_word: self.late_word.max(400),
            callback_lost: self.callback_lost.min(200),
            ..self
        }
    }

    /// The same gateway after its bad days.
    pub fn healed(&self) -> Self {
        Self {
            duplicate_check: self.duplicate_check,
            remembers_refusals: self.remembers_refusals,
            rejects_repeats: self.rejects_repeats,
            index_lag_ms: self.index_lag_ms,
            network_ms: 50,
            late_ms: 1,
            settle_ms: 1_000,
            ..Self::default()
        }
    }
}
