//! A layout that a file seems to have, for a person to look at: nothing is ever read by a guess.

use super::super::columns::{COLUMNS, extra_name};
use super::super::encoding::Encoding;
use super::super::names::{same, suggestion};
use super::super::sample::Sample;
use super::decimal::{Decimal, Numbers};
use super::definition::{EmptyAmount, HeaderAt, Layout, Place, Source, Taken, Total, marked};

/// Rows in which a header is looked for.
const HEADER_ROWS: usize = 20;
/// Words by which rows with a sum are marked, as they are compared.
const TOTALS: [&str; 4] = ["total", "totals", "grandtotal", "sum"];
/// Parts of a name, in the order in which they are said.
const NAMES: [(&str, u8); 9] = [
    ("firstname", 0),
    ("forename", 0),
    ("givenname", 0),
    ("middlename", 1),
    ("othernames", 1),
    ("othername", 1),
    ("lastname", 2),
    ("surname", 2),
    ("familyname", 2),
];

/// What one column of a file seems to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGuess {
    /// Its name, or its place.
    pub header: String,
    /// The column of ours; none where it seems to be no part of a payment.
    pub meaning: Option<String>,
    /// Why.
    pub why: String,
}

/// A layout that a file seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Its columns, one for each of the file.
    pub columns: Vec<ColumnGuess>,
    /// What a person should know beside them.
    pub notes: Vec<String>,
    /// The layout.
    pub layout: Layout,
}

/// The columns of a sample.
struct Columns<'a> {
    names: Vec<String>,
    body: &'a [(u64, Vec<String>)],
}

impl Columns<'_> {
    /// Returns the cells of a column that are not empty.
    fn cells(&self, at: usize) -> impl Iterator<Item = &str> {
        let cells = self.body.iter().filter_map(move |(_, row)| row.get(at));
        cells.map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// Returns whether most cells are such, and there is one.
    fn mostly(&self, at: usize, is_such: impl Fn(&str) -> bool) -> bool {
        let (mut all, mut such) = (0, 0);
        for cell in self.cells(at) {
            all += 1;
            such += usize::from(is_such(cell));
        }
        such > 0 && such * 5 >= all * 4
    }
}

impl Guess {
    /// Proposes a layout for a file that begins so.
    #[must_use]
    pub fn of(name: &str, sample: &Sample, encoding: Encoding) -> Self {
        let mut layout = Layout {
            delimiter: sample.delimiter.filter(|delimiter| *delimiter != b','),
            encoding: Some(encoding).filter(|encoding| *encoding != Encoding::Utf8),
            ..Layout::named(name)
        };
        let mut notes = Vec::new();
        let (names, from) = head_of(sample, &mut layout, &mut notes);
        let mut columns = Columns {
            names,
            body: &sample.rows[from..],
        };
        if !sample.goes_on
            && let Some((at, marker)) = total_of(&columns)
        {
            notes.push(format!(
                "the last row seems to hold the sum, as it says {marker:?}: it is compared, and never paid"
            ));
            layout.total = Some(Total {
                column: place(&columns, at),
                marker,
            });
            columns.body = &columns.body[..columns.body.len() - 1];
        }
        let guessed = meanings(&columns);
        for (at, column) in guessed.iter().enumerate() {
            match &column.meaning {
                Some(meaning) => take(&mut layout, meaning, place(&columns, at)),
                None if columns.names[at].is_empty() => {}
                None => layout.ignore.push(place(&columns, at)),
            }
        }
        if let Some(at) = guessed
            .iter()
            .position(|column| column.meaning.as_deref() == Some("amount"))
        {
            amounts(&columns, at, &mut layout, &mut notes);
        }
        lacking(&layout, &mut notes);
        Self {
            columns: guessed,
            notes,
            layout,
        }
    }
}

