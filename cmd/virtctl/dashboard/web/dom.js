// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Elements and formats. Text of the API is added only as text nodes, never as markup.

const svgNames = new Set(['svg', 'path', 'line', 'rect']);

// h creates an element: attributes, listeners (onclick), and children that are elements, texts or nothing.
export function h(tag, attributes, ...children) {
  const e = svgNames.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return e;
}

// replace sets the children of an element.
export function replace(e, ...children) {
  e.replaceChildren(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
}

// age is the time since then as kubectl writes it.
export function age(then) {
  if (!then) return '';
  const s = Math.max(0, Math.floor((Date.now() - Date.parse(then)) / 1000));
  if (s < 120) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (m < 180) return `${m}m`;
  const hours = Math.floor(m / 60);
  if (hours < 8) return m % 60 ? `${hours}h${m % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  return `${Math.floor(hours / 24)}d`;
}

// time is an element that shows how long ago something was, and when in its title.
export function time(then) {
  if (!then) return h('span', { class: 'dim' }, '–');
  return h('time', { datetime: then, title: new Date(then).toLocaleString() }, `${age(then)} ago`);
}

const factors = { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };

// quantity returns the value of a Kubernetes quantity, or NaN.
export function quantity(text) {
  const m = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]{0,2})$/.exec(String(text ?? ''));
  return m && m[2] in factors ? Number(m[1]) * factors[m[2]] : NaN;
}

function scaled(n, step, units) {
  if (!Number.isFinite(n)) return '–';
  let i = 0;
  while (Math.abs(n) >= step && i < units.length - 1) { n /= step; i++; }
  return `${n >= 100 ? Math.round(n) : n.toFixed(1).replace('.0', '')} ${units[i]}`;
}

// bytes and hertz format an amount.
export const bytes = (n) => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
export const hertz = (n) => scaled(n, 1000, ['Hz', 'kHz', 'MHz', 'GHz', 'THz']);

// number formats a count.
export const number = (n) => Number(n).toLocaleString('en');

// chip is a state in words, with a mark whose shape differs by tone.
export const chip = (tone, text, title) => h('span', { class: `chip ${tone}`, title }, h('i', { class: `mark ${tone}`, 'aria-hidden': 'true' }), text);

// button creates a button.
export const button = (label, onclick, attributes) => h('button', { type: 'button', onclick, ...attributes }, label);

// panel is a part of a page with a heading.
export function panel(title, ...children) {
  const id = `h-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  return h('section', { class: 'panel', 'aria-labelledby': id }, h('h2', { id }, title), ...children);
}

// table is a table of elements or texts.
export function table(label, heads, rows, none) {
  if (!rows.length) return h('p', { class: 'none' }, none);
  return h('div', { class: 'scroll' }, h('table', { 'aria-label': label },
    h('thead', null, h('tr', null, heads.map((t) => h('th', { scope: 'col' }, t)))),
    h('tbody', null, rows.map((cells) => h('tr', null, cells.map((c) => h('td', null, c)))))));
}

// progress shows how far a task is.
export function progress(label, percent) {
  const done = Math.min(100, Math.max(0, Math.round(percent)));
  const fill = h('i');
  fill.style.width = `${done}%`;
  return h('div', { class: 'gauge' }, h('div', { class: 'gauge-words' }, h('span', null, label), h('span', { class: 'dim' }, `${done} %`)),
    h('div', { class: 'track', role: 'progressbar', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': done }, fill));
}

// meter shows how much of something is used.
export function meter(label, used, total, write) {
  const known = Number.isFinite(used) && total > 0;
  const percent = known ? Math.min(100, Math.max(0, (100 * used) / total)) : 0;
  const fill = h('i', { class: percent > 95 ? 'bad' : percent > 80 ? 'warn' : 'ok' });
  fill.style.width = `${percent}%`;
  const words = known ? `${write(used)} of ${write(total)} in use, ${Math.round(percent)} %` : 'unknown';
  return h('div', { class: 'gauge' },
    h('div', { class: 'gauge-words' }, h('span', null, label), h('span', { class: 'dim' }, words)),
    h('div', { class: 'track', role: 'meter', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.round(percent), 'aria-valuetext': words }, fill));
}
