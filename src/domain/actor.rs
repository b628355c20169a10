//! Who did it.

use std::fmt;

/// Characters of a name that are kept.
const NAME_MAX: usize = 64;

/// The person, or the program, that gave a command: as the operating system knows them, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    user: String,
    host: String,
    sudo_of: Option<Box<str>>,
    role: Option<Box<str>>,
}

impl Actor {
    /// Makes one. Of each name, what could steer a terminal is left out, and no more than 64 characters are kept.
    #[must_use]
    pub fn new(user: &str, host: &str, sudo_of: Option<&str>) -> Self {
        Self {
            user: plain(user),
            host: plain(host),
            sudo_of: kept(sudo_of),
            role: None,
        }
    }

    /// The same with the role by which the server of the journal knows them.
    #[must_use]
    pub fn in_role(self, role: Option<&str>) -> Self {
        Self {
            role: kept(role),
            ..self
        }
    }

    /// Returns the user's name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the name of the machine.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns who became that user with `sudo`, where that is told.
    #[must_use]
    pub fn sudo_of(&self) -> Option<&str> {
        self.sudo_of.as_deref()
    }

    /// Returns the role by which the server of the journal knew them, where the journal was on one.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.user, self.host)?;
        if let Some(name) = &self.sudo_of {
            write!(f, ", by sudo of {name}")?;
        }
        match &self.role {
            Some(role) => write!(f, ", in the role {role}"),
            None => Ok(()),
        }
    }
}

fn kept(name: Option<&str>) -> Option<Box<str>> {
    let name = name.map(plain).filter(|name| !name.is_empty())?;
    Some(name.into())
}

fn plain(name: &str) -> String {
    let steers = |c: &char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    name.trim()
        .chars()
        .filter(|c| !steers(c))
        .take(NAME_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_steer_nothing_and_are_bounded() {
        for (user, sudo_of, expected) in [
            ("ana", None, "ana on desk-7"),
            ("root", Some("eva"), "root on desk-7, by sudo of eva"),
            (
                "root",
                Some("\u{1b}[31m\n"),
                "root on desk-7, by sudo of [31m",
            ),
            ("root", Some("\u{7}\r\n"), "root on desk-7"),
            (" a\u{202e}b\0 ", None, "ab on desk-7"),
        ] {
            assert_eq!(Actor::new(user, "desk-7\n", sudo_of).to_string(), expected);
        }
        let ana = Actor::new("ana", "desk-7", None);
        assert_eq!(
            ana.clone().in_role(Some("pay1\n")).to_string(),
            "ana on desk-7, in the role pay1"
        );
        assert_eq!(ana.clone().in_role(Some("")), ana);
        assert_eq!(Actor::new(&"x".repeat(99), "h", None).user().len(), 64);
    }
}
