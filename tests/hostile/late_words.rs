//! What the gateway says of a payment after it has called it failed: it is heard, whatever was said before, and asked about.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::callbacks::{body_in, send};
use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup};
use super::script::{Answer, Both, Conduct, Effect, Post, Query};
use super::tongue::{OTHERS, Tongue};

/// One payment that the gateway takes, and of which it answers what the test wants it to answer.
struct Scene {
    gateway: Gateway,
    office: Office,
    answers: Arc<AtomicI32>,
    id: String,
    url: String,
}

impl Scene {
    /// The payment is acknowledged; then somebody calls back with these bodies; then the gateway says that it failed.
    fn failed_after(dialect: &'static str, bodies: Bodies) -> Self {
        let answers = Arc::new(AtomicI32::new(139));
        let says = Arc::clone(&answers);
        let script = Both(
            |_: &Post<'_>| Conduct {
                effect: Effect::Nothing,
                ..Conduct::honest()
            },
            move |query: &Query<'_>| Answer {
                code: says.load(Ordering::SeqCst),
                ..Answer::honest(query)
            },
        );
        let gateway = Gateway::start_in(dialect, script);
        let setup = Setup {
            rows: 1,
            services: 1,
            callbacks: true,
            max_wait: "1s",
            ..Setup::default()
        };
        let office = Office::open(&gateway, setup);
        assert_eq!(office.pay().code, Some(4));
        let (id, url) = {
            let books = gateway.ledger.books();
            let (id, deal) = books.deals.first_key_value().unwrap();
            (id.clone(), deal.callback_url.clone().unwrap())
        };
        let scene = Self {
            gateway,
            office,
            answers,
            id,
            url,
        };
        scene.hears(&bodies(&scene.gateway.tongue, &scene.id));
        assert_eq!(scene.run(110).code, Some(3));
        scene
    }

    fn hears(&self, bodies: &[Vec<u8>]) {
        // A listener that nobody calls may not listen yet when it is told to end.
        if bodies.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let mut listener = self.office.start(&["listen"]);
        for body in bodies {
            let seals = self.gateway.tongue.seals(body);
            listener.until("it is heard", || {
                runtime.block_on(send(&self.url, &seals, body)) == Some(200)
            });
        }
        listener.interrupt();
        assert_eq!(listener.wait().code, Some(0));
    }

    fn run(&self, answer: i32) -> Ended {
        self.answers.store(answer, Ordering::SeqCst);
        let wait = ["run", BATCH, "--yes", "--max-wait", "1500ms"];
        self.office.call(&wait)
    }

    fn assert_sound(&self) {
        let proof = self.office.call(&["verify", BATCH]);
        assert_eq!(proof.code, Some(0), "{proof:?}");
    }
}

fn junk(n: u8) -> Vec<u8> {
    vec![b'0' + n]
}

/// What somebody calls back with about a payment.
type Bodies = fn(&Tongue, &str) -> Vec<Vec<u8>>;

const PENDING: Bodies = |tongue, id| vec![body_in(tongue, (id, ""), 139)];

fn holds_the_retry(dialect: &'static str, before: Bodies, after: Bodies) {
    let scene = Scene::failed_after(dialect, before);
    let retried = scene.office.call(&["retry", BATCH, "--yes"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    scene.hears(&after(&scene.gateway.tongue, &scene.id));
    let ended = scene.run(139);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.err.contains(&scene.id), "{ended:?}");
    assert_eq!(scene.gateway.ledger.posts(), 1, "the retry waits");
    let ended = scene.run(110);
    assert_eq!(scene.gateway.ledger.posts(), 2, "{ended:?}");
    scene.assert_sound();
}

#[test]
fn a_word_after_a_failure_holds_the_retry_whatever_came_before() {
    let full: Bodies = |_, _| (0..8).map(junk).collect();
    let empty: Bodies = |_, _| vec![Vec::new()];
    let new: Bodies = |_, _| vec![b"new".to_vec()];
    let vague: Bodies = |tongue, id| vec![body_in(tongue, (id, ""), 229)];
    for (before, after) in [
        (full, vague),
        (vague, vague),
        (full, new),
        (full, full),
        (empty, empty),
        (PENDING, PENDING),
    ] {
        holds_the_retry("document", before, after);
    }
}

#[test]
fn a_word_after_a_failure_holds_the_retry_in_every_dialect() {
    for dialect in OTHERS {
        holds_the_retry(dialect, |_, _| vec![Vec::new()], PENDING);
    }
}

#[test]
fn a_failure_that_is_taken_back_is_asked_about_and_told_although_nobody_retries_it() {
    is_told_when_taken_back("document");
}

#[test]
fn a_failure_that_is_taken_back_is_told_in_every_dialect() {
    OTHERS.into_iter().for_each(is_told_when_taken_back);
}

fn is_told_when_taken_back(dialect: &'static str) {
    let scene = Scene::failed_after(dialect, |_, _| Vec::new());
    let quiet = scene.run(110);
    assert!(!quiet.err.contains(&scene.id), "{quiet:?}");
    scene.hears(&PENDING(&scene.gateway.tongue, &scene.id));
    let told = "the gateway said failed (110), and later 139";
    // It never says failed again: a run ends all the same, and says so.
    let ended = scene.run(104);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let status = scene.office.call(&["status", BATCH]);
    let explained = scene.office.call(&["explain", BATCH, "ROW-00000"]);
    assert_eq!(
        scene.office.call(&["report", BATCH, "--out", "r"]).code,
        Some(0)
    );
    let report = std::fs::read_to_string(scene.office.path("r/payments.csv")).unwrap();
    for text in [&ended.err, &status.out, &explained.out, &report] {
        assert!(text.contains(told), "{text}");
        assert!(text.contains(&scene.id), "{text}");
    }
    let ended = scene.run(110);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(!ended.err.contains(told), "{ended:?}");
    let explained = scene.office.call(&["explain", BATCH, "ROW-00000"]).out;
    let sentence =
        "Not paid: the number is invalid (110). Correct the msisdn and add the corrected row";
    assert!(explained.contains(sentence), "{explained}");
    // Taken back once more, and paid after all: that is for a person.
    scene.hears(&[b"paid!".to_vec()]);
    let ended = scene.run(140);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("1 in conflict"), "{ended:?}");
    let explained = scene.office.call(&["explain", BATCH, "ROW-00000"]).out;
    let resolve = format!("disburse resolve {BATCH} --id {} --paid", scene.id);
    assert!(explained.contains(&resolve), "{explained}");
    assert_eq!(scene.gateway.ledger.posts(), 1);
    scene.assert_sound();
}
