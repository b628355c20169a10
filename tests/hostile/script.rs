//! How the gateway misbehaves: a script decides, from a seed alone, what each post and each query meets.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use fastrand::Rng;

use super::forms::{Body, Form, HARMLESS, SPOILT};

/// A post of one payment.
#[derive(Debug)]
pub struct Post<'a> {
    pub id: &'a str,
    pub reference: &'a str,
    pub service: &'a str,
    /// 1 for the first post of this identifier.
    pub nth: u32,
    /// It was executed before, or will be.
    pub executed: bool,
}

/// A status query about one payment.
#[derive(Debug)]
pub struct Query<'a> {
    pub id: &'a str,
    pub nth: u32,
    /// What is true now.
    pub honest: i32,
}

/// What a post does to the payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Money moves, and status queries see it after a while.
    Execute {
        visible: Duration,
        settled: Duration,
        code: i32,
    },
    /// The gateway takes it, and it fails later.
    Fail {
        settled: Duration,
        code: i32,
    },
    Nothing,
}

impl Effect {
    pub const EXECUTE: Self = Self::Execute {
        visible: Duration::ZERO,
        settled: Duration::ZERO,
        code: 140,
    };
}

/// A callback's body.
#[derive(Clone, Copy, Debug)]
pub enum Push {
    /// This code, in the documented form.
    Code(i32),
    TextCode(i32),
    InArray(i32),
    InArrayOfTwo(i32),
    Foreign(i32),
    WrongToken(i32),
    OtherAmount(i32),
    OtherCurrency(i32),
    OtherNumber(i32),
    OtherFunction(i32),
    DoubledKeys(i32),
    Empty,
    Garbage,
    Huge,
    HalfABody,
}

/// What the gateway does with one post.
#[derive(Debug)]
pub struct Conduct {
    pub effect: Effect,
    pub code: i32,
    pub form: Form,
    /// Before the reply.
    pub pause: Duration,
    /// After the post arrived: how long until each callback.
    pub pushes: Vec<(Duration, Push)>,
    /// The words of this conduct contradict one another.
    pub contradicted: bool,
}

impl Conduct {
    /// Takes the payment, and says so.
    pub fn honest() -> Self {
        Self {
            effect: Effect::EXECUTE,
            code: 139,
            form: Form::Plain,
            pause: Duration::ZERO,
            pushes: Vec::new(),
            contradicted: false,
        }
    }

    pub fn spoilt(effect: Effect, form: Form) -> Self {
        Self {
            effect,
            form,
            ..Self::honest()
        }
    }

    pub fn refusal(code: i32) -> Self {
        Self {
            effect: Effect::Nothing,
            code,
            ..Self::honest()
        }
    }

    pub fn pushing(mut self, pushes: &[(u64, Push)]) -> Self {
        self.pushes = pushes
            .iter()
            .map(|(ms, push)| (millis(*ms), *push))
            .collect();
        self
    }
}

/// What the gateway answers to one query.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub form: Form,
    pub pause: Duration,
}

impl Answer {
    pub fn honest(query: &Query<'_>) -> Self {
        Self {
            code: query.honest,
            form: Form::Plain,
            pause: Duration::ZERO,
        }
    }
}

/// Decides what each request meets. The same request always meets the same.
pub trait Script: Send + Sync + 'static {
    fn post(&self, post: &Post<'_>) -> Conduct;

    fn query(&self, query: &Query<'_>) -> Answer {
        Answer::honest(query)
    }

    /// Whether the nth connection is reset before a byte of it is read.
    fn resets(&self, _nth: u32) -> bool {
        false
    }
}

