//! `check`: everything a load would say, without a journal.

use super::arguments::CheckArguments;
use super::input::{Input, declared_total};
use super::load::{into_journal, print_summary, to_json};
use super::session::{Session, batch_name};
use super::{Error, Verdict, networks, output};
use crate::domain::{Originator, Timestamp};
use crate::journal::{Journal, LoadPlan};

/// `disburse check`.
pub(super) async fn check(session: &Session, arguments: CheckArguments) -> Result<Verdict, Error> {
    let overrides = vec![("service_code", arguments.file.service.clone())];
    let settings = session.settings(arguments.sandbox, overrides)?;
    let input = Input::open(&arguments.file, &settings)?;
    let expect_total = match &arguments.file.expect_total {
        Some(text) => Some(declared_total(text, &settings)?),
        None => None,
    };
    // The very code that loads, on a journal that is thrown away: what passes here loads there.
    let scratch = tempfile::tempdir()
        .map_err(|error| Error::unexpected(format!("no room for a scratch journal: {error}")))?;
    let journal = Journal::open(&scratch.path().join("check.db"))?;
    let plan = LoadPlan {
        batch: batch_name("check")?,
        originator: Originator::parse("check").map_err(Error::unexpected)?,
        source: String::new(),
        now: Timestamp::now(),
        amend: false,
        allow_equal_rows: arguments.file.allow_equal_rows,
        allow_same_content: true,
        skip_bad_rows: false,
        presume_posted: false,
        expect_count: arguments.file.expect_count,
        expect_total,
        dry_run: true,
    };
    let (summary, _) = into_journal(session, &journal, &input, plan)
        .await
        .map_err(|error| error.of_check())?;
    if arguments.lookup {
        networks::check(session, &input, arguments.sandbox)
            .await
            .map_err(|error| error.of_check())?;
    }
    if session.common.json {
        output::json(&to_json(&summary, None));
    } else {
        print_summary(&summary);
        output::line(&format!(
            "{}: {}, no errors",
            input.name,
            output::counted(summary.total().count, "row")
        ));
    }
    Ok(Verdict::Done)
}
