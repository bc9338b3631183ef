// Uses a page like a reader and writes the failed checks to the element #result.
(() => {
const wrong = window.wrong, did = [];
const check = (ok, text) => { did.push(text); if (!ok) wrong.push(text); };
const seen = e => e.getClientRects().length > 0;
const all = (what, from = document) => [...from.querySelectorAll(what)].filter(seen);
const tip = document.querySelector('.tip'), bar = document.querySelector('.bar'); // none on a page without figures

// Legible: text sizes, contrast, no horizontal scrolling of the page.
check(document.documentElement.scrollWidth <= innerWidth, 'the page is not wider than the window');
const colour = text => (text.match(/[\d.]+/g) || []).map(Number);
const light = c => { const f = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const paper = e => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (c.length && c[3] !== 0) return c; } return [255, 255, 255]; };
const small = new Set(), pale = new Set();
for (const e of all('body *')) {
  if (!['SCRIPT', 'STYLE'].includes(e.tagName) && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) {
    const style = getComputedStyle(e), text = e.textContent.trim().slice(0, 30), scale = e.ownerSVGElement ? e.getScreenCTM().d || 1 : 1;
    const turned = e.ownerSVGElement && e.hasAttribute('transform');
    if (parseFloat(style.fontSize) * (turned ? 1 : scale) < 10.99) small.add(text + ' ' + style.fontSize);
    const inBox = e.closest('.node');
    if (!inBox && contrast(colour(e.ownerSVGElement ? style.fill : style.color), paper(e)) < 4.5) pale.add(text);
    if (inBox && contrast(colour(style.fill), colour(getComputedStyle(inBox.querySelector('path')).fill)) < 4.5) pale.add(text);
  }
}
check(small.size === 0, 'text is at least 11 px: ' + [...small].slice(0, 3));
check(pale.size === 0, 'text has enough contrast: ' + [...pale].slice(0, 3));

const box = p => p.dataset.b.split(' ').map(Number);
const event = (p, kind, fx, fy = 0.5) => {
  const [x0, y0, x1, y1] = box(p), svg = p.ownerSVGElement;
  const at = new DOMPoint(x0 + fx * (x1 - x0), y0 + fy * (y1 - y0)).matrixTransform(svg.getScreenCTM());
  svg.dispatchEvent(new PointerEvent(kind, {clientX: at.x, clientY: at.y, bubbles: true, button: 0, pointerId: 1}));
};
const paths = p => [...p.querySelectorAll('.series path')].map(e => e.getAttribute('d')).join();

for (const kind of ['lines', 'cdf', 'bars', 'spans']) {
  const p = all('.panel').find(e => e.dataset.k === kind && e.querySelector('.series path'));
  if (!p) continue;
  p.ownerSVGElement.scrollIntoView();
  let text = '';
  for (let y = 0.02; y < 1 && !text; y += 0.02) for (let x = 0.02; x < 1 && !text; x += 0.02) {
    event(p, 'pointermove', x, y);
    if (!tip.hidden) text = tip.textContent;
  }
  check(/\d/.test(text), 'the pointer over ' + kind + ' shows a value: ' + text);
  const r = tip.getBoundingClientRect();
  check(r.left >= 0 && r.right <= innerWidth + 1, 'the value is within the window');
  event(p, 'pointerleave', 0.5);
  check(tip.hidden, 'the value disappears');
}

const times = all('.panel').filter(e => e.dataset.x.split(' ')[4] === '1');
if (times.length) {
  const before = times.map(paths), ticks = times[0].querySelector('.xt').textContent;
  event(times[0], 'pointerdown', 0.3);
  event(times[0], 'pointermove', 0.5);
  check(all('.brush').length === times.length, 'dragging selects a part in all ' + times.length + ' time panels');
  event(times[0], 'pointerup', 0.5);
  check(times.every((p, i) => paths(p) !== before[i]), 'all time panels show the part');
  check(times[0].querySelector('.xt').textContent !== ticks && times[0].querySelector('.xt text'), 'the part has its own ticks');
  check(!bar.hidden && /\d/.test(bar.textContent), 'the bar shows the range: ' + bar.textContent);
  event(times[0], 'pointermove', 0.5);
  event(times[0], 'pointerleave', 0.5);
  const closer = paths(times[0]);
  event(times[0], 'pointerdown', 0.2);
  event(times[0], 'pointermove', 0.8);
  event(times[0], 'pointerup', 0.8);
  check(paths(times[0]) !== closer, 'zooming in twice');
  bar.querySelector('button').click();
  const whole = d => d.replace(/[A-Z]/g, '').length;
  check(bar.hidden && times.every(p => p.querySelector('.series')), 'the button resets the zoom');
  const first = d => parseFloat(d.slice(1));
  check(times.every((p, i) => before[i] === '' || Math.abs(first(paths(p)) - first(before[i])) < 0.02), 'the reset restores the lines');
  check(times[0].querySelector('.xt').textContent === ticks, 'the reset restores the ticks');
}

const entry = all('.entry')[0];
if (entry) {
  const series = all('.series', entry.closest('figure')).filter(s => s.dataset.s === entry.dataset.s);
  entry.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  check(series.length && series.every(s => getComputedStyle(s).display === 'none'), 'a click hides a series');
  entry.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
  check(series.every(s => getComputedStyle(s).display !== 'none'), 'Enter shows it again');
}

// A fabric: measures, title, search, zoom and pan.
const net = all('.net')[0];
if (net) {
  const ways = [...net.querySelectorAll('.way')], tools = net.previousElementSibling, map = net.querySelector('.map');
  const choices = [...tools.querySelectorAll('button[aria-pressed]')], tool = name => tools.querySelector(`[aria-label="${name}"]`);
  const was = ways.map(w => w.getAttribute('class')).join(), scale = () => all('.scale', net).map(s => s.dataset.n).join();
  check(scale() === choices[0].textContent, 'the fabric shows one scale: ' + scale());
  check([...map.querySelectorAll('.node')].every(n => n.getBoundingClientRect().right <= innerWidth + 1), 'the fabric is not wider than the window');
  if (choices.length > 1) {
    choices[1].click();
    const heading = net.querySelector('.heading').textContent.trim();
    check(scale() === choices[1].textContent, 'a button selects another measure');
    check(heading === all('.scale', net)[0].dataset.h, 'the title follows the measure: ' + heading);
    choices[0].click();
    check(ways.map(w => w.getAttribute('class')).join() === was, 'the first button restores the first measure');
  }
  ways[0].dispatchEvent(new PointerEvent('pointermove', {clientX: 5, clientY: 5, bubbles: true}));
  check(!tip.hidden && tip.textContent.includes(ways[0].dataset.n), 'the pointer over a link shows its name: ' + tip.textContent);
  net.dispatchEvent(new PointerEvent('pointerleave'));
  const state = () => map.getAttribute('transform'), k = () => +/scale\((.*)\)/.exec(state())[1], whole = state(), fit = k();
  tool('zoom in').click();
  check(k() > fit, 'a button zooms in: ' + state());
  const closer = state(), r = net.getBoundingClientRect(), x = r.left + r.width / 2, y = r.bottom - 40;
  const pointer = (kind, dx) => net.dispatchEvent(new PointerEvent(kind, {clientX: x + dx, clientY: y + dx / 2, bubbles: true, button: 0, pointerId: 7}));
  pointer('pointerdown', 0);
  pointer('pointermove', 40);
  pointer('pointermove', -60);
  pointer('pointerup', -60);
  check(state() !== closer && Math.abs(k() - +/scale\((.*)\)/.exec(closer)[1]) < 1e-9, 'dragging moves the map');
  net.dispatchEvent(new WheelEvent('wheel', {clientX: x, clientY: y, deltaY: -100, ctrlKey: true, bubbles: true, cancelable: true}));
  check(k() > +/scale\((.*)\)/.exec(closer)[1], 'the wheel with Ctrl zooms in');
  tool('show the whole fabric').click();
  check(state() === whole, 'a button shows the whole fabric');
  const find = tools.querySelector('input[type=search]'), nodes = [...map.querySelectorAll('.node')], some = nodes.at(-1).dataset.n;
  find.value = some;
  find.dispatchEvent(new Event('input'));
  const hit = [...map.querySelectorAll('.hit')];
  check(hit.length > 0 && hit.every(h => h.dataset.n.includes(some)), 'search marks ' + some);
  const at = hit.find(h => h.dataset.n === some).getBoundingClientRect(), frame = net.getBoundingClientRect();
  check(at.left >= frame.left - 1 && at.right <= frame.right + 1 && at.top >= frame.top && at.bottom <= frame.bottom + 1 && k() > 0.999, 'search shows ' + some + ' at ' + state());
  find.value = 'nothing has this name';
  find.dispatchEvent(new Event('input'));
  check(!map.querySelector('.hit') && tools.querySelector('[role=status]').textContent === '0 found', 'search finds nothing');
  find.value = '';
  find.dispatchEvent(new Event('input'));
  const from = performance.now();
  for (let i = 0; i < 20; i++) { tool(i % 2 ? 'zoom out' : 'zoom in').click(); net.getBoundingClientRect(); }
  check((performance.now() - from) / 20 < 100, 'a step of zooming is fast: ' + (performance.now() - from) / 20);
  tool('show the whole fabric').click();
}

// Tables: sorting both ways by every column, and filtering.
const sortable = all('table').filter(t => t.tBodies[0].rows.length > 1);
for (const table of sortable.slice(0, 4)) {
  const heads = [...table.tHead.rows[0].cells], texts = i => [...table.tBodies[0].rows].map(r => r.cells[i].textContent.trim());
  heads.slice(0, 5).forEach((head, i) => {
    const before = texts(i).sort().join('|');
    head.querySelector('.sort').click();
    const up = texts(i);
    check(head.getAttribute('aria-sort') === 'ascending' && [...up].sort().join('|') === before, 'a click sorts by ' + head.textContent);
    const numbers = up.map(t => t === '=' ? NaN : xoff.value(t)).filter(n => !isNaN(n));
    if (!up.includes('=')) check(numbers.every((n, j) => !j || n >= numbers[j - 1]), 'numbers are in order: ' + numbers.slice(0, 8));
    head.querySelector('.sort').click();
    check(head.getAttribute('aria-sort') === 'descending', 'another click reverses');
  });
}
const line = all('.filter')[0];
if (line) {
  const rows = [...line.nextElementSibling.querySelectorAll('tbody tr')], find = line.querySelector('input'), word = rows[1].cells[0].textContent.trim();
  find.value = word;
  find.dispatchEvent(new Event('input'));
  const left = rows.filter(seen);
  check(left.length > 0 && left.length < rows.length && left.every(r => r.textContent.includes(word)), `the filter ${word} leaves ${left.length} of ${rows.length} rows`);
  find.value = '';
  find.dispatchEvent(new Event('input'));
  check(rows.every(seen), 'an empty filter shows all rows');
}
check(performance.getEntriesByType('resource').length === 0, 'the page loads nothing');
check(matchMedia('(prefers-color-scheme:dark)').matches === (light(paper(document.body)) < 0.2), 'the page follows the preference for light or dark');
const result = top.document.createElement('pre');
result.id = 'result';
result.textContent = JSON.stringify({width: innerWidth, dark: matchMedia('(prefers-color-scheme:dark)').matches, wrong, did});
top.document.body.replaceChildren(result);
})();
