//! The pages, as HTML. Whatever comes from people is escaped by the templates: none of it is marked safe.

use std::sync::Arc;

use askama::Template;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::shared::Reading;
use super::token::Token;
use super::view::{Batch, Batches, Found, Payment, Rows};
use crate::page::{SCRIPT, TO_THE_CONTENT, head};

/// What stands around every page.
#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{{ head|safe }}
<body{% if let Some(events) = events %} data-events="{{ events }}" data-proof="{{ proof }}" data-phase="{{ phase }}"{% endif %}>
{{ TO_THE_CONTENT|safe }}
<header class="bar"><div class="top"><nav aria-label="Pages"><a class="brand" href="{{ root }}">All batches</a></nav>
<form role="search" action="{{ root }}search" method="get"><label class="unseen" for="q">Reference, identifier, phone number or name</label><input id="q" name="q" type="search" value="{{ sought }}" maxlength="200" autocomplete="off" placeholder="Reference, number or name"><button>Find</button></form></div></header>
<main id="main" tabindex="-1">
<p id="said" class="unseen" role="status" aria-live="polite"></p>
<p id="lost" class="said bad" hidden>The program behind this page does not answer, or has ended: the figures below no longer change. <code>disburse serve</code> shows it again, at another address.</p>
{{ content|safe }}
</main>
<footer class="foot">{% if !at.is_empty() %}<p>As of <span id="at">{{ at }}</span>.{% if events.is_some() %}<noscript> This page does not update itself: reload it to see the present state.</noscript>{% else %} This page does not update itself: reload it to see the present state.{% endif %}</p>{% endif %}
<p>Read only: nothing can be changed from here. Anybody who has the address of this page sees what it shows.</p></footer>
{% if events.is_some() %}<script>{{ script|safe }}</script>
{% endif %}</body>
</html>
"##
)]
struct Layout<'a> {
    head: &'a str,
    script: &'static str,
    root: &'a str,
    events: Option<String>,
    /// In the page, and in no address: who sends events has to know it.
    proof: &'a str,
    phase: &'a str,
    sought: &'a str,
    at: &'a str,
    content: &'a str,
}

/// Makes the pages of one server.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// The path that all of them begin with.
    root: String,
    proof: String,
}

/// A text as it stands in a path or a query.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn rendered(template: &impl Template) -> String {
    template.render().expect("a page is written into memory")
}

impl Pages {
    pub(super) fn new(token: &Token, proof: &Token) -> Self {
        Self {
            root: format!("/{}/", token.as_str()),
            proof: proof.as_str().to_owned(),
        }
    }

    /// Returns what the pages know, and no address holds.
    pub(super) fn proof(&self) -> &str {
        &self.proof
    }

    /// The page of a thing that stands still while it is looked at.
    fn still(&self, title: &str, sought: &str, at: &str, content: &str) -> String {
        rendered(&Layout {
            head: &head(title),
            script: SCRIPT,
            root: &self.root,
            events: None,
            proof: &self.proof,
            phase: "",
            sought,
            at,
            content,
        })
    }

    fn live(&self, (title, phase): (&str, &str), path: &str, at: &str, content: String) -> Reading {
        let page = rendered(&Layout {
            head: &head(title),
            script: SCRIPT,
            root: &self.root,
            events: Some(format!("{}{path}events", self.root)),
            proof: &self.proof,
            phase,
            sought: "",
            at,
            content: &content,
        });
        Reading {
            content: content.into(),
            page: page.into(),
            at: Arc::from(at),
        }
    }

    pub(super) fn batches(&self, view: &Batches) -> Reading {
        let root = &self.root;
        let content = rendered(&BatchesPage { view, root });
        self.live(("Batches · disburse", ""), "", &view.at, content)
    }

    pub(super) fn batch(&self, view: &Batch) -> Reading {
        let root = &self.root;
        let title = format!("{} · disburse", view.name);
        let path = format!("batch/{}/", encoded(&view.name));
        let content = rendered(&BatchPage { view, root });
        self.live((&title, &phase_of(view)), &path, &view.at, content)
    }

