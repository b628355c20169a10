//! report.html in a real browser, opened as a file: what is searched is found, and no text of a row runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use disburse::domain::{
    Amount, BankAccount, BatchName, ControlTotals, Currency, Money, Originator, ServiceCode,
    Timestamp, WireZone,
};
use disburse::ledger::Purpose;
use disburse::ledger::schedule::Scheduled;
use disburse::report::{BatchHeader, Entry, Load, StateName, Writer};

/// Texts that would leave a mark on the page if one of them ran, wherever it stands.
const HOSTILE: [&str; 9] = [
    "</script><script>document.documentElement.className='ran'</script>",
    "<img src=x onerror=\"document.documentElement.className='ran'\">",
    "\"><svg/onload=document.documentElement.className='ran'>",
    "\");document.documentElement.className='ran';(\"",
    "\\\");document.documentElement.className='ran';//",
    "\u{2028}document.documentElement.className='ran'\u{2029}",
    "<!--<script>",
    "javascript:document.documentElement.className='ran'",
    "]]>{{7*7}}${document.documentElement.className='ran'}",
];

/// More than the page itself takes.
const MANY: u64 = 20_120;

/// The browser that is installed.
fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok()
        });
    if found.is_none() {
        let text = "NOT CHECKED: no browser is installed (apt-get install chromium)";
        assert_ne!(
            std::env::var("BROWSER_TOOLS").as_deref(),
            Ok("required"),
            "{text}"
        );
        println!("{text}");
    }
    found
}

/// What the browser made of a page once its script had nothing left to do.
struct Shown {
    document: String,
}

impl Shown {
    /// Opens a page as a double click does; `asked` is what the list is to show, as page.js reads it behind the `#`.
    fn of(browser: &str, page: &Path, asked: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let done = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(["--virtual-time-budget=60000", "--dump-dom"])
            .arg(format!("file://{}#{asked}", page.display()))
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let document = String::from_utf8(done.stdout).unwrap();
        assert!(document.contains("</html>"), "{asked}: {document:?}");
        Self { document }
    }

    fn part<'a>(&'a self, from: &str, to: &str) -> &'a str {
        let (_, rest) = self.document.split_once(from).unwrap();
        let rest = rest.split_once('>').unwrap().1;
        rest.split_once(to).unwrap().0
    }

    /// What the page says it found.
    fn found(&self) -> String {
        self.part("<output id=\"found\"", "</output>")
            .replace("&nbsp;", " ")
    }

    fn trouble(&self) -> &str {
        self.part("<p class=\"note\" id=\"trouble\"", "</p>")
    }

    /// The rows of the list.
    fn list(&self) -> &str {
        let list = self.part("<table class=\"rows\" id=\"list\"", "</table>");
        list.split_once("<tbody>").unwrap().1
    }

    /// The references of the rows that the list shows.
    fn references(&self) -> Vec<&str> {
        let rows = self.list().split("<tr>").skip(1);
        rows.map(|row| row.split("<td").nth(2).unwrap())
            .map(|cell| cell.split_once('>').unwrap().1.split_once('<').unwrap().0)
            .collect()
    }

    #[track_caller]
    fn ran_nothing(&self, case: &str) {
        assert!(
            !self.document.contains("class=\"ran\""),
            "{case}: a text ran"
        );
        for element in ["<img", "<svg/", "<!--"] {
            assert!(!self.document.contains(element), "{case}: {element}");
        }
        assert_eq!(self.document.matches("<script").count(), 2, "{case}");
    }
}

fn money(row: u64) -> Money {
    Money {
        amount: Amount::from_minor(100 + row as i64).unwrap(),
        currency: Currency::from_code("KES").unwrap(),
    }
}

