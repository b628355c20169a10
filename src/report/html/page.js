'use strict';
(() => {
  // [line, reference, id, msisdn, account, service, amount, currency, minor, state, at, outcome, detail, name, bank, about]
  const rows = JSON.parse(document.getElementById('rows').textContent);
  const find = document.getElementById('find');
  const body = document.querySelector('#list tbody');
  const [q, state, size, found, back, next] =
    ['q', 'state', 'size', 'found', 'back', 'next'].map((id) => document.getElementById(id));
  const words = new Map([...state.options].map((option) => [option.value, option.dataset.words]));
  const texts = rows.map((row) => [...row, words.get(row[9])].join('\n').toLowerCase());
  let hits = rows;
  let first = 0;

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const cell = (className, text, ...small) => {
    const td = element('td', undefined, className);
    td.append(typeof text === 'object' ? text : String(text));
    for (const [note, noteClass] of small) if (note) td.append(element('small', note, noteClass));
    return td;
  };
  const line = (r) => {
    const tr = element('tr');
    tr.append(
      cell('n', r[0]),
      cell('', r[1], [r[2], 'id'], [r[15]]),
      r[13] ? cell('', r[13], [r[3]], [r[4]], [r[14]], [r[5]]) : cell('', r[3], [r[4]], [r[14]], [r[5]]),
      cell('n', r[6], [r[7]]),
      cell('', element('span', words.get(r[9]), 'badge s-' + r[9]), [r[10]]),
      cell('', r[11], [r[12]]));
    return tr;
  };

  const group = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const sums = () => {
    const totals = new Map();
    for (const r of hits) {
      if (!r[8]) continue;
      const point = r[6].indexOf('.');
      const known = totals.get(r[7]) || { minor: 0n, places: point < 0 ? 0 : r[6].length - point - 1 };
      known.minor += BigInt(r[8]);
      totals.set(r[7], known);
    }
    return [...totals].sort().map(([currency, { minor, places }]) => {
      const digits = minor.toString().padStart(places + 1, '0');
      const whole = digits.slice(0, digits.length - places);
      return currency + ' ' + group(whole) + (places ? '.' + digits.slice(-places) : '');
    });
  };

  const show = () => {
    const page = Number(size.value) || hits.length;
    first = Math.max(0, Math.min(first, hits.length - 1));
    first -= page ? first % page : 0;
    const last = Math.min(first + page, hits.length);
    body.replaceChildren(...hits.slice(first, last).map(line));
    const range = hits.length ? group(String(first + 1)) + '–' + group(String(last)) + ' of ' : '';
    found.textContent = [range + group(String(hits.length)), ...sums()].join(' · ');
    back.disabled = first === 0;
    next.disabled = last >= hits.length;
  };
  const search = () => {
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = rows.filter((row, index) =>
      (!state.value || row[9] === state.value) && words.every((word) => texts[index].includes(word)));
    first = 0;
    show();
  };

  // On paper every row that was asked for, up to a number that nobody prints by mistake; else how many are missing.
  const PRINTED_MAX = 5000;
  const unprinted = document.getElementById('unprinted');
  const folded = [...document.querySelectorAll('details:not([open])')];
  let screen;
  addEventListener('beforeprint', () => {
    screen = [size.value, first];
    if (hits.length <= PRINTED_MAX) { size.value = '0'; show(); }
    for (const details of folded) details.open = true;
    const missing = rows.length - body.rows.length;
    unprinted.hidden = missing === 0;
    unprinted.textContent = group(String(missing)) + ' of the ' + group(String(rows.length)) +
      ' rows of this list are not printed: ' + (hits.length < rows.length ? 'a search or a state is chosen. ' : 'choose “Rows: all” to print them. ') + 'payments.csv has every payment.';
  });
  addEventListener('afterprint', () => {
    for (const details of folded) details.open = false;
    unprinted.hidden = true;
    [size.value, first] = screen;
    show();
  });

  let timer;
  q.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  state.addEventListener('change', search);
  size.addEventListener('change', show);
  back.addEventListener('click', () => { first -= Number(size.value); show(); });
  next.addEventListener('click', () => { first += Number(size.value); show(); });
  find.addEventListener('submit', (event) => { event.preventDefault(); search(); });
  find.hidden = false;
  search();
})();
