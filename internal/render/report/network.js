// Makes the picture of a fabric a map: zoom, pan, search, and a choice of the measure that
// colours links. Tell, press and make are functions of page.js.
xoff.network = (net, {tell, make}) => {
  const scales = [...net.querySelectorAll('.scale')], ways = [...net.querySelectorAll('.way')], map = net.querySelector('.map');
  const after = net.querySelector('.about'), widths = after.dataset.w.split(' '), nothing = +after.dataset.c;
  const pick = document.createElement('div'), heading = net.querySelector('.heading text');
  pick.className = 'pick';
  const button = (text, act, label) => {
    const b = document.createElement('button');
    b.textContent = text;
    if (label) b.setAttribute('aria-label', label);
    b.onclick = act;
    pick.append(b);
    return b;
  };
  const choices = scales.map((scale, k) => button(scale.dataset.n, () => {
    choices.forEach((c, i) => c.setAttribute('aria-pressed', i === k));
    scales.forEach((s, i) => { s.style.display = i === k ? '' : 'none'; });
    if (heading && scale.dataset.h) heading.textContent = scale.dataset.h;
    for (let at = 0; at < widths.length; at++) for (const w of ways) if (+w.dataset.l[k] === at) {
      w.setAttribute('class', 'way s' + (nothing + at));
      w.setAttribute('stroke-width', widths[at]);
      if (w.parentNode === after.parentNode) after.parentNode.insertBefore(w, after);
    }
  }));
  choices.forEach((c, i) => c.setAttribute('aria-pressed', i === 0));

  // The map has its own scale; title and legend keep theirs.
  const [x0, y0, x1, y1] = map.dataset.b.split(' ').map(Number), clip = make('clipPath', {id: 'map' + xoff.maps++}, net);
  const frame = make('rect', {x: 0, y: y0}, clip), view = {x: 0, y: 0, k: 1};
  const outside = make('g', {'clip-path': `url(#${clip.id})`});
  map.replaceWith(outside);
  outside.append(map);
  // Names are drawn while they fit into their box; closer than 1:1 they grow with the map.
  const names = [...map.querySelectorAll('.node text')].map(t => {
    const b = t.parentNode.querySelector('path').getBBox();
    return {t, room: b.width, need: t.textContent.length * 6.3, size: +t.getAttribute('font-size') || 11};
  });
  let width = 0, height = 0, fit = 1, drawn = 0;
  const draw = () => {
    map.setAttribute('transform', `translate(${view.x} ${view.y}) scale(${view.k})`);
    if (drawn === view.k) return;
    drawn = view.k;
    map.classList.toggle('far', view.k < 0.999);
    for (const n of names) {
      const fits = view.k > 0.999 || n.need <= n.room * view.k + 10;
      n.t.style.display = fits ? '' : 'none';
      if (fits) n.t.setAttribute('font-size', view.k < 0.999 ? Math.max(11, n.size * view.k) / view.k : n.size);
    }
  };
  const keep = () => {
    const w = (x1 - x0) * view.k, h = (y1 - y0) * view.k;
    const bound = (at, from, size, room) => size <= room ? from + (room - size) / 2 : Math.min(from, Math.max(from + room - size, at));
    view.x = bound(view.x + x0 * view.k, 0, w, width) - x0 * view.k;
    view.y = bound(view.y + y0 * view.k, y0, h, height) - y0 * view.k;
  };
  // zoom scales the map around a point of the picture.
  const zoom = (by, px = width / 2, py = y0 + height / 2) => {
    const k = Math.min(Math.max(view.k * by, fit), 6);
    view.x = px - (px - view.x) * k / view.k;
    view.y = py - (py - view.y) * k / view.k;
    view.k = k;
    net.classList.toggle('close', k > fit * 1.001);
    keep();
    draw();
  };
  const whole = () => { zoom(1e-9); };
  const resize = () => {
    const room = net.parentNode.clientWidth, least = Math.max(...[...net.querySelectorAll('.heading text,.scale text,.signs text')].map(t => t.getBBox()).map(b => b.x + b.width)) + 16;
    if (!room || room === resize.last) return;
    resize.last = room;
    width = room; // of the map; a long legend may need more
    fit = Math.min(1, width / (x1 - x0 + 8));
    height = Math.min(y1 - y0 + 8, Math.max((y1 - y0) * fit + 8, fit < 1 ? 260 : 0));
    net.setAttribute('width', Math.max(room, least));
    net.setAttribute('height', y0 + height + 8);
    net.setAttribute('viewBox', `0 0 ${Math.max(room, least)} ${y0 + height + 8}`);
    frame.setAttribute('width', width);
    frame.setAttribute('height', height);
    drawn = 0;
    whole();
  };

  button('+', () => zoom(1.5), 'zoom in');
  button('\u2212', () => zoom(1 / 1.5), 'zoom out');
  button('whole', whole, 'show the whole fabric');
  const find = document.createElement('input'), count = document.createElement('span');
  find.type = 'search';
  find.placeholder = 'find a node or port';
  find.setAttribute('aria-label', 'find a node or port');
  count.setAttribute('role', 'status');
  pick.append(find, count);
  let hits = [], next = 0;
  find.oninput = () => {
    for (const h of hits) h.classList.remove('hit');
    const text = find.value.trim().toLowerCase(), named = what => text ? [...map.querySelectorAll(what)].filter(e => e.dataset.n.toLowerCase().includes(text)) : [];
    hits = named('.node');
    if (!hits.length) hits = named('.way');
    const exact = hits.findIndex(e => e.dataset.n.toLowerCase() === text);
    next = Math.max(0, exact);
    for (const h of hits) h.classList.add('hit');
    count.textContent = text ? hits.length + ' found' : '';
    if (exact >= 0 || hits.length === 1) show();
  };
  // show moves the next hit to the middle, at least at 1:1.
  const show = () => {
    if (!hits.length) return;
    const h = hits[next++ % hits.length], b = h.getBBox();
    zoom(Math.max(1, view.k) / view.k);
    view.x = width / 2 - (b.x + b.width / 2) * view.k;
    view.y = y0 + height / 2 - (b.y + b.height / 2) * view.k;
    keep();
    draw();
    count.textContent = `${h.dataset.n} (${(next - 1) % hits.length + 1} of ${hits.length})`;
  };
  find.onkeydown = e => { if (e.key === 'Enter') { e.preventDefault(); show(); } if (e.key === 'Escape') { find.value = ''; find.oninput(); } };

  const place = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(net.getScreenCTM().inverse());
  const touches = new Map();
  net.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const p = place(e);
    zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2, p.x, p.y);
  }, {passive: false});
  net.addEventListener('pointerdown', e => {
    const p = place(e);
    if (e.button || p.y < y0 - 4) return;
    touches.set(e.pointerId, p);
    if (e.isTrusted && (view.k > fit || touches.size > 1)) net.setPointerCapture(e.pointerId);
  });
  net.addEventListener('pointermove', e => {
    const was = touches.get(e.pointerId), p = place(e);
    if (!was) {
      const t = e.target.closest('[data-n]:not(.scale)');
      tell(e, t && [t.dataset.n, ...t.dataset.t.split('; ')]);
      return;
    }
    tell();
    touches.set(e.pointerId, p);
    if (touches.size === 1) {
      view.x += p.x - was.x;
      view.y += p.y - was.y;
      keep();
      draw();
      return;
    }
    const other = [...touches].find(([id]) => id !== e.pointerId)[1], apart = q => Math.hypot(q.x - other.x, q.y - other.y) || 1;
    zoom(apart(p) / apart(was), other.x, other.y);
  });
  for (const end of ['pointerup', 'pointercancel']) net.addEventListener(end, e => { touches.delete(e.pointerId); });
  net.addEventListener('pointerleave', () => tell());
  net.addEventListener('dblclick', e => { const p = place(e); zoom(2, p.x, p.y); });
  net.before(pick);
  resize();
  new ResizeObserver(resize).observe(net.parentNode);
};
xoff.maps = 0;
