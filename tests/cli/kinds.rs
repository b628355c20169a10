//! Every kind of payment: its sample, its mistakes, its documents and its tokens.

use std::fs;

use crate::desk::Desk;

const BANK: &str = "bank_code,bank_name,bank_account_name,bank_account_number";

/// A desk with a sample of transfers, its documents beside it.
fn with_transfers() -> Desk {
    let desk = Desk::new().sample("rtgs.csv");
    fs::create_dir(desk.path("documents")).unwrap();
    for name in [
        "board-resolution",
        "invoice-4711",
        "contract-2026-11",
        "bank-statement",
    ] {
        let name = format!("documents/{name}.pdf");
        let from = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/");
        fs::copy(format!("{from}{name}"), desk.path(&name)).unwrap();
    }
    desk
}

#[test]
fn the_sample_of_every_kind_passes_with_its_totals() {
    for name in ["bank.csv", "airtime.csv", "bills.csv", "electricity.csv"] {
        let said = Desk::new().sample(name).run(&["check", name, "--sandbox"]);
        insta::assert_snapshot!(format!("check_{name}"), said.whole());
    }
    let said = with_transfers().run(&["check", "rtgs.csv", "--sandbox"]);
    insta::assert_snapshot!("check_rtgs.csv", said.whole());
    // With the directory of the banks that the sample names.
    let desk = Desk::new().sample("bank.csv").sample("banks.csv");
    let said = desk
        .variable("DISBURSE_BANK_DIRECTORY", "banks.csv")
        .run(&["check", "bank.csv", "--sandbox"])
        .finished(0);
    assert_eq!(said.err, "");
}

#[test]
fn mistakes_with_banks_are_named() {
    let desk = Desk::new()
        .sample("banks.csv")
        .file(
            "pay.csv",
            format!(
                "reference,service_code,msisdn,amount,{BANK}\n\
                 B-1,BANK_TRANSFER,254712345678,500.00,01,Mlima Bank,Esther Were,0110123456789\n\
                 B-2,BANK_TRANSFER,254712345678,500.00,01,,Esther Were,0110123456789\n\
                 B-3,BANK_TRANSFER,254712345678,500.00,01,Mlima Bank,,\n\
                 B-4,BANK_TRANSFER,254712345678,500.00,99,Mlima Bank,Esther Were,0110123456789\n\
                 B-5,BANK_TRANSFER,254712345678,500.00,1,,Esther Were,0110123456789\n\
                 B-6,BANK_TRANSFER,254712345678,500.00,03,Mlima Bank,Esther Were,0110123456789\n\
                 B-7,B2C_MPESA,254712345678,500.00,01,,,\n\
                 B-8,BANK_TRANSFER,254712345678,500.00,,,Esther Were,1.10123E+12\n"
            ),
        )
        .file(
            "none.csv",
            "reference,service_code,msisdn,amount\nB-1,BANK_TRANSFER,254712345678,500.00\n",
        )
        .file(
            "broken.csv",
            "bank_code,bank_name\n01,Mlima Bank\n01,Kilimo Bank\n",
        );
    insta::assert_snapshot!(
        "bank_columns_missing",
        desk.run(&["check", "none.csv", "--sandbox"]).whole()
    );
    let desk = desk.variable("DISBURSE_BANK_DIRECTORY", "banks.csv");
    insta::assert_snapshot!(
        "bank_mistakes",
        desk.run(&["check", "pay.csv", "--sandbox"]).whole()
    );
    let desk = desk.variable("DISBURSE_BANK_DIRECTORY", "broken.csv");
    desk.refuses(
        &["check", "pay.csv", "--sandbox"],
        2,
        &[
            "error: broken.csv:3: bank_code: \"01\" is the code of \"Mlima Bank\" already, found \"Kilimo Bank\"",
            "hint: bank_directory names this file: CSV with the columns bank_code and bank_name",
        ],
    );
}

