// Makes the figures of a report interactive: values at the pointer, zooming in time in all
// figures at once, hiding series. network.js has the fabric, tables.js the tables. The page is
// complete without them. Values are computed from the paths of figures and the ends of their axes.
(() => {
const svgNS = 'http://www.w3.org/2000/svg';
const thousands = {0: [0, ['', 'k', 'M', 'G', 'T']], 3: [-12, [' ps', ' ns', ' us', ' ms', ' s']], 4: [0, [' B', ' KB', ' MB', ' GB', ' TB']],
  5: [0, [' bps', ' Kbps', ' Mbps', ' Gbps', ' Tbps']]};

// human formats a value of a unit with a number of digits.
function human(v, unit, digits = 4) {
  const short = n => String(+n.toPrecision(digits));
  if (unit === 1) return short(v) + ' %';
  if (unit === 2) return short(100 * v) + ' %';
  const [from, names] = thousands[unit] || thousands[0];
  if (!v) return '0' + (unit ? names[0] : '');
  let i = 0;
  while (i + 1 < names.length && Math.abs(v) >= 0.99995 * 10 ** (from + 3 * (i + 1)) * (unit ? 1 : 10)) i++;
  return short(v / 10 ** (from + 3 * i)) + names[i];
}

function make(tag, attrs, parent) {
  const e = document.createElementNS(svgNS, tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  if (parent) parent.append(e);
  return e;
}

// axis maps pixels between two ends to values.
function axis(text, from, to) {
  const [lo, hi, log, unit, common] = text.split(' ').map(Number);
  const up = v => log ? Math.log10(v) : v, down = v => log ? 10 ** v : v;
  return {unit, log, common, at: px => down(up(lo) + (px - from) / (to - from) * (up(hi) - up(lo))),
    px: v => from + (up(v) - up(lo)) / (up(hi) - up(lo)) * (to - from)};
}

// points parses a path into lists of points.
function points(d) {
  const subs = [];
  let x = 0, y = 0;
  for (const [, c, rest] of d.matchAll(/([MLHVZ])([^MLHVZ]*)/g)) {
    const n = rest.trim().split(/[ ,]+/).map(Number);
    if (c === 'Z') { subs.at(-1).closed = true; continue; }
    if (c === 'H') x = n[0]; else if (c === 'V') y = n[0]; else [x, y] = n;
    if (c === 'M') subs.push([]);
    subs.at(-1).push([x, y]);
  }
  return subs;
}

class Panel {
  constructor(el) {
    this.el = el;
    this.svg = el.ownerSVGElement;
    this.kind = el.dataset.k;
    this.box = el.dataset.b.split(' ').map(Number);
    const [x0, y0, x1, y1] = this.box;
    this.x = axis(el.dataset.x, x0, x1);
    this.y = axis(el.dataset.y, y1, y0);
    this.names = (el.dataset.c || '').split('\n');
    this.part = [0, 1];
    this.ticks = el.querySelector('.xt');
    this.marks = make('g', {class: 'live'}, el);
  }
  // series are read at the first use.
  get series() {
    this.read ||= [...this.el.querySelectorAll('.series')].map(el => ({el, name: el.dataset.s,
      values: (el.dataset.v || '').split(' ').map(parseFloat),
      paths: [...el.querySelectorAll('path')].map(p => ({el: p, kind: p.classList[0], subs: points(p.getAttribute('d'))}))}));
    return this.read;
  }
  get shown() { return this.series.filter(s => s.el.style.display !== 'none'); }
  get zooms() { return this.kind !== 'bars'; }
  contains(p) { const [x0, y0, x1, y1] = this.box; return p.x >= x0 - 2 && p.x <= x1 + 2 && p.y >= y0 - 2 && p.y <= y1 + 2; }
  // move maps a pixel of the whole axis to a pixel of the shown part; back is its inverse.
  move(px) { const [x0, , x1] = this.box, [a, b] = this.part; return x0 + ((px - x0) / (x1 - x0) - a) / (b - a) * (x1 - x0); }
  back(px) { const [x0, , x1] = this.box, [a, b] = this.part; return x0 + (a + (px - x0) / (x1 - x0) * (b - a)) * (x1 - x0); }
  share(px) { const [x0, , x1] = this.box; return (this.back(Math.min(Math.max(px, x0), x1)) - x0) / (x1 - x0); }
  zoom(a, b) {
    this.part = [a, b];
    const [x0, y0, x1, y1] = this.box;
    if (!this.clip) {
      this.clip = 'clip' + Panel.count++;
      make('rect', {x: x0, y: y0, width: x1 - x0, height: y1 - y0}, make('clipPath', {id: this.clip}, this.el));
    }
    for (const s of this.series) {
      s.el.setAttribute('clip-path', `url(#${this.clip})`);
      for (const p of s.paths) {
        p.el.setAttribute('d', p.subs.map(sub => {
          // Markers and error bars keep their shape.
          const xs = sub.map(v => v[0]), c = (Math.min(...xs.slice(0, 20)) + Math.max(...xs.slice(0, 20))) / 2;
          const to = p.kind === 'mk' || p.kind === 'eb' ? x => this.move(c) + x - c : x => this.move(x);
          return sub.map((v, i) => (i ? 'L' : 'M') + +to(v[0]).toFixed(2) + ' ' + v[1]).join('') + (sub.closed ? 'Z' : '');
        }).join(''));
      }
    }
    this.drawTicks(a > 0 || b < 1);
    this.marks.replaceChildren();
  }
  drawTicks(closer) {
    this.plain ||= [...this.ticks.childNodes];
    if (!closer) { this.ticks.replaceChildren(...this.plain); return; }
    this.ticks.replaceChildren();
    const [x0, y0, x1, y1] = this.box, lo = this.x.at(this.back(x0)), hi = this.x.at(this.back(x1));
    const like = tag => this.plain.find(n => n.tagName === tag)?.getAttribute('class') || '';
    const most = Math.max(2, Math.floor((x1 - x0) / 110));
    let step = 10 ** Math.floor(Math.log10((hi - lo) / most));
    step *= [1, 2, 5, 10].find(m => (hi - lo) / (step * m) <= most) || 10;
    const digits = Math.min(12, Math.max(3, Math.ceil(Math.log10(Math.abs(hi) / step)) + 1));
    for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-9; v += step) {
      const x = this.move(this.x.px(v));
      make('path', {class: like('path'), d: `M${x} ${y0}V${y1}`}, this.ticks);
      const t = make('text', {class: like('text'), x, y: y1 + 17, 'font-size': 11, 'text-anchor': 'middle'}, this.ticks);
      t.textContent = human(Math.abs(v) < step * 1e-6 ? 0 : v, this.x.unit, digits);
    }
  }
  // at finds the data nearest to a point: lines of text, and the position of the data.
  at(p) {
    if (this.kind === 'bars') {
      const [x0, , x1] = this.box, i = Math.min(this.names.length - 1, Math.max(0, Math.floor((p.x - x0) / (x1 - x0) * this.names.length)));
      return {lines: [this.names[i], ...this.shown.map(s => (s.name ? s.name + ': ' : '') + (isNaN(s.values[i]) ? 'unknown' : human(s.values[i], this.y.unit)))]};
    }
    const x = this.back(p.x);
    let best = null, least = Infinity;
    for (const s of this.shown) for (const path of s.paths) {
      if (path.kind === 'span') {
        for (const sub of path.subs) {
          const [a, b] = [sub[0], sub[2]], away = Math.max(this.move(a[0]) - p.x, p.x - this.move(b[0]), 0);
          if (p.y >= a[1] - 4 && p.y <= b[1] + 3 && away < Math.min(least, 6)) { least = away; best = {s, a, b}; }
        }
      } else if (path.kind === 'ln' || path.kind === 'mk') {
        for (const sub of path.subs) for (const v of path.kind === 'mk' ? [centre(sub)] : near(sub, x)) {
          const away = Math.hypot(this.move(v[0]) - p.x, (v[1] - p.y) / 3);
          if (away < least && v[0] >= this.back(this.box[0]) - 0.1 && v[0] <= this.back(this.box[2]) + 0.1) { least = away; best = {s, a: v}; }
        }
      }
    }
    if (!best) return null;
    const {s, a, b} = best;
    if (b) {
      const row = this.names[Math.floor((a[1] - this.box[1]) / (this.box[3] - this.box[1]) * this.names.length)];
      return {lines: [row, `${s.name}: ${human(this.x.at(a[0]), this.x.unit)} to ${human(this.x.at(b[0]), this.x.unit)}`]};
    }
    return {lines: [s.name, human(this.x.at(a[0]), this.x.unit) + ': ' + human(this.y.at(a[1]), this.y.unit)], dot: [this.move(a[0]), a[1]]};
  }
}
Panel.count = 0;

function centre(sub) {
  const xs = sub.map(v => v[0]), ys = sub.map(v => v[1]);
  return [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
}

// near returns the points of a line around an x.
function near(sub, x) {
  let lo = 0, hi = sub.length - 1;
  while (hi - lo > 1) { const mid = (lo + hi) >> 1; if (sub[mid][0] <= x) lo = mid; else hi = mid; }
  return sub.slice(Math.max(0, lo - 3), hi + 4);
}

const panels = [...document.querySelectorAll('.xoff .panel')].map(el => new Panel(el));
const bySVG = new Map();
for (const p of panels) bySVG.set(p.svg, [...(bySVG.get(p.svg) || []), p]);

const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
const bar = document.createElement('div');
bar.className = 'bar';
bar.hidden = true;
const range = document.createElement('span'), whole = document.createElement('button');
whole.textContent = 'show all';
bar.append(range, whole);
document.body.append(tip, bar);

// tell shows lines of text at the pointer, or hides them.
function tell(e, lines) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.filter(Boolean).map(text => Object.assign(document.createElement('div'), {textContent: text})));
  const r = tip.getBoundingClientRect(), room = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, room - r.width - 6)) + 'px';
  tip.style.top = (e.clientY + 18 + r.height > innerHeight ? Math.max(4, e.clientY - r.height - 12) : e.clientY + 18) + 'px';
}

