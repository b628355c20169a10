//! Rows that repeat rows of other loads: what is configured, and how a person is told.

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::config::Settings;
use crate::cli::files::input::Input;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal::{ALIKE_MAX, Alike, AlikeKind, RepeatPlan, RepeatedLoad, Repeats};
use crate::ledger::Became;
use crate::ledger::payer::{Back, CameBack};
use crate::ledger::repeats::{Terms, TermsByService};

/// Returns what is a repeat by the configuration.
pub(in crate::cli) fn terms(settings: &Settings) -> TermsByService {
    let default = settings.profile.repeats;
    let services = settings.services.iter().map(|(code, service)| {
        let terms = Terms {
            window: service.repeats_window.unwrap_or(default.window),
            references_restart: service
                .references_restart
                .unwrap_or(default.references_restart),
        };
        (code.clone(), terms)
    });
    TermsByService {
        default,
        services: services.collect(),
        references_name_a_period: false,
    }
}

/// Returns how a load looks for repeats; `names_a_period`: each reference of the file names the period that it pays. A rehearsal moves no
/// money, so that nothing of it is paid twice.
pub(in crate::cli) fn plan(
    settings: &Settings,
    sandbox: bool,
    allowed: Option<String>,
    names_a_period: bool,
) -> Option<RepeatPlan> {
    (!sandbox).then(|| RepeatPlan {
        terms: TermsByService {
            references_name_a_period: names_a_period,
            ..terms(settings)
        },
        allowed: allowed.map(|digest| digest.trim().to_ascii_lowercase()),
        reading: Some(gateway::reading(settings)),
        record: None,
    })
}

/// The same of a retry. A journal can be worked on where no configuration is; then a repeat is what it is by default.
pub(in crate::cli) fn of_retry(session: &Session) -> RepeatPlan {
    let terms = session
        .settings(false, Vec::new())
        .map(|settings| terms(&settings));
    RepeatPlan {
        terms: terms.unwrap_or_default(),
        ..RepeatPlan::default()
    }
}

/// Refuses a file whose rows repeat others; `bad` is how many rows have errors of their own.
pub(in crate::cli) fn refused(input: &Input, repeats: &Repeats, bad: u64, back: Back) -> Error {
    let file = &input.name;
    let others = match bad {
        0 => String::new(),
        bad => format!(
            ", and {} errors of {} own",
            if bad == 1 {
                "1 more has".to_owned()
            } else {
                format!("{} more have", output::grouped(&bad.to_string()))
            },
            if bad == 1 { "its" } else { "their" }
        ),
    };
    let rows = repeats.rows;
    let other_list = match repeats.allowed_other {
        true => "; --allow-repeats names another list than this one",
        false => "",
    };
    let mut message = format!(
        "{file}: {} what was loaded before, and may be paid already{others}{other_list}; nothing was loaded",
        match rows {
            1 => "1 row repeats".to_owned(),
            rows => format!("{} rows repeat", output::grouped(&rows.to_string())),
        }
    );
    for load in &repeats.loads {
        message.push_str(&format!(
            "\n  {} of {}",
            output::grouped(&load.rows.to_string()),
            load_text(load)
        ));
    }
    if repeats.more_loads > 0 {
        message.push_str(&format!(
            "\n  … and of {} more",
            output::counted(repeats.more_loads, "load")
        ));
    }
    if repeats.loads.iter().map(|load| load.rows).sum::<u64>() > repeats.rows {
        message
            .push_str("\n  a row that repeats rows of several loads is counted with each of them");
    }
    message.push_str(&changed_text(repeats));
    let error = Error::refused(message);
    let (error, is_whole) = match (back, &repeats.whole, repeats.loads.first()) {
        (Back::No, Some(became), Some(load)) if bad == 0 => {
            let error = error.hint(again_text(load, became));
            (
                withdrawal(load, became)
                    .into_iter()
                    .fold(error, Error::hint),
                true,
            )
        }
        _ => (error, false),
    };
    let todo = what_to_do(back, is_whole, repeats).into_iter();
    let error = todo.fold(error, Error::hint);
    of_references(input.period())
        .into_iter()
        .fold(error, Error::hint)
}

