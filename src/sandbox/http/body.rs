//! Bodies of requests, read within bounds of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body_util::BodyExt;

use super::replies;

/// The largest JSON body, in bytes.
pub(in crate::sandbox) const BODY_MAX: usize = 1024 * 1024;
/// How much more than it may send a client is let finish, in bytes, so that it hears why it is refused.
const EXCESS_MAX: usize = 16 * 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a body; the reply says why there is none.
// The reply stands for what went wrong.
#[allow(clippy::result_large_err)]
pub(in crate::sandbox) async fn read_body(body: Body, most: usize) -> Result<Bytes, Response> {
    match tokio::time::timeout(BODY_TIMEOUT, gather(body, most)).await {
        Ok(Some(gathered)) if gathered.len() <= most => Ok(gathered.into()),
        Ok(Some(_)) => Err(replies::too_large()),
        Ok(None) | Err(_) => Err(replies::incomplete()),
    }
}

/// Returns more than `most` bytes of a body that is longer, and `None` of one that breaks off.
async fn gather(mut body: Body, most: usize) -> Option<Vec<u8>> {
    let (mut gathered, mut excess) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else {
            continue;
        };
        if gathered.len() <= most {
            gathered.extend_from_slice(&data[..data.len().min(most + 1 - gathered.len())]);
        } else {
            excess += data.len();
        }
        if excess > EXCESS_MAX {
            break;
        }
    }
    Some(gathered)
}
