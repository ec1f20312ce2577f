// Wheel, drag and keys of the timeline.
import { describe, markAt, markText, redraw, timeOf } from "./draw.js";
import { goTo, seekHit, stopSeeking } from "./hits.js";
import { describeSched } from "./lanes.js";
import { isInView, pick } from "./pick.js";
import { change, show, showAll, state } from "./state.js";
import { fetchSoon, HEAD, layOut, layout, ROW, sliceAt } from "./timeline.js";
import { waitOf } from "./waits.js";

const canvas = document.getElementById("canvas");
const scroll = document.getElementById("scroll");
const status = document.getElementById("status");

export function zoom(factor, around = (state.from + state.to) / 2) {
  show(around - (around - state.from) * factor, around + (state.to - around) * factor);
}

export function move(share) {
  const by = (state.to - state.from) * share;
  show(state.from + by, state.to + by);
}

function under(event) {
  const box = canvas.getBoundingClientRect();
  return at(event.clientX - box.left, event.clientY - box.top + scroll.scrollTop);
}

function underFlag(event) {
  const box = canvas.getBoundingClientRect(), y = event.clientY - box.top + scroll.scrollTop;
  const lane = layout.threads.find((each) => y >= each.top && y < each.top + each.height);
  return lane && markAt(lane, event.clientX - box.left, y - lane.top);
}

function underStrip(event) {
  const box = canvas.getBoundingClientRect(), y = event.clientY - box.top + scroll.scrollTop;
  const lane = layout.threads.find((each) => y >= each.top && y < each.top + each.height);
  return lane ? describeSched(lane, y, timeOf(event.clientX - box.left), (state.to - state.from) / canvas.clientWidth * 2) : null;
}

function at(x, y) {
  const lane = layout.threads.find((each) => y >= each.top && y < each.top + each.height);
  if (!lane || y < lane.top + HEAD) return null;
  return sliceAt(lane, Math.floor((y - lane.top - HEAD) / ROW), timeOf(x), (state.to - state.from) / canvas.clientWidth * 3);
}

// The innermost call of a lane at a time, or the nearest to it in view.
function pickIn(lane, ns) {
  for (const slack of [0, (state.to - state.from) / 20, Infinity]) {
    for (let depth = lane.rows - 1; depth >= 0; depth--) {
      const found = sliceAt(lane, depth, ns, slack);
      if (found) return pick(found.thread, found.slice[7]);
    }
  }
  return undefined;
}

const pickedLane = () => layout.threads.findIndex((each) => each.index === state.picked?.thread);

// At the middle of the first thread in view.
function pickMiddle() {
  const lane = layout.threads.find((each) => each.top + each.height > scroll.scrollTop + HEAD);
  return lane && pickIn(lane, (state.from + state.to) / 2);
}

// What the next thread that has calls in view was in at the time of the call picked; step -1: the previous one.
function pickBeside(step) {
  const now = pickedLane();
  if (now < 0) {
    pickMiddle();
    return;
  }
  const { at, duration_ns: lasted = 0 } = state.picked, ns = (Math.max(at, state.from) + Math.min(at + lasted, state.to)) / 2;
  for (let number = now + step; layout.threads[number]; number += step)
    if (pickIn(layout.threads[number], isInView(state.picked) ? ns : (state.from + state.to) / 2)) return;
  status.textContent = `No ${step > 0 ? "further thread" : "thread before it"} has a call in view.`;
}

export function nextWindow(step) {
  const windows = state.session.windows, middle = (state.from + state.to) / 2;
  const centre = (window) => (window.from + (window.to ?? state.session.end)) / 2;
  const order = [...windows].sort((a, b) => centre(a) - centre(b));
  const slack = (state.to - state.from) * 1e-3;
  const found = step > 0 ? order.find((window) => centre(window) > middle + slack) :
    order.reverse().find((window) => centre(window) < middle - slack);
  if (found) showWindow(found);
}

