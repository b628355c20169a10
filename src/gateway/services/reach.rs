//! Whether an address of ours can be reached from here.

use reqwest::{Method, Url};

use crate::gateway::error::Error;
use crate::gateway::profile::{Keys, Profile};
use crate::gateway::transport::channel::Channel;
use crate::gateway::transport::failure::Failure;

/// Asks for an address, once, and returns the HTTP status or why there is none. It carries nothing that is the gateway's: no
/// credentials, no keys, no headers of the dialect.
///
/// # Errors
/// The client cannot be built.
pub async fn reach(profile: &Profile, url: Url) -> Result<Result<u16, String>, Error> {
    let bare = Profile {
        dialect: std::sync::Arc::default(),
        keys: Keys::default(),
        ..profile.clone()
    };
    let channel = Channel::new(&bare, url, Method::GET)?;
    Ok(match channel.send(channel.post()).await {
        Ok(answer) => Ok(answer.status),
        Err(Failure::Unsent(cause) | Failure::Lost(cause)) => Err(cause),
    })
}