/// Says how references tell payments apart; `period`: the one that each of the file names.
fn of_references(period: Option<&str>) -> Vec<String> {
    if let Some(period) = period {
        return vec![format!(
            "each reference of the file names the period {period}, so that the same one is the same debt however long ago it was paid. If the file \
             pays another month, take that month's file, and name that month with --period, and a batch of its own. What failed is paid with disburse retry"
        )];
    }
    vec![
        "use references that name the payment, such as EMP-00001-2026-12, and not only the person: otherwise next month's payment looks like \
         this one. Do not change references in this file: paid rows would be paid again"
            .to_owned(),
        "if you pay the same people the same amounts more often than repeats.window expects (20 days by default), \
         set a shorter one, for all services or for one; if your references start again from 1, set \
         repeats.references_restart"
            .to_owned(),
    ]
}

/// Names the rows that are not as they were loaded before: a correction, or a mistake.
fn changed_text(repeats: &Repeats) -> String {
    if repeats.changed == 0 {
        return String::new();
    }
    let mut text = match repeats.changed {
        1 => "\n1 of them differs from how it was loaded before:".to_owned(),
        rows => format!(
            "\n{} of them differ from how they were loaded before:",
            output::grouped(&rows.to_string())
        ),
    };
    for row in &repeats.changed_rows {
        let amounts = match &row.amounts {
            Some((now, before)) => format!(
                ": {} {} now, {} before",
                row.currency,
                amount_text(now),
                amount_text(before)
            ),
            None => String::new(),
        };
        let recipient = match (row.other_recipient, row.amounts.is_some()) {
            (false, _) => "",
            (true, true) => ", and another recipient",
            (true, false) => ": another recipient",
        };
        text.push_str(&format!(
            "\n  line {}, {}{amounts}{recipient}",
            row.line,
            output::name(&row.reference)
        ));
    }
    match repeats.changed - repeats.changed_rows.len() as u64 {
        0 => {}
        more => text.push_str(&format!("\n  … and {more} more")),
    }
    text
}

fn amount_text(digits: &str) -> String {
    match digits {
        "" => "what the bill says".to_owned(),
        digits => output::grouped(digits),
    }
}

/// Says that a file is one that was loaded before, and what became of it.
fn again_text(load: &RepeatedLoad, became: &Became) -> String {
    let batch = output::name(&load.batch);
    let states = [
        (became.paid, "paid"),
        (became.left, "under way, or not known to be paid"),
        (became.waiting, "not sent yet"),
        (became.failed, "failed"),
        (became.cancelled, "cancelled"),
    ];
    let states: Vec<String> = states
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{} {state}", output::counted(*count, "payment")))
        .collect();
    let next = match became.left + became.waiting {
        0 => format!("do not load it again; `disburse status {batch}` shows it"),
        _ => format!("do not load it again; `disburse run {batch}` continues it"),
    };
    format!(
        "every row of the file is already in {}: {}. It is the same file again: {next}",
        load_text(load),
        states.join(", ")
    )
}

/// Says how a file goes to another account that was loaded for the wrong one: the batch that has it is withdrawn first.
fn withdrawal(load: &RepeatedLoad, became: &Became) -> Option<String> {
    let batch = output::name(&load.batch);
    let rest = match became.left + became.paid {
        0 => "",
        _ => " and --on-error skip, which leaves out what was sent",
    };
    (became.waiting > 0).then(|| {
        format!(
            "if {batch} was loaded with the wrong profile, or for the wrong account: first `disburse cancel {batch}`, which withdraws what was not sent, then load this file under another batch name{rest}"
        )
    })
}

