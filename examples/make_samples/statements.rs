//! Statements of what the samples paid, as a mobile money provider and a bank export them. Everything in them is made up.
//!
//! A statement is about days. Those in `samples/statements` are of the day of the samples; what was rehearsed today is held against
//! `cargo run --example make_samples -- statements FOLDER DAY`, which writes them for another day.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;

use disburse::domain::{
    BatchName, IdentifierForm, IdentifierScheme, Originator, Reference, RowKey,
};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook};

/// What the files are made from went wrong.
type Made<T> = Result<T, Box<dyn Error>>;

/// The batches that the statements are about, as they are rehearsed.
pub const WALLET_BATCH: &str = "refunds-11";
/// The batch of the bank's statements.
pub const BANK_BATCH: &str = "bank-11";
/// The day of the samples.
pub const DAY: &str = "2026-11-28";

/// This one is not in the statements.
const MISSING: usize = 7;
/// This one has another amount there.
const DIFFERS: usize = 12;
/// This one is named by its amount and its recipient alone.
const NAMELESS: usize = 20;
/// This one came back.
const RETURNED: usize = 30;

/// A payment of a sample.
struct Payment {
    id: String,
    reference: String,
    cents: i64,
    to: String,
    name: String,
}

/// One movement of an account.
struct Movement<'a> {
    payment: Option<&'a Payment>,
    /// Below zero: it left.
    cents: i64,
    text: String,
    receipt: String,
}

/// Returns every file with its name, for a day such as `2026-11-28`.
pub fn all(refunds: &str, bank: &str, day: &str) -> Made<Vec<(&'static str, Vec<u8>)>> {
    let wallet = payments(refunds, WALLET_BATCH, "msisdn")?;
    let accounts = payments(bank, BANK_BATCH, "bank_account_number")?;
    let wallet = movements(&wallet, "Refund");
    let accounts = movements(&accounts, "Wages");
    Ok(vec![
        ("wallet.csv", csv(&wallet, day).into_bytes()),
        ("wallet.xlsx", xlsx(&wallet, day)?),
        ("bank.sta", mt940(&accounts, day).into_bytes()),
        ("bank-053.xml", camt053(&accounts, day).into_bytes()),
        ("bank-054.xml", camt054(&accounts, day).into_bytes()),
    ])
}

/// Reads the payments of a sample, under the identifiers that they have in a rehearsal.
fn payments(csv: &str, batch: &str, recipient: &str) -> Made<Vec<Payment>> {
    let scheme = IdentifierScheme {
        originator: Originator::parse("sandbox")?,
        batch: BatchName::parse(batch)?,
        form: IdentifierForm::default(),
    };
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows = reader.deserialize::<HashMap<String, String>>();
    rows.map(|row| {
        let row = row?;
        let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
        let reference = Reference::parse(&cell("reference"))?;
        let id = scheme.derive(&RowKey::Reference(&reference), 0);
        Ok(Payment {
            id: id.to_string(),
            reference: reference.to_string(),
            cents: cell("amount").replace('.', "").parse()?,
            to: cell(recipient),
            name: cell("customer_names"),
        })
    })
    .collect()
}

fn movements<'a>(payments: &'a [Payment], what: &str) -> Vec<Movement<'a>> {
    let mut movements = Vec::new();
    let other = |cents: i64, text: &str, number: usize| Movement {
        payment: None,
        cents,
        text: text.to_owned(),
        receipt: format!("MP{:08}", 71_000_000 + number),
    };
    movements.push(other(900_000_000, "Funds received from treasury", 1));
    for (at, payment) in payments.iter().enumerate() {
        if at == MISSING {
            continue;
        }
        let cents = match at {
            DIFFERS => payment.cents - 5_000,
            _ => payment.cents,
        };
        let named = match at {
            NAMELESS => "Customer payment".to_owned(),
            _ => format!("{what} {}", payment.id),
        };
        movements.push(Movement {
            payment: Some(payment),
            cents: -cents,
            text: named,
            receipt: format!("MP{:08}", 71_000_100 + at),
        });
    }
    if let Some(payment) = payments.get(RETURNED) {
        movements.push(Movement {
            payment: Some(payment),
            cents: payment.cents,
            text: format!("Returned {}", payment.id),
            receipt: format!("MP{:08}", 71_000_900),
        });
    }
    movements.push(other(-4_200, "Charges for payments of the day", 2));
    movements.push(other(-1_250_000, "Rent of the office", 3));
    movements
}

/// Writes 123456 as `1,234.56`.
fn grouped(cents: i64) -> String {
    let whole = (cents.abs() / 100).to_string();
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{grouped}.{:02}", cents.abs() % 100)
}

/// Writes 123456 as `1234.56`.
fn plain(cents: i64) -> String {
    grouped(cents).replace(',', "")
}

/// Writes `2026-11-28` as `28/11/2026`.
fn turned(day: &str) -> String {
    let mut parts: Vec<&str> = day.split('-').collect();
    parts.reverse();
    parts.join("/")
}

