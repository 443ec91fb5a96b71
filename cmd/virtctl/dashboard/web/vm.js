// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// The page of one virtual machine: identity, unfulfilled conditions, and actions.

import { h, replace, button, chip, panel, quantity, bytes, table, time } from './dom.js';
import { coreAPI, follow, listAll, poll, vmAPI } from './api.js';
import { toneOf } from './fleet.js';
import { consoleOf, possible, power, refresh, verbs } from './dialogs.js';

// Conditions that report a problem if they are True.
const inverse = new Set(['Paused', 'Reconciling', 'Stalled', 'Deleting']);

// conditionTone returns the tone of one condition.
export function conditionTone(c) {
  if (c.status === 'Unknown') return 'warn';
  if ((c.status === 'True') !== inverse.has(c.type)) return 'ok';
  if (c.type === 'Stalled' || /^(Error|.*Error|NotFound|Invalid|NotAllowed|Conflict|RequirementsNotMet|LoginRefused|Untrusted|NameTaken|Unsupported|NoZone|NotEffective)$/.test(c.reason)) return 'bad';
  return c.type === 'Paused' || c.reason === 'HeldByCheck' || c.reason === 'RestartRequired' ? 'warn' : 'wait';
}

// waits returns the unfulfilled conditions: causes first, then the summary Ready.
export function waits(conditions) {
  const lacking = conditions.filter((c) => conditionTone(c) !== 'ok');
  const causes = lacking.filter((c) => c.type !== 'Ready' && c.reason !== 'WaitingForPrerequisites');
  return causes.length ? causes : lacking;
}

// flat lists the leaves of an object by their paths.
export function flat(value, path = '', into = new Map()) {
  if (value === null || value === undefined) return into;
  if (typeof value !== 'object') into.set(path, String(value));
  else if (Array.isArray(value)) value.forEach((v, i) => flat(v, `${path}[${v?.name ?? i}]`, into));
  else for (const [k, v] of Object.entries(value)) flat(v, path ? `${path}.${k}` : k, into);
  return into;
}

const dl = (rows) => h('dl', { class: 'facts' }, rows.filter(([, v]) => v !== undefined && v !== null && v !== '' && v !== false)
  .map(([k, v]) => [h('dt', null, k), h('dd', null, v)]));
const mono = (text) => text && h('code', null, text);

function captured(ref) {
  if (!ref?.name) return '';
  return [ref.name, h('span', { class: 'dim' }, ` generation ${ref.sourceGeneration ?? '–'}`),
    ref.outdated && h('span', { class: 'tag' }, ref.latestGeneration ? `OUTDATED, now ${ref.latestGeneration}` : 'GONE')];
}

function size(r) {
  return r ? [r.vcpus && `${r.vcpus} vCPU`, r.memory].filter(Boolean).join(', ') : '';
}

function identity({ metadata: m, spec: s, status: t = {} }) {
  const images = { ClusterVirtualMachineImage: ' (cluster)', VirtualMachine: ' (clone)' };
  return panel('Details', dl([
    ['Instance type', captured(t.instancetypeRef) || s.instancetype?.name], ['Class', t.class?.name ?? s.className],
    ['Preference', captured(t.preferenceRef) || s.preference?.name],
    ['Size', size(t.resources)], ['Image', s.image && s.image.name + (images[s.image.kind] ?? '')],
    ['Zone', t.zone], ['Host', t.nodeName],
    ['Address', mono([t.network?.primaryIP4, t.network?.primaryIP6].filter(Boolean).join(', '))],
    ['Host name', t.network?.hostName], ['Guest', t.guest?.guestFullName ?? t.guest?.guestID],
    ['Storage used', t.storage?.committed && bytes(quantity(t.storage.committed))], ['Group', s.groupName], ['Snapshot', t.currentSnapshot],
    ['Machine', t.machine?.name], ['In vSphere', mono(t.uniqueID)], ['Hardware', t.hardwareVersion && `vmx-${t.hardwareVersion}`],
    ['Instance UUID', mono(t.instanceUUID)], ['Created', time(m.creationTimestamp)],
    ['Last restart', t.lastRestartTime && time(t.lastRestartTime)],
  ]));
}

