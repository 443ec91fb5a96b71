// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// The list of all virtual machines. Only visible rows are rendered.

import { h, replace, age, button, chip, number } from './dom.js';
import { asTable, follow, vmAPI } from './api.js';
import { power, verbs } from './dialogs.js';

// Tones of a status.
const moving = /^(Pending|Creating|Starting|Stopping|Deleting|.*WaitingFor.*|.*Delayed|.*NotReady|.*InProgress|.*TooMany(Creates|Operations))$/;
const careful = /^(RestartRequired|Paused|Missing|ManyMissing|UnknownState|Unreachable|.*HeldByCheck)$/;

// toneOf is ok, wait, warn, bad or off.
export function toneOf(status, ready) {
  if (status === 'Running') return ready === 'False' ? 'wait' : 'ok';
  if (status === 'Stopped' || status === 'Suspended') return 'off';
  if (!status || moving.test(status)) return 'wait';
  return careful.test(status) ? 'warn' : 'bad';
}

const tones = [['', 'All'], ['ok', 'Running'], ['wait', 'In progress'], ['warn', 'Attention'], ['bad', 'Failed'], ['off', 'Off']];

// columns of the page, by those of the API: those that kubectl get vm -o wide prints.
const columns = [
  { key: 'name', head: 'Name' }, { key: 'namespace', head: 'Namespace' }, { key: 'status', head: 'Status' }, { key: 'power', head: 'Power' },
  { key: 'type', head: 'Type' }, { key: 'cpu', head: 'CPU' }, { key: 'memory', head: 'Memory' }, { key: 'ip', head: 'IP' },
  { key: 'zone', head: 'Zone' }, { key: 'host', head: 'Host' }, { key: 'created', head: 'Age' },
];

const rowHeight = 32;
const collator = new Intl.Collator('en', { numeric: true });

// fleet is the store of all rows, which lives as long as the page.
export class Fleet {
  constructor(session, tell) {
    this.rows = new Map();
    this.listeners = new Set();
    this.names = [];
    this.tell = tell;
    this.session = session;
    this.begin(session.onlyNamespace ? session.namespace : '');
  }

  begin(namespace) {
    this.only = namespace;
    this.stop?.();
    this.stop = follow({
      path: namespace ? `${vmAPI}/namespaces/${namespace}/virtualmachines` : `${vmAPI}/virtualmachines`,
      accept: asTable,
      pulse: true,
      itemsOf: (answer) => {
        if (answer.columnDefinitions?.length) this.names = answer.columnDefinitions.map((c) => c.name.toLowerCase());
        return answer.rows ?? [];
      },
      versionOf: (t) => t.rows?.[0]?.object?.metadata?.resourceVersion ?? t.metadata?.resourceVersion,
      reset: (rows) => {
        this.forbidden = '';
        this.rows = new Map(rows.map((r) => this.row(r)).map((r) => [r.key, r]));
        this.changed();
      },
      change: (type, t) => {
        for (const r of (t.rows ?? []).map((x) => this.row(x))) {
          if (type === 'DELETED') this.rows.delete(r.key);
          else this.rows.set(r.key, r);
        }
        this.changed();
      },
      tell: (state) => {
        // Without permission to list all namespaces, show that of the kubeconfig.
        if (state.error?.code === 403 && !this.only) {
          queueMicrotask(() => this.begin(this.session.namespace));
          return;
        }
        if (state.error?.code === 403) {
          this.forbidden = state.error.message;
          this.rows.clear();
          this.changed();
        }
        this.tell(state);
      },
    });
  }

