//! Documents are uploaded once, under the identifier of their payment, and every post names the same reference.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use disburse::domain::{Country, Instruction, PayerTransactionId, PaymentId, WireZone};
use disburse::engine::Clock;
use disburse::gateway::wire::Requests;
use disburse::gateway::{OperationError, Outgoing, Profile, Uploaded};
use disburse::journal::{Claim, DocumentDue};
use disburse::lifecycle::Event;
use disburse::preflight::{DocumentService, UploadReport, UploadStop, Uploads};
use tokio_util::sync::CancellationToken;

use super::manner;
use crate::support::*;

type Answer = Result<(), OperationError>;
type Script = dyn Fn(&str, u32) -> Answer + Send + Sync;

/// A file service; the script says what it does with the nth copy of a file.
struct FileService {
    script: Box<Script>,
    /// Name of the file and length of every copy, by identifier.
    copies: Mutex<BTreeMap<PayerTransactionId, Vec<(String, usize)>>>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

impl FileService {
    fn new(script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            copies: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
        })
    }

    fn copies(&self) -> usize {
        self.copies.lock().unwrap().values().map(Vec::len).sum()
    }
}

impl DocumentService for FileService {
    async fn upload(
        &self,
        id: &PayerTransactionId,
        file_name: &str,
        bytes: Vec<u8>,
    ) -> Result<Uploaded, OperationError> {
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let copy = {
            let mut copies = self.copies.lock().unwrap();
            let copies = copies.entry(*id).or_default();
            copies.push((file_name.to_owned(), bytes.len()));
            copies.len()
        };
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        (self.script)(file_name, u32::try_from(copy).unwrap())?;
        Ok(Uploaded {
            reference: format!("DOC-{}-{copy}", file_name.trim_end_matches(".pdf")),
            reply: r#"{"ok":true}"#.into(),
            already: false,
        })
    }
}

fn refused(what: &str) -> OperationError {
    OperationError::Refused {
        section: "4.3",
        what: what.into(),
    }
}

fn unavailable() -> OperationError {
    OperationError::Unavailable("HTTP 503".into())
}

/// A batch of which the rows with an even number have a document.
async fn loaded(rows: u64) -> World {
    let world = World::new();
    let rows = (1..=rows).map(|n| Instruction {
        document: (n % 2 == 0).then(|| document(&format!("{n}.pdf"), "/srv/pay")),
        ..row(n)
    });
    world.load_new(plan(), rows.collect()).await;
    world
}

fn uploads(world: &World, service: &Arc<FileService>) -> Uploads<FileService> {
    Uploads {
        journal: world.journal.clone(),
        batch: batch(),
        service: Arc::clone(service),
        read: Arc::new(|path: &Path| match path.to_str() {
            Some("/srv/pay/gone.pdf") => Err("found no such file".into()),
            _ => Ok(b"%PDF-".to_vec()),
        }),
        manner: manner(64, &CancellationToken::new()),
        clock: Clock::start(),
    }
}

async fn carry_out(world: &World, service: &Arc<FileService>) -> UploadReport {
    uploads(world, service).carry_out(|_| {}).await.unwrap()
}

async fn left(world: &World) -> Vec<DocumentDue> {
    let due = world
        .journal
        .documents_due(batch(), PaymentId::NONE, 1000)
        .await;
    due.unwrap()
}

/// The bytes of a post.
fn post(claim: &Claim) -> Vec<u8> {
    let profile = Profile::new(
        "http://127.0.0.1:1".parse().unwrap(),
        "acme".into(),
        "secret".to_owned().into(),
        Country::from_code("KE").unwrap(),
        WireZone::from_name("Africa/Nairobi").unwrap(),
    );
    let outgoing = Outgoing {
        payment: Arc::clone(&claim.payment),
        support_document: claim.support_document.clone(),
        callback_url: None,
    };
    Requests::new(&profile).post(&[outgoing]).to_vec()
}

#[tokio::test]
async fn every_document_is_uploaded_once_under_the_identifier_of_its_payment() {
    let world = loaded(600).await;
    let service = FileService::new(|_, _| Ok(()));
    let mut heard = 0;
    let report = uploads(&world, &service)
        .carry_out(|so_far| heard = so_far)
        .await
        .unwrap();
    assert_eq!((report.uploaded, heard), (300, 300));
    assert_eq!((report.refused, report.stopped), (Vec::new(), None));
    assert!(left(&world).await.is_empty());
    for (index, id) in world.identifiers().iter().enumerate() {
        let copies = service.copies.lock().unwrap().get(id).cloned();
        let n = index + 1;
        let expected = (n % 2 == 0).then(|| vec![(format!("{n}.pdf"), 5)]);
        assert_eq!(copies, expected, "row {n}");
    }
    assert!(
        service.most_under_way.load(Ordering::SeqCst) <= 4,
        "files in memory"
    );
    // Said again, there is nothing to upload.
    assert_eq!(carry_out(&world, &service).await, UploadReport::default());
    assert_eq!(service.copies(), 300);
}

