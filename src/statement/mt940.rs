//! SWIFT MT940: one message a statement or a page of it, tags at the beginning of lines.

use std::io::{BufRead, Read};

use super::error::{Place, StatementError, shown};
use super::number::signed;
use super::summary::{Running, Summary};
use super::terms::Terms;
use crate::domain::{Amount, Currency, Day, Money};
use crate::ledger::reconciliation::{Flow, Reference, Standing, StatementEntry};

/// Bytes of a line, and of a field, at most.
const LINE_MAX: u64 = 4_096;
const FIELD_MAX: usize = 65_536;

pub(super) fn read(
    mut input: impl BufRead,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let mut reader = Reader {
        terms,
        take,
        summary: Summary::of("MT940"),
        page: None,
        held: None,
        is_ours: true,
        opening: 0,
        follows: None,
        closed: false,
    };
    let mut field = Field::default();
    let (mut number, mut line) = (0_u64, Vec::new());
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        if read.map_err(StatementError::io)? == 0 {
            break;
        }
        number += 1;
        if line.len() as u64 == LINE_MAX {
            return Err(StatementError::new(
                &Place::Line(number),
                "the line is too long for an MT940",
                "look at the file",
            ));
        }
        let text = encoding_rs::WINDOWS_1252
            .decode_without_bom_handling(&line)
            .0;
        let text = match std::str::from_utf8(&line) {
            Ok(text) => text.trim_end(),
            Err(_) => text.trim_end(),
        };
        let text = text.trim_start_matches('\u{feff}');
        let content = match text.rsplit_once("{4:") {
            Some((_, rest)) => rest,
            None => text,
        };
        if content == "-" || content.starts_with("-}") {
            reader.field(&std::mem::take(&mut field))?;
            reader.end(number)?;
        } else if let Some((tag, value)) = tag_of(content) {
            reader.field(&std::mem::take(&mut field))?;
            field = Field {
                line: number,
                tag: tag.to_owned(),
                lines: vec![value.to_owned()],
                bytes: value.len(),
            };
        } else if !field.tag.is_empty() {
            field.bytes += content.len();
            if field.bytes > FIELD_MAX {
                return Err(StatementError::new(
                    &Place::Line(number),
                    "the field is too long for an MT940",
                    "look at the file",
                ));
            }
            field.lines.push(content.to_owned());
        }
    }
    reader.field(&field)?;
    reader.finish(number)
}

/// Takes `:61:` off the beginning of a line.
fn tag_of(line: &str) -> Option<(&str, &str)> {
    let (tag, value) = line.strip_prefix(':')?.split_once(':')?;
    let is_tag = matches!(tag.len(), 2 | 3)
        && tag.as_bytes()[..2].iter().all(u8::is_ascii_digit)
        && tag.bytes().skip(2).all(|b| b.is_ascii_uppercase());
    is_tag.then_some((tag, value))
}

#[derive(Default)]
struct Field {
    line: u64,
    tag: String,
    lines: Vec<String>,
    bytes: usize,
}

/// The statement that is being read, from its opening balance to its closing one.
struct Page {
    currency: Currency,
    running: Running,
}

struct Reader<'a> {
    terms: &'a Terms,
    take: &'a mut dyn FnMut(StatementEntry) -> bool,
    summary: Summary,
    page: Option<Page>,
    /// A line that waits for the text behind it.
    held: Option<StatementEntry>,
    is_ours: bool,
    /// The balance before the first page of the statement.
    opening: i128,
    /// An intermediate balance, which the next page begins with.
    follows: Option<i128>,
    closed: bool,
}

