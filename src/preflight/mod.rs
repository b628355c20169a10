//! What comes before the posts of a batch: bills are asked for, floats forecast, documents uploaded, numbers looked up.
//!
//! Nothing here posts a payment. Asking is harmless and may be repeated; what is uploaded is recorded in the journal
//! before the payment that names it may be claimed.

mod bills;
mod float;
mod lookup;
mod request_policy;
mod upload;

pub use bills::{BillQueries, BillReport, BillRule, Bills, BillsStop, RefusedBill};
pub use float::{Account, Forecast, Need, forecast};
pub use lookup::{LookupReport, Lookups, NetworkLookup, WrongNetwork};
pub use request_policy::RequestPolicy;
pub use upload::{
    DocumentService, ReadDocument, RefusedDocument, UploadReport, UploadStop, Uploads,
};
