//! A body that could not be read, as far as it is kept: bounded, without credentials, without what steers a terminal.

/// Bytes of a body that are looked at.
const LENGTH_MAX: usize = 4096;
/// Members whose values are never kept, in small letters.
const SECRET: [&str; 4] = ["credentials", "password", "passwd", "secret"];
/// Stands for what is left out.
const HIDDEN: &str = "[hidden]";

/// Returns what is kept of a body; `length`: of all of it, where that is known.
pub(super) fn kept(body: &[u8], length: Option<usize>) -> String {
    let cut = body.len() > LENGTH_MAX;
    let head = &body[..body.len().min(LENGTH_MAX)];
    let mut text = String::with_capacity(head.len());
    for chunk in head.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    let mut shown: String = without_secrets(&text)
        .chars()
        .flat_map(|c| match c {
            c if is_printable(c) => c.to_string().chars().collect::<Vec<_>>(),
            c => c.escape_default().collect(),
        })
        .collect();
    if cut {
        shown.push_str(" …");
        if let Some(length) = length {
            shown.push_str(&format!(" {length} bytes in all"));
        }
    }
    shown
}

// Directions reorder what follows them on a screen; invisible characters hide what stands there.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Leaves out what follows the name of a secret: its value as far as its end can be told, else all that is left.
fn without_secrets(text: &str) -> String {
    planted_instead!(callback::without_secrets(text));
    let lower = text.to_ascii_lowercase();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((start, name)) = next_secret(&lower, at) {
        let after = start + name.len();
        kept.push_str(&text[at..after]);
        kept.push_str(HIDDEN);
        match value_end(&lower, after) {
            Some(end) => at = end,
            None => return kept,
        }
    }
    kept.push_str(&text[at..]);
    kept
}

fn next_secret(lower: &str, from: usize) -> Option<(usize, &'static str)> {
    SECRET
        .iter()
        .filter_map(|name| Some((lower[from..].find(name)? + from, *name)))
        .min()
}

/// Returns where the value of a JSON member ends whose name ends here; `None` when it is no such member, or has no end.
fn value_end(text: &str, name_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let quote = skip(name_end);
    (bytes.get(quote) == Some(&b'"')).then_some(())?;
    let colon = skip(quote + 1);
    (bytes.get(colon) == Some(&b':')).then_some(())?;
    let start = skip(colon + 1);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (true, _) => continue,
            (false, b'{' | b'[') => depth += 1,
            // The end of what the member stands in: a number or a word before it has ended.
            (false, b'}' | b']') if depth == 0 => return Some(at),
            (false, b'}' | b']') => depth -= 1,
            (false, b',') if depth == 0 => return Some(at),
            (false, _) => continue,
        }
        let ended = depth == 0 && !in_text && !escaped && at > start;
        if ended && matches!(byte, b'"' | b'}' | b']') {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_printable_bounded_and_without_credentials() {
        for (body, expected) in [
            (&b""[..], ""),
            (b"<html>no</html>", "<html>no</html>"),
            (b"a\tb\r\nc\x1b[31m\0", "a\\tb\\r\\nc\\u{1b}[31m\\u{0}"),
            (b"\xff\xfe<x code=140/>", "\\xff\\xfe<x code=140/>"),
            ("ü\u{202e}\u{200b}".as_bytes(), "ü\\u{202e}\\u{200b}"),
            (
                br#"{"payload":{"credentials":{"username":"u","password":"hunter2"},"packet":[]}}"#,
                r#"{"payload":{"credentials[hidden],"packet":[]}}"#,
            ),
            (
                br#"{"packet":[], "Credentials" : [ "a\"]", {"p":"hunter2"} ] , "x":1}"#,
                r#"{"packet":[], "Credentials[hidden] , "x":1}"#,
            ),
            (
                br#"{"password":"hun\"ter2","x":1}"#,
                r#"{"password[hidden],"x":1}"#,
            ),
            (
                br#"{"password":1234,"x":1}"#,
                r#"{"password[hidden],"x":1}"#,
            ),
            (br#"{"password":1234}"#, r#"{"password[hidden]}"#),
            (br#"{"password":"","x":1}"#, r#"{"password[hidden],"x":1}"#),
            // Cut off, or of another form: everything behind the name is left out.
            (
                br#"{"statusCode":140,"credentials":{"username":"u","password":"hun"#,
                r#"{"statusCode":140,"credentials[hidden]"#,
            ),
            (
                b"<credentials><password>hunter2</password></credentials><code>140</code>",
                "<credentials[hidden]",
            ),
            (
                b"username=u&password=hunter2&x=1",
                "username=u&password[hidden]",
            ),
        ] {
            let shown = kept(body, Some(body.len()));
            assert_eq!(shown, expected);
            assert!(!shown.contains("hunter2"));
        }
        let long = kept(&[b'a'; 9_999], Some(9_999));
        assert_eq!(long.len(), LENGTH_MAX + " … 9999 bytes in all".len());
        let long = kept(&[b'a'; 9_999], None);
        assert_eq!(long.len(), LENGTH_MAX + " …".len());
        let cut_in_a_character = "ü".repeat(LENGTH_MAX);
        assert!(kept(&cut_in_a_character.as_bytes()[1..], None).contains("\\xbc"));
        let _awake = crate::seeded_bugs::SeededBug::CredentialsKept.wake();
        let shown = kept(br#"{"password":"hunter2"}"#, None);
        assert!(shown.contains("hunter2"), "the table finds it");
    }
}