/// Says which row has the names of the columns, and returns them, and where the rows begin.
fn head_of(sample: &Sample, layout: &mut Layout, notes: &mut Vec<String>) -> (Vec<String>, usize) {
    let head = header_of(sample);
    let width = sample
        .rows
        .iter()
        .map(|(_, row)| row.len())
        .max()
        .unwrap_or(0);
    match head {
        Some(at) => {
            let (line, row) = &sample.rows[at];
            if *line > 1 && sample.delimiter.is_some() {
                layout.header = HeaderAt::Row(u32::try_from(*line).unwrap_or(1));
                notes.push(format!(
                    "the names of the columns seem to stand in row {line}"
                ));
            }
            (row.clone(), at + 1)
        }
        None => {
            layout.header = HeaderAt::Nowhere;
            notes.push(
                "no row seems to have the names of columns: they are told by their places"
                    .to_owned(),
            );
            (vec![String::new(); width], 0)
        }
    }
}

/// Says what a layout has no column for.
fn lacking(layout: &Layout, notes: &mut Vec<String>) {
    for needed in ["amount", "msisdn"] {
        if layout.source(needed).is_none() {
            notes.push(format!(
                "no column seems to be {needed}: name it in the layout"
            ));
        }
    }
    if layout.source("service_code").is_none() {
        notes.push("no column names the service: it is that of the profile or of --service, or stands in constants".to_owned());
    }
}

/// Returns the row that has the names of the columns: that of which most cells are names of columns.
fn header_of(sample: &Sample) -> Option<usize> {
    let score = |row: &[String]| {
        let known = row.iter().filter(|cell| {
            COLUMNS.iter().any(|column| same(column, cell))
                || part_of_name(cell).is_some()
                || suggestion(cell, []).is_some()
        });
        known.count()
    };
    let rows = sample.rows.iter().take(HEADER_ROWS).enumerate();
    let scores = rows.map(|(at, (_, row))| (score(row), at));
    let best = scores.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)));
    match best {
        Some((score, at)) if score >= 2 => Some(at),
        // Where nothing looks like a payment in the first row, its cells are names that nobody knows.
        _ => {
            let (_, first) = sample.rows.first()?;
            let has_number = first.iter().any(|cell| is_amount(cell) || is_phone(cell));
            (!has_number).then_some(0)
        }
    }
}

fn part_of_name(header: &str) -> Option<u8> {
    let written = super::super::names::plain(header);
    let part = NAMES.iter().find(|(name, _)| *name == written);
    part.map(|(_, order)| *order)
}

fn is_phone(cell: &str) -> bool {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-');
    (9..=15).contains(&digits)
        && cell.chars().all(allowed)
        && cell.starts_with(['+', '0', '2', '7', '1'])
}

fn is_amount(cell: &str) -> bool {
    cell.len() <= 20
        && FORMS
            .iter()
            .any(|form| Decimal::read(cell, form.numbers()).is_some())
}

/// A way to write numbers.
struct Form(Option<char>, Option<char>);

impl Form {
    fn numbers(&self) -> Numbers {
        Numbers {
            decimal: self.0,
            group: self.1,
        }
    }
}

/// The ways that are tried, the likeliest first.
const FORMS: [Form; 6] = [
    Form(None, None),
    Form(Some('.'), Some(',')),
    Form(Some(','), Some('.')),
    Form(Some(','), Some(' ')),
    Form(Some('.'), Some(' ')),
    Form(Some(','), None),
];

/// Returns the column and the text that mark the last row as the sum.
fn total_of(columns: &Columns<'_>) -> Option<(usize, String)> {
    let (_, last) = columns.body.last()?;
    let is_total = |cell: &String| TOTALS.contains(&marked(cell).as_str());
    let at = last.iter().position(is_total)?;
    let has_amount = last.iter().any(|cell| is_amount(cell));
    (has_amount && columns.body.len() > 1).then(|| (at, last[at].clone()))
}

fn place(columns: &Columns<'_>, at: usize) -> Place {
    let name = &columns.names[at];
    let is_one = |other: &&String| same(other, name);
    match name.is_empty() || columns.names.iter().filter(is_one).count() > 1 {
        true => Place::At(at + 1),
        false => Place::Name(name.clone()),
    }
}