impl Reader<'_> {
    fn field(&mut self, field: &Field) -> Result<(), StatementError> {
        let place = Place::Line(field.line);
        let value = field.lines.first().map_or("", String::as_str);
        match field.tag.as_str() {
            "" => return Ok(()),
            "86" => {
                if let Some(entry) = &mut self.held {
                    let (text, recipient) = information(&field.lines);
                    entry.text.push_str(&text);
                    entry.recipient = recipient;
                }
                return Ok(());
            }
            _ => self.release()?,
        }
        match field.tag.as_str() {
            "25" | "25P" => {
                let account = value.trim();
                self.is_ours =
                    self.summary
                        .is_of(account, self.terms.account.as_deref(), &place)?;
            }
            "60F" | "60M" => self.open(value, field.tag == "60M", &place)?,
            "61" => self.line(&field.lines, &place)?,
            "62F" | "62M" => self.close(value, field.tag == "62M", &place)?,
            _ => {}
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), StatementError> {
        let Some(entry) = self.held.take().filter(|_| self.is_ours) else {
            return Ok(());
        };
        self.summary.count(&entry);
        match (self.take)(entry) {
            true => Ok(()),
            false => Err(StatementError::stopped()),
        }
    }

    fn open(&mut self, value: &str, is_page: bool, place: &Place) -> Result<(), StatementError> {
        let balance = balance(value, place)?;
        if self.page.is_some() {
            return Err(StatementError::cut_off(
                place,
                "a new one begins before its closing balance (:62F:)",
            ));
        }
        if self.is_ours {
            match self.follows.take() {
                Some(follows) if is_page && follows != balance.minor => {
                    return Err(StatementError::cut_off(
                        place,
                        "a page is missing, as the balances before and behind it differ",
                    ));
                }
                Some(_) if !is_page => {
                    return Err(StatementError::cut_off(place, "its last page is missing"));
                }
                None if is_page => {
                    return Err(StatementError::cut_off(place, "its first page is missing"));
                }
                _ => {}
            }
            if self
                .summary
                .currency
                .is_some_and(|currency| currency != balance.currency)
            {
                return Err(StatementError::new(
                    place,
                    "the file has statements in several currencies",
                    "split the file: one account at a time",
                ));
            }
            self.summary.currency = Some(balance.currency);
            if !is_page {
                self.opening = balance.minor;
            }
        }
        self.page = Some(Page {
            currency: balance.currency,
            running: Running::of(balance.currency, balance.minor),
        });
        Ok(())
    }

    fn close(&mut self, value: &str, is_page: bool, place: &Place) -> Result<(), StatementError> {
        let balance = balance(value, place)?;
        let Some(page) = self.page.take() else {
            return Err(StatementError::cut_off(
                place,
                "it has no opening balance (:60F:)",
            ));
        };
        if page.currency != balance.currency {
            return Err(StatementError::new(
                place,
                "opening and closing balance are of different currencies",
                "look at the file",
            ));
        }
        page.running.assert(balance.minor, place)?;
        if self.is_ours {
            self.follows = is_page.then_some(balance.minor);
            if !is_page {
                self.summary.hold(self.opening, balance.minor, place)?;
            }
            self.summary.reach(balance.day);
            self.closed = true;
        }
        Ok(())
    }

    fn line(&mut self, lines: &[String], place: &Place) -> Result<(), StatementError> {
        let Some(page) = &mut self.page else {
            return Err(StatementError::cut_off(
                place,
                "a line stands before its opening balance (:60F:)",
            ));
        };
        let value = lines.first().map_or("", String::as_str);
        let odd = || {
            StatementError::new(
                place,
                format!(
                    "expected a line of an MT940 (date, D or C, amount with a comma), found {}",
                    shown(value)
                ),
                "look at the file",
            )
        };
        let parsed = Parsed::of(value, page.currency).ok_or_else(odd)?;
        let moved = match parsed.flow {
            Flow::Out => -parsed.minor,
            Flow::In => parsed.minor,
        };
        if parsed.standing == Standing::Booked {
            page.running.add(moved.into());
        }
        let money = Amount::from_minor(parsed.minor).map(|amount| Money {
            amount,
            currency: page.currency,
        });
        // A line of zero moves nothing.
        self.held = money.map(|money| StatementEntry {
            place: place.to_string(),
            day: parsed.day,
            flow: parsed.flow,
            reversal: parsed.reversal,
            money,
            standing: parsed.standing,
            references: parsed.references,
            text: lines.get(1..).unwrap_or_default().join(" ") + " ",
            recipient: String::new(),
            fee: None,
            is_charge: parsed.is_charge,
            is_batch: false,
        });
        Ok(())
    }

    fn end(&mut self, number: u64) -> Result<(), StatementError> {
        self.release()?;
        match self.page {
            Some(_) => Err(StatementError::cut_off(
                &Place::Line(number),
                "the message ends without its closing balance (:62F:)",
            )),
            None => Ok(()),
        }
    }

    fn finish(mut self, number: u64) -> Result<Summary, StatementError> {
        self.release()?;
        let place = Place::Line(number);
        if self.page.is_some() {
            return Err(StatementError::cut_off(
                &place,
                "it ends without its closing balance (:62F:)",
            ));
        }
        if self.follows.is_some() {
            return Err(StatementError::cut_off(&place, "its last page is missing"));
        }
        self.summary.assert_account(self.terms.account.as_deref())?;
        if !self.closed {
            return Err(StatementError::cut_off(
                &place,
                "it has no balance (:60F: and :62F:)",
            ));
        }
        Ok(self.summary)
    }
}

struct Balance {
    minor: i128,
    currency: Currency,
    day: Day,
}

/// Reads `C251128KES1234,56`.
fn balance(value: &str, place: &Place) -> Result<Balance, StatementError> {
    let read = || {
        let value = value.trim();
        let negative = match value.get(..1)? {
            "C" => false,
            "D" => true,
            _ => return None,
        };
        let day = date(value.get(1..7)?)?;
        let currency = Currency::from_code(value.get(7..10)?)?;
        let minor = i128::from(amount(value.get(10..)?, currency)?);
        Some(Balance {
            minor: if negative { -minor } else { minor },
            currency,
            day,
        })
    };
    read().ok_or_else(|| {
        StatementError::new(
            place,
            format!(
                "expected a balance such as C251128KES1234,56, found {}",
                shown(value)
            ),
            "look at the file",
        )
    })
}

