//! Supporting documents: each is at the file service, and in the journal, before its payment may be posted (section 4.5).

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use super::RequestPolicy;
use crate::domain::{BatchName, PayerTransactionId, PaymentId};
use crate::engine::Clock;
use crate::gateway::{DocumentClient, OperationError, Uploaded};
use crate::journal::{DocumentDue, Error, Journal, Upload};
use crate::ledger::document::is_there_already;

/// Files in memory at once, at most.
const FILES_MAX: usize = 4;
/// Payments read from the journal at a time.
const PAGE: usize = 256;
/// Documents that are not taken, at most, before the rest is left for the next run.
const REFUSED_MAX: usize = 1000;

/// Why a document that the file service has already is not taken for the one that was to be sent.
const ANOTHER_IS_THERE: &str = "HTTP 409: the file service has a document under this identifier already, and nothing shows that it is this file: put the file back as it was when it was first sent, or have that document removed there, and run again (section 4.3)";

/// Why a sound document is not taken.
const EXCHANGED: &str = "is not the file that was checked when the batch was loaded (section 2.5): put that one back; or, where this one is right, load the batch file once more with --new-documents";

/// Where documents go.
pub trait DocumentService: Send + Sync + 'static {
    /// Uploads the document of one payment, once (section 4.3).
    fn upload(
        &self,
        id: &PayerTransactionId,
        file_name: &str,
        bytes: Vec<u8>,
    ) -> impl Future<Output = Result<Uploaded, OperationError>> + Send;
}

impl DocumentService for DocumentClient {
    async fn upload(
        &self,
        id: &PayerTransactionId,
        file_name: &str,
        bytes: Vec<u8>,
    ) -> Result<Uploaded, OperationError> {
        Self::upload(self, id, file_name, bytes).await
    }
}

/// Reads a file and checks that it is a document; says what it is instead.
pub type ReadDocument = Arc<dyn Fn(&Path) -> Result<Vec<u8>, String> + Send + Sync>;

/// The documents of one batch.
pub struct Uploads<D> {
    /// The journal.
    pub journal: Journal,
    /// The batch.
    pub batch: BatchName,
    /// The file service.
    pub service: Arc<D>,
    /// Reads and checks a file, just before it is sent.
    pub read: ReadDocument,
    /// How requests are made.
    pub manner: Arc<RequestPolicy>,
    /// The clock.
    pub clock: Clock,
}

/// What became of the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadReport {
    /// Documents that were uploaded now.
    pub uploaded: u64,
    /// Payments whose document is not taken, in the order of the file.
    pub refused: Vec<RefusedDocument>,
    /// Why the uploads ended early.
    pub stopped: Option<UploadStop>,
}

/// A payment whose document is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedDocument {
    /// The payment.
    pub due: DocumentDue,
    /// What is wrong with the file, or what the file service said of it.
    pub what: String,
}

/// Why uploads ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadStop {
    /// The file service cannot be had, or does not let us in.
    Service(OperationError),
    /// A signal.
    Drained,
    /// So many documents are not taken that the rest was not tried.
    TooMany,
}

enum Outcome {
    Uploaded,
    Refused(RefusedDocument),
    Stopped(UploadStop),
}