#[test]
fn rows_that_name_documents_are_added_again_from_the_folder_of_the_batch_file() {
    let desk = with_transfers();
    let sample = desk.text("rtgs.csv");
    let first = sample.lines().nth(1).unwrap();
    let number = first
        .split(',')
        .find(|cell| cell.starts_with("254"))
        .unwrap()
        .to_owned();
    let desk = desk.file("rtgs.csv", sample.replacen(&number, &number[..9], 1));
    let load = |file: &'static str, more: &[&'static str]| {
        [&["load", file, "--batch", "b", "--sandbox"], more].concat()
    };
    desk.run(&load("rtgs.csv", &["--on-error", "skip"]))
        .finished(0);
    let said = desk.run(&["report", "b", "--out", "r"]);
    let words = "copy it into the folder of the batch file, in which its documents are looked for, and add it from there: disburse load \
                 failed.csv --batch b --amend --sandbox";
    assert!(said.err.contains(words), "{}", said.err);
    let failed = desk.text("r/failed.csv");
    assert!(
        failed.contains("first copy this file into the folder of the batch file"),
        "{failed}"
    );
    let desk = desk.file("failed.csv", failed.replacen(&number[..9], &number, 1));
    let said = desk.run(&load("failed.csv", &["--amend"])).finished(0);
    assert!(
        said.err.contains("1 mended row takes the place"),
        "{}",
        said.err
    );
}

#[test]
fn mistakes_with_documents_are_named() {
    let desk = with_transfers();
    let sound = fs::read(desk.path("documents/invoice-4711.pdf")).unwrap();
    let row = |number: u32, service: &str, amount: &str, document: &str| {
        let bank = if service == "RTGS" {
            "01,Mlima Bank,Esther Were,0110123456789"
        } else {
            ",,,"
        };
        format!("D-{number},{service},254712345678,{amount},{bank},{document}\n")
    };
    let rows = [
        row(1, "RTGS", "1000000.00", "documents/invoice-4711.pdf"),
        row(2, "RTGS", "1000000.00", ""),
        row(3, "RTGS", "1000000.00", "documents/invoice-4712.pdf"),
        row(4, "RTGS", "1000000.00", "documents"),
        row(5, "RTGS", "1000000.00", "text.pdf"),
        row(6, "RTGS", "1000000.00", "cut.pdf"),
        row(7, "RTGS", "1000000.00", "locked.pdf"),
        row(8, "RTGS", "1000000.00", "large.pdf"),
        row(9, "RTGS", "999999.99", "nowhere.pdf"),
        row(10, "B2C_MPESA", "500.00", "documents/invoice-4711.pdf"),
        row(11, "RTGS", "1000000.00", "/etc/hostname"),
        row(12, "RTGS", "1000000.00", "documents/../../secret.pdf"),
    ];
    let locked = String::from_utf8(sound.clone()).unwrap().replace(
        "/Root 1 0 R",
        "/Root 1 0 R /ID [(a) (b)] /Encrypt << /Filter /Standard /V 1 /R 2 /O (12345678901234567890123456789012) \
         /U (12345678901234567890123456789012) /P -4 >>",
    );
    let desk = desk
        .file(
            "pay.csv",
            format!(
                "reference,service_code,msisdn,amount,{BANK},document\n{}",
                rows.concat()
            ),
        )
        .file("text.pdf", "Invoice 4711\n")
        .file("cut.pdf", &sound[..sound.len() - 100])
        .file("locked.pdf", locked)
        .file("large.pdf", [sound.clone(), vec![b' '; 2_000]].concat())
        .variable("DISBURSE_DOCUMENT_BYTES_MAX", "2000");
    insta::assert_snapshot!(
        "document_mistakes",
        desk.run(&["check", "pay.csv", "--sandbox"]).whole()
    );
}

#[test]
fn a_document_is_found_from_wherever_the_run_is_started() {
    let desk = with_transfers();
    fs::create_dir(desk.path("elsewhere")).unwrap();
    desk.run(&["load", "rtgs.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let said = desk.shell(
        "cd elsewhere && disburse --journal ../disburse.db run b --sandbox --faults none --yes --json --max-wait 40s",
    );
    let states = &said.finished(0).json()["states"];
    assert_eq!(states["paid"]["count"], 24);
    // Standard input lies where the program runs.
    let rows = desk.text("rtgs.csv");
    let said = desk.run_with_input(&["check", "-", "--sandbox"], &rows);
    assert_eq!(said.finished(0).err, "");
    let said = desk.shell("cd elsewhere && disburse check - --sandbox < ../rtgs.csv");
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains(
            "found no such file, lines 2, 4, 7, 10, 13, 16, 19, 22, 25 (the first: \"documents/"
        ),
        "{}",
        said.err
    );
}

