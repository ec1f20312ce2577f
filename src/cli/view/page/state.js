// What is shown: the range of time, the call picked, the function searched for, the tab. The address holds all of it.

export const state = {
  session: null, // as the server tells it
  from: 0, to: 1,
  picked: null, // { thread, seq }
  find: "",
  of: "", // what flame graph, report and narrative are of: a window's number; "": the visible range
  tab: "call",
};

// Threads that were never named all have their program's name. Their numbers, by which commands and citations call them, tell them apart;
// those of several processes their tids.
export function nameThreads(threads) {
  const alike = Map.groupBy(threads, ({ name }) => name);
  for (const [name, them] of alike) {
    const isOfOne = them.every(({ process }) => process === them[0].process);
    for (const thread of them) {
      const number = isOfOne ? `thread ${thread.number}` : `tid ${thread.tid}`;
      thread.called = !name ? number : them.length === 1 ? name : `${number}: ${name}`;
    }
  }
}

const listeners = [];

// Called with the set of names that changed.
export function listen(listener) {
  listeners.push(listener);
}

const REST = 1000; // ms: what moves again after so long is another view to come back to
let isJump = false, isAlong = false, writtenAt = 0;
let addressTimer = 0, isAddressRead = false; // until then the address is who opened the page's, and no range is known

function addressWrite() {
  const fields = new URLSearchParams({ from: Math.round(state.from), to: Math.round(state.to), tab: state.tab });
  if (state.picked) {
    fields.set("thread", state.picked.thread);
    fields.set("seq", state.picked.seq);
  }
  if (state.find) fields.set("find", state.find);
  if (state.of) fields.set("of", state.of);
  const hash = `#${fields}`, now = performance.now();
  if (hash !== location.hash) {
    if (!isAlong && (isJump || now - writtenAt > REST)) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }
  isJump = isAlong = false;
  writtenAt = now;
}

// The next view is one to come back to by Back, though the last one was only just there; or, with `along`, no other view than that.
export function jump() {
  isJump = true;
}

export function along() {
  isAlong = true;
}

export function change(changes) {
  const names = new Set(Object.keys(changes).filter((name) => state[name] !== changes[name]));
  Object.assign(state, changes);
  if (!names.size) return;
  for (const listener of listeners) listener(names);
  clearTimeout(addressTimer);
  if (!isAddressRead) return;
  addressTimer = setTimeout(addressWrite, 150);
}

// Keeps a range in the session, and at least 100 ns long.
export function show(from, to) {
  if (!state.session) return;
  const end = Math.max(state.session.end, 100);
  const span = Math.min(Math.max(to - from, 100), end * 1.04);
  const start = Math.min(Math.max((from + to - span) / 2, -end * 0.02), end * 1.02 - span);
  change({ from: start, to: start + span });
}

export function showAll() {
  if (!state.session) return;
  const { from, to } = state.session.range ?? { from: 0, to: state.session.end }; // of a page in a file
  show(from - (to - from) * 0.01, to + (to - from) * 0.01);
}

export function addressRead() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (fields.has(name) && Number.isFinite(Number(fields.get(name))) ? Number(fields.get(name)) : null);
  isAddressRead = true;
  along();
  const changes = { picked: null, tab: fields.get("tab") ?? state.tab, find: fields.get("find") ?? "",
    of: state.session.windows[Number(fields.get("of") ?? "none")] ? fields.get("of") : "" };
  if (number("thread") !== null && number("seq") !== null) changes.picked = { thread: number("thread"), seq: number("seq") };
  if (number("from") !== null && number("to") > number("from")) show(number("from"), number("to"));
  else showAll();
  change(changes);
}
