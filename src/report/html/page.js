'use strict';
(() => {
  // The rows are in parts: in this page, or in files beside it, of which few are in memory at a time. A part is a text of lines:
  // line, reference, id, msisdn, account, service, amount, currency, minor, state, at, outcome, detail, name, bank, about
  const { folder, parts, counts } = JSON.parse(document.getElementById('rows').textContent);
  const isBeside = folder !== undefined;
  const [find, q, state, size, found, pageNumber, pages, progress, trouble, unprinted] =
    ['find', 'q', 'state', 'size', 'found', 'page', 'pages', 'progress', 'trouble', 'unprinted'].map((id) => document.getElementById(id));
  const [first, back, next, last] = ['first', 'back', 'next', 'last'].map((id) => document.getElementById(id));
  const body = document.querySelector('#list tbody');
  const choices = [...state.options].slice(1);
  const words = new Map(choices.map((option) => [option.value, option.dataset.words]));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const rowsOf = counts.map(sum);
  const rowsInAll = sum(rowsOf);

  // What is found is kept as far as this, so that it is shown and printed without another look at the files.
  const KEPT_MAX = 5000;
  const LOADED_MAX = 6;
  const AHEAD = 2;

  // Files may not be read from a page that was opened as a file; a script may be loaded from beside it, and calls this function.
  let handed;
  globalThis.disburseRows = (number, text) => { handed = [number, text]; };
  const nameOf = (number) => folder + '/' + String(number).padStart(5, '0') + '.js';
  const loaded = new Map();
  const start = (index) => new Promise((done, failed) => {
    const script = document.createElement('script');
    script.onload = script.onerror = () => {
      const [number, text] = handed || [];
      handed = undefined;
      script.remove();
      if (number === index + 1 && typeof text === 'string') return done(text);
      loaded.delete(index);
      failed(new Error(nameOf(index + 1)));
    };
    script.src = nameOf(index + 1);
    document.head.append(script);
  });
  const load = (index) => {
    if (!isBeside) return parts[index];
    let text = loaded.get(index);
    if (!text) {
      text = start(index);
      // Whoever waits for it is told as well.
      text.catch(() => {});
    }
    loaded.delete(index);
    loaded.set(index, text);
    for (const [old] of loaded) if (loaded.size > LOADED_MAX) loaded.delete(old);
    return text;
  };

  // What is sought, and what was found so far: how many rows of each part, and the first of them.
  const everything = () => ({
    words: q.value.toLowerCase().split(/\s+/).filter(Boolean),
    state: state.value,
    column: choices.findIndex((option) => option.value === state.value),
    hits: [], total: 0, kept: [], sums: new Map(), looked: 0, isDone: false, isBroken: false,
  });
  let view = everything();
  const couldHave = (sought, index) => sought.column < 0 || counts[index][sought.column] > 0;
  const cells = (line) => line.split('\t');
  const matching = (sought, text) => {
    const lines = text.split('\n');
    if (!sought.words.length && !sought.state) return lines.map(cells);
    const lower = text.toLowerCase();
    const said = [...words.values()].join('\n').toLowerCase();
    if (!sought.words.every((word) => lower.includes(word) || said.includes(word))) return [];
    const lowered = lower.split('\n');
    const rows = [];
    lines.forEach((line, index) => {
      const row = cells(line);
      if (sought.state && row[9] !== sought.state) return;
      const all = lowered[index] + '\n' + (words.get(row[9]) || '').toLowerCase();
      if (sought.words.every((word) => all.includes(word))) rows.push(row);
    });
    return rows;
  };

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

  const group = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const add = (sums, rows) => {
    for (const r of rows) {
      if (!r[8]) continue;
      const point = r[6].indexOf('.');
      const known = sums.get(r[7]) || { minor: 0n, places: point < 0 ? 0 : r[6].length - point - 1 };
      known.minor += BigInt(r[8]);
      sums.set(r[7], known);
    }
  };
  const sumsOf = (sums) => [...sums].sort().map(([currency, { minor, places }]) => {
    const digits = minor.toString().padStart(places + 1, '0');
    const whole = digits.slice(0, digits.length - places);
    return currency + ' ' + group(whole) + (places ? '.' + digits.slice(-places) : '');
  });

  let top = 0;
  // What the table shows: at first the rows of the markup, and from then on those from one hit to another.
  let shown = [0, body.rows.length];
  let isMarkup = isBeside;
  const step = () => Number(size.value) || Math.max(view.total, 1);
  const range = () => (shown[1] > shown[0] ? group(shown[0] + 1) + '–' + group(shown[1]) + ' of ' : '') + group(view.total);
  const tell = () => {
    const known = view.words.length ? sumsOf(view.sums) : [state.selectedOptions[0].dataset.sums].filter(Boolean);
    const share = Math.floor(100 * view.looked / rowsInAll) + ' %';
    found.textContent = view.isBroken ? group(view.total) + ' found in ' + share + ' of the rows'
      : !view.isDone ? group(view.total) + ' found so far · ' + share + ' searched'
      : view.total || !view.words.length ? [range(), ...known].join(' · ').replace(/([A-Z]{3}) (?=\d)/g, '$1\u00a0')
      : 'Nothing found among ' + (view.state ? 'the rows of this state' : group(rowsInAll) + ' rows');
    progress.hidden = view.isDone || view.isBroken;
    progress.value = view.looked / (rowsInAll || 1);
    const all = Math.max(1, Math.ceil(view.total / step()));
    pages.textContent = 'of ' + group(all);
    pageNumber.max = all;
    pageNumber.value = Math.floor(top / step()) + 1;
    first.disabled = back.disabled = top === 0;
    next.disabled = last.disabled = top + step() >= view.total;
  };
  const fail = (error) => {
    trouble.hidden = false;
    trouble.textContent = error.message + ' is missing, or is not the file that belongs to this page. Keep the folder report_files beside report.html, ' +
      'both as they were written. Until then ' + (view.isBroken ? 'the search is not complete' : 'some rows are not shown') + '; payments.csv has every payment.';
  };

  // Returns the rows from one hit to another. Where they are not kept, their parts are looked through again.
  const take = async (sought, from, to) => {
    const rows = [];
    let before = 0;
    for (let index = 0; index < sought.hits.length && before < to; index += 1) {
      const count = sought.hits[index];
      if (count && before + count > from) {
        const hits = matching(sought, await load(index));
        if (hits.length !== count) throw new Error(nameOf(index + 1));
        rows.push(...hits.slice(Math.max(0, from - before), to - before));
      }
      before += count;
    }
    return rows;
  };
  const put = (rows, from) => {
    isMarkup = false;
    shown = [from, from + rows.length];
    body.replaceChildren(...rows.map(line));
    tell();
  };
  let showing = 0;
  const show = async () => {
    showing += 1;
    const mine = showing;
    top = Math.max(0, Math.min(top, view.total - 1));
    top -= top % step();
    const to = Math.min(top + step(), view.total);
    if (!view.isBroken) trouble.hidden = true;
    // What is kept is shown at once: a page that is about to be printed waits for nothing.
    if (to <= view.kept.length) return put(view.kept.slice(top, to), top);
    tell();
    try {
      const rows = await take(view, top, to);
      if (mine === showing) put(rows, top);
    } catch (error) {
      if (mine !== showing) return;
      if (!isMarkup || top > 0) put([], top);
      fail(error);
    }
  };

  const lookWithin = (sought) => {
    for (const text of parts) {
      const hits = matching(sought, text);
      sought.total += hits.length;
      add(sought.sums, hits);
      for (const hit of hits) sought.kept.push(hit);
    }
  };
  const lookBeside = async (sought) => {
    let told = 0;
    for (let index = 0; index < counts.length; index += 1) {
      let hits = [];
      if (couldHave(sought, index)) {
        for (let ahead = index; ahead <= index + AHEAD && ahead < counts.length; ahead += 1) if (couldHave(sought, ahead)) load(ahead);
        const text = await load(index);
        if (view !== sought) return;
        if (text.split('\n').length !== rowsOf[index]) throw new Error(nameOf(index + 1));
        hits = matching(sought, text);
      }
      sought.hits.push(hits.length);
      const before = sought.total;
      sought.total += hits.length;
      sought.looked += rowsOf[index];
      add(sought.sums, hits);
      // The text of a part stays in memory as long as a piece of it does, unless the piece is made anew.
      sought.kept.push(...JSON.parse(JSON.stringify(hits.slice(0, Math.max(0, KEPT_MAX - sought.kept.length)))));
      // The page that was asked for is shown as soon as it is full.
      const full = top + step();
      if (before < full && sought.total >= full) show();
      else if (performance.now() - told > 200) { tell(); told = performance.now(); }
    }
  };
  const search = (from = 0) => {
    const sought = everything();
    view = sought;
    showing += 1;
    top = from;
    trouble.hidden = true;
    const end = (isDone) => {
      sought.isDone = isDone;
      sought.isBroken = !isDone;
      return show();
    };
    if (!isBeside) {
      lookWithin(sought);
      end(true);
    } else if (sought.words.length) {
      put([], 0);
      lookBeside(sought).then(
        () => { if (view === sought) end(true); },
        (error) => { if (view === sought) end(false).then(() => fail(error)); });
    } else {
      // How many there are of each state is known without a look.
      sought.hits = sought.column < 0 ? rowsOf : counts.map((part) => part[sought.column]);
      sought.total = sum(sought.hits);
      end(true);
    }
  };

  // On paper every row that was asked for, up to a number that nobody prints by mistake; else it is said which are printed.
  const PRINTED_MAX = 5000;
  const folded = [...document.querySelectorAll('details:not([open])')];
  addEventListener('beforeprint', () => {
    if (view.isDone && view.total <= PRINTED_MAX && view.kept.length === view.total) put(view.kept, 0);
    for (const details of folded) details.open = true;
    const missing = rowsInAll - body.rows.length;
    const isChosen = view.total < rowsInAll;
    const reasons = [
      !view.isDone && 'the search has not come to its end',
      isChosen && 'a search or a state is chosen',
      body.rows.length < view.total && (isBeside ? 'choose more rows, or search, to print others' : 'choose “Rows: all” to print them'),
    ].filter(Boolean);
    unprinted.hidden = missing === 0;
    unprinted.textContent = (body.rows.length ? 'Printed are rows ' + range() + (isChosen ? ' found; ' : '; ') : '') + group(missing) + ' of the ' +
      group(rowsInAll) + ' payments of this list are not printed: ' + reasons.join(', ') + '. payments.csv has every payment.';
  });
  addEventListener('afterprint', () => {
    for (const details of folded) details.open = false;
    unprinted.hidden = true;
    if (!isMarkup) show();
  });

  const turn = (to) => { top = to; show(); };
  let timer;
  q.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(() => search(), isBeside ? 300 : 120); });
  state.addEventListener('change', () => search());
  size.addEventListener('change', () => show());
  first.addEventListener('click', () => turn(0));
  back.addEventListener('click', () => turn(top - step()));
  next.addEventListener('click', () => turn(top + step()));
  last.addEventListener('click', () => turn(view.total - 1));
  const go = () => turn((Math.max(1, Math.floor(Number(pageNumber.value)) || 1) - 1) * step());
  pageNumber.addEventListener('change', go);
  find.addEventListener('submit', (event) => {
    event.preventDefault();
    if (document.activeElement === pageNumber) return go();
    clearTimeout(timer);
    search();
  });
  // report.html#q=EMP-0017&state=failed&rows=200&page=3 opens the list there.
  const open = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.has('q')) q.value = asked.get('q');
    if ([...state.options].some((option) => option.value === asked.get('state'))) state.value = asked.get('state');
    if ([...size.options].some((option) => option.value === asked.get('rows'))) size.value = asked.get('rows');
    search(Math.max(0, Math.floor(Number(asked.get('page'))) - 1 || 0) * (Number(size.value) || 0));
  };
  addEventListener('hashchange', open);
  find.hidden = false;
  open();
})();
