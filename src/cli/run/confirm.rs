//! The question before money moves.

use std::time::Duration;

use reqwest::Url;

use super::super::Error;
use super::super::config::Settings;
use crate::cli::session::Session;
use crate::cli::terminal::ask::{Typed, ask, is_attended};
use crate::cli::terminal::output;
use crate::cli::words::{corrected, repeats, waiting};
use crate::domain::{BatchName, Money, Tally, Totals};
use crate::journal::{Journal, Replaced, Shown, Standing};
use crate::ledger::confirmation::{Answer, Confirmation, Difference, compare};
use crate::ledger::payer::Lost;
use crate::lifecycle::State;

/// Says what a run would post; `None` when there is nothing to ask about, or `--yes` has answered.
fn what(
    settings: &Settings,
    batch: &BatchName,
    shown: &Shown,
    yes: bool,
) -> Result<Option<String>, Error> {
    let gateway = settings.gateway()?;
    let open = shown.open();
    if yes || open.count == 0 {
        return Ok(None);
    }
    let first =
        asked_first(settings, shown).map_or_else(String::new, |first| format!(", after {first}"));
    // A row is a payment, and one person may have several: people are not counted.
    Ok(Some(format!(
        "{} in {} (batch {batch}, gateway {}, account {}){first}{}",
        output::amounts(&open.amounts),
        output::counted(open.count, "payment"),
        host(gateway.base_url),
        gateway.username,
        held(&shown.lost)
    )))
}

/// Says that what is confirmed may be held all the same.
fn held(lost: &Lost) -> String {
    match lost.holds() {
        false => String::new(),
        true => format!(
            "; this journal lacks all or part of {}, posted from its place: until it has them, payments that were \
             loaded since and that the gateway does not know are held, and not posted",
            lost.text()
        ),
    }
}

/// Returns the gateway as a person knows it: without the scheme, and without a path that says nothing.
fn host(base_url: &Url) -> String {
    let text = base_url.as_str();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    text.trim_end_matches('/').to_owned()
}

/// Says of how many payments the gateway is asked before any of them is posted, and how long that takes at least.
pub(super) fn asked_first(settings: &Settings, shown: &Shown) -> Option<String> {
    let count = unknown(shown);
    let rate = settings.profile.limits.query_rate;
    (count > 0).then(|| {
        format!(
            "asking about {} first ({} at {rate}, and again where the gateway does not know them)",
            output::counted(count, "payment"),
            lasts(first_asked(settings, shown).as_secs())
        )
    })
}

fn unknown(shown: &Shown) -> u64 {
    shown.standing.of(State::InDoubt).count + shown.standing.of(State::Posting).count
}

/// Returns how long it takes at least to ask about what is unknown, before anything else is posted.
pub(super) fn first_asked(settings: &Settings, shown: &Shown) -> Duration {
    let rate = settings.profile.limits.query_rate;
    Duration::from_secs(unknown(shown) / u64::from(rate.get()))
}

fn lasts(seconds: u64) -> String {
    match seconds {
        0..60 => "less than a minute".to_owned(),
        60..3600 => format!("about {} min", seconds.div_ceil(60)),
        _ => format!("about {} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// What was declared of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Declared {
    pub(in crate::cli) count: Option<u64>,
    pub(in crate::cli) total: Option<Money>,
}

impl Declared {
    /// Refuses a batch that is not what was declared, as a whole: rows that were set aside, and those that have ended, count.
    pub(super) async fn check(
        &self,
        journal: &Journal,
        batch: &BatchName,
        standing: &Standing,
    ) -> Result<(), Error> {
        let whole = standing.total();
        let difference = compare(&whole, standing.unpriced, self.count, self.total);
        let text = match difference {
            None => return Ok(()),
            Some(Difference::Count { expected, found }) => format!(
                "batch {batch}: {} declared, found {}; nothing was sent",
                output::counted(expected, "row"),
                output::grouped(&found.to_string())
            ),
            Some(Difference::Total(total)) => format!(
                "batch {batch}: a total of {} {total} was declared, found {}{}; nothing was sent",
                total.currency,
                output::amounts(&whole.amounts),
                made_up(&whole, &journal.replaced(batch.clone()).await?)
            ),
        };
        Err(Error::refused(text).hint(format!(
            "count and total are those of the whole batch: every row once, with paid, rejected and cancelled rows, and \
             the newest amount where a corrected row replaced a failed payment. Rows may have been added to the batch: \
             `disburse report {batch} --out DIR` lists every row, and who loaded it. Ask the person who declared the \
             total"
        )))
    }
}

/// Returns how a total is made up, where rows were paid anew with other amounts.
fn made_up(whole: &Tally, replaced: &[Replaced]) -> String {
    let parts = replaced.iter().map(|of_currency| {
        let currency = of_currency.currency;
        let (was, is) = (of_currency.was, of_currency.is);
        let mut loaded = Totals::default();
        loaded.add_minor(currency, whole.amounts.minor(currency) - is + was);
        let amount = |minor| {
            let mut one = Totals::default();
            one.add_minor(currency, minor);
            output::amounts(&one)
        };
        format!(
            "{} as its files had it, and {} instead of {} by {}",
            output::amounts(&loaded),
            amount(is),
            amount(was),
            output::counted(of_currency.count, "corrected row")
        )
    });
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join("; ")),
    }
}

