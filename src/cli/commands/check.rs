//! `check`: everything a load would say. Of a journal that is there it takes what was loaded before.

use super::bills;
use super::bills::Told;
use super::load::into_journal;
use super::networks;
use super::schedule;
use crate::cli::Error;
use crate::cli::arguments::CheckArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::declared::declared_total;
use crate::cli::files::input::Input;
use crate::cli::files::scratch::Scratch;
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::output;
use crate::cli::words::approvals;
use crate::cli::words::limits;
use crate::cli::words::mistakes;
use crate::cli::words::repeats;
use crate::cli::words::summary::{print_summary, to_json};
use crate::domain::{Amount, BatchName, Currency, Originator, PayerTransactionId, Timestamp};
use crate::journal::{Journal, LoadPlan, LoadSummary, Location, Reader, RepeatPlan};
use crate::ledger::Purpose;
use crate::ledger::calendar::BatchDates;
use crate::ledger::correction::{Corrects, RejectedName};
use crate::ledger::names::{By, PaymentName};

/// `disburse check`.
pub(in crate::cli) async fn check(
    session: &Session,
    arguments: CheckArguments,
) -> Result<ExitStatus, Error> {
    let file = arguments.file.file.display().to_string();
    let mut told = false;
    let checked = examine(session, arguments, &mut told).await;
    if let Err(error) = &checked
        && session.common.json
        && !told
    {
        mistakes::print_whole(&file, error);
    }
    checked
}

/// The journal, where there is one: what it has on record is not to be paid again.
fn journal_there(session: &Session) -> Result<Option<&Location>, Error> {
    Ok(Some(session.location()?).filter(|at| at.is_there()))
}

/// Checks the file; `told` becomes true when the mistakes of its rows were printed as objects.
async fn examine(
    session: &Session,
    arguments: CheckArguments,
    told: &mut bool,
) -> Result<ExitStatus, Error> {
    let overrides = vec![("service_code", arguments.file.service.clone())];
    let mut settings = session.settings(arguments.sandbox, overrides)?;
    let input = Input::open(&arguments.file, &settings)?.telling_objects(session.common.json);
    let expect_total = match &arguments.file.expect_total {
        Some(text) => Some(declared_total(text, &settings)?),
        None => None,
    };
    // The very code that loads, on a journal that is thrown away: what passes here loads there.
    let scratch = Scratch::for_a_journal()?;
    let journal = Journal::aside(&scratch.path().join("check.db"))?;
    let plan = plan(session, &arguments, &settings, expect_total)?;
    let (batch, dates) = (plan.batch.clone(), plan.dates);
    let loaded = into_journal(session, &journal, &input, plan).await;
    *told = input.has_told_objects();
    let (mut summary, _) = loaded.map_err(|error| error.of_check())?;
    let bills_told = match arguments.bills {
        true => {
            let place = bills::Place {
                session,
                settings: &mut settings,
                journal: &journal,
                batch: &batch,
                file: &input.name,
            };
            bills::check(place, arguments.sandbox).await?
        }
        false => Told::default(),
    };
    bills_told.complete(&mut summary);
    if summary.unpriced > 0 {
        let remedy = "--bills asks what is due";
        if expect_total.is_some() {
            return Err(Error::refused(format!(
                "{}: a total was declared, and {}",
                input.name,
                bills::unpriced_text(summary.unpriced, remedy)
            )));
        }
        session.note(&bills::unpriced_text(summary.unpriced, remedy));
    }
    if arguments.lookup {
        networks::check(session, &input, arguments.sandbox)
            .await
            .map_err(|error| error.of_check())?;
    }
    tell_corrections(session, &summary);
    tell_rules(
        session,
        &settings,
        (&summary, dates),
        (&journal, &batch),
        arguments.sandbox,
    )?;
    if session.common.json {
        let mut value = to_json(&summary, None);
        if arguments.bills {
            value["bills"] = bills_told.to_json();
        }
        output::json(&value);
    } else {
        print_summary(&summary);
        output::line(&format!(
            "{}: {}, no errors",
            input.name,
            output::counted(summary.total().count, "row")
        ));
    }
    Ok(ExitStatus::Done)
}

