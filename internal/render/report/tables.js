// Makes tables sortable by a click on a column, and long ones filterable.
'use strict';
const xoff = {};

// scales are the factors of units; times are in seconds.
xoff.scales = {ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30,
  bps: 1, Kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12, k: 1e3, K: 1e3, M: 1e6, G: 1e9};

// value returns the number at the start of a cell, or NaN.
xoff.value = text => {
  const m = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?:\/(\d+))?\s*([A-Za-z]*)/.exec(text.trim());
  if (!m) return NaN;
  return +m[1].replaceAll(',', '') / (m[2] ? +m[2] : 1) * (xoff.scales[m[3]] || 1);
};

// order compares two cells: numbers, then texts, with empty cells last.
xoff.order = (a, b, up) => {
  const [x, y] = [xoff.value(a), xoff.value(b)], [p, q] = [isNaN(x), isNaN(y)];
  if (!p && !q) return up * (x - y);
  if (p !== q) return p - q;
  const none = t => t === '' || t === '-';
  return none(a) - none(b) || up * a.localeCompare(b, 'en', {numeric: true});
};

xoff.filterFrom = 9; // rows from which a table has a filter

xoff.table = table => {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const cell = (row, i) => {
    const text = row.cells[i].textContent.trim();
    return text === '=' && row.cells[1] ? row.cells[1].textContent.trim() : text; // equal to the first variant
  };
  if (rows.length > 1) heads.forEach((head, i) => {
    const b = document.createElement('button');
    b.className = 'sort';
    b.append(...head.childNodes);
    head.append(b);
    b.onclick = () => {
      const up = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      for (const h of heads) h.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up > 0 ? 'ascending' : 'descending');
      const key = new Map(rows.map(r => [r, cell(r, i)]));
      body.append(...[...rows].sort((a, b) => xoff.order(key.get(a), key.get(b), up)));
    };
  });
  if (rows.length < xoff.filterFrom) return;
  const find = document.createElement('input'), count = document.createElement('span'), line = document.createElement('div');
  const texts = rows.map(r => r.textContent.toLowerCase());
  find.type = 'search';
  find.placeholder = `filter ${rows.length} rows`;
  find.setAttribute('aria-label', find.placeholder);
  count.setAttribute('role', 'status');
  line.className = 'filter';
  line.append(find, count);
  find.oninput = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    rows.forEach((r, i) => { r.hidden = !words.every(w => texts[i].includes(w)); n += !r.hidden; });
    count.textContent = words.length ? `${n} of ${rows.length}` : '';
  };
  table.parentNode.before(line);
};
for (const table of document.querySelectorAll('.wide>table')) xoff.table(table);
