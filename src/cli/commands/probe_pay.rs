//! `probe --pay`: one payment, and then the very same identifier once more, to see whether the gateway refuses it.

use std::io::Read as _;

use sha2::{Digest as _, Sha256};

use super::load;
use crate::cli::Error;
use crate::cli::arguments::{
    DatesArguments, FileArguments, LoadOptions, OnError, ProbeArguments, RunOptions,
};
use crate::cli::files::input::Input;
use crate::cli::run::{Declared, Orders, Probed, carry_out};
use crate::cli::session::Session;
use crate::cli::terminal::ask::{heard, is_attended};
use crate::cli::terminal::output;
use crate::domain::{Amount, BatchName, Instruction, Money, Msisdn, Totals};
use crate::journal::{LoadRow, Reader};
use crate::ledger::Purpose;
use crate::ledger::duplicate_check::NotProbed;

/// The largest file that is read: one row has far fewer bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// What `probe --pay` came to.
pub(in crate::cli) struct PaidProbe {
    pub(in crate::cli) batch: BatchName,
    pub(in crate::cli) probed: Probed,
}

fn load_options(arguments: &ProbeArguments, batch: String) -> LoadOptions {
    LoadOptions {
        batch,
        on_error: OnError::Refuse,
        amend: false,
        allow_repeats: arguments.allow_repeats.clone(),
        allow_same_content: false,
        presume_posted: false,
        lookup: false,
        dates: DatesArguments::default(),
        sign_key: None,
        sign_as: None,
    }
}

/// Pays the one row of a file, and posts it once more.
pub(in crate::cli) async fn pay_and_probe(
    session: &Session,
    arguments: &ProbeArguments,
    file: &std::path::Path,
) -> Result<PaidProbe, Error> {
    let sandbox = arguments.sandbox;
    let settings = session.settings(sandbox, Vec::new())?;
    if !sandbox {
        settings.gateway()?;
    }
    let file = FileArguments {
        file: file.to_owned(),
        format: None,
        encoding: None,
        layout: arguments.layout.clone(),
        period: None,
        sheet: None,
        hidden: None,
        formulas: None,
        service: None,
        allow_equal_rows: false,
        expect_count: Some(1),
        expect_total: None,
        corrections: None,
    };
    let load_options = load_options(arguments, name(&file.file, sandbox)?);
    let plan = load::plan(
        session,
        &file,
        &load_options,
        &settings,
        Purpose::of_command(sandbox),
    )?;
    let batch = plan.batch.clone();
    let input = Input::open(&file, &settings)?;
    // Asked before a person is: a third post is never made.
    if load::is_there(session, &batch) {
        let reader = Reader::open(session.location()?)?;
        if reader.snapshot(&batch)?.second_post()?.is_some() {
            let probed = Probed::Stays(NotProbed::PostedTwice);
            return Ok(PaidProbe { batch, probed });
        }
    }
    // Nothing is loaded that nobody has confirmed: it would stand in the way of the batch that the row belongs to.
    if let Some(row) = only_row(&input, &batch).await?
        && !sandbox
    {
        confirm(arguments, &batch, &row).await?;
    }
    let (journal, ..) = load::open_and_load(session, &input, plan).await?;
    journal
        .only_payment(batch.clone())
        .await?
        .ok_or_else(|| not_one_row(&batch))?;
    let options = run_options(arguments);
    let orders = Orders {
        moved: None,
        head: None,
        declared: Declared::default(),
        resume: "To go on: the same command again".to_owned(),
        probes: true,
        metrics: None,
    };
    let outcome = carry_out(session, settings, &journal, &batch, &options, orders).await?;
    Ok(PaidProbe {
        batch,
        probed: outcome.probed.unwrap_or(Probed::Stays(NotProbed::NotPaid)),
    })
}

fn not_one_row(batch: &BatchName) -> Error {
    Error::refused(format!(
        "batch {batch} is not one payment with an amount; nothing was sent"
    ))
    .hint("probe --pay takes a file with one row, and its amount")
}

/// Reads the one row of a file; `None` where it has mistakes, which the load explains.
async fn only_row(input: &Input, batch: &BatchName) -> Result<Option<Instruction>, Error> {
    let (blocks, _reading) = input.read()?;
    // One row, its end, and one more that would be too many.
    let first = move || blocks.into_iter().flatten().take(3).collect::<Vec<_>>();
    let rows = tokio::task::spawn_blocking(first)
        .await
        .map_err(Error::broke_off)?;
    match rows.as_slice() {
        [LoadRow::Valid(row), LoadRow::EndOfFile] => Ok(Some(row.clone())),
        rows if rows.iter().any(|row| matches!(row, LoadRow::Invalid(_))) => Ok(None),
        _ => Err(not_one_row(batch)),
    }
}

/// Runs the batch as anybody would, without a question: recipient and amount were typed.
fn run_options(arguments: &ProbeArguments) -> RunOptions {
    RunOptions {
        page: false,
        wait_for_window: false,
        rate: None,
        concurrency: None,
        max_wait: arguments.max_wait.clone(),
        no_wait: false,
        pay_due: false,
        allow_short: false,
        asked_as: None,
        asked_at: None,
        accept_dialect: None,
        runner: None,
        yes: true,
        poll_only: arguments.poll_only,
        external_listener: arguments.external_listener,
        metrics: None,
        sandbox: arguments.sandbox,
        seed: 0,
        faults: "none".to_owned(),
    }
}

