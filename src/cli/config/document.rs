//! One whole file, as it was read.

use std::collections::BTreeMap;

use super::classes::{PostClass, StatusClass};
use super::entry::Entry;
use super::service::Service;
use crate::domain::{Money, ServiceCode};

/// One whole file.
#[derive(Default)]
pub(super) struct Document {
    pub(super) default_profile: Option<Entry>,
    pub(super) profiles: BTreeMap<String, BTreeMap<&'static str, Entry>>,
    pub(super) services: BTreeMap<ServiceCode, Service>,
    pub(super) document_thresholds: Vec<Money>,
    pub(super) columns: BTreeMap<String, String>,
    pub(super) status_codes: BTreeMap<i32, StatusClass>,
    pub(super) post_codes: BTreeMap<i32, PostClass>,
    /// What stands outside the profiles, by dotted name, in the order of the file.
    pub(super) others: Vec<(String, Entry)>,
}
