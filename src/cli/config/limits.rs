//! `[limits]`: how much may be paid, to whom, and when.

use std::path::PathBuf;

use super::Origin;
use super::Profile;
use crate::domain::WireZone;
use crate::ledger::limits::Limits;

/// What the table says; the lists are still files.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// Ceilings and waits, without lists. Days and months are those of the zone here.
    pub limits: Limits,
    /// The file of those who alone are paid, and where it is named.
    pub allow: Option<(PathBuf, Origin)>,
    /// The file of those who are not paid.
    pub deny: Option<(PathBuf, Origin)>,
    /// `zone`; that of the profile where it is not set.
    pub zone: Option<WireZone>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            limits: Limits::none(WireZone::utc()),
            allow: None,
            deny: None,
            zone: None,
        }
    }
}

impl LimitSettings {
    /// Takes the zone of the profile, where the table has none of its own.
    pub(super) fn take_zone(&mut self, profile: &Profile) {
        let zone = self.zone.as_ref().or(profile.time_zone.as_ref());
        self.limits.zone = zone.cloned().unwrap_or_else(WireZone::utc);
    }

    /// Returns whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.limits.is_none() && self.allow.is_none() && self.deny.is_none()
    }
}
