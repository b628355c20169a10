'use strict';
(() => {
  // [line, reference, id, msisdn, account, service, amount, currency, minor, state, at, outcome, detail]
  const rows = JSON.parse(document.getElementById('rows').textContent);
  const find = document.getElementById('find');
  const body = document.querySelector('#list tbody');
  const [q, state, size, found, back, next] =
    ['q', 'state', 'size', 'found', 'back', 'next'].map((id) => document.getElementById(id));
  const texts = rows.map((row) => row.join('\n').toLowerCase());
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
      cell('', r[1], [r[2], 'id']),
      cell('', r[3], [r[4]], [r[5]]),
      cell('n', r[6], [r[7]]),
      cell('', element('span', r[9], 'badge s-' + r[9]), [r[10]]),
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
