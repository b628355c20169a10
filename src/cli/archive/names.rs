//! What archives are called, and what their members may be called.

use crate::domain::{BatchName, Timestamp};

/// What stands in an archive.
pub(in crate::cli) const README: &str = "README.txt";
/// Digests and figures, by which the others are held.
pub(in crate::cli) const MANIFEST: &str = "manifest.json";
/// The evidence, as a journal of its own.
pub(in crate::cli) const JOURNAL: &str = "journal.db";
/// How far the evidence reached.
pub(in crate::cli) const HEADS: &str = "heads.txt";
/// Its signature, where a key for it is configured.
pub(in crate::cli) const HEADS_SIGNATURE: &str = "heads.txt.sig";
/// The folder of the report.
pub(in crate::cli) const REPORT: &str = "report";
/// The folder of what people signed.
pub(in crate::cli) const SIGNATURES: &str = "signatures";

/// A name is no longer, in bytes.
const NAME_MAX: usize = 200;

/// Returns what the archive of a batch is called: with the day of its first load and of its newest evidence, in universal time.
pub(in crate::cli) fn of_archive(
    batch: &BatchName,
    (first, last): (Timestamp, Timestamp),
    encrypted: bool,
) -> String {
    let end = if encrypted { ".age" } else { "" };
    format!("{batch}-{}-{}.disburse.zip{end}", day(first), day(last))
}

/// Returns `20261126`.
fn day(at: Timestamp) -> String {
    let text = at.to_string();
    let day: String = text.chars().take(10).filter(|c| *c != '-').collect();
    match day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()) {
        true => day,
        // No clock shows such a year.
        false => "undated".to_owned(),
    }
}

/// Returns whether a member of an archive may have this name: nothing else is ever unpacked.
pub(in crate::cli) fn is_member(name: &str) -> bool {
    let mut parts = name.split('/');
    let is_known = match parts.next() {
        Some(README | MANIFEST | JOURNAL | HEADS | HEADS_SIGNATURE) => {
            return parts.next().is_none();
        }
        Some(REPORT | SIGNATURES) => true,
        _ => false,
    };
    let below: Vec<&str> = parts.collect();
    is_known
        && name.len() <= NAME_MAX
        && (1..=3).contains(&below.len())
        && below.iter().all(|part| is_plain(part))
}

/// Returns whether a part of a name is one of a file that any system takes, and no other place.
pub(in crate::cli) fn is_plain(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !part.is_empty() && !part.starts_with(['.', '-']) && part.chars().all(is_plain)
}

/// Returns a text as a part of a name: other signs become `_`.
pub(in crate::cli) fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.chars()
        .take(64)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_named_after_its_batch_and_its_days() {
        let batch = BatchName::parse("june.2026").unwrap();
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let days = (at("2026-06-30T23:59:59Z"), at("2026-07-02T00:00:00+03:00"));
        assert_eq!(
            of_archive(&batch, days, false),
            "june.2026-20260630-20260701.disburse.zip"
        );
        assert_eq!(
            of_archive(&batch, days, true),
            "june.2026-20260630-20260701.disburse.zip.age"
        );
        let odd = (Timestamp::from_millis(i64::MIN), Timestamp::from_millis(0));
        assert_eq!(
            of_archive(&batch, odd, false),
            "june.2026-undated-19700101.disburse.zip"
        );
    }

    #[test]
    fn no_other_name_is_unpacked() {
        for name in [
            "README.txt",
            "manifest.json",
            "journal.db",
            "heads.txt",
            "heads.txt.sig",
            "report/payments.csv",
            "report/report_files/ab998c52c47e7d21/00001.js",
            "signatures/0001-load-ada_example.org.txt.sig",
        ] {
            assert!(is_member(name), "{name}");
        }
        for name in [
            "",
            "/etc/passwd",
            "../journal.db",
            "report/../../x",
            "report/..",
            "report/.hidden",
            "report/-f",
            "report/",
            "report",
            "report//x",
            "report/a/b/c/d",
            "report\\x",
            "report/a\\b",
            "report/a b",
            "report/\u{e9}",
            "report/a\0b",
            "journal.db/x",
            "journal.db-wal",
            "other/x",
            "README.TXT",
        ] {
            assert!(!is_member(name), "{name:?}");
        }
        assert!(!is_member(&format!("report/{}", "a".repeat(200))));
        assert_eq!(plain("ada@example.org/../x"), "ada_example.org_.._x");
    }
}
