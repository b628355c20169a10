//! The file service: it fails, refuses, and gives each document it takes a name of its own.

use std::sync::Arc;
use std::time::Duration;

use super::world::World;
use crate::domain::PayerTransactionId;
use crate::gateway::{OperationError, Uploaded};
use crate::preflight::DocumentService;

pub(in crate::simulation) struct FileService {
    pub world: Arc<World>,
}

impl DocumentService for FileService {
    async fn upload(
        &self,
        id: &PayerTransactionId,
        _: &str,
        _: Vec<u8>,
    ) -> Result<Uploaded, OperationError> {
        let delay = self.world.lock().delay(|f| f.network_ms);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let mut shape = self.world.lock();
        if shape.chance(|f| f.upload_unavailable) {
            shape.note(|| format!("no file service for {id}"));
            return Err(OperationError::Unavailable("not there".into()));
        }
        if shape.chance(|f| f.upload_refused) {
            shape.note(|| format!("the document of {id} is refused"));
            return Err(OperationError::Refused {
                section: "4.3",
                what: "not a document".into(),
            });
        }
        let reference = format!("D{}", shape.rng.u64(..));
        shape.note(|| format!("the document of {id} is {reference}"));
        shape
            .documents
            .entry(*id)
            .or_default()
            .insert(reference.clone());
        if shape.chance(|f| f.upload_lost) {
            return Err(OperationError::Unavailable("the reply is lost".into()));
        }
        Ok(Uploaded {
            reference,
            reply: "{}".into(),
            already: false,
        })
    }
}