  row({ cells, object: { metadata: m } }) {
    const r = { key: `${m.namespace}/${m.name}`, name: m.name, namespace: m.namespace, created: m.creationTimestamp, labels: m.labels };
    cells.forEach((c, i) => { if (!(this.names[i] in r)) r[this.names[i]] = c ?? ''; });
    r.tone = toneOf(r.status, r.ready);
    r.text = [r.name, r.namespace, r.ip, r.host, r.type, r.image, r.status, r.group, ...Object.entries(m.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join('\n').toLowerCase();
    return r;
  }

  changed() {
    if (this.due) return;
    this.due = setTimeout(() => {
      this.due = 0;
      for (const l of this.listeners) l();
    }, 100); // render many events together
  }
}

// filterOf reads the filters from the parameters of the page's address.
const filterNames = ['q', 'namespace', 'zone', 'type', 'status', 'tone', 'outdated', 'sort'];

// select filters and sorts rows.
export function select(rows, f) {
  const words = (f.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const out = [];
  for (const r of rows) {
    if (f.namespace && r.namespace !== f.namespace || f.zone && r.zone !== f.zone || f.type && r.type !== f.type) continue;
    if (f.status && r.status !== f.status || f.tone && r.tone !== f.tone || f.outdated && r.outdated !== 'True') continue;
    if (words.every((w) => r.text.includes(w))) out.push(r);
  }
  const down = f.sort?.startsWith('-');
  const key = (down ? f.sort.slice(1) : f.sort) || 'name';
  const way = down ? -1 : 1;
  out.sort((a, b) => way * collator.compare(a[key], b[key]) || collator.compare(a.key, b.key));
  return out;
}

// fleetPage draws the fleet until it is closed.
export function fleetPage(main, fleet, parameters, setParameters) {
  const filter = Object.fromEntries(filterNames.map((n) => [n, parameters.get(n) ?? '']));
  const chosen = new Set();
  let seen = [];
  let active = -1;

  const set = (changes) => {
    Object.assign(filter, changes);
    setParameters(Object.fromEntries(Object.entries(filter).filter(([, v]) => v)));
    body.scrollTop = 0;
    active = -1;
    draw();
  };

  const search = h('input', { type: 'search', id: 'search', placeholder: 'Search name, IP, host, image, label…', 'aria-label': 'Search virtual machines', value: filter.q,
    oninput: () => set({ q: search.value }), onkeydown: (e) => { if (e.key === 'ArrowDown') { body.focus(); move(0); e.preventDefault(); } } });
  const choices = ['namespace', 'zone', 'type', 'status'].map((name) => {
    const e = h('select', { 'aria-label': `Filter by ${name}`, onchange: () => set({ [name]: e.value }) });
    e.name = name;
    return e;
  });
  const outdated = h('input', { type: 'checkbox', onchange: () => set({ outdated: outdated.checked ? '1' : '' }) });
  outdated.checked = !!filter.outdated;
  const clear = button('Clear', () => {
    search.value = '';
    outdated.checked = false;
    set({ q: '', namespace: '', zone: '', type: '', status: '', tone: '', outdated: '' });
  }, { class: 'quiet' });
  const tiles = h('div', { class: 'tiles', role: 'group', 'aria-label': 'Filter by state' });
  const note = h('p', { class: 'note', hidden: true });
  const count = h('span', { class: 'dim', role: 'status' });
  const actions = h('div', { class: 'selection', hidden: true });
  const all = h('input', { type: 'checkbox', 'aria-label': 'Select all listed', onchange: () => {
    if (all.checked) for (const r of seen) chosen.add(r.key);
    else chosen.clear();
    draw();
  } });
  const heads = columns.map((c) => h('div', { role: 'columnheader', class: `c-${c.key}` },
    button(c.head, () => set({ sort: filter.sort === c.key || !filter.sort && c.key === 'name' ? `-${c.key}` : c.key }), { class: 'sort' })));
  const head = h('div', { class: 'row head', role: 'row' }, h('div', { role: 'columnheader', class: 'c-box' }, all), heads);
  const canvas = h('div', { class: 'canvas', role: 'rowgroup' });
  const body = h('div', { class: 'rows', tabindex: 0, role: 'grid', 'aria-label': 'Virtual machines', 'aria-multiselectable': 'true', 'aria-colcount': columns.length + 1 },
    h('div', { role: 'rowgroup', class: 'heads' }, head), canvas);
  const empty = h('p', { class: 'none', hidden: true });
  const pool = new Map();

  const chooseRow = (key, on) => {
    if (on) chosen.add(key);
    else chosen.delete(key);
    draw();
  };

  function makeRow() {
    const e = h('div', { role: 'row', class: 'row' });
    e.box = h('input', { type: 'checkbox', tabindex: -1, onchange: () => chooseRow(e.key, e.box.checked) });
    e.link = h('a', { tabindex: -1 });
    e.cells = Object.fromEntries(columns.map((c) => [c.key, h('div', { role: 'gridcell', class: `c-${c.key}` })]));
    e.cells.name.append(e.link);
    e.append(h('div', { role: 'gridcell', class: 'c-box' }, e.box), ...Object.values(e.cells));
    return e;
  }

  function fill(e, r, i) {
    e.style.transform = `translateY(${i * rowHeight}px)`;
    e.classList.toggle('active', i === active);
    e.id = i === active ? 'active-row' : '';
    e.box.checked = chosen.has(r.key);
    e.setAttribute('aria-selected', e.box.checked);
    if (e.now === r && e.index === i) return;
    [e.now, e.index, e.key] = [r, i, r.key];
    e.setAttribute('aria-rowindex', i + 2);
    e.box.setAttribute('aria-label', `Select ${r.key}`);
    e.link.textContent = r.name;
    e.link.href = `#/vm/${r.namespace}/${r.name}`;
    for (const c of columns.slice(3)) e.cells[c.key].textContent = c.key === 'created' ? age(r.created) : r[c.key];
    e.cells.namespace.textContent = r.namespace;
    replace(e.cells.status, chip(r.tone, r.status || 'Pending'));
    e.cells.power.textContent = r.power.replace('Powered', '');
    if (r.outdated === 'True') e.cells.type.append(h('span', { class: 'tag', title: 'Instance type or preference has changed since it was pinned' }, 'OUTDATED'));
    for (const c of ['ip', 'host', 'zone', 'type']) e.cells[c].title = r[c];
  }

  function paint() {
    const first = Math.max(0, Math.floor(body.scrollTop / rowHeight) - 8);
    const last = Math.min(seen.length, Math.ceil((body.scrollTop + body.clientHeight) / rowHeight) + 8);
    for (const [i, e] of pool) {
      if (i >= first && i < last) continue;
      pool.delete(i);
      spare.push(e);
    }
    for (let i = first; i < last; i++) {
      let e = pool.get(i);
      if (!e) {
        e = spare.pop() ?? makeRow();
        pool.set(i, e);
        canvas.append(e);
      }
      fill(e, seen[i], i);
    }
    for (const e of spare) e.remove();
    if (active >= first && active < last) body.setAttribute('aria-activedescendant', 'active-row');
    else body.removeAttribute('aria-activedescendant');
  }
  const spare = [];

  function drawTiles() {
    const counts = {};
    let old = 0;
    for (const r of fleet.rows.values()) {
      counts[r.tone] = (counts[r.tone] ?? 0) + 1;
      if (r.outdated === 'True') old++;
    }
    const tile = (tone, words, n, on, click) => h('button', { type: 'button', class: `tile ${tone}`, 'aria-pressed': String(on), onclick: click, id: `tile-${tone || 'all'}` },
      h('b', null, fleet.forbidden ? '–' : number(n)), h('span', null, tone && tone !== 'old' && h('i', { class: `mark ${tone}`, 'aria-hidden': 'true' }), words));
    const had = tiles.contains(document.activeElement) ? document.activeElement.id : '';
    replace(tiles, tones.map(([tone, words]) => tile(tone, words, tone ? counts[tone] ?? 0 : fleet.rows.size, filter.tone === tone && !(tone === '' && filter.outdated), () => set({ tone }))),
      tile('old', 'Outdated', old, !!filter.outdated, () => { outdated.checked = !outdated.checked; set({ outdated: outdated.checked ? '1' : '' }); }));
    if (had) document.getElementById(had)?.focus();
  }

  function drawChoices() {
    for (const e of choices) {
      const values = [...new Set([...fleet.rows.values()].map((r) => r[e.name]).filter(Boolean).concat(filter[e.name] || []))].sort(collator.compare);
      const mark = values.join('\n');
      if (e.mark !== mark) {
        e.mark = mark;
        replace(e, h('option', { value: '' }, { namespace: 'All namespaces', zone: 'All zones', type: 'All types', status: 'Any status' }[e.name]), values.map((v) => h('option', { value: v }, v)));
      }
      e.value = filter[e.name];
      e.classList.toggle('on', !!filter[e.name]);
    }
  }

  function draw() {
    for (const key of chosen) if (!fleet.rows.has(key)) chosen.delete(key);
    seen = select(fleet.rows.values(), filter);
    if (active >= seen.length) active = seen.length - 1;
    canvas.style.height = `${seen.length * rowHeight}px`;
    body.setAttribute('aria-rowcount', seen.length + 1);
    const sort = filter.sort || 'name';
    columns.forEach((c, i) => heads[i].setAttribute('aria-sort', sort === c.key ? 'ascending' : sort === `-${c.key}` ? 'descending' : 'none'));
    count.textContent = fleet.forbidden ? '' : seen.length === fleet.rows.size ? `${number(seen.length)} virtual machine${seen.length === 1 ? '' : 's'}` : `${number(seen.length)} of ${number(fleet.rows.size)}`;
    clear.hidden = !filterNames.some((n) => n !== 'sort' && filter[n]);
    empty.hidden = seen.length > 0;
    if (fleet.forbidden) empty.textContent = `Forbidden: you have no permission to list virtual machines. ${fleet.forbidden}`;
    else if (fleet.rows.size) empty.textContent = 'No virtual machines match the filters.';
    else empty.textContent = 'No virtual machines yet. Create one: virtctl create vm --name NAME --image IMAGE --cpu 1 --memory 2Gi | kubectl apply -f -';
    note.hidden = !fleet.only || fleet.session.onlyNamespace || !!fleet.forbidden;
    note.textContent = `You have no permission to list virtual machines in all namespaces. Showing ${fleet.only}, the namespace of your kubeconfig; use virtctl dashboard -n NAMESPACE for another one.`;
    all.checked = seen.length > 0 && seen.every((r) => chosen.has(r.key));
    all.indeterminate = !all.checked && chosen.size > 0;
    drawTiles();
    drawChoices();
    drawActions();
    paint();
  }

  function drawActions() {
    actions.hidden = chosen.size === 0;
    if (actions.now === chosen.size) return;
    actions.now = chosen.size;
    const targets = () => [...chosen].map((k) => fleet.rows.get(k)).filter(Boolean).sort((a, b) => collator.compare(a.key, b.key));
    replace(actions, h('b', null, `${number(chosen.size)} selected`),
      Object.entries(verbs).map(([verb, { label }]) => button(`${label}…`, async () => {
        if (await power(verb, targets())) { chosen.clear(); draw(); }
      }, { class: verb === 'start' ? 'primary' : 'plain' })),
      button('Clear selection', () => { chosen.clear(); draw(); }, { class: 'quiet' }));
  }

  function move(to) {
    active = Math.max(0, Math.min(seen.length - 1, to));
    const top = active * rowHeight;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + 2 * rowHeight > body.scrollTop + body.clientHeight) body.scrollTop = top + 2 * rowHeight - body.clientHeight;
    paint();
  }
  body.addEventListener('scroll', () => requestAnimationFrame(paint));
  body.addEventListener('keydown', (e) => {
    if (e.target !== body || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(body.clientHeight / rowHeight) - 2);
    const to = { ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: seen.length - 1 }[e.key];
    if (to !== undefined) move(to);
    else if (e.key === 'Enter' && seen[active]) location.hash = `#/vm/${seen[active].namespace}/${seen[active].name}`;
    else if ((e.key === ' ' || e.key === 'x') && seen[active]) chooseRow(seen[active].key, !chosen.has(seen[active].key));
    else return;
    e.preventDefault();
  });

  replace(main, h('h1', { class: 'unseen' }, 'Virtual machines'), note, tiles,
    h('div', { class: 'filters' }, search, choices, h('label', { class: 'check' }, outdated, 'Outdated'), clear, h('span', { class: 'grow' }), count), actions, body, empty);
  main.className = 'fleet';
  draw();
  fleet.listeners.add(draw);
  const sized = new ResizeObserver(paint);
  sized.observe(body);
  const tick = setInterval(() => {
    for (const e of pool.values()) if (e.now) e.cells.created.textContent = age(e.now.created);
  }, 5_000);
  return {
    search: () => search.focus(),
    list: () => { body.focus(); move(Math.max(0, active)); },
    escape: () => { if (chosen.size) { chosen.clear(); draw(); } else if (!clear.hidden) clear.click(); },
    close: () => { fleet.listeners.delete(draw); sized.disconnect(); clearInterval(tick); },
  };
}