    pub(super) fn rows(&self, view: &Rows) -> String {
        let root = &self.root;
        let title = format!("{} · {} · disburse", view.heading, view.batch);
        self.still(&title, "", &view.at, &rendered(&RowsPage { view, root }))
    }

    pub(super) fn found(&self, view: &Found) -> String {
        let root = &self.root;
        self.still(
            "Search · disburse",
            &view.text,
            "",
            &rendered(&FoundPage { view, root }),
        )
    }

    pub(super) fn payment(&self, view: &Payment) -> String {
        let root = &self.root;
        let title = format!("{} · {} · disburse", view.title, view.batch);
        self.still(&title, "", &view.at, &rendered(&PaymentPage { view, root }))
    }

    /// A page that says why there is none.
    pub(super) fn trouble(&self, heading: &str, text: &str) -> String {
        self.still(heading, "", "", &rendered(&TroublePage { heading, text }))
    }
}

/// What a screen reader is told at once when it changes.
fn phase_of(view: &Batch) -> String {
    let waits = view.lanes.len() + view.alarms.len();
    let done = view.finished == view.total;
    format!("{} {done} {waits}", view.phase.class())
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<h1>Batches</h1>
<p class="quiet">Journal <code>{{ view.journal }}</code></p>
<div data-part="batches">
{%- for text in view.warnings %}
<p class="said wait">{{ text }}</p>
{%- endfor %}
{%- if view.batches.is_empty() %}
<p class="said">The journal holds no batch yet; <code>disburse load FILE --batch NAME</code> makes one.</p>
{%- else %}
<div class="wide" id="list" tabindex="0" role="region" aria-label="Batches"><table class="rows">
<caption class="unseen">Batches, the newest first</caption>
<thead><tr><th scope="col">Batch</th><th scope="col">State</th><th scope="col" class="n">Paid</th><th scope="col" class="n">Payments</th><th scope="col" class="n">Amount</th><th scope="col">Notes</th></tr></thead>
<tbody>
{%- for batch in view.batches %}
<tr><th scope="row"><a href="{{ root }}batch/{{ batch.name }}">{{ batch.name }}</a></th><td data-is="State">{{ batch.state }}</td><td class="n" data-is="Paid">{{ batch.paid }}</td><td class="n" data-is="Payments">{{ batch.count }}</td><td class="n" data-is="Amount">{{ batch.amount }}</td><td data-is="Notes">
{%- for note in batch.notes %}{% if !loop.first %}; {% endif %}{{ note }}{% endfor %}</td></tr>
{%- endfor %}
</tbody></table></div>
{%- endif %}
{%- if view.more > 0 %}
<p class="quiet">And {{ view.more }} older ones: <code>disburse status</code> lists all.</p>
{%- endif %}
</div>"#
)]
struct BatchesPage<'a> {
    view: &'a Batches,
    root: &'a str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<h1>{{ view.name }}</h1>
{%- for text in view.notices %}
<p class="quiet">{{ text }}</p>
{%- endfor %}
<div data-part="head">
<div hidden data-phase="{{ self::phase_of(view) }}" data-said="{{ view.headline }}" data-title="{{ view.finished }}/{{ view.total }} {{ view.name }} · disburse"></div>
<p class="said {{ view.phase.class() }}"><b>{{ view.headline }}</b>{% for text in view.pace %} · {{ text }}{% endfor %}</p>
<progress aria-label="Payments that have ended" max="{{ view.total.max(1) }}" value="{{ view.finished }}"></progress>
{%- for text in view.alarms %}
<p class="said bad"><b>{{ text }}</b></p>
{%- endfor %}
</div>
<div class="cards" data-part="cards">
{%- for card in view.cards %}
<div class="card {{ card.phase.class() }}"><b>{{ card.figure }}</b><span>{{ card.label }}</span>{% if !card.amount.is_empty() %}<span>{{ card.amount }}</span>{% endif %}</div>
{%- endfor %}
</div>
<div data-part="next">
{%- if !view.awaited.is_empty() %}
<section aria-labelledby="h-awaited"><h2 id="h-awaited">Waiting for</h2><ul class="told">{% for text in view.awaited %}<li>{{ text }}</li>{% endfor %}</ul></section>
{%- endif %}
{%- if !view.lanes.is_empty() %}
<section aria-labelledby="h-lanes"><h2 id="h-lanes">Paused services</h2><ul class="told">{% for text in view.lanes %}<li>{{ text }}</li>{% endfor %}</ul></section>
{%- endif %}
{%- if !view.approvals.is_empty() %}
<section aria-labelledby="h-approvals"><h2 id="h-approvals">Signatures</h2><ul class="told">{% for text in view.approvals %}<li>{{ text }}</li>{% endfor %}</ul></section>
{%- endif %}
{%- if !view.next.is_empty() %}
<section aria-labelledby="h-next"><h2 id="h-next">Next steps</h2><ul class="told">{% for text in view.next %}<li>{{ text }}</li>{% endfor %}</ul></section>
{%- endif %}
</div>
<section aria-labelledby="h-states"><h2 id="h-states">Where the payments stand</h2>
<div data-part="states"><div class="wide" id="states" tabindex="0" role="region" aria-label="Count and amount by state"><table>
<caption class="unseen">Count and amount by state</caption>
<thead><tr><th scope="col">State</th><th scope="col" class="n">Count</th><th scope="col" class="n">Amount</th></tr></thead>
<tbody>
{%- for state in view.states %}
<tr><th scope="row">{% if state.listed %}<a href="{{ root }}batch/{{ view.name }}/rows?state={{ state.name }}">{{ state.words }}</a>{% else %}{{ state.words }}{% endif %}</th><td class="n">{{ state.count }}</td><td class="n">{{ state.amount }}</td></tr>
{%- endfor %}
</tbody></table></div></div></section>
<section aria-labelledby="h-exceptions"><h2 id="h-exceptions">Exceptions</h2>
<div data-part="exceptions">
{%- if view.exceptions.is_empty() %}
<p class="quiet">None.</p>
{%- endif %}
{%- for group in view.exceptions %}
<div class="group"><h3><span class="badge s-{{ group.state }}">{{ group.words }}</span> <span class="theirs">{{ group.outcome }}</span> <span class="sum">{{ group.count }}{% if !group.amount.is_empty() %} · {{ group.amount }}{% endif %}</span></h3>
<p>{{ group.meaning }} <b>What to do:</b> {{ group.remedy }}</p>
<p><a href="{{ root }}batch/{{ view.name }}/rows?state={{ group.state }}{% if let Some(code) = group.code %}&amp;code={{ code }}{% endif %}">Rows: {{ group.words }}{% if let Some(code) = group.code %} ({{ code }}){% endif %}</a></p></div>
{%- endfor %}
</div></section>
<section aria-labelledby="h-report"><h2 id="h-report">Report</h2>
<p class="quiet">Written when it is asked for, as the batch stands then. It holds whole phone numbers.</p>
<ul class="files" data-part="files">
{%- for file in view.reports %}
<li><a href="{{ root }}batch/{{ view.name }}/report/{{ file.file.name() }}" download>{{ file.file.name() }}<small> {{ file.words }}</small></a></li>
{%- endfor %}
</ul></section>
<section aria-labelledby="h-about"><h2 id="h-about">About this batch</h2><ul class="told" data-part="about">
{%- for line in view.about %}
<li>{{ line.label }}: <span class="theirs">{{ line.text }}</span></li>
{%- endfor %}
</ul></section>"#
)]
struct BatchPage<'a> {
    view: &'a Batch,
    root: &'a str,
}

