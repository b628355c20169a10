//! The table that adds up: state by service by currency, against the control totals.

use std::io;

use askama::Template;

use super::order::ON_PAGE;
use crate::domain::Currency;
use crate::report::fold::lane::{Lane, Sum};
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::StateName;
use crate::report::words::text;

pub(super) fn write(out: &mut impl io::Write, reconciliation: &Reconciliation) -> io::Result<()> {
    let mut currencies: Vec<Section> = Vec::new();
    let mut sums: Vec<(Currency, Lane)> = Vec::new();
    for (service, currency, lane) in reconciliation.lanes() {
        if sums.last().is_none_or(|(last, _)| *last != currency) {
            sums.push((currency, Lane::default()));
            currencies.push(Section {
                currency,
                blocks: Vec::new(),
            });
        }
        if let (Some((_, sum)), Some(section)) = (sums.last_mut(), currencies.last_mut()) {
            sum.add_all(lane);
            section.blocks.push(Block::new(service, currency, lane));
        }
    }
    for (section, (currency, sum)) in currencies.iter_mut().zip(&sums) {
        if section.blocks.len() > 1 {
            let all = Block::new("All services", *currency, sum);
            section.blocks.push(all);
        }
    }
    let found = reconciliation.set_aside();
    let control = reconciliation.rejected_control();
    Totals {
        currencies,
        rejected: text::count(found.count),
        rejected_amounts: text::amounts(&found.amounts).join(" · "),
        rejected_control: text::count(control),
        rejected_agrees: found.count == control,
    }
    .write_into(out)
}

struct Section {
    currency: Currency,
    blocks: Vec<Block>,
}

struct Block {
    service: String,
    states: Vec<(StateName, String, String)>,
    found: (String, String),
    control: (String, String),
    difference: (String, String),
    agrees: bool,
}

impl Block {
    fn new(service: &str, currency: Currency, lane: &Lane) -> Self {
        let shown = |sum: Sum| (text::count(sum.count), text::amount(sum.minor, currency));
        let found = lane.found();
        let states = ON_PAGE
            .into_iter()
            .map(|state| (state, lane.state(state)))
            .filter(|(_, sum)| sum.count > 0)
            .map(|(state, sum)| (state, shown(sum).0, shown(sum).1))
            .collect();
        let count = i128::from(found.count) - i128::from(lane.control.count);
        Self {
            service: text::for_page(service).into_owned(),
            states,
            found: shown(found),
            control: shown(lane.control),
            difference: (
                text::grouped(&count.to_string()),
                text::amount(found.minor - lane.control.minor, currency),
            ),
            agrees: found == lane.control,
        }
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section id="totals">
<h2>Totals</h2>
{%- for section in currencies %}
<table class="totals">
<thead><tr><th>Service</th><th>State</th><th class="n">Payments</th><th class="n">{{ section.currency }}</th></tr></thead>
{%- for block in section.blocks %}
<tbody>
{%- for (state, count, amount) in block.states %}
<tr><th scope="row">{% if loop.first %}{{ block.service }}{% endif %}</th><td><span class="badge s-{{ state }}">{{ state.in_words() }}</span></td><td class="n">{{ count }}</td><td class="n">{{ amount }}</td></tr>
{%- endfor %}
<tr class="found"><th scope="row">{% if block.states.is_empty() %}{{ block.service }}{% endif %}</th><td>accounted for</td><td class="n">{{ block.found.0 }}</td><td class="n">{{ block.found.1 }}</td></tr>
<tr><th></th><td>control total</td><td class="n">{{ block.control.0 }}</td><td class="n">{{ block.control.1 }}</td></tr>
<tr class="{% if block.agrees %}agrees{% else %}differs{% endif %}"><th></th><td>difference</td><td class="n">{{ block.difference.0 }}</td><td class="n">{{ block.difference.1 }}</td></tr>
</tbody>
{%- endfor %}
</table>
{%- endfor %}
{%- if rejected != "0" || rejected_control != "0" %}
<p class="{% if rejected_agrees %}quiet{% else %}differs{% endif %}">Lines that were rejected, or skipped by the layout, never sent and not in the control totals: {{ rejected }}{% if !rejected_amounts.is_empty() %} ({{ rejected_amounts }}, as far as their amounts could be read){% endif %}; recorded when loaded: {{ rejected_control }}.</p>
{%- endif %}
</section>
"#
)]
struct Totals {
    currencies: Vec<Section>,
    rejected: String,
    rejected_amounts: String,
    rejected_control: String,
    rejected_agrees: bool,
}