/// The time of the n-th movement of a day.
fn time(number: usize) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        8 + number / 20,
        (number % 20) * 3,
        number % 60
    )
}

/// The balance after each movement.
fn balances(movements: &[Movement<'_>]) -> Vec<i64> {
    let sums = movements.iter().scan(OPENING, |sum, movement| {
        *sum += movement.cents;
        Some(*sum)
    });
    sums.collect()
}

const OPENING: i64 = 12_345_600;

const COLUMNS: [&str; 8] = [
    "Receipt No",
    "Completed",
    "Details",
    "Status",
    "Paid In",
    "Withdrawn",
    "Balance",
    "Other Party",
];

/// The cells of a movement, but for its time and its amounts.
fn party(movement: &Movement<'_>) -> String {
    let of = |payment: &Payment| format!("{} - {}", payment.to, payment.name);
    movement.payment.map_or_else(String::new, of)
}

/// A list below titles, newest first, with groups of thousands and a last row with the sums.
fn csv(movements: &[Movement<'_>], day: &str) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = format!(
        "Mfano Wallet (made up),,,,,,,\nStatement of {},,,,,,,\nShort code 600600,,,,,,,\n,,,,,,,\n{}\n",
        turned(day),
        COLUMNS.join(",")
    );
    let balances = balances(movements);
    let (mut paid_in, mut withdrawn) = (0, 0);
    for (number, movement) in movements.iter().enumerate().rev() {
        let (income, out) = match movement.cents > 0 {
            true => (grouped(movement.cents), String::new()),
            false => (String::new(), grouped(movement.cents)),
        };
        match movement.cents > 0 {
            true => paid_in += movement.cents,
            false => withdrawn += movement.cents,
        }
        let _ = writeln!(
            text,
            "{},{} {},{},Completed,{},{},{},{}",
            movement.receipt,
            turned(day),
            time(number),
            quoted(&movement.text),
            quoted(&income),
            quoted(&out),
            quoted(&grouped(balances[number])),
            quoted(&party(movement))
        );
    }
    let _ = writeln!(
        text,
        "Total,,,,{},{},,",
        quoted(&grouped(paid_in)),
        quoted(&grouped(withdrawn))
    );
    text
}

/// The same list as a workbook: dates as dates, amounts as numbers, receipts as texts.
fn xlsx(movements: &[Movement<'_>], day: &str) -> Made<Vec<u8>> {
    let mut book = Workbook::new();
    // The same bytes each time.
    let made = ExcelDateTime::parse_from_str(DAY)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&made));
    let bold = Format::new().set_bold();
    let text = Format::new().set_num_format("@");
    let amounts = Format::new().set_num_format("#,##0.00");
    let moments = Format::new().set_num_format("dd/mm/yyyy hh:mm:ss");
    let sheet = book.add_worksheet();
    sheet.set_name("Statement")?;
    sheet.write_with_format(0, 0, "Mfano Wallet (made up)", &bold)?;
    sheet.write(1, 0, format!("Statement of {}", turned(day)))?;
    for (column, name) in (0..).zip(COLUMNS) {
        sheet.write_with_format(3, column, name, &bold)?;
        sheet.set_column_width(column, 22)?;
    }
    let balances = balances(movements);
    for (row, (number, movement)) in (4..).zip(movements.iter().enumerate()) {
        let moment = ExcelDateTime::parse_from_str(&format!("{day} {}", time(number)))?;
        sheet.write_with_format(row, 0, &movement.receipt, &text)?;
        sheet.write_with_format(row, 1, &moment, &moments)?;
        sheet.write_with_format(row, 2, &movement.text, &text)?;
        sheet.write_with_format(row, 3, "Completed", &text)?;
        let column = if movement.cents > 0 { 4 } else { 5 };
        let amount: f64 = plain(movement.cents).parse()?;
        sheet.write_with_format(row, column, amount, &amounts)?;
        let balance: f64 = plain(balances[number]).parse()?;
        sheet.write_with_format(row, 6, balance, &amounts)?;
        sheet.write_with_format(row, 7, party(movement), &text)?;
    }
    Ok(book.save_to_buffer()?)
}

