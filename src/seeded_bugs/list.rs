//! The mistakes by name: which there are, which of them the simulation finds, and which one is awake.

use std::cell::Cell;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeededBug {
    /// What nobody has approved is posted.
    ApprovalUnbounded,
    /// Whoever loaded a batch approves it.
    LoaderApproves,
    /// A second key of a person is a second person.
    SecondKeyIsSecondPerson,
    /// The rule that was in force at the load is forgotten once the configuration has another one.
    PinnedRuleForgotten,
    /// Signatures for an order count for another one of its kind.
    OrderUnbound,
    /// Whoever gives an order needs one other person less.
    OrderOfOnePerson,
    /// Rows are compared with those whose persons were forgotten as if these were somebody else's.
    ForgottenIsStranger,
    /// A post whose outcome is unknown is ready to be posted again.
    RepostOnLoss,
    /// References are compared letter by letter with those of other loads.
    ReferencesAsWritten,
    /// The service of the new row alone says what is a repeat.
    TermsOfOneService,
    /// A mended row that does not name the rejected one is a new one.
    MendedStandsBeside,
    /// A row without an amount is another payment than one that has its amount.
    OpenAmountIsAnother,
    /// A lost connection counts as proof that nothing left.
    LossIsUnsent,
    /// An intent that a dead run left behind counts as unsent.
    AbandonedIsUnsent,
    /// A second attempt has another identifier.
    NewIdentifierOnRepost,
    /// A second attempt has another date.
    OtherBytesOnRepost,
    /// A reload derives other identifiers.
    OtherIdentifierOnReload,
    /// HTTP 5xx means failed.
    ServerErrorIsFailed,
    /// A claim is handed out before its intent is on disk.
    ClaimWithoutIntent,
    /// 139 means paid.
    AcknowledgedIsPaid,
    /// 148 means paid.
    DeliveredIsPaid,
    /// 229 means failed.
    DuplicateIsFailed,
    /// A code that says nothing means failed.
    VagueIsFailed,
    /// One "not found" is enough.
    FirstNotFoundCounts,
    /// "Not found" counts at once.
    NoQuarantine,
    /// Results are matched by their place.
    MatchedByPlace,
    /// A payment without an entry takes that of its neighbour.
    MissingTakesNeighbours,
    /// A callback is acknowledged before it is stored.
    AcknowledgedBeforeStored,
    /// A later final word overwrites an earlier one.
    FinalOverwritten,
    /// A restart forgets how fast the run before it was.
    RateForgotten,
    /// What was posted can be withdrawn.
    CancelPosted,
    /// What is in doubt is retried under a new identifier.
    RetryDoubtful,
    /// A retry forgets that an earlier journal may have posted it.
    PresumptionForgotten,
    /// Evidence moves a payment without being counted.
    TallyForgotten,
    /// A run that was taken over from goes on.
    FenceIgnored,
    /// A restart trusts the waits of an earlier process, whatever has become of the clock.
    WaitsOutliveTheClock,
    /// "Not found" counts by the configuration of whoever asks, whoever posted.
    QuarantineOfWhoeverAsks,
    /// A commit that failed counts.
    FailedCommitCounts,
    /// A payment leaves before its document is uploaded.
    DocumentForgotten,
    /// A second attempt names another document.
    OtherDocumentOnRepost,
    /// A loss moves a payment and leaves no evidence.
    EvidenceForgotten,
    /// A lane stays held although its float is topped up.
    BalanceIgnored,
    /// 132 means failed.
    NotLetInIsFailed,
    /// An identifier is taken for what is meant, whatever row has it as its reference.
    IdentifierFirst,
    /// References that look the same are two.
    LookAlikesDiffer,
    /// A mended row without a reference is a new one.
    MendedIsNew,
    /// A deployment's code table is taken as it stands.
    AnyCodeTable,
    /// A payment is recorded as failed on a person's word alone.
    FailedUnasked,
    /// A batch moves to any account that comes along.
    AccountForgotten,
    /// A batch may be paid by another account than the one that it was loaded for.
    DestinationForgotten,
    /// An account is asked of which nobody knows whether it posted the batch.
    PayerUnasked,
    /// A confirmation covers what came after it.
    ConfirmationUnbounded,
    /// Words that name another amount, currency or number settle a payment.
    OtherAmountSettles,
    /// Callbacks that cannot be read use up the room of those that count.
    JunkFillsTheRoom,
    /// A report takes the place of a file that it did not write.
    ForeignFileOverwritten,
    /// A payment that stands as ready is posted, whatever its evidence says.
    EvidenceNotReplayed,
    /// What is posted is not compared with what was loaded.
    DigestNotCompared,
    /// A journal that is behind its mark is taken for what its place has seen last.
    MarkIgnored,
    /// A run that stood still goes on without a look at its epoch.
    StandstillIgnored,
    /// What the gateway had before our first post counts as ours.
    StrangersDuplicateSettles,
    /// A repeat that is said to have failed ends its payment, although an earlier post of it may have arrived.
    FailedRepeatBelieved,
    /// A status reply counts that comes without its authentication status.
    UnauthenticatedAnswerCounts,
    /// A retry leaves whatever becomes of what it replaces.
    RetryUnjudged,
    /// A retry is held against what it replaces at its claim, and not again before it leaves.
    RetryJudgedOnce,
    /// A run that was cut off is taken for one that has rested.
    CutOffHasRested,
    /// What was not found before the program stood still counts as not found afterwards.
    LateNotFoundCounts,
    /// The journal's word that nobody has taken over counts however old it is.
    StaleWordCounts,
    /// Words that are not about us stop nothing, however many there are.
    StreakGoesOn,
    /// Any document that the file service has under our identifier is ours.
    AnyDocumentIsThere,
    /// A token that nobody has told us of is shown.
    UnknownTokenShown,
    /// What is kept of a body is kept with its credentials.
    CredentialsKept,
    /// Who came first gives way first, whatever it does.
    FirstComeGivesWay,
    /// Digits that are glued to a word are a token.
    GluedDigitsAreToken,
    /// An order takes what came after its figures were shown.
    OrderUnbounded,
    /// What the gateway says of a payment after it had called it failed holds no retry.
    TakenBackUnheard,
    /// What was not found long ago is posted again unasked.
    StaleNotFoundCounts,
    /// "Failed" of an earlier payment is taken from the file as it stands.
    AncestorNotReplayed,
    /// The same reference is no repeat.
    RepeatedReferenceIgnored,
    /// What has ended is no repeat, however short a time ago.
    RepeatWindowIgnored,
    /// A failure that was taken back is paid anew by another load.
    TakenBackMayRepeat,
    /// A retry is ordered whatever other loads have of its row.
    RepeatedRetryUnjudged,
    /// A row leaves although what had failed instead of it is paid.
    RepeatJudgedOnce,
    /// A corrected row takes the place of a payment, whatever has become of that.
    CorrectedUnjudged,
    /// A copy knows of all orders.
    LostOrdersForgotten,
    /// A mark that was written over, or moved, is as it was written.
    MarkTimeIgnored,
    /// The body of a server error ends a payment.
    ServerErrorEnds,
    /// A dialect's words for "not found" count although nobody saw what they are worth.
    UnseenWordsCount,
    /// A row leaves whatever time it names.
    TimeIgnored,
    /// A batch leaves before its first date, and after its last.
    BatchDatesIgnored,
    /// A service is open at every hour.
    HoursIgnored,
    /// One line of a statement is about two payments.
    LineCountsTwice,
    /// What earlier statements showed does not count.
    EarlierStatementsForgotten,
    /// Amount and recipient in a statement prove a payment.
    AlikeIsProof,
    /// What came back counts as paid.
    ReturnedIsPaid,
    /// What a statement shows paid may be retried, where it had failed here.
    ShownPaidNotHeld,
    /// What a recipient was paid today bounds nothing.
    CeilingForgotten,
    /// What is in doubt no longer counts towards a ceiling.
    DoubtGivenBack,
    /// However much is under way, more leaves.
    ExposureIgnored,
    /// Whoever is on a list of those who are not paid is paid.
    ListIgnored,
    /// A run whose session another one has closed goes on.
    ClosedSessionGoesOn,
    /// The lease of another run is over by the clock of whoever looks.
    LeaseByOwnClock,
    /// Nobody looks whether the clock of the server was set.
    ServerClockUnwatched,
    /// Nobody compares the clock of a run with that of the server as it takes its batch.
    RunClockUnread,
    /// Slots that were granted are granted once more.
    SlotsGrantedTwice,
    /// A slot is used however long ago its time was.
    SlotUsedLate,
    /// What a run had under way that is not heard of is in doubt since it was claimed, and not since its session was closed.
    QuarantineFromClaim,
    /// A run has the number of one that has ended.
    SessionGivenAgain,
    /// Of several runs only the first one keeps to what it was confirmed for.
    ConfirmedForAnother,
    /// An answer counts whatever was asked since.
    AnswerToAnotherQuestion,
    /// What became of a commit is read, and not learned by a write.
    UnknownIsRead,
    /// A commit that came with a warning is there for good.
    WarningIsSuccess,
}

