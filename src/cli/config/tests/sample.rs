//! The commented sample says what the table says.

use super::*;

const SAMPLE: &str = include_str!("../../../../samples/disburse.toml");

/// Takes the comment mark from every setting that is commented out; prose has a blank after the mark.
fn uncommented() -> String {
    let lines = SAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '"') => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the comment right above each line that sets `key` in the production profile.
fn comment_above(key: &str) -> String {
    let (group, last) = key.rsplit_once('.').unwrap_or(("", key));
    let header = match group {
        "" => "[profiles.production]".to_owned(),
        group => format!("[profiles.production.{group}]"),
    };
    let table = SAMPLE.lines().skip_while(|line| *line != header).skip(1);
    let mut comment = Vec::new();
    for line in table.take_while(|line| !line.starts_with('[')) {
        if line
            .trim_start_matches('#')
            .starts_with(&format!("{last} = "))
        {
            return comment.join(" ");
        }
        match line.strip_prefix("# ") {
            Some(text) => comment.push(text),
            None => comment.clear(),
        }
    }
    panic!("{key} is not below {header}");
}

#[test]
fn every_key_is_explained() {
    for key in KEYS.iter().filter(|key| !key.secret) {
        let default = key.default.map(|text| format!(" Default: {text}."));
        let expected = format!(
            "{}{} Variable: {}.",
            key.doc,
            default.unwrap_or_default(),
            key.env
        );
        assert_eq!(comment_above(key.name), expected, "{}", key.name);
    }
    for text in ["DISBURSE_PASSWORD,"].iter().chain(&crate::intake::COLUMNS) {
        assert!(SAMPLE.contains(text), "{text}");
    }
    for (_, class) in crate::lifecycle::Class::ALL {
        assert!(SAMPLE.contains(class), "{class}");
    }
}

#[test]
fn the_sample_is_a_configuration_as_it_stands() {
    let production = Folder::with(SAMPLE).load();
    assert_eq!(production.profile_name, "production");
    assert_eq!(production.services.len(), 13);
    for key in KEYS.iter().filter(|key| key.default.is_some()) {
        let line = shown(&production, key.name);
        assert!(line.ends_with(" (default)"), "{}: {line}", key.name);
    }
    let variable = |name| {
        let folder = Folder::with(SAMPLE).profile(name);
        folder.variable("DISBURSE_PASSWORD", "x")
    };
    for name in ["production", "test"] {
        let settings = variable(name).load();
        let gateway = settings.gateway().unwrap();
        assert!(gateway.base_url.as_str().ends_with("gateway.example/"));
    }
}

#[test]
fn every_setting_that_is_commented_out_is_right() {
    let settings = Folder::with(uncommented()).load();
    for key in KEYS.iter().filter(|key| !key.secret) {
        let line = shown(&settings, key.name);
        assert!(line.contains("disburse.toml:"), "{}: {line}", key.name);
        if let Some(default) = key.default {
            assert!(
                line.starts_with(&format!("{default} (")),
                "{}: {line}",
                key.name
            );
        }
    }
    assert_eq!(settings.status_codes.len(), 1);
    assert_eq!(settings.post_codes.len(), 1);
}

#[test]
fn sandbox_and_sample_name_the_same_services() {
    let sandbox = Settings::sandbox(&Folder::empty().sources).unwrap();
    assert_eq!(Folder::with(SAMPLE).load().services, sandbox.services);
}
