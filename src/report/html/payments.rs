//! The list of payments, searched and filtered by page.js.

use std::io;

use askama::Template;

use super::listed::Listed;
use super::order::ON_PAGE;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::StateName;
use crate::report::words::text;

pub(super) fn write(
    out: &mut impl io::Write,
    reconciliation: &Reconciliation,
    complete: bool,
    listed: u64,
    markup: &[Listed],
) -> io::Result<()> {
    let states = ON_PAGE
        .into_iter()
        .map(|state| (state, reconciliation.state(state).count))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| (state, text::count(count)))
        .collect();
    Payments {
        count: text::count(reconciliation.total().count),
        listed: text::count(listed),
        missing: text::count(reconciliation.total().count.saturating_sub(listed)),
        complete,
        states,
        markup,
    }
    .write_into(out)
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section id="payments">
<h2>Payments</h2>
{%- if !complete %}
<p class="note">The batch has {{ count }} payments, more than a page can list. Listed here are exceptions only, {{ listed }} rows, and {{ missing }} payments are not; <b>payments.csv</b> has every payment.</p>
{%- endif %}
<form id="find" hidden>
<label>Search <input type="search" id="q" autocomplete="off" placeholder="reference, number …"></label>
<label>State <select id="state"><option value="">all</option>
{%- for (state, count) in states %}<option value="{{ state }}" data-words="{{ state.in_words() }}">{{ state.in_words() }} ({{ count }})</option>{% endfor -%}
</select></label>
<label>Rows <select id="size"><option>50</option><option>200</option><option>1000</option><option value="0">all</option></select></label>
<output id="found" aria-live="polite"></output>
<span class="pager"><button type="button" id="back" aria-label="previous rows">‹</button> <button type="button" id="next" aria-label="next rows">›</button></span>
</form>
{%- if markup.is_empty() %}
<noscript><p class="note">The list needs scripts, which this page carries and the browser has switched off. payments.csv has every payment.</p></noscript>
{%- endif %}
<table class="rows" id="list">
<thead><tr><th class="n">Line</th><th>Reference</th><th>Recipient</th><th class="n">Amount</th><th>State</th><th>Evidence</th></tr></thead>
<tbody>
{%- for row in markup %}
<tr><td class="n">{{ row.line }}</td><td>{{ row.reference }}<small class="id">{{ row.id }}</small>{% if !row.about.is_empty() %}<small>{{ row.about }}</small>{% endif %}</td><td>{% if !row.name.is_empty() %}{{ row.name }}<small>{{ row.msisdn }}</small>{% else %}{{ row.msisdn }}{% endif %}{% if !row.account.is_empty() %}<small>{{ row.account }}</small>{% endif %}{% if !row.bank.is_empty() %}<small>{{ row.bank }}</small>{% endif %}<small>{{ row.service }}</small></td><td class="n">{{ row.amount }}<small>{{ row.currency }}</small></td><td><span class="badge s-{{ row.state }}">{{ row.state.in_words() }}</span><small>{{ row.at }}</small></td><td>{{ row.outcome }}{% if !row.detail.is_empty() %}<small>{{ row.detail }}</small>{% endif %}</td></tr>
{%- endfor %}
</tbody>
</table>
<p class="note on-paper" id="unprinted" hidden></p>
</section>
"#
)]
struct Payments<'a> {
    count: String,
    listed: String,
    missing: String,
    complete: bool,
    states: Vec<(StateName, String)>,
    markup: &'a [Listed],
}