// linked returns the panels that share the x axis of p.
function linked(p) { return p.x.common ? panels.filter(q => q.x.common) : [p]; }

function zoom(p, a, b) {
  if (b - a < 1e-6) return;
  for (const q of linked(p)) q.zoom(a, b);
  const some = panels.find(q => q.part[0] > 0 || q.part[1] < 1);
  bar.hidden = !some;
  if (some) range.textContent = human(some.x.at(some.back(some.box[0])), some.x.unit) + ' to ' + human(some.x.at(some.back(some.box[2])), some.x.unit);
}
function reset() { for (const p of panels) if (p.part[0] > 0 || p.part[1] < 1) p.zoom(0, 1); bar.hidden = true; }
whole.onclick = reset;
document.addEventListener('keydown', e => { if (e.key === 'Escape') reset(); });

// mark draws the time at the pointer, or the part that is being selected, in all panels that
// share the axis.
function mark(p, from, to, dot) {
  for (const q of panels) q.marks.replaceChildren();
  if (!p) return;
  for (const q of linked(p)) {
    const [x0, y0, x1, y1] = q.box, px = s => Math.min(Math.max(q.move(x0 + s * (x1 - x0)), x0), x1);
    if (to === undefined) make('path', {class: 'cross', d: `M${px(from)} ${y0}V${y1}`}, q.marks);
    else make('rect', {class: 'brush', x: Math.min(px(from), px(to)), y: y0, width: Math.abs(px(to) - px(from)), height: y1 - y0}, q.marks);
  }
  if (dot) make('circle', {class: 'dot', cx: dot[0], cy: dot[1], r: 4.5}, p.marks);
}