/// Notes what of the file would wait for its service, for a limit or for signatures.
fn tell_rules(
    session: &Session,
    settings: &Settings,
    (summary, dates): (&LoadSummary, BatchDates),
    (journal, batch): (&Journal, &BatchName),
    sandbox: bool,
) -> Result<(), Error> {
    schedule::tell_time(
        session,
        settings,
        (summary, dates),
        (batch, Purpose::of_command(sandbox)),
    )?;
    for text in limits::lists_texts(settings)? {
        session.note(&format!("note: {text}"));
    }
    let record = journal_there(session)?;
    let rows = (journal.location(), batch);
    limits::tell_ahead(session, settings, rows, record)?;
    if let Some(rule) = settings.approval_of_load()?
        && rule.needs(&summary.total().amounts, summary.unpriced)
    {
        session.note(&approvals::needed(&rule));
    }
    Ok(())
}

/// Returns how the file is loaded into the journal that is thrown away.
fn plan(
    session: &Session,
    arguments: &CheckArguments,
    settings: &Settings,
    expect_total: Option<(Currency, Amount)>,
) -> Result<LoadPlan, Error> {
    let record = journal_there(session)?.cloned();
    Ok(LoadPlan {
        batch: batch_name("check")?,
        originator: Originator::parse("check").map_err(Error::unexpected)?,
        form: crate::domain::IdentifierForm::default(),
        source: String::new(),
        layout: None,
        is_ours: false,
        now: Timestamp::now(),
        purpose: crate::ledger::Purpose::Unknown,
        amend: false,
        allow_equal_rows: arguments.file.allow_equal_rows,
        repeats: repeats::plan(
            settings,
            arguments.sandbox,
            None,
            arguments.file.period.is_some(),
        )
        .map(|plan| RepeatPlan { record, ..plan }),
        skip_bad_rows: false,
        presume_posted: false,
        expect_count: arguments.file.expect_count,
        expect_total,
        // What is asked about stands in the scratch journal first.
        batch_ceilings: settings.limits.limits.batch.clone(),
        new_documents: false,
        destination: None,
        approval: None,
        dates: schedule::dates(&arguments.dates, settings, false)?,
        // What limits would keep from leaving is looked for in the scratch journal.
        dry_run: !arguments.bills && settings.limits.is_none(),
    })
}

/// Rows that correct something are told as far as this.
const CORRECTIONS_SHOWN: usize = 20;

/// Says what rows of the file correct: they are no payments beside it, and a load judges whether they may.
fn tell_corrections(session: &Session, summary: &LoadSummary) {
    if summary.corrects.is_empty() {
        return;
    }
    let journal = journal_there(session).ok().flatten();
    let journal = journal.and_then(|at| Reader::open(at).ok());
    for (line, corrects) in summary.corrects.iter().take(CORRECTIONS_SHOWN) {
        session.note(&format!(
            "line {line} {}",
            corrected_text(journal.as_ref(), corrects)
        ));
    }
    let more = summary.corrects.len().saturating_sub(CORRECTIONS_SHOWN);
    let and_more = match more {
        0 => String::new(),
        more => format!("and {more} more; "),
    };
    session.note(&format!(
        "{and_more}each row replaces the one that it names, and is counted once. `disburse load --batch NAME --amend` checks whether it may; this command does not"
    ));
}

fn corrected_text(journal: Option<&Reader>, corrects: &Corrects) -> String {
    let written = output::name(corrects.written());
    match corrects {
        Corrects::Rejected(name) => match RejectedName::parse(name) {
            Some(name) => format!(
                "takes the place of a row that batch {} rejected ({written})",
                name.batch
            ),
            None => format!("names a rejected row by what is no name of one ({written})"),
        },
        Corrects::Failed(id) => match journal.and_then(|journal| failed_text(journal, id)) {
            Some(text) => format!("replaces payment {written} {text}"),
            None => format!("replaces payment {written}, which this journal does not have"),
        },
    }
}

/// Says what a payment is that a row names; `None` when the journal has none.
fn failed_text(journal: &Reader, id: &str) -> Option<String> {
    let batch = journal.batch_of(PayerTransactionId::parse(id)?).ok()??;
    let snapshot = journal.snapshot(&batch).ok()?;
    let name = PaymentName {
        text: id.to_owned(),
        by: By::Identifier,
    };
    let records = snapshot.find(name).ok()?;
    let record = records.first()?;
    let row = &record.payment.instruction;
    let code = match record.life.code {
        Some(code) => format!(" ({code})"),
        None => String::new(),
    };
    Some(format!(
        "of batch {batch}, {} {} to {}: {}{code}",
        row.money.currency,
        output::grouped(&row.money.to_string()),
        row.msisdn.masked(),
        record.life.state.name()
    ))
}
