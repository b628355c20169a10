//! `GATEWAY.queryPaymentStatus`.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;

use crate::sandbox::books::ledger::Status;
use crate::sandbox::books::verdict::Standing;
use crate::sandbox::entries::status_entry;
use crate::sandbox::faults::fault::Fault;
use crate::sandbox::faults::plan::Draw;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::codes::{AUTHENTICATED, FAILURE, description, envelope_head, refusal};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::{QueryPacket, Raw, packets};

/// Answers a status query about one or several identifiers.
pub(in crate::sandbox) fn answer(gateway: &Arc<Gateway>, packet: Option<&Raw>) -> Response {
    let packets = match packets::<QueryPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    let now = gateway.now();
    let within = Duration::from_millis(gateway.plan.faults.query_lies_within_ms);
    let mut statuses = Vec::with_capacity(packets.len());
    {
        let mut book = gateway.book();
        for (index, (packet, _)) in packets.iter().enumerate() {
            let fault = if gateway.plan.disturbs_queries() {
                let number = book.count_query(&packet.id);
                let fault = gateway.plan.query(&packet.id, number);
                if index == 0 && fault == Some(Fault::QueryError) {
                    gateway.faulted.count(Fault::QueryError);
                    let bits = gateway.plan.bits(Draw::ErrorPage, &packet.id, number);
                    return replies::server_error(bits);
                }
                fault
            } else {
                None
            };
            let status = book.ledger.status(&packet.id).filter(|status| {
                let young = |at| now.since(at) <= within;
                let denied = status.acceptance.as_ref().is_some_and(|a| young(a.at));
                let lies = fault == Some(Fault::QueryLiesNotFound) && denied;
                if lies {
                    gateway.faulted.count(Fault::QueryLiesNotFound);
                }
                !lies
            });
            statuses.push(status.unwrap_or(Status {
                standing: Standing::Unknown,
                why: None,
                acceptance: None,
            }));
        }
    }
    let mut out = String::with_capacity(128 + 512 * packets.len());
    envelope_head(&mut out, AUTHENTICATED, description(AUTHENTICATED));
    for (index, ((packet, _), status)) in packets.iter().zip(&statuses).enumerate() {
        if index > 0 {
            out.push(',');
        }
        let code = status.standing.code();
        status_entry(
            &mut out,
            gateway,
            &packet.id,
            code,
            // Of a post that found no float nothing is kept, no reason either.
            status.why.as_deref().filter(|_| code != 143),
            status.acceptance.as_ref(),
        );
    }
    out.push_str("]}");
    replies::json(out)
}