/// Says what a person should see before anything of a batch is paid.
pub(super) async fn notes(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    shown: &Shown,
) -> Result<(), Error> {
    if shown.open().count == 0 {
        return Ok(());
    }
    waiting::tell_not_due(session, journal, batch, false).await?;
    for alike in journal.alike(batch.clone()).await? {
        session.note(&format!("note: {}", repeats::alike_text(&alike)));
    }
    let changed = journal.changed(batch.clone()).await?;
    for text in corrected::changed_texts(&changed) {
        session.note(&format!("note: {text}"));
    }
    let rejected = &shown.standing.rejected;
    if rejected.count > 0 {
        let amounts = match rejected.amounts.iter().next() {
            Some(_) => format!(
                " of {}, as far as amounts could be read",
                output::amounts(&rejected.amounts)
            ),
            None => String::new(),
        };
        session.note(&format!(
            "note: {}{amounts} {}; `disburse report {batch} --out reports/{batch}` lists what was rejected",
            output::counted(rejected.count, "rejected row"),
            if rejected.count == 1 { "is not in it" } else { "are not in it" },
        ));
    }
    Ok(())
}

fn nobody_to_ask(what: &str) -> Error {
    Error::refused(format!("this would pay {what}; nothing was sent"))
        .hint("add --yes to do it without a question")
}

/// Refuses a run that nobody can confirm, before anything is begun. While amounts are open, the totals are not known.
pub(super) fn refuse_unattended(
    settings: &Settings,
    batch: &BatchName,
    shown: &Shown,
    yes: bool,
) -> Result<(), Error> {
    match what(settings, batch, shown, yes)? {
        Some(what) if shown.standing.unpriced == 0 && !is_attended() => Err(nobody_to_ask(&what)),
        _ => Ok(()),
    }
}

/// Asks before money moves; without anyone to ask, `--yes` is the answer. What comes into the batch later is not confirmed.
pub(super) async fn confirm(
    settings: &Settings,
    batch: &BatchName,
    shown: &Shown,
    yes: bool,
) -> Result<Confirmation, Error> {
    let open = shown.open();
    let Some(what) = what(settings, batch, shown, yes)? else {
        return Ok(Confirmation::of(open, shown.bound, Answer::Flag));
    };
    if !is_attended() {
        return Err(nobody_to_ask(&what));
    }
    ask(&format!("Pay {what}?"), Typed::Yes, "nothing was sent").await?;
    Ok(Confirmation::of(open, shown.bound, Answer::Asked))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_gateway_is_called_by_its_host() {
        for (url, told) in [
            ("http://127.0.0.1:8480/", "127.0.0.1:8480"),
            ("https://gateway.example/", "gateway.example"),
            ("https://gateway.example/v2/", "gateway.example/v2"),
        ] {
            assert_eq!(super::host(&url.parse().unwrap()), told);
        }
    }

    #[test]
    fn a_time_is_told_as_a_person_reads_it() {
        for (seconds, expected) in [
            (0, "less than a minute"),
            (59, "less than a minute"),
            (60, "about 1 min"),
            (61, "about 2 min"),
            (10_000, "about 2 h 46 min"),
        ] {
            assert_eq!(super::lasts(seconds), expected);
        }
    }
}
