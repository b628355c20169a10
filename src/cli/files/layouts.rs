//! Layouts by their names: those of the configuration, and those that come along.

use crate::cli::Error;
use crate::cli::config::{BUILT_IN_LAYOUTS, Settings, built_in_layout, one_of};
use crate::intake::layout::{Factor, Layout, Period};
use crate::statement::Terms;

/// Services that one sentence names.
const SERVICES_SHOWN: usize = 12;

/// Returns the names of all layouts, those of the configuration first.
pub(in crate::cli) fn names(settings: &Settings) -> Vec<String> {
    let own = settings.layouts.keys().cloned();
    let known = BUILT_IN_LAYOUTS.iter().map(|(name, _)| (*name).to_owned());
    own.chain(known).collect()
}

/// Returns a layout by its name.
pub(in crate::cli) fn named(name: &str, settings: &Settings) -> Result<Layout, Error> {
    if let Some(own) = settings.layouts.get(name) {
        return Ok(own.clone());
    }
    if let Some(known) = built_in_layout(name) {
        return Ok(known?);
    }
    let names = names(settings);
    let near = names
        .iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|(distance, known)| *distance <= 1.max(known.len().min(name.len()) / 3))
        .min();
    if settings.statements.contains_key(name) {
        return Err(Error::refused(format!(
            "--layout {name}: reads statements, and no batch file"
        ))
        .hint("disburse reconcile BATCH STATEMENT takes it; disburse layout list shows those of batch files"));
    }
    Err(Error::refused(format!("--layout {name}: there is no such layout")).hint(match near {
        Some((_, near)) => format!("did you mean {near}? disburse layout list shows all of them"),
        None => "disburse layout list shows all of them; disburse layout guess FILE proposes one for a file".to_owned(),
    }))
}

/// Returns how a statement is read, by its name.
pub(in crate::cli) fn of_statement(name: &str, settings: &Settings) -> Result<Terms, Error> {
    if let Some(own) = settings.statements.get(name) {
        return Ok(own.clone());
    }
    let refused = |what: &str| Error::refused(format!("--layout {name}: {what}"));
    if names(settings).iter().any(|known| known == name) {
        return Err(
            refused("is a layout of batch files, and reads no statement")
                .hint("what reads a statement stands in [statements.NAME] of disburse.toml"),
        );
    }
    let known: Vec<&str> = settings.statements.keys().map(String::as_str).collect();
    let hint = match known.is_empty() {
        true => "disburse.toml has no [statements.NAME] yet; without a layout, --column, --date-format and the other options say how it is read"
            .to_owned(),
        false => one_of(name, &known),
    };
    Err(refused("there is no such layout of statements").hint(hint))
}

/// Returns a layout that files are to be read by.
pub(in crate::cli) fn find(name: &str, settings: &Settings) -> Result<Layout, Error> {
    let layout = named(name, settings)?;
    if layout.factor == Factor::Open {
        return Err(Error::refused(format!(
            "--layout {name}: it does not say what its amounts are multiplied by, and the file does not say it either"
        ))
        .hint(format!(
            "keep a layout of your own in disburse.toml, [layouts.NAME] with like = \"{name}\" and amount_factor = \"1500\", or whatever one unit is \
             worth, and add --layout NAME"
        )));
    }
    if let Some((column, text)) = layout.open_value() {
        return Err(Error::refused(format!(
            "--layout {name}: which {column} stands for {text:?} is not said yet: its line in [layouts.{name}.values.{column}] is empty"
        ))
        .hint(format!(
            "write the service there that pays such rows{}; nothing was read",
            services_text(settings)
        )));
    }
    Ok(layout)
}

/// Names the services that are configured, as far as they fit into a sentence.
fn services_text(settings: &Settings) -> String {
    let names: Vec<&str> = settings
        .services
        .keys()
        .map(|service| service.as_str())
        .collect();
    match names.len() {
        0 => String::new(),
        1..=SERVICES_SHOWN => format!(", one of {}", names.join(", ")),
        _ => format!(", one of {} and others", names[..SERVICES_SHOWN].join(", ")),
    }
}

/// What a period looks like.
const PERIOD: &str = "expected a year and a month, such as 2026-12, and behind it what tells several of a month apart, such as 2026-12-bonus";

/// Returns a layout with the period that its file pays behind each reference, where it asks for one.
pub(in crate::cli) fn of_period(mut layout: Layout, said: Option<&str>) -> Result<Layout, Error> {
    let name = &layout.name;
    match (&layout.period, said) {
        (Period::Open, Some(period)) if is_period(period) => {
            layout.period = Period::Given(period.to_owned());
            Ok(layout)
        }
        (Period::Open, Some(period)) => {
            Err(Error::refused(format!("--period {period}: {PERIOD}")))
        }
        (Period::Open, None) => Err(Error::refused(format!(
            "--layout {name}: its references name people, so the period that the file pays becomes a part of each \
            reference; no period was given"
        ))
        .hint("add --period with the month that the file pays, such as --period 2026-12, and the same one whenever it is loaded again; nothing was read")),
        (_, Some(period)) => Err(Error::refused(format!(
            "--period {period}: layout {name} puts no period behind its references"
        ))
        .hint("leave --period out; or say period = \"required\" in a layout under another name")),
        (_, None) => Ok(layout),
    }
}

/// Refuses a period where no layout puts it anywhere.
pub(in crate::cli) fn without_layout(period: &str) -> Error {
    Error::refused(format!(
        "--period {period}: the file is read by its own columns, and its references are taken as they are"
    ))
    .hint("leave --period out, or name a layout with --layout")
}

fn is_period(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let digits = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let year = parts.next().is_some_and(|part| digits(part, 4));
    let month = parts.next().is_some_and(|part| {
        digits(part, 2)
            && part
                .parse()
                .is_ok_and(|month: u8| (1..=12).contains(&month))
    });
    let rest = parts.next().is_none_or(|part| {
        (1..=12).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    year && month && rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_month_and_what_tells_several_apart() {
        for (text, expected) in [
            ("2026-12", true),
            ("2026-12-bonus", true),
            ("2026-12-15", true),
            ("2026-13", false),
            ("2026-00", false),
            ("26-12", false),
            ("2026", false),
            ("2026-12-", false),
            ("2026-12-a b", false),
            ("2026-12-a-b", false),
            ("12/2026", false),
            ("", false),
        ] {
            assert_eq!(is_period(text), expected, "{text}");
        }
    }
}
