//! `notices`: what waits to be told, and telling it now.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::arguments::NoticesArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::notices::{NoticeDesk, look_at_all, none_configured};
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal::{Journal, NoticeWaiting, NoticesWaiting, Reader};

/// So many are listed.
const LISTED_MAX: u32 = 100;
/// So long one command delivers what waits.
const DELIVER_WITHIN: Duration = Duration::from_secs(600);

/// `disburse notices`.
pub(in crate::cli) async fn notices(
    session: &Session,
    arguments: &NoticesArguments,
) -> Result<ExitStatus, Error> {
    if arguments.test {
        return test(session).await;
    }
    if arguments.deliver {
        return deliver(session).await;
    }
    let waiting = Reader::open(session.location()?)?.notices_waiting(LISTED_MAX)?;
    if session.common.json {
        let first = waiting.first.iter().map(to_json);
        output::json(&json!({"count": waiting.count, "waiting": first.collect::<Vec<_>>()}));
        return Ok(ExitStatus::Done);
    }
    tell(session, &waiting);
    Ok(ExitStatus::Done)
}

fn tell(session: &Session, waiting: &NoticesWaiting) {
    if waiting.count == 0 {
        session.note("no notice waits");
        return;
    }
    let zone = session.zone(false);
    let rows = waiting.first.iter().map(|notice| {
        vec![
            zone.format_named(notice.made_at),
            notice.batch.to_string(),
            what(notice),
            notice.attempts.to_string(),
            notice.trouble.clone().unwrap_or_default(),
        ]
    });
    let header = ["made", "batch", "what", "attempts", "the last one met"];
    output::print(&output::table(&header, rows.collect(), &[3]));
    let listed = waiting.first.len() as u64;
    if waiting.count > listed {
        output::line(&format!(
            "{} more",
            output::grouped(&(waiting.count - listed).to_string())
        ));
    }
    session.note("they are sent by runs, by disburse listen, and by: disburse notices --deliver");
}

fn what(notice: &NoticeWaiting) -> String {
    match notice.subject.is_empty() {
        true => notice.kind.clone(),
        false => format!("{} {}", notice.kind, notice.subject),
    }
}

fn to_json(notice: &NoticeWaiting) -> Value {
    json!({
        "id": notice.id,
        "batch": notice.batch.as_str(),
        "type": notice.kind,
        "service": (!notice.subject.is_empty()).then_some(&notice.subject),
        "made_at": notice.made_at.to_string(),
        "attempts": notice.attempts,
        "trouble": notice.trouble,
    })
}

fn desk(session: &Session, journal: &Journal) -> Result<NoticeDesk, Error> {
    let settings = session.settings(false, Vec::new())?;
    NoticeDesk::of(settings, journal)?.ok_or_else(none_configured)
}

async fn test(session: &Session) -> Result<ExitStatus, Error> {
    let settings = session.settings(false, Vec::new())?;
    let id = NoticeDesk::test(&settings).await?;
    if session.common.json {
        output::json(&json!({"id": id}));
    } else {
        output::line(&format!("the test notice was taken: {id}"));
    }
    Ok(ExitStatus::Done)
}

async fn deliver(session: &Session) -> Result<ExitStatus, Error> {
    let journal = session.journal()?;
    let desk = Arc::new(desk(session, &journal)?);
    look_at_all(&desk).await?;
    let delivered = desk.deliver(true, DELIVER_WITHIN).await?;
    let left = Reader::open(session.location()?)?.notices_waiting(1)?;
    if session.common.json {
        output::json(
            &json!({"delivered": delivered.count, "waiting": left.count, "trouble": delivered.trouble}),
        );
    } else {
        let told = output::counted(delivered.count, "notice");
        output::line(&format!("delivered: {told}"));
    }
    if left.count == 0 {
        return Ok(ExitStatus::Done);
    }
    let waits = output::counted(left.count, "notice");
    let why = match delivered.trouble {
        Some(trouble) => format!(": {trouble}"),
        None => {
            ": the first of them is being delivered elsewhere, for two minutes at most".to_owned()
        }
    };
    output::complain("warning", &format!("waiting: {waits}{why}"));
    output::complain(
        "hint",
        "nothing is lost: it is tried again by itself, or by the same command; disburse notices lists what waits",
    );
    Ok(ExitStatus::Unfinished)
}