/// One message with a page of its own.
fn mt940(movements: &[Movement<'_>], day: &str) -> String {
    let date = day[2..].replace('-', "");
    let comma = |cents: i64| plain(cents.abs()).replace('.', ",");
    let mut text = format!(
        ":20:MFANO{date}\r\n:25:0100600600\r\n:28C:00231/001\r\n:60F:C{date}KES{}\r\n",
        comma(OPENING)
    );
    for movement in movements {
        let (mark, kind) = match (movement.cents > 0, movement.payment) {
            (true, _) => ("C", "NTRF"),
            (false, Some(_)) => ("D", "NTRF"),
            (false, None) if movement.text.starts_with("Charges") => ("D", "NCHG"),
            (false, None) => ("D", "NMSC"),
        };
        let reference = movement
            .payment
            .map_or("NONREF", |payment| payment.reference.as_str());
        let _ = write!(
            text,
            ":61:{date}{}{mark}{}{kind}{reference}//{}\r\n:86:020?00TRANSFER?20{}",
            &date[2..],
            comma(movement.cents),
            movement.receipt,
            movement.text
        );
        if let Some(payment) = movement.payment {
            let _ = write!(text, "?31{}?32{}", payment.to, payment.name);
        }
        text.push_str("\r\n");
    }
    let closing = balances(movements).last().copied().unwrap_or(OPENING);
    let mark = if closing < 0 { "D" } else { "C" };
    let _ = write!(text, ":62F:{mark}{date}KES{}\r\n-\r\n", comma(closing));
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The parties of a transaction, and what it says.
fn transaction(movement: &Movement<'_>) -> String {
    let mut text = String::from("<TxDtls><Refs>");
    if let Some(payment) = movement.payment {
        let _ = write!(text, "<EndToEndId>{}</EndToEndId>", payment.reference);
    }
    let _ = write!(
        text,
        "</Refs><Amt Ccy=\"KES\">{}</Amt>",
        plain(movement.cents.abs())
    );
    if let Some(payment) = movement.payment {
        let _ = write!(
            text,
            "<RltdPties><Cdtr><Pty><Nm>{}</Nm></Pty></Cdtr><CdtrAcct><Id><Othr><Id>{}</Id></Othr></Id></CdtrAcct></RltdPties>",
            escaped(&payment.name),
            payment.to
        );
    }
    let _ = write!(
        text,
        "<RmtInf><Ustrd>{}</Ustrd></RmtInf>",
        escaped(&movement.text)
    );
    if movement.text.starts_with("Returned") {
        text.push_str("<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>");
    }
    text.push_str("</TxDtls>");
    text
}

fn entry(movement: &Movement<'_>, day: &str) -> String {
    let direction = if movement.cents > 0 { "CRDT" } else { "DBIT" };
    let family = match movement.text.starts_with("Charges") {
        true => "<SubFmlyCd>CHRG</SubFmlyCd>",
        false => "<SubFmlyCd>DMCT</SubFmlyCd>",
    };
    format!(
        "<Ntry><Amt Ccy=\"KES\">{}</Amt><CdtDbtInd>{direction}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt>\
         <AcctSvcrRef>{}</AcctSvcrRef><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd>{family}</Fmly></Domn></BkTxCd><NtryDtls>{}</NtryDtls></Ntry>\n",
        plain(movement.cents.abs()),
        movement.receipt,
        transaction(movement)
    )
}

/// A statement of the day, one entry a movement, with both balances.
fn camt053(movements: &[Movement<'_>], day: &str) -> String {
    let balance = |code: &str, cents: i64| {
        let direction = if cents < 0 { "DBIT" } else { "CRDT" };
        format!(
            "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"KES\">{}</Amt><CdtDbtInd>{direction}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>\n",
            plain(cents.abs())
        )
    };
    let closing = balances(movements).last().copied().unwrap_or(OPENING);
    let entries: String = movements.iter().map(|one| entry(one, day)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt>\
         <GrpHdr><MsgId>MFANO-053</MsgId><CreDtTm>{day}T23:00:00</CreDtTm></GrpHdr><Stmt><Id>231</Id>\n\
         <Acct><Id><Othr><Id>0100600600</Id></Othr></Id></Acct>\n{}{}{entries}</Stmt></BkToCstmrStmt></Document>\n",
        balance("OPBD", OPENING),
        balance("CLBD", closing)
    )
}

/// A notification: one booking of all payments, and what it is made of.
fn camt054(movements: &[Movement<'_>], day: &str) -> String {
    let paid: Vec<&Movement<'_>> = movements
        .iter()
        .filter(|movement| movement.payment.is_some() && movement.cents < 0)
        .collect();
    let sum: i64 = paid.iter().map(|movement| movement.cents).sum();
    let details: String = paid.iter().map(|one| transaction(one) + "\n").collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.054.001.08\"><BkToCstmrDbtCdtNtfctn>\
         <GrpHdr><MsgId>MFANO-054</MsgId><CreDtTm>{day}T23:00:00</CreDtTm></GrpHdr><Ntfctn><Id>231</Id>\n\
         <Acct><Id><Othr><Id>0100600600</Id></Othr></Id></Acct>\n<Ntry><Amt Ccy=\"KES\">{}</Amt><CdtDbtInd>DBIT</CdtDbtInd>\
         <Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>BOOK</SubFmlyCd></Fmly></Domn></BkTxCd>\
         <NtryDtls><Btch><NbOfTxs>{}</NbOfTxs></Btch>\n{details}</NtryDtls></Ntry>\n</Ntfctn></BkToCstmrDbtCdtNtfctn></Document>\n",
        plain(sum.abs()),
        paid.len()
    )
}
