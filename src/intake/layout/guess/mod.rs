//! A layout that a file seems to have, for a person to look at: nothing is ever read by a guess.

mod amounts;
mod columns;
mod end;
mod forms;
mod given;
mod written;

use super::super::Error;
use super::super::sample::Sample;
use super::definition::{EmptyAmount, HeaderAt, Layout, Place, Source, Taken, Total};
pub use columns::ColumnGuess;
use columns::{Columns, header_of};
use forms::{has_month, names_people, part_of_name, without_currency};
pub use given::Given;
use written::Comment;

use crate::domain::Msisdn;

/// Different texts of a column that are proposed to be mapped, at most.
const VALUES_MAX: usize = 40;
/// Services that a comment names, at most.
const SERVICES_SHOWN: usize = 20;

/// A layout that a file seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Its columns, one for each of the file.
    pub columns: Vec<ColumnGuess>,
    /// What a person should know beside them.
    pub notes: Vec<String>,
    /// The layout.
    pub layout: Layout,
    /// What is written beside it, for whoever keeps it.
    comments: Vec<Comment>,
}

impl Guess {
    /// Proposes a layout for a file that begins so.
    ///
    /// # Errors
    /// The row with the names of the columns has merged cells: it is open which column is which.
    pub fn of(name: &str, sample: &Sample, given: &Given) -> Result<Self, Error> {
        let mut guess = Self {
            columns: Vec::new(),
            notes: Vec::new(),
            layout: Layout {
                delimiter: sample.delimiter.filter(|delimiter| *delimiter != b','),
                encoding: Some(given.encoding).filter(|encoding| *encoding != <_>::default()),
                sheet: given.sheet.sheet.clone(),
                hidden: given.sheet.hidden,
                stored_formulas: given.sheet.stored_formulas,
                ..Layout::named(name)
            },
            comments: Vec::new(),
        };
        let (names, from) = guess.head(sample)?;
        let mut columns = Columns {
            names,
            body: &sample.rows[from..],
        };
        if !sample.goes_on {
            guess.end(&mut columns);
        }
        guess.columns = columns.meanings();
        for at in 0..guess.columns.len() {
            match &guess.columns[at].meaning {
                Some(meaning) => take(&mut guess.layout, meaning, columns.place(at)),
                None if columns.names[at].is_empty() => {}
                None => guess.layout.ignore.push(columns.place(at)),
            }
        }
        if let Some(at) = guess.position("amount") {
            guess.amounts(&columns, at);
            guess.currency(&columns.names[at]);
        }
        if let Some(at) = guess.position("msisdn") {
            guess.zeros(&columns, at, given);
        }
        // A reference with a month in it names a payment, whatever its column is called.
        if let Some(at) = guess.position("reference")
            && !columns.cells(at).all(has_month)
        {
            guess.people(&columns.names[at]);
        }
        guess.service(&columns, given);
        guess.lacking();
        Ok(guess)
    }

    /// Says which row has the names of the columns, and returns them, and where the rows begin.
    fn head(&mut self, sample: &Sample) -> Result<(Vec<String>, usize), Error> {
        let Some(at) = header_of(sample) else {
            self.layout.header = HeaderAt::Nowhere;
            self.notes.push(
                "no row seems to have the names of columns: the layout names columns by their positions"
                    .to_owned(),
            );
            let width = sample.rows.iter().map(|(_, row)| row.len()).max();
            return Ok((vec![String::new(); width.unwrap_or(0)], 0));
        };
        let (line, row) = &sample.rows[at];
        if let Some((_, place)) = sample.merged.iter().find(|(merged, _)| merged == line) {
            return Err(Error::Workbook {
                what: "has merged cells in the row with the names of the columns, so nothing tells which column is \
                    which".to_owned(),
                remedy: "unmerge them in the spreadsheet program, give each column a name of its own, and run the same command again",
                at: Some(place.clone()),
            });
        }
        if *line > 1 && sample.delimiter.is_some() {
            self.layout.header = HeaderAt::Row(u32::try_from(*line).unwrap_or(1));
            self.notes.push(format!(
                "the names of the columns seem to stand in row {line}"
            ));
        }
        Ok((row.clone(), at + 1))
    }

    /// Returns the layout as the configuration has it, with comments.
    #[must_use]
    pub fn to_toml(&self) -> String {
        written::write(&self.layout, &self.comments)
    }

