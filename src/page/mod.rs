//! What pages for a browser have in common, whoever serves them: their looks, the script that keeps them fresh, and the rules
//! that a browser holds them to. It knows nothing of payments.

use std::sync::LazyLock;

use askama::Template;
use data_encoding::BASE64;
use sha2::{Digest, Sha256};

/// The looks: light and dark, from the width of a phone on.
pub const STYLE: &str = include_str!("style.css");

/// The script. It replaces the parts of a page (`data-part`) that have changed, as events bring them (`data-events`) or as the
/// page has them when it is loaded again (`data-every`, in milliseconds).
pub const SCRIPT: &str = include_str!("refresh.js");

/// What every page begins with: nothing of it is loaded from anywhere.
#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{{ title }}</title>
<style>{{ style|safe }}</style>
</head>"##
)]
struct Head<'a> {
    title: &'a str,
    style: &'static str,
}

/// Returns what a page of this title begins with, up to its body.
#[must_use]
pub fn head(title: &str) -> String {
    let head = Head {
        title,
        style: STYLE,
    };
    head.render().expect("a page is written into memory")
}

/// What the body of a page begins with, for whoever goes by keyboard: its content is `main`.
pub const TO_THE_CONTENT: &str = r##"<a class="unseen" href="#main">To the content</a>"##;

/// The security policy of a page: its own style and its own script, requests to where it came from, and nothing else.
///
/// It goes into a header: `frame-ancestors` counts only there.
pub static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        source_of(STYLE),
        source_of(SCRIPT)
    )
});

/// The headers of every reply beside its type: nothing is kept, guessed, framed, or told to another place.
pub static HEADERS: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let of = |name, value: &str| (name, value.to_owned());
    vec![
        of("content-security-policy", &POLICY),
        of("cache-control", "no-store"),
        of("x-content-type-options", "nosniff"),
        of("x-frame-options", "DENY"),
        of("referrer-policy", "no-referrer"),
        of("cross-origin-opener-policy", "same-origin"),
        of("cross-origin-resource-policy", "same-origin"),
    ]
});

/// Returns the source expression that allows exactly this text.
fn source_of(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(&Sha256::digest(text)))
}

/// Frames one server-sent event. A text of several lines is several lines of data, which a browser joins again.
#[must_use]
pub fn event(name: &str, text: &str) -> String {
    let mut framed = format!("event: {name}\n");
    // A carriage return would end a line, too.
    for line in text.split(['\n', '\r']) {
        framed.push_str("data: ");
        framed.push_str(line);
        framed.push('\n');
    }
    framed.push('\n');
    framed
}

/// What is sent while there is nothing to say, so that both sides know that the other is there.
pub const STILL_HERE: &str = ": still here\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_event_early_or_begins_another() {
        for (text, framed) in [
            ("", "event: page\ndata: \n\n"),
            ("a", "event: page\ndata: a\n\n"),
            ("a\nb", "event: page\ndata: a\ndata: b\n\n"),
            (
                "a\n\nevent: gone",
                "event: page\ndata: a\ndata: \ndata: event: gone\n\n",
            ),
            (
                "a\r\nid: 1",
                "event: page\ndata: a\ndata: \ndata: id: 1\n\n",
            ),
        ] {
            assert_eq!(event("page", text), framed);
        }
    }

    #[test]
    fn a_title_is_a_text_and_the_style_stands_as_its_digest_has_it() {
        let head = head("Batch <b>&");
        assert!(
            head.contains("<title>Batch &#60;b&#62;&#38;</title>"),
            "{head}"
        );
        assert!(head.contains(&format!("<style>{STYLE}</style>")));
        assert!(head.starts_with("<!doctype html>") && head.ends_with("</head>"));
    }

    #[test]
    fn the_policy_lets_in_nothing_but_the_pages_own() {
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(POLICY.contains(part), "{part}");
        }
        assert!(!POLICY.contains("unsafe") && !POLICY.contains('*') && !POLICY.contains("http"));
        // What the hashes allow must be what stands in the page, to the byte.
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && POLICY.contains(&source_of(text)));
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("url("));
        }
    }
}
