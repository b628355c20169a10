//! `probe`: a first contact with a gateway that moves no money. It says what it saw, what the dialect expected, and which lines
//! to change; it changes nothing. With `--pay`, one payment shows whether the gateway refuses an identifier that it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Url;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::operation;
use super::probe_pay::{PaidProbe, pay_and_probe};
use crate::cli::Error;
use crate::cli::arguments::ProbeArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::run::Probed;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::cli::words::probe::{Finding, Seen, of_status};
use crate::dialect::Dialect;
use crate::domain::{BatchName, PayerTransactionId};
use crate::gateway::{Gateway as _, Inquiry, LookupInquiry, reach};
use crate::ledger::duplicate_check::{DuplicateCheck, NotProbed};

/// `disburse probe`.
pub(in crate::cli) async fn probe(
    session: &Session,
    arguments: ProbeArguments,
) -> Result<ExitStatus, Error> {
    let number = arguments.number.clone();
    let findings = operation::against(session, arguments.sandbox, async |settings| {
        let known = match arguments.sandbox {
            true => None,
            false => known_check(session, settings).await?,
        };
        let mut findings = vec![token(settings).await?, status(settings, known).await?];
        findings.push(float(settings).await?);
        findings.push(lookup(settings, number.as_deref()).await?);
        findings.push(callback(settings).await?);
        Ok(findings)
    })
    .await?;
    let mut as_expected = findings
        .iter()
        .all(|finding| finding.seen != Seen::Otherwise);
    if !session.common.json {
        print(&findings);
    }
    let mut value = json!({
        "as_expected": as_expected,
        "steps": findings.iter().map(to_json).collect::<Vec<_>>(),
    });
    let mut status = ExitStatus::Done;
    match &arguments.pay {
        None => session.note("nothing was posted, and no money moved"),
        Some(_) if !as_expected => session.note(
            "nothing was posted, and no money moved: a payment is made once everything above is as expected",
        ),
        Some(file) => {
            let PaidProbe { batch, probed } = pay_and_probe(session, &arguments, file).await?;
            let told = told_of(&batch, &probed);
            as_expected = told.shows_a_check;
            status = told.status;
            value["duplicates"] = told.json;
            value["as_expected"] = as_expected.into();
            output::line_unless(session.common.json, &told.text);
            told.hint
                .iter()
                .for_each(|hint| output::complain("hint", hint));
        }
    }
    if session.common.json {
        output::json(&value);
    }
    Ok(match as_expected {
        true => ExitStatus::Done,
        false if status == ExitStatus::Done => ExitStatus::Stopped,
        false => status,
    })
}

fn print(findings: &[Finding]) {
    let rows = findings
        .iter()
        .map(|finding| {
            let step = finding.step.to_owned();
            vec![step, finding.seen.word().to_owned(), finding.told.clone()]
        })
        .collect();
    output::print(&output::table(&["asked for", "", "answer"], rows, &[]));
    for finding in findings.iter().filter(|finding| !finding.lines.is_empty()) {
        output::line(&format!("\n{}, if that is right:", finding.step));
        for line in &finding.lines {
            output::line(&format!("    {line}"));
        }
    }
}

/// What is told of the second post.
struct Told {
    shows_a_check: bool,
    status: ExitStatus,
    text: String,
    hint: Option<String>,
    json: serde_json::Value,
}

fn told_of(batch: &BatchName, probed: &Probed) -> Told {
    match probed {
        Probed::Answered { check, code, words } => {
            let said = match (code, words.as_str()) {
                (Some(code), "") => code.to_string(),
                (Some(code), words) => format!("{code}: {words}"),
                (None, words) => words.to_owned(),
            };
            let (text, hint) = answered(batch, *check, *code, &said);
            Told {
                shows_a_check: *check == DuplicateCheck::Refuses,
                status: ExitStatus::Stopped,
                text,
                hint,
                json: json!({"batch": batch.as_str(), "check": check.name(), "code": code}),
            }
        }
        Probed::Stays(why) => {
            let (status, text, hint) = stayed(batch, *why);
            Told {
                shows_a_check: false,
                status,
                text,
                hint: Some(hint),
                json: json!({"batch": batch.as_str(), "check": null, "code": null}),
            }
        }
    }
}