    /// Finds out how amounts are written, and what becomes of rows that have none.
    fn amounts(&mut self, columns: &Columns<'_>, at: usize) {
        let found = amounts::of(columns, &self.columns, at);
        self.layout.numbers = found.numbers;
        self.notes.extend(found.notes);
        if found.may_skip {
            self.layout.empty_amount = EmptyAmount::Skip;
        }
        for (line, column, value) in found.remarks {
            self.remark(line, columns.place(column), value);
        }
        if !found.comment.is_empty() {
            self.comments.push(Comment::below_name(found.comment));
        }
    }

    /// Finds the row with the sum, and what stands behind it.
    fn end(&mut self, columns: &mut Columns<'_>) {
        let Some(sum) = end::sum_of(columns) else {
            return;
        };
        self.notes.push(format!(
            "line {} seems to hold the sum, as it says {:?}: it is compared, and never paid",
            columns.body[sum.row].0, sum.marker
        ));
        self.layout.total = Some(Total {
            column: columns.place(sum.column),
            marker: sum.marker,
        });
        let (body, behind) = columns.body.split_at(sum.row);
        for (line, row) in &behind[1..] {
            match end::remark(row) {
                Some((at, value)) => self.remark(*line, columns.place(at), value),
                None => self.notes.push(format!(
                    "line {line} comes after the sum, so the file is refused unless it is empty in all columns that the layout takes: where it \
                     is no payment, say so in skip"
                )),
            }
        }
        columns.body = body;
    }

    /// Takes a row for a remark, such as a signature.
    fn remark(&mut self, line: u64, column: Place, value: String) {
        self.notes.push(format!(
            "line {line} seems to be a remark, and no payment: rows with {value:?} in {} are skipped, and told at each load",
            column.text()
        ));
        end::add(&mut self.layout.skip, column, value);
    }

    /// Returns the column of the file that seems to be one of ours.
    fn position(&self, column: &str) -> Option<usize> {
        let is_it = |guess: &ColumnGuess| guess.meaning.as_deref() == Some(column);
        self.columns.iter().position(is_it)
    }

    /// Takes the currency that stands in the header of the amounts.
    fn currency(&mut self, header: &str) {
        let currency = without_currency(header).map(|(_, currency)| currency);
        if let (Some(currency), None) = (currency, self.position("currency_code")) {
            self.notes.push(format!(
                "amounts seem to be {currency}, as {header:?} says: the layout says so of every row"
            ));
            self.constant("currency_code", currency.code());
        }
    }

    /// Finds phone numbers that have lost the zero in front of a national number.
    fn zeros(&mut self, columns: &Columns<'_>, at: usize, given: &Given) {
        let Some(country) = given.country else { return };
        let has_lost = |cell: &&str| Msisdn::restore_line(cell, country).is_some();
        let (mut lost, mut all) = (0, 0);
        for cell in columns.cells(at) {
            all += 1;
            lost += u64::from(has_lost(&cell));
        }
        if lost == 0 {
            return;
        }
        self.layout.restores_zero = true;
        let text = format!(
            "{lost} of the {all} phone numbers have lost the zero in front of a national number of {country}, as spreadsheets do"
        );
        self.notes.push(format!(
            "{text}: the layout puts it back, and each load says how many"
        ));
        self.comments.push(Comment::below_name(vec![
            format!("{text}."),
            "lost_zero puts the zero back where the number is valid with it and nothing else can be meant; without \
            this line such numbers are errors.".to_owned(),
        ]));
    }

    /// Says what follows from references that are those of people, and not of payments.
    fn people(&mut self, header: &str) {
        if !names_people(header) {
            return;
        }
        self.notes.push(format!(
            "{header:?} seems to name people, and not payments: next month's file has the same references, and its rows are refused as repeats within \
             repeats.window of this one. With period = \"required\" in the layout, each load needs --period, such as --period 2026-12, and the \
             period becomes a part of each reference"
        ));
        self.comments.push(Comment::below_name(vec![
            format!("{header:?} seems to name people: with the next line, each load needs --period, such as --period 2026-12, and"),
            "the period becomes a part of each reference. Without it, the same references within repeats.window are refused as repeats.".to_owned(),
            "period = \"required\"".to_owned(),
        ]));
    }

    fn constant(&mut self, column: &str, text: &str) {
        self.layout.columns.push(Source {
            column: column.to_owned(),
            taken: Taken::Constant(text.to_owned()),
            values: Vec::new(),
            when: None,
            optional: false,
        });
    }

