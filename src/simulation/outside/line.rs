//! The client's end of the simulated network: real requests, real classification of the replies.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::packet::{Answer, Packet, Proof};
use super::speech::Speech;
use super::world::{SimEvent, World};
use crate::domain::{Currency, PayerTransactionId, Pulse, ServiceCode};
use crate::gateway::simulated::{Failure, Question, Response, classify, failed};
use crate::gateway::{
    FloatBalance, Gateway, Inquiry, OperationError, Outgoing, Reply, Scrub, wire::Requests,
    wire::in_our_words,
};
use crate::journal::simulated::Disk;
use crate::ledger::standstill::{is_fresh_word, may_depart};
use crate::lifecycle::{Class, CodeTable, Event};

pub(in crate::simulation) struct Line {
    pub world: Arc<World>,
    /// Whose line it is.
    pub run: usize,
    /// The user name that it is configured with.
    pub user: &'static str,
    /// Cancelled: its process is dead, and sends nothing more.
    pub dead: CancellationToken,
    pub disk: Disk,
    /// What the connection asks before it takes anything.
    pub pulse: Arc<Pulse>,
    pub requests: Requests,
    pub speech: Speech,
    pub codes: CodeTable,
    pub timeout: Duration,
    /// Payments per second.
    pub rate: usize,
    /// What its run was confirmed for.
    pub shown: BTreeSet<PayerTransactionId>,
    /// What people had approved when its run began; `None`: nothing is asked for.
    pub approved: Option<BTreeSet<PayerTransactionId>>,
}

