//! What the bills of postpaid services say is due (`GATEWAY.queryBill`, sections 1 and 4.2): rows without an amount take it,
//! the amounts of the others are compared with it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::RequestPolicy;
use crate::domain::{
    Amount, BatchName, BillAmount, ControlTotals, Money, PayerTransactionId, ServiceCode,
};
use crate::engine::Clock;
use crate::gateway::{Bill, BillAnswer, BillInquiry, HttpGateway, OperationError};
use crate::journal::{BillCursor, BillFinding, BillOutcome, BillRival, BillRow, Error, Journal};

/// Requests of one page of rows; the next page is read when all of them are answered.
const REQUESTS: usize = 64;
/// Refused rows that are kept to be named.
const REFUSED_MAX: usize = 1_000;

/// A bill was found (308).
const BILL_FOUND: i32 = 308;
/// The account is not valid (306), or there is no such invoice (section 7.2): the account is what to look at.
const ABOUT_ACCOUNT: [i32; 2] = [306, 146];

/// Where bills are asked for.
pub trait BillQueries: Send + Sync + 'static {
    /// Asks for bills in one request; the answers come in the order of the inquiries.
    fn bills(
        &self,
        inquiries: &[BillInquiry],
    ) -> impl Future<Output = Result<Vec<BillAnswer>, OperationError>> + Send;
}

impl BillQueries for HttpGateway {
    async fn bills(&self, inquiries: &[BillInquiry]) -> Result<Vec<BillAnswer>, OperationError> {
        Self::bills(self, inquiries).await
    }
}

/// What the configuration says of the amounts of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BillRule {
    /// How an amount relates to what is due.
    pub amount: BillAmount,
    /// The smallest amount that is paid.
    pub min: Option<Amount>,
    /// The largest amount that is paid.
    pub max: Option<Amount>,
    /// How many decimals the gateway takes; those of the currency when absent.
    pub decimals: Option<u8>,
}

/// The bills of one batch.
pub struct Bills<Q> {
    /// The journal that holds the batch.
    pub journal: Journal,
    /// The batch.
    pub batch: BatchName,
    /// The postpaid services.
    pub services: BTreeMap<ServiceCode, BillRule>,
    /// Whether rows without an amount take what is due; else they stay as they are.
    pub take_due: bool,
    /// Who knows the bills.
    pub gateway: Arc<Q>,
    /// How requests are made.
    pub manner: Arc<RequestPolicy>,
    /// The clock.
    pub clock: Clock,
}

/// What the bills came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BillReport {
    /// Rows that took the due amount, by service and currency.
    pub taken: ControlTotals,
    /// Rows whose amount fits.
    pub fitting: u64,
    /// Rows that cannot be paid by their bill.
    pub refused: u64,
    /// The first of them, in the order of their lines.
    pub refusals: Vec<RefusedBill>,
    /// Why not all bills were asked for.
    pub stopped: Option<BillsStop>,
}

/// Why not all bills were asked for. What was learned is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BillsStop {
    /// The gateway gave no answer.
    Gateway(OperationError),
    /// A signal came.
    Drained,
}

/// A row that cannot be paid by its bill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedBill {
    /// The file of the row.
    pub source: String,
    /// Its line there.
    pub line: u64,
    /// Its reference.
    pub reference: Option<String>,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The column to look at.
    pub column: &'static str,
    /// What the bill says, and the rule that is broken.
    pub what: String,
    /// The row that pays its bill, and has to end first.
    pub rival: Option<BillRival>,
}

/// A row's bill, judged.
struct Judged {
    finding: BillFinding,
    /// What the row takes.
    taken: Option<(ServiceCode, Money)>,
    refused: Option<RefusedBill>,
}