    /// Says through which service rows are paid: one for all that was told, or one for each text of a column.
    fn service(&mut self, columns: &Columns<'_>, given: &Given) {
        let Some(at) = self.position("service_code") else {
            match &given.service {
                Some(service) => self.constant("service_code", service),
                None => self.notes.push(
                    "no column names the service: it comes from the profile, from --service, or from constants".to_owned(),
                ),
            }
            return;
        };
        let mut texts: Vec<&str> = columns.cells(at).collect();
        texts.sort_unstable();
        texts.dedup();
        let is_known = |text: &&str| given.services.iter().any(|service| service == text);
        if texts.iter().all(is_known) || given.services.is_empty() {
            return;
        }
        let header = columns.names[at].clone();
        if texts.len() > VALUES_MAX {
            self.notes.push(format!(
                "{header:?} has more than {VALUES_MAX} different texts, and seems to name no services: take the column out of the layout, or map each in values"
            ));
            return;
        }
        let pairs = texts.iter().map(|text| {
            let service = if is_known(text) { *text } else { "" };
            ((*text).to_owned(), service.to_owned())
        });
        let own = self.layout.columns.iter_mut();
        if let Some(source) = own
            .into_iter()
            .find(|source| source.column == "service_code")
        {
            source.values = pairs.collect();
        }
        let shown: Vec<&str> = given
            .services
            .iter()
            .take(SERVICES_SHOWN)
            .map(String::as_str)
            .collect();
        let more = given.services.len() > SERVICES_SHOWN;
        self.notes.push(format!(
            "{header:?} names no services that are configured: in values, write a service for each of its texts"
        ));
        self.comments.push(Comment::before(
            format!("{}.values.service_code]", self.layout.table()),
            vec![
                "Which service pays each of them; the layout is refused while one is empty."
                    .to_owned(),
                format!(
                    "Configured: {}{}.",
                    shown.join(", "),
                    if more { " and more" } else { "" }
                ),
            ],
        ));
    }

    /// Says what a layout has no column for.
    fn lacking(&mut self) {
        for needed in ["amount", "msisdn"] {
            if self.layout.source(needed).is_none() {
                self.notes.push(format!(
                    "no column seems to be {needed}: name it in the layout"
                ));
            }
        }
    }
}

/// Takes a column in; parts of a name are joined.
fn take(layout: &mut Layout, column: &str, place: Place) {
    if let Some(Source {
        taken: Taken::From { columns, .. },
        ..
    }) = layout
        .columns
        .iter_mut()
        .find(|known| known.column == column)
    {
        columns.push(place);
        columns.sort_by_key(|place| match place {
            Place::Name(name) => part_of_name(name),
            Place::At(_) => None,
        });
        return;
    }
    layout.columns.push(Source {
        column: column.to_owned(),
        taken: Taken::From {
            columns: vec![place],
            with: " ".to_owned(),
        },
        values: Vec::new(),
        when: None,
        optional: false,
    });
}

#[cfg(test)]
mod tests {
    use super::super::super::Encoding;
    use super::super::super::sample::sample;
    use super::*;

    fn guess(file: &str) -> Guess {
        let read = sample(
            std::io::Cursor::new(file.as_bytes().to_vec()),
            Encoding::Utf8,
        )
        .unwrap();
        let given = Given {
            services: vec!["B2C_AIRTEL".to_owned(), "B2C_MPESA".to_owned()],
            country: crate::domain::Country::from_code("KE"),
            ..Given::default()
        };
        Guess::of("a-1", &read, &given).unwrap()
    }

    fn told(file: &str) -> Vec<String> {
        let columns = guess(file).columns;
        let told = columns.iter().map(|column| {
            format!(
                "{}: {}",
                column.header,
                column.meaning.as_deref().unwrap_or("-")
            )
        });
        told.collect()
    }

    #[test]
    fn columns_are_told_by_their_names_and_by_what_stands_in_them() {
        assert_eq!(
            told(
                "Emp No,Surname,First Name,Mobile No,Gross,Net Pay,Gender\nE1,Were,Esther,0712345678,90,50.5,F\n"
            ),
            [
                "Emp No: reference",
                "Surname: customer_names",
                "First Name: customer_names",
                "Mobile No: msisdn",
                "Gross: -",
                "Net Pay: amount",
                "Gender: -",
            ]
        );
        // A name alone is not enough for what money rests on.
        assert_eq!(
            told("Phone,Name,Amount,Pay\n0712345678,A,monthly,50\n"),
            [
                "Phone: msisdn",
                "Name: customer_names",
                "Amount: -",
                "Pay: amount"
            ]
        );
        assert_eq!(
            told("0712345678,50\n0712345679,60\n"),
            ["column 1: msisdn", "column 2: amount"]
        );
        assert_eq!(
            told("[{\"phone\":\"0712345678\",\"net_pay\":50}]"),
            ["phone: msisdn", "net_pay: amount"]
        );
    }