let drag = null;
for (const [svg, list] of bySVG) {
  const place = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  svg.addEventListener('pointermove', e => {
    const p = place(e);
    if (drag) { drag.to = drag.panel.share(p.x); mark(drag.panel, drag.from, drag.to); tell(); return; }
    const panel = list.find(q => q.contains(p)), found = panel && panel.at(p);
    tell(e, found && found.lines);
    mark(panel && panel.zooms ? panel : null, panel && panel.share(p.x), undefined, found && found.dot);
  });
  svg.addEventListener('pointerdown', e => {
    const p = place(e), panel = list.find(q => q.contains(p));
    if (!panel || !panel.zooms || e.button) return;
    drag = {panel, from: panel.share(p.x), to: panel.share(p.x), x: e.clientX};
    if (e.isTrusted) svg.setPointerCapture(e.pointerId);
    e.preventDefault();
  });
  svg.addEventListener('pointerup', e => {
    const d = drag;
    drag = null;
    mark();
    if (d && Math.abs(e.clientX - d.x) > 5) zoom(d.panel, Math.min(d.from, d.to), Math.max(d.from, d.to));
  });
  svg.addEventListener('pointerleave', () => { if (!drag) { tell(); mark(); } });
  svg.addEventListener('pointercancel', () => { drag = null; tell(); mark(); });
  svg.addEventListener('dblclick', reset);
  svg.addEventListener('wheel', e => {
    const p = place(e), panel = list.find(q => q.contains(p));
    if (!e.ctrlKey || !panel || !panel.zooms) return;
    e.preventDefault();
    const by = e.deltaY < 0 ? 0.7 : 1 / 0.7, c = panel.share(p.x), [a, b] = panel.part;
    zoom(panel, Math.max(0, c - (c - a) * by), Math.min(1, c + (b - c) * by));
  }, {passive: false});
}

// press makes an element a toggle button.
function press(el, on, act) {
  el.setAttribute('role', 'button');
  el.setAttribute('tabindex', '0');
  el.setAttribute('aria-pressed', on);
  el.addEventListener('click', act);
  el.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); act(); } });
}

for (const entry of document.querySelectorAll('.xoff .entry')) {
  press(entry, true, () => {
    const figure = entry.closest('figure'), name = entry.dataset.s, off = !entry.classList.contains('off');
    for (const e of figure.querySelectorAll('.entry')) if (e.dataset.s === name) {
      e.classList.toggle('off', off);
      e.setAttribute('aria-pressed', !off);
    }
    for (const s of figure.querySelectorAll('.series')) if (s.dataset.s === name) s.style.display = off ? 'none' : '';
  });
}

for (const net of document.querySelectorAll('.xoff.net')) xoff.network(net, {tell, make});
document.documentElement.classList.add('live');
})();