impl<Q: BillQueries> Bills<Q> {
    /// Asks for the bills that are still to be asked for, and records every answer as it comes; `tell` hears how far it is.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn carry_out(&self, mut tell: impl FnMut(&BillReport)) -> Result<BillReport, Error> {
        let checked: Vec<ServiceCode> = self
            .services
            .iter()
            .filter(|(_, rule)| rule.amount.asks())
            .map(|(service, _)| service.clone())
            .collect();
        let mut report = BillReport::default();
        let mut cursor = Some(match self.take_due {
            true => BillCursor::ALL,
            false => BillCursor::CHECKS,
        });
        while let Some(from) = cursor
            && report.stopped.is_none()
        {
            let limit = self.manner.packets() * REQUESTS;
            let (page, next) = self
                .journal
                .bills_to_ask(self.batch.clone(), checked.clone(), from, limit)
                .await?;
            cursor = next;
            self.page(page, &mut report).await?;
            tell(&report);
        }
        report
            .refusals
            .sort_by(|a, b| (&a.source, a.line).cmp(&(&b.source, b.line)));
        Ok(report)
    }

    async fn page(&self, page: Vec<BillRow>, report: &mut BillReport) -> Result<(), Error> {
        let (rivals, rows): (Vec<_>, Vec<_>) = page
            .into_iter()
            .partition(|row| row.amount.is_none() && row.rival.is_some());
        // Whatever its bill says, it is another row's to pay.
        let rivals = rivals.iter().map(|row| {
            let rival = row.rival.as_ref().map(ToString::to_string);
            let rival = rival.unwrap_or_default();
            refused(
                row,
                None,
                "account_number",
                format!(
                    "{rival} pays this account of {} already: what is due is known once that has ended",
                    row.service
                ),
            )
        });
        self.record(rivals.collect(), report).await?;
        let mut under_way = JoinSet::new();
        // A request names one country.
        let packets = self.manner.packets();
        let mut requests = rows
            .chunk_by(|one, next| one.country == next.country)
            .flat_map(|alike| alike.chunks(packets));
        loop {
            while under_way.len() < self.manner.concurrency && report.stopped.is_none() {
                let Some(rows) = requests.next() else { break };
                let (gateway, manner) = (Arc::clone(&self.gateway), Arc::clone(&self.manner));
                let rows = rows.to_vec();
                under_way.spawn(async move {
                    let inquiries: Vec<BillInquiry> = rows.iter().map(inquiry).collect();
                    let answers = manner.persist(|| gateway.bills(&inquiries)).await;
                    (rows, answers)
                });
            }
            let Some(joined) = under_way.join_next().await else {
                return Ok(());
            };
            let stop = match joined {
                Ok((rows, Some(Ok(answers)))) if answers.len() == rows.len() => {
                    let judged = rows
                        .iter()
                        .zip(&answers)
                        .map(|(row, answer)| judge(row, self.services.get(&row.service), answer));
                    self.record(judged.collect(), report).await?;
                    continue;
                }
                Ok((_, Some(Ok(_)))) => BillsStop::Gateway(OperationError::Unreadable {
                    section: "4.2",
                    what: "more or fewer bills than were asked for".to_owned(),
                }),
                Ok((_, Some(Err(error)))) => BillsStop::Gateway(error),
                Ok((_, None)) => BillsStop::Drained,
                Err(_) => BillsStop::Gateway(OperationError::Unavailable(
                    "a question about bills broke off".to_owned(),
                )),
            };
            report.stopped.get_or_insert(stop);
        }
    }

    async fn record(&self, judged: Vec<Judged>, report: &mut BillReport) -> Result<(), Error> {
        if judged.is_empty() {
            return Ok(());
        }
        let mut findings = Vec::with_capacity(judged.len());
        let (mut taken, mut refusals) = (Vec::new(), Vec::new());
        for judged in judged {
            findings.push(judged.finding);
            taken.extend(judged.taken);
            refusals.extend(judged.refused);
        }
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-pricing");
        let recorded = self
            .journal
            .record_bills(findings, self.clock.now())
            .await?;
        for (service, money) in taken {
            report.taken.add(&service, money);
        }
        report.fitting += recorded.fitting;
        report.refused += recorded.refused;
        let room = REFUSED_MAX.saturating_sub(report.refusals.len());
        report.refusals.extend(refusals.into_iter().take(room));
        Ok(())
    }
}

fn inquiry(row: &BillRow) -> BillInquiry {
    BillInquiry {
        service: row.service.clone(),
        account_number: row.account_number.clone(),
        msisdn: Some(row.msisdn),
        id: Some(row.id),
        country: Some(row.country),
    }
}

