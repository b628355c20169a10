//! One request to the gateway, and what came of it.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::core::Health;
use crate::callback::Addresses;
use crate::domain::{GatewayTransactionId, LaneId, PaymentId, ResponseDetails};
use crate::gateway::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal, StopReason};
use crate::journal::{Claim, Finding, Question};
use crate::lifecycle::{Class, CodeMeaning, Event};

/// A post and a query are asked for less of, when the gateway does not say how much less.
const SLOW_DOWN: Duration = Duration::from_secs(1);

/// What came of a request.
pub(super) struct Exchange {
    /// One per payment.
    pub(super) findings: Vec<Finding>,
    /// Lanes that want float.
    pub(super) dry_lanes: Vec<LaneId>,
    pub(super) health: Health,
    pub(super) stop: Option<StopReason>,
}

/// Posts payments in one request.
pub(super) async fn post<G: Gateway>(
    gateway: &G,
    claims: Vec<Claim>,
    addresses: Option<&Addresses>,
) -> Exchange {
    let outgoing: Vec<Outgoing> = claims
        .iter()
        .map(|claim| Outgoing {
            payment: Arc::clone(&claim.payment),
            support_document: claim.support_document.clone(),
            callback_url: addresses.map(|addresses| addresses.of(claim.payment.id)),
        })
        .collect();
    #[cfg(debug_assertions)]
    crate::failpoints::pass("before-send");
    let request = async {
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-send");
        gateway.post(&outgoing).await
    };
    let reply = always(request).await;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("after-send");
    let no_float = |outcome: &Outcome| {
        matches!(
            outcome.event,
            Event::Reply(CodeMeaning {
                class: Class::NoFloat,
                ..
            })
        )
    };
    let dry_lanes = claims
        .iter()
        .zip(&reply.outcomes)
        .filter(|(_, outcome)| no_float(outcome))
        .map(|(claim, _)| claim.lane)
        .collect();
    let seqs: Vec<PaymentId> = claims.iter().map(|claim| claim.seq).collect();
    exchange(&seqs, reply, dry_lanes, Event::Lost)
}

/// Says of claims that they were not sent, because the program stood still.
pub(super) fn withheld(claims: &[Claim]) -> Exchange {
    let cause = "the program stood still before it was sent";
    let findings = claims.iter().map(|claim| Finding {
        seq: claim.seq,
        event: Event::Unsent,
        said: ResponseDetails {
            cause: cause.into(),
            ..ResponseDetails::default()
        },
        asked: None,
    });
    Exchange {
        findings: findings.collect(),
        dry_lanes: Vec::new(),
        health: Health::Unreachable(cause.into()),
        stop: None,
    }
}

/// Asks about payments in one request.
pub(super) async fn ask<G: Gateway>(gateway: Arc<G>, questions: Vec<Question>) -> Exchange {
    let inquiries: Vec<Inquiry> = questions
        .iter()
        .map(|question| Inquiry {
            id: question.id,
            gateway_transaction_id: question
                .gateway_transaction_id
                .as_deref()
                .and_then(|id| GatewayTransactionId::parse(id).ok()),
            country: Some(question.country),
        })
        .collect();
    let reply = always(async move { gateway.query(&inquiries).await }).await;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("after-ask");
    let seqs: Vec<PaymentId> = questions.iter().map(|question| question.seq).collect();
    let mut exchange = exchange(&seqs, reply, Vec::new(), Event::NoAnswer);
    for (finding, question) in exchange.findings.iter_mut().zip(&questions) {
        finding.asked = Some(question.until);
    }
    exchange
}

impl Exchange {
    /// Takes what was not found for unanswered: so it was before the program stood still.
    pub(super) fn forget_not_found(&mut self) {
        for finding in &mut self.findings {
            if let Event::Answer(CodeMeaning {
                class: Class::NotFound,
                ..
            }) = finding.event
            {
                finding.event = Event::NoAnswer;
                finding.said = ResponseDetails {
                    cause: "the program stood still before the answer was taken in".into(),
                    ..ResponseDetails::default()
                };
            }
        }
    }
}

/// Gives a reply even when the request panics: a run that waits for an answer that never comes would never end.
async fn always(request: impl Future<Output = Reply>) -> Reply {
    let mut request = pin!(request);
    poll_fn(|context| {
        // After a panic it is never polled again.
        catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(context))).unwrap_or_else(|_| {
            tracing::error!("a request broke off");
            Poll::Ready(Reply {
                outcomes: Vec::new(),
                signal: Signal::Lost("the request broke off".into()),
            })
        })
    })
    .await
}

// An outcome that is missing counts as none: the payment is asked about.
fn exchange(seqs: &[PaymentId], reply: Reply, dry_lanes: Vec<LaneId>, absent: Event) -> Exchange {
    let (health, stop) = match reply.signal {
        Signal::Healthy => (Health::Healthy, None),
        Signal::Unreachable(why) => (Health::Unreachable(why), None),
        Signal::Lost(_) => (Health::Lost, None),
        Signal::SlowDown(pause) => (Health::SlowDown(pause.unwrap_or(SLOW_DOWN)), None),
        Signal::Stop(reason) => (Health::Lost, Some(reason)),
    };
    let mut outcomes = reply.outcomes.into_iter();
    let findings = seqs
        .iter()
        .map(|seq| {
            let Outcome { event, said } = outcomes.next().unwrap_or_else(|| Outcome {
                event: absent,
                said: ResponseDetails {
                    cause: "the reply has no outcome for this payment".into(),
                    ..ResponseDetails::default()
                },
            });
            Finding {
                seq: *seq,
                event,
                said,
                asked: None,
            }
        })
        .collect();
    Exchange {
        findings,
        dry_lanes,
        health,
        stop,
    }
}