#[tokio::test]
async fn a_repeated_post_has_the_bytes_of_the_first() {
    let world = loaded(2).await;
    let service = FileService::new(|_, _| Ok(()));
    carry_out(&world, &service).await;
    let token = world.acquire(1).await.token;
    let first = world.claim(token, 10, 1).await;
    let documented = first.iter().find(|claim| claim.support_document.is_some());
    let documented = documented.unwrap();
    let text = String::from_utf8(post(documented)).unwrap();
    assert!(text.contains(r#""supportDocument":"DOC-2-1""#), "{text}");
    world
        .record(vec![finding(documented.seq, Event::Unsent)], 2)
        .await;
    carry_out(&world, &service).await;
    let again = world.claim(world.acquire(3).await.token, 10, 100).await;
    let again = again.iter().find(|claim| claim.seq == documented.seq);
    assert_eq!(post(again.unwrap()), post(documented));
}

#[tokio::test]
async fn an_upload_that_was_not_recorded_is_made_again_and_one_that_was_is_not() {
    let world = loaded(4).await;
    // What a process uploads that dies before it can say so: the file service has it, the journal does not know.
    let service = FileService::new(|_, _| Ok(()));
    let first = left(&world).await.remove(0);
    let taken = service.upload(&first.id, "2.pdf", vec![0; 5]).await;
    assert_eq!(taken.unwrap().reference, "DOC-2-1");
    let report = carry_out(&world, &service).await;
    assert_eq!(report.uploaded, 2);
    let copies = service.copies.lock().unwrap()[&first.id].len();
    assert_eq!(copies, 2, "again, under the same identifier");
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 10, 1).await;
    let named: Vec<_> = claims
        .iter()
        .filter_map(|claim| claim.support_document.as_deref())
        .collect();
    assert_eq!(named, ["DOC-2-2", "DOC-4-1"], "the one that is on record");
}

#[tokio::test]
async fn a_service_that_recovers_is_tried_again() {
    let world = loaded(2).await;
    let service = FileService::new(|_, copy| if copy < 3 { Err(unavailable()) } else { Ok(()) });
    let report = carry_out(&world, &service).await;
    assert_eq!((report.uploaded, report.stopped), (1, None));
    assert_eq!(service.copies(), 3);
}

#[tokio::test]
async fn a_service_that_stays_away_ends_the_uploads_after_a_bounded_number_of_tries() {
    let world = loaded(400).await;
    let service = FileService::new(|_, _| Err(unavailable()));
    let report = carry_out(&world, &service).await;
    assert_eq!(report.uploaded, 0);
    assert_eq!(report.stopped, Some(UploadStop::Service(unavailable())));
    assert_eq!(left(&world).await.len(), 200, "nothing may be posted yet");
    // Three tries of each that was under way, and of no other.
    assert!(service.copies() <= 8 * 3, "{} copies", service.copies());
    // What follows takes up where it ended.
    let service = FileService::new(|_, _| Ok(()));
    assert_eq!(carry_out(&world, &service).await.uploaded, 200);
}

#[tokio::test]
async fn whoever_is_not_let_in_does_not_knock_again() {
    let world = loaded(2).await;
    let locked = || OperationError::Credentials {
        section: "4.3",
        what: "HTTP 401".into(),
    };
    let service = FileService::new(move |_, _| Err(locked()));
    let report = carry_out(&world, &service).await;
    assert_eq!(report.stopped, Some(UploadStop::Service(locked())));
    assert_eq!(service.copies(), 1);
}

#[tokio::test]
async fn every_document_that_is_not_taken_is_told_of_and_the_others_are_kept() {
    let world = loaded(12).await;
    let service = FileService::new(|name, _| match name {
        "4.pdf" => Err(refused("HTTP 422: password-protected")),
        "10.pdf" => Err(refused("HTTP 400: corrupted")),
        _ => Ok(()),
    });
    let report = carry_out(&world, &service).await;
    assert_eq!((report.uploaded, report.stopped), (4, None));
    let told: Vec<_> = report
        .refused
        .iter()
        .map(|refused| {
            let reference = refused.due.reference.as_ref().unwrap();
            (refused.due.line, reference.as_str(), refused.what.as_str())
        })
        .collect();
    assert_eq!(
        told,
        [
            (5, "EMP-4", "HTTP 422: password-protected (section 4.3)"),
            (11, "EMP-10", "HTTP 400: corrupted (section 4.3)"),
        ]
    );
    // Once the files are sound, only they are uploaded.
    let service = FileService::new(|_, _| Ok(()));
    assert_eq!(carry_out(&world, &service).await.uploaded, 2);
}

#[tokio::test]
async fn a_file_that_is_gone_is_told_of_and_nothing_is_sent_for_it() {
    let world = World::new();
    let row = Instruction {
        document: Some(document("gone.pdf", "/srv/pay")),
        ..row(1)
    };
    world.load_new(plan(), vec![row]).await;
    let service = FileService::new(|_, _| Ok(()));
    let report = carry_out(&world, &service).await;
    assert_eq!(report.refused.len(), 1);
    assert_eq!(report.refused[0].what, "found no such file");
    assert_eq!(service.copies(), 0);
}

#[tokio::test]
async fn so_many_refusals_that_nobody_reads_them_end_the_uploads() {
    let world = loaded(2_600).await;
    let service = FileService::new(|_, _| Err(refused("HTTP 404: not the address")));
    let report = carry_out(&world, &service).await;
    assert_eq!(report.stopped, Some(UploadStop::TooMany));
    assert!(service.copies() <= 1_004, "{} copies", service.copies());
}

#[tokio::test]
async fn a_signal_ends_the_uploads_in_good_order() {
    let world = loaded(200).await;
    let drain = CancellationToken::new();
    let signal = drain.clone();
    let service = FileService::new(move |name, _| {
        if name == "20.pdf" {
            signal.cancel();
        }
        Ok(())
    });
    let report = Uploads {
        manner: manner(1, &drain),
        ..uploads(&world, &service)
    };
    let report = report.carry_out(|_| {}).await.unwrap();
    assert_eq!(
        (report.uploaded, report.stopped),
        (10, Some(UploadStop::Drained))
    );
    assert_eq!(
        left(&world).await.len(),
        90,
        "what was under way is on record"
    );
}

/// A file service that keeps the first document of an identifier, loses its reply, and says of any other: "there is one".
#[derive(Default)]
struct Strict {
    kept: Mutex<BTreeMap<PayerTransactionId, Vec<u8>>>,
    /// It has documents that nobody here remembers to have sent.
    full: bool,
    /// What the reply to the first copy becomes.
    lost: Option<OperationError>,
}

impl DocumentService for Strict {
    async fn upload(
        &self,
        id: &PayerTransactionId,
        _: &str,
        bytes: Vec<u8>,
    ) -> Result<Uploaded, OperationError> {
        let mut kept = self.kept.lock().unwrap();
        if !self.full && !kept.contains_key(id) {
            kept.insert(*id, bytes);
            return Err(self.lost.clone().unwrap());
        }
        Ok(Uploaded {
            reference: "DOC-17".into(),
            reply: r#"{"success":false,"data":{"reference":"DOC-17"}}"#.into(),
            already: true,
        })
    }
}

async fn upload_to(world: &World, service: &Arc<Strict>, bytes: &'static [u8]) -> UploadReport {
    let uploads = Uploads {
        journal: world.journal.clone(),
        batch: batch(),
        service: Arc::clone(service),
        read: Arc::new(|_: &Path| Ok(bytes.to_vec())),
        manner: manner(64, &CancellationToken::new()),
        clock: Clock::start(),
    };
    uploads.carry_out(|_| {}).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_document_whose_reply_was_lost_is_known_by_its_bytes_when_it_is_there_already() {
    let gone = OperationError::Unavailable("connection reset".into());
    let shut = OperationError::Credentials {
        section: "4.3",
        what: "HTTP 401".into(),
    };
    // Within a run, and by the next one.
    for lost in [gone, shut] {
        let world = loaded(2).await;
        let again = matches!(lost, OperationError::Credentials { .. });
        let service = Arc::new(Strict {
            lost: Some(lost),
            ..Strict::default()
        });
        let mut report = upload_to(&world, &service, b"%PDF-a").await;
        if again {
            assert!(
                report.stopped.is_some() && report.uploaded == 0,
                "{report:?}"
            );
            report = upload_to(&world, &service, b"%PDF-a").await;
        }
        assert_eq!((report.uploaded, report.refused), (1, Vec::new()));
        let claims = world.claim(world.acquire(1).await.token, 10, 1).await;
        let reference = claims
            .iter()
            .find_map(|claim| claim.support_document.clone());
        assert_eq!(reference.as_deref(), Some("DOC-17"));
    }
}

#[tokio::test(start_paused = true)]
async fn another_document_under_the_same_identifier_is_not_taken_for_ours() {
    let shut = OperationError::Credentials {
        section: "4.3",
        what: "HTTP 401".into(),
    };
    // The file was changed since its first copy left; and one that nobody here remembers.
    for (full, lost) in [(false, Some(shut)), (true, None)] {
        let world = loaded(2).await;
        let service = Arc::new(Strict {
            full,
            lost,
            ..Strict::default()
        });
        if !full {
            upload_to(&world, &service, b"%PDF-a").await;
        }
        let report = upload_to(&world, &service, b"%PDF-b").await;
        assert_eq!(report.uploaded, 0);
        let [refused] = &report.refused[..] else {
            panic!("{report:?}");
        };
        assert!(
            refused.what.contains("put the file back"),
            "{}",
            refused.what
        );
        assert_eq!(left(&world).await.len(), 1, "it is not posted");
        if !full {
            // Doing what it says is safe, and ends it.
            let report = upload_to(&world, &service, b"%PDF-a").await;
            assert_eq!((report.uploaded, report.refused), (1, Vec::new()));
        }
    }
}
