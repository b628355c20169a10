//! Source files, with their code apart from comments and texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The package's folder.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// One file.
pub struct File {
    /// Below the package's folder, with `/`.
    pub path: String,
    pub text: String,
    /// A source file's code: comments and the insides of texts are blank.
    pub code: String,
    /// A source file's texts.
    pub texts: Vec<String>,
}

/// Reads the files of a folder and below it whose names end in `.ending`; every text file when `ending` is empty.
///
/// The package's own folder, given as an empty name, is not descended from.
pub fn files(folder: &str, ending: &str) -> Vec<File> {
    let mut paths = Vec::new();
    gather(&root().join(folder), !folder.is_empty(), &mut paths);
    paths.sort();
    let wanted =
        |path: &PathBuf| ending.is_empty() || path.extension().is_some_and(|found| found == ending);
    paths.into_iter().filter(wanted).filter_map(read).collect()
}

fn gather(folder: &Path, descend: bool, paths: &mut Vec<PathBuf>) {
    // A folder that is not there has no files.
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_file() {
            paths.push(path);
        } else if descend {
            gather(&path, descend, paths);
        }
    }
}

fn read(path: PathBuf) -> Option<File> {
    let text = String::from_utf8(fs::read(&path).unwrap()).ok()?;
    let path = path
        .strip_prefix(root())
        .unwrap()
        .to_str()?
        .replace('\\', "/");
    Some(File::of(&path, &text))
}

impl File {
    pub fn of(path: &str, text: &str) -> Self {
        let (code, texts) = match path.ends_with(".rs") {
            true => take_apart(text),
            false => (text.to_owned(), Vec::new()),
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            texts,
        }
    }

    /// The top module that the file is of; `None` for lib.rs and main.rs.
    pub fn module(&self) -> Option<&str> {
        let (first, rest) = self.path.strip_prefix("src/")?.split_once('/')?;
        (!rest.is_empty()).then_some(first)
    }

    /// Whether the code holds a word; what it begins and ends with decides what a whole word is.
    pub fn has_word(&self, word: &str) -> bool {
        let of_name = |c: char| c.is_alphanumeric() || c == '_';
        self.code.match_indices(word).any(|(at, _)| {
            let before = self.code[..at].chars().next_back();
            let after = self.code[at + word.len()..].chars().next();
            let begins = word.starts_with(of_name) && before.is_some_and(of_name);
            let goes_on = word.ends_with(of_name) && after.is_some_and(of_name);
            !begins && !goes_on
        })
    }

    /// The paths that begin with one of the top modules, such as `journal::Error`, however they are written.
    pub fn imports(&self, modules: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (at, _) in self.code.match_indices("crate::") {
            let rest = &self.code[at + "crate::".len()..];
            found.extend(leaves(rest));
        }
        let ups = "super::".repeat(self.depth());
        for (at, _) in self.code.match_indices(&ups) {
            if !self.code[..at].ends_with("super::") {
                found.extend(leaves(&self.code[at + ups.len()..]));
            }
        }
        found.retain(|path| {
            let first = path.split("::").next().unwrap_or_default();
            modules.contains(&first)
        });
        found
    }

    /// How many `super::` lead from the file's module to the crate.
    fn depth(&self) -> usize {
        let module = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let module = module.strip_suffix(".rs").unwrap_or(module);
        module
            .strip_suffix("/mod")
            .unwrap_or(module)
            .split('/')
            .count()
    }
}

/// The paths that begin here, two segments deep: `a::b::C` is `a::b`, `{a::{B, C}, d}` is `a::B`, `a::C` and `d`.
fn leaves(code: &str) -> Vec<String> {
    let code = code.trim_start();
    if let Some(list) = code.strip_prefix('{') {
        return items(list).into_iter().flat_map(leaves).collect();
    }
    let name = name_of(code);
    let Some(rest) = code[name.len()..].strip_prefix("::") else {
        return vec![name.to_owned()];
    };
    if let Some(list) = rest.trim_start().strip_prefix('{') {
        let of = |item| format!("{name}::{}", name_of(item));
        return items(list).into_iter().map(of).collect();
    }
    vec![format!("{name}::{}", name_of(rest))]
}

