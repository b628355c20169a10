//! A gateway whose requests are counted.

use std::sync::Arc;
use std::time::Instant;

use crate::domain::{ServiceCode, WorkMeter};
use crate::gateway::{FloatBalance, Gateway, Inquiry, OperationError, Outgoing, Reply};

/// What is counted of requests: how long each took, and the payments that they were about.
#[derive(Debug, Default)]
pub struct GatewayMeter {
    /// Posts.
    pub posts: WorkMeter,
    /// Questions.
    pub queries: WorkMeter,
}

/// A gateway that counts what it is asked.
#[derive(Debug)]
pub struct Metered<G> {
    gateway: Arc<G>,
    meter: Arc<GatewayMeter>,
}

impl<G> Metered<G> {
    /// Counts the requests to a gateway.
    #[must_use]
    pub fn new(gateway: Arc<G>, meter: Arc<GatewayMeter>) -> Self {
        Self { gateway, meter }
    }
}

impl<G: Gateway> Gateway for Metered<G> {
    async fn post(&self, payments: &[Outgoing]) -> Reply {
        let began = Instant::now();
        let reply = self.gateway.post(payments).await;
        self.meter.posts.add(began.elapsed(), payments.len());
        reply
    }

    async fn query(&self, payments: &[Inquiry]) -> Reply {
        let began = Instant::now();
        let reply = self.gateway.query(payments).await;
        self.meter.queries.add(began.elapsed(), payments.len());
        reply
    }

    async fn balance(&self, service: &ServiceCode) -> Result<Option<FloatBalance>, OperationError> {
        self.gateway.balance(service).await
    }
}