/// What is done about rows that repeat others, a hint for each case; `is_whole`: nothing is left of the file without them.
fn what_to_do(back: Back, is_whole: bool, repeats: &Repeats) -> Vec<String> {
    let digest = &repeats.digest;
    let own = "if each of these rows is a separate debt, the person responsible adds";
    let allow = format!("--allow-repeats {digest}");
    let exactly = "which allows exactly this list";
    let skip = match repeats.rest {
        0 => String::new(),
        _ => format!(". {}", skip_text(repeats)),
    };
    let before = "the journal that this one replaces has posted this batch";
    let asked = "the gateway is asked about these rows before any is posted";
    let as_then = format!(
        "Do not add {allow} in that case: the gateway does not know rows that were left out then under this batch \
         name, and would pay them again even if another batch has paid them"
    );
    match (back, repeats.came_back) {
        (Back::No, _) if is_whole => vec![format!("{own} {allow}, {exactly}")],
        (Back::No, _) => vec![format!("{own} {allow}, {exactly}{skip}")],
        (Back::Certainly, CameBack::Whole) => vec![format!(
            "{before}, with these rows: load the whole file, because the gateway is asked only about rows that are \
             loaded. Add {allow}, {exactly}; {asked}"
        )],
        (Back::Certainly, CameBack::WithoutRepeats) => vec![
            format!("{before}, without these rows: add --on-error skip, which leaves them out again"),
            "if one of them is a separate debt, load it under another batch name when the recovery is done".to_owned(),
        ],
        (Back::Certainly, CameBack::Otherwise(posted)) => vec![
            format!(
                "{before}, with {}: load the same rows as then",
                output::counted(posted, "payment")
            ),
            format!("if these rows were among them: add {allow}, {exactly}; {asked}"),
            format!("if they were not: add --on-error skip, which leaves them out again. {as_then}"),
        ],
        (Back::Certainly, CameBack::Unknown) => vec![
            format!("{before}: load the same rows as then"),
            format!("if these rows were among them: add {allow}, {exactly}; {asked}"),
            format!("if they were not: add --on-error skip, which leaves them out again. {as_then}"),
        ],
        (Back::MayBe, _) => vec![
            "the journal that this one replaces may have posted this batch; if it did, load the same rows as then".to_owned(),
            format!("if it did, with these rows: add {allow}, {exactly}; {asked}"),
            match repeats.rest {
                0 => format!("if it did, without these rows: this file has nothing to load. {as_then}"),
                _ => format!("if it did, without these rows: add --on-error skip. {as_then}"),
            },
            format!("if it did not, and each of these rows is a separate debt: the person responsible adds {allow}{skip}"),
        ],
    }
}

/// Says whom a load pays that leaves the repeats out: whoever was withdrawn from the other batch, or has another amount now, is there.
fn skip_text(repeats: &Repeats) -> String {
    let mut lines: Vec<String> = repeats.rest_lines.iter().map(u64::to_string).collect();
    if (lines.len() as u64) < repeats.rest {
        lines.push("…".to_owned());
    }
    let (rest, word) = match repeats.rest {
        1 => ("1 row".to_owned(), "line"),
        rest => (
            format!("{} rows", output::grouped(&rest.to_string())),
            "lines",
        ),
    };
    format!(
        "--on-error skip leaves the repeats out, and loads the rest, which a run then pays: {rest}, {word} {}. Check \
        {} first: a row that was cancelled in the other batch, or paid with another amount, is not a new debt",
        lines.join(", "),
        if repeats.rest == 1 { "it" } else { "them" }
    )
}

fn load_text(load: &RepeatedLoad) -> String {
    format!(
        "batch {} ({}, loaded {} UTC)",
        output::name(&load.batch),
        output::name(&load.source),
        minute(load)
    )
}

fn minute(load: &RepeatedLoad) -> String {
    load.loaded_at
        .to_string()
        .chars()
        .take("2026-11-22T12:00".len())
        .collect::<String>()
        .replace('T', " ")
}

