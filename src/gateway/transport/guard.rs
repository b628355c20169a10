//! The last look before the bytes of a request leave.

use std::io::Cursor;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::domain::Pulse;
use crate::gateway::wire::Body;
use crate::ledger::standstill::may_depart;

/// What is said of a request that did not leave.
pub(in crate::gateway) const STOOD_STILL: &str =
    "the program stood still, and has not looked yet whether another run has taken over";

/// What is said of a post that waited for its token or its connection, and is looked at again before it leaves.
pub(in crate::gateway) const WAITED: &str =
    "waited for its token or its connection, and is looked at once more before it leaves";

/// A body that the connection asks for when it is about to write it: after a standstill it is not handed over.
///
/// A connection that was opened meanwhile, and waited for, is so no way around the look. A head alone, whose body does not
/// come, asks for nothing. The connection wipes it when it has written it.
pub(in crate::gateway) struct Guarded {
    body: Full<Cursor<Body>>,
    pulse: Option<Arc<Pulse>>,
}

/// The body was kept back.
#[derive(Debug, thiserror::Error)]
#[error("{STOOD_STILL}")]
pub(in crate::gateway) struct KeptBack;

impl Guarded {
    pub(in crate::gateway) fn new(body: Body, pulse: Option<Arc<Pulse>>) -> Self {
        Self {
            body: Full::new(Cursor::new(body)),
            pulse,
        }
    }
}

impl HttpBody for Guarded {
    type Data = Cursor<Body>;
    type Error = KeptBack;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, KeptBack>>> {
        let stands = |pulse: &Arc<Pulse>| !may_depart(pulse.silence());
        if self.pulse.as_ref().is_some_and(stands) {
            return Poll::Ready(Some(Err(KeptBack)));
        }
        Pin::new(&mut self.body)
            .poll_frame(context)
            .map_err(|never| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