impl SeededBug {
    /// Those that the simulation finds. The others are found by the tables of tests of their rules.
    pub(crate) const ALL: [Self; 92] = [
        Self::ForgottenIsStranger,
        Self::RepostOnLoss,
        Self::LossIsUnsent,
        Self::AbandonedIsUnsent,
        Self::NewIdentifierOnRepost,
        Self::OtherBytesOnRepost,
        Self::OtherIdentifierOnReload,
        Self::ServerErrorIsFailed,
        Self::ClaimWithoutIntent,
        Self::AcknowledgedIsPaid,
        Self::DeliveredIsPaid,
        Self::DuplicateIsFailed,
        Self::VagueIsFailed,
        Self::FirstNotFoundCounts,
        Self::NoQuarantine,
        Self::MatchedByPlace,
        Self::MissingTakesNeighbours,
        Self::AcknowledgedBeforeStored,
        Self::FinalOverwritten,
        Self::RateForgotten,
        Self::CancelPosted,
        Self::RetryDoubtful,
        Self::PresumptionForgotten,
        Self::TallyForgotten,
        Self::FenceIgnored,
        Self::WaitsOutliveTheClock,
        Self::QuarantineOfWhoeverAsks,
        Self::FailedCommitCounts,
        Self::DocumentForgotten,
        Self::OtherDocumentOnRepost,
        Self::EvidenceForgotten,
        Self::BalanceIgnored,
        Self::NotLetInIsFailed,
        Self::AnyCodeTable,
        Self::ConfirmationUnbounded,
        Self::OtherAmountSettles,
        Self::JunkFillsTheRoom,
        Self::MarkIgnored,
        Self::StandstillIgnored,
        Self::StrangersDuplicateSettles,
        Self::FailedRepeatBelieved,
        Self::UnauthenticatedAnswerCounts,
        Self::RetryUnjudged,
        Self::FailedUnasked,
        Self::AccountForgotten,
        Self::DestinationForgotten,
        Self::PayerUnasked,
        Self::EvidenceNotReplayed,
        Self::DigestNotCompared,
        Self::CutOffHasRested,
        Self::LateNotFoundCounts,
        Self::TakenBackUnheard,
        Self::StaleNotFoundCounts,
        Self::AncestorNotReplayed,
        Self::RepeatedReferenceIgnored,
        Self::RepeatWindowIgnored,
        Self::TakenBackMayRepeat,
        Self::RepeatedRetryUnjudged,
        Self::RepeatJudgedOnce,
        Self::CorrectedUnjudged,
        Self::LostOrdersForgotten,
        Self::ServerErrorEnds,
        Self::UnseenWordsCount,
        Self::TimeIgnored,
        Self::BatchDatesIgnored,
        Self::HoursIgnored,
        Self::LineCountsTwice,
        Self::EarlierStatementsForgotten,
        Self::AlikeIsProof,
        Self::ReturnedIsPaid,
        Self::ShownPaidNotHeld,
        Self::CeilingForgotten,
        Self::DoubtGivenBack,
        Self::ExposureIgnored,
        Self::ListIgnored,
        Self::ApprovalUnbounded,
        Self::LoaderApproves,
        Self::SecondKeyIsSecondPerson,
        Self::PinnedRuleForgotten,
        Self::OrderOfOnePerson,
        Self::ClosedSessionGoesOn,
        Self::LeaseByOwnClock,
        Self::ServerClockUnwatched,
        Self::RunClockUnread,
        Self::SlotsGrantedTwice,
        Self::SlotUsedLate,
        Self::QuarantineFromClaim,
        Self::SessionGivenAgain,
        Self::ConfirmedForAnother,
        Self::AnswerToAnotherQuestion,
        Self::UnknownIsRead,
        Self::WarningIsSuccess,
    ];

    /// Whether this mistake is made.
    pub(crate) fn is_active(self) -> bool {
        AWAKE.get() == Some(self)
    }

    /// Makes this mistake on this thread, until the guard is dropped.
    pub(crate) fn wake(self) -> Awake {
        AWAKE.set(Some(self));
        Awake
    }
}

thread_local! {
    static AWAKE: Cell<Option<SeededBug>> = const { Cell::new(None) };
}

/// While it lives, the mistake is made.
pub(crate) struct Awake;

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.set(None);
    }
}