/// Says that rows were set aside because they repeat others.
pub(in crate::cli) fn skipped_text(repeats: &Repeats) -> String {
    let loads: Vec<String> = repeats.loads.iter().map(load_text).collect();
    let more = if repeats.more_loads > 0 { ", …" } else { "" };
    format!(
        "{} left out: {} of {}{more}",
        output::counted(repeats.rows, "row"),
        if repeats.rows == 1 {
            "it repeats a row"
        } else {
            "they repeat rows"
        },
        loads.join(", ")
    )
}

/// Says what to do about rows that were set aside because they repeat others.
pub(in crate::cli) fn set_aside_hint(corrections: &str, rows: u64) -> String {
    let (rows, are, they, repeat) = match rows {
        1 => ("the row", "is", "it", "repeats"),
        _ => ("the rows", "are", "they", "repeat"),
    };
    format!(
        "{rows} of {corrections} that {repeat} others {are} not to be paid, unless {they} {are} a debt of {its} own: then the person responsible \
         adds {them} with --amend --allow-repeats. Unchanged, and without that, {they} {are} refused again, however long ago the other \
         load was",
        its = if rows == "the row" { "its" } else { "their" },
        them = if rows == "the row" { "it" } else { "them" },
    )
}

/// Warns of rows that a person should see before money moves.
pub(in crate::cli) fn warn_alike(all: &[Alike]) {
    for alike in all {
        output::complain("warning", &alike_text(alike));
    }
}

/// Returns what a later load repeats of a batch, for programs.
pub(in crate::cli) fn since_json(since: &Alike) -> Value {
    json!({
        "batch": since.other.batch,
        "file": since.other.source,
        "loaded_at": since.other.loaded_at.to_string(),
        "count": since.other.rows,
        "paid": since.paid,
        "allowed": since.kind == AlikeKind::AllowedSince,
    })
}

/// Says what a person should see before money moves.
pub(in crate::cli) fn alike_text(alike: &Alike) -> String {
    let count = alike.other.rows;
    let rows = match alike.kind {
        AlikeKind::OtherLoad | AlikeKind::OtherService if count >= ALIKE_MAX => {
            format!("{} or more", output::counted(count, "row"))
        }
        _ => output::counted(count, "row"),
    };
    let (pays, has, repeats, was) = match count {
        1 => ("pays", "has", "repeats a row", "was"),
        _ => ("pay", "have", "repeat rows", "were"),
    };
    let file = output::name(&alike.file);
    let other = load_text(&alike.other);
    let lines = lines_text(alike);
    let paid = match (alike.paid, count) {
        (0, _) => String::new(),
        (1, 1) => ", which is paid already".to_owned(),
        (paid, rows) if paid >= rows => ", which are paid already".to_owned(),
        (1, _) => ", of which 1 is paid already".to_owned(),
        (paid, _) => format!(
            ", of which {} are paid already",
            output::grouped(&paid.to_string())
        ),
    };
    match alike.kind {
        AlikeKind::OtherLoad => format!(
            "{rows} of {file} {pays} the same recipient, amount and service as {other}{paid}, under another reference: {lines}"
        ),
        AlikeKind::OtherService => format!(
            "{rows} of {file} {pays} the same recipient and amount as {other}{paid}, through another service: {lines}"
        ),
        AlikeKind::Withdrawn => format!(
            "{rows} of {file} {repeats} that {was} cancelled in {other}, and may not be due here either: {lines}"
        ),
        AlikeKind::OtherAmount => format!(
            "{rows} of {file} {pays} the same recipient by the same service as {other}, but another amount. They may be the same \
             debts, with amounts that somebody or a spreadsheet has changed since: {lines}"
        ),
        AlikeKind::SameFile => format!(
            "{rows} of {file} {pays} the same person (number and name) the same amount as another row of it, under another reference: {lines}"
        ),
        AlikeKind::SameBill => format!(
            "{rows} of {file} {pays} the same account as another row of it, and one of the two takes what the bill says: {lines}"
        ),
        AlikeKind::SameNumber => format!(
            "{rows} of {file} {pays} a number or an account that other rows of it pay under other names, three names or more for one number: {lines}"
        ),
        AlikeKind::SameReference => format!(
            "{rows} of {file} {has} a reference that reads like that of another row of it: {lines}"
        ),
        AlikeKind::Allowed => {
            format!("{rows} of {file} {repeats} of {other}{paid}, as was allowed: {lines}")
        }
        AlikeKind::AllowedSince => since_text(alike, &rows, "since repeated", ", as was allowed"),
        AlikeKind::LoadedSince => since_text(alike, &rows, "like", ", under other references"),
    }
}

