//! What is known of a file beside its rows, where a layout is proposed for it.

use super::super::super::encoding::Encoding;
use super::super::super::sheet::SheetOptions;
use crate::domain::Country;

/// What is known of a file beside its rows.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The encoding by which it was read.
    pub encoding: Encoding,
    /// What was said of its sheets.
    pub sheet: SheetOptions,
    /// The service of rows that name none.
    pub service: Option<String>,
    /// The services that are configured.
    pub services: Vec<String>,
    /// The country of rows that name none.
    pub country: Option<Country>,
}
