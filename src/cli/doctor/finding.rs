//! What was looked at, what was found, and what to do about it.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// Good to know.
    Note,
    /// Works, and should be mended.
    Warning,
    /// Something will be refused, or is not safe.
    Problem,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// What was looked at.
    pub(super) looked_at: String,
    pub(super) found: String,
    /// What to do; a command in it is safe as it stands.
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn new(
        level: Level,
        looked_at: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            level,
            looked_at: looked_at.into(),
            found: found.into(),
            advice: None,
        }
    }

    pub(super) fn ok(looked_at: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Ok, looked_at, found)
    }

    pub(super) fn note(looked_at: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Note, looked_at, found)
    }

    pub(super) fn warning(looked_at: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Warning, looked_at, found)
    }

    pub(super) fn problem(looked_at: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Problem, looked_at, found)
    }

    /// The same, with what to do.
    pub(super) fn advised(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
