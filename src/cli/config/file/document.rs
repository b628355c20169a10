//! One whole file, as it was read.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::cli::config::Origin;
use crate::cli::config::approval::{ApprovalSettings, EvidenceSettings};
use crate::cli::config::archiving::ArchiveSettings;
use crate::cli::config::limits::LimitSettings;
use crate::cli::config::notices::NoticeSettings;
use crate::cli::config::opening::FileSettings;
use crate::cli::config::service::Service;
use crate::domain::{Money, ServiceCode};
use crate::intake::layout::Layout;
use crate::lifecycle::Class;
use crate::report::accounting::Chart;
use crate::statement::Terms;

/// One whole file.
#[derive(Default)]
pub(in crate::cli::config) struct Document {
    pub(in crate::cli::config) default_profile: Option<Entry>,
    pub(in crate::cli::config) profiles: BTreeMap<String, BTreeMap<&'static str, Entry>>,
    pub(in crate::cli::config) services: BTreeMap<ServiceCode, Service>,
    pub(in crate::cli::config) document_thresholds: Vec<Money>,
    pub(in crate::cli::config) columns: BTreeMap<String, String>,
    pub(in crate::cli::config) layouts: BTreeMap<String, Layout>,
    pub(in crate::cli::config) statements: BTreeMap<String, Terms>,
    pub(in crate::cli::config) status_codes: BTreeMap<i32, Class>,
    pub(in crate::cli::config) post_codes: BTreeMap<i32, Class>,
    pub(in crate::cli::config) accounting: Option<Chart>,
    pub(in crate::cli::config) approval: Option<ApprovalSettings>,
    pub(in crate::cli::config) evidence: Option<EvidenceSettings>,
    pub(in crate::cli::config) notices: Option<NoticeSettings>,
    pub(in crate::cli::config) files: FileSettings,
    pub(in crate::cli::config) archive: ArchiveSettings,
    pub(in crate::cli::config) limits: LimitSettings,
    /// The services that have ceilings of their own, and where that stands.
    pub(in crate::cli::config) limited_services: Vec<(ServiceCode, Origin)>,
    /// What stands outside the profiles, by dotted name, in the order of the file.
    pub(in crate::cli::config) others: Vec<(String, Entry)>,
}

impl Document {
    /// Returns the `base_url` of every profile that has one, except the chosen profile.
    pub(in crate::cli::config) fn other_gateways(&self, chosen: Option<&str>) -> Vec<String> {
        let others = self.profiles.iter();
        let others = others.filter(|(name, _)| Some(name.as_str()) != chosen);
        let named = others.filter_map(|(_, profile)| profile.get("base_url"));
        named.map(|entry| entry.text.clone()).collect()
    }
}
