//! The questions at a terminal: an answer that does not do is asked for again, and no other answer is lost by it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use super::answers::{self, APPROVALS, NOTHING, QUESTIONS, Question, Said, Wrong, ZoneTable};
use crate::cli::Error;
use crate::cli::terminal::{ask, output};
use crate::domain::{Currency, PaymentKind};

/// How often a question is asked.
pub(super) const TRIES: usize = 5;
/// How many people are asked for at a terminal.
const PEOPLE_MAX: usize = 20;

/// Asks for whatever no option says, and for what an option says that does not do.
pub(super) async fn ask_all(said: &mut Said, zones: ZoneTable<'_>) -> Result<(), Error> {
    let wrong = answers::take_out_wrong(said);
    for one in &wrong {
        output::note(&format!("  {}", answers::told(one)));
    }
    for question in &QUESTIONS {
        if !said.values.contains_key(question.key) {
            let suggestion = answers::suggested(question, said, zones);
            let text = ask_one(question, suggestion).await?;
            said.values.insert(question.key, text);
        }
    }
    if said.services.is_empty() {
        ask_services(said).await?;
    }
    let nobody_was_named = said.signers.is_empty();
    if wrong
        .iter()
        .any(|one| matches!(one, Wrong::Bad { flag, .. } if *flag == APPROVALS))
    {
        ask_approvals(said).await?;
    }
    ask_signers(said).await?;
    ask_above(said, nobody_was_named).await
}

