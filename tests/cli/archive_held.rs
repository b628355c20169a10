//! What an archive says of itself, held against the journal that it holds.

use serde_json::Value;

use crate::archive::{archived, members, pack_all, paid, read};

/// What no journal tells is the archive itself; all else of the manifest is held against the journal, whatever is added to it later.
#[test]
fn nothing_of_a_manifest_is_believed_that_the_journal_tells_otherwise() {
    let desk = paid();
    let path = archived(&desk);
    let whole = members(&path);
    let manifest: Value = serde_json::from_slice(&whole["manifest.json"]).unwrap();
    let told_by_nobody = ["format", "version", "made_at", "made_by", "members"];
    let mut held = Vec::new();
    for (key, value) in manifest.as_object().unwrap() {
        if told_by_nobody.contains(&key.as_str()) {
            continue;
        }
        let mut other = manifest.clone();
        other[key] = match value {
            Value::String(text) if text.starts_with("20") => "2001-01-01T00:00:00Z".into(),
            Value::String(text) => format!("{text}0").into(),
            Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
            _ if key == "evidence" => serde_json::json!({"rows": 1, "head": value["head"]}),
            _ => serde_json::json!({"KES": "1.00"}),
        };
        let mut edited = whole.clone();
        edited.insert("manifest.json".into(), other.to_string().into_bytes());
        pack_all(&desk.path("a.zip"), &edited);
        let said = read(&desk, &[]).finished(2);
        let what = match key.as_str() {
            "evidence" => "evidence that reaches".to_owned(),
            other => other.replace('_', " "),
        };
        assert!(
            said.err
                .contains(&format!("manifest.json: it says {what} ")),
            "{key}: {}",
            said.err
        );
        assert_eq!(said.out, "", "{key}");
        held.push(key.as_str());
    }
    for key in [
        "originator",
        "purpose",
        "first_load",
        "newest_evidence",
        "journal",
        "instructions",
    ] {
        assert!(held.contains(&key), "{key}");
    }
}