/// Returns what follows from an answer for its row.
fn judge(row: &BillRow, rule: Option<&BillRule>, answer: &BillAnswer) -> Judged {
    let bill = match answer {
        BillAnswer::Due(bill) => bill,
        BillAnswer::None { code, description } => {
            let column = match ABOUT_ACCOUNT.contains(code) {
                true => "account_number",
                false => "amount",
            };
            let what = format!("section 4.2: the bill query answers {code}: {description}");
            return Judged {
                finding: BillFinding {
                    code: Some(*code),
                    ..none(row, what.clone())
                },
                taken: None,
                refused: Some(refusal(row, column, what)),
            };
        }
        BillAnswer::Unknown(why) => {
            let what = format!("section 4.2: the bill query gives no usable answer: {why}");
            return refused(row, None, "account_number", what);
        }
    };
    if bill.due.currency != row.currency {
        let what = format!(
            "section 4.2: the bill is {} {}, expected {}",
            bill.due.currency, bill.due, row.currency
        );
        return refused(row, Some(bill), "currency_code", what);
    }
    let found = match row.amount {
        None => limits(row, rule, bill).map(|()| BillOutcome::Taken),
        Some(amount) => fits(row, rule, amount, bill).map(|()| BillOutcome::Fits),
    };
    match found {
        Err(what) => refused(row, Some(bill), "amount", what),
        Ok(outcome) => Judged {
            finding: BillFinding {
                outcome,
                ..said(row, bill, String::new())
            },
            taken: (outcome == BillOutcome::Taken).then(|| (row.service.clone(), bill.due)),
            refused: None,
        },
    }
}

/// An amount from a bill keeps the limits that a written one keeps (section 8).
fn limits(row: &BillRow, rule: Option<&BillRule>, bill: &Bill) -> Result<(), String> {
    let (currency, due) = (bill.due.currency, bill.due.amount);
    let money = |amount| Money { amount, currency };
    let broken = |words: &str, limit| {
        Err(format!(
            "section 8: expected at {words} {} {currency} for {}, the bill is {}",
            money(limit),
            row.service,
            bill.due
        ))
    };
    if let Some(decimals) = rule.and_then(|rule| rule.decimals)
        && !bill.due.fits_decimals(decimals)
    {
        return Err(format!(
            "the bill is {} {}, and this gateway takes no more than {decimals} decimals for {}",
            bill.due, bill.due.currency, row.service
        ));
    }
    match rule {
        Some(BillRule { min: Some(min), .. }) if due < *min => broken("least", *min),
        Some(BillRule { max: Some(max), .. }) if due > *max => broken("most", *max),
        _ => Ok(()),
    }
}

fn fits(row: &BillRow, rule: Option<&BillRule>, amount: Amount, bill: &Bill) -> Result<(), String> {
    let rule = rule.map_or(BillAmount::Any, |rule| rule.amount);
    if rule.allows(amount, bill.due.amount) {
        return Ok(());
    }
    let currency = row.currency;
    let words = match rule {
        BillAmount::AtMost => "at most ",
        BillAmount::Exact | BillAmount::Any => "",
    };
    Err(format!(
        "section 4.2: expected {words}{} {currency}, which is due on the bill of {}, found {}",
        bill.due,
        row.service,
        Money { amount, currency }
    ))
}

fn refused(row: &BillRow, bill: Option<&Bill>, column: &'static str, what: String) -> Judged {
    Judged {
        finding: match bill {
            Some(bill) => said(row, bill, what.clone()),
            None => none(row, what.clone()),
        },
        taken: None,
        refused: Some(refusal(row, column, what)),
    }
}

fn refusal(row: &BillRow, column: &'static str, what: String) -> RefusedBill {
    RefusedBill {
        source: row.source.clone(),
        line: row.line,
        reference: row.reference.clone(),
        id: row.id,
        column,
        what,
        // What has an amount waits for nobody.
        rival: row.rival.clone().filter(|_| row.amount.is_none()),
    }
}

fn none(row: &BillRow, description: String) -> BillFinding {
    BillFinding {
        seq: row.seq,
        outcome: BillOutcome::Refused,
        code: None,
        due: None,
        due_date: String::new(),
        customer_name: String::new(),
        description,
    }
}

fn said(row: &BillRow, bill: &Bill, description: String) -> BillFinding {
    BillFinding {
        code: Some(BILL_FOUND),
        due: Some(bill.due),
        due_date: bill.due_date.clone(),
        customer_name: bill.customer_name.clone(),
        ..none(row, description)
    }
}
