// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Images, content libraries, and image copies on datastores.

import { h, replace, bytes, panel, progress, quantity, table, time } from './dom.js';
import { poll, vmAPI } from './api.js';
import { readyChip, tried } from './zones.js';

const of = (c) => (c ? `${c.library} / ${c.item}` : '');
const size = (q) => (q === undefined ? '' : bytes(quantity(q)));

function imageRows(list, cluster) {
  return list.map(({ metadata: m, spec: s, status: t = {}, ...rest }) => [
    h('b', null, m.name), cluster ? h('span', { class: 'dim' }, 'all') : m.namespace, readyChip({ status: t, ...rest }), s.contentLibrary ? of(s.contentLibrary) : s.template?.inventoryPath,
    t.type, t.guestID, size(t.disks?.[0]?.capacity), t.firmware, (t.vCenters ?? []).join(', ')]);
}

function cacheRows(caches) {
  return caches.flatMap((c) => (c.status?.locations?.length ? c.status.locations : c.spec.locations ?? []).map((l) => [
    h('b', null, c.metadata.name), of(c.spec.contentLibrary), l.datastore, l.vCenter || 'default', readyChip({ status: l }),
    l.progress === undefined ? '' : progress('Copied', l.progress), size(l.contentSize), l.lastUsed ? time(l.lastUsed) : '']));
}

// imagesPage draws them until it is closed.
export function imagesPage(main, namespace, tell) {
  const base = namespace ? `${vmAPI}/namespaces/${namespace}` : vmAPI;
  replace(main, h('h1', { class: 'unseen' }, 'Images'), h('p', { class: 'dim' }, 'reading'));
  const stop = poll(5_000, async () => [
    await tried(`${vmAPI}/clustervirtualmachineimages`, 'images of the cluster'), await tried(`${base}/virtualmachineimages`, namespace ? `images of namespace ${namespace}` : 'images of all namespaces'),
    await tried(`${base}/virtualmachineimagecaches`, 'caches'), await tried(`${vmAPI}/contentlibraries`, 'content libraries'),
  ], ([shared, images, caches, libraries]) => {
    tell({ live: true });
    const refused = [shared, images, caches, libraries].map((x) => x.why).filter(Boolean);
    replace(main, h('h1', { class: 'unseen' }, 'Images'), h('div', { class: 'stack' }, refused.length > 0 && h('p', { class: 'note' }, refused.join(' ')),
      panel('Images', table('Images', ['Name', 'Namespace', 'Ready', 'Library item or template', 'Type', 'Guest', 'Disk', 'Firmware', 'vCenters'],
        [...imageRows(shared.items, true), ...imageRows(images.items, false)], 'No images yet.')),
      panel('Image caches', table('Image caches', ['Name', 'Library item', 'Datastore', 'vCenter', 'Ready', 'Progress', 'Size', 'Last used'], cacheRows(caches.items),
        'No copies. A copy is created when a virtual machine with fast deploy needs it, or manually.')),
      panel('Content libraries', table('Content libraries', ['Name', 'Library', 'Images in', 'Ready', 'Items', 'Images'], libraries.items.map((l) => [
        h('b', null, l.metadata.name), l.spec.library, l.spec.namespace ?? h('span', { class: 'dim' }, 'all namespaces'), readyChip(l), String(l.status?.items ?? 0), String(l.status?.images ?? 0)]),
      'No content libraries are published.'))));
  }, (error) => tell({ live: false, error, until: Date.now() + 5_000, retry: () => stop.now() }));
  return { close: stop };
}