#[test]
fn currencies_are_kept_apart_in_every_total() {
    let desk = Desk::new().file(
        "pay.csv",
        "reference,service_code,msisdn,amount,currency_code,country_code\n\
         C-1,B2C_MPESA,254712345678,100.50,KES,KE\n\
         C-2,B2C_MTN_UG,256772123456,1500,UGX,UG\n\
         C-3,B2C_VODACOM_TZ,255742123456,2000.25,TZS,TZ\n\
         C-4,B2C_MPESA,254712345679,50.00,KES,KE\n\
         C-5,B2C_MTN_UG,256772123457,15.5,UGX,UG\n",
    );
    let said = desk.run(&["check", "pay.csv", "--sandbox"]).finished(2);
    assert!(
        said.err
            .contains("pay.csv:6: amount: UGX has 0 decimals, found 1"),
        "{}",
        said.err
    );
    let amounts = serde_json::json!({"KES": "150.50", "TZS": "2000.25", "UGX": "1500"});
    let skip = [
        "load",
        "pay.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
        "--json",
    ];
    assert_eq!(desk.run(&skip).finished(0).json()["amounts"], amounts);
    let run = ["run", "b", "--sandbox", "--faults", "none", "--yes", "-q"];
    desk.run(&run).finished(3);
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["paid"]["amounts"], amounts);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    assert_eq!(report["control"]["amounts"], amounts);
    assert_eq!(report["adds_up"], true);
}

#[test]
fn a_token_is_shown_where_it_is_asked_for_and_nowhere_else() {
    let desk = Desk::new()
        .sample("electricity.csv")
        .variable("DISBURSE_LOG", "trace");
    let mut said = desk
        .run(&[
            "pay",
            "electricity.csv",
            "--batch",
            "b",
            "--sandbox",
            "--faults",
            "none",
            "--yes",
            "-vv",
        ])
        .finished(0);
    let report: serde_json::Value =
        serde_json::from_str(&desk.text("reports/b/report.json")).unwrap();
    let payments = report["payments"].as_array().unwrap();
    let tokens: Vec<String> = payments
        .iter()
        .map(|payment| payment["electricity_token"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(tokens.len(), 30);
    let sheet = desk.text("reports/b/payments.csv");
    let mut shown = vec![desk.text("reports/b/report.html")];
    for command in [
        &["explain", "b", "EL-0001"][..],
        &["explain", "b", "EL-0001", "--json"],
        &["report", "b", "--out", "r", "-vv"],
        &["status", "b", "-vv"],
    ] {
        let next = desk.run(command).finished(0);
        shown.push(next.out);
        said.err.push_str(&next.err);
    }
    shown.extend([said.out, said.err]);
    let digits =
        |text: &str| -> String { text.chars().filter(|c| !matches!(c, ' ' | '-')).collect() };
    let sheet = digits(&sheet);
    let shown: Vec<String> = shown.iter().map(|text| digits(text)).collect();
    for token in &tokens {
        assert!(sheet.contains(token.as_str()));
        assert!(
            shown.iter().all(|text| !text.contains(token.as_str())),
            "a token is shown"
        );
    }
    assert!(
        shown
            .iter()
            .any(|text| text.contains(&format!("****************{}", &tokens[0][16..])))
    );
    for command in [
        &["explain", "b", "EL-0001", "--reveal"][..],
        &["explain", "b", "EL-0001", "--reveal", "--json"],
    ] {
        let said = desk.run(command).finished(0);
        let times = digits(&said.out).matches(tokens[0].as_str()).count();
        assert!(times >= 2, "token and narration: {}", said.out);
        assert!(
            !digits(&said.err).contains(tokens[0].as_str()),
            "never in the log"
        );
    }
}