/// A table of rows; who they belong to is what people wrote.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<div class="wide" id="found" tabindex="0" role="region" aria-label="Rows"><table class="rows">
<caption class="unseen">{{ caption }}</caption>
<thead><tr><th scope="col">Row</th><th scope="col">To</th><th scope="col" class="n">Amount</th><th scope="col">Stands</th></tr></thead>
<tbody>
{%- for row in rows %}
<tr><th scope="row"><a href="{{ root }}batch/{{ self::encoded(row.batch) }}/payment/{{ self::encoded(row.id) }}"><bdi class="theirs">{% if row.whose.is_empty() %}{{ row.id }}{% else %}{{ row.whose }}{% endif %}</bdi></a><small>{% if is_mixed %}batch {{ row.batch }}, {% endif %}<bdi class="theirs">{{ row.place }}</bdi></small></th><td data-is="To"><bdi class="theirs">{{ row.to }}</bdi></td><td class="n" data-is="Amount">{{ row.amount }}</td><td data-is="Stands"><span class="badge s-{{ row.state }}">{{ row.words }}</span>{% if !row.said.is_empty() %}<small><bdi class="theirs">{{ row.said }}</bdi></small>{% endif %}</td></tr>
{%- endfor %}
</tbody></table></div>"#
)]
struct Table<'a> {
    root: &'a str,
    caption: &'a str,
    rows: &'a [super::view::Listed],
    is_mixed: bool,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<nav aria-label="Batch"><a href="{{ root }}batch/{{ view.batch }}">Back to {{ view.batch }}</a></nav>