/// Writes the report of so many payments; every third row says something hostile.
fn write(dir: &Path, rows: u64) {
    let service = ServiceCode::parse("B2C_MPESA").unwrap();
    let mut control = ControlTotals::default();
    (1..=rows).for_each(|row| control.add(&service, money(row)));
    let at = Timestamp::from_millis(1_795_845_600_000);
    let header = BatchHeader {
        purpose: Purpose::Rehearsal,
        lists_all: false,
        name: BatchName::parse("page").unwrap(),
        originator: Originator::parse("Acme Tea Estates").unwrap(),
        gateway: String::new(),
        created_at: at,
        loads: vec![Load {
            source: HOSTILE[1].to_owned(),
            digest: String::new(),
            loaded_at: at,
        }],
        control,
        failed_rows: "failed.csv".to_owned(),
        rejected_lines: 0,
        evidence_rows: 0,
        evidence_head: String::new(),
        held_lanes: Vec::new(),
        account: String::new(),
        zone: WireZone::utc(),
        people: Vec::new(),
        paid_twice: Vec::new(),
        paid_twice_count: 0,
        scheduled: Scheduled::default(),
        waits: disburse::report::CalendarWaits::default(),
        statements: Vec::new(),
        behind: None,
        at_work: None,
    };
    let mut writer = Writer::create(dir, header).unwrap();
    for row in 1..=rows {
        let (id, reference) = (format!("{row:026}"), format!("EMP-{row:05}"));
        let text = match row % 3 {
            0 => HOSTILE[(row / 3) as usize % HOSTILE.len()],
            _ => "",
        };
        // These lie far apart, in several files.
        let name = match row % 5_000 {
            7 => "Nafula Wekesa",
            _ => text,
        };
        writer
            .add(&Entry {
                line: row + 1,
                reference: &reference,
                id: &id,
                service_code: service.as_str(),
                msisdn: "254712345678",
                account_number: "254712345678",
                money: Some(money(row)),
                state: if row % 6_000 == 0 {
                    StateName::Failed
                } else {
                    StateName::Paid
                },
                status_description: text,
                receipt_number: text,
                gateway_transaction_id: text,
                customer_names: name,
                narration: text,
                invoice_number: text,
                note: text,
                bank: BankAccount {
                    bank_code: text,
                    bank_name: text,
                    account_name: text,
                    account_number: text,
                },
                attempts: 1,
                ..Entry::default()
            })
            .unwrap();
    }
    writer.finish().unwrap();
}

/// Texts that nothing shields leave their mark: without this, the tests could not fail.
fn would_notice(browser: &str, dir: &Path) {
    let page = dir.join("control.html");
    fs::write(&page, format!("<!doctype html><p>{}</html>", HOSTILE[0])).unwrap();
    let shown = Shown::of(browser, &page, "");
    assert!(
        shown.document.contains("class=\"ran\""),
        "{}",
        shown.document
    );
}

#[test]
fn a_page_that_is_one_file_is_searched_and_runs_no_text_of_a_row() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    would_notice(browser, dir.path());
    write(dir.path(), 600);
    let page = dir.path().join("report.html");
    for (asked, found, first, rows) in [
        ("", "1–50 of 600 · KES 2,403.00", "EMP-00001", 50),
        ("page=12", "551–600 of 600 · KES 2,403.00", "EMP-00551", 50),
        (
            "page=9&rows=200",
            "401–600 of 600 · KES 2,403.00",
            "EMP-00401",
            200,
        ),
        ("q=emp-00599", "1–1 of 1 · KES 6.99", "EMP-00599", 1),
        ("q=onerror", "1–23 of 23 · KES 92.00", "EMP-00003", 23),
        ("q=nobody", "Nothing found among 600 rows", "", 0),
    ] {
        let shown = Shown::of(browser, &page, asked);
        assert_eq!(shown.found(), found, "{asked}");
        let references = shown.references();
        assert_eq!(
            references.first().copied().unwrap_or_default(),
            first,
            "{asked}"
        );
        assert_eq!(references.len(), rows, "{asked}");
        shown.ran_nothing(asked);
    }
}