/// Asks until the answer does, a few times.
async fn insist<T>(question: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Error> {
    for _ in 0..TRIES {
        let answer = ask::heard(question).await?;
        if !answer.ends_with('\n') {
            return Err(unanswered());
        }
        let read = plain(&answer).and_then(|()| read(answer.trim()));
        match read {
            Ok(read) => return Ok(read),
            Err(expected) => output::note(&format!("  expected {expected}")),
        }
    }
    Err(too_many())
}

/// Refuses what the terminal has sent in another encoding: each sign of it would be lost.
fn plain(answer: &str) -> Result<(), String> {
    match answer.contains(char::REPLACEMENT_CHARACTER) {
        true => Err("text in UTF-8".to_owned()),
        false => Ok(()),
    }
}

fn unanswered() -> Error {
    Error::refused(format!("not answered; {NOTHING}"))
}

fn too_many() -> Error {
    Error::refused(format!("{TRIES} answers could not be used; {NOTHING}")).hint(
        "disburse init --help says what each option is; docs/configuration.md what each key is",
    )
}

async fn ask_one(question: &Question, suggestion: Option<String>) -> Result<String, Error> {
    let shown = match &suggestion {
        Some(text) => format!("{} [{text}]: ", question.asked),
        None => format!("{}: ", question.asked),
    };
    insist(&shown, |answer| {
        let text = match (answer, &suggestion) {
            ("", Some(suggestion)) => suggestion.clone(),
            _ => answer.to_owned(),
        };
        answers::check(question, &text).map(|()| text)
    })
    .await
}

async fn ask_services(said: &mut Said) -> Result<(), Error> {
    output::note(
        "What do you pay? For each kind, name the codes of its services as the gateway gave them to you, with blanks \
        between them; empty: nothing of this kind.",
    );
    for _ in 0..TRIES {
        for (_, name) in PaymentKind::ALL {
            let codes = insist(&format!("  {name}: "), |answer| {
                let texts = answer.split_whitespace();
                let texts: Vec<String> = texts.map(|code| format!("{code}={name}")).collect();
                let all: Vec<String> = said.services.iter().chain(&texts).cloned().collect();
                answers::services_differ(&all).map(|()| texts)
            })
            .await?;
            said.services.extend(codes);
        }
        if !said.services.is_empty() {
            return Ok(());
        }
        output::note("  at least one service is needed");
    }
    Err(too_many())
}

async fn ask_approvals(said: &mut Said) -> Result<(), Error> {
    let question = "How many people approve a batch beside the person who loads it, 1 or 2 [1]: ";
    let number = insist(question, |answer| match answer {
        "" => Ok("1".to_owned()),
        number => answers::approvals(Some(number)).map(|_| number.to_owned()),
    })
    .await?;
    said.approvals = Some(number);
    Ok(())
}

/// Asks for people, until there are as many as it takes.
async fn ask_signers(said: &mut Said) -> Result<(), Error> {
    let wanted = answers::people_wanted(said.approvals.as_deref());
    if said.signers.is_empty() {
        output::note(
            "Who signs? With two pairs of eyes a batch is paid once somebody other than its loader has signed for it. \
            Name the people who load and those who approve: a name and a public SSH key on one line, such as: \
            alice@example.org ssh-ed25519 AAAA...",
        );
    } else if answers::people(&said.signers).is_ok_and(|people| people >= wanted) {
        return Ok(());
    }
    let signers = RefCell::new(std::mem::take(&mut said.signers));
    while signers.borrow().len() < PEOPLE_MAX {
        let people = answers::people(&signers.borrow()).unwrap_or(0);
        let question = match people {
            0 => "  who signs (empty: batches need no approval): ",
            few if few < wanted => "  who else: ",
            _ => "  who else (empty: nobody): ",
        };
        let is_done = insist(question, |answer| match answer {
            "" if (1..wanted).contains(&people) => Err(format!(
                "{wanted} people at least: the person who loads a batch cannot approve it"
            )),
            "" => Ok(true),
            line => {
                answers::signer(line)?;
                let mut signers = signers.borrow_mut();
                signers.push(line.to_owned());
                if let Err(expected) = answers::people(&signers) {
                    signers.pop();
                    return Err(expected);
                }
                Ok(false)
            }
        })
        .await?;
        if is_done {
            break;
        }
    }
    said.signers = signers.into_inner();
    Ok(())
}

async fn ask_above(said: &mut Said, nobody_was_named: bool) -> Result<(), Error> {
    let currency = said.values.get("currency_code");
    let currency = currency.and_then(|code| Currency::from_code(code));
    let Some(currency) = currency.filter(|_| !said.signers.is_empty()) else {
        return Ok(());
    };
    match said.approve_above.as_deref() {
        None if !nobody_was_named => return Ok(()),
        None => {}
        Some(amount) => match answers::amount(amount, currency) {
            Ok(()) => return Ok(()),
            Err(expected) => output::note(&format!("  --approve-above: expected {expected}")),
        },
    }
    said.approve_above = insist(
        "  up to which amount does a batch need no approval (empty: every batch needs it): ",
        |answer| match answer {
            "" => Ok(None),
            amount => answers::amount(amount, currency).map(|()| Some(amount.to_owned())),
        },
    )
    .await?;
    Ok(())
}

/// Asks for the password, which is not shown; `None`: it is filled in later.
pub(super) async fn password() -> Result<Option<SecretString>, Error> {
    for _ in 0..TRIES {
        let answer = ask::unseen(
            "Password of the account at the gateway (it is not shown; empty: it is filled in later): ",
        )
        .await?;
        let text = answer.expose_secret();
        if !text.ends_with('\n') {
            return Err(unanswered());
        }
        let text = text.trim_end_matches(['\n', '\r']);
        match plain(text).and_then(|()| answers::password(text)) {
            Ok(()) if text.is_empty() => return Ok(None),
            Ok(()) => return Ok(Some(SecretString::from(text))),
            Err(expected) => output::note(&format!("  expected {expected}")),
        }
    }
    Err(too_many())
}

/// Asks whether to write files; only a no ends it.
pub(super) async fn confirmed(files: &str, folder: &Path) -> Result<(), Error> {
    let folder = output::name(&folder.display().to_string());
    let question = format!("Write {files} into {folder}? [y/n] ");
    let agreed = insist(&question, |answer| {
        match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err("y to write them, or n to write nothing".to_owned()),
        }
    });
    match agreed.await? {
        true => Ok(()),
        false => Err(Error::refused(format!("not confirmed; {NOTHING}"))),
    }
}

/// Asks where else the files may go.
pub(super) async fn another_folder(folder: PathBuf) -> Result<PathBuf, Error> {
    let shown = output::name(&folder.display().to_string());
    let question = format!("Another folder (empty: look at {shown} once more): ");
    insist(&question, |answer| match answer {
        "" => Ok(folder.clone()),
        other => Ok(PathBuf::from(other)),
    })
    .await
}