/// Says what the answer to the second post shows, and what to do.
fn answered(
    batch: &BatchName,
    check: DuplicateCheck,
    code: Option<i32>,
    said: &str,
) -> (String, Option<String>) {
    match check {
        DuplicateCheck::Refuses => (
            format!(
                "the payment of batch {batch} is paid, and the gateway refused its identifier when it was posted a second time ({said})"
            ),
            None,
        ),
        DuplicateCheck::Accepts => (
            format!(
                "THE GATEWAY TOOK THE IDENTIFIER OF BATCH {batch} A SECOND TIME ({said}): the money may have moved twice"
            ),
            Some(
                "ask the gateway's people whether the second post was executed, and if so, to take it back. One \
                 journal still pays each row once; but never post the same batch from two journals"
                    .to_owned(),
            ),
        ),
        DuplicateCheck::Unclear => (
            format!(
                "the payment of batch {batch} is paid; the gateway's answer to the second post does not show whether \
                it was refused ({said})"
            ),
            Some(match code {
                Some(code) => format!(
                    "ask the gateway's people whether the second post was executed. If they say that {code} is their \
                     refusal of a duplicate, set it in [post_codes] to \"duplicate\", and probe again with another row"
                ),
                None => format!(
                    "ask the gateway's people whether the second post was executed: no answer to it arrived. `disburse \
                     explain {batch}` names the payment; probe again with another row"
                ),
            }),
        ),
    }
}

/// Says why there was no second post, and what to do.
fn stayed(batch: &BatchName, why: NotProbed) -> (ExitStatus, String, String) {
    let another = || "to probe again, use a file with another row".to_owned();
    match why {
        NotProbed::NotPaid => (
            ExitStatus::Unfinished,
            format!("the payment of batch {batch} has no end yet: it was not posted a second time"),
            format!(
                "`disburse status {batch}` shows where it stands; repeat the same command to go on"
            ),
        ),
        NotProbed::EndedOtherwise => (
            ExitStatus::Incomplete,
            format!(
                "the payment of batch {batch} was not paid at its first post, so it is not posted a second time: that \
                would show nothing"
            ),
            format!(
                "`disburse status {batch}` shows how it ended; {}",
                another()
            ),
        ),
        NotProbed::PostedTwice => (
            ExitStatus::Incomplete,
            format!(
                "the payment of batch {batch} was posted a second time before, and is not posted a third time; \
                `disburse run` says at its start what was seen"
            ),
            another(),
        ),
        NotProbed::HasOthers => (
            ExitStatus::Incomplete,
            format!("batch {batch} has other payments: none was posted a second time"),
            another(),
        ),
        NotProbed::Recovering => (
            ExitStatus::Unfinished,
            "the journal may have missed something: nothing was posted a second time".to_owned(),
            "end the recovery first: disburse recover".to_owned(),
        ),
    }
}

fn to_json(finding: &Finding) -> serde_json::Value {
    json!({
        "step": finding.step,
        "seen": finding.seen.word(),
        "answer": finding.told,
        "suggested": finding.lines,
    })
}

async fn token(settings: &Settings) -> Result<Finding, Error> {
    const STEP: &str = "token";
    if settings.profile.auth_url.is_none() {
        return Ok(Finding::left_out(STEP, "auth_url is not set"));
    }
    Ok(match gateway::tokens(settings)?.bearer().await {
        Ok(bearer) => Finding::expected(
            STEP,
            match bearer.lifetime() {
                Some(lifetime) => format!("issued, valid for {} s", lifetime.as_secs()),
                None => "issued; the endpoint does not say how long it is valid".to_owned(),
            },
        ),
        Err(error) => Finding::otherwise(
            STEP,
            error.to_string(),
            vec![
                "auth_url, username, client_id and the password of the profile; [operations.token] path, [headers] and [header_files] of the dialect"
                    .to_owned(),
            ],
        ),
    })
}

/// Asks about an identifier that cannot exist: whatever the answer is, it is how "not found" reads here.
async fn status(settings: &Settings, known: Option<DuplicateCheck>) -> Result<Finding, Error> {
    let client = gateway::client(settings)?;
    let id = nobodys(&settings.dialect.dialect);
    let inquiry = Inquiry {
        id,
        gateway_transaction_id: None,
        country: None,
    };
    let reply = client.query(&[inquiry]).await;
    Ok(of_status(
        &reply,
        &settings.dialect.dialect,
        &gateway::codes(settings),
        known,
    ))
}

/// Returns what the journal knows of this gateway's check for duplicates. A first contact needs no journal.
async fn known_check(
    session: &Session,
    settings: &Settings,
) -> Result<Option<DuplicateCheck>, Error> {
    if !session.location()?.is_there() {
        return Ok(None);
    }
    let home = gateway::home(settings, None)?;
    let known = session.journal()?.duplicate_probe(home).await?;
    Ok(known.map(|probe| probe.check))
}

/// An identifier that nobody has: 80 bits of chance at least.
pub(in crate::cli) fn nobodys(dialect: &Dialect) -> PayerTransactionId {
    let mut chance = [0; 32];
    chance.fill_with(|| fastrand::u8(..));
    dialect.identifiers.write(&chance)
}

