//! Which of the gateway's identifiers of a payment is kept.

use disburse::domain::{GatewayTransactionId, PayerTransactionId, PaymentId, ResponseDetails};
use disburse::journal::{Finding, IncomingCallback};
use disburse::lifecycle::{Class, Event};

use crate::proof::assert_sound;
use crate::support::*;

struct Told {
    world: World,
    id: PayerTransactionId,
    seq: PaymentId,
}

fn saying(id: Option<&str>) -> ResponseDetails {
    ResponseDetails {
        gateway_transaction_id: id.map(|id| GatewayTransactionId::parse(id).unwrap()),
        ..ResponseDetails::default()
    }
}

impl Told {
    async fn posted() -> Self {
        let world = World::loaded(1).await;
        let id = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 9, 1).await[0].seq;
        Self { world, id, seq }
    }

    async fn hear(&self, event: Event, told: Option<&str>, secs: i64) {
        let finding = Finding {
            seq: self.seq,
            event,
            said: saying(told),
            asked: None,
        };
        self.world.record(vec![finding], secs).await;
    }

    async fn pushed(&self, class: Class, code: i32, told: Option<&str>, digest: u8) {
        let note = IncomingCallback {
            said: saying(told),
            ..note(self.id, class, code, digest)
        };
        self.world.callback(note, 9).await;
    }

    #[track_caller]
    fn keeps(&self, expected: Option<&str>) {
        let kept = self.world.payments().remove(0).gateway_transaction_id;
        assert_eq!(kept.as_deref(), expected);
        // The evidence has every one of them, and adds up to what is kept.
        assert_sound(&self.world);
    }
}

/// What gateways write where there is nothing to name.
const WORSE: [Option<&str>; 6] = [
    None,
    Some("0"),
    Some("000"),
    Some("null"),
    Some("N/A"),
    Some("-"),
];

#[tokio::test]
async fn the_reply_to_a_post_brings_no_identifier_that_stands_for_nothing() {
    for worse in WORSE {
        let told = Told::posted().await;
        told.hear(reply(Class::Acknowledged, 139), worse, 2).await;
        told.keeps(None);
        told.hear(answer(Class::Acknowledged, 139), Some("77"), 3)
            .await;
        told.keeps(Some("77"));
    }
}

#[tokio::test]
async fn a_status_reply_replaces_no_identifier_by_a_worse_one() {
    for (class, code) in [
        (Class::Acknowledged, 139),
        (Class::Paid, 140),
        (Class::Failed, 141),
    ] {
        for worse in WORSE {
            let told = Told::posted().await;
            told.hear(reply(Class::Acknowledged, 139), Some("77"), 2)
                .await;
            told.hear(answer(class, code), worse, 3).await;
            told.keeps(Some("77"));
        }
    }
}

#[tokio::test]
async fn a_callback_replaces_no_identifier_by_a_worse_one() {
    for (class, code) in [(Class::Acknowledged, 139), (Class::Paid, 140)] {
        for worse in WORSE {
            let told = Told::posted().await;
            told.hear(reply(Class::Acknowledged, 139), Some("77"), 2)
                .await;
            told.pushed(class, code, worse, 1).await;
            told.keeps(Some("77"));
        }
    }
}

#[tokio::test]
async fn another_identifier_is_taken_until_the_payment_has_ended() {
    let told = Told::posted().await;
    told.hear(reply(Class::Acknowledged, 139), Some("77"), 2)
        .await;
    told.hear(answer(Class::Paid, 140), Some("78"), 3).await;
    told.keeps(Some("78"));
    told.pushed(Class::Paid, 140, Some("79"), 1).await;
    told.keeps(Some("78"));
    // Words that come after the end fill a gap, and not with a word for nothing.
    let told = Told::posted().await;
    told.hear(reply(Class::Paid, 140), None, 2).await;
    told.pushed(Class::Paid, 140, Some("null"), 1).await;
    told.keeps(None);
    told.pushed(Class::Paid, 140, Some("80"), 2).await;
    told.keeps(Some("80"));
    told.world.assert_adds_up();
}

#[tokio::test]
async fn callbacks_that_tell_of_two_payments_under_one_identifier_are_shown_to_a_person() {
    let told = Told::posted().await;
    told.hear(reply(Class::Acknowledged, 139), Some("77"), 2)
        .await;
    let named = || told.world.find("EMP-1").named_otherwise;
    // Numbers of several kinds are not compared: only callbacks are, with one another.
    told.pushed(Class::Paid, 140, Some("78"), 1).await;
    assert_eq!(named(), None);
    // The same once more, and a word for nothing.
    told.pushed(Class::Paid, 140, Some("78"), 2).await;
    told.pushed(Class::Paid, 140, Some("0"), 3).await;
    assert_eq!(named(), None);
    told.pushed(Class::Paid, 140, Some("79"), 4).await;
    let words = named().unwrap();
    assert!(
        words.contains("number 79") && words.contains("number 78"),
        "{words}"
    );
    assert!(words.contains("paid twice"), "{words}");
    told.keeps(Some("78"));
    let reader = told.world.reader();
    let standing = reader.snapshot(&batch()).unwrap().standing().unwrap();
    assert_eq!(standing.named_otherwise, 1);
}
