// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// The frame of the page: views by URL, connection state, keyboard shortcuts, and themes.

import { h, replace, button } from './dom.js';
import { get } from './api.js';
import { help } from './dialogs.js';
import { Fleet, fleetPage } from './fleet.js';
import { imagesPage } from './images.js';
import { queuePage } from './queue.js';
import { vmPage } from './vm.js';
import { zonesPage } from './zones.js';

const main = document.getElementById('main');
const views = [['', 'Virtual machines'], ['zones', 'Zones'], ['images', 'Images'], ['queue', 'Queue']];

// Themes: that of the system unless the user chooses one.
const themes = ['auto', 'light', 'dark'];
const themeButton = document.getElementById('theme');
function setTheme(theme) {
  if (theme === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
  localStorage.setItem('slipway-dashboard-theme', theme);
  themeButton.textContent = { auto: '◐', light: '☀', dark: '☾' }[theme];
  themeButton.setAttribute('aria-label', `Colours: ${theme}`);
  themeButton.title = `Colours: ${theme} (t)`;
  themeButton.theme = theme;
}
const nextTheme = () => setTheme(themes[(themes.indexOf(themeButton.theme) + 1) % themes.length]);
const storedTheme = localStorage.getItem('slipway-dashboard-theme');
setTheme(themes.includes(storedTheme) ? storedTheme : 'auto');
themeButton.addEventListener('click', nextTheme);

// Connection state: the worst of all watches and polls.
const states = new Map();
const live = document.getElementById('live');
const liveStatus = document.getElementById('live-status'); // for screen readers: changes only with the state
function announce(words) {
  if (liveStatus.textContent !== words) liveStatus.textContent = words;
}
function drawLive() {
  if (!states.size) return; // nothing was read yet
  const worst = [...states.values()].find((s) => s.error) ?? [...states.values()].find((s) => !s.live);
  live.className = `live ${!worst ? 'ok' : worst.error ? 'bad' : 'wait'}`;
  if (!worst) {
    if (live.said === 'Live') return;
    live.removeAttribute('title');
    replace(live, h('i', { class: 'mark ok', 'aria-hidden': 'true' }), live.said = 'Live');
    announce('Live');
    return;
  }
  const seconds = worst.until ? Math.max(0, Math.ceil((worst.until - Date.now()) / 1000)) : 0;
  const words = worst.error ? `Not live: ${worst.error.message}` : `Not live: ${worst.words}`;
  live.title = words;
  live.said = words;
  announce(words.replace(/, \d+$/, '')); // without the number of objects that are read
  replace(live, h('i', { class: `mark ${worst.error ? 'bad' : 'wait'}`, 'aria-hidden': 'true' }), h('span', { class: 'words' }, words),
    worst.error && h('span', { class: 'dim', 'aria-hidden': 'true' }, ` retry in ${seconds} s`), worst.retry && button('Now', worst.retry, { class: 'quiet' }));
}
const tellOf = (name) => (state) => { states.set(name, state); drawLive(); };
setInterval(() => { if (live.said !== 'Live') drawLive(); }, 1000);

let page;
let fleet;
const route = () => {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').map(decodeURIComponent), parameters: new URLSearchParams(query) };
};
const setParameters = (path) => (all) => {
  const query = new URLSearchParams(all).toString();
  history.replaceState(null, '', `#/${path}${query ? `?${query}` : ''}`);
};

function show() {
  page?.close();
  states.delete('page');
  const { parts, parameters } = route();
  main.className = '';
  if (parts[0] === 'vm' && parts.length === 3) {
    document.title = `${parts[2]} – Slipway`;
    page = vmPage(main, { namespace: parts[1], name: parts[2] }, tellOf('page'));
  } else if (['zones', 'images', 'queue'].includes(parts[0])) {
    document.title = `${views.find(([path]) => path === parts[0])[1]} – Slipway`;
    const tell = tellOf('page');
    page = { zones: () => zonesPage(main, tell), images: () => imagesPage(main, fleet.only, tell), queue: () => queuePage(main, tell) }[parts[0]]();
  } else {
    document.title = 'Virtual machines – Slipway';
    page = fleetPage(main, fleet, parameters, setParameters(''));
  }
  for (const a of document.querySelectorAll('#nav a')) {
    if (a.getAttribute('href') === `#/${parts[0] === 'vm' ? '' : parts[0]}`) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  drawLive();
}

const keys = [['1 2 3 4', 'Virtual machines, zones, images, queue'], ['/', 'Search'], ['j k ↓ ↑', 'Move in the list'], ['Enter', 'Open the virtual machine'], ['Space', 'Select it'], ['Escape', 'Clear the filters, or go back'],
  ['t', 'Light, dark or system theme'], ['?', 'Keyboard shortcuts']];
document.getElementById('help').addEventListener('click', () => help(keys));
document.addEventListener('keydown', (e) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'checkbox';
  if (document.querySelector('dialog[open]') || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === 'Escape') {
    if (typing) e.target.blur();
    else page?.escape?.();
    return;
  }
  if (typing) return;
  const action = { '/': page?.search, '?': () => help(keys), t: nextTheme, j: page?.list, k: page?.list, ArrowDown: page?.list }[e.key] ??
    (views[Number(e.key) - 1] && (() => { location.hash = `#/${views[Number(e.key) - 1][0]}`; }));
  if (!action || e.defaultPrevented) return;
  e.preventDefault();
  action();
});

try {
  const session = await get('/session');
  replace(document.getElementById('where'), h('span', { title: session.server }, session.context || session.server), session.user && h('span', { class: 'dim' }, session.user));
  replace(document.getElementById('nav'), views.map(([path, words]) => h('a', { href: `#/${path}` }, words)));
  fleet = new Fleet(session, tellOf('virtual machines'));
  addEventListener('hashchange', show);
  show();
} catch (error) {
  replace(main, h('div', { class: 'lost' }, h('h1', null, error.code === 401 ? 'This page needs the URL that virtctl printed' : 'The dashboard cannot be shown'),
    h('p', null, error.message), h('p', { class: 'dim' }, 'Run virtctl dashboard and open the address that it prints, token included.')));
}
