//! The description of what the sandbox serves, as an OpenAPI document for tools. That of the interface document is a file;
//! that of a dialect is made from this file and the dialect.

mod callbacks;
mod examples;
mod operations;
mod schemas;
mod table;

use std::borrow::Cow;

use serde_json::Value;

use crate::dialect::Dialect;

const DOCUMENT: &str = include_str!("../openapi.yaml");

/// Returns the description as it is served: YAML, of which JSON is a part.
pub(in crate::sandbox) fn text(dialect: &Dialect) -> Cow<'static, str> {
    match dialect.is_the_document() {
        true => DOCUMENT.into(),
        false => format!("{:#}\n", described(dialect)).into(),
    }
}

/// Returns the description of a dialect.
pub(in crate::sandbox) fn described(dialect: &Dialect) -> Value {
    let mut document = the_documents();
    if !dialect.is_the_document() {
        let info = &mut document["info"];
        let about = info["description"].as_str().unwrap_or_default();
        let from = &dialect.written_from;
        info["description"] =
            format!("{about}\nThis is a dialect of it, written from {from}.\n").into();
    }
    operations::put(&mut document, dialect);
    schemas::put(&mut document, dialect);
    callbacks::put(&mut document, dialect);
    schemas::rename(&mut document, &dialect.names);
    document
}

/// Returns the description of the interface document.
pub(in crate::sandbox) fn the_documents() -> Value {
    serde_saphyr::from_str(DOCUMENT).expect("the file that comes along is YAML")
}