/// Reads an amount: digits, and one comma before the decimals.
fn amount(text: &str, currency: Currency) -> Option<i64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b',');
    let told = text.starts_with(|c: char| c.is_ascii_digit()) && text.matches(',').count() == 1;
    (is_plain && told).then(|| signed(text, ',', currency).ok())?
}

/// Reads `251128`.
fn date(text: &str) -> Option<Day> {
    if text.len() != 6 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let year = 2000 + text[..2].parse::<i16>().ok()?;
    Day::of_date(year, text[2..4].parse().ok()?, text[4..].parse().ok()?)
}

struct Parsed {
    day: Day,
    flow: Flow,
    reversal: bool,
    standing: Standing,
    minor: i64,
    is_charge: bool,
    references: Vec<Reference>,
}

impl Parsed {
    /// Reads `2511281128D1500,00NTRFREF//BANKREF`.
    fn of(value: &str, currency: Currency) -> Option<Self> {
        let value_day = date(value.get(..6)?)?;
        let mut rest = value.get(6..)?;
        let mut day = value_day;
        if rest.get(..4)?.bytes().all(|b| b.is_ascii_digit()) {
            day = booked(value_day, &rest[..4])?;
            rest = &rest[4..];
        }
        let marks = [
            ("RC", Flow::Out, true, Standing::Booked),
            ("RD", Flow::In, true, Standing::Booked),
            ("EC", Flow::In, false, Standing::Pending),
            ("ED", Flow::Out, false, Standing::Pending),
            ("C", Flow::In, false, Standing::Booked),
            ("D", Flow::Out, false, Standing::Booked),
        ];
        let (mark, flow, reversal, standing) = marks
            .into_iter()
            .find(|(mark, ..)| rest.starts_with(mark))?;
        rest = &rest[mark.len()..];
        // The third letter of the currency may stand before the amount.
        if rest.starts_with(|c: char| c.is_ascii_uppercase()) {
            rest = &rest[1..];
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',')?;
        let minor = amount(&rest[..end], currency)?;
        rest = &rest[end..];
        let kind = rest.get(..4)?;
        if !kind.starts_with(['N', 'F', 'S']) {
            return None;
        }
        let named = &rest[4..];
        let (ours, theirs) = named.split_once("//").unwrap_or((named, ""));
        let named = [("owner", ours.trim()), ("institution", theirs.trim())];
        let named = named
            .into_iter()
            .filter(|(_, name)| !name.is_empty() && *name != "NONREF");
        let references = named.map(|(field, name)| Reference {
            field: field.into(),
            text: name.to_owned(),
            is_receipt: field == "institution",
        });
        Some(Self {
            day,
            flow,
            reversal,
            standing,
            minor,
            is_charge: matches!(&kind[1..], "CHG" | "COM"),
            references: references.collect(),
        })
    }
}

/// Returns the day of booking, which has no year: the one nearest to the value date.
fn booked(value_day: Day, text: &str) -> Option<Day> {
    let year: i16 = value_day.to_string().get(..4)?.parse().ok()?;
    let (month, day) = (text[..2].parse().ok()?, text[2..].parse().ok()?);
    let candidates = [year - 1, year, year + 1].into_iter();
    let days = candidates.filter_map(|year| Day::of_date(year, month, day));
    days.min_by_key(|day| day.number().abs_diff(value_day.number()))
}

/// Returns the text of `:86:`, and the account of the other side where its fields are told apart.
fn information(lines: &[String]) -> (String, String) {
    let joined = lines.concat();
    let mut recipient = String::new();
    if let Some(rest) = joined.split("/CNTP/").nth(1) {
        rest.split('/')
            .next()
            .unwrap_or_default()
            .clone_into(&mut recipient);
    }
    let spaced = lines.join(" ");
    let parts: Vec<&str> = joined.split('?').collect();
    let is_coded = parts.len() > 2
        && parts.iter().skip(1).all(|part| {
            part.get(..2)
                .is_some_and(|code| code.bytes().all(|b| b.is_ascii_digit()))
        });
    if !is_coded {
        return (format!("{spaced} {joined}"), recipient);
    }
    let (mut purpose, mut words) = (String::new(), String::new());
    for part in &parts[1..] {
        let (code, text) = part.split_at(2);
        match code {
            "31" => text.trim().clone_into(&mut recipient),
            "20" | "21" | "22" | "23" | "24" | "25" | "26" | "27" | "28" | "29" | "60" | "61"
            | "62" | "63" => purpose.push_str(text),
            _ => {}
        }
        words.push_str(text);
        words.push(' ');
    }
    // A word may go on in the next field, or end with its own.
    (format!("{words}{purpose}"), recipient)
}