impl<D: DocumentService> Uploads<D> {
    /// Uploads what is to be uploaded, in the order of the file; `tell` hears how many there are so far.
    ///
    /// Every payment is tried, so that all that is wrong is known at once. What is uploaded is recorded at once: it is
    /// not uploaded again when the run is said again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn carry_out(self, mut tell: impl FnMut(u64)) -> Result<UploadReport, Error> {
        let this = Arc::new(self);
        let mut report = UploadReport::default();
        let mut under_way: JoinSet<Result<Outcome, Error>> = JoinSet::new();
        let most = this.manner.concurrency.min(FILES_MAX);
        let mut after = PaymentId::NONE;
        'pages: loop {
            let page = this
                .journal
                .documents_due(this.batch.clone(), after, PAGE)
                .await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for due in page {
                while under_way.len() >= most {
                    report.join(&mut under_way).await?;
                    tell(report.uploaded);
                }
                if report.stopped.is_some() {
                    break 'pages;
                }
                let this = Arc::clone(&this);
                under_way.spawn(async move { this.one(due).await });
            }
        }
        while !under_way.is_empty() {
            report.join(&mut under_way).await?;
            tell(report.uploaded);
        }
        report.refused.sort_by_key(|refused| refused.due.seq);
        Ok(report)
    }

    async fn one(&self, due: DocumentDue) -> Result<Outcome, Error> {
        let (read, path) = (Arc::clone(&self.read), due.path.clone());
        let bytes = tokio::task::spawn_blocking(move || read(&path)).await;
        let bytes = match bytes {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(what)) => return Ok(Outcome::Refused(RefusedDocument { due, what })),
            Err(_) => {
                let what = "the file cannot be read".to_owned();
                return Ok(Outcome::Refused(RefusedDocument { due, what }));
            }
        };
        let name = due.path.file_name().unwrap_or_default().to_string_lossy();
        let digest = Sha256::digest(&bytes).into();
        let Some((earlier, new)) = self.journal.begin_upload(due.seq, digest).await? else {
            let what = EXCHANGED.to_owned();
            return Ok(Outcome::Refused(RefusedDocument { due, what }));
        };
        #[cfg(debug_assertions)]
        crate::failpoints::pass("before-upload");
        let mut copies = 0;
        let sent = self
            .manner
            .persist(|| {
                copies += 1;
                self.service.upload(&due.id, &name, bytes.clone())
            })
            .await;
        let refused = match &sent {
            Some(Ok(uploaded)) => uploaded.already && !is_there_already(earlier, copies),
            Some(Err(error)) => matches!(error, OperationError::Refused { .. }),
            None => false,
        };
        if refused && new && copies == 1 {
            // Its only copy was not taken: whatever is there, it is not this.
            self.journal.forget_upload(due.seq, digest).await?;
        }
        match sent {
            None => Ok(Outcome::Stopped(UploadStop::Drained)),
            Some(Ok(_)) if refused => {
                let what = ANOTHER_IS_THERE.to_owned();
                Ok(Outcome::Refused(RefusedDocument { due, what }))
            }
            Some(Ok(uploaded)) => {
                let upload = Upload {
                    at: self.clock.now(),
                    digest,
                    bytes: bytes.len() as u64,
                    reference: uploaded.reference,
                    reply: uploaded.reply,
                };
                #[cfg(debug_assertions)]
                crate::failpoints::pass("after-upload");
                self.journal.record_upload(due.seq, upload).await?;
                Ok(Outcome::Uploaded)
            }
            Some(Err(OperationError::Refused { section, what })) => {
                let what = format!("{what} (section {section})");
                Ok(Outcome::Refused(RefusedDocument { due, what }))
            }
            Some(Err(error)) => Ok(Outcome::Stopped(UploadStop::Service(error))),
        }
    }
}

impl UploadReport {
    async fn join(&mut self, under_way: &mut JoinSet<Result<Outcome, Error>>) -> Result<(), Error> {
        let outcome = match under_way.join_next().await {
            Some(Ok(outcome)) => outcome?,
            Some(Err(_)) => Outcome::Stopped(UploadStop::Service(OperationError::Unavailable(
                "an upload broke off".to_owned(),
            ))),
            None => return Ok(()),
        };
        match outcome {
            Outcome::Uploaded => self.uploaded += 1,
            Outcome::Refused(refused) => {
                self.refused.push(refused);
                if self.refused.len() >= REFUSED_MAX {
                    self.stopped.get_or_insert(UploadStop::TooMany);
                }
            }
            Outcome::Stopped(stop) => {
                self.stopped.get_or_insert(stop);
            }
        }
        Ok(())
    }
}
