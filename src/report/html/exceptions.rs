//! The exceptions: every payment that is not paid, by state and status code, with what to do.

use std::collections::BTreeSet;
use std::io;

use askama::Template;

use super::listed::{Listed, outcome};
use super::statements;
use crate::report::advice;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::report::words::text;

/// At most this many exceptions are listed, those that need a person most before the others.
const EXCEPTIONS_MAX: usize = 5_000;

/// Groups with more rows are folded until they are asked for; paper shows what the screen shows.
const UNFOLDED_MAX: usize = 25;

/// The exceptions that are listed. When there is no room, what needs a person more displaces what needs one less.
#[derive(Default)]
pub(super) struct Kept {
    // In the order of StateName::EXCEPTIONS; within a state in line order.
    states: [Vec<Listed>; StateName::EXCEPTIONS.len()],
    count: usize,
}

fn rank(state: StateName) -> usize {
    StateName::EXCEPTIONS
        .iter()
        .position(|known| *known == state)
        .unwrap_or(StateName::EXCEPTIONS.len() - 1)
}

impl Kept {
    pub(super) fn has_room(&self, state: StateName) -> bool {
        let mut below = self.states[rank(state) + 1..].iter();
        self.count < EXCEPTIONS_MAX || below.any(|rows| !rows.is_empty())
    }

    pub(super) fn add(&mut self, cells: Listed) {
        if self.count >= EXCEPTIONS_MAX {
            let displaced = self.states.iter_mut().rev().find_map(Vec::pop);
            self.count -= usize::from(displaced.is_some());
        }
        self.states[rank(cells.state)].push(cells);
        self.count += 1;
    }
}

pub(super) fn write(
    out: &mut impl io::Write,
    header: &BatchHeader,
    reconciliation: &Reconciliation,
    kept: &Kept,
) -> io::Result<()> {
    let known: BTreeSet<_> = reconciliation
        .exceptions()
        .map(|(state, code, _)| (state, code))
        .collect();
    let mut groups = Vec::new();
    for (state, code, group) in reconciliation.exceptions() {
        // Codes beyond the bound on groups are counted with those that have none.
        let belongs = |cells: &&Listed| {
            cells.code == code || code.is_none() && !known.contains(&(state, cells.code))
        };
        let rows: Vec<_> = kept.states[rank(state)].iter().filter(belongs).collect();
        groups.push(Group {
            state,
            outcome: outcome(code, &group.description),
            count: text::count(group.count),
            amounts: text::amounts(&group.amounts).join(" · "),
            meaning: advice::meaning(state, code, group.is_mixed, header.behind.is_some()),
            remedy: advice::remedy(state, code, header, rows.first().map(|row| row.id.as_str())),
            unfolded: rows.len() <= UNFOLDED_MAX,
            missing: group.count.saturating_sub(rows.len() as u64),
            rows,
        });
    }
    Exceptions {
        groups,
        statements_differ: statements::show_otherwise(header),
    }
    .write_into(out)
}

struct Group<'a> {
    state: StateName,
    outcome: String,
    count: String,
    amounts: String,
    meaning: &'static str,
    remedy: String,
    unfolded: bool,
    missing: u64,
    rows: Vec<&'a Listed>,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<section id="exceptions">
<h2>Exceptions</h2>
{%- if groups.is_empty() %}
<p class="quiet">{% if statements_differ %}Every payment is paid by what the gateway said. Statements show something else of some: see <a href="#statements">Statements</a>.{% else %}None: every payment is paid.{% endif %}</p>
{%- endif %}
{%- for group in groups %}
<div class="group">
<h3><span class="badge s-{{ group.state }}">{{ group.state.in_words() }}</span> {{ group.outcome }}
<span class="sum">{{ group.count }}{% if !group.amounts.is_empty() %} · {{ group.amounts }}{% endif %}</span></h3>
<p class="meaning">{{ group.meaning }} <b>What to do:</b> {{ group.remedy }}</p>
<details{% if group.unfolded %} open{% endif %}><summary>{{ group.rows.len() }} {% if group.rows.len() == 1 %}row{% else %}rows{% endif %}</summary>
<table class="rows excepted">
<thead><tr><th class="n">Line</th><th>Reference</th><th>Recipient</th><th class="n">Amount</th><th>Evidence</th></tr></thead>
<tbody>
{%- for row in group.rows %}
<tr><td class="n">{{ row.line }}</td><td>{{ row.reference }}<small class="id">{{ row.id }}</small>{% if !row.about.is_empty() %}<small>{{ row.about }}</small>{% endif %}</td><td>{% if !row.name.is_empty() %}{{ row.name }}<small>{{ row.msisdn }}</small>{% else %}{{ row.msisdn }}{% endif %}{% if !row.account.is_empty() %}<small>{{ row.account }}</small>{% endif %}{% if !row.bank.is_empty() %}<small>{{ row.bank }}</small>{% endif %}<small>{{ row.service }}</small></td><td class="n">{{ row.amount }}<small>{{ row.currency }}</small></td><td>{% if row.outcome != group.outcome && !row.outcome.is_empty() %}{{ row.outcome }}{% if !row.detail.is_empty() %} · {% endif %}{% endif %}{{ row.detail }}<small>{{ row.at }}</small></td></tr>
{%- endfor %}
</tbody>
</table>
{%- if group.missing > 0 %}
<p class="quiet">{{ text::count(*group.missing) }} more are in the list of payments below (choose this state there), and in payments.csv.</p>
{%- endif %}
</details>
</div>
{%- endfor %}
</section>
"##
)]
struct Exceptions<'a> {
    groups: Vec<Group<'a>>,
    /// Statements show something else of payments than what they are here.
    statements_differ: bool,
}
