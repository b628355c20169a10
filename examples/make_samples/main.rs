//! Writes the batch files in `samples/`: the same bytes each time, from one seed.
//!
//! Every name, number and amount is made up. The numbers are valid in the numbering plan of their country, nothing more.
//!
//! ```text
//! cargo run --example make_samples
//! cargo run --example make_samples -- statements FOLDER DAY    # statements of a day, such as $(date +%F)
//! ```

mod bills;
mod payouts;
mod pdf;
mod statements;
mod workbook;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use disburse::domain::{Country, Msisdn};
use fastrand::Rng;

const SEED: u64 = 20_261_128;

const FIRST_NAMES: [&str; 40] = [
    "Achieng", "Akinyi", "Amina", "Atieno", "Barasa", "Brian", "Chebet", "Collins", "Daniel",
    "Esther", "Faith", "Fatuma", "Grace", "Hassan", "Irene", "James", "Jepkemoi", "John", "Joyce",
    "Kamau", "Kevin", "Kipchoge", "Lucy", "Mary", "Mercy", "Moraa", "Mumbi", "Mwende", "Naliaka",
    "Njeri", "Nyambura", "Ochieng", "Omar", "Peter", "Purity", "Samuel", "Wambui", "Wanjikũ",
    "Yusuf", "Zawadi",
];
const LAST_NAMES: [&str; 36] = [
    "Abdi",
    "Barasa",
    "Cherono",
    "Gitau",
    "Juma",
    "Kariuki",
    "Kemboi",
    "Kibet",
    "Kimani",
    "Kiprotich",
    "Koech",
    "Langat",
    "Macharia",
    "Maina",
    "Makori",
    "Mohamed",
    "Muriuki",
    "Musyoka",
    "Mutua",
    "Mwangi",
    "Ndung'u",
    "Ngugi",
    "Njoroge",
    "Nyong'o",
    "Ochieng",
    "Odhiambo",
    "Omondi",
    "Onyango",
    "Otieno",
    "Ouma",
    "Rotich",
    "Simiyu",
    "Wafula",
    "Wairimu",
    "Wanyama",
    "Were",
];
const UGANDAN_NAMES: [&str; 8] = [
    "Okello Patrick",
    "Nakato Sarah",
    "Mugisha Ivan",
    "Namukasa Joan",
    "Byaruhanga Paul",
    "Akello Rose",
    "Ssemakula Denis",
    "Nabirye Ruth",
];
const TANZANIAN_NAMES: [&str; 8] = [
    "Neema Mushi",
    "Baraka Mollel",
    "Rehema Kimaro",
    "Juma Mwakyusa",
    "Asha Salum",
    "Emmanuel Lyimo",
    "Zuberi Kassim",
    "Upendo Massawe",
];
/// What follows the country code, by operator, in ranges that the operators were given.
const MPESA: [&str; 8] = ["70", "71", "72", "79", "110", "111", "112", "114"];
const AIRTEL: [&str; 5] = ["73", "78", "100", "101", "102"];
const TKASH: [&str; 2] = ["770", "772"];
const MTN_UGANDA: [&str; 3] = ["77", "78", "76"];
const VODACOM_TANZANIA: [&str; 3] = ["74", "75", "76"];

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["statements", folder, day] => return write_statements(&directory, Path::new(folder), day),
        _ => {
            return Err(
                "expected nothing, or: statements FOLDER DAY, a day such as 2026-11-28".into(),
            );
        }
    }
    fs::create_dir_all(&directory)?;
    let mut rng = Rng::with_seed(SEED);
    fs::write(directory.join("payroll.csv"), payroll(&mut rng)?)?;
    fs::write(directory.join("refunds.csv"), refunds(&mut rng)?)?;
    let array = nightly(&mut rng, "NA", 150)?;
    fs::write(
        directory.join("nightly.json"),
        format!("[\n  {}\n]\n", array.join(",\n  ")),
    )?;
    let lines = nightly(&mut rng, "NL", 150)?;
    fs::write(
        directory.join("nightly.jsonl"),
        format!("{}\n", lines.join("\n")),
    )?;
    fs::write(directory.join("mistakes.csv"), mistakes())?;
    fs::write(directory.join("banks.csv"), payouts::banks())?;
    fs::write(directory.join("bank.csv"), payouts::bank()?)?;
    fs::write(directory.join("rtgs.csv"), payouts::rtgs()?)?;
    fs::write(directory.join("airtime.csv"), bills::airtime()?)?;
    fs::write(directory.join("bills.csv"), bills::bills()?)?;
    fs::write(directory.join("electricity.csv"), bills::electricity()?)?;
    // Of a seed of its own, so that the others stay as they are.
    let mut own = Rng::with_seed(SEED + 1);
    fs::write(directory.join("payroll.xlsx"), workbook::payroll(&mut own)?)?;
    fs::create_dir_all(directory.join("documents"))?;
    for (name, lines) in payouts::DOCUMENTS {
        fs::write(directory.join("documents").join(name), pdf::page(lines))?;
    }
    write_statements(&directory, &directory.join("statements"), statements::DAY)
}

