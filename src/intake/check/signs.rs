//! Signs that a file went wrong on its way: no row alone proves it, so they are told, and a person decides.

use crate::domain::Instruction;
use crate::intake::record::Record;
use crate::ledger::lost_digits::may_be_rounded;

/// How many rows there are, and the lines of the first.
#[derive(Default)]
struct Lines {
    count: u64,
    first: Vec<u64>,
}

impl Lines {
    const SHOWN_MAX: usize = 10;

    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < Self::SHOWN_MAX {
            self.first.push(line);
        }
    }

    /// Returns how many rows there are with their verb, as in `1 row pays`, and their lines; nothing where there are none.
    fn told(&self, one: &str, many: &str) -> Option<(String, String)> {
        let lines: Vec<String> = self.first.iter().map(u64::to_string).collect();
        let dots = match self.count > self.first.len() as u64 {
            true => ", ...",
            false => "",
        };
        match self.count {
            0 => None,
            1 => Some((format!("1 row {one}"), format!("line {}", lines[0]))),
            count => Some((
                format!("{count} rows {many}"),
                format!("lines {}{dots}", lines.join(", ")),
            )),
        }
    }
}

/// What was counted over the good rows of a file.
#[derive(Default)]
pub(super) struct Signs {
    rows: u64,
    /// Accounts that do not look like those of their service, and were taken all the same.
    odd_accounts: Lines,
    /// Numbers that end as those do which a spreadsheet has rounded.
    rounded: Lines,
    /// Their first cell begins with a sign that takes a line out in many programs, and none out here.
    taken_out: Lines,
}

impl Signs {
    /// Counts an account that does not look like one of its service.
    pub(super) fn odd_account(&mut self, line: u64) {
        self.odd_accounts.add(line);
    }

    /// Looks at a good row.
    pub(super) fn row<M>(&mut self, record: &Record, row: &Instruction<M>) {
        self.rows += 1;
        if [row.msisdn.as_str(), row.account_number.as_str()]
            .into_iter()
            .any(may_be_rounded)
        {
            self.rounded.add(record.line);
        }
        if record.cell(0).trim_start().starts_with('#') {
            self.taken_out.add(record.line);
        }
    }

    /// Returns what is worth a look; complete once the last row was read.
    pub(super) fn warnings(&self) -> Vec<String> {
        let odd = self.odd_accounts.told("pays", "pay").map(|(rows, lines)| {
            let (are, they, s) = match self.odd_accounts.count {
                1 => ("is", "it", "s"),
                _ => ("are", "they", ""),
            };
            format!(
                "{rows} to an account that does not look like one of its service ({lines}), and {are} taken as {they} \
                 stand{s}: rows that an earlier journal may have posted must keep their identifiers. Look at them now: a \
                 run posts them if the gateway does not know them"
            )
        });
        let rounded = self.rounded.told("pays", "pay").map(|(rows, lines)| {
            format!(
                "{rows} to a number that ends with six zeros or more ({lines}): a spreadsheet makes such numbers of others, and somebody else \
                 would be paid. Compare them with where they come from"
            )
        });
        // Where every reference begins so, it is how they are written.
        let is_few = self.taken_out.count * 2 < self.rows;
        let taken_out = self.taken_out.told("begins", "begin").filter(|_| is_few);
        let taken_out = taken_out.map(|(rows, lines)| {
            format!(
                "{rows} with # ({lines}), which takes no row out: they are paid as well. Remove the rows that are not to be paid"
            )
        });
        [odd, rounded, taken_out].into_iter().flatten().collect()
    }
}
