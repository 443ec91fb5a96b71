// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// The live work queue of the server: waiting objects by priority and age, and objects being reconciled.

import { h, replace, number, panel, table } from './dom.js';
import { get, poll, vmAPI } from './api.js';

// priorities of virtual machines, the most urgent first.
const priorities = [[100, 'Not created yet'], [99, 'Power change'], [98, 'Deletion'], [97, 'Waiting for an address'], [96, 'Disk promotion'],
  [-1, 'First reconcile'], [-2, 'Update'], [-3, 'Delete event'], [-4, 'Resync']];
const every = 1_000;
const kept = 120; // readings in the chart

const seconds = (s) => (s >= 10 ? `${Math.round(s)} s` : s >= 0.1 ? `${s.toFixed(1)} s` : s > 0 ? '< 0.1 s' : '');
const link = (key) => (/^[a-z0-9.-]+\/[a-z0-9.-]+$/.test(key ?? '') ? h('a', { href: `#/vm/${key}`, class: 'link' }, key) : key);

function levels(q) {
  const known = new Map(q.levels.map((l) => [l.priority, l]));
  const all = [...priorities, ...q.levels.filter((l) => !priorities.some(([p]) => p === l.priority)).map((l) => [l.priority, 'By annotation'])].sort((a, b) => b[0] - a[0]);
  const most = Math.max(1, ...q.levels.map((l) => l.depth));
  return table('Waiting by priority', ['Priority', 'Waiting', '', 'Oldest waits for', 'Oldest', ''], all.map(([priority, words]) => {
    const l = known.get(priority);
    const bar = h('i', { class: priority >= 96 ? 'ok' : 'dimmed' });
    bar.style.width = `${l ? Math.max(1, (100 * l.depth) / most) : 0}%`;
    return [h('span', { class: l ? 'level' : 'level dim' }, h('code', null, priority), words), h('b', null, l ? number(l.depth) : '0'), h('div', { class: 'track wide', 'aria-hidden': 'true' }, bar),
      l ? seconds(l.oldestSeconds) : '', l?.oldest ? link(l.oldest) : '', l?.starving ? h('span', { class: 'tag' }, 'AGED') : ''];
  }), '');
}

// curve draws the number of waiting objects in the last two minutes.
function curve(history) {
  const most = Math.max(10, ...history);
  const at = (n, i) => `${((i + kept - history.length) * 600) / (kept - 1)},${(58 - (n * 54) / most).toFixed(1)}`;
  return h('figure', { class: 'curve' }, h('svg', { viewBox: '0 0 600 60', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Waiting in the last two minutes: now ${history.at(-1)}, at most ${Math.max(...history)}` },
    history.length > 1 && h('path', { d: `M${history.map(at).join('L')}` })), h('figcaption', { class: 'dim' }, `waiting, the last two minutes; at most ${number(Math.max(...history))}`));
}

const tile = (n, words) => h('div', { class: 'tile flat' }, h('b', null, number(n)), h('span', null, words));

function refused(error) {
  return {
    403: 'You have no permission to read the queue. It requires permission to list queues in vm.slipway.dev (ClusterRole slipway-queue-report), because it lists virtual machines of all namespaces.',
    404: 'The server does not support the queue report: it is older than this virtctl.',
    503: 'The controllers do not run in the replica that responded.',
  }[error.code];
}

// queuePage draws the queue until it is closed.
export function queuePage(main, tell) {
  const history = [];
  const part = h('div', { class: 'stack' }, h('p', { class: 'dim' }, 'reading'));
  replace(main, h('h1', { class: 'unseen' }, 'Queue'), part);
  const stop = poll(every, () => get(`${vmAPI}/queues`), (report) => {
    tell({ live: true });
    const q = report.queues.find((x) => x.name === 'virtualmachine') ?? report.queues[0];
    if (!q) return replace(part, h('p', { class: 'note' }, 'No queue runs in the replica that responded.'));
    history.push(q.ready);
    if (history.length > kept) history.shift();
    const others = report.queues.filter((x) => x !== q);
    replace(part,
      h('div', { class: 'tiles' }, tile(q.ready, 'waiting'), tile(q.inProcess, 'in progress'), tile(q.delayed, 'later'), tile(q.idleWorkers, 'idle workers')),
      panel('Waiting virtual machines', levels(q), curve(history)),
      h('div', { class: 'columns' },
        h('div', null, panel('In progress', table('In progress', ['Virtual machine', 'Priority', 'Since'], (q.held ?? []).slice(0, 20).map((x) => [link(x.key), h('code', null, x.priority), seconds(x.seconds)]), 'Nothing at this moment.'))),
        h('div', null, panel('Other queues', table('Other queues', ['Queue', 'Waiting', 'In progress', 'Later'], others.map((x) => [x.name, number(x.ready), number(x.inProcess), number(x.delayed)]), 'None.')))),
      h('p', { class: 'dim' }, `Read every second from the replica ${report.replica || 'that responds'}. The order is by priority, then first come, first served; namespaces take turns within a priority.`));
  }, (error) => {
    const words = refused(error);
    if (words) {
      tell({ live: true });
      replace(part, h('p', { class: 'note' }, words), error.code === 503 && h('p', { class: 'dim' }, error.message));
    } else tell({ live: false, error, until: Date.now() + every, retry: () => stop.now() });
  });
  return { close: stop };
}