async fn float(settings: &Settings) -> Result<Finding, Error> {
    const STEP: &str = "float";
    if !settings.profile.float.query {
        return Ok(Finding::left_out(STEP, "float.query is not set"));
    }
    let Some(service) = settings.services.keys().next() else {
        return Ok(Finding::left_out(
            STEP,
            "the configuration names no service",
        ));
    };
    let client = gateway::client(settings)?;
    Ok(match client.float(std::slice::from_ref(service)).await {
        Ok(balances) => match balances.into_iter().next().flatten() {
            Some(balance) => {
                let told = format!("{service}: a balance in {}", balance.currency);
                Finding::expected(STEP, told)
            }
            None => Finding::otherwise(
                STEP,
                format!("{service}: no balance that can be read"),
                vec![
                    "[operations.float] function, path, authentication, and [members] balance and currencyCode of the dialect; or, where this gateway tells no float, [operations] absent = [\"float\"] and float.query = false"
                        .to_owned(),
                ],
            ),
        },
        Err(error) => Finding::otherwise(
            STEP,
            error.to_string(),
            vec![
                "[operations.float] function, path, authentication; or float.query = false"
                    .to_owned(),
            ],
        ),
    })
}

async fn lookup(settings: &Settings, number: Option<&str>) -> Result<Finding, Error> {
    const STEP: &str = "network lookup";
    let Some(number) = number else {
        return Ok(Finding::left_out(
            STEP,
            "--number names a number to look up",
        ));
    };
    if settings.profile.api_url.is_none() {
        return Ok(Finding::left_out(STEP, "api_url is not set"));
    }
    let country = super::lookup::country(settings, None)?;
    let inquiry = LookupInquiry {
        country,
        number: super::lookup::number("--number", number, country, "")?,
    };
    Ok(match gateway::lookups(settings)?.lookup(&inquiry).await {
        Ok(network) => Finding::expected(STEP, format!("carrier {}", network.carrier)),
        Err(error) => Finding::otherwise(
            STEP,
            error.to_string(),
            vec!["api_url of the profile; [operations.lookup] path, method, authentication of the dialect".to_owned()],
        ),
    })
}

/// Calls the callback address from here, as the gateway cannot be asked to.
async fn callback(settings: &Settings) -> Result<Finding, Error> {
    const STEP: &str = "callback address";
    let callback = &settings.profile.callback;
    let Some(public_url) = &callback.public_url else {
        return Ok(Finding::left_out(
            STEP,
            "callback.public_url is not set: outcomes are asked for",
        ));
    };
    let nonce = format!("probe-{:016x}", fastrand::u64(..));
    let arrived = Arc::new(AtomicBool::new(false));
    let listening = match TcpListener::bind(callback.listen).await {
        Ok(listener) => Some(tokio::spawn(answer_all(
            listener,
            nonce.clone(),
            Arc::clone(&arrived),
        ))),
        // Most likely a listener of ours, which answers for itself.
        Err(_) => None,
    };
    let url = Url::parse(&format!(
        "{}/{nonce}",
        public_url.as_str().trim_end_matches('/')
    ))
    .map_err(Error::unexpected)?;
    let profile = gateway::profile(settings)?;
    let reached = reach(&profile, url).await;
    if let Some(listening) = &listening {
        listening.abort();
    }
    let reached = reached.map_err(|error| Error::refused(format!("{error}; nothing was sent")))?;
    let listen = callback.listen;
    let mend = || {
        vec![format!(
            "callback.public_url must lead to callback.listen ({listen}), through every proxy and firewall"
        )]
    };
    Ok(match (reached, listening.is_some()) {
        (Ok(_), true) if arrived.load(Ordering::SeqCst) => Finding::expected(
            STEP,
            format!("{public_url} leads to {listen}, seen from here"),
        ),
        (Ok(404), false) => Finding::expected(
            STEP,
            format!("{public_url} answers as a listener of ours does; one is running at {listen}"),
        ),
        (Ok(status), _) => Finding::otherwise(
            STEP,
            format!("{public_url} answers HTTP {status}, and leads somewhere else than {listen}"),
            mend(),
        ),
        (Err(cause), _) => Finding::otherwise(STEP, format!("{public_url}: {cause}"), mend()),
    })
}

/// Answers whoever calls with 404, as a listener does, and notes whether the probe was among them.
async fn answer_all(listener: TcpListener, nonce: String, arrived: Arc<AtomicBool>) {
    while let Ok((stream, _)) = listener.accept().await {
        let answered = answer_one(stream, &nonce, &arrived);
        let _ = tokio::time::timeout(Duration::from_secs(5), answered).await;
    }
}

async fn answer_one(
    mut stream: TcpStream,
    nonce: &str,
    arrived: &AtomicBool,
) -> std::io::Result<()> {
    const HEAD_MAX: usize = 16 * 1024;
    let mut head = Vec::new();
    while head.len() < HEAD_MAX && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    if String::from_utf8_lossy(&head).contains(nonce) {
        arrived.store(true, Ordering::SeqCst);
    }
    stream
        .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
}
