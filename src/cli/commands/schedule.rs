//! `schedule`: when a batch may be posted.

use std::time::Duration;

use jiff::civil::Date;

use crate::cli::Error;
use crate::cli::arguments::{DatesArguments, ScheduleArguments};
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::calendar;
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Commands, Session, batch_name};
use crate::cli::terminal::output;
use crate::cli::words::hours::{Unposted, dates_json, dates_text};
use crate::cli::words::next::next_text;
use crate::cli::words::told::tell;
use crate::domain::{BatchName, Timestamp, WireZone};
use crate::intake::{expected_time, time_with_offset};
use crate::journal::{DatesOrder, Journal, LoadSummary, Reader, Standing};
use crate::ledger::Purpose;
use crate::ledger::calendar::{BatchDates, Gate};
use crate::lifecycle::State;

/// Takes a date away.
const NONE: &str = "none";

/// What leaves in spite of the new dates.
fn leaving(standing: &Standing) -> Option<String> {
    let claimed = standing.of(State::Posting).count;
    (claimed > 0).then(|| {
        let payments = output::counted(claimed, "payment");
        format!(
            "note: being sent: {payments}, which a run had taken before. They leave all the same, unless the run is ended at \
            once; the dates hold for all others"
        )
    })
}

/// `disburse schedule`.
pub(in crate::cli) async fn schedule(
    session: &Session,
    arguments: ScheduleArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let asked = &arguments.dates;
    if asked.not_before.is_none() && asked.not_after.is_none() {
        return show(session, &batch, arguments.reason.is_some());
    }
    let journal = session.journal()?;
    let standing = journal.standing(batch.clone()).await?;
    let zone = session.zone(standing.purpose == Purpose::Rehearsal);
    let before = standing.dates;
    let after = changed(before, asked, Some(&zone))?;
    let reason = arguments.reason.unwrap_or_default();
    if reason.trim().is_empty() {
        return Err(
            Error::refused("--reason is missing; the dates of the batch stand")
                .hint("the order is kept for ever: say why the batch gets other dates"),
        );
    }
    let signing = OrderSigning::of(session, &journal, standing.purpose, &arguments.signing)?;
    let signing = signing.because(Some(&reason));
    let given = signing.give(async |journal| {
        let order = DatesOrder {
            before,
            after,
            reason: reason.clone(),
        };
        journal
            .schedule(batch.clone(), order, Timestamp::now())
            .await
    });
    if let Given::Not(status) = given.await? {
        return Ok(status);
    }
    tell_dates(session, &batch, after, &zone);
    if after.gate(Timestamp::now()) == Gate::Over {
        session.note(
            "note: the last date is past: with these dates nothing more of the batch is posted",
        );
    }
    // What was claimed a moment ago, too.
    let standing = journal.standing(batch.clone()).await?;
    if let Some(said) = leaving(&standing) {
        session.note(&said);
    }
    let settings = session.settings(standing.purpose == Purpose::Rehearsal, Vec::new());
    let rule = match settings {
        Ok(settings) => settings.approval()?,
        Err(_) => None,
    };
    let approvals = journal.approvals(batch.clone(), rule, None).await?;
    if approvals.waits() && !standing.is_finished() {
        session.note("note: signatures cover the dates as well: the people who approved the batch must look at it \
            again, and sign");
    }
    if !standing.is_finished() {
        session.note(&next_text(session, &batch)?);
    }
    Ok(ExitStatus::Done)
}

/// Shows the dates of a batch, to whoever may read the journal.
fn show(session: &Session, batch: &BatchName, has_reason: bool) -> Result<ExitStatus, Error> {
    if has_reason {
        return Err(
            Error::refused("--reason goes with --not-before and --not-after")
                .hint("name the dates that the batch is to get"),
        );
    }
    let reader = Reader::open(session.location()?)?;
    let standing = reader.snapshot(batch)?.standing()?;
    let zone = session.zone(standing.purpose == Purpose::Rehearsal);
    tell_dates(session, batch, standing.dates, &zone);
    Ok(ExitStatus::Done)
}

fn tell_dates(session: &Session, batch: &BatchName, dates: BatchDates, zone: &WireZone) {
    let text = dates_text(dates, zone).unwrap_or_else(|| "posted at any time".to_owned());
    tell(
        session,
        dates_json(dates),
        &format!("batch {batch}: {text}"),
    );
}

/// Reads the dates that a load comes with. A batch that is there already (`is_there`) has dates of its own, which say what is over.
pub(in crate::cli) fn dates(
    asked: &DatesArguments,
    settings: &Settings,
    is_there: bool,
) -> Result<BatchDates, Error> {
    let zone = settings.profile.time_zone.as_ref();
    let dates = changed(BatchDates::default(), asked, zone)?;
    match dates.gate(Timestamp::now()) {
        Gate::Over if !is_there => Err(Error::refused(format!(
            "--not-after {}: that is past, so nothing of the batch could be posted; nothing was loaded",
            asked.not_after.as_deref().unwrap_or_default()
        ))
        .hint("name a later day, or leave it out")),
        Gate::Open(_) | Gate::Shut(_) | Gate::Over => Ok(dates),
    }
}

/// Says which dates are in force where a file comes with those that its batch was loaded with, and has no more.
pub(in crate::cli) async fn tell_in_force(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    came_with: BatchDates,
) -> Result<(), Error> {
    let standing = journal.standing(batch.clone()).await?;
    if came_with == BatchDates::default() || came_with == standing.dates {
        return Ok(());
    }
    let zone = session.zone(standing.purpose == Purpose::Rehearsal);
    let text = dates_text(standing.dates, &zone).unwrap_or_else(|| "posted at any time".to_owned());
    session.note(&format!(
        "note: batch {batch} got other dates since it was loaded with these (disburse schedule), and they stand: {text}"
    ));
    Ok(())
}

