// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Confirmation dialogs and notifications.

import { h, button, chip, table } from './dom.js';
import { post, vmAPI } from './api.js';

// toast shows a notification for some time, failures longer.
export function toast(tone, text) {
  const e = h('div', { class: `toast ${tone}` }, chip(tone, tone === 'bad' ? 'Failed' : 'Done'), h('span', null, text),
    button('×', () => e.remove(), { class: 'quiet', 'aria-label': 'Dismiss' }));
  document.getElementById('toasts').append(e);
  setTimeout(() => e.remove(), tone === 'bad' ? 15_000 : 5_000);
}

// open shows a dialog; close(value) of the body's maker ends it, Escape with undefined. There is one at a time.
export function open(title, make) {
  if (document.querySelector('dialog[open]')) return Promise.resolve();
  return new Promise((done) => {
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' });
    const close = (value) => { dialog.returned = value; dialog.close(); };
    dialog.append(h('h2', { id: 'dialog-title' }, title), ...make(close, dialog));
    dialog.addEventListener('close', () => { dialog.remove(); done(dialog.returned); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const cancelAnd = (close, ...actions) => h('div', { class: 'actions' }, button('Cancel', () => close(), { class: 'plain', autofocus: true }), ...actions);

// Power verbs.
export const verbs = {
  start: { label: 'Start', done: 'will be powered on' },
  stop: { label: 'Stop', done: 'will be powered off', modes: 'powerOffMode' },
  restart: { label: 'Restart', done: 'will be restarted', modes: 'restartMode' },
  suspend: { label: 'Suspend', done: 'will be suspended', modes: 'suspendMode' },
};

// possible reports whether a verb applies to a power state.
export const possible = (verb, power) => ({ start: power !== 'PoweredOn', stop: power !== 'PoweredOff', restart: power === 'PoweredOn', suspend: power === 'PoweredOn' })[verb];

const shown = 12; // maximum number of names in a dialog
const typedAbove = 20; // for more virtual machines, their number must be typed

function question(verb, targets) {
  const { label, modes } = verbs[verb];
  const what = targets.length === 1 ? targets[0].name : `${targets.length} virtual machines`;
  return open(`${label} ${what}?`, (close) => {
    const mode = modes && h('select', { id: 'mode' },
      h('option', { value: '' }, 'setting of each virtual machine'), ['Soft', 'TrySoft', 'Hard'].map((m) => h('option', { value: m }, m)));
    const go = button(label, () => close({ mode: mode?.value || undefined }), { class: verb === 'start' ? 'primary' : 'danger', disabled: targets.length > typedAbove });
    const typed = targets.length > typedAbove && h('input', { type: 'text', inputmode: 'numeric', autocomplete: 'off', id: 'typed', oninput: () => { go.disabled = typed.value.trim() !== String(targets.length); } });
    return [
      h('ul', { class: 'names' }, targets.slice(0, shown).map((t) => h('li', null, h('span', { class: 'dim' }, `${t.namespace}/`), t.name)),
        targets.length > shown && h('li', { class: 'dim' }, `and ${targets.length - shown} more`)),
      mode && h('label', { class: 'field' }, 'Mode', mode),
      modes && h('p', { class: 'dim' }, 'Soft waits for the guest, TrySoft continues without it after a timeout, Hard does not involve the guest.'),
      typed && h('label', { class: 'field' }, `Type ${targets.length} to confirm`, typed),
      cancelAnd(close, go),
    ].filter(Boolean);
  });
}

const atOnce = 4; // requests that run at the same time

// power asks for confirmation, calls the verb for each target, and shows the number of successful requests.
export async function power(verb, targets) {
  const answer = await question(verb, targets);
  if (!answer) return 0;
  const failures = [];
  const left = [...targets];
  const one = async () => {
    for (let t = left.shift(); t; t = left.shift()) {
      try {
        await post(`${vmAPI}/namespaces/${t.namespace}/virtualmachines/${t.name}/${verb}`,
          { apiVersion: 'vm.slipway.dev/v1alpha1', kind: 'PowerOptions', ...(answer.mode && { mode: answer.mode }) });
      } catch (error) {
        failures.push(`${t.namespace}/${t.name}: ${error.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const asked = targets.length - failures.length;
  if (asked) toast('ok', `${asked === 1 && targets.length === 1 ? targets[0].name : asked} ${verbs[verb].done}`);
  for (const f of failures.slice(0, 3)) toast('bad', f);
  if (failures.length > 3) toast('bad', `and ${failures.length - 3} more`);
  return asked;
}

const effects = { Live: ['ok', 'immediately'], Restart: ['warn', 'with the next power cycle'], None: ['off', 'not for an existing VM'] };
const call = (target, kind, dry) => post(`${vmAPI}/namespaces/${target.namespace}/virtualmachines/${target.name}/refresh-${kind}`,
  { apiVersion: 'vm.slipway.dev/v1alpha1', kind: 'RefreshOptions', ...(dry && { dryRun: ['All'] }) }, dry ? '?dryRun=All' : '');

function preview(plan, words) {
  const moves = plan.oldSourceName && plan.oldSourceName !== plan.sourceName;
  return [
    h('p', null, words[0].toUpperCase() + words.slice(1), ' ', h('b', null, moves ? `${plan.oldSourceName} → ${plan.sourceName}` : plan.sourceName),
      plan.oldGeneration && !moves && plan.oldGeneration !== plan.newGeneration ? `, generation ${plan.oldGeneration} → ${plan.newGeneration}` : `, generation ${plan.newGeneration ?? '–'}`),
    table('What changes', ['Field', 'Now', 'Then', 'Takes effect'], (plan.fields ?? []).map((f) => [
      h('code', null, f.path), f.old || h('span', { class: 'dim' }, 'unset'), h('b', null, f.new || 'unset'), chip(...(effects[f.effect] ?? ['off', f.effect]))]),
    plan.changed ? 'A newer revision is pinned; the virtual machine does not change.' : 'Up to date: nothing to refresh.'),
    plan.specPinCleared && h('p', { class: 'note warn' }, 'The spec pins a revision, which the refresh removes. A GitOps source that contains the pin would restore it.'),
  ].filter(Boolean);
}

// refresh shows what a refresh of kind (instancetype or preference) would change, and applies it after confirmation.
export async function refresh(target, kind) {
  const words = kind === 'instancetype' ? 'instance type' : 'preference';
  let plan;
  try {
    plan = await call(target, kind, true);
  } catch (error) {
    toast('bad', `${target.name}: ${error.message}`);
    return;
  }
  const go = await open(`Refresh the ${words} of ${target.name}`, (close) => [
    ...preview(plan, words),
    cancelAnd(close, plan.changed && button('Refresh', () => close(true), { class: 'primary' })),
  ]);
  if (!go) return;
  try {
    await call(target, kind, false);
    toast('ok', `${words} of ${target.name} refreshed`);
  } catch (error) {
    toast('bad', `${target.name}: ${error.message}`);
  }
}

const link = (url) => (/^vmrc:/.test(url ?? '') ? h('a', { href: url, class: 'link' }, url) : h('code', null, url || 'unknown'));

// ticket is what virtctl console prints.
function ticket(s) {
  const copied = h('span', { class: 'dim', role: 'status' });
  const copy = button('Copy the URL', () => navigator.clipboard.writeText(s.url).then(() => { copied.textContent = 'Copied'; }, () => { copied.textContent = 'Select it to copy'; }), { class: 'plain', autofocus: true });
  return [
    h('p', null, 'A ticket for ', h('b', null, 'one connection'), ' to keyboard and screen, until ', h('b', null, new Date(s.expirationTimestamp).toLocaleString()),
      ' at the latest; some products end it after 30 seconds. It grants access to the console: treat it as a password.'),
    h('dl', { class: 'facts' }, h('dt', null, 'WebSocket'), h('dd', null, h('code', { id: 'console-url' }, s.url)),
      h('dt', null, 'Thumbprint'), h('dd', null, h('code', null, s.sslThumbprintSHA256 || s.sslThumbprint || 'unknown'), h('span', { class: 'dim' }, ` of the certificate of ${s.host}`)),
      h('dt', null, 'VMRC'), h('dd', null, link(s.remoteConsoleURL), h('span', { class: 'dim' }, ' with a vCenter account'))),
    h('p', { class: 'dim' }, 'The URL is for a WebMKS client (RFB over a WebSocket) on a machine that can reach the host. This page is not such a client.'), copy, copied];
}

// consoleOf requests a console ticket for a running virtual machine and shows it.
export async function consoleOf(target) {
  let made;
  try {
    made = await post(`${vmAPI}/namespaces/${target.namespace}/virtualmachines/${target.name}/console`, { apiVersion: 'vm.slipway.dev/v1alpha1', kind: 'VirtualMachineConsole' });
  } catch (error) {
    toast('bad', `${target.name}: ${error.message}`);
    return;
  }
  const [words, facts, hint, copy, copied] = ticket(made.status ?? {});
  await open(`Console of ${target.name}`, (close) => [words, facts, hint,
    h('div', { class: 'actions' }, copied, button('Close', () => close(), { class: 'plain' }), copy)]);
}

// help lists the keyboard shortcuts.
export function help(keys) {
  return open('Keyboard', (close) => [
    h('dl', { class: 'keys' }, keys.map(([key, what]) => [h('dt', null, h('kbd', null, key)), h('dd', null, what)])),
    h('div', { class: 'actions' }, button('Close', () => close(), { class: 'plain', autofocus: true })),
  ]);
}
