//! `GET /`: the books on one page, for a person. Nothing is loaded from anywhere else; its one script loads the page again.
//!
//! Numbers show their last four digits, and prepaid tokens too: whoever reads one can use it.

use crate::domain::{PaymentKind, grouped};
use crate::page::{SCRIPT, TO_THE_CONTENT, head};
use crate::sandbox::books::event::Post;
use crate::sandbox::books::ledger::Status;
use crate::sandbox::books::verdict::{FloatAccount, Standing, Verdict};
use crate::sandbox::faults::fault::Fault;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::rules::accounts::lacks_meter;
use askama::Template;

/// How many documents and transfers are listed.
const LISTED_MAX: usize = 25;

/// How often the page loads itself again while somebody looks, in milliseconds.
const EVERY_MS: u32 = 2_000;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{{ head|safe }}
<body data-every="{{ every }}">
{{ TO_THE_CONTENT|safe }}
<main id="main" tabindex="-1">
<h1>Sandbox gateway</h1>
<p id="lost" class="said bad" hidden>The sandbox does not answer, or has ended: the figures below no longer change.</p>
<p class="quiet">No money moves here. As of <span data-part="now">{{ now }}</span> (Nairobi).<noscript> Reload the page for the present figures.</noscript> Ledger <code>{{ identity }}</code></p>
<nav aria-label="For programs"><a href="/sandbox/ledger">Ledger as JSON</a> <a href="/openapi.yaml">Interface as OpenAPI</a></nav>
<div data-part="books">
<div class="cards">
<div class="card good"><b>{{ verdict.executed_once }}</b><span>executed once</span></div>
<div class="card {% if verdict.executed_more > 0 %}bad{% endif %}"><b>{{ verdict.executed_more }}</b><span>executed twice or more</span></div>
<div class="card wait"><b>{{ verdict.pending }}</b><span>pending</span></div>
<div class="card"><b>{{ verdict.never_executed }}</b><span>never executed</span></div>
<div class="card {% if verdict.altered > 0 %}bad{% endif %}"><b>{{ verdict.altered }}</b><span>posted again with other bytes</span></div>
<div class="card"><b>{{ verdict.posts }}</b><span>posts, repeats included</span></div>
</div>
<section>
<h2>Money that moved</h2>
{% if amounts.is_empty() %}<p class="quiet">None so far.</p>
{% else %}<p>{% for (currency, amount) in amounts %}{% if !loop.first %} · {% endif %}{{ currency }} {{ self::grouped(amount) }}{% endfor %}</p>
{% endif %}</section>
<section>
<h2 id="h-float">Float</h2>
<div class="wide" id="float" tabindex="0" role="region" aria-labelledby="h-float"><table>
<caption class="unseen">Float</caption>
<tr><th scope="col">Service</th><th scope="col">Kind</th><th scope="col" class="n">Available</th><th scope="col" class="n">Reserved</th><th scope="col" class="n">Accepted</th><th scope="col"><span class="unseen">Remark</span></th></tr>
{% for float in floats %}<tr><td>{{ float.account.service }}</td><td>{{ float.kind }}</td><td class="n">{{ float.account.currency }} {{ self::grouped(float.account.available) }}</td><td class="n">{{ self::grouped(float.account.reserved) }}</td><td class="n">{{ float.account.accepted }}</td><td>{% if float.account.short %}<span class="short">short</span>{% endif %}{% if !float.active %}inactive{% endif %}</td></tr>
{% endfor %}</table></div>
</section>
<section>
<h2 id="h-payments">Latest payments</h2>
{% if payments.is_empty() %}<p class="quiet">None so far.</p>
{% else %}<div class="wide" id="payments" tabindex="0" role="region" aria-labelledby="h-payments"><table>
<caption class="unseen">Latest payments</caption>
<tr><th scope="col">payerTransactionID</th><th scope="col">Service</th><th scope="col">Number</th><th scope="col">Account</th><th scope="col" class="n">Amount</th><th scope="col">Accepted</th><th scope="col">Standing</th><th scope="col">Narration</th></tr>
{% for row in payments %}<tr><td><code>{{ row.id }}</code></td><td>{{ row.service }}</td><td>{{ row.msisdn }}</td><td>{{ row.account }}</td><td class="n">{{ row.money }}</td><td>{{ row.at }}</td><td class="{{ row.standing }}">{{ row.standing }} ({{ row.code }})</td><td>{{ row.note }}</td></tr>
{% endfor %}</table></div>
{% endif %}</section>
<section>
<h2 id="h-transfers">RTGS transfers with the bank</h2>
{% if transfers.is_empty() %}<p class="quiet">None is waiting for settlement.</p>
{% else %}<div class="wide" id="transfers" tabindex="0" role="region" aria-labelledby="h-transfers"><table>
<caption class="unseen">RTGS transfers with the bank</caption>
<tr><th scope="col">Application</th><th scope="col">payerTransactionID</th><th scope="col">Account</th><th scope="col" class="n">Amount</th></tr>
{% for row in transfers %}<tr><td><code>{{ row.application }}</code></td><td><code>{{ row.id }}</code></td><td>{{ row.account }}</td><td class="n">{{ row.money }}</td></tr>
{% endfor %}</table></div>
{% endif %}</section>
<section>
<h2 id="h-documents">Supporting documents</h2>
{% if document_count == 0 %}<p class="quiet">None so far.</p>
{% else %}<p class="quiet">{{ document_count }} in all{% if document_count > documents.len() %}; the first {{ documents.len() }}{% endif %}</p>
<div class="wide" id="documents" tabindex="0" role="region" aria-labelledby="h-documents"><table>
<caption class="unseen">Supporting documents</caption>
<tr><th scope="col">Reference</th><th scope="col">payerTransactionId</th><th scope="col">File</th><th scope="col" class="n">Bytes</th><th scope="col">SHA-256</th></tr>
{% for row in documents %}<tr><td><code>{{ row.reference }}</code></td><td><code>{{ row.id }}</code></td><td>{{ row.name }}</td><td class="n">{{ row.size }}</td><td><code>{{ row.digest }}…</code></td></tr>
{% endfor %}</table></div>
{% endif %}</section>
<section>
<h2 id="h-faults">Faults</h2>
{% if faults.is_empty() && shortage.is_none() %}<p class="quiet">None planned: everything goes well.</p>
{% else %}<p class="quiet">As planned from the seed; counted since this process began.</p>
<div class="wide" id="faults" tabindex="0" role="region" aria-labelledby="h-faults"><table>
<caption class="unseen">Faults</caption>
<tr><th scope="col">Fault</th><th scope="col" class="n">Chance</th><th scope="col" class="n">Happened</th></tr>
{% for row in faults %}<tr><td><code>{{ row.name }}</code></td><td class="n">{{ row.chance }}</td><td class="n">{{ row.count }}</td></tr>
{% endfor %}{% if let Some(text) = shortage %}<tr><td><code>float_shortage</code></td><td colspan="2">{{ text }}</td></tr>
{% endif %}</table></div>
{% endif %}</section>
</div>
</main>
<script>{{ script|safe }}</script>
</body>
</html>
"##
)]
struct Page {
    head: String,
    script: &'static str,
    every: u32,
    now: String,
    identity: String,
    verdict: Verdict,
    amounts: Vec<(&'static str, String)>,
    floats: Vec<Float>,
    payments: Vec<Listed>,
    transfers: Vec<Transfer>,
    documents: Vec<Stored>,
    document_count: usize,
    faults: Vec<Met>,
    shortage: Option<String>,
}

struct Float {
    account: FloatAccount,
    kind: PaymentKind,
    active: bool,
}

struct Listed {
    id: String,
    service: String,
    msisdn: String,
    account: String,
    money: String,
    at: String,
    standing: &'static str,
    code: u16,
    note: String,
}

struct Transfer {
    application: String,
    id: String,
    account: String,
    money: String,
}

struct Stored {
    reference: String,
    id: String,
    name: String,
    size: u64,
    digest: String,
}

struct Met {
    name: &'static str,
    chance: String,
    count: u64,
}

/// Renders the page.
pub(in crate::sandbox) fn render(gateway: &Gateway) -> String {
    let page = {
        let ledger = &gateway.book().ledger;
        let verdict = ledger.verdict();
        Page {
            head: head("Sandbox gateway"),
            script: SCRIPT,
            every: EVERY_MS,
            now: gateway.date(gateway.now()),
            identity: gateway.identity.clone(),
            amounts: verdict.amounts.decimals().into_iter().collect(),
            verdict,
            floats: floats(gateway, ledger.floats()),
            payments: ledger
                .recent()
                .filter_map(|(id, status)| listed(gateway, id, &status))
                .collect(),
            transfers: ledger
                .delivered(LISTED_MAX)
                .iter()
                .map(|(number, post)| Transfer {
                    application: gateway.application(&post.id, *number),
                    id: post.id.to_string(),
                    account: masked(&post.account),
                    money: money(post),
                })
                .collect(),
            documents: ledger
                .documents
                .iter()
                .take(LISTED_MAX)
                .map(|(id, document)| Stored {
                    reference: document.reference.to_string(),
                    id: id.to_string(),
                    name: document.name.to_string(),
                    size: document.size,
                    digest: document.sha256.chars().take(12).collect(),
                })
                .collect(),
            document_count: ledger.documents.count(),
            faults: faults(gateway),
            shortage: gateway.plan.faults.float_shortage.as_ref().map(|shortage| {
                format!(
                    "{} after {} accepted payments, topped up {} ms later",
                    shortage.service, shortage.after, shortage.topped_up_after_ms
                )
            }),
        }
    };
    page.render().expect("a page is written into memory")
}

fn floats(gateway: &Gateway, accounts: Vec<FloatAccount>) -> Vec<Float> {
    let services = gateway.services().iter();
    let pairs = accounts.into_iter().zip(services);
    pairs
        .map(|(account, service)| Float {
            account,
            kind: service.kind,
            active: service.active,
        })
        .collect()
}

fn listed(gateway: &Gateway, id: &str, status: &Status) -> Option<Listed> {
    let acceptance = status.acceptance.as_ref()?;
    let post = &acceptance.post;
    let note = match (status.standing, post.kind) {
        (Standing::Paid, PaymentKind::BillPrepaid) => {
            format!("Token {}", masked(&gateway.prepaid_token(id)))
        }
        (Standing::Failed(_), _) if lacks_meter(post) => "Meter not found".to_owned(),
        _ => String::new(),
    };
    Some(Listed {
        id: id.to_owned(),
        service: post.service.to_string(),
        msisdn: masked(&post.msisdn),
        account: masked(&post.account),
        money: money(post),
        at: gateway.date(acceptance.at),
        standing: status.standing.name(),
        code: status.standing.code(),
        note,
    })
}

fn money(post: &Post) -> String {
    let digits = grouped(&post.money.to_string());
    format!("{} {digits}", post.money.currency)
}

/// The last four characters; all of a shorter text would be no mask.
fn masked(text: &str) -> String {
    let length = text.chars().count();
    if length <= 4 {
        return "…".to_owned();
    }
    format!("…{}", text.chars().skip(length - 4).collect::<String>())
}

fn faults(gateway: &Gateway) -> Vec<Met> {
    let planned = |fault| gateway.plan.faults.chance(fault) > 0.0;
    Fault::ALL
        .into_iter()
        .filter(|(fault, _)| planned(*fault))
        .map(|(fault, name)| Met {
            name,
            chance: format!("{:.1} %", gateway.plan.faults.chance(fault) * 100.0),
            count: gateway.faulted.of(fault),
        })
        .collect()
}
