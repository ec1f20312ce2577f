// Which threads lie where, and the pictures of them: asked for when the view has changed, and drawn meanwhile from the last answer.
import { ask, latest } from "./api.js";
import { isOfSeveral, threadText } from "./cite.js";
import { count, element } from "./format.js";
import { listen, state } from "./state.js";

export const ROW = 18, HEAD = 20, STRIP = 11, GUTTER = 170; // a lane: its head, rows of calls, the strip of its CPU
const ROWS_FIRST = 14; // of a thread, until more are asked for
const STILL = 300;     // ms without a question: nobody zooms
const PADDING = 0.25;  // of the range, on both sides: what dragging shows at once

export const layout = { threads: [], height: 0 }; // { index, top, rows, depths }
export const pictures = new Map(); // thread -> { slices, order, coarse, losses, cut, sched, aged, unread }
export const answer = { functions: [], from: 0, to: 1, columns: 1, milliseconds: 0 };

const expanded = new Set();
const redraws = [];

export function onPicture(redraw) {
  redraws.push(redraw);
}

export function layOut() {
  const labels = document.getElementById("labels");
  let top = 0;
  layout.threads = [];
  labels.replaceChildren();
  state.session.threads.forEach((thread, index) => {
    if (!thread.events || (state.session.shown && !state.session.shown.includes(index))) return;
    const depths = Math.max(thread.depths ?? 1, 1);
    const rows = expanded.has(index) ? Math.min(depths, 400) : Math.min(depths, ROWS_FIRST);
    const label = element("div", { title: thread.called }, element("strong", {}, thread.called),
      isOfSeveral() ? element("span", {}, threadText(thread.process, thread.number)) : null,
      element("span", {}, `tid ${thread.tid}, ${count(thread.events)} events`));
    const height = HEAD + rows * ROW + STRIP + (rows < 2 ? ROW : 0);
    if (depths > ROWS_FIRST) {
      const more = expanded.has(index);
      label.append(element("button", {
        "aria-expanded": String(more),
        onclick: () => {
          if (more) expanded.delete(index);
          else expanded.add(index);
          layOut();
          fetchSoon();
        },
      }, more ? "fewer rows" : `all ${count(depths)} rows`));
    }
    label.style.top = `${top}px`;
    label.style.height = `${height}px`;
    labels.append(label);
    layout.threads.push({ index, top, rows, depths, height });
    top += height;
  });
  layout.height = top;
  document.getElementById("content").style.height = `${Math.max(top, document.getElementById("scroll").clientHeight)}px`;
  for (const redraw of redraws) redraw();
}

function visibleThreads() {
  const scroll = document.getElementById("scroll");
  return layout.threads.filter((lane) => lane.top < scroll.scrollTop + scroll.clientHeight + 200 &&
    lane.top + lane.height > scroll.scrollTop - 200);
}

// Slices of one function are drawn together: setting a colour costs more than filling a rectangle.
function orderOf(slices) {
  const order = new Uint32Array(slices.length / 8);
  for (let i = 0; i < order.length; i++) order[i] = i;
  return order.sort((a, b) => slices[a * 8 + 4] - slices[b * 8 + 4]);
}

function shown() {
  document.body.dataset.pictures = String(Number(document.body.dataset.pictures ?? 0) + 1);
  for (const redraw of redraws) redraw();
}

function failed(error) {
  document.getElementById("status").textContent = error.message;
}

let stillness = 0;
let asked = null;     // what the server is being asked for
let isNews = false;   // there was more to show meanwhile

const questionOf = (lanes) => [state.from, state.to, ...lanes.map((lane) => lane.index)].join(" ");

const fetchNow = latest(async (signal) => {
  clearTimeout(stillness);
  asked = questionOf(visibleThreads());
  isNews = false;
  try {
    await fetchPictures(signal);
  } finally {
    if (!signal.aborted) {
      asked = null;
      if (isNews) fetchSoon();
    }
  }
}, failed);

async function fetchPictures(signal) {
  sharpen.stop();
  const lanes = visibleThreads();
  if (!lanes.length || state.session.state === "failed") return;
  const span = state.to - state.from, begun = performance.now();
  const from = Math.max(0, state.from - span * PADDING), to = Math.max(from + 1, state.to + span * PADDING);
  const width = document.getElementById("canvas").clientWidth || 1000;
  const columns = Math.min(8192, Math.max(1, Math.round((to - from) / span * width)));
  const parameters = { from: Math.floor(from), to: Math.ceil(to), columns, depths: Math.max(...lanes.map((lane) => lane.rows)) };
  const told = await ask("timeline", { ...parameters, threads: lanes.map((lane) => lane.index).join(",") }, signal);
  answer.functions = told.functions;
  Object.assign(answer, { from: Math.floor(from), to: Math.ceil(to), columns, milliseconds: performance.now() - begun });
  pictures.clear();
  for (const thread of told.threads) {
    const slices = Float64Array.from(thread.slices);
    pictures.set(thread.thread, { ...thread, slices, order: orderOf(slices) });
  }
  shown();
  const coarse = told.threads.filter((each) => each.coarse > 1).map((each) => each.thread);
  if (coarse.length) stillness = setTimeout(() => sharpen(parameters, coarse), STILL);
}

let timer = 0;

export function fetchSoon() {
  clearTimeout(timer);
  timer = setTimeout(fetchNow, 40);
}

// There is more to show of what is in view. An answer that is under way is waited for: else the next news would stop it, too, and none came.
export function fetchNews() {
  if (asked === questionOf(visibleThreads())) isNews = true;
  else fetchSoon();
}

// A picture that would have taken long has several pixels in one. Once nobody zooms, each such thread is asked for alone.
const sharpen = latest(async (signal, parameters, threads) => {
  for (const thread of threads) {
    const told = await ask("timeline", { ...parameters, threads: String(thread), exact: 1 }, signal);
    const known = new Map(answer.functions.map((each, number) => [each.join("\n"), number])), slices = Float64Array.from(told.threads[0].slices);
    for (let at = 4; at < slices.length; at += 8) {
      const [name, module] = told.functions[slices[at]], key = `${name}\n${module}`;
      if (!known.has(key)) known.set(key, answer.functions.push([name, module]) - 1);
      slices[at] = known.get(key);
    }
    pictures.set(thread, { ...told.threads[0], slices, order: orderOf(slices) });
    shown();
  }
}, failed);

// The slice under a point: { thread, depth, slice } with the slice's eight numbers; null: none.
export function sliceAt(lane, depth, ns, tolerance) {
  const picture = pictures.get(lane.index);
  let best = null, nearest = tolerance;
  for (let at = 0; picture && at < picture.slices.length; at += 8) {
    if (picture.slices[at] !== depth || picture.slices[at + 7] < 0) continue;
    const start = picture.slices[at + 2], end = start + picture.slices[at + 3];
    const distance = ns < start ? start - ns : ns > end ? ns - end : 0;
    if (distance < nearest || (distance === 0 && !best)) {
      nearest = distance;
      best = picture.slices.subarray(at, at + 8);
    }
  }
  return best && { thread: lane.index, slice: best };
}

listen((names) => {
  if (names.has("from") || names.has("to")) fetchSoon();
});