/// Writes the statements of what the samples pay.
fn write_statements(samples: &Path, folder: &Path, day: &str) -> Outcome<()> {
    let read = |name: &str| fs::read_to_string(samples.join(name));
    fs::create_dir_all(folder)?;
    for (name, bytes) in statements::all(&read("refunds.csv")?, &read("bank.csv")?, day)? {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.usize(..from.len())]
}

fn person(rng: &mut Rng) -> String {
    format!("{} {}", pick(rng, &FIRST_NAMES), pick(rng, &LAST_NAMES))
}

/// Draws a number that the numbering plan knows.
fn number(rng: &mut Rng, country: &str, calling_code: &str, prefixes: &[&str]) -> Outcome<String> {
    let known = Country::from_code(country).ok_or("no such country")?;
    // The ranges above are nearly all assigned, so that a few draws are enough.
    for _ in 0..1000 {
        let mut digits = format!("{calling_code}{}", pick(rng, prefixes));
        while digits.len() < 12 {
            digits.push(char::from(rng.u8(b'0'..=b'9')));
        }
        if Msisdn::parse(&digits, known).is_ok() {
            return Ok(digits);
        }
    }
    Err(format!("no valid number among {prefixes:?} of {country}").into())
}

fn kenyan(rng: &mut Rng) -> Outcome<(&'static str, String)> {
    let (service, prefixes): (_, &[&str]) = match rng.u32(..100) {
        0..85 => ("B2C_MPESA", &MPESA),
        85..97 => ("B2C_AIRTEL", &AIRTEL),
        _ => ("B2C_TKASH", &TKASH),
    };
    Ok((service, number(rng, "KE", "254", prefixes)?))
}

/// A net salary: most between 18,000 and 120,000 shillings, few above.
fn salary(rng: &mut Rng) -> String {
    let gross = match rng.u32(..100) {
        0..30 => rng.u32(21_000..35_000),
        30..75 => rng.u32(35_000..75_000),
        75..95 => rng.u32(75_000..140_000),
        _ => rng.u32(140_000..280_000),
    };
    // Taxes and contributions leave an odd number of cents.
    let cents = u64::from(gross) * 100 * rng.u64(7_000..8_600) / 10_000;
    decimal(cents)
}

