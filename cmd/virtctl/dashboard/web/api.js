// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Access to the API server: requests, lists, watches with reconnection, and polls.

const tokenHeader = 'Slipway-Dashboard-Token';
const kept = 'slipway-dashboard-token';

// The token is in the URL fragment, which browsers do not send. It is stored for this origin, which includes the port.
const given = /^#token=([A-Za-z0-9]+)$/.exec(location.hash);
if (given) {
  localStorage.setItem(kept, given[1]);
  history.replaceState(null, '', '#/');
}
// In an open page, the URL of another run on the same port changes only the fragment.
addEventListener('hashchange', () => { if (location.hash.startsWith('#token=')) location.reload(); });

export const vmAPI = '/k8s/apis/vm.slipway.dev/v1alpha1';
export const coreAPI = '/k8s/api/v1';
export const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

// Refusal is an unsuccessful response with its status code.
export class Refusal extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

// request sends a request and returns a successful response.
async function request(path, { method = 'GET', body, accept = 'application/json', signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method, signal, cache: 'no-store', credentials: 'omit', redirect: 'error',
      headers: { Accept: accept, [tokenHeader]: localStorage.getItem(kept) ?? '', ...(body && { 'Content-Type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, 'virtctl does not respond; check that it is running');
  }
  if (response.ok) return response;
  let message = response.statusText;
  try { message = (await response.json()).message || message; } catch { /* the status code is enough */ }
  throw new Refusal(response.status, message);
}

// get requests JSON.
export const get = async (path, options) => (await request(path, options)).json();

// post calls a subresource.
export const post = async (path, body, query = '') => (await request(path + query, { method: 'POST', body })).json();

const withQuery = (path, parameters) => `${path}?${new URLSearchParams(parameters)}`;

// lines reads a stream of JSON, one object per line. It aborts after idle milliseconds without data.
async function* lines(response, abort, idle, heard) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let timer;
  const arm = () => { clearTimeout(timer); timer = setTimeout(() => abort.abort(), idle); };
  try {
    for (;;) {
      arm();
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const parts = (rest + value).split('\n');
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

const pageSize = 500; // page size of lists
const silence = 180_000; // bookmarks arrive every minute
const shortest = 1_000; // a shorter watch has failed
const longest = 30_000; // maximum delay between two attempts
const probed = 5_000; // a watch that is silent for this time is probed
const stale = 10_000; // without an answer for this time, a list is not live
const unseen = 5_000; // a hidden page closes its connections after this time, because browsers allow six per host

// looked resolves when the page is visible.
function looked() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => document.addEventListener('visibilitychange', () => looked().then(done), { once: true }));
}

// follow keeps a list current: reset(items, answer) with all of it, then change(type, object, event) for
// each event, until the function that it returns is called. tell(state) receives the state of the connection. With
// pulse, the state ends to be live when the API server has not answered for ten seconds.
export function follow({ path, parameters = {}, accept, itemsOf, versionOf, reset, change, tell: report, pulse }) {
  let stopped = false;
  let abort = new AbortController();
  let wake = () => {};
  let hiding;
  const hidden = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => abort.abort(), unseen);
    else wake();
  };
  document.addEventListener('visibilitychange', hidden);

  let answered = performance.now();
  let watching = false;
  let live = false;
  const tell = (state) => { live = !!state.live; report(state); };
  let late = false;
  let probing = false;
  const answer = () => {
    answered = performance.now();
    if (!late) return;
    late = false;
    if (watching) tell({ live: true });
  };
  const beat = async () => {
    if (!live && !late || document.hidden) return;
    const quiet = performance.now() - answered;
    if (quiet >= stale && !late) {
      late = true;
      tell({ live: false, words: 'no answer from the API server' });
    }
    if (quiet < probed || probing) return;
    probing = true;
    try {
      await get(withQuery(path, { ...parameters, limit: 1 }), { accept, signal: AbortSignal.timeout(stale) });
      answer();
    } catch { /* the watch reports errors */ }
    probing = false;
  };
  const beats = pulse && setInterval(beat, 1_000);

  async function list() {
    const all = [];
    let next = '';
    let part;
    do {
      part = await get(withQuery(path, { ...parameters, limit: pageSize, ...(next && { continue: next }) }), { accept, signal: abort.signal });
      all.push(...itemsOf(part));
      if (all.length > pageSize) tell({ live: false, words: `reading, ${all.length}` });
      next = part.metadata.continue;
    } while (next);
    reset(all, part);
    return part.metadata.resourceVersion;
  }

  async function watch(version) {
    const begun = performance.now();
    const response = await request(withQuery(path, { ...parameters, watch: 1, allowWatchBookmarks: true, resourceVersion: version }), { accept, signal: abort.signal });
    answer();
    watching = true;
    tell({ live: true });
    for await (const event of lines(response, abort, silence, answer)) {
      if (event.type === 'ERROR') throw new Refusal(event.object.code ?? 500, event.object.message ?? 'the watch failed');
      version = versionOf(event.object) || version;
      heard(version);
      if (event.type !== 'BOOKMARK') change(event.type, event.object);
    }
    if (performance.now() - begun < shortest) throw new Refusal(0, 'the watch ended immediately');
  }

  let version = '';
  const heard = (v) => { version = v; failures = 0; };
  let failures = 0;
  async function run() {
    while (!stopped) {
      if (document.hidden) {
        tell({ live: false, words: 'paused while the page is hidden' });
        await looked();
      }
      if (abort.signal.aborted) abort = new AbortController();
      try {
        if (!version) {
          tell({ live: false, words: 'reading' });
          version = await list();
        }
        try {
          await watch(version);
        } finally {
          watching = false;
          late = false;
        }
      } catch (error) {
        if (stopped) return;
        if (abort.signal.aborted) continue; // hidden or idle
        if (error.code === 410) version = ''; // the version has expired: list again
        const pause = error.code === 410 && failures === 0 ? 0 : Math.min(longest, 500 * 2 ** failures) * (0.75 + Math.random() / 2);
        failures++;
        tell({ live: false, error, until: Date.now() + pause, retry: () => wake() });
        await new Promise((done) => { wake = done; setTimeout(done, pause); });
      }
    }
  }
  run();
  return () => {
    stopped = true;
    clearInterval(beats);
    document.removeEventListener('visibilitychange', hidden);
    abort.abort();
    wake();
  };
}

// poll calls read every so often while the page is looked at, and tells what came of it. It returns
// what ends it, with which the next reading can be asked for at once.
export function poll(milliseconds, read, done, failed) {
  let stopped = false;
  let wake = () => {};
  (async () => {
    while (!stopped) {
      await looked();
      try {
        const got = await read();
        if (!stopped) done(got);
      } catch (error) {
        if (!stopped) failed(error);
      }
      await new Promise((end) => { wake = end; setTimeout(end, milliseconds); });
    }
  })();
  const stop = () => { stopped = true; wake(); };
  stop.now = () => wake();
  return stop;
}

// listAll reads a short list in one request.
export async function listAll(path, parameters = {}) {
  const all = [];
  let next = '';
  do {
    const answer = await get(withQuery(path, { ...parameters, limit: pageSize, ...(next && { continue: next }) }));
    all.push(...answer.items);
    next = answer.metadata.continue;
  } while (next);
  return all;
}