/// Names the batch by what stands in the file: the same file goes on where it was, another one is another payment.
fn name(file: &std::path::Path, sandbox: bool) -> Result<String, Error> {
    let refused =
        |why: String| Error::refused(format!("{}: {why}; nothing was sent", file.display()));
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(refused(format!(
            "has more than {FILE_BYTES} bytes, and probe --pay takes one row"
        )));
    }
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)[..6]);
    // What was rehearsed is probed for real after it, under a name of its own.
    let rehearsed = if sandbox { "sandbox-" } else { "" };
    Ok(format!("probe-{rehearsed}{digest}"))
}

/// Lets a person type who is paid, and how much: twice the amount may leave.
async fn confirm(
    arguments: &ProbeArguments,
    batch: &BatchName,
    row: &Instruction,
) -> Result<(), Error> {
    let money = row.money;
    output::note(&format!(
        "This pays {} to the recipient in the file (batch {batch}). Once that is paid, it posts the very same payment again, to see whether \
         the gateway refuses it.\nIf the gateway does not refuse it, {} leaves in all.",
        amounts(money, 1),
        amounts(money, 2),
    ));
    let nothing = "nothing was sent";
    let typed = |given: &Option<String>, flag: &str| match given {
        Some(text) => Ok(Some(text.clone())),
        None if is_attended() => Ok(None),
        None => Err(Error::refused(format!(
            "this would pay {} and may pay it twice; {nothing}",
            amounts(money, 1)
        ))
        .hint(format!(
            "without a terminal, --recipient and --amount say what the file says; {flag} is missing"
        ))),
    };
    let recipient = match typed(&arguments.recipient, "--recipient")? {
        Some(text) => text,
        None => heard("Type the recipient's number or account: ").await?,
    };
    if !is_recipient(&recipient, row) {
        return Err(Error::refused(format!(
            "that is not the recipient of the file; {nothing}"
        )));
    }
    let amount = match typed(&arguments.amount, "--amount")? {
        Some(text) => text,
        None => heard("Type the amount that is paid once: ").await?,
    };
    if !is_amount(&amount, money) {
        return Err(Error::refused(format!(
            "that is not the amount of the file; {nothing}"
        )));
    }
    Ok(())
}

fn amounts(money: Money, times: u32) -> String {
    let mut totals = Totals::default();
    for _ in 0..times {
        totals.add(money);
    }
    output::amounts(&totals)
}

/// Returns whether a person has named who receives the payment, however the number is written.
fn is_recipient(typed: &str, row: &Instruction) -> bool {
    let typed = typed.trim();
    let named = row.account_number.as_str();
    if named != row.msisdn.as_str() && !named.is_empty() {
        return typed == named;
    }
    Msisdn::parse(typed, row.country).is_ok_and(|number| number == row.msisdn)
}

/// Returns whether a person has named the amount, with the currency or without.
fn is_amount(typed: &str, money: Money) -> bool {
    let code = money.currency.code();
    let typed = typed.trim();
    let digits = typed.strip_prefix(code).unwrap_or(typed).trim();
    Amount::parse(&digits.replace(',', ""), money.currency)
        .is_ok_and(|amount| amount == money.amount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Country, Currency, Reference, ServiceCode};

    fn row(account: &str) -> Instruction {
        let currency = Currency::from_code("KES").unwrap();
        Instruction {
            line: 2,
            reference: None::<Reference>,
            service: ServiceCode::parse("B2C_MPESA").unwrap(),
            msisdn: Msisdn::from_digits("254712345678").unwrap(),
            account_number: account.into(),
            money: Money {
                amount: Amount::parse("1500.50", currency).unwrap(),
                currency,
            },
            country: Country::from_code("KE").unwrap(),
            narration: "".into(),
            customer_names: "".into(),
            invoice_number: "".into(),
            payment_mode: "".into(),
            hub_id: "".into(),
            extra: Vec::new(),
            document: None,
        }
    }

    #[test]
    fn recipient_and_amount_are_what_the_file_says_however_they_are_typed() {
        for (account, typed, expected) in [
            ("254712345678", "254712345678", true),
            ("254712345678", "+254 712 345 678", true),
            ("254712345678", "0712345678", true),
            ("254712345678", "254712345679", false),
            ("254712345678", "5678", false),
            ("254712345678", "", false),
            // A bank's account, a meter: the phone number is not who is paid.
            ("0110012345", "0110012345", true),
            ("0110012345", "110012345", false),
            ("0110012345", "254712345678", false),
        ] {
            assert_eq!(is_recipient(typed, &row(account)), expected, "{typed}");
        }
        let money = row("").money;
        for (typed, expected) in [
            ("1500.50", true),
            ("1500.5", true),
            ("1,500.50", true),
            ("KES 1500.50", true),
            ("USD 1500.50", false),
            ("3001.00", false),
            ("1500", false),
            ("", false),
            ("y", false),
        ] {
            assert_eq!(is_amount(typed, money), expected, "{typed}");
        }
    }
}