/// Names the lines of rows, and of those that they are like.
fn lines_text(alike: &Alike) -> String {
    let count = alike.other.rows;
    let mut lines: Vec<String> = alike
        .lines
        .iter()
        .enumerate()
        .map(|(at, line)| match alike.others.get(at) {
            Some(other) => format!("{line} (like {other})"),
            None => line.to_string(),
        })
        .collect();
    if alike.lines.len() as u64 != count {
        lines.push("…".to_owned());
    }
    format!(
        "line{} {}",
        if count == 1 { "" } else { "s" },
        lines.join(", ")
    )
}

/// Says what a later load pays of what a batch pays, too.
fn since_text(alike: &Alike, rows: &str, verb: &str, how: &str) -> String {
    let is = if alike.other.rows == 1 { "is" } else { "are" };
    let paid = match alike.paid {
        0 => "nothing of that batch is paid yet".to_owned(),
        1 => "1 payment of that batch is paid".to_owned(),
        paid => format!(
            "{} payments of that batch are paid",
            output::grouped(&paid.to_string())
        ),
    };
    format!(
        "{rows} of {} {is} {verb} by {}{how}; {paid}. If both are one debt, cancel what shall not be paid of one of the two before you run it: `disburse cancel BATCH`",
        output::name(&alike.file),
        load_text(&alike.other),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(came_back: CameBack, rest: &[u64]) -> Repeats {
        Repeats {
            rows: 8,
            loads: Vec::new(),
            more_loads: 0,
            digest: "ab12".to_owned(),
            allowed_other: false,
            whole: None,
            came_back,
            rest: rest.len() as u64,
            rest_lines: rest.to_vec(),
            changed: 0,
            changed_rows: Vec::new(),
        }
    }

    #[test]
    fn rows_that_repeat_nothing_are_named_and_where_there_are_none_nothing_is_said_of_them() {
        let came_back = [
            CameBack::Unknown,
            CameBack::Whole,
            CameBack::WithoutRepeats,
            CameBack::Otherwise(3),
        ];
        for back in [Back::No, Back::MayBe, Back::Certainly] {
            for came_back in came_back {
                let said = |rest: &[u64], is_whole| {
                    what_to_do(back, is_whole, &repeats(came_back, rest)).join("\n")
                };
                let case = format!("{back:?} {came_back:?}");
                for is_whole in [false, true] {
                    let none = said(&[], is_whole);
                    assert!(
                        !none.contains("0 rows") && !none.contains("the rest"),
                        "{case}: {none}"
                    );
                }
                let some = said(&[3, 9], false);
                // A batch that is known to come back is loaded as it was: nobody is paid the rest as something new.
                let is_told =
                    some.contains("which a run then pays: 2 rows, lines 3, 9. Check them first");
                assert_eq!(is_told, back != Back::Certainly, "{case}: {some}");
                let allows = some.contains("--allow-repeats ab12");
                assert_eq!(
                    allows,
                    back != Back::Certainly || came_back != CameBack::WithoutRepeats,
                    "{case}: {some}"
                );
            }
        }
    }
}
