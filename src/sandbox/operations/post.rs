//! `GATEWAY.postPayment`.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::sync::oneshot;

use crate::sandbox::agenda::Task;
use crate::sandbox::books::book::Book;
use crate::sandbox::books::event::Event;
use crate::sandbox::error::Error;
use crate::sandbox::faults::fault::Fault;
use crate::sandbox::faults::plan::Draw;
use crate::sandbox::gateway::{Gateway, Taken};
use crate::sandbox::http::codes::{Entry, FAILURE, Refusal, acknowledgement, gateway_id, refusal};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::{self, Envelope, PostPacket, packets};
use crate::sandbox::http::validation::{check_country, check_id, digest, validate};
use crate::sandbox::outbox::Call;

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
pub(in crate::sandbox) async fn answer(
    gateway: &Arc<Gateway>,
    envelope: &Envelope<'_>,
    packet: Option<&request::Raw>,
) -> Response {
    let packets = match packets::<PostPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    if let Err(Refusal { why: Some(why), .. }) = check_country(&envelope.country) {
        return replies::json(refusal(FAILURE, &why));
    }
    let judged = match judge(gateway, &packets) {
        Ok(judged) => judged,
        Err(error) => return replies::no_ledger(&error),
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
            why: None,
            receipt: None,
        }])),
        Some(Fault::GarbageReply) => replies::garbage(),
        Some(Fault::Throttle) => replies::throttled(),
        // What is left of the group are the two server errors.
        Some(_) => replies::server_error(plan.bits(Draw::ErrorPage, id, attempt)),
    }
}

fn judge(gateway: &Gateway, packets: &[(PostPacket<'_>, &str)]) -> Result<Judged, Error> {
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
    if let Some(fault) = judged.fault {
        gateway.faulted.count(fault);
    }
    let mut entries = Vec::with_capacity(packets.len());
    for (packet, bytes) in packets {
        let taken = match judged.fault {
            Some(Fault::ErrorBefore | Fault::DropBefore | Fault::Throttle) => {
                ignore(&mut book, packet, bytes)?;
                continue;
            }
            Some(Fault::LateExecution) => {
                defer(gateway, &mut book, packet, bytes)?;
                continue;
            }
            _ => judge_one(gateway, &mut book, packet, bytes)?,
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
            why: taken.why,
            receipt: (taken.code == 148).then(|| gateway.application(&packet.id, taken.number)),
        });
    }
    drop(book);
    judged.body = acknowledgement(&entries);
    Ok(judged)
}

fn judge_one(
    gateway: &Gateway,
    book: &mut Book,
    packet: &PostPacket<'_>,
    bytes: &str,
) -> Result<Taken, Error> {
    if let Err(refusal) = check_id(&packet.id) {
        return Ok(Taken::nothing(refusal));
    }
    // Whatever else the packet says, money has been promised under this identifier.
    if book.ledger.holds(&packet.id) {
        return gateway.duplicate(book, &packet.id.as_ref().into(), digest(bytes));
    }
    let documents = &book.ledger.documents;
    let required = &gateway.options.dialect.required_bank_members;
    match validate(packet, bytes, gateway.services(), documents, required) {
        Ok(post) => {
            let attempt = book.ledger.posts(&post.id) + 1;
            gateway.take(book, post, attempt)
        }
        Err(refusal) => {
            book.record(Event::Refused {
                id: packet.id.as_ref().into(),
                digest: digest(bytes),
                code: refusal.code,
                why: refusal.why.as_deref().map(Into::into),
            })?;
            Ok(Taken::nothing(refusal))
        }
    }
}

fn ignore(book: &mut Book, packet: &PostPacket<'_>, bytes: &str) -> Result<(), Error> {
    if check_id(&packet.id).is_err() {
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
    packet: &PostPacket<'_>,
    bytes: &str,
) -> Result<(), Error> {
    let documents = &book.ledger.documents;
    let required = &gateway.options.dialect.required_bank_members;
    let post = match validate(packet, bytes, gateway.services(), documents, required) {
        Ok(post) if check_id(&packet.id).is_ok() => post,
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
