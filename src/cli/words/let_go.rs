//! What is said of a batch whose people are not in the journal any more: they were archived, or forgotten.

use crate::cli::terminal::output;
use crate::domain::WireZone;
use crate::journal::LetGo;

/// Says it in a line of a list.
pub(in crate::cli) fn let_go_note(let_go: &LetGo, zone: &WireZone) -> String {
    let at = zone.format_named(let_go.at);
    match let_go.archive {
        Some(_) => format!("archived since {at}"),
        None => format!("people forgotten, last {at}"),
    }
}

/// Says it of one batch, and how its archive is read. `row`: what names the one row that is asked about.
pub(in crate::cli) fn let_go_text(let_go: &LetGo, row: Option<&str>, zone: &WireZone) -> String {
    let at = zone.format_named(let_go.at);
    match &let_go.archive {
        Some(file) => {
            let file = output::quoted(file);
            let row = row.map_or_else(String::new, |row| {
                format!(" --payment {}", output::quoted(row))
            });
            format!(
                "archived since {at}: names, numbers and references are in its archive, and in this journal no more. To read it, in the folder of the archives: disburse archive read {file}{row}"
            )
        }
        None => format!(
            "people of it were forgotten, as they had asked, last {at}: their names, numbers and references are in this journal no more. An archive or a report that was made before may still have them"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn it_says_since_when_and_how_the_archive_is_read() {
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        let at = Timestamp::parse("2026-11-26T09:04:48.000Z").unwrap();
        let archived = LetGo {
            at,
            archive: Some("june-20250627-20250630.disburse.zip".to_owned()),
        };
        let note = let_go_note(&archived, &nairobi);
        assert_eq!(note, "archived since 2026-11-26 12:04:48 EAT");
        let text = let_go_text(&archived, Some("forgotten-1"), &nairobi);
        assert!(
            text.ends_with(
                "disburse archive read june-20250627-20250630.disburse.zip --payment forgotten-1"
            ),
            "{text}"
        );
        let forgotten = LetGo { at, archive: None };
        let text = let_go_text(&forgotten, None, &nairobi);
        assert!(!text.contains("archive read"), "{text}");
        assert!(let_go_note(&forgotten, &nairobi).starts_with("people forgotten"));
    }
}
