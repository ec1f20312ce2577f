// The next and the previous call of what is searched for, wherever it is. The server looks for a moment each time and says how far it came;
// so the page asks on, and tells how far that is, until there is one or it is stopped.
import { ask, latest } from "./api.js";
import { count, duration, time } from "./format.js";
import { shortName } from "./names.js";
import { isInView, pick } from "./pick.js";
import { listen, state } from "./state.js";

const TELL = 1000; // ms

const byId = (id) => document.getElementById(id);
let stopped = null; // a search that was stopped, and where it goes on: { of, at }
let running = null; // the one that goes on, likewise

function tell(text) {
  byId("status").textContent = text;
}

// Behind the call that is picked where that is in view, or where its neighbours are wanted; else from the view's edge on.
function begin(step, only) {
  const { picked } = state;
  if (picked && (only !== undefined || isInView(picked))) return { time: picked.at, thread: picked.thread, seq: picked.seq };
  return { time: Math.max(0, step > 0 ? Math.floor(state.from) : Math.ceil(state.to)) };
}

const sideOf = (step) => (step > 0 ? "after" : "before");
const named = (find) => `'${find.replace(/^=/, "")}'`;

function tellStopped({ find, step, from, at }) {
  tell(`Stopped. No call of ${named(find)} in the ${duration(Math.abs(at.time - from))} ${sideOf(step)} ${time(from)}. Asked again, it goes on from there.`);
}

// `only`: of that thread, where the calls of one function are gone through.
const seek = latest(async (signal, step, find, only) => {
  const first = begin(step, only), of = JSON.stringify([step, find, only, first]);
  running = { of, find, step, from: first.time, at: stopped?.of === of ? stopped.at : first };
  stopped = null;
  let told = performance.now();
  for (;;) {
    const answer = await ask("hit", { function: find, step, ...running.at, only }, signal);
    if (signal.aborted) return;
    if (answer.looked === undefined) {
      const { from } = running;
      running = null;
      if (!answer.hit) tell(`No call of ${named(find)} ${sideOf(step)} ${time(from)}${step > 0 && state.session.live ? " so far" : ""}.`);
      else if (await pick(answer.hit.thread, answer.hit.seq)) tellHit(answer.hit);
      return;
    }
    running.at = { time: answer.looked };
    if (performance.now() - told < TELL) continue;
    told = performance.now();
    tell(`No call of ${named(find)} in the ${duration(Math.abs(answer.looked - running.from))} looked through: looking on. Escape stops.`);
  }
}, (error) => {
  running = null;
  tell(error.message);
});

function tellHit({ function: [name], thread, at }) {
  const calls = state.picked.call.usual?.calls;
  tell(`${shortName(name)} at ${time(at)} in ${state.session.threads[thread].called}${calls ? `, one of ${count(calls)} calls` : ""}`);
}

export function seekHit(step, find = state.find, only = undefined) {
  if (find) {
    seek(step, find, only);
    return;
  }
  tell("Type the name of a function to find first.");
  byId("find").focus();
}

// From the call that is picked to its caller, callee, previous or next call. A neighbour that is far wasn't looked for yet.
export function goTo(where) {
  const { thread, call } = state.picked;
  if (call[where].seq !== undefined) pick(thread, call[where].seq);
  else seekHit(where === "next" ? 1 : -1, `=${call.function[0]}`, thread);
}

export function stopSeeking() {
  if (!running) return;
  seek.stop();
  tellStopped(running);
  stopped = running;
  running = null;
}

export function listenToHits() {
  byId("hit-previous").addEventListener("click", () => seekHit(-1));
  byId("hit-next").addEventListener("click", () => seekHit(1));
}

listen((names) => {
  if (names.has("picked") || names.has("find")) {
    if (running) seek.stop();
    running = stopped = null;
  }
  if (names.has("find")) for (const id of ["hit-previous", "hit-next"]) byId(id).disabled = !state.find;
});
