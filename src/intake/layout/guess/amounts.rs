//! How the amounts of a sample are written, and which rows have none.

use super::super::decimal::{Decimal, Numbers};
use super::columns::{ColumnGuess, Columns};
use super::end::remark;
use super::forms::{FORMS, Form};

/// Columns that say whom a row pays: a row with something in one of them is somebody's.
const WHOSE: [&str; 6] = [
    "reference",
    "customer_names",
    "msisdn",
    "account_number",
    "bank_account_name",
    "bank_account_number",
];
/// Lines that one sentence names.
const LINES_SHOWN: usize = 6;

/// What was found of the amounts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    /// How they are written.
    pub(super) numbers: Numbers,
    /// Some rows have none, and all of them are nobody's.
    pub(super) may_skip: bool,
    /// Rows without one that are remarks: their lines, and what says so in which column.
    pub(super) remarks: Vec<(u64, usize, String)>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
    /// Why rows without an amount stay errors, for whoever keeps the layout.
    pub(super) comment: Vec<String>,
}

/// Looks at the column of the amounts.
pub(super) fn of(columns: &Columns<'_>, guessed: &[ColumnGuess], at: usize) -> Amounts {
    let mut found = Amounts::default();
    let all = |form: &&Form| {
        columns
            .cells(at)
            .all(|cell| Decimal::read(cell, form.numbers()).is_some())
    };
    match FORMS.iter().find(all) {
        Some(form) => found.numbers = form.numbers(),
        None => found
            .notes
            .push("not all amounts are written in the same way: see what `disburse check` says about them".to_owned()),
    }
    if let Some(group) = found.numbers.group {
        found.notes.push(format!(
            "{group:?} seems to separate groups of digits in amounts, and not decimals: look at \
            some of them"
        ));
    }
    let numbers = found.numbers;
    let is_none = |cell: &String| {
        let read = Decimal::read(cell, numbers);
        cell.is_empty() || read.is_some_and(Decimal::is_zero)
    };
    let is_whose = |at: &usize| {
        let meaning = guessed.get(*at).and_then(|guess| guess.meaning.as_deref());
        meaning.is_some_and(|meaning| WHOSE.contains(&meaning))
    };
    let (mut nobodys, mut somebodys) = (Vec::new(), Vec::new());
    for (line, row) in columns.body {
        if !row.get(at).is_none_or(is_none) {
            continue;
        }
        if let Some((column, value)) = remark(row) {
            found.remarks.push((*line, column, value));
            continue;
        }
        let names_somebody = (0..row.len())
            .filter(is_whose)
            .any(|at| !row[at].is_empty());
        match names_somebody {
            true => somebodys.push(*line),
            false => nobodys.push(*line),
        }
    }
    found.tell_empty(&nobodys, &somebodys);
    found
}

impl Amounts {
    /// Says what becomes of rows without an amount.
    fn tell_empty(&mut self, nobodys: &[u64], somebodys: &[u64]) {
        if !somebodys.is_empty() {
            let (lines, has) = lines(somebodys);
            let text = format!(
                "{lines} {has} no amount, or one of zero, and a reference, a name or a recipient"
            );
            self.notes.push(format!(
                "{text}: such rows stay errors, because somebody's amount may be missing"
            ));
            self.comment = vec![
                format!("{text}."),
                "Such rows stay errors. empty_amount = \"skip\" would leave out everybody whose amount is empty, next month, too.".to_owned(),
            ];
        } else if !nobodys.is_empty() {
            let (lines, has) = lines(nobodys);
            self.may_skip = true;
            self.notes.push(format!(
                "{lines} {has} no amount, or one of zero, and nobody to pay: the layout skips rows without an amount, and says so at each load"
            ));
        }
    }
}

fn lines(lines: &[u64]) -> (String, &'static str) {
    let shown: Vec<String> = lines.iter().take(LINES_SHOWN).map(u64::to_string).collect();
    let more = match lines.len().saturating_sub(LINES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match lines.len() {
        1 => (format!("line {}", shown.join(", ")), "has"),
        _ => (format!("lines {}{more}", shown.join(", ")), "have"),
    }
}
