// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// The way to the API server: requests, lists, watches that go on by themselves, and polls.

const tokenHeader = 'Slipway-Dashboard-Token';
const kept = 'slipway-dashboard-token';

// The token comes in the fragment, which is sent to nobody, and is kept for this origin: port included.
const given = /^#token=([A-Za-z0-9]+)$/.exec(location.hash);
if (given) {
  localStorage.setItem(kept, given[1]);
  history.replaceState(null, '', '#/');
}
// The URL of another run at the same port changes no more than that in a page that is open.
addEventListener('hashchange', () => { if (location.hash.startsWith('#token=')) location.reload(); });

export const vmAPI = '/k8s/apis/vm.slipway.dev/v1alpha1';
export const coreAPI = '/k8s/api/v1';
export const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

// Refusal is an answer that is no success, with its code.
export class Refusal extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

// request asks, and returns the answer if it is a success.
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
    throw new Refusal(0, 'virtctl does not answer: has it ended?');
  }
  if (response.ok) return response;
  let message = response.statusText;
  try { message = (await response.json()).message || message; } catch { /* the code says enough */ }
  throw new Refusal(response.status, message);
}

// get reads JSON.
export const get = async (path, options) => (await request(path, options)).json();

// post calls an endpoint.
export const post = async (path, body, query = '') => (await request(path + query, { method: 'POST', body })).json();

const withQuery = (path, parameters) => `${path}?${new URLSearchParams(parameters)}`;

// lines reads a stream of JSON, one object a line. What stays silent for longer than idle is broken off.
async function* lines(response, abort, idle) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let timer;
  const arm = () => { clearTimeout(timer); timer = setTimeout(() => abort.abort(), idle); };
  try {
    for (;;) {
      arm();
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split('\n');
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

const pageSize = 500; // objects in one answer to a list
const silence = 180_000; // bookmarks come every minute
const shortest = 1_000; // a watch that ended before has failed
const longest = 30_000; // between two tries
const unseen = 5_000; // a page that is not looked at gives its connections up after that: there are six

// looked ends when the page is looked at.
function looked() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => document.addEventListener('visibilitychange', () => looked().then(done), { once: true }));
}

// follow keeps a list current: reset(items, answer) with all of it, then change(type, object, event) for
// each event, until the function that it returns is called. tell(state) hears how live it is.
export function follow({ path, parameters = {}, accept, itemsOf, versionOf, reset, change, tell }) {
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

  async function list() {
    const all = [];
    let next = '';
    let answer;
    do {
      answer = await get(withQuery(path, { ...parameters, limit: pageSize, ...(next && { continue: next }) }), { accept, signal: abort.signal });
      all.push(...itemsOf(answer));
      if (all.length > pageSize) tell({ live: false, words: `reading, ${all.length}` });
      next = answer.metadata.continue;
    } while (next);
    reset(all, answer);
    return answer.metadata.resourceVersion;
  }

  async function watch(version) {
    const begun = performance.now();
    const response = await request(withQuery(path, { ...parameters, watch: 1, allowWatchBookmarks: true, resourceVersion: version }), { accept, signal: abort.signal });
    tell({ live: true });
    for await (const event of lines(response, abort, silence)) {
      if (event.type === 'ERROR') throw new Refusal(event.object.code ?? 500, event.object.message ?? 'the watch failed');
      version = versionOf(event.object) || version;
      heard(version);
      if (event.type !== 'BOOKMARK') change(event.type, event.object);
    }
    if (performance.now() - begun < shortest) throw new Refusal(0, 'the watch ended at once');
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
        await watch(version);
      } catch (error) {
        if (stopped) return;
        if (abort.signal.aborted) continue; // hidden, or silent
        if (error.code === 410) version = ''; // what happened since is not kept: read it all
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

// listAll reads a list that is short enough to be read whole.
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