#[test]
fn a_page_with_files_beside_it_is_searched_over_all_of_them_and_runs_no_text_of_a_row() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), MANY);
    let page = dir.path().join("report.html");
    let all = "20,120 · KES 2,044,292.60";
    for (asked, found, first, rows) in [
        ("", format!("1–50 of {all}"), "EMP-00001", 50),
        (
            "page=403",
            format!("20,101–20,120 of {all}"),
            "EMP-20101",
            20,
        ),
        // The first rows of the second file.
        (
            "page=81&rows=50",
            format!("4,001–4,050 of {all}"),
            "EMP-04001",
            50,
        ),
        (
            "q=EMP-20119",
            "1–1 of 1 · KES 202.19".to_owned(),
            "EMP-20119",
            1,
        ),
        (
            "q=nafula+wekesa",
            "1–5 of 5 · KES 505.35".to_owned(),
            "EMP-00007",
            5,
        ),
        (
            "q=nafula&state=failed",
            "Nothing found among the rows of this state".to_owned(),
            "",
            0,
        ),
        (
            "state=failed",
            "1–3 of 3 · KES 363.00".to_owned(),
            "EMP-06000",
            3,
        ),
        (
            "q=emp-1&page=3",
            "101–150 of 10,000 · KES 1,509,950.00".to_owned(),
            "EMP-10100",
            50,
        ),
        // Further than what is kept in memory.
        (
            "q=emp-1&page=200",
            "9,951–10,000 of 10,000 · KES 1,509,950.00".to_owned(),
            "EMP-19950",
            50,
        ),
        (
            "q=nobody",
            "Nothing found among 20,120 rows".to_owned(),
            "",
            0,
        ),
    ] {
        let shown = Shown::of(browser, &page, asked);
        assert_eq!(shown.trouble(), "", "{asked}");
        assert_eq!(shown.found(), found, "{asked}");
        let references = shown.references();
        assert_eq!(
            references.first().copied().unwrap_or_default(),
            first,
            "{asked}"
        );
        assert_eq!(references.len(), rows, "{asked}");
        shown.ran_nothing(asked);
    }
    // Each kind of hostile text is on the screen, as a text.
    let shown = Shown::of(browser, &page, "rows=50");
    for text in [
        "&lt;img src=x onerror=",
        "&lt;svg/onload=",
        "]]&gt;{{7*7}}${",
    ] {
        assert!(shown.list().contains(text), "{text}");
    }
}

#[test]
fn a_page_without_its_files_says_so_and_lets_no_markup_load_another() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), MANY);
    let page = dir.path().join("report.html");
    let key = fs::read_dir(dir.path().join("report_files")).unwrap();
    let folder = key.map(|folder| folder.unwrap().path()).next().unwrap();
    // A file of another number is not taken for the one that is missing.
    fs::copy(folder.join("00002.js"), folder.join("00003.js")).unwrap();
    let missing = "/00003.js is missing, or is not the file that belongs to this page.";
    let shown = Shown::of(browser, &page, "q=emp-1");
    assert!(shown.trouble().contains(missing), "{}", shown.trouble());
    assert!(shown.trouble().contains("the search is not complete"));
    assert_eq!(shown.found(), "0 found in 39 % of the rows");
    let shown = Shown::of(browser, &page, "page=170");
    assert!(shown.trouble().contains(missing), "{}", shown.trouble());
    assert!(shown.references().is_empty());
    // What the page has of its own is seen without any of them.
    fs::remove_dir_all(dir.path().join("report_files")).unwrap();
    let shown = Shown::of(browser, &page, "");
    assert!(
        shown.trouble().contains("/00001.js is missing"),
        "{}",
        shown.trouble()
    );
    assert_eq!(shown.references().len(), 50);

    // Even where somebody got markup into the page, it loads no script that lies beside it.
    fs::write(
        dir.path().join("evil.js"),
        "document.documentElement.className='ran'",
    )
    .unwrap();
    let text = fs::read_to_string(&page).unwrap();
    let text = text.replace(
        "<main>",
        "<script src=\"evil.js\"></script><img src=x onerror=\"document.documentElement.className='ran'\"><main>",
    );
    fs::write(&page, &text).unwrap();
    let shown = Shown::of(browser, &page, "");
    assert!(shown.document.contains("evil.js"));
    assert!(
        !shown.document.contains("class=\"ran\""),
        "the policy lets it in"
    );
    // It is the policy that keeps it out.
    let (before, rest) = text.split_once("<meta http-equiv").unwrap();
    let without = format!("{before}{}", rest.split_once('>').unwrap().1);
    fs::write(&page, without).unwrap();
    let shown = Shown::of(browser, &page, "");
    assert!(shown.document.contains("class=\"ran\""));
}
