//! Whether a journal on a server is what was in use last: by the copy that the server is of, and by how far its host had seen it.
//!
//! A server tells a number of its cluster, and a timeline, which rises with every promotion and with every restore to a point in time.
//! A promotion takes nothing away where commits had waited for the standby; whoever looks afterwards cannot tell one from the other.
//! Where a timeline is passed over, a server was in use of which nobody has seen whether commits waited there.

use std::fmt;

use super::{Cause, Verdict};

/// Which copy of its rows a journal on a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the cluster: a standby has that of its primary.
    pub system: i64,
    /// The timeline of its log.
    pub timeline: i64,
    /// The server's number of the database.
    pub database: i64,
    /// The server's number of a table of the journal: tables that come out of a dump have others.
    pub table: i64,
    /// Commits wait for a standby.
    pub waits: bool,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            system,
            timeline,
            database,
            table,
            waits,
        } = self;
        write!(
            f,
            "{system} {timeline} {database} {table} {}",
            u8::from(*waits)
        )
    }
}

impl Origin {
    /// Reads what was written.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next()?.parse::<i64>().ok();
        let read = Self {
            system: next()?,
            timeline: next()?,
            database: next()?,
            table: next()?,
            waits: next()? == 1,
        };
        words.next().is_none().then_some(read)
    }

    /// Returns whether a journal that is known for one copy is to be noted as this one while it is written. That its commits wait again
    /// is noted when it is opened, and not by somebody who saw that they did.
    #[must_use]
    pub fn is_news_after(&self, known: &Self) -> bool {
        let waits = self.waits && known.waits;
        Self { waits, ..*self } != *known
    }

    /// Returns whether another copy is of the same database of the same cluster.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.system, self.database) == (other.system, other.database)
    }

    /// Returns whether another copy is of the same cluster, in whichever database.
    #[must_use]
    pub fn is_of_the_server_of(&self, other: &Self) -> bool {
        self.system == other.system
    }

    /// Returns whether another copy is of the same tables.
    #[must_use]
    pub fn is_of_the_tables_of(&self, other: &Self) -> bool {
        let parts = |of: &Self| (of.system, of.database, of.table);
        parts(self) == parts(other)
    }

    /// Returns what this copy is to one that was in use before.
    #[must_use]
    pub fn after(&self, before: &Self) -> Succession {
        if !self.is_of_the_tables_of(before) {
            return Succession::Other;
        }
        match self.timeline.cmp(&before.timeline) {
            std::cmp::Ordering::Less => Succession::Overtaken,
            std::cmp::Ordering::Equal => Succession::Same,
            std::cmp::Ordering::Greater if before.waits && self.timeline - before.timeline == 1 => {
                Succession::Waited
            }
            std::cmp::Ordering::Greater => Succession::Promoted,
        }
    }
}

/// What a copy of a journal is to one that was in use before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Succession {
    /// The same.
    Same,
    /// A standby that commits had waited for, and that was promoted since.
    Waited,
    /// A standby that may have lagged behind, or what was restored to a point in time.
    Promoted,
    /// An old primary, whose place another one had taken.
    Overtaken,
    /// Another database.
    Other,
}

/// How far a journal on a server has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerPosition {
    /// Which copy it is.
    pub origin: Origin,
    /// The number of its newest transaction.
    pub turn: i64,
}

impl ServerPosition {
    /// Returns whichever has come further.
    #[must_use]
    pub fn latest(self, other: Self) -> Self {
        match (self.turn, self.origin.timeline) > (other.turn, other.origin.timeline) {
            true => self,
            false => other,
        }
    }
}

/// What a journal on a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnServer {
    /// As it is now.
    pub now: ServerPosition,
    /// Which copy it was when it was opened last to be written, as it says itself; `None`: never.
    pub known: Option<Origin>,
}

impl OnServer {
    /// Judges it, beside what else is seen, by what its host had seen of it.
    pub(super) fn verdict(&self, seen: Option<ServerPosition>) -> Option<Verdict> {
        if seen.is_some_and(|seen| seen.turn > self.now.turn) {
            return Some(Verdict::Behind(Cause::OlderDatabase));
        }
        match self.now.origin.after(&self.known?) {
            Succession::Same | Succession::Waited => None,
            Succession::Promoted => Some(Verdict::Behind(Cause::Promoted)),
            // Refused where it is opened, by whoever knows; what it knows itself is as old as it is.
            Succession::Overtaken => Some(Verdict::Behind(Cause::OlderDatabase)),
            Succession::Other => Some(Verdict::Copy(Cause::OtherDatabase)),
        }
    }
}