fn name_of(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_');
    &code[..end.unwrap_or(code.len())]
}

/// The items of a list, up to the brace that closes it.
pub fn items(list: &str) -> Vec<&str> {
    let (mut items, mut open, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open > 0 => open -= 1,
            ',' | '}' if open == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

/// Blanks comments and the insides of texts, and gathers the texts.
fn take_apart(source: &str) -> (String, Vec<String>) {
    let (mut code, mut texts) = (String::new(), Vec::new());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((length, inside)) = raw_text(rest, &code) {
            texts.push(inside.to_owned());
            code.push_str("\"\"");
            length
        } else if c == '"' {
            let length = quoted(rest);
            texts.push(rest[1..length - 1].to_owned());
            code.push_str("\"\"");
            length
        } else if let Some(length) = character(rest) {
            code.push_str("' '");
            length
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    (code, texts)
}

/// The length of a text in quotes, both quotes included.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    panic!("a text without an end: {rest:.40}");
}

/// A raw text, where one begins here: its length and its inside.
fn raw_text<'a>(rest: &'a str, before: &str) -> Option<(usize, &'a str)> {
    let marks = rest.strip_prefix('r')?;
    let hashes = marks.len() - marks.trim_start_matches('#').len();
    let inside = marks[hashes..].strip_prefix('"')?;
    let name_goes_on = before.ends_with(|c: char| (c.is_alphanumeric() && c != 'b') || c == '_');
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).filter(|_| !name_goes_on)?;
    Some((1 + hashes + 1 + end + close.len(), &inside[..end]))
}

/// The length of a character in quotes, where one begins here; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    if let Some(escape) = inside.strip_prefix('\\') {
        let end = escape[1..].find('\'')?;
        return Some(2 + 1 + end + 1);
    }
    let c = inside.chars().next()?;
    inside[c.len_utf8()..]
        .starts_with('\'')
        .then_some(1 + c.len_utf8() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_no_code() {
        let source = "let a = \"f64 // \\\" x\"; // HashMap\nlet b = r#\"pr\"int\"#; /* dbg! */ let c = '\"'; let d: &'a str = '\\'';";
        let file = File::of("src/x.rs", source);
        for word in ["f64", "HashMap", "int", "dbg!"] {
            assert!(!file.has_word(word), "{word} in {}", file.code);
        }
        assert!(file.has_word("let d: &'a str"), "{}", file.code);
        assert_eq!(file.texts, ["f64 // \\\" x", "pr\"int"]);
    }

    #[test]
    fn words_are_whole() {
        let file = File::of("src/x.rs", "eprintln!(); Timestamp::now; tokio_util::x()");
        for (word, expected) in [
            ("eprintln!", true),
            ("println!", false),
            ("Timestamp::now", true),
            ("Timestamp::now()", false),
            ("tokio", false),
        ] {
            assert_eq!(file.has_word(word), expected, "{word}");
        }
    }

    #[test]
    fn imports_are_found_however_they_are_written() {
        let modules = ["journal", "report", "engine", "domain"];
        for (path, text, expected) in [
            (
                "src/a/b.rs",
                "use crate::journal::Error;",
                &["journal::Error"][..],
            ),
            ("src/a/b.rs", "crate::report::write()", &["report::write"]),
            (
                "src/a/b.rs",
                "use crate::{engine, journal::{A, B}};",
                &["engine", "journal::A", "journal::B"],
            ),
            (
                "src/a/mod.rs",
                "use super::engine::Core;",
                &["engine::Core"],
            ),
            (
                "src/a/b.rs",
                "use super::super::engine::Core;",
                &["engine::Core"],
            ),
            ("src/a/b.rs", "use super::engine::Core;", &[]),
            (
                "src/a/b.rs",
                "use crate::other::Core; // crate::engine",
                &[],
            ),
        ] {
            let found: Vec<_> = File::of(path, text).imports(&modules).into_iter().collect();
            assert_eq!(found, expected, "{path}: {text}");
        }
    }
}
