//! `GATEWAY.postPayment`.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::sync::oneshot;

use super::agenda::Task;
use super::callbacks::Call;
use super::codes::{Entry, FAILURE, acknowledgement, gateway_id, refusal};
use super::event::Event;
use super::faults::{Draw, Fault};
use super::replies;
use super::request::{Envelope, PostPacket, packets};
use super::state::{Book, Gateway, Taken};
use super::validation::{ID_MAX, digest, validate};
use super::{Error, request};

/// How long a reply waits for the callback that is to overtake it.
const EARLY_CALLBACK_MAX: Duration = Duration::from_secs(2);

/// The judgement of a request: what to reply, and what to do first.
struct Judged {
    body: String,
    fault: Option<Fault>,
    id: Arc<str>,
    attempt: u32,
    early: Vec<Call>,
}

/// Answers a post.
pub(super) async fn answer(
    gateway: &Arc<Gateway>,
    envelope: &Envelope<'_>,
    packet: Option<&request::Raw>,
) -> Response {
    let packets = match packets::<PostPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    let judged = match judge(gateway, envelope, &packets) {
        Ok(judged) => judged,
        Err(error) => {
            tracing::error!(%error, "the sandbox cannot keep its ledger");
            return replies::unavailable();
        }
    };
    for call in judged.early {
        let (watched, over) = oneshot::channel();
        let call = Call {
            watched: Some(watched),
            ..call
        };
        gateway.outbox.push(vec![call]);
        // In time or not, the reply goes out.
        let _ = tokio::time::timeout(EARLY_CALLBACK_MAX, over).await;
    }
    let (id, attempt, plan) = (&judged.id, judged.attempt, &gateway.plan);
    match judged.fault {
        None => replies::json(judged.body),
        Some(Fault::SlowReply) => {
            let range = &plan.faults.slow_reply_ms;
            let delay = plan.within(range, Draw::SlowReply, id, attempt);
            tokio::time::sleep(Duration::from_millis(delay)).await;
            replies::json(judged.body)
        }
        Some(Fault::DropBefore | Fault::DropAfter) => replies::hang_up(),
        Some(Fault::LateExecution) => replies::gateway_timeout(),
        Some(Fault::TruncatedReply) => replies::truncated(judged.body),
        Some(Fault::MissingEntry) => replies::json(acknowledgement(&[])),
        Some(Fault::ForeignEntry) => replies::json(acknowledgement(&[Entry {
            code: 140,
            id: "00000000000000000000000000",
            gateway_id: 1,
        }])),
        Some(Fault::GarbageReply) => replies::garbage(),
        Some(Fault::Throttle) => replies::throttled(),
        // What is left of the group are the two server errors.
        Some(_) => replies::server_error(plan.bits(Draw::ErrorPage, id, attempt)),
    }
}

fn judge(
    gateway: &Gateway,
    envelope: &Envelope<'_>,
    packets: &[(PostPacket<'_>, &str)],
) -> Result<Judged, Error> {
    let mut book = gateway.book();
    if book.ledger.is_full() {
        return Err(Error::LedgerFull);
    }
    // One reply, one fault: the first packet's.
    let id = packets.first().map_or("", |(packet, _)| packet.id.as_ref());
    let attempt = book.ledger.posts(id) + 1;
    let mut judged = Judged {
        body: String::new(),
        fault: gateway.plan.reply(id, attempt),
        id: id.into(),
        attempt,
        early: Vec::new(),
    };
    let mut entries = Vec::with_capacity(packets.len());
    for (packet, bytes) in packets {
        let taken = match judged.fault {
            Some(Fault::ErrorBefore | Fault::DropBefore | Fault::Throttle) => {
                ignore(&mut book, packet, bytes)?;
                continue;
            }
            Some(Fault::LateExecution) => {
                defer(gateway, &mut book, envelope, packet, bytes)?;
                continue;
            }
            _ => judge_one(gateway, &mut book, envelope, packet, bytes)?,
        };
        if taken.early
            && let Some((call, _)) = gateway.settle(&mut book, taken.number)?
        {
            judged.early.push(call);
        }
        entries.push(Entry {
            code: taken.code,
            id: &packet.id,
            gateway_id: match taken.number {
                0 => 0,
                number => gateway_id(number),
            },
        });
    }
    drop(book);
    judged.body = acknowledgement(&entries);
    Ok(judged)
}

fn has_id(packet: &PostPacket<'_>) -> bool {
    (1..=ID_MAX).contains(&packet.id.len())
}

fn judge_one(
    gateway: &Gateway,
    book: &mut Book,
    envelope: &Envelope<'_>,
    packet: &PostPacket<'_>,
    bytes: &str,
) -> Result<Taken, Error> {
    let nothing = |code| Taken {
        code,
        number: 0,
        early: false,
    };
    if !has_id(packet) {
        return Ok(nothing(FAILURE));
    }
    // Whatever else the packet says, money has been promised under this identifier.
    if book.ledger.holds(&packet.id) {
        return gateway.duplicate(book, &packet.id.as_ref().into(), digest(bytes));
    }
    match validate(packet, bytes, &envelope.country, gateway.services()) {
        Ok(post) => {
            let attempt = book.ledger.posts(&post.id) + 1;
            gateway.take(book, post, attempt)
        }
        Err(code) => {
            book.record(Event::Refused {
                id: packet.id.as_ref().into(),
                digest: digest(bytes),
                code,
            })?;
            Ok(nothing(code))
        }
    }
}

fn ignore(book: &mut Book, packet: &PostPacket<'_>, bytes: &str) -> Result<(), Error> {
    if !has_id(packet) {
        return Ok(());
    }
    book.record(Event::Ignored {
        id: packet.id.as_ref().into(),
        digest: digest(bytes),
    })
}

fn defer(
    gateway: &Gateway,
    book: &mut Book,
    envelope: &Envelope<'_>,
    packet: &PostPacket<'_>,
    bytes: &str,
) -> Result<(), Error> {
    let post = match validate(packet, bytes, &envelope.country, gateway.services()) {
        Ok(post) if has_id(packet) => post,
        _ => return ignore(book, packet, bytes),
    };
    let range = &gateway.plan.faults.late_execution_ms;
    let attempt = book.ledger.posts(&post.id) + 1;
    let delay = gateway
        .plan
        .within(range, Draw::LateExecution, &post.id, attempt);
    let key = book.ledger.next_key();
    book.record(Event::Deferred {
        key,
        attempt,
        post: Arc::new(post),
    })?;
    let due = tokio::time::Instant::now() + Duration::from_millis(delay);
    gateway.agenda.add(due, Task::Judge(key));
    Ok(())
}
