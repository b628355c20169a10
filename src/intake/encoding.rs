//! Encodings that a file may have.

/// The encoding the operator says a file has. UTF-16 with a byte order mark is told by that, and needs no word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, strictly: a wrong byte is an error, never a replacement character.
    #[default]
    Utf8,
    /// UTF-16, also without a byte order mark.
    Utf16,
    /// Windows-1252, which older Windows programs write. Every byte means something in it, so it is never guessed.
    Windows1252,
    /// ISO 8859-1, strictly: what Windows-1252 has beyond it is an error.
    Iso8859,
}

impl Encoding {
    const NAMES: [(&'static str, Self); 4] = [
        ("utf-8", Self::Utf8),
        ("utf-16", Self::Utf16),
        ("windows-1252", Self::Windows1252),
        ("iso-8859-1", Self::Iso8859),
    ];

    /// Reads `utf-8`, `utf-16`, `windows-1252` or `iso-8859-1`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = match name.as_str() {
            "utf8" => "utf-8",
            "utf16" => "utf-16",
            "cp1252" => "windows-1252",
            "latin1" => "iso-8859-1",
            name => name,
        };
        let known = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, encoding)| encoding)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.into_iter().find(|(_, known)| *known == self);
        known.map_or("utf-8", |(name, _)| name)
    }
}