function waiting({ metadata: m, status: t = {} }) {
  const all = waits(t.conditions ?? []);
  const list = all.map((c) => h('li', { class: conditionTone(c) },
    h('div', null, chip(conditionTone(c), c.type), h('b', null, c.reason), h('span', { class: 'dim' }, ' since ', time(c.lastTransitionTime))),
    c.message && h('p', null, c.message)));
  if (m.deletionTimestamp) list.unshift(h('li', { class: 'wait' }, h('div', null, chip('wait', 'Deleting'), time(m.deletionTimestamp))));
  if (!t.conditions) list.push(h('li', { class: 'wait' }, h('div', null, chip('wait', 'Pending'), 'The server has not reconciled it yet.')));
  return panel('Waiting for', list.length ? h('ul', { class: 'waits' }, list) : h('p', { class: 'calm' }, chip('ok', 'Nothing'), 'The virtual machine matches its spec.'));
}

function timeline({ metadata: m, status: t = {} }) {
  const all = [...(t.conditions ?? [])].sort((a, b) => Date.parse(b.lastTransitionTime) - Date.parse(a.lastTransitionTime) || a.type.localeCompare(b.type));
  return panel('Conditions', h('ol', { class: 'timeline' }, all.map((c) => h('li', null, h('i', { class: `mark ${conditionTone(c)}`, 'aria-hidden': 'true' }),
    h('div', null, h('b', null, c.type), ' ', h('span', { class: `said ${conditionTone(c)}` }, c.status), c.reason !== 'Succeeded' && h('span', null, ` ${c.reason}`),
      h('span', { class: 'when dim' }, time(c.lastTransitionTime)), c.message && h('p', null, c.message)))),
  h('li', null, h('i', { class: 'mark off', 'aria-hidden': 'true' }), h('div', null, h('b', null, 'Created by a user'), h('span', { class: 'when dim' }, time(m.creationTimestamp))))));
}

function desired(vm, instance) {
  const { spec: s, status: t = {} } = vm;
  const rows = [];
  const wanted = s.powerState ?? t.inheritedPowerState;
  rows.push(['powerState', wanted, t.powerState]);
  if (t.desiredResources) rows.push(['size', size(t.desiredResources), size(t.resources)]);
  for (const r of t.restartRequired ?? []) rows.push([r.path, r.desired, r.running, 'restart']);
  const differs = (a, b) => (a ?? '') !== (b ?? '');
  const asked = flat(s);
  const effective = [...flat(instance?.spec ?? {})].filter(([path]) => !/^(bootstrap|instancetype\.kind|preference\.kind)/.test(path));
  return panel('Desired beside running',
    table('Desired beside running', ['Field', 'Desired', 'Running', ''], rows.map(([path, want, have, how]) => [mono(path), want || '–', have || '–',
      how ? chip('warn', 'requires a restart') : differs(want, have) ? chip('wait', 'not yet') : chip('ok', 'same')]), ''),
    instance ? h('details', null, h('summary', null, `Effective spec: ${effective.length} fields that it runs with`),
      table('Effective spec', ['Field', 'Runs with', 'Given by'], effective.map(([path, value]) => [mono(path), value,
        asked.get(path) === value ? 'spec' : h('span', { class: 'dim' }, 'inherited')]), ''),
      h('p', { class: 'dim' }, 'Inherited is what its instance type, preference or class says, or the defaults.'))
      : h('p', { class: 'dim' }, 'It does not run, so that there is no VirtualMachineInstance with an effective spec.'));
}

function eventList(events, error) {
  if (error) return panel('Events', h('p', { class: 'none' }, error.code === 403 ? 'You have no permission to read events in this namespace.' : error.message));
  const at = (e) => e.series?.lastObservedTime ?? e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp;
  return panel('Events', table('Events', ['When', 'What', 'Message'], [...events].sort((a, b) => Date.parse(at(b)) - Date.parse(at(a))).slice(0, 50).map((e) => [
    time(at(e)), chip(e.type === 'Warning' ? 'warn' : 'off', e.reason), [e.message, (e.series?.count ?? e.count) > 1 && h('span', { class: 'dim' }, ` ×${e.series?.count ?? e.count}`)]]),
  'No events. Kubernetes keeps them for an hour.'));
}

