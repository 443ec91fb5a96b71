// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// vCenters and their zones with capacity and free resources.

import { h, replace, bytes, chip, hertz, meter, number, panel, quantity } from './dom.js';
import { listAll, poll, vmAPI } from './api.js';

// readyChip shows whether an object is Ready, with the reason.
export function readyChip(object) {
  const c = object.status?.conditions?.find((x) => x.type === 'Ready');
  if (!c) return chip('wait', 'Not seen yet');
  return c.status === 'True' ? chip('ok', 'Ready') : chip(c.status === 'Unknown' ? 'warn' : 'bad', c.reason, c.message);
}

const whyNot = (object) => {
  const c = object?.status?.conditions?.find((x) => x.type === 'Ready' && x.status !== 'True');
  return c?.message && h('p', { class: 'dim' }, c.message);
};

// tried reads a list, or returns the error message.
export async function tried(path, what) {
  try {
    return { items: await listAll(path) };
  } catch (error) {
    if (error.code === 403 || error.code === 404) return { items: [], why: error.code === 403 ? `You may not list ${what}.` : `The server does not know ${what}.` };
    throw error;
  }
}

function zoneCard(z) {
  const { capacity = {}, free = {} } = z.status ?? {};
  const used = (what) => quantity(capacity[what]) - quantity(free[what]);
  return h('section', { class: 'panel', 'aria-label': `Zone ${z.metadata.name}` },
    h('div', { class: 'card-head' }, h('b', null, z.metadata.name), readyChip(z)),
    meter('CPU', used('cpu'), quantity(capacity.cpu), hertz), meter('Memory', used('memory'), quantity(capacity.memory), bytes), meter('Storage', used('storage'), quantity(capacity.storage), bytes),
    h('p', { class: 'dim' }, h('a', { href: `#/?zone=${encodeURIComponent(z.metadata.name)}`, class: 'link' }, `${number(z.status?.virtualMachines ?? 0)} virtual machines`),
      ` · ${z.status?.hosts ?? 0} hosts · ${z.spec.cluster || (z.spec.resourcePools ?? []).join(', ')}`), whyNot(z));
}

// zonesPage renders the zones until it is closed.
export function zonesPage(main, tell) {
  replace(main, h('h1', { class: 'unseen' }, 'Zones'), h('p', { class: 'dim' }, 'reading'));
  const stop = poll(5_000, async () => [await tried(`${vmAPI}/vcenters`, 'vCenters'), await tried(`${vmAPI}/zones`, 'zones')], ([vcenters, zones]) => {
    tell({ live: true });
    const names = [...new Set([...zones.items.map((z) => z.spec.vCenter || 'default'), ...vcenters.items.map((v) => v.metadata.name)])].sort();
    replace(main, h('h1', { class: 'unseen' }, 'Zones'), h('div', { class: 'stack' }, [vcenters.why, zones.why].filter(Boolean).map((why) => h('p', { class: 'note' }, why)), names.map((name) => {
      const v = vcenters.items.find((x) => x.metadata.name === name);
      const own = zones.items.filter((z) => (z.spec.vCenter || 'default') === name);
      return h('section', { 'aria-label': `vCenter ${name}` },
        h('div', { class: 'group-head' }, h('h2', null, `vCenter ${name}`), v && readyChip(v), h('span', { class: 'dim' }, v ? [v.spec.url, v.status?.version].filter(Boolean).join(' · ') : 'described by the flags of the server')), whyNot(v),
        h('div', { class: 'cards' }, own.length ? own.map(zoneCard) : panel('Zones', h('p', { class: 'none' }, 'It has none.'))));
    }), !names.length && !zones.why && h('p', { class: 'none' }, 'No Zone objects: virtual machines are placed according to the flags of the server.')));
  }, (error) => tell({ live: false, error, until: Date.now() + 5_000, retry: () => stop.now() }));
  return { close: stop };
}
