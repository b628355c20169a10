//! Texts that others wrote: they are shown, never run.

use super::batch::{paid, texts};
use super::files::rows;
use crate::report::{Entry, StateName};

pub(super) const HOSTILE: [&str; 10] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>",
    "<!-- ]]> &lt;b&gt; & 'quoted'",
    "=HYPERLINK(\"http://evil.example\",\"pay\")",
    "\u{1b}[2J\u{9b}31mred\u{7}",
    "line one\r\nline two, \"quoted\"",
    "\u{202e}05.1 SEK",
    "\");alert(1);(\"",
    "\\\u{2028}alert(1)\u{2029}\\",
];

#[test]
fn no_format_runs_or_mangles_a_hostile_text() {
    for text in HOSTILE {
        let entry = Entry {
            reference: text,
            service_code: "B2C",
            account_number: text,
            status_description: text,
            gateway_transaction_id: text,
            receipt_number: text,
            receiver_narration: text,
            note: text,
            customer_names: text,
            narration: text,
            invoice_number: text,
            bank: crate::domain::BankAccount {
                bank_code: text,
                bank_name: text,
                account_name: text,
                account_number: text,
            },
            state: StateName::Failed,
            ..paid(2)
        };
        let [sheet, document, page] = texts(&[entry]);

        let mut reader = csv::Reader::from_reader(sheet.as_bytes());
        let cells = reader.records().next().unwrap().unwrap();
        assert_eq!(cells.len(), 28, "{text:?}");
        for cell in &cells {
            assert!(
                !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
                "{cell:?}"
            );
            assert!(!cell.contains('\u{1b}'), "{cell:?}");
        }

        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["payments"][0]["receiver_narration"], text);

        assert_eq!(page.matches("<script").count(), 2, "{text:?}");
        assert_eq!(page.matches("</script>").count(), 2, "{text:?}");
        for markup in ["<img", "<svg/", "<!--", "\u{1b}", "\u{9b}", "\u{202e}"] {
            assert!(!page.contains(markup), "{markup:?} of {text:?}");
        }
        for row in rows(&page) {
            for cell in row {
                assert!(!cell.starts_with('='), "{cell:?}");
            }
        }
    }
}

#[test]
fn a_hostile_row_that_was_rejected_is_shown_as_written() {
    let entry = Entry {
        line: 7,
        service_code: "<b>B2C</b>",
        msisdn: "+254700000001",
        amount_text: "-5",
        currency_text: "KES<",
        state: StateName::Rejected,
        note: "amount: must not be negative",
        ..Entry::default()
    };
    let [sheet, document, page] = texts(&[entry]);
    assert!(
        sheet.contains(",<b>B2C</b>,'+254700000001,,'-5,KES<,rejected,"),
        "{sheet}"
    );
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["payments"][0]["amount"], "-5");
    assert!(!page.contains("<b>B2C"));
    assert!(page.contains("&#39;-5") || page.contains("&#x27;-5"));
}