fn decimal(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn payroll(rng: &mut Rng) -> Outcome<String> {
    let mut file = String::from(
        "reference,service_code,msisdn,amount,currency_code,customer_names,narration\n",
    );
    for employee in 1..=1000 {
        let (service, msisdn) = kenyan(rng)?;
        let (amount, name) = (salary(rng), person(rng));
        writeln!(
            file,
            "EMP-{employee:05},{service},{msisdn},{amount},KES,{name},Salary November 2026"
        )?;
    }
    Ok(file)
}

fn refunds(rng: &mut Rng) -> Outcome<String> {
    let reasons = [
        "Order cancelled",
        "Item out of stock",
        "Duplicate charge",
        "\"Express\" delivery, late",
    ];
    let mut file = String::from(
        "reference,service_code,msisdn,amount,currency_code,customer_names,invoice_number,narration\n",
    );
    let mut previous = String::new();
    for refund in 1..=200 {
        // The same customer is sometimes refunded the same amount again: equal in all but the reference.
        if refund % 25 != 0 || previous.is_empty() {
            let msisdn = number(rng, "KE", "254", &MPESA)?;
            let amount = decimal(rng.u64(200..80_000) * 5);
            let (name, invoice) = (person(rng), rng.u32(100_000..999_999));
            let reason = pick(rng, &reasons).replace('"', "\"\"");
            previous =
                format!("REFUND_MPESA,{msisdn},{amount},KES,{name},INV-{invoice},\"{reason}\"");
        }
        writeln!(file, "RF-2026-{refund:04},{previous}")?;
    }
    Ok(file)
}

fn nightly(rng: &mut Rng, prefix: &str, rows: u32) -> Outcome<Vec<String>> {
    let mut objects = Vec::new();
    for row in 1..=rows {
        let (service, msisdn, amount, currency, country, name) = match rng.u32(..100) {
            0..60 => {
                let (service, msisdn) = kenyan(rng)?;
                (
                    service,
                    msisdn,
                    decimal(rng.u64(5_000..2_500_000)),
                    "KES",
                    "KE",
                    person(rng),
                )
            }
            60..70 => {
                let amount = decimal(rng.u64(5_000..900_000));
                (
                    "REFUND_MPESA",
                    number(rng, "KE", "254", &MPESA)?,
                    amount,
                    "KES",
                    "KE",
                    person(rng),
                )
            }
            70..85 => {
                let amount = (rng.u32(5..3_000) * 500).to_string();
                let name = pick(rng, &UGANDAN_NAMES).to_owned();
                (
                    "B2C_MTN_UG",
                    number(rng, "UG", "256", &MTN_UGANDA)?,
                    amount,
                    "UGX",
                    "UG",
                    name,
                )
            }
            _ => {
                let amount = decimal(rng.u64(2..4_000) * 50_000);
                let name = pick(rng, &TANZANIAN_NAMES).to_owned();
                (
                    "B2C_VODACOM_TZ",
                    number(rng, "TZ", "255", &VODACOM_TANZANIA)?,
                    amount,
                    "TZS",
                    "TZ",
                    name,
                )
            }
        };
        objects.push(format!(
            "{{\"reference\": \"{prefix}-{row:04}\", \"service_code\": \"{service}\", \"msisdn\": \"{msisdn}\", \
             \"amount\": {amount}, \"currency_code\": \"{currency}\", \"country_code\": \"{country}\", \
             \"customer_names\": \"{name}\", \"narration\": \"Nightly settlement\", \"extra.batchWindow\": \"22:00\"}}"
        ));
    }
    Ok(objects)
}

/// One row for each kind of mistake, named in its narration; the first and the last row are right.
fn mistakes() -> String {
    let long = "x".repeat(5000);
    let rows = [
        "M-01,B2C_MPESA,254712345678,1500.00,KES,KE,nothing wrong",
        "M-02,B2C_MPESA,25471234567,1500.00,KES,KE,a digit is missing",
        "M-03,B2C_MPESA,2.54712E+11,1500.00,KES,KE,number in scientific notation",
        "M-04,B2C_MPESA,712345678,1500.00,KES,KE,lost leading zero",
        "M-05,B2C_MPESA,256772123456,1500.00,KES,KE,number of another country",
        "M-06,B2C_MPESA,254912345678,1500.00,KES,KE,number that no operator has",
        "M-07,B2C_MPESA,,1500.00,KES,KE,no number",
        "M-08,B2C_MPSEA,254712345678,1500.00,KES,KE,misspelt service",
        "M-09,B2C_MPESA,254712345678,\"1,234.50\",KES,KE,thousands separator",
        "M-10,B2C_MPESA,254712345678,\"1.234,50\",KES,KE,thousands separator and decimal comma",
        "M-11,B2C_MPESA,254712345678,1 234.50,KES,KE,thousands separated by blanks",
        "M-12,B2C_MPESA,254712345678,\"1234,50\",KES,KE,decimal comma",
        "M-13,B2C_MPESA,254712345678,Ksh 1500,KES,KE,currency sign",
        "M-14,B2C_MPESA,254712345678,01/12/2026,KES,KE,date in the amount",
        "M-15,B2C_MPESA,254712345678,#REF!,KES,KE,failed formula",
        "M-16,B2C_MPESA,254712345678,10.005,KES,KE,more decimals than the currency has",
        "M-17,B2C_MPESA,254712345678,-50.00,KES,KE,negative",
        "M-18,B2C_MPESA,254712345678,0.00,KES,KE,zero",
        "M-19,B2C_MPESA,254712345678,,KES,KE,no amount",
        "M-20,B2C_MPESA,254712345678,5.00,KES,KE,less than the service pays",
        "M-21,B2C_MPESA,254712345678,300000.00,KES,KE,more than the service pays",
        "M-22,B2C_MPESA,254712345678,1500,UGX,KE,currency of another service",
        "M-23,B2C_MPESA,254712345678,1500.00,KEZ,KE,no such currency",
        "M-24,B2C_MPESA,254712345678,1500.00,KES,ke,country in small letters",
        "M-25,B2C_MPESA,254712345678,1500.00,KES,KE",
        "M-26,B2C_MPESA,254712345678,1,500.00,KES,KE,a comma too many",
        "M-27,B2C_MPESA,254712345678,1500.00,KES,KE,\"quote\" in a quoted cell",
        "M-28,B2C_MPESA,254712345678,1500.00,KES,KE,control\u{7}character",
        "M-29,B2C_MPESA,254712345678,1500.00,KES,KE,LONG",
        "1.2E+15,B2C_MPESA,254712345678,1500.00,KES,KE,reference in scientific notation",
        "M-31,B2C_MPSEA,25471234567,\"1,500\",KES,KE,three mistakes in one row",
        "M-32,B2C_MPESA,254712345679,1600.00,KES,KE,reference used twice",
        "M-32,B2C_MPESA,254712345670,1700.00,KES,KE,reference used twice",
        ",B2C_MPESA,254722345678,1800.00,KES,KE,equal rows without a reference",
        ",B2C_MPESA,254722345678,1800.00,KES,KE,equal rows without a reference",
        "M-36,B2C_MPESA,+254 712 345 678,1500.50,KES,KE,nothing wrong: the number is brought into form",
    ];
    let header = "reference,service_code,msisdn,amount,currency_code,country_code,narration\n";
    format!("{header}{}\n", rows.join("\n")).replace("LONG", &format!("long: {long}"))
}