/// Notes what of a file waits for the dates of its batch or for its service to open, and what will not leave in time.
pub(in crate::cli) fn tell_time(
    session: &Session,
    settings: &Settings,
    (summary, dates): (&LoadSummary, BatchDates),
    (batch, purpose): (&BatchName, Purpose),
) -> Result<(), Error> {
    let calendar = calendar::calendar(settings)?;
    let zone = settings.profile.time_zone.clone();
    let zone = zone.unwrap_or_else(WireZone::utc);
    if let Some(text) = dates_text(dates, &zone) {
        session.note(&format!("the batch is {text}"));
    }
    let unposted = Unposted::of_file((summary, dates), &calendar, &zone, Timestamp::now());
    let texts = unposted.texts(Commands { batch, purpose }).into_iter();
    for text in texts.chain(unposted.short_of_time(settings, Duration::ZERO)) {
        session.note(&format!("note: {text}"));
    }
    Ok(())
}

fn changed(
    before: BatchDates,
    asked: &DatesArguments,
    zone: Option<&WireZone>,
) -> Result<BatchDates, Error> {
    let read = |flag: &str, text: &Option<String>, stands, end_of_day| match text.as_deref() {
        None => Ok(stands),
        Some(NONE) => Ok(None),
        Some(text) => match time(text, zone, end_of_day) {
            Some(at) => Ok(Some(at)),
            None => Err(
                Error::refused(format!("{flag} {text}: {}", expected_time(zone)))
                    .hint(format!("write {flag} none to remove the date")),
            ),
        },
    };
    let dates = BatchDates {
        not_before: read("--not-before", &asked.not_before, before.not_before, false)?,
        not_after: read("--not-after", &asked.not_after, before.not_after, true)?,
    };
    if dates.are_possible() {
        return Ok(dates);
    }
    let zone = zone.cloned().unwrap_or_else(WireZone::utc);
    let text = dates_text(dates, &zone).unwrap_or_default();
    Err(Error::refused(format!(
        "{text}: the last date is not after the first; nothing was loaded or changed"
    ))
    .hint("name both dates, or `none` for the one to remove"))
}

/// Reads a moment; a day is its beginning, or its end.
fn time(text: &str, zone: Option<&WireZone>, end_of_day: bool) -> Option<Timestamp> {
    let is_day = text.len() == "2026-12-01".len();
    if !is_day || !end_of_day {
        return Timestamp::parse(&time_with_offset(text, zone)?);
    }
    // Read as it is written before the day behind it is taken.
    time_with_offset(text, zone)?;
    let next = text.parse::<Date>().ok()?.tomorrow().ok()?;
    Timestamp::parse(&time_with_offset(&next.to_string(), zone)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(not_before: Option<&str>, not_after: Option<&str>) -> DatesArguments {
        DatesArguments {
            not_before: not_before.map(str::to_owned),
            not_after: not_after.map(str::to_owned),
        }
    }

    #[test]
    fn a_day_begins_at_its_midnight_and_ends_at_the_next() {
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        let at = |text| Timestamp::parse(text);
        for (not_before, not_after, expected) in [
            (None, None, (None, None)),
            (
                Some("2026-12-01"),
                Some("2026-12-01"),
                (
                    at("2026-12-01T00:00:00+03:00"),
                    at("2026-12-02T00:00:00+03:00"),
                ),
            ),
            (
                Some("2026-12-01T08:00:00Z"),
                Some("2026-12-31"),
                (at("2026-12-01T08:00:00Z"), at("2027-01-01T00:00:00+03:00")),
            ),
        ] {
            let found = changed(
                BatchDates::default(),
                &asked(not_before, not_after),
                Some(&nairobi),
            );
            let found = found.unwrap();
            assert_eq!(
                (found.not_before, found.not_after),
                expected,
                "{not_before:?}"
            );
        }
    }

    #[test]
    fn a_date_stands_until_another_or_none_is_named() {
        let utc = WireZone::utc();
        let both = BatchDates {
            not_before: Timestamp::parse("2026-12-01T00:00:00Z"),
            not_after: Timestamp::parse("2026-12-03T00:00:00Z"),
        };
        let found = changed(both, &asked(None, Some("none")), Some(&utc)).unwrap();
        assert_eq!((found.not_before, found.not_after), (both.not_before, None));
        let found = changed(both, &asked(Some("none"), None), Some(&utc)).unwrap();
        assert_eq!((found.not_before, found.not_after), (None, both.not_after));
    }

    #[test]
    fn dates_that_are_none_or_contradict_each_other_change_nothing() {
        let utc = WireZone::utc();
        for (not_before, not_after) in [
            (Some("tomorrow"), None),
            (None, Some("01/12/2026")),
            (Some("2026-12-02"), Some("2026-12-01")),
            (Some("2026-02-30"), None),
            (None, Some("2026-02-30")),
            (Some(""), None),
        ] {
            let found = changed(
                BatchDates::default(),
                &asked(not_before, not_after),
                Some(&utc),
            );
            assert!(found.is_err(), "{not_before:?} {not_after:?} {found:?}");
        }
        assert!(
            changed(
                BatchDates::default(),
                &asked(Some("2026-12-01"), None),
                None
            )
            .is_err()
        );
    }
}