// vmPage renders a virtual machine until it is closed.
export function vmPage(main, { namespace, name }, tell) {
  let vm;
  let instance;
  let gone = false;
  let events = [];
  let eventsError;
  const target = { namespace, name };
  const base = `${vmAPI}/namespaces/${namespace}`;
  const actions = h('div', { class: 'actions' });
  const title = h('div', { class: 'title' });
  const left = h('div');
  const right = h('div');
  const eventPart = h('div');

  const buttons = Object.fromEntries(Object.entries(verbs).map(([verb, { label }]) => [verb, button(`${label}…`, () => power(verb, [target]), { class: verb === 'start' ? 'primary' : 'plain' })]));
  const refreshes = { instancetype: button('Refresh instance type…', () => refresh(target, 'instancetype'), { class: 'plain' }),
    preference: button('Refresh preference…', () => refresh(target, 'preference'), { class: 'plain' }) };
  const consoleButton = button('Console…', () => consoleOf(target), { class: 'plain' });
  replace(actions, Object.values(buttons), consoleButton, Object.values(refreshes));
  replace(main, h('div', { class: 'vmhead' }, h('a', { href: '#/', class: 'back' }, '← Virtual machines'), title, actions), h('div', { class: 'columns' }, left, right));
  main.className = 'vm';

  function draw() {
    const { status: t = {}, metadata: m } = vm ?? { metadata: {} };
    if (!vm) {
      replace(title, h('h1', null, name), chip('off', gone ? 'does not exist' : 'reading'), h('span', { class: 'dim' }, namespace));
    } else {
      const status = gone ? 'Deleted' : t.printableStatus || (m.deletionTimestamp ? 'Deleting' : t.phase) || 'Pending';
      const ready = t.conditions?.find((c) => c.type === 'Ready')?.status;
      replace(title, h('h1', null, name), chip(gone ? 'off' : toneOf(status, ready), status),
        h('span', { class: 'dim' }, [namespace, t.powerState, t.instancetypeRef?.name ?? t.class?.name, size(t.resources), t.zone].filter(Boolean).join(' · ')));
    }
    const usable = vm && !gone && !m.deletionTimestamp;
    for (const [verb, b] of Object.entries(buttons)) b.disabled = !usable || !possible(verb, t.powerState);
    consoleButton.disabled = !usable || t.powerState !== 'PoweredOn';
    for (const kind of ['instancetype', 'preference']) {
      refreshes[kind].hidden = !vm?.spec[kind] && !t[`${kind}Ref`];
      refreshes[kind].disabled = !usable;
      refreshes[kind].className = t[`${kind}Ref`]?.outdated ? 'primary' : 'plain';
    }
    if (!vm) return;
    const expanded = right.querySelector('details')?.open;
    replace(left, gone ? h('p', { class: 'note warn' }, 'It was deleted. This is how it was last.') : waiting(vm), desired(vm, instance), eventPart);
    replace(right, identity(vm), timeline(vm));
    if (expanded) right.querySelector('details').open = true;
    const inner = left.querySelector('details');
    if (inner) {
      inner.open = draw.open;
      inner.addEventListener('toggle', () => { draw.open = inner.open; });
    }
  }
  const drawEvents = () => replace(eventPart, eventList(events, eventsError));

  // A list with at most one item, so that a missing object is no error.
  const readInstance = async () => {
    try {
      return (await listAll(`${base}/virtualmachineinstances`, { fieldSelector: `metadata.name=${name}` }))[0];
    } catch (error) {
      if (error.code === 403) return undefined;
      throw error;
    }
  };
  const stops = [];
  const instances = poll(10_000, readInstance, (got) => { if (got?.metadata.resourceVersion !== instance?.metadata.resourceVersion) { instance = got; draw(); } }, () => {});
  stops.push(instances, poll(5_000, () => listAll(`${coreAPI}/namespaces/${namespace}/events`, { fieldSelector: `involvedObject.kind=VirtualMachine,involvedObject.name=${name}` }),
    (got) => { events = got.filter((e) => !vm || e.involvedObject.uid === vm.metadata.uid); eventsError = undefined; drawEvents(); }, (error) => { eventsError = error; drawEvents(); }));
  stops.push(follow({
    path: `${base}/virtualmachines`, parameters: { fieldSelector: `metadata.name=${name}` }, itemsOf: (a) => a.items, versionOf: (o) => o.metadata?.resourceVersion,
    reset: ([first]) => { gone = !first; vm = first ?? vm; draw(); instances.now(); },
    change: (type, o) => { gone = type === 'DELETED'; vm = o; draw(); instances.now(); },
    tell,
  }));
  stops.push(((timer) => () => clearInterval(timer))(setInterval(() => { if (vm && !main.contains(document.activeElement?.closest('details'))) draw(); }, 10_000)));
  draw();
  drawEvents();
  return { escape: () => { location.hash = '#/'; }, close: () => stops.forEach((stop) => stop()) };
}
