// Waits of the visible range, and arrows from each to the event that ended it. They come from a reading of the whole session, which takes
// its time: so they are asked for when the view has been still, one question at a time, and not again where the answer has them all.
import { ask } from "./api.js";
import { baked } from "./baked.js";
import { threadOf } from "./cite.js";
import { count, duration } from "./format.js";
import { listen, state } from "./state.js";
import { HEAD, layout, ROW } from "./timeline.js";

const MOST = 400;   // of an answer
const LEAST = 4;    // pixels: shorter waits have no arrow
const STILL = 500;  // ms

const known = { rows: [], from: 0, to: -1, whole: false };
const redraws = [];
let asking = false, timer = 0;

export function onWaits(redraw) {
  redraws.push(redraw);
}

// Where some waits have no arrow the page says so.
function tellMore(rows) {
  const all = rows[0]?.waits ?? 0;
  document.getElementById("arrows").textContent = all > rows.length ?
    `Arrows are of the ${count(rows.length)} longest of ${count(all)} waits here. Zoom in for the others.` : "";
}

async function fetchWaits() {
  const from = Math.max(0, Math.floor(state.from)), to = Math.max(1, Math.ceil(state.to));
  const enough = from >= known.from && to <= known.to && (known.whole || (to - from) * 4 > known.to - known.from);
  if (asking || enough || !state.session) return;
  asking = true;
  try {
    const told = await ask("command", { run: "waits", from, to });
    known.rows = told.rows.map((row) => ({ ...row, index: threadOf(row.process, row.thread), by: row.ended_by_thread === null ? -1 : threadOf(row.process, row.ended_by_thread) }));
    Object.assign(known, { from, to, whole: told.rows.length < MOST });
    document.body.dataset.waits = String(known.rows.length);
    tellMore(told.rows);
    for (const redraw of redraws) redraw();
  } catch (error) {
    Object.assign(known, { from, to, whole: true }); // a session whose waits can't be told has no arrows
    document.getElementById("arrows").textContent = baked ? "" : `No arrows of waits: ${error.message}`;
  }
  asking = false;
  waitsSoon();
}

export function waitsSoon() {
  clearTimeout(timer);
  timer = setTimeout(fetchWaits, STILL);
}

// What was known is of the session as it was.
export function waitsForget() {
  Object.assign(known, { from: 0, to: -1 });
  for (const row of known.rows) Object.assign(row, { index: threadOf(row.process, row.thread), by: row.ended_by_thread === null ? -1 : threadOf(row.process, row.ended_by_thread) });
  waitsSoon();
}

// The wait that a call is; undefined: it is none that is known.
export const waitOf = (thread, seq) => known.rows.find((row) => row.index === thread && row.seq === seq);

function point(index, depth, scrollTop) {
  const lane = layout.threads.find((each) => each.index === index);
  return lane && lane.top - scrollTop + HEAD + (Math.min(depth ?? 0, lane.rows - 1) + 0.5) * ROW;
}

function arrow(paint, x, y, toX, toY) {
  const angle = Math.atan2(toY - y, toX - x);
  paint.beginPath();
  paint.moveTo(x, y);
  paint.lineTo(toX, toY);
  paint.stroke();
  paint.beginPath();
  paint.moveTo(toX, toY);
  paint.lineTo(toX - 9 * Math.cos(angle - 0.4), toY - 9 * Math.sin(angle - 0.4));
  paint.lineTo(toX - 9 * Math.cos(angle + 0.4), toY - 9 * Math.sin(angle + 0.4));
  paint.fill();
}

export function drawWaits(paint, theme, scrollTop, width, height) {
  const scale = width / (state.to - state.from);
  paint.strokeStyle = theme.wait;
  paint.fillStyle = theme.wait;
  let drawn = 0;
  for (const row of known.rows) {
    const from = (row.start - state.from) * scale, to = (row.stop - state.from) * scale;
    const y = point(row.index, row.depth, scrollTop), toY = row.by < 0 ? undefined : point(row.by, row.ended_depth, scrollTop);
    if (y === undefined || toY === undefined || to < 0 || from > width || to - from < LEAST || Math.min(y, toY) > height || Math.max(y, toY) < 0) continue;
    const x = (row.ended_at - state.from) * scale;
    const isPicked = state.picked?.thread === row.index && state.picked.seq === row.seq;
    paint.lineWidth = isPicked ? 2.5 : 1.25;
    paint.beginPath();
    paint.moveTo(Math.max(from, 0), y + ROW / 2 - 2);
    paint.lineTo(Math.min(to, width), y + ROW / 2 - 2);
    paint.stroke();
    arrow(paint, to, y + ROW / 2 - 2, x, toY);
    drawn++;
  }
  document.body.dataset.arrows = String(drawn);
}

export const waitText = (row) => `waited ${duration(row.stop - row.start)} (${row.kind}${row.object ? `, ${row.object}` : ""})`;

listen((names) => {
  if (names.has("from") || names.has("to")) waitsSoon();
});
