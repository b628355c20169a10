//! What a batch file was read as.

use crate::intake::{Error, Form, Row};

/// All that a file came to.
pub(super) struct File {
    pub(super) form: Option<Form>,
    pub(super) rows: Vec<Row>,
    pub(super) error: Option<Error>,
}