export function showWindow(window) {
  const end = window.to ?? state.session.end, room = Math.max(end - window.from, 100) * 0.15;
  show(window.from - room, end + room);
}

function go(where) {
  if (state.picked?.call?.[where]) goTo(where);
  else status.textContent = state.picked ? `This call has no ${where} recorded.` : "Pick a call first: Enter, or a click.";
}

function goToEnder() {
  const wait = state.picked && waitOf(state.picked.thread, state.picked.seq);
  if (wait && wait.by >= 0) pick(wait.by, wait.ended_by_seq);
  else status.textContent = "No wait is picked whose end is known.";
}

const KEYS = {
  w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => move(-0.15), d: () => move(0.15), Home: showAll,
  ArrowUp: () => go("caller"), ArrowDown: () => go("callee"), ArrowLeft: () => go("previous"), ArrowRight: () => go("next"),
  Enter: pickMiddle, f: () => state.picked && pick(state.picked.thread, state.picked.seq, "fit"),
  j: () => pickBeside(1), k: () => pickBeside(-1), e: goToEnder, "[": () => nextWindow(-1), "]": () => nextWindow(1),
};
const ANYWHERE = {
  "/": () => document.getElementById("find").focus(),
  "?": () => document.getElementById("keys").showModal(), n: () => seekHit(1), N: () => seekHit(-1), Escape: stopSeeking,
  1: () => change({ tab: "call" }), 2: () => change({ tab: "found" }), 3: () => change({ tab: "flame" }),
  4: () => change({ tab: "report" }), 5: () => change({ tab: "narrative" }),
};

function onKey(event) {
  const own = event.target.closest?.("input, select, textarea, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || own || !state.session) return;
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key, key = letter === "n" && event.shiftKey ? "N" : letter;
  const letters = /^[wasdefjk[\]]$/.test(key) || key === "Home";
  const action = ANYWHERE[key] ?? (event.target === canvas || letters ? KEYS[key] : undefined);
  if (!action || (event.target.closest?.("[role=tab]") && key === "Home")) return; // that is the first tab's
  if (key !== "Escape") event.preventDefault(); // what it closes by itself stays so
  action();
}

function onWheel(event) {
  if (event.ctrlKey || !event.shiftKey) {
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.002))), timeOf(event.clientX - box.left));
  } else {
    move((event.deltaX || event.deltaY) / canvas.clientWidth);
  }
  event.preventDefault();
}

let drag = null;

function onDown(event) {
  drag = { x: event.clientX, y: event.clientY, from: state.from, to: state.to, top: scroll.scrollTop, moved: false };
  canvas.setPointerCapture(event.pointerId);
  canvas.focus({ preventScroll: true });
}

function onMove(event) {
  if (!drag) {
    const found = under(event), mark = underFlag(event);
    status.textContent = mark ? markText(mark) : found ? describe(found.slice) : underStrip(event) ?? "";
    return;
  }
  const by = (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from);
  drag.moved ||= Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) > 3;
  if (!drag.moved) return;
  show(drag.from + by, drag.to + by);
  scroll.scrollTop = drag.top + drag.y - event.clientY;
}

function onUp(event) {
  const clicked = drag && !drag.moved, mark = clicked && underFlag(event), found = clicked && under(event);
  drag = null;
  if (mark?.seq !== undefined) pick(mark.thread, mark.seq);
  else if (found) pick(found.thread, found.slice[7]);
}

export function listenToInput() {
  document.addEventListener("keydown", onKey);
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("pointerdown", onDown);
  canvas.addEventListener("pointermove", onMove);
  canvas.addEventListener("pointerup", onUp);
  canvas.addEventListener("pointercancel", () => { drag = null; });
  scroll.addEventListener("scroll", fetchSoon);
  new ResizeObserver(() => {
    if (!state.session) return;
    layOut();
    redraw();
    fetchSoon();
  }).observe(scroll);
}
