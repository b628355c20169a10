//! A proposal as it is kept: the layout, and beside it what its keeper should know.

use super::super::definition::Layout;

/// What is written beside a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    /// The line that it stands in front of; the first line has it below.
    before: Option<String>,
    lines: Vec<String>,
}

impl Comment {
    /// Stands in front of a table, whose header this is.
    pub(super) fn before(header: String, lines: Vec<String>) -> Self {
        Self {
            before: Some(header),
            lines,
        }
    }

    fn put(&self, text: &mut String) {
        for line in &self.lines {
            // What stands in cells of a file ends no comment.
            let line: String = line
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            text.push_str("# ");
            text.push_str(&line);
            text.push('\n');
        }
    }

    /// Stands below the layout's name.
    pub(super) fn below_name(lines: Vec<String>) -> Self {
        Self {
            before: None,
            lines,
        }
    }
}

impl Layout {
    /// Returns how the header of its table begins.
    pub(super) fn table(&self) -> String {
        let text = self.to_toml();
        let first = text.lines().next().unwrap_or_default();
        first.trim_end_matches(']').to_owned()
    }
}

/// Writes a layout with its comments.
pub(super) fn write(layout: &Layout, comments: &[Comment]) -> String {
    let mut text = String::new();
    for (at, line) in layout.to_toml().lines().enumerate() {
        for comment in comments {
            if comment.before.as_deref() == Some(line) {
                comment.put(&mut text);
            }
        }
        text.push_str(line);
        text.push('\n');
        if at == 0 {
            for comment in comments.iter().filter(|comment| comment.before.is_none()) {
                comment.put(&mut text);
            }
        }
    }
    text
}
