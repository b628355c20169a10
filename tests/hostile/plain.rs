//! One misbehaviour at a time.

use super::forms::{Form, HARMLESS, SPOILT};
use super::gateway::Gateway;
use super::office::{Office, Setup};
use super::oracle::check;
use super::script::{Answer, Both, Conduct, Effect, Post, Query, millis};

#[test]
fn an_honest_gateway_is_paid_through_once() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let office = Office::open(&gateway, Setup::default());
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("honest", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 40);
}

/// Row n of the batch meets form n.
fn form_of(forms: &[Form], reference: &str) -> Form {
    let row: usize = reference.rsplit('-').next().unwrap().parse().unwrap();
    forms[row % forms.len()]
}

#[test]
fn every_harmless_form_of_a_reply_is_understood() {
    let gateway = Gateway::start(|post: &Post<'_>| {
        Conduct::spoilt(Effect::EXECUTE, form_of(HARMLESS, post.reference))
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: HARMLESS.len() * 2,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("harmless", &gateway, &office, ended.code);
}

#[test]
fn every_spoilt_reply_to_an_executed_post_ends_paid_and_never_in_a_second_post() {
    let gateway = Gateway::start(|post: &Post<'_>| Conduct {
        // Seen by queries only after a while, within the quarantine.
        ..Conduct::spoilt(
            Effect::Execute {
                visible: millis(300),
                settled: millis(100),
                code: 140,
            },
            form_of(SPOILT, post.reference),
        )
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: SPOILT.len(),
            breaker_losses: 1000,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("spoilt", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), SPOILT.len() as u32);
}

#[test]
fn every_spoilt_reply_to_a_post_without_effect_ends_in_one_more_post() {
    let gateway = Gateway::start(|post: &Post<'_>| match post.nth {
        1 => Conduct::spoilt(Effect::Nothing, form_of(SPOILT, post.reference)),
        _ => Conduct::honest(),
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: SPOILT.len(),
            breaker_losses: 1000,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("without effect", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 2 * SPOILT.len() as u32);
}

#[test]
fn every_spoilt_answer_to_a_status_query_proves_nothing() {
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| {
            Conduct::spoilt(
                Effect::Execute {
                    visible: millis(300),
                    settled: millis(0),
                    code: 140,
                },
                Form::Reset,
            )
        },
        |query: &Query<'_>| Answer {
            form: match query.nth {
                nth if nth <= 3 => {
                    SPOILT[(query.id.bytes().map(usize::from).sum::<usize>() + nth as usize * 17)
                        % SPOILT.len()]
                }
                _ => Form::Plain,
            },
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 60,
            breaker_losses: 1000,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("spoilt answers", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 60);
}