impl<F: Fn(&Post<'_>) -> Conduct + Send + Sync + 'static> Script for F {
    fn post(&self, post: &Post<'_>) -> Conduct {
        self(post)
    }
}

/// A script of two parts: posts and queries.
pub struct Both<P, Q>(pub P, pub Q);

impl<P, Q> Script for Both<P, Q>
where
    P: Fn(&Post<'_>) -> Conduct + Send + Sync + 'static,
    Q: Fn(&Query<'_>) -> Answer + Send + Sync + 'static,
{
    fn post(&self, post: &Post<'_>) -> Conduct {
        self.0(post)
    }

    fn query(&self, query: &Query<'_>) -> Answer {
        self.1(query)
    }
}

pub fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the generator of one decision.
pub fn dice(seed: u64, id: &str, kind: &str, nth: u32) -> Rng {
    let mut hasher = DefaultHasher::new();
    (seed, id, kind, nth).hash(&mut hasher);
    Rng::with_seed(hasher.finish())
}

/// Everything at once: each post and each query meets one misbehaviour of its own.
#[derive(Clone, Debug)]
pub struct Mixed {
    pub seed: u64,
    /// A repeated identifier is answered with 229 instead of being executed again.
    pub duplicate_check: bool,
    /// Percent of posts that meet something that stops the run.
    pub stops: u8,
    /// Percent of posts that meet 230.
    pub dry: u8,
    /// Percent of posts whose callbacks contradict one another.
    pub contradictions: u8,
    /// Percent of posts that meet 429.
    pub storms: u8,
}

impl Mixed {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            duplicate_check: false,
            stops: 0,
            dry: 0,
            contradictions: 0,
            storms: 2,
        }
    }
}

/// Later posts and queries are met honestly, so that every scenario ends.
const POSTS_SPOILT: u32 = 3;
const QUERIES_SPOILT: u32 = 5;

fn some_effect(rng: &mut Rng) -> Effect {
    let settled = millis(rng.u64(..300));
    match rng.u8(..10) {
        0..=4 => Effect::Execute {
            // Within the quarantine of the tests' configuration.
            visible: millis(if rng.bool() { 0 } else { rng.u64(50..350) }),
            settled,
            code: *rng.choice(&[140, 140, 183, 217]).unwrap_or(&140),
        },
        5 => Effect::Fail {
            settled,
            code: *rng.choice(&[141, 180, 216, 231]).unwrap_or(&141),
        },
        _ => Effect::Nothing,
    }
}

fn pushes_of(effect: Effect, rng: &mut Rng) -> Vec<(Duration, Push)> {
    let (code, settled) = match effect {
        Effect::Execute { code, settled, .. } | Effect::Fail { code, settled } => (code, settled),
        Effect::Nothing => return Vec::new(),
    };
    let mut pushes = Vec::new();
    for _ in 0..rng.usize(..5) {
        let at = millis(rng.u64(..600));
        let late = at.max(settled);
        pushes.push(match rng.u8(..14) {
            0..=4 => (late, Push::Code(code)),
            5 => (late, Push::TextCode(code)),
            6 => (late, Push::InArray(code)),
            7 => (at, Push::Code(139)),
            8 => (at, Push::Foreign(281 - code.min(141))),
            9 => (at, Push::WrongToken(if code == 140 { 141 } else { 140 })),
            10 => (at, Push::OtherAmount(if code == 140 { 141 } else { 140 })),
            11 => (
                at,
                *rng.choice(&[Push::Garbage, Push::Empty, Push::HalfABody])
                    .unwrap_or(&Push::Empty),
            ),
            12 => (
                at,
                *rng.choice(&[Push::Huge, Push::OtherFunction(141), Push::DoubledKeys(141)])
                    .unwrap_or(&Push::Huge),
            ),
            _ => (at, Push::InArrayOfTwo(141)),
        });
    }
    pushes
}

impl Script for Mixed {
    fn resets(&self, nth: u32) -> bool {
        dice(self.seed, "", "connection", nth).u8(..100) < 7
    }

    fn post(&self, post: &Post<'_>) -> Conduct {
        let mut rng = dice(self.seed, post.id, "post", post.nth);
        if self.duplicate_check && post.executed {
            return Conduct::refusal(229);
        }
        if post.nth > POSTS_SPOILT {
            return Conduct::honest();
        }
        let percent = rng.u8(..100);
        let mut bound = 0;
        let mut within = |share: u8| {
            bound += share;
            percent < bound
        };
        if within(self.stops) {
            let form = *rng
                .choice(&[
                    Form::Auth("{\"authStatusCode\":132,\"authStatusDescription\":\"no\"}"),
                    Form::Redirect(307),
                    Form::Redirect(301),
                    Form::Http(404, Body::Html),
                    Form::Http(403, Body::Html),
                ])
                .unwrap_or(&Form::Redirect(308));
            // 132 says that nothing was executed, and is believed.
            let effect = match form {
                Form::Auth(_) => Effect::Nothing,
                _ => some_effect(&mut rng),
            };
            return Conduct {
                code: 104,
                ..Conduct::spoilt(effect, form)
            };
        }
        if within(self.dry) {
            return Conduct::refusal(230);
        }
        if within(self.storms) {
            let after =
                ["0", "1", "soon", "", "-5", "Sun, 06 Nov 1994 08:49:37 GMT"][rng.usize(..6)];
            return Conduct::spoilt(some_effect(&mut rng), Form::Slow429(after));
        }
        if within(self.contradictions) {
            let mut codes = [140, 141];
            rng.shuffle(&mut codes);
            let effect = Effect::Execute {
                visible: millis(0),
                settled: millis(400),
                code: 140,
            };
            let first = rng.u64(..200);
            return Conduct {
                contradicted: true,
                ..Conduct::spoilt(effect, Form::Plain)
            }
            .pushing(&[
                (first, Push::Code(codes[0])),
                (first + 150, Push::Code(codes[1])),
            ]);
        }
        if within(5) && !post.executed {
            let code = [106, 109, 110, 111, 115, 120, 146, 167, 231, 232][rng.usize(..10)];
            return Conduct {
                form: HARMLESS[rng.usize(..HARMLESS.len())],
                ..Conduct::refusal(code)
            };
        }
        if within(40) {
            let effect = some_effect(&mut rng);
            return Conduct {
                pause: millis(if rng.bool() { 0 } else { rng.u64(..120) }),
                pushes: pushes_of(effect, &mut rng),
                ..Conduct::spoilt(effect, SPOILT[rng.usize(..SPOILT.len())])
            };
        }
        let effect = match some_effect(&mut rng) {
            Effect::Nothing => Effect::EXECUTE,
            effect => effect,
        };
        Conduct {
            pause: millis(if rng.bool() { 0 } else { rng.u64(..120) }),
            pushes: pushes_of(effect, &mut rng),
            ..Conduct::spoilt(effect, HARMLESS[rng.usize(..HARMLESS.len())])
        }
    }

    fn query(&self, query: &Query<'_>) -> Answer {
        let mut rng = dice(self.seed, query.id, "query", query.nth);
        let mut answer = Answer::honest(query);
        if query.nth > QUERIES_SPOILT || rng.bool() {
            answer.form = HARMLESS[rng.usize(..HARMLESS.len())];
            return answer;
        }
        answer.form = SPOILT[rng.usize(..SPOILT.len())];
        if rng.bool() {
            // Words that prove nothing, in good form.
            answer.form = Form::Plain;
            answer.code = [104, 174, 229, 999, 0][rng.usize(..5)];
        }
        answer
    }
}
