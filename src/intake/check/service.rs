//! The service of a row, and its rule.

use super::super::rules::ServiceRule;
use crate::domain::{PaymentKind, ServiceCode};

/// A service code; its rule is unknown when no service is configured.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) code: ServiceCode,
    pub(super) rule: Option<ServiceRule>,
}

impl Service {
    pub(super) fn kind(&self) -> Option<PaymentKind> {
        self.rule.as_ref().map(|rule| rule.kind)
    }
}