    #[test]
    fn titles_sums_signs_and_empty_amounts_are_noticed() {
        let guess = guess(
            "ACME LTD;;\n;;\nMobile;Name;Net Pay\n0712345678;A;1.500,50\n0712345679;B;\n0712345670;C;20,00\nTotal;;1.520,50\n",
        );
        let layout = &guess.layout;
        assert_eq!(layout.header, HeaderAt::Row(3));
        assert_eq!(layout.delimiter, Some(b';'));
        assert_eq!(
            (layout.numbers.decimal, layout.numbers.group),
            (Some(','), Some('.'))
        );
        // B has a phone and a name: that the amount is missing stays an error.
        assert_eq!(layout.empty_amount, EmptyAmount::Error);
        assert_eq!(
            layout.total.as_ref().map(|total| total.marker.as_str()),
            Some("Total")
        );
        assert!(guess.notes.len() >= 4, "{:?}", guess.notes);
    }

    #[test]
    fn parts_of_a_name_are_joined_in_the_order_of_a_name() {
        let layout =
            guess("Surname,Other Names,First Name,Phone,Amount\nWere,N.,Esther,0712345678,50\n")
                .layout;
        let names =
            ["First Name", "Other Names", "Surname"].map(|name| Place::Name(name.to_owned()));
        let Some(Source {
            taken: Taken::From { columns, .. },
            ..
        }) = layout.source("customer_names")
        else {
            panic!("{layout:?}");
        };
        assert_eq!(*columns, names);
    }

    #[test]
    fn rows_without_an_amount_are_skipped_only_where_they_are_nobodys() {
        let head = "Emp No,Name,Phone,Net Pay,Team";
        let ana = "E1,Ana,0712345678,50,A";
        for (row, skips, noted) in [
            ("E2,Ben,0712345679,,B", false, "stay errors"),
            ("E2,,,0,", false, "stay errors"),
            (",Ben,,,B", false, "stay errors"),
            (",,0712345679,,B", false, "stay errors"),
            (",,,,B", true, "nobody to pay"),
            (",,,0,", true, "nobody to pay"),
            // A remark is skipped by its text alone.
            ("Prepared by: J. Mwangi,,,,", false, "seems to be a remark"),
        ] {
            let guess = guess(&format!("{head}\n{ana}\n{row}\n"));
            let is_skip = guess.layout.empty_amount == EmptyAmount::Skip;
            assert_eq!(is_skip, skips, "{row}: {:?}", guess.notes);
            assert!(
                guess.notes.iter().any(|note| note.contains(noted)),
                "{row}: {:?}",
                guess.notes
            );
            let text = guess.to_toml();
            assert_eq!(
                text.contains("# Such rows stay errors."),
                noted == "stay errors",
                "{text}"
            );
        }
    }

    #[test]
    fn signatures_behind_the_sum_are_remarks_and_others_are_told() {
        let guess = guess(
            "Emp No,Name,Phone,Net Pay\nE1,Ana,0712345678,50\nTotal,,,50\nPrepared by: J. Mwangi,,,\nsigned,,,\n",
        );
        assert!(guess.layout.total.is_some(), "{guess:?}");
        assert_eq!(guess.layout.skip.len(), 1);
        assert_eq!(guess.layout.skip[0].values, ["Prepared by:*"]);
        assert!(
            guess
                .notes
                .iter()
                .any(|note| note.starts_with("line 5 comes after the sum")),
            "{:?}",
            guess.notes
        );
        assert_eq!(guess.layout.empty_amount, EmptyAmount::Error);
    }

    #[test]
    fn services_are_left_to_be_filled_in_and_a_currency_is_taken() {
        let guess = guess(
            "Name,Phone,Amount (KES),Network\nA,712345678,50,Safaricom\nB,0733345678,60,B2C_AIRTEL\n",
        );
        let text = guess.to_toml();
        for part in [
            "currency_code = \"KES\"",
            "lost_zero = \"restore\"",
            "# Configured: B2C_AIRTEL, B2C_MPESA.\n[layouts.a-1.values.service_code]",
            "\"Safaricom\" = \"\"",
            "\"B2C_AIRTEL\" = \"B2C_AIRTEL\"",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(
            guess.layout.open_value(),
            Some(("service_code", "Safaricom"))
        );
        assert_eq!(guess.layout.without_open_values().open_value(), None);
    }
}
