//! The list of payments, searched and filtered by page.js.

use std::io;

use askama::Template;

use super::list::List;
use super::listed::Listed;
use crate::domain::Tally;
use crate::report::files::pages::FOLDER;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::StateName;
use crate::report::words::text;

pub(super) fn write(
    out: &mut impl io::Write,
    reconciliation: &Reconciliation,
    list: &List,
    markup: &[Listed],
) -> io::Result<()> {
    let states = list.states.iter();
    let total = reconciliation.total();
    Payments {
        count: text::count(total.count),
        shown: text::count(markup.len() as u64),
        sums: sums(&total),
        is_beside: list.is_beside(),
        states: states
            .map(|state| Choice::new(*state, &reconciliation.state(*state)))
            .collect(),
        markup,
    }
    .write_into(out)
}

/// A state that can be chosen.
struct Choice {
    state: StateName,
    count: String,
    sums: String,
}

impl Choice {
    fn new(state: StateName, tally: &Tally) -> Self {
        Self {
            state,
            count: text::count(tally.count),
            sums: sums(tally),
        }
    }
}

fn sums(tally: &Tally) -> String {
    text::amounts(&tally.amounts).join(" · ")
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section id="payments">
<h2>Payments</h2>
<form id="find" hidden>
<label class="search">Search <input type="search" id="q" autocomplete="off" placeholder="reference, name, receipt …"></label>
<label>State <select id="state"><option value="" data-sums="{{ sums }}">all</option>
{%- for choice in states %}<option value="{{ choice.state }}" data-words="{{ choice.state.in_words() }}" data-sums="{{ choice.sums }}">{{ choice.state.in_words() }} ({{ choice.count }})</option>{% endfor -%}
</select></label>
<label>Rows <select id="size"><option>50</option><option>200</option><option>1000</option>{% if !is_beside %}<option value="0">all</option>{% endif %}</select></label>
<span class="pager"><button type="button" id="first" aria-label="first page">«</button><button type="button" id="back" aria-label="previous page">‹</button>
<label>Page <input type="number" id="page" min="1" value="1" inputmode="numeric"></label> <span id="pages"></span>
<button type="button" id="next" aria-label="next page">›</button><button type="button" id="last" aria-label="last page">»</button></span>
<output id="found" aria-live="polite"></output>
<progress id="progress" max="1" value="0" hidden></progress>
</form>
<p class="note" id="trouble" role="alert" hidden></p>
{%- if is_beside %}
<noscript><p class="note">These are the first {{ shown }} of {{ count }} payments. To page through the others and to search them, the page needs scripts, which the browser has switched off. <a href="payments.csv">payments.csv</a>, beside this page, has every payment.</p></noscript>
<p class="quiet" id="beside">The rows are in the folder <b>{{ FOLDER }}</b> beside this page: copy or send the two together. <a href="payments.csv">payments.csv</a> has every payment, too.</p>
{%- else if markup.is_empty() %}
<noscript><p class="note">The list needs scripts, which this page carries and the browser has switched off. <a href="payments.csv">payments.csv</a>, beside this page, has every payment.</p></noscript>
{%- endif %}
<table class="rows" id="list">
<thead><tr><th class="n">Line</th><th>Reference</th><th>Recipient</th><th class="n">Amount</th><th>State</th><th>Evidence</th></tr></thead>
<tbody>
{%- for row in markup %}
<tr><td class="n">{{ row.line }}</td><td>{{ row.reference }}<small class="id">{{ row.id }}</small>{% if !row.about.is_empty() %}<small>{{ row.about }}</small>{% endif %}</td><td>{% if !row.name.is_empty() %}{{ row.name }}<small>{{ row.msisdn }}</small>{% else %}{{ row.msisdn }}{% endif %}{% if !row.account.is_empty() %}<small>{{ row.account }}</small>{% endif %}{% if !row.bank.is_empty() %}<small>{{ row.bank }}</small>{% endif %}<small>{{ row.service }}</small></td><td class="n">{{ row.amount }}<small>{{ row.currency }}</small></td><td><span class="badge s-{{ row.state }}">{{ row.state.in_words() }}</span><small>{{ row.at }}</small></td><td>{{ row.outcome }}{% if !row.detail.is_empty() %}<small>{{ row.detail }}</small>{% endif %}</td></tr>
{%- endfor %}
</tbody>
</table>
<p class="note on-paper" id="unprinted"{% if !is_beside %} hidden{% endif %}>{% if is_beside %}Printed are the first {{ shown }} of {{ count }} payments. payments.csv has every payment.{% endif %}</p>
</section>
"#
)]
struct Payments<'a> {
    count: String,
    shown: String,
    sums: String,
    is_beside: bool,
    states: Vec<Choice>,
    markup: &'a [Listed],
}