<h1>{{ view.heading }}</h1>
{%- for text in view.told %}
<p class="said">{{ text }}</p>
{%- endfor %}
{%- if view.rows.is_empty() %}
<p class="said">None.</p>
{%- else %}
{{ self::table(root, view.heading, view.rows, false)|safe }}
{%- endif %}
{%- if let Some(next) = view.next %}
<p><a href="{{ root }}batch/{{ view.batch }}/rows?{{ next }}">More rows</a></p>
{%- endif %}"#
)]
struct RowsPage<'a> {
    view: &'a Rows,
    root: &'a str,
}

fn table(root: &str, caption: &str, rows: &[super::view::Listed], is_mixed: bool) -> String {
    rendered(&Table {
        root,
        caption,
        rows,
        is_mixed,
    })
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<h1>Search</h1>
<p class="said"><bdi class="theirs">{{ view.told }}</bdi></p>
{%- if !view.rows.is_empty() %}
{{ self::table(root, "Rows that were found", view.rows, true)|safe }}
{%- endif %}"#
)]
struct FoundPage<'a> {
    view: &'a Found,
    root: &'a str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<nav aria-label="Batch"><a href="{{ root }}batch/{{ view.batch }}">Back to {{ view.batch }}</a></nav>
<h1><bdi class="theirs">{{ view.title }}</bdi></h1>
{%- for told in view.told %}
<section aria-label="Payment {{ loop.index }}"><h2><bdi class="theirs">{{ told.heading }}</bdi></h2>
<ul class="told">{% for text in told.standing %}<li><bdi class="theirs">{{ text }}</bdi></li>{% endfor %}</ul>
<h3>What happened</h3>
<ol class="told">{% for text in told.history %}<li><bdi class="theirs">{{ text }}</bdi></li>{% endfor %}</ol></section>
{%- endfor %}"#
)]
struct PaymentPage<'a> {
    view: &'a Payment,
    root: &'a str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<h1>{{ heading }}</h1>
<p class="said wait"><bdi class="theirs">{{ text }}</bdi></p>"#
)]
struct TroublePage<'a> {
    heading: &'a str,
    text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_payment_says_what_it_is_and_as_of_when() {
        let token = Token::of("token");
        let pages = Pages::new(&token, &token);
        let page = pages.payment(&Payment {
            batch: "june".to_owned(),
            title: "Payment E-7".to_owned(),
            at: "2026-11-26 12:04:48 EAT".to_owned(),
            ..Payment::default()
        });
        assert!(
            page.contains("<title>Payment E-7 · june · disburse</title>"),
            "{page}"
        );
        assert!(page.contains("2026-11-26 12:04:48 EAT"), "{page}");
        assert!(page.contains("This page does not update itself"), "{page}");
    }
}