/// Says what each column seems to be.
fn meanings(columns: &Columns<'_>) -> Vec<ColumnGuess> {
    let mut all: Vec<ColumnGuess> = Vec::new();
    for (at, name) in columns.names.iter().enumerate() {
        let (meaning, why) = meaning(columns, at, name);
        let is_taken = |meaning: &str| {
            all.iter()
                .any(|known: &ColumnGuess| known.meaning.as_deref() == Some(meaning))
        };
        let header = match name.is_empty() {
            true => format!("column {}", at + 1),
            false => name.clone(),
        };
        let several = part_of_name(name).is_some();
        let (meaning, why) = match meaning {
            Some(meaning) if is_taken(&meaning) && !several => (
                None,
                format!("another column seems to be {meaning} already"),
            ),
            meaning => (meaning, why),
        };
        all.push(ColumnGuess {
            header,
            meaning,
            why,
        });
    }
    all
}

fn meaning(columns: &Columns<'_>, at: usize, name: &str) -> (Option<String>, String) {
    let own = COLUMNS.iter().find(|column| same(column, name));
    let extra = name
        .strip_prefix("extra.")
        .filter(|extra| extra_name(extra).is_ok());
    let is_empty = columns.cells(at).next().is_none();
    let by_name = match (own, extra) {
        (Some(own), _) if !["rejected_row", "replaces"].contains(own) => {
            Some(((*own).to_owned(), "is called so".to_owned()))
        }
        (_, Some(_)) => Some((name.to_owned(), "is called so".to_owned())),
        _ if part_of_name(name).is_some() => Some((
            "customer_names".to_owned(),
            "is called as a part of a name".to_owned(),
        )),
        _ => suggestion(name, []).map(|column| {
            (
                column.to_owned(),
                format!("{name:?} is another word for it"),
            )
        }),
    };
    let fits = |column: &str| match column {
        "amount" => columns.mostly(at, is_amount),
        "msisdn" => columns.mostly(at, |cell| cell.chars().any(|c| c.is_ascii_digit())),
        _ => true,
    };
    match by_name {
        Some((column, why)) if is_empty || fits(&column) => (Some(column), why),
        Some((column, _)) => (
            None,
            format!("is called as {column}, and its cells are none"),
        ),
        None if columns.mostly(at, is_phone) => (
            Some("msisdn".to_owned()),
            "its cells look like phone numbers".to_owned(),
        ),
        None if name.is_empty() && columns.mostly(at, is_amount) => (
            Some("amount".to_owned()),
            "its cells look like amounts".to_owned(),
        ),
        None => (
            None,
            "nothing says that it is a part of a payment".to_owned(),
        ),
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

/// Finds out how amounts are written, and whether some are empty.
fn amounts(columns: &Columns<'_>, at: usize, layout: &mut Layout, notes: &mut Vec<String>) {
    let all = |form: &&Form| {
        columns
            .cells(at)
            .all(|cell| Decimal::read(cell, form.numbers()).is_some())
    };
    match FORMS.iter().find(all) {
        Some(form) => layout.numbers = form.numbers(),
        None => notes
            .push("not all amounts are written in one way: see what check says of them".to_owned()),
    }
    if let Some(group) = layout.numbers.group {
        notes.push(format!("{group:?} seems to stand between groups of digits of amounts, and not in front of decimals: look at some"));
    }
    let is_none = |cell: &String| {
        let read = Decimal::read(cell, layout.numbers);
        cell.is_empty() || read.is_some_and(Decimal::is_zero)
    };
    let none = columns
        .body
        .iter()
        .filter(|(_, row)| row.get(at).is_none_or(is_none))
        .count();
    if none > 0 {
        layout.empty_amount = EmptyAmount::Skip;
        notes.push(format!(
            "{none} of the rows {} no amount, or one of zero: the layout skips them, and says so at each load",
            if none == 1 { "has" } else { "have" }
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::sample;
    use super::*;

    fn guess(file: &str) -> Guess {
        let read = sample(
            std::io::Cursor::new(file.as_bytes().to_vec()),
            Encoding::Utf8,
        )
        .unwrap();
        Guess::of("a-1", &read, Encoding::Utf8)
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
        assert_eq!(layout.empty_amount, EmptyAmount::Skip);
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
}