impl Line {
    /// Returns while the process lives, and does not stand still.
    async fn alive(&self) {
        loop {
            if self.dead.is_cancelled() {
                return std::future::pending().await;
            }
            let Some(wait) = self.world.lock().stands(self.run) else {
                return;
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Opens a connection; returns whether it takes a request then, by the pulse of the program and by what it was looked at before.
    async fn connect(&self) -> bool {
        let takes = self.world.lock().connects_within();
        let looked = tokio::time::Instant::now();
        if let Some(takes) = takes {
            tokio::time::sleep(takes).await;
        }
        self.alive().await;
        may_depart(self.pulse.silence()) && is_fresh_word(looked.elapsed())
    }

    async fn ask(
        &self,
        question: Question,
        ids: &[PayerTransactionId],
        happening: impl FnOnce(oneshot::Sender<Answer>) -> SimEvent,
    ) -> Reply {
        let (sender, answer) = oneshot::channel();
        let asked = self.world.lock().now();
        let refused = {
            let mut shape = self.world.lock();
            let refused = shape.chance(|f| f.refused_connection);
            if refused {
                if question == Question::Post {
                    let unsent = |id: &PayerTransactionId| (*id, Proof::NotDone);
                    shape.prove(&ids.iter().map(unsent).collect::<Vec<_>>(), asked);
                }
                shape.note(|| "no connection".into());
            } else if shape.chance(|f| f.lost_request) {
                shape.note(|| "a request is lost".into());
                shape.plan(3_600_000, SimEvent::Reply(sender, Answer::HangUp));
            } else {
                let delay = shape.delay(|f| f.network_ms);
                shape.plan(delay, happening(sender));
            }
            refused
        };
        if refused {
            tokio::time::sleep(Duration::from_millis(1)).await;
            return failed(question, ids, Failure::Unsent("connection refused".into()));
        }
        self.world.changed.notify_one();
        let answer = tokio::select! {
            biased;
            answer = answer => answer.ok(),
            () = tokio::time::sleep(self.timeout) => None,
        };
        match answer {
            Some(Answer::Body(status, body, proofs)) => {
                self.world.lock().prove(&proofs, asked);
                let dialect = &self.speech.dialect;
                let body = in_our_words(&body, &dialect.names);
                let response = Response {
                    replies: &dialect.replies,
                    not_found_words_count: self.speech.not_found_words_count,
                    status,
                    retry_after: None,
                    body: Ok(&body),
                    scrub: &Scrub::nothing(),
                };
                classify(question, ids, &response, &self.codes)
            }
            Some(Answer::HangUp) | None => failed(question, ids, Failure::Lost("lost".into())),
        }
    }
}

impl Gateway for Line {
    async fn post(&self, payments: &[Outgoing]) -> Reply {
        let ids: Vec<_> = payments
            .iter()
            .map(|outgoing| outgoing.payment.id)
            .collect();
        let packets: Vec<Packet> = payments
            .iter()
            .map(|outgoing| Packet {
                id: outgoing.payment.id,
                user: self.user,
                line: outgoing.payment.instruction.line,
                service: outgoing.payment.instruction.service.as_str().into(),
                minor: outgoing.payment.instruction.money.amount.minor(),
                msisdn: outgoing.payment.instruction.msisdn.as_str().into(),
                callback: outgoing.callback_url.is_some(),
                document: outgoing
                    .payment
                    .instruction
                    .document
                    .as_ref()
                    .map(|_| outgoing.support_document.clone()),
                // But for the callback's address, which may move between runs.
                digest: digest(&self.requests.post(&[Outgoing {
                    payment: Arc::clone(&outgoing.payment),
                    callback_url: None,
                    support_document: outgoing.support_document.clone(),
                }])),
            })
            .collect();
        {
            let mut shape = self.world.lock();
            shape.let_go(self.run, ids.len(), self.rate, &self.disk);
            shape.reaches_a_post(self.run);
        }
        self.alive().await;
        if !self.connect().await {
            let why = Failure::Unsent("it stood still, or waited for its connection".into());
            return failed(Question::Post, &ids, why);
        }
        {
            let mut shape = self.world.lock();
            shape.note(|| format!("run {} posts {ids:?}", self.run));
            for id in ids.iter().filter(|id| !self.shown.contains(id)) {
                shape.violation(format!(
                    "23: {id} leaves, and was not shown when its run was confirmed"
                ));
            }
            let approved = self.approved.as_ref();
            let unapproved = |id: &&_| approved.is_some_and(|approved| !approved.contains(id));
            for id in ids.iter().filter(unapproved) {
                shape.violation(format!("34: {id} leaves, and nobody has approved it"));
            }
            shape.depart(self.run, &packets, &self.disk);
        }
        let reply = self
            .ask(Question::Post, &ids, |reply| SimEvent::Post(packets, reply))
            .await;
        // Whether the program hears of it or not.
        self.world.lock().land(self.run, &ids);
        self.alive().await;
        reply
    }

    async fn query(&self, payments: &[Inquiry]) -> Reply {
        let ids: Vec<_> = payments.iter().map(|inquiry| inquiry.id).collect();
        let asked = ids.clone();
        self.alive().await;
        let since = self.world.lock().now();
        let reply = self.ask(Question::Status, &ids, |reply| {
            SimEvent::Query(self.user, asked, reply)
        });
        let reply = reply.await;
        {
            let mut shape = self.world.lock();
            let now = shape.now();
            for (id, outcome) in ids.iter().zip(&reply.outcomes) {
                if is_not_found(outcome.event) {
                    shape.account(*id).denied_all.push((since, now));
                }
            }
        }
        self.alive().await;
        reply
    }

    async fn balance(&self, service: &ServiceCode) -> Result<Option<FloatBalance>, OperationError> {
        self.alive().await;
        let (answers, minor) = {
            let mut shape = self.world.lock();
            let dry = service.as_str().ends_with('A') && shape.is_dry();
            let minor = if dry { 50 } else { 1_000_000 };
            (!shape.chance(|f| f.query_error), minor)
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        if !answers {
            return Err(OperationError::Unavailable("not there".into()));
        }
        Ok(Some(FloatBalance {
            service: service.clone(),
            account_name: "float".into(),
            currency: Currency::from_code("KES").expect("known"),
            minor,
        }))
    }
}

fn is_not_found(event: Event) -> bool {
    matches!(event, Event::Answer(meaning) if meaning.class == Class::NotFound)
}

fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
